import { z } from 'zod'
import type { AnswerOffset } from '../../domain/answer-offset.ts'
import { addYears } from '../../domain/civil-date.ts'
import type { EnergyCostElement } from '../../domain/cost/energy-cost.ts'
import { type OffsetInstant, writeInstant } from '../../domain/instant.ts'
import { type Energy, energyScale } from '../../domain/quantity.ts'
import type { EnergyFlowDirection } from '../../domain/record/record.ts'
import { defaultTariffDirection } from '../../domain/record/validate-record.ts'
import type { RecordOverlap } from '../../domain/record/warnings.ts'
import { referenceKinds } from '../../domain/reference.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import type { OwnedObject } from '../../domain/tenant.ts'
import {
  costShape,
  costToWire,
  count,
  exactDecimal,
  idText,
  instantText,
  orNull,
  storedMembers,
} from '../answer-field.ts'
import type { VersionRename } from '../earlier-api-version.ts'
import { currencyCode, fields, instant, objectIdentifier, oneOf, refuseField } from '../field.ts'
import { scaledNumber } from '../json/exact-number.ts'
import { defineOperation, sameRoute } from '../operation.ts'
import { autoFlag, flag, parameters } from '../parameter.ts'
import { locationOnly } from '../reference.ts'
import { overlapToWire, warningsShape } from '../warning.ts'
import { csvText } from './csv.ts'

/** Maximum interval and number of elements of a cost. Source: docs/rules/costs.md #objects. */
export const costLimits = { years: 10, elements: 4_000 } as const

/** Return the latest end of an interval, by calendar years after its start, in the offset of the start. */
const maxEndOf = ({ at, offsetMinutes }: OffsetInstant): number => {
  const shift = offsetMinutes * 60_000
  return addYears(at + shift, costLimits.years) - shift
}

const elementShape = z.object({
  start_time: instantText,
  end_time: instantText,
  session_reference_id: orNull(z.string()),
  record_reference_id: orNull(z.string()),
  records: count.describe('Records that overlap the element, with or without a price.'),
  energy: z.object({ value: exactDecimal }).describe('WH of the priced records.'),
  estimated_energy: z
    .object({ value: exactDecimal })
    .describe('WH of `energy` from records with a confidence below 1. Their cost is exact for this energy.'),
  provisional_energy: z
    .object({ value: exactDecimal })
    .describe('WH of `energy` with a provisional price: a forecast, or the price after the end of a contract.'),
  tariff: z.object({ cost: costShape }).optional(),
  unpriced_records: count.optional().describe('Number of records without a price; absent if there are none.'),
  unpriced_energy: z.object({ value: exactDecimal }).optional().describe('WH of the records without a price.'),
})

export const energyCostShape = z.object({
  id: idText('ecs'),
  object: z.literal('energy_cost'),
  object_id: z.string().describe('Id of the location, device, session, customer or account.'),
  live_mode: storedMembers.live_mode,
  energy_flow_direction: z.enum(['INBOUND', 'OUTBOUND']),
  tariff_direction: z.enum(['IMPORT', 'EXPORT', 'LOCAL']),
  location_timezone: z.string(),
  currency_code: z.string(),
  energy_units: z.literal('WH'),
  includes_devices: z
    .boolean()
    .optional()
    .describe(
      'True if the records of devices are included. For a customer or an account: true if they are included at any location. Absent in costs of a device or session.',
    ),
  excluded_device_energy: z
    .object({ value: exactDecimal })
    .optional()
    .describe('WH of the device records in the period that are not included; absent if there are none.'),
  warning: z
    .literal('own_and_device_records')
    .optional()
    .describe('The location and its devices both have records, which may measure the same energy.'),
  warnings: warningsShape,
  data: z.array(elementShape),
  time_created: storedMembers.time_created,
  account_id: storedMembers.account_id,
})

/** Element of an energy cost. References are null if the element covers several sessions or records. */
export type EnergyCostEntry = EnergyCostElement & {
  readonly sessionReferenceId: string | null
  readonly recordReferenceId: string | null
}

/** Data of an energy cost answer; `createdAt` in ms. */
export type EnergyCostView = OwnedObject & {
  readonly objectId: string
  readonly energyFlowDirection: EnergyFlowDirection
  readonly tariffDirection: TariffDirection
  readonly timezone: string
  readonly currencyCode: string
  readonly entries: readonly EnergyCostEntry[]
  readonly includeTariff: boolean
  /** First overlap of the records. */
  readonly overlap: RecordOverlap | null
  /** Absent or null for the cost of a device or session. */
  readonly deviceRecords?: {
    readonly isIncluded: boolean
    readonly isMixed: boolean
    readonly excludedEnergy: Energy | null
  } | null
}

