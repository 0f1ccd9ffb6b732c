import { startOfLocalMonth } from '../../domain/civil-time.ts'
import type { Interval } from '../../domain/cost/record-segments.ts'
import type { Energy } from '../../domain/quantity.ts'
import {
  type AccumulatorChange,
  accumulatorKey,
  compareSortKeys,
  type RecordSortKey,
} from '../../domain/tariff/accumulator.ts'
import type { QueryInterval } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost/meter-cost-row.ts'
import { costInSteps, inCountingOrder, type RecordToCost } from '../record-to-cost.ts'
import type { ChangeSet } from './change-set.ts'
import type { RecostResult } from './recost.ts'

/**
 * A counted record, and what it adds to its accumulators at any place in their order. `covered`: where actuals cover an estimate. The
 * intervals stay valid: records of an object that has estimates are never costed from a tail.
 */
type CountedEntry = {
  readonly entry: RecordToCost
  readonly covered: readonly Interval[]
  readonly changes: readonly AccumulatorChange[]
}

/**
 * What the accumulators of a location and direction hold in the last month before `until`, which begins at `from`: `base` is what all up to
 * `floor` (null: none) have counted, `tail` the records behind it, in order. `starts`: contract starts within the month. `crossed`: the
 * latest counting start that a record lies across (-Infinity: none); a record that begins at or before it might have its place before that one.
 */
export type AccumulatorTail = {
  readonly base: ReadonlyMap<number, Energy>
  readonly floor: RecordSortKey | null
  readonly tail: readonly CountedEntry[]
  readonly from: number
  readonly until: number
  readonly starts: readonly number[]
  readonly crossed: number
}

/**
 * Devices of one location often tell of the same quarter hour, one after the other, in any order: a tail holds some records for each of the
 * devices in it.
 */
const tailLimits = { min: 24, perDevice: 4, max: 4_000 }

/** How many of the last records, in order, a tail holds. */
const tailLength = (counted: readonly CountedEntry[]): number => {
  const devices = new Set<string | null>()
  const maxLength = Math.min(counted.length, tailLimits.max)
  for (let length = 1; length <= maxLength; length += 1) {
    devices.add((counted[counted.length - length] as CountedEntry).entry.record.deviceId)
    if (length >= tailLimits.min && length >= tailLimits.perDevice * devices.size) return length
  }
  return maxLength
}

const contractStarts = ({ cachedPricing, direction }: ChangeSet, { from, to }: QueryInterval): readonly number[] =>
  cachedPricing.snapshot.directions[direction].pricePeriods
    .flatMap(pricePeriod => [pricePeriod.commodityStart, pricePeriod.nonCommodityStart])
    .filter((start, index, all) => start > from && start < to && all.indexOf(start) === index)

const noIntervals: readonly Interval[] = []

const addChanges = (counts: Map<number, Energy>, changes: readonly AccumulatorChange[], sign: 1n | -1n = 1n): void => {
  for (const { type, direction, countingStart, before, after } of changes) {
    const key = accumulatorKey(type, direction, countingStart)
    counts.set(key, (counts.get(key) ?? 0n) + sign * (after - before))
  }
}

const sortKeyOf = (counted: CountedEntry | undefined): RecordSortKey | undefined => {
  if (counted === undefined) return undefined
  const { start, end, recordId } = counted.entry.record
  return { start, end, recordId }
}

/** What is kept of a record must not hold on to the message that it came with. */
const withoutMessage = ({ entry, covered, changes }: CountedEntry): CountedEntry => {
  if (entry.origin === null) return { entry, covered, changes }
  const { accountId, liveMode, batchId, receivedAt } = entry.part
  return { entry: { ...entry, part: { accountId, liveMode, batchId, receivedAt }, origin: null }, covered, changes }
}

/** Move what is too long of a tail into the base. */
const shortenTail = (known: AccumulatorTail): AccumulatorTail => {
  const length = tailLength(known.tail)
  if (length === known.tail.length) return known
  const base = new Map(known.base)
  const removed = known.tail.slice(0, -length)
  for (const { changes } of removed) addChanges(base, changes)
  return { ...known, base, floor: sortKeyOf(removed.at(-1)) ?? null, tail: known.tail.slice(removed.length) }
}

/**
 * What is known of the last month of a span once all of it is counted; null where it has no record. Of what starts before `since` the
 * records are not all known, only what they counted.
 */
