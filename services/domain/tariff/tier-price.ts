import { type Energy, type Price, timesNano } from '../quantity.ts'
import type { Rate } from './tariff.ts'

/**
 * One tier of a price, from counted energy `from` up to `to` (null: no bound).
 * Law: `market + fixed + percentage === aggregate`.
 */
export type TierPrice = {
  readonly from: Energy
  readonly to: Energy | null
  readonly market: Price
  readonly fixed: Price
  readonly percentage: Price
  readonly aggregate: Price
}

const scaleOfOne = 1_000_000_000n

const withSurcharge = (base: Price, { surchargePercentage }: Rate): Price =>
  surchargePercentage === 0n ? base : timesNano(base, scaleOfOne + surchargePercentage)

const lowerBoundOf = (rates: readonly Rate[], index: number): Energy =>
  index === 0 ? 0n : (rates[index - 1]?.to ?? 0n)

/**
 * Return the tier prices of a time band: (fixed + surcharge_fixed) × (1 + surcharge_percentage), half to even to 1e-9
 * per kWh.
 * Source: docs/rules/tariffs.md #price-of-a-band, #rounding.
 */
export const tierPrices = (rates: readonly Rate[]): readonly TierPrice[] =>
  rates.map((rate, index) => {
    const fixed = rate.fixed + rate.surchargeFixed
    const aggregate = withSurcharge(fixed, rate)
    return {
      from: lowerBoundOf(rates, index),
      to: rate.to,
      market: 0n,
      fixed,
      percentage: aggregate - fixed,
      aggregate,
    }
  })

/**
 * Return the tier prices of a time band at a market price, which replaces `fixed`. The percentage has the sign of its
 * base.
 * Source: docs/rules/tariffs.md #price-of-a-band, #rounding.
 */
export const marketTierPrices = (rates: readonly Rate[], market: Price): readonly TierPrice[] =>
  rates.map((rate, index) => {
    const { to, surchargeFixed: fixed } = rate
    const base = market + fixed
    const aggregate = withSurcharge(base, rate)
    return { from: lowerBoundOf(rates, index), to, market, fixed, percentage: aggregate - base, aggregate }
  })

/** Price 0 without tiers, for energy that needs no tariff. */
export const freeOfCharge: readonly TierPrice[] = [
  { from: 0n, to: null, market: 0n, fixed: 0n, percentage: 0n, aggregate: 0n },
]

/** Return the tier of the next energy after `counted`. */
export const tierAt = (tiers: readonly TierPrice[], counted: Energy): TierPrice => {
  let index = 0
  for (;;) {
    const tier = tiers[index] as TierPrice
    if (tier.to === null || counted < tier.to) return tier
    index += 1
  }
}
