import type { RequestOf } from '../../contract/operation.ts'
import type { scheduleAmount } from '../../contract/schedules/schedule-amount.ts'
import type { Charge, DemandCharge } from '../../domain/charge/charge.ts'
import { daysOfMonth, monthOfDay } from '../../domain/charge/charge-days.ts'
import { localDayNumber, startOfDayNumber } from '../../domain/civil-time.ts'
import type { Interval } from '../../domain/interval.ts'
import type { Result } from '../../domain/refusal.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import { maxRecords } from '../statements/gather-records.ts'
import { loadBillingTerms, readsOf, type StatementStores } from '../statements/gather-statement.ts'
import type { DemandInput } from '../work-thread/amount-work.ts'

/** Stores that the charges of a plan are read from. */
export type DemandDependencies = Pick<StatementStores, 'database' | 'timeZone' | 'records'>

const isDemand = (charge: Charge): charge is DemandCharge => charge.kind === 'DEMAND'

const nothingStored = { IMPORT: true, EXPORT: true, LOCAL: true, SUPPLIED: true }

/**
 * Load the charges for demand of a location, with the records of the calendar months of a plan and of the earlier months
 * that the charges read, and use them. `demand` is null if the request does not respect charges; `bytes` is the size of
 * the records. Throws `Failure` if a store is unavailable.
 * Source: docs/rules/schedules.md #charges.
 */
export const withDemand = async <T>(
  { database, timeZone, records }: DemandDependencies,
  request: RequestOf<typeof scheduleAmount>,
  plan: Interval,
  use: (demand: DemandInput | null, bytes: number) => Promise<Result<T>>,
): Promise<Result<T>> => {
  const tenant = tenantOf(request)
  if (request.body.respect_charges !== true) return use(null, 0)
  const terms = await withTenant(database, tenant, transaction =>
    loadBillingTerms({ timeZone }, transaction, request.id),
  )
  const charges = (terms?.charges ?? []).filter(isDemand)
  const locationId = request.id
  if (terms === null || charges.length === 0) {
    const stored = { locationId, span: plan, blocks: [], includesDevices: nothingStored }
    return use({ charges: [], calendar: null, records: stored, maxRecords }, 0)
  }
  const zone = terms.timeZone
  const [{ startDay }, { endDay }] = [plan.start, plan.end - 1].map(at =>
    daysOfMonth(monthOfDay(localDayNumber(zone, at))),
  ) as [ReturnType<typeof daysOfMonth>, ReturnType<typeof daysOfMonth>]
  const recordsRequest = {
    tenant,
    locationId,
    hasSessions: false,
    includeDevices: 'auto' as const,
    signal: request.signal,
    span: { start: startOfDayNumber(zone, startDay), end: startOfDayNumber(zone, endDay) },
    ...readsOf({ timeZone: zone, charges }, startOfDayNumber(zone, startDay), { startDay }),
  }
  return records.withRecords(recordsRequest, ({ bytes, priceInterval: _, ...stored }) =>
    use({ charges, calendar: terms.calendar, records: stored, maxRecords }, bytes),
  )
}
