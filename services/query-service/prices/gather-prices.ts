import type { ApiVersion } from '../../contract/api-version.ts'
import type { Operation, RequestOf } from '../../contract/operation.ts'
import { type RequestedInterval, refuseLongInterval } from '../../contract/prices/price-request.ts'
import { tariffListUrl } from '../../contract/tariffs/tariff.ts'
import { answerOffset } from '../../domain/answer-offset.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { writeInstant } from '../../domain/instant.ts'
import { noObject } from '../../domain/no-object.ts'
import { nextUpdate } from '../../domain/price/price-series.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import type { Location } from '../../domain/registry/location.ts'
import type { UnpricedInterval } from '../../domain/tariff/evaluate.ts'
import { refuseMissingTariff } from '../../domain/tariff/missing-tariff.ts'
import { isTariffPending, refusePendingTariff } from '../../domain/tariff/pending-tariff.ts'
import type { PricingSnapshot } from '../../domain/tariff/snapshot.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import { newId } from '../../platform/ids/new-id.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { nextPublication } from '../../platform/postgres/pricing/market-feeds.ts'
import { pricesChangedAt } from '../../platform/postgres/pricing/price-events.ts'
import { retrieveLocation } from '../../platform/postgres/registry/locations.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import type { CachedPricing, PricingCache } from '../../platform/pricing-cache/pricing-cache.ts'
import type { WorkThread } from '../../platform/work-thread/work-thread.ts'
import { tenantOf } from '../change.ts'
import { decidesRefusal } from '../work-thread/price-work.ts'
import { type CountedSteps, countedStepsOf } from './counted-steps.ts'

/**
 * Dependencies of price reads. `pricing` is a cache of their own, so that reads of the past do not evict entries of
 * others.
 */
export type PriceDependencies = {
  readonly database: Database
  readonly clickHouse: ClickHouse
  readonly pricing: PricingCache
  /** Thread that runs the work of large requests. */
  readonly thread: Pick<WorkThread, 'begin'>
}

/** Location with its current pricing. `changedAt`: last change of its prices (ms). */
type GatheredPricing = {
  readonly location: Location
  readonly changedAt: number
  readonly cachedPricing: CachedPricing
}

/** Current pricing of a location for an interval, with the energy that its tiers have counted. */
export type GatheredPrices = GatheredPricing & {
  readonly request: { readonly direction: TariffDirection; readonly start: number; readonly end: number }
  readonly counted: CountedSteps
}

/**
 * `start`: instant from which prices are needed (ms). `refuse`: check of the request that needs the time zone of the
 * location.
 */
type PricingInput = { readonly start: number; readonly refuse: (zone: TimeZone) => Refusal | null }

const noLocation = noObject('location')

/** Earliest instant from which the pricing cache reads market prices (ms). There are no earlier prices. */
const earliestPrices = 0

/**
 * Load the pricing of a location: the newest revisions of its tariffs and market prices.
 * Refuses `not_found`. Also refuses what `refuse` returns. Throws `Failure` if a store is unavailable.
 */
export const gatherPricing = async (
  { database, pricing }: PriceDependencies,
  tenant: Tenant,
  locationId: string,
  { start, refuse }: PricingInput,
): Promise<Result<GatheredPricing>> => {
  const found = await withTenant(database, tenant, async transaction => {
    const location = await retrieveLocation(transaction, locationId)
    return location === null
      ? null
      : { location, changedAt: (await pricesChangedAt(transaction, locationId)) ?? location.createdAt }
  })
  if (found === null) return noLocation
  const pricingRequest = { ...tenant, locationId, from: Math.max(start, earliestPrices) }
  const cachedPricing = (await pricing.gatherNewest([pricingRequest])).get(locationId)
  if (cachedPricing === undefined)
    throw new Error(pricing.faultOf(locationId) ?? `location ${locationId} has no pricing`)
  const refusal = refuse(cachedPricing.snapshot.timeZone)
  return refusal === null ? accepted({ ...found, cachedPricing }) : { ok: false, refusal }
}

/**
 * Load the pricing of a location for an interval, and the energy that its tiers have counted from the stored rows.
 * Refuses what `gatherPricing` refuses. Throws `Failure` if a store is unavailable.
 */
