import type { DemandCharge, Power, PowerRounding } from '../charge/charge.ts'
import { addFractions, type Fraction, fractionOf, isLess, largerFraction, roundFraction } from '../fraction.ts'
import { divideHalfEven, type Money } from '../quantity.ts'

/** Rule that set the billed power last. */
export type DemandBound = 'MEASURED' | 'ROLLING' | 'RATCHET' | 'FLOOR'

/** Powers (1e-9 kW) of earlier calendar months, before any floor. */
export type EarlierPower = { readonly rolling: readonly Fraction[]; readonly ratchet: readonly Fraction[] }

/** Billed power, and the rule that set it. */
export type BilledPower = { readonly power: Power; readonly boundBy: DemandBound }

/** Round power (not below 0) to multiples, or to 1e-9 kW. */
const roundPower = (power: Fraction, rounding: PowerRounding | null): Power => {
  if (rounding === null) return roundFraction(power)
  const { to, mode } = rounding
  const { dividend, divisor } = { dividend: power.dividend, divisor: power.divisor * to }
  if (mode === 'HALF_EVEN') return divideHalfEven(dividend, divisor) * to
  const added = mode === 'UP' ? divisor - 1n : 0n
  if (mode === 'HALF_UP') return ((2n * dividend + divisor) / (2n * divisor)) * to
  return ((dividend + added) / divisor) * to
}

const meanOf = (powers: readonly Fraction[]): Fraction => {
  const { dividend, divisor } = powers.reduce(addFractions)
  return fractionOf(dividend, divisor * BigInt(powers.length))
}

/** Return the mean or maximum of the measured power and that of earlier months, each at least the floor of a month. */
const rollingPower = (charge: DemandCharge, own: Fraction, earlier: readonly Fraction[]): Fraction => {
  const floor = fractionOf(charge.monthFloor)
  const powers = [own, ...earlier.map(power => largerFraction(power, floor))]
  return charge.rolling === 'MAX' ? powers.reduce(largerFraction) : meanOf(powers)
}

/**
 * Return the billed power: measured, at least the floor of a month, over the rolling months, at least the ratchet and
 * the floor, less `above`, and rounded.
 * A ratchet or floor is the bound only if it raises the power; rolling months always are.
 */
export const billPower = (charge: DemandCharge, measured: Fraction, earlier: EarlierPower): BilledPower => {
  let power = measured
  let boundBy: DemandBound = 'MEASURED'
  const raise = (to: Fraction, bound: DemandBound): void => {
    if (!isLess(power, to)) return
    power = to
    boundBy = bound
  }
  raise(fractionOf(charge.monthFloor), 'FLOOR')
  if (charge.over === 'ROLLING') {
    power = rollingPower(charge, power, earlier.rolling)
    boundBy = 'ROLLING'
  }
  if (charge.ratchet !== null && earlier.ratchet.length > 0) {
    const { dividend, divisor } = earlier.ratchet.reduce(largerFraction)
    raise(fractionOf(dividend * charge.ratchet.share, divisor * 1_000_000_000n), 'RATCHET')
  }
  raise(fractionOf(charge.floor), 'FLOOR')
  const rest = addFractions(power, fractionOf(-charge.above))
  return { power: roundPower(rest.dividend < 0n ? fractionOf(0n) : rest, charge.rounding), boundBy }
}

/** Return the money of one unit of time for a power, in 1e-18: price × power, by tiers, or the amount of a step. */
export const powerMoney = ({ price, tiers, steps, stepEdge }: DemandCharge, power: Power): bigint => {
  if (price !== null) return price * power
  if (tiers !== null) {
    let [from, money] = [0n, 0n]
    for (const tier of tiers) {
      const to = tier.to === null || tier.to > power ? power : tier.to
      if (to > from) money += (to - from) * tier.price
      from = to > from ? to : from
    }
    return money
  }
  const isReached = (from: Power): boolean => power > from || (stepEdge === 'LOWER_INCLUSIVE' && power === from)
  const step = steps?.findLast(({ from }) => isReached(from)) ?? steps?.[0]
  const amount: Money = step?.amount ?? 0n
  return amount * 1_000_000_000n
}
