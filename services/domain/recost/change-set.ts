import { nextLocalMonth, startOfLocalMonth } from '../civil-time.ts'
import type { Interval } from '../interval.ts'
import type { MeterRecord } from '../record/record.ts'
import { hasTieredPrices, type PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection } from '../tariff/tariff.ts'

/** All directions in which the records of a location are priced. */
export const directions: readonly TariffDirection[] = ['IMPORT', 'EXPORT', 'LOCAL']

/**
 * Record with two versions. `version` orders the messages that trigger a calculation, `sourceVersion` the messages that
 * brought the record.
 * A later message has a higher version.
 */
export type VersionedRecord = {
  readonly record: MeterRecord & { readonly recordId: string }
  readonly version: bigint
  readonly sourceVersion: bigint
  /** Only register intervals have this member: true if the interval no longer exists. */
  readonly isWithdrawn?: boolean
}

/** Interval whose stored rows are recosted, with the version of the message that triggers it. */
export type RecostTrigger = Interval & { readonly version: bigint }

/**
 * All changes of one location in one direction that depend on other rows or change stored rows.
 * `records` are new and have unique record ids. `triggers` are in any order.
 */
export type ChangeSet<Entry extends VersionedRecord = VersionedRecord> = {
  readonly locationId: string
  readonly direction: TariffDirection
  readonly prices: { readonly snapshot: PricingSnapshot }
  readonly records: readonly Entry[]
  readonly triggers: readonly RecostTrigger[]
  /** True if an object of these records has estimates, or if one of these records is an estimate. */
  readonly hasEstimates: boolean
}

/** Changes of a set in neighbouring months. The rows of these months are sufficient to cost them. */
export type RecostGroup<Changes extends ChangeSet = ChangeSet> = {
  readonly changeSet: Changes
  readonly records: Changes['records']
  readonly triggers: readonly RecostTrigger[]
  readonly interval: Interval
}

/** Return whether the prices of a set depend on the energy of other records. */
export const isTiered = ({ prices, direction }: Pick<ChangeSet, 'prices' | 'direction'>): boolean =>
  hasTieredPrices(prices.snapshot, direction)

/** Return whether a row shares time with an interval. An impulse (start = end) within the interval does. */
export const overlaps = (row: Interval, interval: Interval): boolean =>
  row.start < interval.end && (row.end > interval.start || row.start >= interval.start)

/** Return the smallest interval that contains all given intervals; [∞, -∞) if there are none. */
export const enclosingInterval = (intervals: Iterable<Interval>): Interval => {
  let [start, end] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const interval of intervals) {
    start = Math.min(start, interval.start)
    end = Math.max(end, interval.end)
  }
  return { start, end }
}

/**
 * Return the local months that intervals touch. Their ends are inclusive here: an end at a month's start touches that
 * month.
 */
export const monthsOf = ({ prices }: Pick<ChangeSet, 'prices'>, intervals: Iterable<Interval>): Interval => {
  const { start, end } = enclosingInterval(intervals)
  const zone = prices.snapshot.timeZone
  return { start: startOfLocalMonth(zone, start), end: nextLocalMonth(zone, end) }
}

/** Return the highest version of some changes; 0 if there are none. */
export const highestVersion = (changes: Iterable<{ readonly version: bigint }>): bigint => {
  let highest = 0n
  for (const { version } of changes) if (version > highest) highest = version
  return highest
}

/** One change, with an inclusive end. */
type Change<Entry> = {
  readonly interval: Interval
  readonly record: Entry | null
  readonly trigger: RecostTrigger | null
}

/**
 * Split a change set at whole months without changes. A submission of many years then reads only the months that it
 * touches.
 * The groups are in the order of time and contain each record and trigger once.
 * With tiers, the interval of a group is whole months. Without tiers, it ends 1 ms after the last change.
 */
export const recostGroupsOf = <Changes extends ChangeSet>(changeSet: Changes): readonly RecostGroup<Changes>[] => {
  type Entry = Changes['records'][number]
  const changes: Change<Entry>[] = [
    ...(changeSet.records as readonly Entry[]).map(record => ({ interval: record.record, record, trigger: null })),
    ...changeSet.triggers.map(trigger => ({
      interval: { start: trigger.start, end: trigger.end - 1 },
      record: null,
      trigger,
    })),
  ].sort((a, b) => a.interval.start - b.interval.start)
  const runs: { changes: Change<Entry>[]; months: Interval }[] = []
  for (const change of changes) {
    const months = monthsOf(changeSet, [change.interval])
    const last = runs.at(-1)
    if (last !== undefined && months.start < last.months.end) {
      last.changes.push(change)
      last.months = { start: last.months.start, end: Math.max(last.months.end, months.end) }
    } else runs.push({ changes: [change], months })
  }
  return runs.map(run => ({
    changeSet,
    records: run.changes.flatMap(({ record }) => (record === null ? [] : [record])),
    triggers: run.changes.flatMap(({ trigger }) => (trigger === null ? [] : [trigger])),
    interval: isTiered(changeSet) ? run.months : changedInterval(run.changes),
  }))
}

const changedInterval = (changes: readonly Change<unknown>[]): Interval => {
  const { start, end } = enclosingInterval(changes.map(({ interval }) => interval))
  return { start, end: end + 1 }
}
