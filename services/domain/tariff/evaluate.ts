import { dayMs } from '../civil-date.ts'
import type { Energy, Price } from '../quantity.ts'
import { atMarket, type PlanDay, type PriceStretch, planDay, stretchIndex } from './price-plan.ts'
import { eraIndex, type PriceEra, type PricingSnapshot } from './snapshot.ts'
import type { TariffDirection, TariffType } from './tariff.ts'
import { type TierPrice, tierAt } from './tier-price.ts'

/** Called for each stretch of an interval; `monthStart` is that of the local month of [start, end). */
export type VisitStretch = (start: number, end: number, era: PriceEra, stretch: PriceStretch, monthStart: number) => void

/** How far a walk over the stretches of a direction has come: the instant, and the index of its era. */
export type Walk = { at: number; era: number }

export const startWalk = (eras: readonly PriceEra[], from: number): Walk => ({ at: from, era: eraIndex(eras, from) })

/** Walk on as `walkStretches` does, to the end of the UTC day or of the era at most; all is walked once `walk.at` is `to`. */
export const walkOn = (eras: readonly PriceEra[], walk: Walk, to: number, visit: VisitStretch): void => {
  const current = eras[walk.era] as PriceEra
  const dayIndex = Math.floor(walk.at / dayMs)
  const limit = Math.min(to, current.to, (dayIndex + 1) * dayMs)
  walk.at = walkDay(planDay(current.plan, dayIndex), walk.at, limit, current, visit)
  if (walk.at >= current.to) walk.era += 1
}

/**
 * Walk the stretches of [from, to) in order and without a gap, cut where a price, a tariff, a confidence or a local month may change.
 * Neighbours may still be equal. An interval without length has the one stretch that holds at `from`.
 */
export const walkStretches = (
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  from: number,
  to: number,
  visit: VisitStretch,
): void => {
  const { eras } = snapshot.directions[direction]
  const walk = startWalk(eras, from)
  do walkOn(eras, walk, to, visit)
  while (walk.at < to)
}

const walkDay = (day: PlanDay, from: number, limit: number, era: PriceEra, visit: VisitStretch): number => {
  let at = from
  for (let index = stretchIndex(day, from); index < day.stretches.length; index += 1) {
    const bandEnd = Math.min(limit, day.starts[index + 1] ?? limit)
    const monthStart = at >= day.nextMonth ? day.nextMonth : day.monthStart
    do {
      let end = bandEnd
      const stretch = atMarket(era.plan, day.stretches[index] as PriceStretch, at, until => {
        end = Math.min(end, until)
      })
      visit(at, end, era, stretch, monthStart)
      at = end
    } while (at < bandEnd)
    if (at >= limit) break
  }
  return at
}

/** Give the instant from which an accumulator counts at a time in an era: the later of local month start and contract start. */
export const countingStart = (era: PriceEra, type: TariffType, monthStart: number): number =>
  Math.max(monthStart, type === 'COMMODITY' ? era.commodityStart : era.nonCommodityStart)

/** Give the confidence of a price in 1e-4: the lower of what its tariffs and its market price allow. */
export const confidenceOf = (era: PriceEra, stretch: PriceStretch): number => Math.min(era.confidence, stretch.confidence)

/** From `from` on an accumulator has counted `counted`. */
export type CountedStep = { readonly from: number; readonly counted: Energy }

/**
 * What an accumulator has counted for a record that starts at a time, as ascending steps; 0 before the first one.
 * An accumulator that has counted nothing yet, such as that of a month to come, has no steps.
 */
export type CountedEnergy = (type: TariffType, direction: TariffDirection, countingStart: number) => readonly CountedStep[]

/** No energy has been counted. */
export const nothingCounted: CountedEnergy = () => []

/**
 * A half-open span with one price. `commodity` null: there is none, because of `missing`.
 * `nonCommodity.aggregate` is its whole part; `price` is the sum of both aggregates. `counted` is what was in force when the tiers were read.
 */
export type PricedSpan = {
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
  readonly stretch: PriceStretch
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

const pricedSpan = (start: number, end: number, era: PriceEra, stretch: PriceStretch, counted: PricedSpan['counted']): PricedSpan => {
  const commodity = stretch.commodity.length === 0 ? null : tierAt(stretch.commodity, counted.commodity)
  const nonCommodity = tierAt(stretch.nonCommodity, counted.nonCommodity)
  return {
    start,
    end,
    price: commodity === null ? null : commodity.aggregate + nonCommodity.aggregate,
    commodity,
    nonCommodity,
    confidence: confidenceOf(era, stretch),
    commodityId: era.commodityId,
    nonCommodityId: era.nonCommodityId,
    marketSourceId: stretch.marketSourceId,
    missing: commodity !== null ? null : era.commodityId === null ? 'TARIFF' : 'MARKET_PRICE',
    stretch,
    counted,
  }
}

const noneCounted: PricedSpan['counted'] = { commodity: 0n, nonCommodity: 0n }
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
  countedEnergy: CountedEnergy = nothingCounted,
): PricedSpan[] => {
  const spans: PricedSpan[] = []
  walkStretches(snapshot, direction, from, to, (start, end, era, stretch, monthStart) => {
    if (!stretch.tiered) {
      spans.push(pricedSpan(start, end, era, stretch, noneCounted))
      return
    }
    const [base = [], extra = []] = bothTypes.map(type => countedEnergy(type, direction, countingStart(era, type, monthStart)))
    const edges = [...base, ...extra].map(step => step.from).filter(at => at > start && at < end)
    const sorted = [start, ...[...new Set(edges)].sort((a, b) => a - b)]
    for (const [index, at] of sorted.entries()) {
      const counted = { commodity: countedAt(base, at), nonCommodity: countedAt(extra, at) }
      spans.push(pricedSpan(at, sorted[index + 1] ?? end, era, stretch, counted))
    }
  })
  return spans
}

/** A step of a price over the energy still to come: `upTo` (null: no bound) is counted from the span's own state. */
export type PriceStep = { readonly upTo: Energy | null; readonly price: Price }

/**
 * Give the prices that energy meets from a span's state on, tier by tier; empty where there is no price.
 * Steps rise in `upTo`, the last has none.
 */
export const priceSteps = (span: PricedSpan): PriceStep[] => {
  const steps: PriceStep[] = []
  if (span.commodity === null) return steps
  let more: Energy | null = 0n
  while (more !== null) {
    const base = tierAt(span.stretch.commodity, span.counted.commodity + more)
    const extra = tierAt(span.stretch.nonCommodity, span.counted.nonCommodity + more)
    const toBase: Energy | null = base.to === null ? null : base.to - span.counted.commodity
    const toExtra: Energy | null = extra.to === null ? null : extra.to - span.counted.nonCommodity
    more = toBase === null ? toExtra : toExtra === null || toBase < toExtra ? toBase : toExtra
    steps.push({ upTo: more, price: base.aggregate + extra.aggregate })
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
  const { eras } = snapshot.directions[direction]
  const walk = startWalk(eras, from)
  const found: FirstUnpriced[] = []
  do {
    walkOn(eras, walk, to, (start, _end, era, { commodity }) => {
      if (commodity.length === 0) found.push({ start, missing: era.commodityId === null ? 'TARIFF' : 'MARKET_PRICE' })
    })
    if (found[0] !== undefined) return found[0]
    yield null
  } while (walk.at < to)
  return null
}
