import { type Interval, intervalLength } from '../interval.ts'
import type { PriceElement } from '../price/price-series.ts'
import { divideHalfEven, type Price } from '../quantity.ts'
import { firstIndex } from '../sorted.ts'

/** Cheapest (LOW) or most expensive (HIGH) part of the prices. */
export type Segment = 'LOW' | 'HIGH'

/** Interval of a schedule, with the time-weighted means of its price (1e-9 per kWh) and confidence (1e-4). */
export type Slot = Interval & {
  readonly average: Price
  readonly confidence: number
}

/** Compare prices, the best of a segment first: below 0 if `a` is better than `b`. */
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

/** Return the slot of adjacent elements, at least one, with their means. */
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

/** Duration (ms) to choose at the best prices of a segment. If `isContiguous`, it is one interval. */
export type DurationRequest = { readonly segment: Segment; readonly durationMs: number; readonly isContiguous: boolean }

/**
 * Choose the cheapest or most expensive time of a duration; null if there is not enough priced time, or no interval of
 * that length.
 * `elements` are the prices of the window, in order, without overlap. Time without a price is never chosen. The slots
 * are in order; their lengths add up to the duration. Their mean price is the exact optimum, without a time grid.
 * Ties: first extend or join chosen time, then take the earliest.
 * Source: docs/rules/schedules.md #duration.
 */
export const scheduleDuration = (elements: readonly PriceElement[], request: DurationRequest): Slot[] | null => {
  const chosen = request.isContiguous ? chooseRun(elements, request) : chooseSplit(elements, request)
  return chosen === null ? null : slotsOf(chosen)
}

/** Choose all elements that are better than the marginal price, and the remaining time at the marginal price. */
const chooseSplit = (
  elements: readonly PriceElement[],
  { segment, durationMs }: DurationRequest,
): PriceElement[] | null => {
  const sorted = elements.toSorted((a, b) => comparePrices(segment, a.price, b.price))
  let remainingMs = durationMs
  const marginal = sorted.find(element => {
    remainingMs -= intervalLength(element)
    return remainingMs <= 0
  })?.price
  if (marginal === undefined) return null
  const better = elements.filter(({ price }) => comparePrices(segment, price, marginal) < 0)
  const restMs = durationMs - better.reduce((sum, element) => sum + intervalLength(element), 0)
  return [...better, ...chooseAtMargin(elements, better, marginal, restMs)].toSorted((a, b) => a.start - b.start)
}

type PriceRun = Interval & { readonly elements: readonly PriceElement[] }

/** Return runs of adjacent elements at one price. */
const runsAtPrice = (elements: readonly PriceElement[], price: bigint): PriceRun[] => {
  const runs: { readonly elements: PriceElement[]; readonly start: number; end: number }[] = []
  for (const element of elements) {
    if (element.price !== price) continue
    const last = runs.at(-1)
    if (last?.end === element.start) {
      last.elements.push(element)
      last.end = element.end
    } else runs.push({ elements: [element], start: element.start, end: element.end })
  }
  return runs
}

const clipTo = ({ elements }: PriceRun, from: number, to: number): PriceElement[] =>
  elements
    .map(element => ({ ...element, start: Math.max(element.start, from), end: Math.min(element.end, to) }))
    .filter(element => element.start < element.end)

/** Choose time at one price: first next to chosen time, then elsewhere, each earliest first. */
const chooseAtMargin = (
  elements: readonly PriceElement[],
  better: readonly PriceElement[],
  price: bigint,
  durationMs: number,
): PriceElement[] => {
  const starts = new Set(better.map(({ start }) => start))
  const ends = new Set(better.map(({ end }) => end))
  const runs = runsAtPrice(elements, price)
  const isAdjacent = ({ start, end }: PriceRun): boolean => ends.has(start) || starts.has(end)
  const chosen: PriceElement[] = []
  let remainingMs = durationMs
  for (const run of [...runs.filter(isAdjacent), ...runs.filter(one => !isAdjacent(one))]) {
    const takenMs = Math.min(remainingMs, intervalLength(run))
    if (takenMs === 0) break
    // A run that only touches later chosen time is taken from its end, so that they join.
    const isFromEnd = !ends.has(run.start) && starts.has(run.end)
    chosen.push(...(isFromEnd ? clipTo(run, run.end - takenMs, run.end) : clipTo(run, run.start, run.start + takenMs)))
    remainingMs -= takenMs
  }
  return chosen
}

/**
 * Choose one interval. The sum of prices is linear between edges, so the best interval starts or ends at an edge of the
 * prices, and checking those is exact. Sums are price × ms, so rounding never decides a tie.
 */
const chooseRun = (
  elements: readonly PriceElement[],
  { segment, durationMs }: DurationRequest,
): PriceElement[] | null => {
  let best: { readonly start: number; readonly sum: bigint; readonly elements: readonly PriceElement[] } | null = null
  for (const group of contiguousGroups(elements)) {
    const sumUntil = sumsOf(group)
    for (const start of startsIn(group, durationMs)) {
      const sum = sumUntil(start + durationMs) - sumUntil(start)
      if (best === null || comparePrices(segment, sum, best.sum) < 0) best = { start, sum, elements: group }
    }
  }
  if (best === null) return null
  const { start } = best
  return clipTo({ elements: best.elements, start, end: start + durationMs }, start, start + durationMs)
}

/** Group adjacent elements of any price. */
const contiguousGroups = (elements: readonly PriceElement[]): PriceElement[][] => {
  const groups: PriceElement[][] = []
  for (const element of elements) {
    const last = groups.at(-1)
    if (last?.at(-1)?.end === element.start) last.push(element)
    else groups.push([element])
  }
  return groups
}

/** Return the starts, ascending, for which an interval of the duration starts or ends at an edge. */
const startsIn = (group: readonly PriceElement[], durationMs: number): number[] => {
  const [first, last] = [(group[0] as PriceElement).start, (group.at(-1) as PriceElement).end - durationMs]
  const edges = group.flatMap(({ start, end }) => [start, start - durationMs, end - durationMs])
  return [...new Set(edges)].filter(at => at >= first && at <= last).sort((a, b) => a - b)
}

/** Return a function for the sum of price × ms from the start of a group to an instant in it. */
const sumsOf = (group: readonly PriceElement[]): ((at: number) => bigint) => {
  const sums: bigint[] = [0n]
  for (const { start, end, price } of group) sums.push((sums.at(-1) ?? 0n) + price * BigInt(end - start))
  return at => {
    const index = Math.max(0, firstIndex(group.length, one => (group[one] as PriceElement).start > at) - 1)
    const element = group[index] as PriceElement
    return (sums[index] ?? 0n) + element.price * BigInt(at - element.start)
  }
}

/**
 * Price limit: absolute (1e-9 per kWh), or a share (1e-9) of the way from the lowest price to the highest. Absolute has
 * priority.
 */
export type PriceBound = { readonly absolute: Price | null; readonly relative: bigint | null }

const scaleOfOne = 1_000_000_000n

/** Return the lowest and the highest of at least one price. */
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
 * Choose all time at or below (LOW), or at or above (HIGH), a limit.
 * `elements` are the prices of the window, in order, without overlap. Adjacent elements within the limit become one
 * slot. A relative limit r is min + r × (max − min) of these prices, not rounded.
 * Source: docs/rules/schedules.md #limit.
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
