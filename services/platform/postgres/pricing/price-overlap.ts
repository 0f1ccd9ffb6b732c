/** A price over a half-open interval (ms), in 1e-9 per kWh. */
export type PriceInterval = { readonly start: number; readonly end: number; readonly value: bigint }

export type PriceReplacement = {
  /** Starts of stored intervals that go. */
  readonly removed: readonly number[]
  /** Intervals to store: the new ones, and what is left of old ones that they cut. */
  readonly added: readonly PriceInterval[]
  /** Counts of new intervals: for time that had none; that change a stored price; that were stored already. */
  readonly stored: number
  readonly replaced: number
  readonly unchanged: number
  /** The span in which prices differ now; null where none do. */
  readonly changed: { readonly from: number; readonly to: number } | null
}

/**
 * Lay new prices over stored ones: the new hold on shared time. Both are sorted and free of overlaps within themselves; each new
 * interval is counted once. One that adds time and changes no price on the rest counts as stored.
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

/** What goes of the stored intervals under the written ones, and the parts that are left of them. */
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
