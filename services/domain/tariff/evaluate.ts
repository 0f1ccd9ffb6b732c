import { dayMs } from '../civil-date.ts'
import type { Energy, Price } from '../quantity.ts'
import { atMarketPrice, getPlanDay, type PlanDay, type PriceSegment, segmentIndex } from './price-plan.ts'
import { type PricePeriod, type PricingSnapshot, pricePeriodIndex } from './snapshot.ts'
import type { TariffDirection, TariffType } from './tariff.ts'
import { type TierPrice, tierAt } from './tier-price.ts'

/** Called for each stretch of an interval; `monthStart` is that of the local month of [start, end). */
export type VisitPriceSegment = (
  start: number,
  end: number,
  pricePeriod: PricePeriod,
  segment: PriceSegment,
  monthStart: number,
) => void

/** How far a walk over the stretches of a direction has come: the instant, and the index of its era. */
export type SegmentCursor = { at: number; periodIndex: number }

export const startCursor = (pricePeriods: readonly PricePeriod[], from: number): SegmentCursor => ({
  at: from,
  periodIndex: pricePeriodIndex(pricePeriods, from),
})

/** Walk on as `walkStretches` does, to the end of the UTC day or of the era at most; all is walked once `walk.at` is `to`. */
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
 * Walk the stretches of [from, to) in order and without a gap, cut where a price, a tariff, a confidence or a local month may change.
 * Neighbours may still be equal. An interval without length has the one stretch that holds at `from`.
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

/** Give the instant from which an accumulator counts at a time in an era: the later of local month start and contract start. */
export const countingStart = (pricePeriod: PricePeriod, type: TariffType, monthStart: number): number =>
  Math.max(monthStart, type === 'COMMODITY' ? pricePeriod.commodityStart : pricePeriod.nonCommodityStart)

/** Give the confidence of a price in 1e-4: the lower of what its tariffs and its market price allow. */
export const confidenceOf = (pricePeriod: PricePeriod, segment: PriceSegment): number =>
  Math.min(pricePeriod.confidence, segment.confidence)

/** From `from` on an accumulator has counted `counted`. */
export type CountedStep = { readonly from: number; readonly counted: Energy }

/**
 * What an accumulator has counted for a record that starts at a time, as ascending steps; 0 before the first one.
 * An accumulator that has counted nothing yet, such as that of a month to come, has no steps.
 */
export type CountedEnergy = (
  type: TariffType,
  direction: TariffDirection,
  countingStart: number,
) => readonly CountedStep[]

/** No energy has been counted. */
export const nothingCounted: CountedEnergy = () => []

/**
 * A half-open span with one price. `commodity` null: there is none, because of `missing`.
 * `nonCommodity.aggregate` is its whole part; `price` is the sum of both aggregates. `counted` is what was in force when the tiers were read.
 */
export type PricedInterval = {
  readonly start: number
  readonly end: number
  readonly price: Price | null
  readonly commodity: TierPrice | null
  readonly nonCommodity: TierPrice
  readonly confidence: number
  readonly commodityId: string | null
  readonly nonCommodityId: string | null
  readonly marketSourceId: string | null
  readonly missing: 'TARIFF' | 'MARKET_PRICE' | null
  readonly segment: PriceSegment
  readonly counted: { readonly commodity: Energy; readonly nonCommodity: Energy }
}

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
const bothTypes = ['COMMODITY', 'NON_COMMODITY'] as const

/**
 * Give the prices of [from, to), in order and without a gap, cut wherever a part of the price can change.
 * The tier at a time is the one that the first energy of a record starting there would meet. Neighbours may be equal.
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
    const [commoditySteps = [], nonCommoditySteps = []] = bothTypes.map(type =>
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

/** A step of a price over the energy still to come: `upTo` (null: no bound) is counted from the span's own state. */
export type PriceStep = { readonly upTo: Energy | null; readonly price: Price }

/**
 * Give the prices that energy meets from a span's state on, tier by tier; empty where there is no price.
 * Steps rise in `upTo`, the last has none.
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

/** The first instant of an interval that has no price, and what is missing there. */
export type FirstUnpriced = { readonly start: number; readonly missing: 'TARIFF' | 'MARKET_PRICE' }

/**
 * Find the first instant of [from, to) that has no price; null if all of it has one. Tiers have no say in this. Gives null after each day
 * of UTC, where the caller may let others run.
 */
export function* firstUnpriced(
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  from: number,
  to: number,
): Generator<null, FirstUnpriced | null, undefined> {
  const { pricePeriods } = snapshot.directions[direction]
  const cursor = startCursor(pricePeriods, from)
  const unpriced: FirstUnpriced[] = []
  do {
    advanceCursor(pricePeriods, cursor, to, (start, _end, pricePeriod, { commodity }) => {
      if (commodity.length === 0)
        unpriced.push({ start, missing: pricePeriod.commodityId === null ? 'TARIFF' : 'MARKET_PRICE' })
    })
    if (unpriced[0] !== undefined) return unpriced[0]
    yield null
  } while (cursor.at < to)
  return null
}
