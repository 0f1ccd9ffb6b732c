import { z } from 'zod'
import type { AnswerOffset } from '../../domain/answer-offset.ts'
import type { CostPiece } from '../../domain/cost/cost-piece.ts'
import { writeInstant } from '../../domain/instant.ts'
import { energyScale, moneyScale } from '../../domain/quantity.ts'
import { type MeterRecord, type RecordOptions, recordDefaults } from '../../domain/record/record.ts'
import { tableFormats } from '../../domain/table-format.ts'
import type { Tenant } from '../../domain/tenant.ts'
import {
  costShape,
  costToWire,
  count,
  exactDecimal,
  idText,
  instantText,
  objectShape,
  objectToWire,
  orNull,
  type PricedEnergy,
} from '../answer-field.ts'
import type { ApiVersion } from '../api-version.ts'
import { csvText } from '../costs/csv.ts'
import { answerToEarlier, type VersionRename } from '../earlier-api-version.ts'
import { objectIdentifier, text } from '../field.ts'
import { scaledNumber } from '../json/exact-number.ts'
import { listing, listParameters } from '../list.ts'
import { defineOperation, retrieval, sameRoute } from '../operation.ts'
import { flag, instantParameter, wholeNumber } from '../parameter.ts'
import { deviceOnly, locationOnly } from '../reference.ts'
import { recordWarningsToWire, warningsShape } from '../warning.ts'
import { meterRecordRenames } from './meter-record.ts'
import { type NumberField, numberOf, optionMembers } from './record-fields.ts'

/** First members of a meter record, stored or instant. */
export const meterRecordHead = {
  energy_flow_direction: z.enum(['INBOUND', 'OUTBOUND']),
  tariff_direction: z.enum(['IMPORT', 'EXPORT', 'LOCAL']),
  currency_code: z.string(),
  energy_units: z.literal('WH'),
} as const

/** Shapes of the optional texts and numbers of a record in an answer. */
export const optionShapes = optionMembers(
  () => orNull(z.string()),
  () => orNull(exactDecimal),
)

/** Write the optional texts and numbers of a record. */
export const optionsToWire = (record: RecordOptions) =>
  optionMembers(
    name => record[name],
    field => numberToWire(numberOf(record, field), field),
  )

/** Write an optional number. */
export const numberToWire = (value: bigint | null, { rule }: NumberField) =>
  value === null ? null : scaledNumber(value, rule.scale)

export const meterRecordDataShape = z.object({
  start_time: instantText,
  end_time: instantText,
  ...optionShapes,
  energy: z.object({ value: exactDecimal }),
  tariff: z.object({ cost: costShape }),
})

/**
 * Differences of a meter record between the API versions, without its member `request`. Source:
 * docs/rules/earlier-version.md #costs-and-records.
 */
export const recordAnswerRenames: readonly VersionRename[] = [
  ...meterRecordRenames,
  { current: 'data.tariff.cost', earlier: 'data.tariff' },
  { earlier: 'carbon_units', constant: 'gCO2eq' },
]

/** Meter record with its price. `price.energy` is the energy that counts, `record.energy` the submitted energy. */
export type MeterRecordView = Tenant & {
  readonly id: string
  readonly currencyCode: string
  readonly record: MeterRecord
  readonly price: PricedEnergy
  /** True if the record has a mean power that is not plausible. */
  readonly isImplausible: boolean
}

/** Write the first members of a meter record. */
export const meterRecordHeadToWire = ({ currencyCode, record }: MeterRecordView) => ({
  energy_flow_direction: record.energyFlowDirection,
  tariff_direction: record.tariffDirection,
  currency_code: currencyCode,
  energy_units: 'WH' as const,
})

/** Write the data of a meter record. */
export const meterRecordDataToWire = ({ record, price }: MeterRecordView, offsetOf: AnswerOffset) => ({
  start_time: writeInstant(record.start, offsetOf(record.start)),
  end_time: writeInstant(record.end, offsetOf(record.end)),
  ...optionsToWire(record),
  energy: { value: scaledNumber(price.energy, energyScale) },
  tariff: { cost: costToWire(price) },
})

/** Digits after the point of the confidence of a record or piece, in 1e-6. */
const millionthScale = 6
const kilowattHourScale = 9

const pieceShape = z.object({
  start_time: instantText,
  end_time: instantText,
  energy: exactDecimal.describe('WH.'),
  price: exactDecimal.describe('Major units per kWh.'),
  tier: exactDecimal.describe('Lower bound of the tier, in kWh.'),
  cost: exactDecimal,
  confidence: exactDecimal.describe('Confidence of the price.'),
})

