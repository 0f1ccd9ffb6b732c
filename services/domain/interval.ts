import { firstIndex } from './sorted.ts'

/** Lengths of time in ms. A day here is 24 hours; for days of a calendar see `civil-time.ts`. */
export const minuteMs = 60_000
export const hourMs = 3_600_000
export const dayMs = 86_400_000

/** Half-open interval [start, end) of instants in ms. An interval with `start === end` has no length. */
export type Interval = { readonly start: number; readonly end: number }

/** Return the length of an interval in ms. */
export const intervalLength = ({ start, end }: Interval): number => end - start

/** Tell if two intervals share time. Intervals that only touch share none. */
export const overlaps = (a: Interval, b: Interval): boolean => a.start < b.end && a.end > b.start

/**
 * Return the union of intervals: sorted, and separated by gaps. The input may have any order.
 * Intervals without length are left out.
 */
export const unionOfIntervals = (intervals: readonly Interval[]): readonly Interval[] => {
  const union: { start: number; end: number }[] = []
  for (const { start, end } of intervals
    .filter(interval => interval.start < interval.end)
    .sort((a, b) => a.start - b.start)) {
    const last = union.at(-1)
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end)
    else union.push({ start, end })
  }
  return union
}

/**
 * Return the parts of a union that lie within an interval, in order.
 * The search is binary: the time grows with the number of parts found, not with the union.
 */
export const intervalsWithin = ({ start, end }: Interval, union: readonly Interval[]): readonly Interval[] => {
  const found: Interval[] = []
  const first = firstIndex(union.length, index => (union[index] as Interval).end > start)
  for (let index = first; index < union.length; index += 1) {
    const interval = union[index] as Interval
    if (interval.start >= end) break
    if (start < end) found.push({ start: Math.max(interval.start, start), end: Math.min(interval.end, end) })
  }
  return found
}