const wattHours = (energy: Energy) => ({ value: scaledNumber(energy, energyScale) })

/** Write an energy cost. `offsetOf` returns the offset (minutes) for writing an instant. */
export const energyCostToWire = (
  view: EnergyCostView,
  offsetOf: AnswerOffset = () => 0,
): z.output<typeof energyCostShape> => ({
  id: view.id,
  object: 'energy_cost',
  object_id: view.objectId,
  live_mode: view.liveMode,
  energy_flow_direction: view.energyFlowDirection,
  tariff_direction: view.tariffDirection,
  location_timezone: view.timezone,
  currency_code: view.currencyCode,
  energy_units: 'WH',
  ...deviceRecordsToWire(view.deviceRecords ?? null),
  ...overlapToWire(view.overlap, offsetOf),
  data: view.entries.map(entry => entryToWire(entry, view.includeTariff, offsetOf)),
  time_created: writeInstant(view.createdAt),
  account_id: view.accountId,
})

const deviceRecordsToWire = (of: NonNullable<EnergyCostView['deviceRecords']> | null) =>
  of === null
    ? {}
    : {
        includes_devices: of.isIncluded,
        ...(of.excludedEnergy === null ? {} : { excluded_device_energy: wattHours(of.excludedEnergy) }),
        ...(of.isMixed ? { warning: 'own_and_device_records' as const } : {}),
      }

const entryToWire = (entry: EnergyCostEntry, includeTariff: boolean, offsetOf: AnswerOffset) => ({
  start_time: writeInstant(entry.start, offsetOf(entry.start)),
  end_time: writeInstant(entry.end, offsetOf(entry.end)),
  session_reference_id: entry.sessionReferenceId,
  record_reference_id: entry.recordReferenceId,
  records: entry.records,
  energy: wattHours(entry.energy),
  estimated_energy: wattHours(entry.estimatedEnergy),
  provisional_energy: wattHours(entry.provisionalEnergy),
  ...(includeTariff ? { tariff: { cost: costToWire(entry) } } : {}),
  ...(entry.unpricedRecords === 0
    ? {}
    : {
        unpriced_records: entry.unpricedRecords,
        unpriced_energy: wattHours(entry.unpricedEnergy),
      }),
})

const csvNames = [
  'start_time',
  'end_time',
  'session_reference_id',
  'record_reference_id',
  'energy_wh',
  'cost',
  'currency_code',
  'confidence',
  'unpriced_records',
  'unpriced_energy_wh',
  'records',
  'estimated_energy_wh',
  'provisional_energy_wh',
]

type EnergyCostWire = z.output<typeof energyCostShape>

/** Write the elements of an energy cost as CSV rows without column names. */
export const energyCostRowsToCsv = (cost: EnergyCostWire): string =>
  csvText(
    null,
    cost.data.map(element => [
      element.start_time,
      element.end_time,
      element.session_reference_id,
      element.record_reference_id,
      element.energy.value,
      element.tariff?.cost.value,
      cost.currency_code,
      element.tariff?.cost.confidence,
      element.unpriced_records ?? 0,
      element.unpriced_energy?.value ?? 0,
      element.records,
      element.estimated_energy.value,
      element.provisional_energy.value,
    ]),
  )

/** Write an energy cost as a CSV table with one row for each element. */
export const energyCostToCsv = (cost: EnergyCostWire): string => csvText(csvNames, []) + energyCostRowsToCsv(cost)

/** Return the default energy flow direction of a cost. Source: docs/rules/costs.md #directions. */
export const defaultEnergyFlow = (direction: TariffDirection): EnergyFlowDirection =>
  defaultTariffDirection('OUTBOUND') === direction ? 'OUTBOUND' : 'INBOUND'

const costParameters = {
  tariff_direction: oneOf('IMPORT', 'EXPORT', 'LOCAL').default('IMPORT'),
  energy_flow_direction: oneOf('INBOUND', 'OUTBOUND')
    .optional()
    .describe(
      'Default: INBOUND for IMPORT and LOCAL, OUTBOUND for EXPORT. The two directions are never added together.',
    ),
  location_id: objectIdentifier('loc').optional().describe('Required if the object has records at several locations.'),
  currency_code: currencyCode.optional().describe('Required if there are costs in several currencies.'),
  include_tariff: flag.default(true).describe('False omits the cost.'),
  include_carbon: flag
    .default(false)
    .describe('Accepted and ignored: there is no carbon data.')
    .meta({ deprecated: true }),
}

