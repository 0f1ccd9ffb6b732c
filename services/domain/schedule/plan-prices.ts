import { startOfLocalMonth } from '../civil-time.ts'
import { type CountedEnergy, evaluate, type PricedSpan, priceSteps } from '../tariff/evaluate.ts'
import type { PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection } from '../tariff/tariff.ts'
import type { PlanPrice, PlanPrices, UnpricedTime } from './amount-request.ts'

/**
 * Give the prices of a plan's time: cut where they change, equal neighbours merged.
 * Tiers stand where they are at `start`, and count the energy of the plan from there. A tier that is cheaper than one before it is not
 * planned for: such a span has the price in force. Where both parts have tiers and the tariff of one of them changes within a month, the
 * energy that is planned before the change does not count behind it: each pair of tariffs counts the plan's energy from where its tiers stand
 * at `start`. Source: contract decisions 13.
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
  const alone = { start, end, confidence, accumulator: null, steps: [{ upTo: null, price: price ?? 0n }] }
  if (!span.stretch.tiered) return alone
  const steps = priceSteps(span)
  const isRising = steps.every((step, index) => index === 0 || step.price >= (steps[index - 1]?.price ?? 0n))
  if (!isRising || steps.length < 2) return alone
  // A part without tiers counts nothing: another tariff of it does not begin the count again.
  const { commodity, nonCommodity } = span.stretch
  const counts = [commodity.length > 1 ? span.commodityId : '', nonCommodity.length > 1 ? span.nonCommodityId : '']
  const accumulator = `${startOfLocalMonth(snapshot.timeZone, start)} ${counts.join(' ')}`
  return { ...alone, accumulator, steps }
}

const isAlike = (a: PlanPrice, b: PlanPrice): boolean =>
  a.confidence === b.confidence &&
  a.accumulator === b.accumulator &&
  a.steps.length === b.steps.length &&
  a.steps.every((step, index) => step.price === b.steps[index]?.price && step.upTo === b.steps[index]?.upTo)
