import type { PriceElement } from '../price/price-series.ts'
import { divideHalfEven, type Price } from '../quantity.ts'

/** The cheapest (LOW) or the dearest (HIGH) part of the prices. */
export type Segment = 'LOW' | 'HIGH'

/** A half-open span of a schedule, with the time-weighted means of its price (1e-9 per kWh) and confidence (1e-4). */
export type Slot = {
  readonly start: number
  readonly end: number
  readonly average: Price
  readonly confidence: number
}

/** Order prices from the best of a segment to its worst: below 0 when `a` is better than `b`. */
export const comparePrices = (segment: Segment, a: bigint, b: bigint): number => {
  if (a === b) return 0
  return a < b === (segment === 'LOW') ? -1 : 1
}

/** Join adjacent elements to slots. Elements are in order and do not overlap; each has a length. */
export const slotsOf = (elements: readonly PriceElement[]): Slot[] => {
  const slots: Slot[] = []
  let first = 0
  for (const [index, element] of elements.entries()) {
    if (elements[index + 1]?.start === element.end) continue
    slots.push(meanOf(elements.slice(first, index + 1)))
    first = index + 1
  }
  return slots
}

/** The means over adjacent elements, at least one. */
const meanOf = (elements: readonly PriceElement[]): Slot => {
  let [length, prices, confidences] = [0n, 0n, 0n]
  for (const element of elements) {
    const elapsed = BigInt(element.end - element.start)
    length += elapsed
    prices += element.price * elapsed
    confidences += BigInt(element.confidence) * elapsed
  }
  const [first, last] = [elements[0] as PriceElement, elements.at(-1) as PriceElement]
  return {
    start: first.start,
    end: last.end,
    average: divideHalfEven(prices, length),
    confidence: Number(divideHalfEven(confidences, length)),
  }
}