export const storedRecordShape = objectShape('mre', 'meter_record', {
  ...meterRecordHead,
  location_id: idText('loc'),
  device_id: orNull(idText('dev')),
  status: z.enum(['PRICED', 'UNPRICED']),
  confidence: exactDecimal.describe('Confidence of the submitted record.'),
  data: meterRecordDataShape,
  energy_submitted: exactDecimal.describe(
    'Submitted WH. For an estimate: before the energy of actual records was subtracted.',
  ),
  batch_id: orNull(idText('bat')).describe('The submission of the record; null for an instant cost.'),
  tariff_ids: z.array(idText('trf')),
  pricing_revision: count.describe("The location's revision that the cost was calculated with."),
  price_revision: orNull(count).describe("The market source's revision; null if no market price was used."),
  pieces: z
    .array(pieceShape)
    .describe('Parts of the record at one price, contiguous and in order. They add up to energy and cost.'),
  warnings: warningsShape,
})

type RecordDirections = Pick<z.output<typeof storedRecordShape>, 'energy_flow_direction' | 'tariff_direction'>

/** Stored record; `receivedAt` in ms. */
export type StoredRecordView = MeterRecordView & {
  readonly batchId: string | null
  readonly tariffIds: readonly string[]
  readonly pricingRevision: number
  readonly priceRevision: number | null
  readonly pieces: readonly CostPiece[]
  readonly receivedAt: number
}

const utcOffset = (): number => 0

/** Write a stored record, with times in UTC. Source: docs/rules/versions-and-transport.md #offsets-of-answers. */
export const storedRecordToWire = (view: StoredRecordView): z.output<typeof storedRecordShape> =>
  objectToWire(
    'meter_record',
    { ...view, createdAt: view.receivedAt },
    {
      ...meterRecordHeadToWire(view),
      location_id: view.record.locationId,
      device_id: view.record.deviceId,
      status: view.price.cost === null ? 'UNPRICED' : 'PRICED',
      confidence: scaledNumber(BigInt(view.record.confidence), millionthScale),
      data: meterRecordDataToWire(view, utcOffset),
      energy_submitted: scaledNumber(view.record.energy, energyScale),
      batch_id: view.batchId,
      tariff_ids: [...view.tariffIds],
      pricing_revision: view.pricingRevision,
      price_revision: view.priceRevision,
      pieces: view.pieces.map(pieceToWire),
      ...recordWarningsToWire(view.isImplausible),
    },
  )

const pieceToWire = (piece: CostPiece) => ({
  start_time: writeInstant(piece.start),
  end_time: writeInstant(piece.end),
  energy: scaledNumber(piece.energy, energyScale),
  price: scaledNumber(piece.price, moneyScale),
  tier: scaledNumber(piece.tier, kilowattHourScale),
  cost: scaledNumber(piece.cost, moneyScale),
  confidence: scaledNumber(BigInt(piece.confidence), millionthScale),
})

/** Return the directions of a record with the names and values of an API version. */
const directionsInVersion = (
  apiVersion: ApiVersion,
  { energy_flow_direction, tariff_direction }: RecordDirections,
): Readonly<Record<string, string>> => {
  const directions = { energy_flow_direction, tariff_direction }
  // Renames of texts are texts.
  return apiVersion === 'current'
    ? directions
    : (answerToEarlier(directions, meterRecordRenames) as Readonly<Record<string, string>>)
}

const optionNames = Object.keys(optionShapes) as readonly (keyof typeof optionShapes)[]

/**
 * Write stored records as a CSV table of an API version, with one row for each record and without pieces. Codes of warnings
 * are separated by a space.
 */
export const storedRecordsToCsv = (
  { data }: { readonly data: readonly z.output<typeof storedRecordShape>[] },
  apiVersion: ApiVersion = 'current',
): string =>
  csvText(
    [
      'id',
      'location_id',
      'device_id',
      ...Object.keys(directionsInVersion(apiVersion, { energy_flow_direction: 'INBOUND', tariff_direction: 'IMPORT' })),
      'start_time',
      'end_time',
      ...optionNames,
      'energy_wh',
      'cost',
      'currency_code',
      'confidence',
      'status',
      'batch_id',
      'warnings',
    ],
    data.map(record => [
      record.id,
      record.location_id,
      record.device_id,
      ...Object.values(directionsInVersion(apiVersion, record)),
      record.data.start_time,
      record.data.end_time,
      ...optionNames.map(name => record.data[name]),
      record.data.energy.value,
      record.data.tariff.cost.value,
      record.currency_code,
      record.data.tariff.cost.confidence,
      record.status,
      record.batch_id,
      record.warnings?.map(({ code }) => code).join(' ') ?? null,
    ]),
  )

