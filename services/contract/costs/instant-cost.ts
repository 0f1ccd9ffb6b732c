import { z } from 'zod'
import type { AnswerOffset } from '../../domain/answer-offset.ts'
import { writeInstant } from '../../domain/instant.ts'
import { type Energy, energyScale, type Money, moneyScale } from '../../domain/quantity.ts'
import type { MeterRecord } from '../../domain/record/record.ts'
import { exactDecimal, idText, instantText, orNull, storedMembers } from '../answer-field.ts'
import type { ApiVersion } from '../api-version.ts'
import type { VersionRename } from '../earlier-api-version.ts'
import { scaledNumber } from '../json/exact-number.ts'
import { isJsonObject } from '../json/json-path.ts'
import { meterRecordRenames, meterRecordShape } from '../metering/meter-record.ts'
import { defineOperation, sameRoute } from '../operation.ts'
import { flag, parameters } from '../parameter.ts'
import { submissionLimits } from '../registry/account.ts'

/** Digits after the point of a confidence in 1e-4. */
export const confidenceScale = 4

/** What a record costs, as its object shows it; confidence in 1e-4. `cost` null: it has no price. */
export type PricedEnergy = { readonly energy: Energy; readonly cost: Money | null; readonly confidence: number }

export const costShape = z
  .object({
    value: orNull(exactDecimal).describe('Major units of the currency, exact; null without a price.'),
    confidence: exactDecimal.describe('0 to 1.'),
  })
  .meta({ component: 'Cost' })

/** What the objects of one meter record share. */
export const sharedRecordShape = {
  id: idText('mre'),
  object: z.literal('meter_record'),
  live_mode: storedMembers.live_mode,
  energy_flow_direction: z.enum(['INBOUND', 'OUTBOUND']),
  tariff_direction: z.enum(['IMPORT', 'EXPORT', 'LOCAL']),
  currency_code: z.string(),
  energy_units: z.literal('WH'),
} as const

export const meterRecordDataShape = z.object({
  start_time: instantText,
  end_time: instantText,
  session_reference_id: orNull(z.string()),
  record_reference_id: orNull(z.string()),
  energy: z.object({ value: exactDecimal }),
  tariff: z.object({ cost: costShape }),
})

/** The object's differences between the layouts, its request echo apart. Source: docs/rules/earlier-version.md #costs-and-records. */
export const recordAnswerRenames: readonly VersionRename[] = [
  ...meterRecordRenames,
  { current: 'data.tariff.cost', earlier: 'data.tariff' },
  { earlier: 'carbon_units', constant: 'gCO2eq' },
]

/** Write the data of a record's object. */
export const meterRecordDataToWire = (record: MeterRecord, price: PricedEnergy, offsetOf: AnswerOffset) => ({
  start_time: writeInstant(record.start, offsetOf(record.start)),
  end_time: writeInstant(record.end, offsetOf(record.end)),
  session_reference_id: record.sessionReferenceId,
  record_reference_id: record.recordReferenceId,
  energy: { value: scaledNumber(price.energy, energyScale) },
  tariff: { cost: costToWire(price) },
})

/** Write a cost with its confidence. */
export const costToWire = ({ cost, confidence }: Pick<PricedEnergy, 'cost' | 'confidence'>) => ({
  value: cost === null ? null : scaledNumber(cost, moneyScale),
  confidence: scaledNumber(BigInt(confidence), confidenceScale),
})

const requestShape = z.object({
  location_id: idText('loc'),
  device_id: orNull(idText('dev')),
  session_reference_id: orNull(z.string()),
  record_reference_id: orNull(z.string()),
  energy_flow_direction: z.enum(['INBOUND', 'OUTBOUND']),
  tariff_direction: z.enum(['IMPORT', 'EXPORT', 'LOCAL']),
  measurand: z.literal('TRANSFERRED'),
  units: z.enum(['W', 'KW', 'WH', 'KWH']),
  value: exactDecimal,
  confidence: exactDecimal,
  start_time: instantText,
  end_time: instantText,
  non_persistent: z.boolean(),
  include_tariff: z.boolean().optional(),
  include_carbon: z.boolean().optional(),
})

export const instantCostShape = z.object({
  ...sharedRecordShape,
  request: requestShape,
  data: meterRecordDataShape.partial({ tariff: true }),
  time_created: storedMembers.time_created,
  account_id: storedMembers.account_id,
})

type InstantCostWire = z.output<typeof instantCostShape>

/** The switches of an instant cost; `includeTariff` and `includeCarbon` belong to the earlier layout. */
export type InstantCostOptions = {
  readonly nonPersistent: boolean
  readonly includeTariff: boolean
  readonly includeCarbon: boolean
}

