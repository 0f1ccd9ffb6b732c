import type { MeterRecord } from '../record/record.ts'
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

const certain = 1_000_000
const noIntervals: readonly Interval[] = []

/** Tell whether actuals take the place of a record. */
export const isEstimate = ({ confidence }: Pick<MeterRecord, 'confidence'>): boolean => confidence < certain

const sharedBy = ({ locationId, deviceId, energyFlowDirection, tariffDirection, sessionReferenceId }: MeterRecord): string =>
  JSON.stringify([locationId, deviceId, energyFlowDirection, tariffDirection, sessionReferenceId])

/**
 * Give, for any record, where the actuals among `records` cover it: nowhere unless it is an estimate. `records` hold every actual that
 * shares time with the ones that are asked for, in any order. Source: contract decisions 8.
 */
export const coverageBy = (records: readonly MeterRecord[]): ((record: MeterRecord) => readonly Interval[]) => {
  const actuals = Map.groupBy(
    records.filter(record => !isEstimate(record)),
    sharedBy,
  )
  return record => (isEstimate(record) ? coveredIntervals(record, actuals.get(sharedBy(record)) ?? noIntervals) : noIntervals)
}