/** Meter record of the examples. */
export const exampleRecord: MeterRecordView = {
  id: 'mre_5f0198c0ffee001122334455',
  accountId: 'acc_0198c0ffee00112233445566',
  liveMode: false,
  currencyCode: 'EUR',
  record: {
    locationId: 'loc_0198c0ffee00112233445566',
    deviceId: 'dev_0198c0ffee00112233445566',
    energyFlowDirection: 'INBOUND',
    tariffDirection: 'IMPORT',
    start: 1_757_844_000_000,
    end: 1_757_844_900_000,
    energy: 1_250_000_000n,
    ...recordDefaults,
    sessionReferenceId: 'session-17',
  },
  price: { energy: 1_250_000_000n, cost: 375_000_000n, confidence: 10_000 },
  isImplausible: false,
}

const example = storedRecordToWire({
  ...exampleRecord,
  batchId: 'bat_0198c0ffee00112233445566',
  tariffIds: ['trf_0198c0ffee00112233445566'],
  pricingRevision: 1,
  priceRevision: null,
  pieces: [
    {
      start: 1_757_844_000_000,
      end: 1_757_844_900_000,
      energy: 1_250_000_000n,
      price: 300_000_000n,
      tier: 0n,
      cost: 375_000_000n,
      confidence: 1_000_000,
    },
  ],
  receivedAt: 1_757_845_000_000,
})

const tag = 'Metering'

export const meterRecordRetrieve = defineOperation({
  id: 'meter_record_retrieve',
  summary: 'Retrieve a record',
  description:
    'Returns a stored record with its cost and the reasons for the cost: its pieces, each at one price, and the tariffs and revisions of the prices.',
  tag,
  ...retrieval({ name: 'StoredMeterRecord', shape: storedRecordShape }, example),
  routes: sameRoute('GET', '/meters/records/{id}'),
  renames: { answer: recordAnswerRenames },
})

/**
 * Maximum number of pieces of the records of a page. A page with more pieces ends earlier, with at least one record.
 */
export const recordListLimits = { pieces: 100_000 } as const

/** Parameters of which a page needs one. */
export const recordSelectors = [
  'location_id',
  'device_id',
  'session_reference_id',
  'record_reference_id',
  'batch_id',
] as const

export const meterRecordList = defineOperation({
  id: 'meter_record_list',
  summary: 'List records',
  description:
    'Returns the records of a location (including its devices), a device, a session, a record reference or a batch, newest start first. One of the five is required; start_time and end_time select records that start in that period. A page can have fewer records than limit if they have more than 100,000 pieces together; has_more is then true. With start_time and end_time, and without limit and cursor, a table (CSV, NDJSON, Parquet or Arrow by Accept) has all records of the period, by start and id as CSV and NDJSON, and in the stored order as Parquet and Arrow; the account is then the default selection.',
  tag,
  ...listing('StoredMeterRecord', storedRecordShape, '/meters/records', example),
  routes: sameRoute('GET', '/meters/records'),
  references: { query: { location_id: locationOnly, device_id: deviceOnly } },
  query: listParameters({
    location_id: objectIdentifier('loc').optional(),
    device_id: objectIdentifier('dev').optional(),
    session_reference_id: text().optional(),
    record_reference_id: text().optional(),
    batch_id: text().optional().describe('Only records of this submission that were not replaced later.'),
    start_time: instantParameter.optional().describe('Inclusive.'),
    end_time: instantParameter.optional().describe('Exclusive.'),
    limit: wholeNumber({ min: 1, max: 100 })
      .optional()
      .describe('Number of objects in a page. Default: 30. With limit a table is one page.'),
    pieces: flag.optional().describe('In the table of a whole period: one row for each piece of a record.'),
    raw: flag
      .optional()
      .describe('In the CSV table of a whole period: texts that begin like a formula get no leading apostrophe.'),
  }),
  renames: {
    answer: recordAnswerRenames.map(rename => ({
      ...rename,
      ...(rename.current === undefined ? {} : { current: `data.${rename.current}` }),
      ...(rename.earlier === undefined ? {} : { earlier: `data.${rename.earlier}` }),
    })) as typeof recordAnswerRenames,
  },
  csv: true,
  tables: tableFormats,
  refusals: ['cursor_not_found', 'location_not_found', 'device_not_found', 'batch_not_found', 'too_many_exports'],
})
