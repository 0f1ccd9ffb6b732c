import { z } from 'zod'
import { writeInstant } from '../../domain/instant.ts'
import { type Energy, energyScale } from '../../domain/quantity.ts'
import type { AccountFacts } from '../../domain/registry/account.ts'
import type { Tenant } from '../../domain/tenant.ts'
import { count, exactDecimal, idText, instantOrNull, instantText, orNull, storedMembers } from '../answer-field.ts'
import { scaledNumber } from '../json/exact-number.ts'
import { currentRoute, defineOperation, retrieval } from '../operation.ts'

/** Bounds of an overview. */
export const overviewLimits = {
  listed: 100,
  endingDays: 30,
  unpricedDays: 92,
  failedDays: 30,
  acceptedHours: 24,
  locations: 10_000,
} as const

const unpricedShape = z
  .object({
    location_id: idText('loc'),
    location_reference_id: orNull(z.string()),
    location_display_name: orNull(z.string()),
    records: count,
    energy: z.object({ value: exactDecimal }).describe('WH.'),
    first_start: instantText,
    last_start: instantText,
  })
  .meta({ component: 'UnpricedLocation' })

const failedBatchShape = z
  .object({ batch_id: idText('bat'), failed_records: count, dead_lettered_records: count })
  .meta({ component: 'FailedBatch' })

const warnedBatchShape = z.object({ batch_id: idText('bat'), records_warned: count }).meta({ component: 'WarnedBatch' })

const endingShape = z
  .object({
    tariff_id: idText('trf'),
    location_id: idText('loc'),
    location_reference_id: orNull(z.string()),
    location_display_name: orNull(z.string()),
    display_name: orNull(z.string()),
    contract_end_date: instantText,
  })
  .meta({ component: 'EndingTariff' })

const overviewShape = z.object({
  object: z.literal('account_overview'),
  account_id: storedMembers.account_id,
  live_mode: storedMembers.live_mode,
  timezone: z
    .string()
    .describe(
      `Most frequent zone of the newest ${overviewLimits.locations.toLocaleString('en')} locations; UTC without locations.`,
    ),
  currency_codes: z.array(z.string()).describe('Currencies of these locations.'),
  last_received: orNull(instantText).describe('Arrival of the newest record that is stored with its cost.'),
  unpriced: z
    .array(unpricedShape)
    .describe(
      `Locations with records without a price that start in the last ${overviewLimits.unpricedDays} days: the first ${overviewLimits.listed}, by falling energy.`,
    ),
  records_accepted: count.describe(
    `Accepted records of the submissions of the last ${overviewLimits.acceptedHours} hours.`,
  ),
  records_processed: count.describe('Those of them that are stored, with or without a price.'),
  failed_records: count.describe(`Failed records of the submissions of the last ${overviewLimits.failedDays} days.`),
  dead_lettered_records: count.describe('Those of them that were accepted first.'),
  failed_batches: z.array(failedBatchShape).describe(`The newest ${overviewLimits.listed} of these submissions.`),
  records_warned: count.describe(
    `Warnings about accepted records of the submissions of the last ${overviewLimits.failedDays} days. A record counts once for each code.`,
  ),
  warned_batches: z.array(warnedBatchShape).describe(`The newest ${overviewLimits.listed} of these submissions.`),
  webhook_endpoints: z.object({ enabled: count, failing: count, disabled: count }),
  failed_deliveries: count.describe('Webhook deliveries that failed for good, or that wait after a failed attempt.'),
  tariffs_ending: z
    .array(endingShape)
    .describe(
      `Tariffs whose contract ends in the next ${overviewLimits.endingDays} days: the first ${overviewLimits.listed}.`,
    ),
})

export type AccountOverviewWire = z.output<typeof overviewShape>

