import type { PriceElement } from '../price/price-series.ts'
import { comparePrices, type Segment, type Slot, slotsOf } from './slot.ts'

/** So much time (ms) at the best prices of a segment; `contiguous`: in one run. */
export type DurationRequest = { readonly segment: Segment; readonly durationMs: number; readonly isContiguous: boolean }

/**
 * Choose the cheapest or dearest time of a duration; null when there is not so much priced time, or none in one run.
 * `elements` are the prices of the window, in order, without overlap; gaps are never chosen. Slots are in order and as long as asked
 * for in sum. The mean price is the exact optimum; nothing is bound to a grid. Ties: extend or join what is chosen before beginning
 * anew, then earliest. Source: docs/rules/schedules.md #duration.
 */
export const scheduleDuration = (elements: readonly PriceElement[], request: DurationRequest): Slot[] | null => {
  const chosen = request.isContiguous ? chooseRun(elements, request) : chooseSplit(elements, request)
  return chosen === null ? null : slotsOf(chosen)
}

const durationOf = ({ start, end }: { readonly start: number; readonly end: number }): number => end - start

/** All that is better than the price at the margin, and as much at that price as is left to choose. */
const chooseSplit = (
  elements: readonly PriceElement[],
  { segment, durationMs }: DurationRequest,
): PriceElement[] | null => {
  const sorted = elements.toSorted((a, b) => comparePrices(segment, a.price, b.price))
  let remainingMs = durationMs
  const marginal = sorted.find(element => {
    remainingMs -= durationOf(element)
    return remainingMs <= 0
  })?.price
  if (marginal === undefined) return null
  const better = elements.filter(({ price }) => comparePrices(segment, price, marginal) < 0)
  const restMs = durationMs - better.reduce((sum, element) => sum + durationOf(element), 0)
  return [...better, ...chooseAtMargin(elements, better, marginal, restMs)].toSorted((a, b) => a.start - b.start)
}

type PriceRun = { readonly elements: readonly PriceElement[]; readonly start: number; readonly end: number }

/** Adjacent elements of one price. */
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

/** Take time at one price: first beside what is chosen, then elsewhere, each earliest first. */
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
    const takenMs = Math.min(remainingMs, durationOf(run))
    if (takenMs === 0) break
    // A run that only touches what follows it is taken from its end, so that it joins.
    const isFromEnd = !ends.has(run.start) && starts.has(run.end)
    chosen.push(...(isFromEnd ? clipTo(run, run.end - takenMs, run.end) : clipTo(run, run.start, run.start + takenMs)))
    remainingMs -= takenMs
  }
  return chosen
}

/**
 * The best run lies where its start or its end meets an edge of the prices, because the sum is linear in between; so checking those is
 * exact. Sums are price × ms, so no rounding decides a tie.
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

/** Adjacent elements, whatever their prices. */
const contiguousGroups = (elements: readonly PriceElement[]): PriceElement[][] => {
  const groups: PriceElement[][] = []
  for (const element of elements) {
    const last = groups.at(-1)
    if (last?.at(-1)?.end === element.start) last.push(element)
    else groups.push([element])
  }
  return groups
}

/** Where a run of a duration can begin with its start or its end on an edge, ascending. */
const startsIn = (group: readonly PriceElement[], durationMs: number): number[] => {
  const [first, last] = [(group[0] as PriceElement).start, (group.at(-1) as PriceElement).end - durationMs]
  const edges = group.flatMap(({ start, end }) => [start, start - durationMs, end - durationMs])
  return [...new Set(edges)].filter(at => at >= first && at <= last).sort((a, b) => a - b)
}

/** The sum of price × ms from the start of a stretch to an instant in it. */
const sumsOf = (group: readonly PriceElement[]): ((at: number) => bigint) => {
  const sums: bigint[] = [0n]
  for (const { start, end, price } of group) sums.push((sums.at(-1) ?? 0n) + price * BigInt(end - start))
  return at => {
    let [low, high] = [0, group.length]
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      if ((group[middle] as PriceElement).start <= at) low = middle
      else high = middle
    }
    const element = group[low] as PriceElement
    return (sums[low] ?? 0n) + element.price * BigInt(at - element.start)
  }
}
