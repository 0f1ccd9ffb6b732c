import type { Layout } from '../../contract/layout.ts'
import type { PriceSpan } from '../../contract/price-request.ts'
import { tariffListUrl } from '../../contract/tariff.ts'
import { answerOffset } from '../../domain/answer-offset.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { writeInstant } from '../../domain/instant.ts'
import { nextUpdate } from '../../domain/price/next-update.ts'
import type { UnpricedSpan } from '../../domain/price/price-series.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import { noTariffConnected } from '../../domain/tariff/missing-tariff.ts'
import { isOnItsWay, pendingTariff } from '../../domain/tariff/on-its-way.ts'
import type { PricingSnapshot } from '../../domain/tariff/snapshot.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import type { Database } from '../../platform/postgres/database.ts'
import type { StoredLocation } from '../../platform/postgres/location-row.ts'
import { retrieveLocation } from '../../platform/postgres/locations.ts'
import { nextPublication, pricesChangedAt } from '../../platform/postgres/price-times.ts'
import { type Tenant, withTenant } from '../../platform/postgres/transaction.ts'
import type { HeldPricing, PricingBook } from '../../platform/pricing-book.ts'
import type { WorkThread } from '../../platform/work-thread/work-thread.ts'
import { isMissed } from '../work/price-work.ts'
import { type CountedSteps, countedStepsOf } from './price-counts.ts'

/** What the readings of prices are made from; `pricing` is their own, so that a look into the past moves nothing that others hold. */
export type PriceReads = {
  readonly database: Database
  readonly clickHouse: ClickHouse
  readonly pricing: PricingBook
  /** Does what takes long. */
  readonly thread: Pick<WorkThread, 'begin'>
}

/** A location and what prices it by now; `changedAt` in ms. */
type GatheredPricing = { readonly location: StoredLocation; readonly changedAt: number; readonly held: HeldPricing }

/** All that prices a span of a location by now. */
export type GatheredPrices = GatheredPricing & {
  readonly request: { readonly direction: TariffDirection; readonly start: number; readonly end: number }
  readonly counted: CountedSteps
}

/** From when on (ms) prices are needed, and what speaks against the request once the clock of its location is known. */
type PricingAsked = { readonly start: number; readonly refuse: (zone: TimeZone) => Refusal | null }

const noLocation = refused('not_found', 'No location has this id')

/** The pricing book reads market prices from an instant on; there are none from before. */
const firstPrices = 0

/**
 * Gather what prices a location: the newest revisions of its tariffs and market prices. Refuses `not_found` and what `refuse` says.
 * Throws `Failure` where a store is away.
 */
export const gatherPricing = async (
  { database, pricing }: PriceReads,
  tenant: Tenant,
  locationId: string,
  { start, refuse }: PricingAsked,
): Promise<Result<GatheredPricing>> => {
  const found = await withTenant(database, tenant, async transaction => {
    const location = await retrieveLocation(transaction, locationId)
    return location === null ? null : { location, changedAt: (await pricesChangedAt(transaction, locationId)) ?? location.createdAt }
  })
  if (found === null) return noLocation
  const ask = { ...tenant, locationId, from: Math.max(start, firstPrices) }
  const held = (await pricing.gatherNewest([ask])).get(locationId)
  if (held === undefined) throw new Error(pricing.faultOf(locationId) ?? `location ${locationId} has no pricing`)
  const refusal = refuse(held.snapshot.timeZone)
  return refusal === null ? accepted({ ...found, held }) : { ok: false, refusal }
}

/**
 * Gather what prices a span of a location: its pricing, and what its tiers have counted by the stored rows. Refuses what `gatherPricing`
 * refuses. Throws `Failure` where a store is away.
 */
export const gatherPrices = async (
  reads: PriceReads,
  tenant: Tenant,
  locationId: string,
  { direction, start, end, refuse }: PricingAsked & { readonly direction: TariffDirection; readonly end: number },
): Promise<Result<GatheredPrices>> => {
  const found = await gatherPricing(reads, tenant, locationId, { start, refuse })
  if (!found.ok) return found
  const counted = await countedStepsOf(reads.clickHouse, tenant, found.value.held.snapshot, direction, { from: start, to: end })
  return accepted({ ...found.value, request: { direction, start, end }, counted })
}

/** Tell when prices are worth asking for again, after `at` (ms). Source: docs/rules/earlier-version.md #prices. */
export const nextUpdateOf = async (
  { database }: Pick<PriceReads, 'database'>,
  { held, request }: GatheredPrices,
  at: number,
): Promise<number> => {
  const sourceId = { IMPORT: held.importSourceId, EXPORT: held.exportSourceId, LOCAL: null }[request.direction]
  return nextUpdate(held.snapshot.timeZone, at, sourceId === null ? null : await nextPublication(database.operator, sourceId, at))
}

/** When the first contract of a direction begins (ms); null where there never was one. */
export const firstContract = (snapshot: PricingSnapshot, direction: TariffDirection): number | null =>
  snapshot.directions[direction].eras.find(era => era.commodityId !== null)?.from ?? null

const noPrice = (direction: TariffDirection, at: string): Refusal =>
  refused('no_price_data', `There is no market price for ${direction} at ${at}; end the span there or earlier, or begin it later`).refusal

/** What is known of a series: how many elements it has, and the gaps that decide on it, in order. */
type SeriesGaps = { readonly elements: number; readonly unpriced: readonly UnpricedSpan[] }

/**
 * Say why a series cannot be answered; null when it can. Time before the first contract may be left out of it, no other.
 * Refuses the first instant that has no price otherwise, or all of the span where nothing is left: `no_tariff_connected`, while one is on
 * its way `pending_connect`, or `no_price_data`. Source: docs/rules/prices-and-audits.md #time-without-a-price.
 */
export const refuseSeries = (
  gathered: Pick<GatheredPrices, 'location' | 'held'>,
  { elements, unpriced }: SeriesGaps,
  { span, layout, at }: { readonly span: PriceSpan; readonly layout: Layout; readonly at: number },
): Refusal | null => {
  const first = firstContract(gathered.held.snapshot, span.direction)
  const gap = unpriced.find(isMissed(first))
  if (elements > 0 && gap === undefined) return null
  const { missing, start } = gap ?? { missing: 'TARIFF', start: span.start }
  const { snapshot } = gathered.held
  const offsetOf = answerOffset(snapshot.timeZone, span.endOffset)
  if (missing === 'MARKET_PRICE') return noPrice(span.direction, writeInstant(start, offsetOf(start)))
  if (isOnItsWay(gathered.location, span.direction, at)) return pendingTariff(span.direction)
  return noTariffConnected(snapshot, span.direction, start, { path: tariffListUrl(layout), offsetOf })
}
