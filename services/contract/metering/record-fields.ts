import type { DecimalRule } from '../../domain/quantity.ts'
import type { MeterRecord, RecordOptions } from '../../domain/record/record.ts'

/** A field of a record: its name in the API, in the messages of `meter.records.v1` and in the table `meter_cost`. */
export type RecordField = {
  readonly wire: string
  readonly avro: { readonly name: string; readonly type: AvroType }
  readonly column: { readonly name: string; readonly type: string }
  /** True if the caller can omit the field. */
  readonly isOptional: boolean
}
type AvroType = 'int' | 'long' | 'EnergyFlowDirection' | 'TariffDirection' | readonly ['null', 'string' | 'long']

/** An optional text of the caller: null in a message, an empty string in the table. */
const optionalText = <Name extends string, Wire extends string>(name: Name, wire: Wire, description: string) =>
  ({
    wire,
    avro: { name, type: ['null', 'string'] },
    column: { name: wire, type: 'String' },
    isOptional: true,
    description,
  }) as const

/** An optional number: null, or an integer of the last decimal of `rule`, which has at most 18 digits. */
export const optionalNumber = <Name extends string, Wire extends string>(
  name: Name,
  wire: Wire,
  rule: DecimalRule,
  description: string,
) =>
  ({
    wire,
    avro: { name, type: ['null', 'long'] },
    column: { name: wire, type: `Nullable(Decimal(18, ${rule.scale}))` },
    isOptional: true,
    description,
    rule,
  }) as const

/** Field of an optional number. */
export type NumberField = ReturnType<typeof optionalNumber>

/**
 * Fields of a record, in the order of a message. The Avro codec, the columns of `meter_cost` and the byte reader of
 * the gateway use these names. Optional numbers follow the optional texts; `RecordOptions` has both.
 * Tests compare the table with the published schema, the stored table and the API.
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
  sessionReferenceId: optionalText(
    'sessionReferenceId',
    'session_reference_id',
    "The caller's own reference of a group of records, such as a charging session.",
  ),
  recordReferenceId: optionalText(
    'recordReferenceId',
    'record_reference_id',
    "The caller's own reference of this record.",
  ),
} as const satisfies Readonly<Record<keyof MeterRecord, RecordField>>

type RecordFields = typeof recordFields

type NamesOf<Type> = {
  [Name in keyof RecordFields]: RecordFields[Name]['avro']['type'] extends Type ? Name : never
}[keyof RecordFields]

/** Name of an optional text of a record. */
export type RecordText = NamesOf<readonly ['null', 'string']>
/** Name of an optional number in the API. */
type NumberWireName = RecordFields[NamesOf<readonly ['null', 'long']>]['wire']

const fields: readonly (readonly [string, RecordField])[] = Object.entries(recordFields)

const isText = ({ avro: { type } }: RecordField): boolean => typeof type === 'object' && type[1] === 'string'
const isNumber = (field: RecordField): field is NumberField => 'rule' in field

/** The optional texts of a record, in the order of a message. */
export const recordTexts = fields.filter(([, field]) => isText(field)).map(([name]) => name as RecordText)
/** Fields of the optional numbers of a record, in the order of a message. */
export const numberFields: readonly NumberField[] = fields.map(([, field]) => field).filter(isNumber)

/** Return an optional number of a record. */
export const numberOf = (options: RecordOptions, { avro }: NumberField): bigint | null =>
  (options as Readonly<Record<string, unknown>>)[avro.name] as bigint | null

/** Set an optional number of a new record. */
export const setNumber = (options: RecordOptions, { avro }: NumberField, value: bigint | null): void => {
  const members: Record<string, unknown> = options
  members[avro.name] = value
}

/** Create a member for each optional text and number of a record, with its name in the API. */
export const optionMembers = <Text, Number>(
  textOf: (name: RecordText) => Text,
  numberMember: (field: NumberField) => Number,
): Readonly<Record<RecordFields[RecordText]['wire'], Text> & Record<NumberWireName, Number>> => {
  const members: Record<string, Text | Number> = {}
  for (const name of recordTexts) members[recordFields[name].wire] = textOf(name)
  for (const field of numberFields) members[field.wire] = numberMember(field)
  return members as Record<RecordFields[RecordText]['wire'], Text> & Record<NumberWireName, Number>
}

/** Name of a field in the API. */
export type RecordWireName = RecordFields[keyof RecordFields]['wire']
export const recordWireNames: readonly RecordWireName[] = Object.values(recordFields).map(({ wire }) => wire)
