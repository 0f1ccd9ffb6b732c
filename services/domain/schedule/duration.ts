import type { PriceElement } from '../price/price-series.ts'
import { comparePrices, type Segment, type Slot, slotsOf } from './slot.ts'

/** So much time (ms) at the best prices of a segment; `contiguous`: in one run. */
export type DurationRequest = { readonly segment: Segment; readonly duration: number; readonly contiguous: boolean }

/**
 * Choose the cheapest or dearest time of a duration; null when there is not so much priced time, or none in one run.
 * `elements` are the prices of the window, in order, without overlap; gaps are never chosen. Slots are in order and as long as asked
 * for in sum. The mean price is the exact optimum; nothing is bound to a grid. Ties: extend or join what is chosen before beginning
 * anew, then earliest. Source: docs/rules/schedules.md #duration.
 */
export const scheduleDuration = (elements: readonly PriceElement[], request: DurationRequest): Slot[] | null => {
  const chosen = request.contiguous ? chooseRun(elements, request) : chooseSplit(elements, request)
  return chosen === null ? null : slotsOf(chosen)
}

const lengthOf = ({ start, end }: { readonly start: number; readonly end: number }): number => end - start

/** All that is better than the price at the margin, and as much at that price as is left to choose. */
const chooseSplit = (elements: readonly PriceElement[], { segment, duration }: DurationRequest): PriceElement[] | null => {
  const ranked = elements.toSorted((a, b) => comparePrices(segment, a.price, b.price))
  let left = duration
  const marginal = ranked.find(element => {
    left -= lengthOf(element)
    return left <= 0
  })?.price
  if (marginal === undefined) return null
  const better = elements.filter(({ price }) => comparePrices(segment, price, marginal) < 0)
  const rest = duration - better.reduce((sum, element) => sum + lengthOf(element), 0)
  return [...better, ...chooseAtMargin(elements, better, marginal, rest)].toSorted((a, b) => a.start - b.start)
}

type Run = { readonly elements: readonly PriceElement[]; readonly start: number; readonly end: number }

/** Adjacent elements of one price. */
const runsAt = (elements: readonly PriceElement[], price: bigint): Run[] => {
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

const cutTo = ({ elements }: Run, from: number, to: number): PriceElement[] =>
  elements
    .map(element => ({ ...element, start: Math.max(element.start, from), end: Math.min(element.end, to) }))
    .filter(element => element.start < element.end)

/** Take time at one price: first beside what is chosen, then elsewhere, each earliest first. */
const chooseAtMargin = (
  elements: readonly PriceElement[],
  better: readonly PriceElement[],
  price: bigint,
  duration: number,
): PriceElement[] => {
  const starts = new Set(better.map(({ start }) => start))
  const ends = new Set(better.map(({ end }) => end))
  const runs = runsAt(elements, price)
  const isBeside = ({ start, end }: Run): boolean => ends.has(start) || starts.has(end)
  const chosen: PriceElement[] = []
  let left = duration
  for (const run of [...runs.filter(isBeside), ...runs.filter(one => !isBeside(one))]) {
    const taken = Math.min(left, lengthOf(run))
    if (taken === 0) break
    // A run that only touches what follows it is taken from its end, so that it joins.
    const fromEnd = !ends.has(run.start) && starts.has(run.end)
    chosen.push(...(fromEnd ? cutTo(run, run.end - taken, run.end) : cutTo(run, run.start, run.start + taken)))
    left -= taken
  }
  return chosen
}

/**
 * The best run lies where its start or its end meets an edge of the prices, because the sum is linear in between; so checking those is
 * exact. Sums are price × ms, so no rounding decides a tie.
 */
const chooseRun = (elements: readonly PriceElement[], { segment, duration }: DurationRequest): PriceElement[] | null => {
  let best: { readonly start: number; readonly sum: bigint; readonly elements: readonly PriceElement[] } | null = null
  for (const stretch of stretchesOf(elements)) {
    const sumTo = sumsOf(stretch)
    for (const start of startsIn(stretch, duration)) {
      const sum = sumTo(start + duration) - sumTo(start)
      if (best === null || comparePrices(segment, sum, best.sum) < 0) best = { start, sum, elements: stretch }
    }
  }
  if (best === null) return null
  const { start } = best
  return cutTo({ elements: best.elements, start, end: start + duration }, start, start + duration)
}

/** Adjacent elements, whatever their prices. */
const stretchesOf = (elements: readonly PriceElement[]): PriceElement[][] => {
  const stretches: PriceElement[][] = []
  for (const element of elements) {
    const last = stretches.at(-1)
    if (last?.at(-1)?.end === element.start) last.push(element)
    else stretches.push([element])
  }
  return stretches
}

/** Where a run of a duration can begin with its start or its end on an edge, ascending. */
const startsIn = (stretch: readonly PriceElement[], duration: number): number[] => {
  const [first, last] = [(stretch[0] as PriceElement).start, (stretch.at(-1) as PriceElement).end - duration]
  const edges = stretch.flatMap(({ start, end }) => [start, start - duration, end - duration])
  return [...new Set(edges)].filter(at => at >= first && at <= last).sort((a, b) => a - b)
}

/** The sum of price × ms from the start of a stretch to an instant in it. */
const sumsOf = (stretch: readonly PriceElement[]): ((at: number) => bigint) => {
  const sums: bigint[] = [0n]
  for (const { start, end, price } of stretch) sums.push((sums.at(-1) ?? 0n) + price * BigInt(end - start))
  return at => {
    let [low, high] = [0, stretch.length]
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      if ((stretch[middle] as PriceElement).start <= at) low = middle
      else high = middle
    }
    const element = stretch[low] as PriceElement
    return (sums[low] ?? 0n) + element.price * BigInt(at - element.start)
  }
}
