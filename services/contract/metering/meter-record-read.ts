import { z } from 'zod'
import { writeInstant } from '../../domain/instant.ts'
import { type Energy, energyScale, type Money, moneyScale, type Price } from '../../domain/quantity.ts'
import type { MeterRecord } from '../../domain/record/record.ts'
import { count, exactDecimal, idText, instantText, orNull, storedMembers } from '../answer-field.ts'
import type { ApiVersion } from '../api-version.ts'
import { csvText } from '../costs/csv.ts'
import {
  confidenceScale,
  meterRecordDataShape,
  meterRecordDataToWire,
  type PricedEnergy,
  recordAnswerRenames,
  sharedRecordShape,
} from '../costs/instant-cost.ts'
import { answerToEarlier } from '../earlier-api-version.ts'
import { objectIdentifier, refuseField, text } from '../field.ts'
import { scaledNumber } from '../json/exact-number.ts'
import { listEnvelope, listParameters } from '../list.ts'
import { defineOperation, sameRoute } from '../operation.ts'
import { instantParameter } from '../parameter.ts'
import { deviceOnly, locationOnly } from '../reference.ts'
import { meterRecordRenames } from './meter-record.ts'

const recordConfidenceScale = 6
const kilowattHourScale = 9

const pieceShape = z.object({
  start_time: instantText,
  end_time: instantText,
  energy: exactDecimal.describe('WH.'),
  price: exactDecimal.describe('Major units per kWh.'),
  tier: exactDecimal.describe('Lower bound of the tier in force, in kWh.'),
  cost: exactDecimal,
  confidence: exactDecimal.describe('Of the price.'),
})

export const storedRecordShape = z.object({
  ...sharedRecordShape,
  location_id: idText('loc'),
  device_id: orNull(idText('dev')),
  status: z.enum(['PRICED', 'UNPRICED']),
  confidence: exactDecimal.describe('Of the record, as it was sent.'),
  data: meterRecordDataShape,
  energy_submitted: exactDecimal.describe('WH, before actuals took their share of an estimate.'),
  batch_id: orNull(idText('bat')).describe('The submission that brought the record; null when it came alone.'),
  tariff_ids: z.array(idText('trf')),
  pricing_revision: count.describe("The location's revision that the cost was computed with."),
  price_revision: orNull(count).describe("The market source's revision; null where no market price was used."),
  pieces: z.array(pieceShape).describe('Contiguous and in order; they add up to energy and cost.'),
  time_created: storedMembers.time_created,
  account_id: storedMembers.account_id,
})

type RecordDirections = Pick<z.output<typeof storedRecordShape>, 'energy_flow_direction' | 'tariff_direction'>

/** A part of a record at one price; confidence in 1e-4, tier in 1e-6 Wh. */
export type StoredPieceView = {
  readonly start: number
  readonly end: number
  readonly energy: Energy
  readonly price: Price
  readonly tier: Energy
  readonly cost: Money
  readonly confidence: number
}

/** A record as it is stored; `price.energy` is what counts, `record.energy` what was submitted. `receivedAt` in ms. */
export type StoredRecordView = {
  readonly id: string
  readonly accountId: string
  readonly liveMode: boolean
  readonly currencyCode: string
  readonly record: MeterRecord
  readonly price: PricedEnergy
  readonly batchId: string | null
  readonly tariffIds: readonly string[]
  readonly pricingRevision: number
  readonly priceRevision: number | null
  readonly pieces: readonly StoredPieceView[]
  readonly receivedAt: number
}

const utcOffset = (): number => 0

/** Write a stored record for the wire, times in UTC. Source: docs/rules/versions-and-transport.md #offsets-of-answers. */
export const storedRecordToWire = (view: StoredRecordView): z.output<typeof storedRecordShape> => ({
  id: view.id,
  object: 'meter_record',
  live_mode: view.liveMode,
  energy_flow_direction: view.record.energyFlowDirection,
  tariff_direction: view.record.tariffDirection,
  currency_code: view.currencyCode,
  energy_units: 'WH',
  location_id: view.record.locationId,
  device_id: view.record.deviceId,
  status: view.price.cost === null ? 'UNPRICED' : 'PRICED',
  confidence: scaledNumber(BigInt(view.record.confidence), recordConfidenceScale),
  data: meterRecordDataToWire(view.record, view.price, utcOffset),
  energy_submitted: scaledNumber(view.record.energy, energyScale),
  batch_id: view.batchId,
  tariff_ids: [...view.tariffIds],
  pricing_revision: view.pricingRevision,
  price_revision: view.priceRevision,
  pieces: view.pieces.map(pieceToWire),
  time_created: writeInstant(view.receivedAt),
  account_id: view.accountId,
})

