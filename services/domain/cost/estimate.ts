import type { MeterRecord } from '../record/record.ts'
import type { Interval } from './record-segments.ts'

/** Give the union of intervals in any order: sorted and apart from each other. What has no length is left out. */
export const unionOf = (intervals: readonly Interval[]): readonly Interval[] => {
  const union: { start: number; end: number }[] = []
  for (const { start, end } of intervals.filter(one => one.start < one.end).sort((a, b) => a.start - b.start)) {
    const last = union.at(-1)
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end)
    else union.push({ start, end })
  }
  return union
}

/** Give the part of a union that lies within an interval. Takes time in proportion to that part. */
export const withinUnion = ({ start, end }: Interval, union: readonly Interval[]): readonly Interval[] => {
  let [low, high] = [0, union.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((union[middle] as Interval).end <= start) low = middle + 1
    else high = middle
  }
  const within: Interval[] = []
  for (let index = low; index < union.length; index += 1) {
    const one = union[index] as Interval
    if (one.start >= end) break
    if (start < end) within.push({ start: Math.max(one.start, start), end: Math.min(one.end, end) })
  }
  return within
}

/**
 * Give where actuals cover an estimate: their union, cut to the estimate, sorted and apart from each other.
 * The actuals are confidence-1 records of the same object, directions and session, in any order; an impulse shares no time.
 * Source: docs/rules/metering.md #estimates.
 */
export const coveredIntervals = (estimate: Interval, actuals: readonly Interval[]): readonly Interval[] =>
  withinUnion(estimate, unionOf(actuals))

const certain = 1_000_000
const noIntervals: readonly Interval[] = []

/** Tell whether actuals take the place of a record. */
export const isEstimate = ({ confidence }: Pick<MeterRecord, 'confidence'>): boolean => confidence < certain

const sharedBy = ({ locationId, deviceId, energyFlowDirection, tariffDirection, sessionReferenceId }: MeterRecord): string =>
  JSON.stringify([locationId, deviceId, energyFlowDirection, tariffDirection, sessionReferenceId])

/**
 * Give, for any record, where the actuals among `records` cover it: nowhere unless it is an estimate. `records` hold every actual that
 * shares time with the ones that are asked for, in any order. Source: docs/rules/metering.md #estimates.
 */
export const coverageBy = (records: readonly MeterRecord[]): ((record: MeterRecord) => readonly Interval[]) => {
  const actuals = Map.groupBy(
    records.filter(record => !isEstimate(record)),
    sharedBy,
  )
  const unions = new Map<string, readonly Interval[]>()
  return record => {
    if (!isEstimate(record)) return noIntervals
    const key = sharedBy(record)
    const union = unions.get(key) ?? unionOf(actuals.get(key) ?? noIntervals)
    unions.set(key, union)
    return withinUnion(record, union)
  }
}
