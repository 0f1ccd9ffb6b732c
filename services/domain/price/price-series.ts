import { instantsAt, offsetAt, type TimeZone } from '../civil-time.ts'
import { dayMs, hourMs, type Interval } from '../interval.ts'
import type { Energy, Price } from '../quantity.ts'
import {
  type CountedEnergy,
  evaluate,
  nothingCounted,
  type PricedInterval,
  type UnpricedInterval,
} from '../tariff/evaluate.ts'
import type { PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection } from '../tariff/tariff.ts'

/** Interval with one price (1e-9 per kWh) and confidence (1e-4). */
export type PriceElement = Interval & {
  readonly price: Price
  readonly confidence: number
}

/**
 * Components of a price. Law: `market + fixed + percentage === aggregate` and `aggregate + nonCommodity.fixed ===
 * price`.
 * `tier` is the lower bound of the current tier.
 */
export type PriceBreakdown = {
  readonly commodity: {
    readonly market: Price
    readonly fixed: Price
    readonly percentage: Price
    readonly tier: Energy
    readonly aggregate: Price
  }
  readonly nonCommodity: { readonly fixed: Price; readonly tier: Energy }
}

export type PriceAuditElement = PriceElement & { readonly breakdown: PriceBreakdown }

/** Elements in order. Elements and unpriced intervals together cover the requested interval, without overlap. */
export type PriceSeries<Element> = {
  readonly elements: readonly Element[]
  readonly unpriced: readonly UnpricedInterval[]
  readonly marketSourceIds: readonly string[]
}

/** Interval to price, and the counted energy of its tiers (default: none). */
export type PriceRequest = {
  readonly direction: TariffDirection
  readonly start: number
  readonly end: number
  readonly counted?: CountedEnergy
}

/** Append to a list; an equal neighbour grows instead. */
const appendMerged = <T extends Interval>(list: T[], addition: T, isEqual: (a: T, b: T) => boolean): void => {
  const last = list.at(-1)
  if (last !== undefined && last.end === addition.start && isEqual(last, addition))
    list[list.length - 1] = { ...last, end: addition.end }
  else list.push(addition)
}

/** Evaluate one UTC day at a time. Prices are cut at days anyway, so the elements are the same. */
const evaluateSeries = <T extends PriceElement>(
  snapshot: PricingSnapshot,
  { direction, start, end, counted = nothingCounted }: PriceRequest,
  elementOf: (interval: PricedInterval, price: Price) => T,
  isEqual: (a: T, b: T) => boolean,
): PriceSeries<T> => {
  const elements: T[] = []
  const unpriced: UnpricedInterval[] = []
  const sourceIds = new Set<string>()
  for (let at = start; at < end; ) {
    const dayEnd = Math.min(end, (Math.floor(at / dayMs) + 1) * dayMs)
    for (const interval of evaluate(snapshot, direction, at, dayEnd, counted)) {
      if (interval.price === null) {
        const missing = interval.missing ?? 'TARIFF'
        appendMerged(unpriced, { start: interval.start, end: interval.end, missing }, (a, b) => a.missing === b.missing)
        continue
      }
      if (interval.marketSourceId !== null) sourceIds.add(interval.marketSourceId)
      appendMerged(elements, elementOf(interval, interval.price), isEqual)
    }
    at = dayEnd
  }
  return { elements, unpriced, marketSourceIds: [...sourceIds] }
}

const isSamePrice = (a: PriceElement, b: PriceElement): boolean => a.price === b.price && a.confidence === b.confidence

/**
 * Return the prices of an interval, cut where the price or its confidence changes. Equal neighbours are merged.
 * Source: docs/rules/prices-and-audits.md #elements.
 */
export const priceSeries = (snapshot: PricingSnapshot, request: PriceRequest): PriceSeries<PriceElement> =>
  evaluateSeries(
    snapshot,
    request,
    ({ start, end, confidence }, price) => ({ start, end, price, confidence }),
    isSamePrice,
  )

const breakdownOf = ({ commodity, nonCommodity }: PricedInterval): PriceBreakdown => ({
  commodity: {
    market: commodity?.market ?? 0n,
    fixed: commodity?.fixed ?? 0n,
    percentage: commodity?.percentage ?? 0n,
    tier: commodity?.from ?? 0n,
    aggregate: commodity?.aggregate ?? 0n,
  },
  nonCommodity: { fixed: nonCommodity.aggregate, tier: nonCommodity.from },
})

const isSameBreakdown = (a: PriceAuditElement, b: PriceAuditElement): boolean => {
  const [breakdownA, breakdownB] = [a.breakdown, b.breakdown]
  return (
    isSamePrice(a, b) &&
    breakdownA.commodity.market === breakdownB.commodity.market &&
    breakdownA.commodity.fixed === breakdownB.commodity.fixed &&
    breakdownA.commodity.percentage === breakdownB.commodity.percentage &&
    breakdownA.commodity.tier === breakdownB.commodity.tier &&
    breakdownA.nonCommodity.fixed === breakdownB.nonCommodity.fixed &&
    breakdownA.nonCommodity.tier === breakdownB.nonCommodity.tier
  )
}

/**
 * Return the prices of an interval with their components, cut where a component changes. Equal neighbours are merged.
 * Source: docs/rules/prices-and-audits.md #audit.
 */
export const priceAudit = (snapshot: PricingSnapshot, request: PriceRequest): PriceSeries<PriceAuditElement> =>
  evaluateSeries(
    snapshot,
    request,
    (interval, price) => ({
      start: interval.start,
      end: interval.end,
      price,
      confidence: interval.confidence,
      breakdown: breakdownOf(interval),
    }),
    isSameBreakdown,
  )

const eveningMs = 23 * hourMs

/**
 * Return the instant (ms) at which prices should be requested again. It is the next publication of the market source
 * (`publication`; null: unknown), at the latest the next local 23:00 after `at`.
 * Source: docs/rules/earlier-version.md #prices.
 */
export const nextUpdate = (zone: TimeZone, at: number, publication: number | null): number => {
  const today = Math.floor((at + offsetAt(zone, at)) / dayMs)
  const evenings = [today, today + 1, today + 2].flatMap(day => instantsAt(zone, day * dayMs + eveningMs))
  const next = evenings.find(found => found > at) ?? at + dayMs
  return publication === null ? next : Math.min(next, publication)
}
