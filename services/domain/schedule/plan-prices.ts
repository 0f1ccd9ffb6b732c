import { startOfLocalMonth } from '../civil-time.ts'
import type { Energy } from '../quantity.ts'
import { type CountedEnergy, evaluate, type PricedSpan, priceSteps } from '../tariff/evaluate.ts'
import type { PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection } from '../tariff/tariff.ts'
import type { TierPrice } from '../tariff/tier-price.ts'
import type { PlanPrice, PlanPrices, PlanSteps, UnpricedTime } from './amount-request.ts'

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
  const unpriced: UnpricedTime[] = []
  const atStart: CountedEnergy = (...accumulator) =>
    counted(...accumulator)
      .filter(step => step.from <= start)
      .slice(-1)
  for (const span of evaluate(snapshot, direction, start, end, atStart)) {
    if (span.price === null) {
      const last = unpriced.at(-1)
      const missing = span.missing ?? 'TARIFF'
      if (last?.end === span.start && last.missing === missing) unpriced[unpriced.length - 1] = { ...last, end: span.end }
      else unpriced.push({ start: span.start, end: span.end, missing })
      continue
    }
    const next = priceOf(snapshot, span)
    const last = priced.at(-1)
    if (last !== undefined && last.end === next.start && isAlike(last, next)) priced[priced.length - 1] = { ...last, end: next.end }
    else priced.push(next)
  }
  return { priced, unpriced }
}

const priceOf = (snapshot: PricingSnapshot, span: PricedSpan): PlanPrice => {
  const { start, end, confidence, price } = span
  const alone = { start, end, confidence, accumulator: null, parts: [], steps: [{ upTo: null, price: price ?? 0n }] }
  if (!span.stretch.tiered) return alone
  const steps = priceSteps(span)
  const isRising = steps.every((step, index) => index === 0 || step.price >= (steps[index - 1]?.price ?? 0n))
  if (!isRising || steps.length < 2) return alone
  // A part without tiers counts nothing: another tariff of it does not begin the count again.
  const month = startOfLocalMonth(snapshot.timeZone, start)
  const { stretch, counted } = span
  const parts = [
    partOf(`${month} commodity ${span.commodityId}`, stretch.commodity, counted.commodity),
    partOf(`${month} rest ${span.nonCommodityId}`, stretch.nonCommodity, counted.nonCommodity),
  ]
  const counts = [stretch.commodity.length > 1 ? span.commodityId : '', stretch.nonCommodity.length > 1 ? span.nonCommodityId : '']
  return { ...alone, accumulator: `${month} ${counts.join(' ')}`, steps, parts }
}

const partOf = (accumulator: string, tiers: readonly TierPrice[], counted: Energy): PlanPrice['parts'][number] => {
  const steps = tiers.map(({ to, aggregate }) => ({ upTo: to === null ? null : to - counted, price: aggregate }))
  return { accumulator: tiers.length > 1 ? accumulator : '', steps: steps.filter(({ upTo }) => upTo === null || upTo > 0n) }
}

const isStepwiseAlike = (a: PlanSteps, b: PlanSteps): boolean =>
  a.length === b.length && a.every((step, index) => step.price === b[index]?.price && step.upTo === b[index]?.upTo)

const isAlike = (a: PlanPrice, b: PlanPrice): boolean =>
  a.confidence === b.confidence &&
  a.accumulator === b.accumulator &&
  isStepwiseAlike(a.steps, b.steps) &&
  a.parts.every(({ accumulator, steps }, index) => {
    const other = b.parts[index]
    return accumulator === other?.accumulator && isStepwiseAlike(steps, other.steps)
  })
