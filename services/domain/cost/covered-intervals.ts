import type { MeterRecord } from '../record/record.ts'
import type { Interval } from './record-segments.ts'

/** Give the union of intervals in any order: sorted and apart from each other. What has no length is left out. */
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

/** Give the part of a union that lies within an interval. Takes time in proportion to that part. */
export const intervalsWithin = ({ start, end }: Interval, union: readonly Interval[]): readonly Interval[] => {
  let [lowIndex, highIndex] = [0, union.length]
  while (lowIndex < highIndex) {
    const middle = (lowIndex + highIndex) >>> 1
    if ((union[middle] as Interval).end <= start) lowIndex = middle + 1
    else highIndex = middle
  }
  const found: Interval[] = []
  for (let index = lowIndex; index < union.length; index += 1) {
    const interval = union[index] as Interval
    if (interval.start >= end) break
    if (start < end) found.push({ start: Math.max(interval.start, start), end: Math.min(interval.end, end) })
  }
  return found
}

/**
 * Give where actuals cover an estimate: their union, cut to the estimate, sorted and apart from each other.
 * The actuals are confidence-1 records of the same object, directions and session, in any order; an impulse shares no time.
 * Source: docs/rules/metering.md #estimates.
 */
export const coveredIntervals = (estimate: Interval, actuals: readonly Interval[]): readonly Interval[] =>
  intervalsWithin(estimate, unionOfIntervals(actuals))

const fullConfidence = 1_000_000
const noIntervals: readonly Interval[] = []

/** Tell whether actuals take the place of a record. */
export const isEstimate = ({ confidence }: Pick<MeterRecord, 'confidence'>): boolean => confidence < fullConfidence

const estimateKey = ({
  locationId,
  deviceId,
  energyFlowDirection,
  tariffDirection,
  sessionReferenceId,
}: MeterRecord): string =>
  JSON.stringify([locationId, deviceId, energyFlowDirection, tariffDirection, sessionReferenceId])

/**
 * Give, for any record, where the actuals among `records` cover it: nowhere unless it is an estimate. `records` hold every actual that
 * shares time with the ones that are asked for, in any order. Source: docs/rules/metering.md #estimates.
 */
export const coverageLookup = (records: readonly MeterRecord[]): ((record: MeterRecord) => readonly Interval[]) => {
  const actuals = Map.groupBy(
    records.filter(record => !isEstimate(record)),
    estimateKey,
  )
  const unions = new Map<string, readonly Interval[]>()
  return record => {
    if (!isEstimate(record)) return noIntervals
    const key = estimateKey(record)
    const union = unions.get(key) ?? unionOfIntervals(actuals.get(key) ?? noIntervals)
    unions.set(key, union)
    return intervalsWithin(record, union)
  }
}
