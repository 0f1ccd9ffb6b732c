import type { Interval } from './record-segments.ts'

/**
 * Give where actuals cover an estimate: their union, cut to the estimate, sorted and apart from each other.
 * The actuals are confidence-1 records of the same object, directions and session, in any order; an impulse shares no time.
 * Source: contract decisions 8.
 */
export const coveredIntervals = (estimate: Interval, actuals: readonly Interval[]): Interval[] => {
  const inside = actuals
    .map(({ start, end }) => ({ start: Math.max(start, estimate.start), end: Math.min(end, estimate.end) }))
    .filter(({ start, end }) => start < end)
    .sort((a, b) => a.start - b.start)
  const covered: { start: number; end: number }[] = []
  for (const interval of inside) {
    const last = covered.at(-1)
    if (last !== undefined && interval.start <= last.end) last.end = Math.max(last.end, interval.end)
    else covered.push(interval)
  }
  return covered
}
