import { isEstimate } from '../cost/covered-intervals.ts'
import { type Interval, intervalsWithin, unionOfIntervals } from '../interval.ts'
import { firstIndex } from '../sorted.ts'
import type { VersionedRecord } from './change-set.ts'

/** Record that is valid after a change. `isNew`: its energy or its sort key can differ from the stored form. */
export type EffectiveRecord<Entry extends VersionedRecord> = { readonly entry: Entry; readonly isNew: boolean }

/** Coverage of estimates by actuals, after a change. */
export type EstimateCoverage<Entry extends VersionedRecord> = {
  /** Return the intervals of an estimate that actuals cover: sorted and disjoint; empty for an actual. */
  readonly covered: (entry: Entry) => readonly Interval[]
  /** Return whether a changed actual overlaps this estimate. */
  readonly isRecut: (entry: Entry) => boolean
}

const noIntervals: readonly Interval[] = []

/**
 * Records with the same key can cover each other: one device, energy flow and session of a location and tariff
 * direction.
 */
const sessionKeyOf = ({ deviceId, energyFlowDirection, sessionReferenceId }: VersionedRecord['record']): string =>
  `${deviceId}/${energyFlowDirection}/${sessionReferenceId ?? ''}/${sessionReferenceId === null}`

/** Create a test whether any of some intervals overlaps another interval. An impulse within an interval overlaps it. */
const overlapTest = (intervals: readonly Interval[]): ((other: Interval) => boolean) => {
  const sorted = intervals.toSorted((a, b) => a.start - b.start)
  let last = Number.NEGATIVE_INFINITY
  const ends = sorted.map(({ end }) => (last = Math.max(last, end)))
  return other => {
    const count = firstIndex(sorted.length, index => (sorted[index] as Interval).start >= other.end)
    return count > 0 && (ends[count - 1] as number) > other.start
  }
}

/**
 * Determine the coverage of estimates at one location in one direction.
 * `records` are the valid records. `former` are the replaced forms of new records.
 * Source: docs/rules/metering.md #estimates.
 */
export const estimateCoverage = <Entry extends VersionedRecord>(
  records: readonly EffectiveRecord<Entry>[],
  former: readonly Entry[],
): EstimateCoverage<Entry> => {
  const actuals = new Map<string, Interval[]>()
  const changed = new Map<string, Interval[]>()
  const add = (to: Map<string, Interval[]>, { record }: Entry): void => {
    if (isEstimate(record)) return
    const key = sessionKeyOf(record)
    const known = to.get(key)
    if (known === undefined) to.set(key, [record])
    else known.push(record)
  }
  for (const { entry, isNew } of records) {
    add(actuals, entry)
    if (isNew) add(changed, entry)
  }
  for (const entry of former) add(changed, entry)
  const unions = new Map<string, readonly Interval[]>()
  const unionOfSession = (key: string): readonly Interval[] => {
    const union = unions.get(key) ?? unionOfIntervals(actuals.get(key) ?? noIntervals)
    unions.set(key, union)
    return union
  }
  const overlapTests = new Map([...changed].map(([key, intervals]) => [key, overlapTest(intervals)]))
  return {
    covered: ({ record }) =>
      isEstimate(record) ? intervalsWithin(record, unionOfSession(sessionKeyOf(record))) : noIntervals,
    isRecut: ({ record }) => isEstimate(record) && (overlapTests.get(sessionKeyOf(record))?.(record) ?? false),
  }
}
