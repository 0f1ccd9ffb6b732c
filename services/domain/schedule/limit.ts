import type { PriceElement } from '../price/price-series.ts'
import type { Price } from '../quantity.ts'
import { type Segment, type Slot, slotsOf } from './slot.ts'

/** A bound of price: absolute (1e-9 per kWh), or a share (1e-9) of the way from the lowest price to the highest. Absolute wins. */
export type PriceBound = { readonly absolute: Price | null; readonly relative: bigint | null }

const scaleOfOne = 1_000_000_000n

/** Give the lowest and the highest of some prices, at least one. */
export const priceRange = (prices: readonly Price[]): { readonly min: Price; readonly max: Price } => {
  let min = prices[0] as Price
  let max = min
  for (const price of prices) {
    if (price < min) min = price
    if (price > max) max = price
  }
  return { min, max }
}

/**
 * Choose all time at or below (LOW), or at or above (HIGH), a bound.
 * `elements` are the prices of the window, in order, without overlap; adjacent ones that pass become one slot. A relative bound r is
 * min + r × (max − min) of these prices, not rounded. Source: docs/rules/schedules.md #limit.
 */
export const scheduleLimit = (
  elements: readonly PriceElement[],
  segment: Segment,
  { absolute, relative }: PriceBound,
): Slot[] => {
  if (elements.length === 0) return []
  const { min, max } = priceRange(elements.map(({ price }) => price))
  const bound = absolute === null ? min * scaleOfOne + (relative ?? 0n) * (max - min) : absolute * scaleOfOne
  return slotsOf(
    elements.filter(({ price }) => (segment === 'LOW' ? price * scaleOfOne <= bound : price * scaleOfOne >= bound)),
  )
}
