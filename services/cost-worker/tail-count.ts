import { startOfLocalMonth } from '../domain/civil-time.ts'
import type { Interval } from '../domain/cost/record-segments.ts'
import type { Energy } from '../domain/quantity.ts'
import { compareInCount, type TierMove, type TierPlace, tierKey } from '../domain/tariff/tier-count.ts'
import type { Span } from '../platform/clickhouse/meter-cost-reads.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost-row.ts'
import type { LaneGroup } from './lane-group.ts'
import type { Recosted } from './recost.ts'
import { byCount, type LaneRecord, settleInTurns } from './settle.ts'

/**
 * A counted record, and what it adds to its accumulators at any place in their order. `covered`: where actuals cover an estimate. The
 * intervals stay valid: records of an object that has estimates are never costed from a tail.
 */
type Counted = { readonly entry: LaneRecord; readonly covered: readonly Interval[]; readonly moves: readonly TierMove[] }

/**
 * What the accumulators of a location and direction hold in the last month before `until`, which begins at `from`: `base` is what all up to
 * `floor` (null: none) have counted, `tail` the records behind it, in order. `starts`: contract starts within the month. `crossed`: the
 * latest counting start that a record lies across (-Infinity: none); a record that begins at or before it might have its place before that one.
 */
export type TailCount = {
  readonly base: ReadonlyMap<number, Energy>
  readonly floor: TierPlace | null
  readonly tail: readonly Counted[]
  readonly from: number
  readonly until: number
  readonly starts: readonly number[]
  readonly crossed: number
}

/**
 * Devices of one location often tell of the same quarter hour, one after the other, in any order: a tail holds some records for each of the
 * devices in it.
 */
const tailBounds = { least: 24, ofDevice: 4, most: 4_000 }

/** How many of the last records, in order, a tail holds. */
const tailLength = (counted: readonly Counted[]): number => {
  const devices = new Set<string | null>()
  const most = Math.min(counted.length, tailBounds.most)
  for (let length = 1; length <= most; length += 1) {
    devices.add((counted[counted.length - length] as Counted).entry.record.deviceId)
    if (length >= tailBounds.least && length >= tailBounds.ofDevice * devices.size) return length
  }
  return most
}

const contractStarts = ({ held, direction }: LaneGroup, { from, to }: Span): readonly number[] =>
  held.snapshot.directions[direction].eras
    .flatMap(era => [era.commodityStart, era.nonCommodityStart])
    .filter((start, index, all) => start > from && start < to && all.indexOf(start) === index)

const noIntervals: readonly Interval[] = []

const add = (counts: Map<number, Energy>, moves: readonly TierMove[], sign: 1n | -1n = 1n): void => {
  for (const { type, direction, countingStart, before, after } of moves) {
    const key = tierKey(type, direction, countingStart)
    counts.set(key, (counts.get(key) ?? 0n) + sign * (after - before))
  }
}

const placeOf = (counted: Counted | undefined): TierPlace | undefined => {
  if (counted === undefined) return undefined
  const { start, end, recordId } = counted.entry.record
  return { start, end, recordId }
}

/** What is kept of a record must not hold on to the message that it came with. */
const light = ({ entry, covered, moves }: Counted): Counted => {
  if (entry.origin === null) return { entry, covered, moves }
  const { accountId, liveMode, batchId, receivedAt } = entry.part
  return { entry: { ...entry, part: { accountId, liveMode, batchId, receivedAt }, origin: null }, covered, moves }
}

/** Move what is too long of a tail into the base. */
const shortened = (count: TailCount): TailCount => {
  const length = tailLength(count.tail)
  if (length === count.tail.length) return count
  const base = new Map(count.base)
  const gone = count.tail.slice(0, -length)
  for (const { moves } of gone) add(base, moves)
  return { ...count, base, floor: placeOf(gone.at(-1)) ?? null, tail: count.tail.slice(gone.length) }
}

/**
 * What is known of the last month of a span once all of it is counted; null where it has no record. Of what starts before `since` the
 * records are not all known, only what they counted.
 */
