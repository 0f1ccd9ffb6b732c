/** A price over a half-open interval (ms), in 1e-9 per kWh. */
export type PriceInterval = { readonly start: number; readonly end: number; readonly value: bigint }

export type PriceReplacement = {
  /** Starts of stored intervals to remove. */
  readonly removed: readonly number[]
  /** Intervals to store: the new ones, and the remaining parts of the stored ones. */
  readonly added: readonly PriceInterval[]
  /**
   * Number of new intervals: `stored` for time without prices, `replaced` for changed prices, `unchanged` for equal
   * ones.
   */
  readonly stored: number
  readonly replaced: number
  readonly unchanged: number
  /** Interval in which prices differ now; null if there is none. */
  readonly changed: { readonly from: number; readonly to: number } | null
}

/**
 * Apply new prices over stored ones; the new prices win in shared time. Both lists are sorted and have no overlaps.
 * Each new interval is counted once: an interval that adds time and changes no price counts as stored.
 * Source: docs/rules/markets-and-forecasts.md #storing-prices.
 */
export const replacePrices = (
  stored: readonly PriceInterval[],
  newPrices: readonly PriceInterval[],
): PriceReplacement => {
  const counts = { stored: 0, replaced: 0, unchanged: 0 }
  const written: PriceInterval[] = []
  let first = 0
  for (const price of newPrices) {
    while (first < stored.length && (stored[first]?.end ?? 0) <= price.start) first += 1
    const outcome = classifyPrice(stored, first, price)
    counts[outcome] += 1
    if (outcome !== 'unchanged') written.push(price)
  }
  const { removed, remaining } = cutIntervals(stored, written)
  const [head, last] = [written[0], written.at(-1)]
  return {
    ...counts,
    removed,
    added: [...remaining, ...written].sort((a, b) => a.start - b.start),
    changed: head === undefined || last === undefined ? null : { from: head.start, to: last.end },
  }
}

const classifyPrice = (
  stored: readonly PriceInterval[],
  first: number,
  price: PriceInterval,
): 'stored' | 'replaced' | 'unchanged' => {
  let covered = price.start
  for (let index = first; index < stored.length; index += 1) {
    const old = stored[index]
    if (old === undefined || old.start >= price.end) break
    if (old.value !== price.value) return 'replaced'
    if (old.start <= covered) covered = old.end
  }
  return covered >= price.end ? 'unchanged' : 'stored'
}

/** Starts of the stored intervals that are removed, and their remaining parts. */
const cutIntervals = (stored: readonly PriceInterval[], written: readonly PriceInterval[]) => {
  const removed: number[] = []
  const remaining: PriceInterval[] = []
  let first = 0
  for (const old of stored) {
    while (first < written.length && (written[first]?.end ?? 0) <= old.start) first += 1
    let from = old.start
    let isCut = false
    for (let index = first; index < written.length; index += 1) {
      const price = written[index]
      if (price === undefined || price.start >= old.end) break
      isCut = true
      if (price.start > from) remaining.push({ start: from, end: price.start, value: old.value })
      from = Math.max(from, price.end)
    }
    if (!isCut) continue
    removed.push(old.start)
    if (from < old.end) remaining.push({ start: from, end: old.end, value: old.value })
  }
  return { removed, remaining }
}
