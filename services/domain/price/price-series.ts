import { dayMs } from '../civil-date.ts'
import type { Energy, Price } from '../quantity.ts'
import { runToEnd } from '../run-to-end.ts'
import { type CountedEnergy, evaluate, nothingCounted, type PricedInterval } from '../tariff/evaluate.ts'
import type { PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection } from '../tariff/tariff.ts'

/** A half-open span with one price (1e-9 per kWh) and confidence (1e-4). */
export type PriceElement = {
  readonly start: number
  readonly end: number
  readonly price: Price
  readonly confidence: number
}

/**
 * How a price is made up. `market + fixed + percentage === aggregate` and `aggregate + nonCommodity.fixed === price`.
 * `tier` is the lower bound of the tier in force.
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

/** A half-open span without a price, and what it lacks. */
export type UnpricedInterval = {
  readonly start: number
  readonly end: number
  readonly missing: 'TARIFF' | 'MARKET_PRICE'
}

/** Elements in order; together with the unpriced spans they cover what was asked, without overlap. */
export type PriceSeries<Element> = {
  readonly elements: readonly Element[]
  readonly unpriced: readonly UnpricedInterval[]
  readonly marketSourceIds: readonly string[]
}

/** What to price: a half-open span and what its tiers have counted (none, if it is not given). */
export type PriceRequest = {
  readonly direction: TariffDirection
  readonly start: number
  readonly end: number
  readonly counted?: CountedEnergy
}

type Interval = { readonly start: number; readonly end: number }

/** Append to a list whose last member grows when it is equal and adjacent. */
const appendMerged = <T extends Interval>(list: T[], addition: T, isEqual: (a: T, b: T) => boolean): void => {
  const last = list.at(-1)
  if (last !== undefined && last.end === addition.start && isEqual(last, addition))
    list[list.length - 1] = { ...last, end: addition.end }
  else list.push(addition)
}

/** Evaluate a UTC day at a time: prices are cut there anyway, so the spans are the same. */
function* evaluateSeries<T extends PriceElement>(
  snapshot: PricingSnapshot,
  { direction, start, end, counted = nothingCounted }: PriceRequest,
  elementOf: (interval: PricedInterval, price: Price) => T,
  isEqual: (a: T, b: T) => boolean,
): Generator<undefined, PriceSeries<T>> {
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
    yield undefined
  }
  return { elements, unpriced, marketSourceIds: [...sourceIds] }
}

const isSamePrice = (a: PriceElement, b: PriceElement): boolean => a.price === b.price && a.confidence === b.confidence

/**
 * Give the prices of a span: cut where the price or its confidence changes, equal neighbours merged. Yields after each day, so that a caller
 * may pause. Source: docs/rules/prices-and-audits.md #elements.
 */
export const priceSeriesByDay = (
  snapshot: PricingSnapshot,
  request: PriceRequest,
): Generator<undefined, PriceSeries<PriceElement>> =>
  evaluateSeries(
    snapshot,
    request,
    ({ start, end, confidence }, price) => ({ start, end, price, confidence }),
    isSamePrice,
  )

/** Give the prices of a span, as `priceSeriesByDay` does, without a pause. */
export const priceSeries = (snapshot: PricingSnapshot, request: PriceRequest): PriceSeries<PriceElement> =>
  runToEnd(priceSeriesByDay(snapshot, request))

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
 * Give the prices of a span with their parts: cut where any part changes, equal neighbours merged. Yields after each day, so that a caller
 * may pause. Source: docs/rules/prices-and-audits.md #audit.
 */
export const priceAuditByDay = (
  snapshot: PricingSnapshot,
  request: PriceRequest,
): Generator<undefined, PriceSeries<PriceAuditElement>> =>
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

/** Give the prices of a span with their parts, as `priceAuditByDay` does, without a pause. */
export const priceAudit = (snapshot: PricingSnapshot, request: PriceRequest): PriceSeries<PriceAuditElement> =>
  runToEnd(priceAuditByDay(snapshot, request))