/** Data of an overview; instants in ms. */
export type AccountOverview = Tenant &
  AccountFacts & {
    readonly lastReceived: number | null
    readonly unpriced: readonly {
      readonly locationId: string
      readonly locationReference: string | null
      readonly locationName: string | null
      readonly records: number
      readonly energy: Energy
      readonly firstStart: number
      readonly lastStart: number
    }[]
    readonly acceptedRecords: number
    readonly processedRecords: number
    readonly failedRecords: number
    readonly deadLetteredRecords: number
    readonly failedBatches: readonly { readonly batchId: string; readonly records: number; readonly later: number }[]
    readonly warnedRecords: number
    readonly warnedBatches: readonly { readonly batchId: string; readonly records: number }[]
  }

export const accountOverviewToWire = (overview: AccountOverview): AccountOverviewWire => ({
  object: 'account_overview',
  account_id: overview.accountId,
  live_mode: overview.liveMode,
  timezone: overview.timezone,
  currency_codes: [...overview.currencyCodes],
  last_received: instantOrNull(overview.lastReceived),
  unpriced: overview.unpriced.map(one => ({
    location_id: one.locationId,
    location_reference_id: one.locationReference,
    location_display_name: one.locationName,
    records: one.records,
    energy: { value: scaledNumber(one.energy, energyScale) },
    first_start: writeInstant(one.firstStart),
    last_start: writeInstant(one.lastStart),
  })),
  records_accepted: overview.acceptedRecords,
  records_processed: overview.processedRecords,
  failed_records: overview.failedRecords,
  dead_lettered_records: overview.deadLetteredRecords,
  failed_batches: overview.failedBatches.map(({ batchId, records, later }) => ({
    batch_id: batchId,
    failed_records: records,
    dead_lettered_records: later,
  })),
  records_warned: overview.warnedRecords,
  warned_batches: overview.warnedBatches.map(({ batchId, records }) => ({
    batch_id: batchId,
    records_warned: records,
  })),
  webhook_endpoints: { ...overview.endpoints },
  failed_deliveries: overview.failedDeliveries,
  tariffs_ending: overview.endingTariffs.map(one => ({
    tariff_id: one.id,
    location_id: one.locationId,
    location_reference_id: one.locationReference,
    location_display_name: one.locationName,
    display_name: one.displayName,
    contract_end_date: writeInstant(one.contractEnd),
  })),
})

const start = 1_757_844_000_000

export const accountOverviewRetrieve = defineOperation({
  id: 'account_overview_retrieve',
  summary: 'Retrieve an overview',
  description:
    'Returns what needs attention in this mode: records that wait, records without a price by location, failed records, webhooks that fail, and tariffs that end soon.',
  tag: 'Account',
  ...retrieval(
    { name: 'AccountOverview', shape: overviewShape },
    accountOverviewToWire({
      accountId: 'acc_0198c0ffee00112233445566',
      liveMode: false,
      timezone: 'Europe/Berlin',
      currencyCodes: ['EUR'],
      lastReceived: start,
      unpriced: [
        {
          locationId: 'loc_0198c0ffee00112233445566',
          locationReference: 'depot-7',
          locationName: 'Depot South',
          records: 96,
          energy: 12_500_000_000n,
          firstStart: start - 86_400_000,
          lastStart: start,
        },
      ],
      acceptedRecords: 9_600,
      processedRecords: 9_600,
      failedRecords: 2,
      deadLetteredRecords: 0,
      failedBatches: [{ batchId: 'bat_0198c0ffee00112233445566', records: 2, later: 0 }],
      warnedRecords: 1,
      warnedBatches: [{ batchId: 'bat_0198c0ffee00112233445566', records: 1 }],
      endpoints: { enabled: 1, failing: 0, disabled: 0 },
      failedDeliveries: 0,
      endingTariffs: [
        {
          id: 'trf_0198c0ffee00112233445566',
          locationId: 'loc_0198c0ffee00112233445566',
          locationReference: 'depot-7',
          locationName: 'Depot South',
          displayName: 'Day and night',
          contractEnd: start + 864_000_000,
        },
      ],
    }),
  ),
  routes: currentRoute('GET', '/account/overview'),
})
