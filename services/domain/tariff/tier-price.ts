import type { Energy, Price } from '../quantity.ts'
import { type Rate, withSurcharges } from './rate.ts'

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

const lowerBoundOf = (rates: readonly Rate[], index: number): Energy =>
  index === 0 ? 0n : (rates[index - 1]?.to ?? 0n)

/** Return the tier prices of a time band without a market price. `fixed` includes the fixed price. */
export const tierPrices = (rates: readonly Rate[]): readonly TierPrice[] =>
  rates.map((rate, index) => {
    const { fixed, percentage, aggregate } = withSurcharges(rate.fixed, rate)
    return {
      from: lowerBoundOf(rates, index),
      to: rate.to,
      market: 0n,
      fixed: rate.fixed + fixed,
      percentage,
      aggregate,
    }
  })

/** Return the tier prices of a time band at a market price, which replaces the fixed price. */
export const marketTierPrices = (rates: readonly Rate[], market: Price): readonly TierPrice[] =>
  rates.map((rate, index) => {
    const { fixed, percentage, aggregate } = withSurcharges(market, rate)
    return { from: lowerBoundOf(rates, index), to: rate.to, market, fixed, percentage, aggregate }
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
