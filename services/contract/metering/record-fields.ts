import type { MeterRecord } from '../../domain/record/record.ts'

/** A field of a record: its name in the API, in the messages of `meter.records.v1` and in the table `meter_cost`. */
export type RecordField = {
  readonly wire: string
  readonly avro: { readonly name: string; readonly type: AvroType }
  readonly column: { readonly name: string; readonly type: string }
  /** True if the caller can omit the field. */
  readonly isOptional: boolean
}
type AvroType = 'int' | 'long' | 'EnergyFlowDirection' | 'TariffDirection' | readonly ['null', 'string']

/** An optional text of the caller: null in a message, an empty string in the table. */
const optionalText = <Name extends string, Wire extends string>(name: Name, wire: Wire) =>
  ({
    wire,
    avro: { name, type: ['null', 'string'] },
    column: { name: wire, type: 'String' },
    isOptional: true,
  }) as const

/**
 * Fields of a record, in the order of a message. The Avro codec, the columns of `meter_cost` and the byte reader of
 * the gateway use these names. Tests compare the table with the published schema, the stored table and the API.
 * In a message, location and device are indexes, and `end` is a length. In the API, `value` has a unit.
 */
export const recordFields = {
  locationId: {
    wire: 'location_id',
    avro: { name: 'location', type: 'int' },
    column: { name: 'location_id', type: 'FixedString(12)' },
    isOptional: false,
  },
  deviceId: {
    wire: 'device_id',
    avro: { name: 'device', type: 'int' },
    column: { name: 'device_id', type: 'FixedString(12)' },
    isOptional: true,
  },
  energyFlowDirection: {
    wire: 'energy_flow_direction',
    avro: { name: 'energyFlowDirection', type: 'EnergyFlowDirection' },
    column: { name: 'energy_flow_direction', type: "Enum8('INBOUND' = 0, 'OUTBOUND' = 1)" },
    isOptional: true,
  },
  tariffDirection: {
    wire: 'tariff_direction',
    avro: { name: 'tariffDirection', type: 'TariffDirection' },
    column: { name: 'tariff_direction', type: "Enum8('IMPORT' = 0, 'EXPORT' = 1, 'LOCAL' = 2)" },
    isOptional: true,
  },
  start: {
    wire: 'start_time',
    avro: { name: 'startTime', type: 'long' },
    column: { name: 'start_time', type: "DateTime64(3, 'UTC')" },
    isOptional: false,
  },
  end: {
    wire: 'end_time',
    avro: { name: 'length', type: 'long' },
    column: { name: 'end_time', type: "DateTime64(3, 'UTC')" },
    isOptional: false,
  },
  energy: {
    wire: 'value',
    avro: { name: 'energy', type: 'long' },
    column: { name: 'energy', type: 'Decimal(18, 6)' },
    isOptional: false,
  },
  confidence: {
    wire: 'confidence',
    avro: { name: 'confidence', type: 'int' },
    column: { name: 'record_confidence', type: 'UInt32' },
    isOptional: true,
  },
  sessionReferenceId: optionalText('sessionReferenceId', 'session_reference_id'),
  recordReferenceId: optionalText('recordReferenceId', 'record_reference_id'),
} as const satisfies Readonly<Record<keyof MeterRecord, RecordField>>

type RecordFields = typeof recordFields

/** Name of an optional text of a record. */
export type RecordText = {
  [Name in keyof RecordFields]: RecordFields[Name]['avro']['type'] extends readonly ['null', 'string'] ? Name : never
}[keyof RecordFields]

/** The optional texts of a record, in the order of a message. */
export const recordTexts: readonly RecordText[] = (Object.keys(recordFields) as (keyof RecordFields)[]).filter(
  (name): name is RecordText => typeof recordFields[name].avro.type === 'object',
)

/** Name of an optional text in the API, and of its column in `meter_cost`. */
export type RecordTextWireName = RecordFields[RecordText]['wire']

/** Create a member for each optional text of a record, with its name in the API. */
export const textMembers = <T>(memberOf: (name: RecordText) => T): Readonly<Record<RecordTextWireName, T>> => {
  const members: { [Name in RecordTextWireName]?: T } = {}
  for (const name of recordTexts) members[recordFields[name].wire] = memberOf(name)
  return members as Record<RecordTextWireName, T>
}

/** Name of a field in the API. */
export type RecordWireName = RecordFields[keyof RecordFields]['wire']
export const recordWireNames: readonly RecordWireName[] = Object.values(recordFields).map(({ wire }) => wire)