export const gatherPrices = async (
  dependencies: PriceDependencies,
  tenant: Tenant,
  locationId: string,
  { direction, start, end, refuse }: PricingInput & { readonly direction: TariffDirection; readonly end: number },
): Promise<Result<GatheredPrices>> => {
  const found = await gatherPricing(dependencies, tenant, locationId, { start, refuse })
  if (!found.ok) return found
  const counted = await countedStepsOf(dependencies.clickHouse, tenant, found.value.cachedPricing.snapshot, direction, {
    from: start,
    to: end,
  })
  return accepted({ ...found.value, request: { direction, start, end }, counted })
}

/**
 * Return the next instant after `at` (ms) at which prices may change.
 * Source: docs/rules/earlier-version.md #prices.
 */
export const nextUpdateOf = async (
  { database }: Pick<PriceDependencies, 'database'>,
  { cachedPricing, request }: GatheredPrices,
  at: number,
): Promise<number> => {
  const sourceId = { IMPORT: cachedPricing.importSourceId, EXPORT: cachedPricing.exportSourceId, LOCAL: null }[
    request.direction
  ]
  return nextUpdate(
    cachedPricing.snapshot.timeZone,
    at,
    sourceId === null ? null : await nextPublication(database.operator, sourceId, at),
  )
}

/** Return the start of the first contract of a direction (ms); null if there never was a contract. */
export const firstContract = (snapshot: PricingSnapshot, direction: TariffDirection): number | null =>
  snapshot.directions[direction].pricePeriods.find(period => period.commodityId !== null)?.start ?? null

const noPrice = (direction: TariffDirection, at: string): Refusal =>
  refused(
    'no_price_data',
    `There is no market price for ${direction} at ${at}. End the period at this time or earlier, or start it later`,
  ).refusal

/** Number of elements of a series, and its gaps in order of time. */
type SeriesGaps = { readonly elements: number; readonly unpriced: readonly UnpricedInterval[] }

/**
 * Return the reason why a series cannot be answered; null if it can. A series may leave out only time before the first
 * contract. The refusal names the first other instant without a price, or the whole interval if no element is left.
 * Codes: `no_tariff_connected`, `pending_connect` while the provider has not delivered the tariff, `no_price_data`.
 * Source: docs/rules/prices-and-audits.md #time-without-a-price.
 */
export const refuseSeries = (
  gathered: Pick<GatheredPrices, 'location' | 'cachedPricing'>,
  { elements, unpriced }: SeriesGaps,
  {
    interval,
    apiVersion,
    at,
  }: { readonly interval: RequestedInterval; readonly apiVersion: ApiVersion; readonly at: number },
): Refusal | null => {
  const first = firstContract(gathered.cachedPricing.snapshot, interval.direction)
  const gap = unpriced.find(decidesRefusal(first))
  if (elements > 0 && gap === undefined) return null
  const { missing, start } = gap ?? { missing: 'TARIFF', start: interval.start }
  const { snapshot } = gathered.cachedPricing
  const offsetOf = answerOffset(snapshot.timeZone, interval.endOffset)
  if (missing === 'MARKET_PRICE') return noPrice(interval.direction, writeInstant(start, offsetOf(start)))
  if (isTariffPending(gathered.location, interval.direction, at)) return refusePendingTariff(interval.direction)
  return refuseMissingTariff(snapshot, interval.direction, start, { path: tariffListUrl(apiVersion), offsetOf })
}

/** Interval of a request with its prices. */
export type PricedRequest = { readonly interval: RequestedInterval; readonly gathered: GatheredPrices }

type PriceCall = Pick<RequestOf<Operation>, 'caller' | 'at' | 'id'>

/** Load the prices of a requested interval of at most `days` calendar days. */
export const gatherInterval = async (
  dependencies: PriceDependencies,
  request: PriceCall,
  interval: Result<RequestedInterval>,
  days: number,
): Promise<Result<PricedRequest>> => {
  if (!interval.ok) return interval
  const refuse = (zone: TimeZone) => refuseLongInterval(interval.value, zone, days)
  const gathered = await gatherPrices(dependencies, tenantOf(request), request.id, { ...interval.value, refuse })
  return gathered.ok ? accepted({ interval: interval.value, gathered: gathered.value }) : gathered
}

/** Return the members of an answer that all prices of an interval share. */
export const priceViewOf = (
  kind: 'price' | 'priceAudit' | 'scheduleDuration' | 'scheduleLimit',
  { caller, at }: PriceCall,
  { gathered: { location }, interval }: PricedRequest,
) => ({
  id: newId(kind, at),
  accountId: caller.accountId,
  liveMode: caller.liveMode,
  locationId: location.id,
  timezone: location.timezone,
  currencyCode: location.currencyCode,
  interval,
  createdAt: at,
})
