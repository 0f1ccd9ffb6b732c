import { startOfLocalMonth } from '../civil-time.ts'
import type { Interval } from '../interval.ts'
import type { Energy } from '../quantity.ts'
import {
  type CountedEnergy,
  evaluate,
  type PricedInterval,
  priceSteps,
  type UnpricedInterval,
} from '../tariff/evaluate.ts'
import type { PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection } from '../tariff/tariff.ts'
import type { TierPrice } from '../tariff/tier-price.ts'
import type { PlanPrice, PlanPrices, PlanSteps } from './amount-request.ts'

/**
 * Return the prices of the time of a plan, cut where they change. Equal neighbours are merged.
 * Tiers begin with their counts at `start` and count the energy of the plan. A plan does not use a tier that is cheaper
 * than the tier before it: such an interval has the current price.
 * If both components have tiers, a tariff of one can change within a month. The steps of a pair of tariffs then ignore
 * energy planned before the change, although the other component still counts it. Energy after the change is planned
 * with a price that may be too low, but `components` give its exact cost.
 * Source: docs/rules/schedules.md #tiers-in-plans.
 */
export const planPrices = (
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  { start, end }: Interval,
  counted: CountedEnergy,
): PlanPrices => {
  const priced: PlanPrice[] = []
  const unpriced: UnpricedInterval[] = []
  const atStart: CountedEnergy = (...accumulator) =>
    counted(...accumulator)
      .filter(step => step.from <= start)
      .slice(-1)
  for (const interval of evaluate(snapshot, direction, start, end, atStart)) {
    if (interval.price === null) {
      const lastPrice = unpriced.at(-1)
      const missing = interval.missing ?? 'TARIFF'
      if (lastPrice?.end === interval.start && lastPrice.missing === missing)
        unpriced[unpriced.length - 1] = { ...lastPrice, end: interval.end }
      else unpriced.push({ start: interval.start, end: interval.end, missing })
      continue
    }
    const nextPrice = priceOf(snapshot, interval)
    const lastPrice = priced.at(-1)
    if (lastPrice !== undefined && lastPrice.end === nextPrice.start && isSamePrice(lastPrice, nextPrice))
      priced[priced.length - 1] = { ...lastPrice, end: nextPrice.end }
    else priced.push(nextPrice)
  }
  return { priced, unpriced }
}

const priceOf = (snapshot: PricingSnapshot, interval: PricedInterval): PlanPrice => {
  const { start, end, confidence, price } = interval
  const inForcePrice = {
    start,
    end,
    confidence,
    accumulator: null,
    components: [],
    steps: [{ upTo: null, price: price ?? 0n }],
  }
  if (!interval.segment.isTiered) return inForcePrice
  const steps = priceSteps(interval)
  const isRising = steps.every((step, index) => index === 0 || step.price >= (steps[index - 1]?.price ?? 0n))
  if (!isRising || steps.length < 2) return inForcePrice
  // A component without tiers counts nothing, so a new tariff of it does not restart the count.
  const monthStart = startOfLocalMonth(snapshot.timeZone, start)
  const { segment, counted } = interval
  const components = [
    componentOf(`${monthStart} commodity ${interval.commodityId}`, segment.commodity, counted.commodity),
    componentOf(`${monthStart} rest ${interval.nonCommodityId}`, segment.nonCommodity, counted.nonCommodity),
  ]
  const tieredIds = [
    segment.commodity.length > 1 ? interval.commodityId : '',
    segment.nonCommodity.length > 1 ? interval.nonCommodityId : '',
  ]
  return { ...inForcePrice, accumulator: `${monthStart} ${tieredIds.join(' ')}`, steps, components }
}

const componentOf = (
  accumulator: string,
  tiers: readonly TierPrice[],
  counted: Energy,
): PlanPrice['components'][number] => {
  const steps = tiers.map(({ to, aggregate }) => ({ upTo: to === null ? null : to - counted, price: aggregate }))
  return {
    accumulator: tiers.length > 1 ? accumulator : '',
    steps: steps.filter(({ upTo }) => upTo === null || upTo > 0n),
  }
}

const areSameSteps = (a: PlanSteps, b: PlanSteps): boolean =>
  a.length === b.length && a.every((step, index) => step.price === b[index]?.price && step.upTo === b[index]?.upTo)

const isSamePrice = (a: PlanPrice, b: PlanPrice): boolean =>
  a.confidence === b.confidence &&
  a.accumulator === b.accumulator &&
  areSameSteps(a.steps, b.steps) &&
  a.components.every(({ accumulator, steps }, index) => {
    const other = b.components[index]
    return accumulator === other?.accumulator && areSameSteps(steps, other.steps)
  })
