import { startOfLocalMonth } from '../civil-time.ts'
import type { Interval } from '../interval.ts'
import type { Energy } from '../quantity.ts'
import { type AccumulatorChange, compareSortKeys, type RecordSortKey } from '../tariff/accumulator.ts'
import type { ChangeSet, VersionedRecord } from './change-set.ts'
import { addChanges, subtractChanges } from './counted-energy.ts'
import type { RecostDecision } from './decide-recost.ts'

/**
 * Counted record with its accumulator changes, which do not depend on its position in the counting order.
 * `covered`: intervals of an estimate that actuals cover. They stay valid: records of an object with estimates never
 * use a tail.
 */
export type TailRecord<Entry extends VersionedRecord> = {
  readonly entry: Entry
  readonly covered: readonly Interval[]
  readonly changes: readonly AccumulatorChange[]
}

/**
 * Accumulators of a location and direction at the end of the last month before `until`; the month begins at `from`.
 * `base` counts all records up to `floor` (null: none). `tail` contains the records after `floor`, in the counting
 * order.
 * `starts` are the contract starts within the month. `crossed` is the latest counting start within a record (-Infinity:
 * none): a record that starts at or before it can precede the crossing record.
 */
export type AccumulatorTail<Entry extends VersionedRecord = VersionedRecord> = {
  readonly base: ReadonlyMap<number, Energy>
  readonly floor: RecordSortKey | null
  readonly tail: readonly TailRecord<Entry>[]
  readonly from: number
  readonly until: number
  readonly starts: readonly number[]
  readonly crossed: number
}

/** Compare records in the counting order: start, end, record id. */
export const inCountingOrder = (a: VersionedRecord, b: VersionedRecord): number =>
  compareSortKeys(a.record, b.record, Number.NEGATIVE_INFINITY)

/**
 * Length of a tail in records. Devices of one location report the same quarter hour in any order, so each device has
 * some records.
 */
const tailLimits = { min: 24, perDevice: 4, max: 4_000 }

/** Return how many of the last records a tail contains. */
const tailLength = (counted: readonly TailRecord<VersionedRecord>[]): number => {
  const devices = new Set<string | null>()
  const maxLength = Math.min(counted.length, tailLimits.max)
  for (let length = 1; length <= maxLength; length += 1) {
    devices.add((counted[counted.length - length] as TailRecord<VersionedRecord>).entry.record.deviceId)
    if (length >= tailLimits.min && length >= tailLimits.perDevice * devices.size) return length
  }
  return maxLength
}

const contractStarts = ({ prices, direction }: ChangeSet, { start, end }: Interval): readonly number[] =>
  prices.snapshot.directions[direction].pricePeriods
    .flatMap(pricePeriod => [pricePeriod.commodityStart, pricePeriod.nonCommodityStart])
    .filter((at, index, all) => at > start && at < end && all.indexOf(at) === index)

const noIntervals: readonly Interval[] = []

const sortKeyOf = (counted: TailRecord<VersionedRecord> | undefined): RecordSortKey | undefined => {
  if (counted === undefined) return undefined
  const { start, end, recordId } = counted.entry.record
  return { start, end, recordId }
}

/** Move the first records of a tail into its base if the tail is too long. */
const shortenTail = <Entry extends VersionedRecord>(known: AccumulatorTail<Entry>): AccumulatorTail<Entry> => {
  const length = tailLength(known.tail)
  if (length === known.tail.length) return known
  const base = new Map(known.base)
  const removed = known.tail.slice(0, -length)
  for (const { changes } of removed) addChanges(base, changes)
  return { ...known, base, floor: sortKeyOf(removed.at(-1)) ?? null, tail: known.tail.slice(removed.length) }
}

/**
 * Return the tail of the last month of an interval after all its records are counted; null if that month has no record.
 * Only the sum of the records that start before `since` is known. `release` returns an entry without its message, which
 * would stay in memory.
 */
export const tailAfter = <Entry extends VersionedRecord>(
  changeSet: ChangeSet<Entry>,
  { end: until }: Interval,
  { entries, total }: Pick<RecostDecision<Entry>, 'entries' | 'total'>,
  release: (entry: Entry) => Entry,
  since: number = Number.NEGATIVE_INFINITY,
): AccumulatorTail<Entry> | null => {
  const from = startOfLocalMonth(changeSet.prices.snapshot.timeZone, until - 1)
  let crossed = Number.NEGATIVE_INFINITY
  const counted: TailRecord<Entry>[] = []
  for (const { entry, covered, accumulatorChanges: changes } of entries) {
    if (entry.record.start >= until) continue
    if (entry.record.start >= since) counted.push({ entry, covered, changes })
    for (const { countingStart } of changes) {
      if (countingStart > entry.record.start && countingStart < until) crossed = Math.max(crossed, countingStart)
    }
  }
  if (counted.length === 0) return null
  counted.sort((a, b) => inCountingOrder(a.entry, b.entry))
  const length = tailLength(counted)
  const tail = counted
    .slice(-length)
    .map(({ entry, covered, changes }) => ({ entry: release(entry), covered, changes }))
  const base = new Map(total)
  for (const { changes } of tail) subtractChanges(base, changes)
  const before = since === Number.NEGATIVE_INFINITY ? null : { start: since - 1, end: since, recordId: '' }
  return {
    base,
    floor: sortKeyOf(counted.at(-length - 1)) ?? before,
    tail,
    from,
    until,
    crossed,
    starts: contractStarts(changeSet, { start: from, end: until }),
  }
}