const pieceToWire = (piece: StoredPieceView) => ({
  start_time: writeInstant(piece.start),
  end_time: writeInstant(piece.end),
  energy: scaledNumber(piece.energy, energyScale),
  price: scaledNumber(piece.price, moneyScale),
  tier: scaledNumber(piece.tier, kilowattHourScale),
  cost: scaledNumber(piece.cost, moneyScale),
  confidence: scaledNumber(BigInt(piece.confidence), confidenceScale),
})

/** The directions of a record under the names and in the words of a layout. */
const directionsInVersion = (
  apiVersion: ApiVersion,
  { energy_flow_direction, tariff_direction }: RecordDirections,
): Readonly<Record<string, string>> => {
  const directions = { energy_flow_direction, tariff_direction }
  // Renames of texts give texts.
  return apiVersion === 'current'
    ? directions
    : (answerToEarlier(directions, meterRecordRenames) as Readonly<Record<string, string>>)
}

/** Write a list of stored records as a table of a layout: one row a record, without its pieces. */
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
      'session_reference_id',
      'record_reference_id',
      'energy_wh',
      'cost',
      'currency_code',
      'confidence',
      'status',
      'batch_id',
    ],
    data.map(record => [
      record.id,
      record.location_id,
      record.device_id,
      ...Object.values(directionsInVersion(apiVersion, record)),
      record.data.start_time,
      record.data.end_time,
      record.data.session_reference_id,
      record.data.record_reference_id,
      record.data.energy.value,
      record.data.tariff.cost.value,
      record.currency_code,
      record.data.tariff.cost.confidence,
      record.status,
      record.batch_id,
    ]),
  )

const example = storedRecordToWire({
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
    confidence: 1_000_000,
    sessionReferenceId: 'session-17',
    recordReferenceId: null,
  },
  price: { energy: 1_250_000_000n, cost: 375_000_000n, confidence: 10_000 },
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
      confidence: 10_000,
    },
  ],
  receivedAt: 1_757_845_000_000,
})

const tag = 'Metering'

export const meterRecordRetrieve = defineOperation({
  id: 'meter_record_retrieve',
  summary: 'Retrieve a record',
  description:
    'Gives a stored record with what it costs and why: its pieces, each at one price, and the tariffs and revisions they come from.',
  tag,
  access: 'read',
  routes: sameRoute('GET', '/meters/records/{id}'),
  answer: { name: 'StoredMeterRecord', shape: storedRecordShape },
  status: 200,
  renames: { answer: recordAnswerRenames },
  examples: { answer: example },
})

/** The most pieces of the records of a page: one that would have more ends sooner, with at least one record. */
export const recordListLimits = { pieces: 100_000 } as const

const selectors = ['location_id', 'device_id', 'session_reference_id', 'record_reference_id', 'batch_id'] as const

export const meterRecordList = defineOperation({
  id: 'meter_record_list',
  summary: 'List records',
  description:
    'Gives the records of a location (those of its devices too), a device, a session, a reference of the caller or a batch, newest start first. One of the five is required; start_time and end_time narrow it to records that start in that span. A page ends sooner than asked for where its records would have more than 100,000 pieces together; has_more tells.',
  tag,
  access: 'read',
  routes: sameRoute('GET', '/meters/records'),
  references: { query: { location_id: locationOnly, device_id: deviceOnly } },
  query: listParameters({
    location_id: objectIdentifier('loc').optional(),
    device_id: objectIdentifier('dev').optional(),
    session_reference_id: text().optional(),
    record_reference_id: text().optional(),
    batch_id: text().optional().describe('The records that a submission brought and none replaced since.'),
    start_time: instantParameter.optional().describe('Inclusive.'),
    end_time: instantParameter.optional().describe('Exclusive.'),
  }).superRefine((query, context) => {
    const selected = query as { readonly [Name in (typeof selectors)[number]]?: string }
    if (selectors.every(name => selected[name] === undefined)) {
      refuseField(context, 'field_required', `is required, or one of ${selectors.slice(1).join(', ')}`, ['location_id'])
    }
  }),
  answer: { name: 'StoredMeterRecordList', shape: listEnvelope(storedRecordShape) },
  status: 200,
  renames: {
    answer: recordAnswerRenames.map(rename => ({
      ...rename,
      ...(rename.current === undefined ? {} : { current: `data.${rename.current}` }),
      ...(rename.earlier === undefined ? {} : { earlier: `data.${rename.earlier}` }),
    })) as typeof recordAnswerRenames,
  },
  csv: true,
  refusals: ['cursor_not_found', 'location_not_found', 'device_not_found', 'batch_not_found'],
  examples: { answer: { object: 'list', url: '/meters/records', has_more: false, data: [example] } },
})