export const countAfter = (
  group: LaneGroup,
  { to: until }: Span,
  { entries, total }: Recosted,
  since = Number.NEGATIVE_INFINITY,
): TailCount | null => {
  const from = startOfLocalMonth(group.held.snapshot.timeZone, until - 1)
  let crossed = Number.NEGATIVE_INFINITY
  const counted: Counted[] = []
  for (const { entry, covered, moves } of entries) {
    if (entry.record.start >= until) continue
    if (entry.record.start >= since) counted.push({ entry, covered, moves })
    for (const { countingStart } of moves) {
      if (countingStart > entry.record.start && countingStart < until) crossed = Math.max(crossed, countingStart)
    }
  }
  if (counted.length === 0) return null
  counted.sort((a, b) => byCount(a.entry, b.entry))
  const length = tailLength(counted)
  const tail = counted.slice(-length).map(light)
  const base = new Map(total)
  for (const { moves } of tail) add(base, moves, -1n)
  const before = since === Number.NEGATIVE_INFINITY ? null : { start: since - 1, end: since, recordId: '' }
  return {
    base,
    floor: placeOf(counted.at(-length - 1)) ?? before,
    tail,
    from,
    until,
    crossed,
    starts: contractStarts(group, { from, to: until }),
  }
}

/** Tell whether all of some records has its place in the tail or behind it, and none of them stands in two orders. */
export const isNear = ({ floor, tail, from, until, starts, crossed }: TailCount, records: readonly LaneRecord[]): boolean => {
  const twins = new Map(tail.map(({ entry }) => [entry.record.recordId, entry]))
  // A record that reaches into the next month comes before others there: what the base has of that month is no count before it.
  let across = Number.NEGATIVE_INFINITY
  for (const { entry } of tail) if (entry.record.end > until) across = Math.max(across, entry.record.start)
  return records.every(entry => {
    const { start, end, recordId } = entry.record
    if (start < from || start >= until || end > until || start <= crossed || start <= across) return false
    if (floor !== null && compareInCount(floor, entry.record, Number.NEGATIVE_INFINITY) >= 0) return false
    // A register's interval keeps its start but not its end: an earlier form of it may be in the base.
    if (entry.isWithdrawn !== undefined && floor !== null && start <= floor.start) return false
    const twin = twins.get(recordId)
    if (twin !== undefined && (twin.sourceVersion > entry.sourceVersion || twin.record.end > until)) return false
    return !starts.some(at => start < at && at < end)
  })
}

/**
 * Cost records that are near, and those behind them in the tail, each with the highest version of what changed before it. Rows are costed
 * as they are taken, in their order, those that are withdrawn last, with null wherever others may run; the count is given at the end.
 */
export function* settleNear(
  { held }: LaneGroup,
  records: readonly LaneRecord[],
  count: TailCount,
): Generator<MeterCostRow | null, TailCount, undefined> {
  const renewed = new Map(records.map(entry => [entry.record.recordId, entry]))
  let cause = 0n
  let first = count.tail.length
  const kept = count.tail.filter(({ entry }, index) => {
    const twin = renewed.get(entry.record.recordId)
    if (twin === undefined) return true
    first = Math.min(first, index)
    if (twin.version > cause) cause = twin.version
    return false
  })
  const waiting = records
    .filter(({ isWithdrawn }) => isWithdrawn !== true)
    .map((entry): Counted => ({ entry, covered: noIntervals, moves: [] }))
  const merged = [...kept, ...waiting].sort((a, b) => byCount(a.entry, b.entry))
  const isNew = ({ entry }: Counted): boolean => renewed.has(entry.record.recordId)
  const firstNew = merged.findIndex(isNew)
  first = Math.min(first, firstNew < 0 ? merged.length : firstNew)
  const counts = new Map(count.base)
  const tail = merged.slice(0, first)
  for (const { moves } of tail) add(counts, moves)
  for (const one of merged.slice(first)) {
    if (isNew(one) && one.entry.version > cause) cause = one.entry.version
    const entry = one.entry.version < cause ? { ...one.entry, version: cause } : one.entry
    const { row, moves } = yield* settleInTurns(entry, held, counts, one.covered)
    yield row
    add(counts, moves)
    tail.push(light({ entry, covered: one.covered, moves }))
  }
  for (const entry of records) if (entry.isWithdrawn === true) yield (yield* settleInTurns(entry, held)).row
  return shortened({ ...count, tail })
}