/**
 * Return whether records can be costed from a tail alone: each belongs into the tail or after it, and none spans a
 * counting start.
 * If false, the stored rows of the month must be read.
 */
export const isNearTail = (
  { floor, tail, from, until, starts, crossed }: AccumulatorTail,
  records: readonly VersionedRecord[],
): boolean => {
  const tailById = new Map(tail.map(({ entry }) => [entry.record.recordId, entry]))
  // A record that ends in the next month counts there too, at another position. The base of this month does not contain
  // that count.
  let latestCrossing = Number.NEGATIVE_INFINITY
  for (const { entry } of tail)
    if (entry.record.end > until) latestCrossing = Math.max(latestCrossing, entry.record.start)
  return records.every(entry => {
    const { start, end, recordId } = entry.record
    if (start < from || start >= until || end > until || start <= crossed || start <= latestCrossing) return false
    if (floor !== null && compareSortKeys(floor, entry.record, Number.NEGATIVE_INFINITY) >= 0) return false
    // A register interval keeps its start, but not its end: the base can contain an earlier form.
    if (entry.isWithdrawn !== undefined && floor !== null && start <= floor.start) return false
    const tailEntry = tailById.get(recordId)
    if (tailEntry !== undefined && (tailEntry.sourceVersion > entry.sourceVersion || tailEntry.record.end > until))
      return false
    return !starts.some(at => start < at && at < end)
  })
}

/**
 * State while records are costed from a tail. The caller costs `toCost` in order and passes each result to `addToTail`.
 */
export type TailRun<Entry extends VersionedRecord> = {
  /** Records to cost: from the first changed one to the end of the tail. */
  readonly toCost: readonly TailRecord<Entry>[]
  /** Counted energy before the next record. */
  readonly counts: Map<number, Energy>
  readonly tail: TailRecord<Entry>[]
  readonly newById: ReadonlyMap<string, Entry>
  /** Highest version of the changes so far: the lowest version of the next row. */
  version: bigint
}

/** Begin to cost records that are near a tail (`isNearTail`). Records that the tail contains are replaced. */
export const startTailRun = <Entry extends VersionedRecord>(
  records: readonly Entry[],
  known: AccumulatorTail<Entry>,
): TailRun<Entry> => {
  const newById = new Map(records.map(entry => [entry.record.recordId, entry]))
  let version = 0n
  let firstChanged = known.tail.length
  const retained = known.tail.filter(({ entry }, index) => {
    const replacement = newById.get(entry.record.recordId)
    if (replacement === undefined) return true
    firstChanged = Math.min(firstChanged, index)
    if (replacement.version > version) version = replacement.version
    return false
  })
  const added = records
    .filter(({ isWithdrawn }) => isWithdrawn !== true)
    .map((entry): TailRecord<Entry> => ({ entry, covered: noIntervals, changes: [] }))
  const merged = [...retained, ...added].sort((a, b) => inCountingOrder(a.entry, b.entry))
  const firstNew = merged.findIndex(({ entry }) => newById.has(entry.record.recordId))
  firstChanged = Math.min(firstChanged, firstNew < 0 ? merged.length : firstNew)
  const counts = new Map(known.base)
  const tail = merged.slice(0, firstChanged)
  for (const { changes } of tail) addChanges(counts, changes)
  return { toCost: merged.slice(firstChanged), counts, tail, newById, version }
}

/** Return the record to cost next, with the highest version of the changes before it. */
export const nextEntry = <Entry extends VersionedRecord>(run: TailRun<Entry>, { entry }: TailRecord<Entry>): Entry => {
  if (run.newById.has(entry.record.recordId) && entry.version > run.version) run.version = entry.version
  return entry.version < run.version ? { ...entry, version: run.version } : entry
}

/** Count a record that was costed. `entry` is retained in the tail. */
export const addToTail = <Entry extends VersionedRecord>(run: TailRun<Entry>, counted: TailRecord<Entry>): void => {
  addChanges(run.counts, counted.changes)
  run.tail.push(counted)
}

/** Return the tail after a run. */
export const tailAfterRun = <Entry extends VersionedRecord>(
  known: AccumulatorTail<Entry>,
  { tail }: TailRun<Entry>,
): AccumulatorTail<Entry> => shortenTail({ ...known, tail })
