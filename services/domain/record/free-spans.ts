/**
 * Spans of time in which an object has no records, in order: start and end (ms) of each in turn. The last one has no end.
 */
export type FreeSpans = number[]

/** Time of a record in ms. `start` equals `end` for an impulse. */
type RecordTime = { readonly start: number; readonly end: number }

/** Max spans. If there are more, the oldest ones count as used. */
export const maxFreeSpans = 32

/** Return the spans of an object whose records end at `lastEnd` at the latest. -∞ for an object without records. */
export const freeAfter = (lastEnd: number): FreeSpans => [lastEnd, Number.POSITIVE_INFINITY]

/**
 * Return whether no record with this time can exist. An impulse at the edge of a span can exist.
 * Law: a time that was occupied is never free again.
 */
export const isFree = (spans: FreeSpans, { start, end }: RecordTime): boolean => {
  for (let at = spans.length - 2; at >= 0; at -= 2) {
    const from = spans[at] as number
    if (start < from) continue
    const to = spans[at + 1] as number
    return end > start ? end <= to : start > from && end < to
  }
  return false
}

/** Remove the time of a record from the free spans of its object. */
export const occupy = (spans: FreeSpans, { start, end }: RecordTime): void => {
  const last = spans.length - 2
  // Most records follow the newest one.
  if (start === spans[last]) {
    spans[last] = end
    return
  }
  let afterRecord = spans.length
  while (afterRecord > 0 && (spans[afterRecord - 2] as number) >= end) afterRecord -= 2
  let first = afterRecord
  while (first > 0 && (spans[first - 1] as number) > start) first -= 2
  if (first === afterRecord) return
  const from = spans[first] as number
  const to = spans[afterRecord - 1] as number
  const left = [...(from < start ? [from, start] : []), ...(end < to ? [end, to] : [])]
  spans.splice(first, afterRecord - first, ...left)
  if (spans.length > 2 * maxFreeSpans) spans.splice(0, spans.length - 2 * maxFreeSpans)
}
