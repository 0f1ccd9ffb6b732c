import { dayMs, type Interval } from '../interval.ts'
import type { Energy, Price } from '../quantity.ts'
import { atMarketPrice, getPlanDay, type PlanDay, type PriceSegment, segmentIndex } from './price-plan.ts'
import { type PricePeriod, type PricingSnapshot, pricePeriodIndex } from './snapshot.ts'
import type { TariffDirection, TariffType } from './tariff.ts'
import { tariffTypes } from './tariff.ts'
import { type TierPrice, tierAt } from './tier-price.ts'

/** Visitor of each price segment of an interval. `monthStart` is the start of the local month of [start, end). */
export type VisitPriceSegment = (
  start: number,
  end: number,
  pricePeriod: PricePeriod,
  segment: PriceSegment,
  monthStart: number,
) => void

/** Position while price segments are visited in order: the instant, and the index of its price period. */
export type SegmentCursor = { at: number; periodIndex: number }

export const startCursor = (pricePeriods: readonly PricePeriod[], from: number): SegmentCursor => ({
  at: from,
  periodIndex: pricePeriodIndex(pricePeriods, from),
})

/**
 * Visit further segments, at most to the end of the UTC day or of the price period. The visit is complete if
 * `cursor.at` reaches `to`.
 */
export const advanceCursor = (
  pricePeriods: readonly PricePeriod[],
  cursor: SegmentCursor,
  to: number,
  visit: VisitPriceSegment,
): void => {
  const period = pricePeriods[cursor.periodIndex] as PricePeriod
  const dayIndex = Math.floor(cursor.at / dayMs)
  const dayEnd = Math.min(to, period.end, (dayIndex + 1) * dayMs)
  cursor.at = visitSegmentsOfDay(getPlanDay(period.plan, dayIndex), cursor.at, dayEnd, period, visit)
  if (cursor.at >= period.end) cursor.periodIndex += 1
}

/**
 * Visit the price segments of [from, to) in order and without a gap. They are cut where a price, a tariff, a confidence
 * or a local month can change.
 * Neighbours can be equal. An interval without length has one segment: the one at `from`.
 */
export const visitPriceSegments = (
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  from: number,
  to: number,
  visit: VisitPriceSegment,
): void => {
  const { pricePeriods } = snapshot.directions[direction]
  const cursor = startCursor(pricePeriods, from)
  do advanceCursor(pricePeriods, cursor, to, visit)
  while (cursor.at < to)
}

const visitSegmentsOfDay = (
  day: PlanDay,
  from: number,
  dayEnd: number,
  pricePeriod: PricePeriod,
  visit: VisitPriceSegment,
): number => {
  let at = from
  for (let index = segmentIndex(day, from); index < day.segments.length; index += 1) {
    const segmentEnd = Math.min(dayEnd, day.starts[index + 1] ?? dayEnd)
    const monthStart = at >= day.nextMonth ? day.nextMonth : day.monthStart
    do {
      let end = segmentEnd
      const segment = atMarketPrice(pricePeriod.plan, day.segments[index] as PriceSegment, at, until => {
        end = Math.min(end, until)
      })
      visit(at, end, pricePeriod, segment, monthStart)
      at = end
    } while (at < segmentEnd)
    if (at >= dayEnd) break
  }
  return at
}

/**
 * Return the instant from which an accumulator counts in a price period and month: the later of local month start and
 * contract start.
 */
export const countingStart = (pricePeriod: PricePeriod, type: TariffType, monthStart: number): number =>
  Math.max(monthStart, type === 'COMMODITY' ? pricePeriod.commodityStart : pricePeriod.nonCommodityStart)

/** Return the confidence of a price in 1e-4: the lower of the confidences of its tariffs and of its market price. */
export const confidenceOf = (pricePeriod: PricePeriod, segment: PriceSegment): number =>
  Math.min(pricePeriod.confidence, segment.confidence)

/** Counted energy of an accumulator from an instant. */
export type CountedStep = { readonly from: number; readonly counted: Energy }

/**
 * Counted energy of an accumulator by the start of the next record, as ascending steps; 0 before the first step.
 * An accumulator without records, such as that of a future month, has no steps.
 */
export type CountedEnergy = (
  type: TariffType,
  direction: TariffDirection,
  countingStart: number,
) => readonly CountedStep[]

/** Counted energy if no record has been counted. */
export const nothingCounted: CountedEnergy = () => []

/** Reason why an interval has no price: no tariff applies, or the market price is unknown. */
type MissingPrice = 'TARIFF' | 'MARKET_PRICE'

/**
 * Interval with one price. `commodity` is null if there is no price; `missing` is then the reason.
 * `price` is the sum of `commodity.aggregate` and `nonCommodity.aggregate`. `counted` is the counted energy from which
 * the tiers were chosen.
 */
export type PricedInterval = Interval & {
  readonly price: Price | null
  readonly commodity: TierPrice | null
  readonly nonCommodity: TierPrice
  readonly confidence: number
  readonly commodityId: string | null
  readonly nonCommodityId: string | null
  readonly marketSourceId: string | null
  readonly missing: MissingPrice | null
  readonly segment: PriceSegment
  readonly counted: { readonly commodity: Energy; readonly nonCommodity: Energy }
}

