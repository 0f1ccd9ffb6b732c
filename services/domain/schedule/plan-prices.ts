import { startOfLocalMonth } from '../civil-time.ts'
import type { Energy } from '../quantity.ts'
import { type CountedEnergy, evaluate, type PricedInterval, priceSteps } from '../tariff/evaluate.ts'
import type { PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection } from '../tariff/tariff.ts'
import type { TierPrice } from '../tariff/tier-price.ts'
import type { PlanPrice, PlanPrices, PlanSteps, UnpricedInterval } from './amount-request.ts'

/**
 * Give the prices of a plan's time: cut where they change, equal neighbours merged.
 * Tiers stand where they are at `start`, and count the energy of the plan from there. A tier that is cheaper than one before it is not
 * planned for: such a span has the price in force. Where both parts have tiers and the tariff of one of them changes within a month, the
 * steps of a pair of tariffs leave out what is planned before the change, for which the part that goes on does count: energy behind the change
 * is then planned as if it cost no more than it does, but is costed by the `parts`.
 * Source: docs/rules/schedules.md #tiers-in-plans.
 */
export const planPrices = (
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  { start, end }: { readonly start: number; readonly end: number },
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
  // A part without tiers counts nothing: another tariff of it does not begin the count again.
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