const renames = {
  query: [
    { current: 'tariff_direction', earlier: 'direction' },
    { earlier: 'include_tariff', inRequest: true },
  ] satisfies readonly VersionRename[],
  answer: [
    { current: 'tariff_direction', earlier: 'direction' },
    { earlier: 'carbon_units', constant: 'gCO2eq' },
    { alwaysInCurrent: 'data.tariff' },
  ] satisfies readonly VersionRename[],
}

const example = energyCostToWire({
  id: 'ecs_0198c0ffee00112233445566',
  accountId: 'acc_0198c0ffee00112233445566',
  liveMode: false,
  objectId: 'dev_0198c0ffee00112233445566',
  energyFlowDirection: 'INBOUND',
  tariffDirection: 'IMPORT',
  timezone: 'Europe/Berlin',
  currencyCode: 'EUR',
  entries: [
    {
      start: 1_757_844_000_000,
      end: 1_757_844_900_000,
      records: 1,
      energy: 1_250_000_000n,
      cost: 375_000_000n,
      confidence: 10_000,
      estimatedEnergy: 0n,
      provisionalEnergy: 0n,
      unpricedRecords: 0,
      unpricedEnergy: 0n,
      sessionReferenceId: null,
      recordReferenceId: null,
    },
  ],
  includeTariff: true,
  overlap: null,
  createdAt: 1_757_845_000_000,
})

const tag = 'Costs'
const answer = { name: 'EnergyCost', shape: energyCostShape }
const refusals = ['location_ambiguous', 'currency_ambiguous', 'location_not_found'] as const

export const intervalCost = defineOperation({
  id: 'interval_cost_calculate',
  unaudited: 'Only calculates.',
  summary: 'Calculate the cost of a period',
  description:
    'Returns the sum of the stored records of a location, device, customer or account in a period. The sum is one element, or one element for each hour, day or month of the local calendar. The elements cover the whole period. A record that crosses the edge of an element is divided by time, so that the elements always add up exactly.',
  tag,
  access: 'read',
  routes: sameRoute('POST', '/costs/interval/{id}'),
  references: { id: referenceKinds, query: { location_id: locationOnly } },
  query: parameters({
    ...costParameters,
    aggregation: oneOf('DAY', 'MONTH', 'HOUR').optional(),
    include_devices: autoFlag
      .default('auto')
      .describe(
        "auto includes the records of devices only if the location has no records of its own. true adds the devices' records to the location's records. false omits the devices' records.",
      ),
  }),
  body: fields({ start_time: instant, end_time: instant.describe('At most 10 years after start_time.') }).superRefine(
    ({ start_time, end_time }, context) => {
      if (end_time.at <= start_time.at)
        refuseField(context, 'end_before_start', 'must be after start_time', ['end_time'])
      if (end_time.at > maxEndOf(start_time)) {
        refuseField(context, 'interval_too_long', `must be at most ${costLimits.years} years after start_time`, [
          'end_time',
        ])
      }
    },
  ),
  answer,
  status: 200,
  renames,
  csv: true,
  tables: ['ndjson', 'parquet', 'arrow'],
  refusals: [...refusals, 'too_many_exports', 'end_before_start', 'interval_too_long', 'too_many_elements'],
  examples: { body: { start_time: '2025-09-14T10:00:00Z', end_time: '2025-09-14T10:15:00Z' }, answer: example },
})

export const sessionCost = defineOperation({
  id: 'session_cost_calculate',
  unaudited: 'Only calculates.',
  summary: 'Calculate the cost of a session',
  description:
    'Returns the sum of the records of a session, from the first start to the last end. {id} is the session_reference_id. A known session without records in the direction has no element.',
  tag,
  access: 'read',
  routes: sameRoute('POST', '/costs/session/{id}'),
  references: { query: { location_id: locationOnly } },
  query: parameters({
    ...costParameters,
    include_records: flag.default(false).describe('One element for each record.'),
  }),
  body: fields({}),
  bodyOptional: true,
  answer,
  status: 200,
  renames,
  csv: true,
  refusals,
  examples: {
    answer: { ...example, data: example.data.map(element => ({ ...element, session_reference_id: 'session-17' })) },
  },
})
