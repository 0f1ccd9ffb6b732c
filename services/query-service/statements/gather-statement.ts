import type { StatementRequest } from '../../contract/statements/statement-request.ts'
import type { Charge } from '../../domain/charge/charge.ts'
import type { DayRange } from '../../domain/charge/charge-days.ts'
import type { LocationCalendar } from '../../domain/charge/location-calendar.ts'
import { startOfDayNumber, type TimeZone } from '../../domain/civil-time.ts'
import { hourMs, type Interval, overlaps } from '../../domain/interval.ts'
import { copyPricing } from '../../domain/price/pricing-copy.ts'
import type { Result } from '../../domain/refusal.ts'
import type { FinalStatement } from '../../domain/statement/adjustments.ts'
import { firstDayRead } from '../../domain/statement/demand-line.ts'
import { earlierRecords } from '../../domain/statement/earlier-records.ts'
import type { BilledTariff } from '../../domain/statement/energy-sums.ts'
import type { PricingSnapshot } from '../../domain/tariff/snapshot.ts'
import { defaultTariffComponents, type TariffDirection, tariffTypes } from '../../domain/tariff/tariff.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { calendarsOfLocations } from '../../platform/postgres/pricing/calendars.ts'
import { chargeOf } from '../../platform/postgres/pricing/charge-row.ts'
import { chargesOf } from '../../platform/postgres/pricing/charges.ts'
import { type CostedLocation, costedLocations } from '../../platform/postgres/pricing/costed-locations.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import type { PricingCache } from '../../platform/pricing-cache/pricing-cache.ts'
import type { StatementSources } from '../work-thread/statement-work.ts'
import { maxRecords, type RecordReader, type RecordsRequest } from './gather-records.ts'

/** Stores that a statement is calculated from. */
export type StatementStores = {
  readonly database: Database
  readonly records: RecordReader
  readonly pricing: PricingCache
  /** Find a time zone by its IANA name; null if the name is unknown. */
  readonly timeZone: (name: string) => TimeZone | null
}

/** Charges and calendar of a location, with its time zone and currency. Charges are in the order of their creation. */
export type BillingTerms = {
  readonly location: CostedLocation
  readonly timeZone: TimeZone
  readonly charges: readonly Charge[]
  readonly calendar: LocationCalendar | null
}

/** Load the terms of locations, also of deleted ones. Unknown locations are left out. */
export const loadAllBillingTerms = async (
  { timeZone }: Pick<StatementStores, 'timeZone'>,
  transaction: TenantTransaction,
  locationIds: readonly string[],
): Promise<ReadonlyMap<string, BillingTerms>> => {
  const locations = await costedLocations(transaction, locationIds)
  const charges = await chargesOf(transaction, locationIds)
  const calendars = await calendarsOfLocations(transaction, locationIds)
  return new Map(
    locations.map(location => {
      const zone = timeZone(location.timezone)
      if (zone === null) throw new RangeError('A location has an unknown time zone.')
      const ownCharges = (charges.get(location.id) ?? []).map(chargeOf)
      return [
        location.id,
        { location, timeZone: zone, charges: ownCharges, calendar: calendars.get(location.id) ?? null },
      ]
    }),
  )
}

/** Load the terms of a location, also of a deleted one; null if there is no location. */
export const loadBillingTerms = async (
  stores: Pick<StatementStores, 'timeZone'>,
  transaction: TenantTransaction,
  locationId: string,
): Promise<BillingTerms | null> =>
  (await loadAllBillingTerms(stores, transaction, [locationId])).get(locationId) ?? null

/** Statement to calculate, at `at` (ms). `finals`: FINAL statements that it adjusts. */
export type StatementPlan = {
  readonly terms: BillingTerms
  readonly request: StatementRequest
  readonly periods: readonly DayRange[]
  readonly finals: readonly FinalStatement[]
  readonly at: number
}

const directions: readonly TariffDirection[] = ['IMPORT', 'EXPORT', 'LOCAL']