export const tailAfter = (
  changeSet: ChangeSet,
  { to: until }: QueryInterval,
  { entries, total }: RecostResult,
  since = Number.NEGATIVE_INFINITY,
): AccumulatorTail | null => {
  const from = startOfLocalMonth(changeSet.cachedPricing.snapshot.timeZone, until - 1)
  let crossed = Number.NEGATIVE_INFINITY
  const counted: CountedEntry[] = []
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
  const tail = counted.slice(-length).map(withoutMessage)
  const base = new Map(total)
  for (const { changes } of tail) addChanges(base, changes, -1n)
  const before = since === Number.NEGATIVE_INFINITY ? null : { start: since - 1, end: since, recordId: '' }
  return {
    base,
    floor: sortKeyOf(counted.at(-length - 1)) ?? before,
    tail,
    from,
    until,
    crossed,
    starts: contractStarts(changeSet, { from, to: until }),
  }
}

/** Tell whether all of some records has its place in the tail or behind it, and none of them stands in two orders. */
export const isNearTail = (
  { floor, tail, from, until, starts, crossed }: AccumulatorTail,
  records: readonly RecordToCost[],
): boolean => {
  const tailById = new Map(tail.map(({ entry }) => [entry.record.recordId, entry]))
  // A record that reaches into the next month comes before others there: what the base has of that month is no count before it.
  let latestCrossing = Number.NEGATIVE_INFINITY
  for (const { entry } of tail)
    if (entry.record.end > until) latestCrossing = Math.max(latestCrossing, entry.record.start)
  return records.every(entry => {
    const { start, end, recordId } = entry.record
    if (start < from || start >= until || end > until || start <= crossed || start <= latestCrossing) return false
    if (floor !== null && compareSortKeys(floor, entry.record, Number.NEGATIVE_INFINITY) >= 0) return false
    // A register's interval keeps its start but not its end: an earlier form of it may be in the base.
    if (entry.isWithdrawn !== undefined && floor !== null && start <= floor.start) return false
    const tailEntry = tailById.get(recordId)
    if (tailEntry !== undefined && (tailEntry.sourceVersion > entry.sourceVersion || tailEntry.record.end > until))
      return false
    return !starts.some(at => start < at && at < end)
  })
}

/**
 * Cost records that are near, and those behind them in the tail, each with the highest version of what changed before it. Rows are costed
 * as they are taken, in their order, those that are withdrawn last, with null wherever others may run; the count is given at the end.
 */
export function* costNearTail(
  { cachedPricing }: ChangeSet,
  records: readonly RecordToCost[],
  known: AccumulatorTail,
): Generator<MeterCostRow | null, AccumulatorTail, undefined> {
  const newById = new Map(records.map(entry => [entry.record.recordId, entry]))
  let triggerVersion = 0n
  let firstChanged = known.tail.length
  const retained = known.tail.filter(({ entry }, index) => {
    const replacement = newById.get(entry.record.recordId)
    if (replacement === undefined) return true
    firstChanged = Math.min(firstChanged, index)
    if (replacement.version > triggerVersion) triggerVersion = replacement.version
    return false
  })
  const added = records
    .filter(({ isWithdrawn }) => isWithdrawn !== true)
    .map((entry): CountedEntry => ({ entry, covered: noIntervals, changes: [] }))
  const merged = [...retained, ...added].sort((a, b) => inCountingOrder(a.entry, b.entry))
  const isNew = ({ entry }: CountedEntry): boolean => newById.has(entry.record.recordId)
  const firstNew = merged.findIndex(isNew)
  firstChanged = Math.min(firstChanged, firstNew < 0 ? merged.length : firstNew)
  const counts = new Map(known.base)
  const tail = merged.slice(0, firstChanged)
  for (const { changes } of tail) addChanges(counts, changes)
  for (const one of merged.slice(firstChanged)) {
    if (isNew(one) && one.entry.version > triggerVersion) triggerVersion = one.entry.version
    const entry = one.entry.version < triggerVersion ? { ...one.entry, version: triggerVersion } : one.entry
    const { row, changes } = yield* costInSteps(entry, cachedPricing, counts, one.covered)
    yield row
    addChanges(counts, changes)
    tail.push(withoutMessage({ entry, covered: one.covered, changes }))
  }
  for (const entry of records) if (entry.isWithdrawn === true) yield (yield* costInSteps(entry, cachedPricing)).row
  return shortenTail({ ...known, tail })
}
