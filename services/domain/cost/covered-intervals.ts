import { type Interval, intervalsWithin, unionOfIntervals } from '../interval.ts'
import { fullConfidence, type MeterRecord } from '../record/record.ts'

/**
 * Return the intervals in which actuals cover an estimate: the union of the actuals, clipped to the estimate.
 * The actuals are confidence-1 records of the same object, directions and session, in any order. An impulse covers no
 * time.
 * Source: docs/rules/metering.md #estimates.
 */
export const coveredIntervals = (estimate: Interval, actuals: readonly Interval[]): readonly Interval[] =>
  intervalsWithin(estimate, unionOfIntervals(actuals))

const noIntervals: readonly Interval[] = []

/** Check if a record is an estimate, which actuals replace. */
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
 * Return a function that finds the intervals in which the actuals of `records` cover a record. An actual has none.
 * `records` must contain every actual that shares time with the records to look up, in any order.
 * Source: docs/rules/metering.md #estimates.
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