/** Interval without a price, and what is missing there. */
export type UnpricedInterval = Interval & { readonly missing: MissingPrice }

const countedAt = (steps: readonly CountedStep[], at: number): Energy => {
  let counted = 0n
  for (const step of steps) {
    if (step.from > at) break
    counted = step.counted
  }
  return counted
}

const createPricedInterval = (
  start: number,
  end: number,
  pricePeriod: PricePeriod,
  segment: PriceSegment,
  counted: PricedInterval['counted'],
): PricedInterval => {
  const commodity = segment.commodity.length === 0 ? null : tierAt(segment.commodity, counted.commodity)
  const nonCommodity = tierAt(segment.nonCommodity, counted.nonCommodity)
  return {
    start,
    end,
    price: commodity === null ? null : commodity.aggregate + nonCommodity.aggregate,
    commodity,
    nonCommodity,
    confidence: confidenceOf(pricePeriod, segment),
    commodityId: pricePeriod.commodityId,
    nonCommodityId: pricePeriod.nonCommodityId,
    marketSourceId: segment.marketSourceId,
    missing: commodity !== null ? null : pricePeriod.commodityId === null ? 'TARIFF' : 'MARKET_PRICE',
    segment,
    counted,
  }
}

const noCountedEnergy: PricedInterval['counted'] = { commodity: 0n, nonCommodity: 0n }
/**
 * Return the prices of [from, to), in order and without a gap, cut wherever a component of the price can change.
 * The tier at an instant is the tier of the first energy of a record that starts there. Neighbours can be equal.
 * Source: docs/rules/prices-and-audits.md #elements, #tier-in-force.
 */
export const evaluate = (
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  from: number,
  to: number,
  countedEnergyOf: CountedEnergy = nothingCounted,
): PricedInterval[] => {
  const intervals: PricedInterval[] = []
  visitPriceSegments(snapshot, direction, from, to, (start, end, pricePeriod, segment, monthStart) => {
    if (!segment.isTiered) {
      intervals.push(createPricedInterval(start, end, pricePeriod, segment, noCountedEnergy))
      return
    }
    const [commoditySteps = [], nonCommoditySteps = []] = tariffTypes.map(type =>
      countedEnergyOf(type, direction, countingStart(pricePeriod, type, monthStart)),
    )
    const edges = [...commoditySteps, ...nonCommoditySteps].map(step => step.from).filter(at => at > start && at < end)
    const sorted = [start, ...[...new Set(edges)].sort((a, b) => a - b)]
    for (const [index, at] of sorted.entries()) {
      const counted = { commodity: countedAt(commoditySteps, at), nonCommodity: countedAt(nonCommoditySteps, at) }
      intervals.push(createPricedInterval(at, sorted[index + 1] ?? end, pricePeriod, segment, counted))
    }
  })
  return intervals
}

/** Step of a price over future energy. `upTo` (null: no bound) is counted from the start of the priced interval. */
export type PriceStep = { readonly upTo: Energy | null; readonly price: Price }

/**
 * Return the prices of future energy from the counted energy of an interval, tier by tier; empty without a price.
 * The steps ascend in `upTo`; the last has none.
 */
export const priceSteps = (interval: PricedInterval): PriceStep[] => {
  const steps: PriceStep[] = []
  if (interval.commodity === null) return steps
  let energyAhead: Energy | null = 0n
  while (energyAhead !== null) {
    const commoditySteps = tierAt(interval.segment.commodity, interval.counted.commodity + energyAhead)
    const nonCommoditySteps = tierAt(interval.segment.nonCommodity, interval.counted.nonCommodity + energyAhead)
    const toCommodityBound: Energy | null =
      commoditySteps.to === null ? null : commoditySteps.to - interval.counted.commodity
    const toNonCommodityBound: Energy | null =
      nonCommoditySteps.to === null ? null : nonCommoditySteps.to - interval.counted.nonCommodity
    energyAhead =
      toCommodityBound === null
        ? toNonCommodityBound
        : toNonCommodityBound === null || toCommodityBound < toNonCommodityBound
          ? toCommodityBound
          : toNonCommodityBound
    steps.push({ upTo: energyAhead, price: commoditySteps.aggregate + nonCommoditySteps.aggregate })
  }
  return steps
}

/** First instant of an interval that has no price, and what is missing there. */
export type FirstUnpriced = { readonly start: number; readonly missing: MissingPrice }

/**
 * Find the first instant of [from, to) without a price; null if every instant has one. Tiers have no effect.
 */
export const firstUnpriced = (
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  from: number,
  to: number,
): FirstUnpriced | null => {
  const { pricePeriods } = snapshot.directions[direction]
  const cursor = startCursor(pricePeriods, from)
  const unpriced: FirstUnpriced[] = []
  do {
    advanceCursor(pricePeriods, cursor, to, (start, _end, pricePeriod, { commodity }) => {
      if (commodity.length === 0)
        unpriced.push({ start, missing: pricePeriod.commodityId === null ? 'TARIFF' : 'MARKET_PRICE' })
    })
    if (unpriced[0] !== undefined) return unpriced[0]
  } while (cursor.at < to)
  return null
}