/** Return the tariffs that are valid in a span, in the order of their creation. */
export const tariffsIn = (snapshot: PricingSnapshot, span: Interval): readonly BilledTariff[] => {
  const tariffs = new Map<string, BilledTariff>()
  for (const direction of directions) {
    for (const period of snapshot.directions[direction].pricePeriods) {
      if (!overlaps(period, span)) continue
      for (const type of tariffTypes) {
        const id = type === 'COMMODITY' ? period.commodityId : period.nonCommodityId
        const contractStart = type === 'COMMODITY' ? period.commodityStart : period.nonCommodityStart
        if (id === null) continue
        const line = snapshot.tariffLines.get(id) ?? { component: defaultTariffComponents[type], planId: null }
        tariffs.set(id, { id, direction, type, ...line, contractStart })
      }
    }
  }
  return [...tariffs.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** Return the newest prices of a location over an interval. Throws `Failure` if the store is unavailable. */
export const loadPrices = async (
  { pricing }: Pick<StatementStores, 'pricing'>,
  tenant: Tenant,
  locationId: string,
  { start }: Interval,
): Promise<PricingSnapshot> => {
  const request = { ...tenant, locationId, from: Math.max(0, start) }
  const found = (await pricing.gatherNewest([request])).get(locationId)
  if (found === undefined) throw new Error(pricing.faultOf(locationId) ?? `location ${locationId} has no pricing`)
  return found.snapshot
}

/** Return the span of a statement: from the start of its first day to the end of its last day. */
export const spanOf = (zone: TimeZone, { startDay, endDay }: DayRange): Interval => ({
  start: startOfDayNumber(zone, startDay),
  end: startOfDayNumber(zone, endDay),
})

/** Return the instant from which the charges of a statement read records. */
export const readFromOf = ({ timeZone, charges }: BillingTerms, { startDay }: DayRange): number =>
  startOfDayNumber(timeZone, firstDayRead(charges, startDay))

/** Return the records before a span that the charges of a statement read. All records from `readFrom` on are read. */
export const readsOf = (
  { timeZone, charges }: Pick<BillingTerms, 'timeZone' | 'charges'>,
  readFrom: number,
  { startDay }: Pick<DayRange, 'startDay'>,
): Pick<RecordsRequest, 'readFrom' | 'earlier'> => ({
  readFrom,
  earlier: earlierRecords(timeZone, charges, startDay, readFrom),
})

/** Return whether the charges of a statement read whole sessions. */
export const readsSessions = ({ charges }: BillingTerms): boolean => charges.some(({ kind }) => kind === 'SESSION')

/** Return everything that decides the amounts of a statement. `records` may have their rows or not. */
export const sourcesOf = <Records extends Omit<StatementSources['records'], 'blocks'>>(
  { terms, request, periods, finals, at }: StatementPlan,
  snapshot: PricingSnapshot,
  records: Records,
) => ({
  records,
  maxRecords,
  pricing: copyPricing(snapshot, directions, records.priceInterval),
  tariffs: tariffsIn(snapshot, spanOf(terms.timeZone, request)),
  charges: terms.charges,
  calendar: terms.calendar,
  periods,
  expected: request.expected,
  hasDetail: request.hasDetail,
  finals,
  now: Math.floor(at / hourMs) * hourMs,
})

/**
 * Gather everything that decides the amounts of a statement, and use it. Calculations compare `at` by full hours, so
 * that the answer for a current month stays the same for some time.
 * Throws `Failure` if a store is unavailable.
 */
export const withSources = <T>(
  stores: StatementStores,
  tenant: Tenant,
  { terms, request, periods, finals, at }: StatementPlan,
  signal: AbortSignal,
  use: (sources: StatementSources & { readonly bytes: number }) => Promise<Result<T>>,
): Promise<Result<T>> => {
  const { location, timeZone } = terms
  const recordsRequest = {
    tenant,
    locationId: location.id,
    span: spanOf(timeZone, request),
    signal,
    ...readsOf(terms, spanOf(timeZone, request).start, request),
    hasSessions: readsSessions(terms),
    includeDevices: request.includeDevices,
  }
  return stores.records.withRecords(recordsRequest, async ({ bytes, ...records }) => {
    const snapshot = await loadPrices(stores, tenant, location.id, records.priceInterval)
    return use({ ...sourcesOf({ terms, request, periods, finals, at }, snapshot, records), bytes })
  })
}