/** What an instant cost is answered with. `element` is the record as it was sent, in the words of `layout`; `createdAt` in ms. */
export type InstantCost = {
  readonly id: string
  readonly accountId: string
  readonly liveMode: boolean
  readonly currencyCode: string
  readonly record: MeterRecord
  readonly price: PricedEnergy
  readonly sentRecord: unknown
  readonly apiVersion: ApiVersion
  readonly options: InstantCostOptions
  readonly offsetOf: AnswerOffset
  readonly createdAt: number
}

/** Give the members of the request, what it left out filled in; values and times as they were sent. */
const requestToWire = ({ sentRecord, record, apiVersion, options }: InstantCost): InstantCostWire['request'] => {
  const sent = isJsonObject(sentRecord) ? (sentRecord as Readonly<Record<string, never>>) : {}
  return {
    location_id: record.locationId,
    device_id: record.deviceId,
    session_reference_id: record.sessionReferenceId,
    record_reference_id: record.recordReferenceId,
    energy_flow_direction: record.energyFlowDirection,
    tariff_direction: record.tariffDirection,
    measurand: 'TRANSFERRED',
    units: sent['units'] ?? 'WH',
    value: sent['value'] ?? scaledNumber(record.energy, energyScale),
    confidence: sent['confidence'] ?? scaledNumber(1n, 0),
    start_time: sent['start_time'] ?? writeInstant(record.start),
    end_time: sent['end_time'] ?? writeInstant(record.end),
    non_persistent: options.nonPersistent,
    ...(apiVersion === 'earlier'
      ? { include_tariff: options.includeTariff, include_carbon: options.includeCarbon }
      : {}),
  }
}

/** Write an instant cost for the wire. */
export const instantCostToWire = (cost: InstantCost): InstantCostWire => {
  const { tariff, ...data } = meterRecordDataToWire(cost.record, cost.price, cost.offsetOf)
  return {
    id: cost.id,
    object: 'meter_record',
    live_mode: cost.liveMode,
    energy_flow_direction: cost.record.energyFlowDirection,
    tariff_direction: cost.record.tariffDirection,
    currency_code: cost.currencyCode,
    energy_units: 'WH',
    request: requestToWire(cost),
    data: cost.options.includeTariff ? { ...data, tariff } : data,
    time_created: writeInstant(cost.createdAt),
    account_id: cost.accountId,
  }
}

const exampleRecord: MeterRecord = {
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
}

const exampleBody = {
  location_id: exampleRecord.locationId,
  device_id: exampleRecord.deviceId,
  session_reference_id: exampleRecord.sessionReferenceId,
  energy_flow_direction: 'INBOUND',
  tariff_direction: 'IMPORT',
  units: 'KWH',
  value: 1.25,
  start_time: '2025-09-14T10:00:00Z',
  end_time: '2025-09-14T10:15:00Z',
}

export const instantCost = defineOperation({
  id: 'instant_cost_calculate',
  summary: 'Calculate the cost of a record at once',
  description:
    'Takes one record and answers with what it costs. The record is stored like a submitted one, and counts once however often it is sent; with non_persistent nothing is written: it is priced as if it had come. The stored cost may change later, when a price or tariff does.',
  tag: 'Costs',
  access: 'metering',
  routes: sameRoute('POST', '/costs/instant'),
  query: parameters({
    non_persistent: flag.default(false).describe('Price the record and store nothing.'),
    include_tariff: flag.default(true).describe('False leaves the cost out.'),
    include_carbon: flag
      .default(false)
      .describe('Accepted and ignored: there is no carbon data.')
      .meta({ deprecated: true }),
  }),
  body: 'raw',
  bodyLimit: submissionLimits.recordBytes,
  bodyDocument: meterRecordShape,
  answer: { name: 'MeterRecord', shape: instantCostShape },
  status: 200,
  idempotent: true,
  renames: {
    query: [{ earlier: 'include_tariff', inRequest: true }],
    body: meterRecordRenames,
    answer: [
      ...recordAnswerRenames,
      ...meterRecordRenames.map(
        rename =>
          ({ ...rename, current: `request.${rename.current}`, earlier: `request.${rename.earlier}` }) as VersionRename,
      ),
      { alwaysInCurrent: 'data.tariff' },
      { earlier: 'request.include_tariff', inRequest: true },
      { earlier: 'request.include_carbon', inRequest: true },
    ],
  },
  refusals: ['location_not_found', 'device_not_found', 'no_tariff_connected', 'no_price_data', 'pending_connect'],
  examples: {
    body: exampleBody,
    answer: instantCostToWire({
      id: 'mre_5f0198c0ffee001122334455',
      accountId: 'acc_0198c0ffee00112233445566',
      liveMode: false,
      currencyCode: 'EUR',
      record: exampleRecord,
      price: { energy: exampleRecord.energy, cost: 375_000_000n, confidence: 10_000 },
      sentRecord: exampleBody,
      apiVersion: 'current',
      options: { nonPersistent: false, includeTariff: true, includeCarbon: false },
      offsetOf: () => 0,
      createdAt: 1_757_845_000_000,
    }),
  },
})
