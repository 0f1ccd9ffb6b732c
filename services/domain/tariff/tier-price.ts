import { type Energy, type Price, timesNano } from '../quantity.ts'
import type { Rate } from './tariff.ts'

/**
 * One tier of a price: what it costs and from what counted energy to what it holds (`to` null: no bound).
 * `market + fixed + percentage === aggregate`, always.
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
 * Give the tier prices of a band: (fixed + surcharge_fixed) × (1 + surcharge_percentage), half to even to 1e-9 per kWh.
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
 * Give the tier prices of a band at a market price, which stands in the place of `fixed`; the percentage keeps the sign of its base.
 * Source: docs/rules/tariffs.md #price-of-a-band, #rounding.
 */
export const marketTierPrices = (rates: readonly Rate[], market: Price): readonly TierPrice[] =>
  rates.map((rate, index) => {
    const { to, surchargeFixed: fixed } = rate
    const base = market + fixed
    const aggregate = withSurcharge(base, rate)
    return { from: lowerBoundOf(rates, index), to, market, fixed, percentage: aggregate - base, aggregate }
  })

/** No charge at all: the price of what is not tariffed and costs nothing. */
export const freeOfCharge: readonly TierPrice[] = [
  { from: 0n, to: null, market: 0n, fixed: 0n, percentage: 0n, aggregate: 0n },
]

/** Give the tier that the next energy meets when `counted` has been counted. */
export const tierAt = (tiers: readonly TierPrice[], counted: Energy): TierPrice => {
  let index = 0
  for (;;) {
    const tier = tiers[index] as TierPrice
    if (tier.to === null || counted < tier.to) return tier
    index += 1
  }
}
