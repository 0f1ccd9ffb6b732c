import { unionOf, withinUnion } from '../domain/cost/estimate.ts'
import { recordMoves } from '../domain/cost/record-moves.ts'
import type { Interval } from '../domain/cost/record-segments.ts'
import type { Energy } from '../domain/quantity.ts'
import { type CountedRecord, type CountOrder, countInOrderInSteps } from '../domain/tariff/count-order.ts'
import { compareInCount, countingStartOf, type TierCounts, type TierMove, tierKey } from '../domain/tariff/tier-count.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost-row.ts'
import { type Cluster, isEstimate, isTiered, type LaneGroup, newestOf, touches } from './lane-group.ts'
import { type LaneRecord, settleInTurns } from './settle.ts'

/** A record among those of its location and direction; `isNew`: its energy or its place may differ from what was stored. */
export type Entry = CountedRecord & { readonly entry: LaneRecord; readonly covered: readonly Interval[]; readonly isNew: boolean }

/** Rows to be written, costed as they are taken, once; and how all that was read counts. */
export type Recosted = {
  readonly rows: Iterable<MeterCostRow | null>
  readonly entries: readonly Entry[]
  readonly total: Map<number, Energy>
}

/**
 * What lies before a part of a cluster: of what is stored from `until` on all is known, and of what starts before, `counted` tells what it
 * moved in accumulators that begin before.
 */
export type Prefix = { readonly until: number; readonly counted: TierCounts }

const noPrefix: Prefix = { until: Number.NEGATIVE_INFINITY, counted: new Map() }

type Plain = { readonly entry: LaneRecord; readonly isNew: boolean }

/** So many entries are looked at without a stop. */
const entriesAtOnce = 200

const noMoves: readonly TierMove[] = []
const noIntervals: readonly Interval[] = []

/** A stored row as the record it came from, to be costed because of `cause`. */
const entryOf = (row: MeterCostRow, cause: bigint): LaneRecord => ({
  record: { ...row, energy: row.energySubmitted ?? row.energy, confidence: row.recordConfidence },
  part: row,
  version: row.version > cause ? row.version : cause,
  sourceVersion: row.sourceVersion,
  origin: null,
})

/** Whether what is stored of an identity came later than what waits: a message put back into the lane keeps its old place. */
const holds = (stored: MeterCostRow, { sourceVersion, isWithdrawn }: LaneRecord): boolean =>
  isWithdrawn === undefined && stored.sourceVersion > sourceVersion

/** Records that share energy with an estimate: of one object, flow and session. */
const sessionOf = ({ deviceId, energyFlowDirection, sessionReferenceId }: LaneRecord['record']): string =>
  `${deviceId}/${energyFlowDirection}/${sessionReferenceId ?? ''}/${sessionReferenceId === null}`

/** Make a test whether any of some intervals overlaps another one: an impulse within it does. */
const overlapWith = (intervals: readonly Interval[]): ((other: Interval) => boolean) => {
  const sorted = intervals.toSorted((a, b) => a.start - b.start)
  let last = Number.NEGATIVE_INFINITY
  const ends = sorted.map(({ end }) => (last = Math.max(last, end)))
  return other => {
    let [low, high] = [0, sorted.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((sorted[middle] as Interval).start < other.end) low = middle + 1
      else high = middle
    }
    return low > 0 && (ends[low - 1] as number) > other.start
  }
}

/** What holds of each identity, and the stored forms that no longer do. */
const effective = ({ records, group }: Cluster, stored: readonly MeterCostRow[], cause: bigint) => {
  const twins = new Map(stored.map(row => [row.recordId, row]))
  const renewed = new Map<string, LaneRecord>()
  const disputed = new Set<string>()
  for (const entry of group.records) {
    const twin = twins.get(entry.record.recordId)
    if (twin !== undefined && holds(twin, entry)) disputed.add(entry.record.recordId)
    else renewed.set(entry.record.recordId, entry)
  }
  const own = new Set(records)
  const plain: Plain[] = []
  for (const entry of renewed.values()) if (entry.isWithdrawn !== true) plain.push({ entry, isNew: own.has(entry) })
  for (const row of stored) {
    if (!renewed.has(row.recordId)) plain.push({ entry: entryOf(row, cause), isNew: disputed.has(row.recordId) })
  }
  const former = [...renewed.values()].flatMap(entry => {
    const twin = twins.get(entry.record.recordId)
    return twin === undefined || !own.has(entry) ? [] : [entryOf(twin, cause)]
  })
  return { plain, former, withdrawn: records.filter(({ isWithdrawn }) => isWithdrawn === true) }
}

/** Where actuals cover estimates by now, and which estimates a change of actuals touches. */
const coverageOf = (plain: readonly Plain[], former: readonly LaneRecord[]) => {
  const actuals = new Map<string, Interval[]>()
  const changed = new Map<string, Interval[]>()
  const add = (to: Map<string, Interval[]>, { record }: LaneRecord): void => {
    if (isEstimate(record.confidence)) return
    const key = sessionOf(record)
    const known = to.get(key)
    if (known === undefined) to.set(key, [record])
    else known.push(record)
  }
  for (const { entry, isNew } of plain) {
    add(actuals, entry)
    if (isNew) add(changed, entry)
  }
  for (const entry of former) add(changed, entry)
  const unions = new Map<string, readonly Interval[]>()
  const unionOfSession = (key: string): readonly Interval[] => {
    const union = unions.get(key) ?? unionOf(actuals.get(key) ?? noIntervals)
    unions.set(key, union)
    return union
  }
  const overlaps = new Map([...changed].map(([key, intervals]) => [key, overlapWith(intervals)]))
  return {
    covered: ({ record }: LaneRecord): readonly Interval[] =>
      isEstimate(record.confidence) ? withinUnion(record, unionOfSession(sessionOf(record))) : noIntervals,
    isRecut: ({ record }: LaneRecord): boolean => isEstimate(record.confidence) && (overlaps.get(sessionOf(record))?.(record) ?? false),
  }
}

/** What some of a location's stored rows moved in its accumulators; the others are there for the estimates that they cover. */
export const countedOf = (
  { held: { snapshot } }: Pick<LaneGroup, 'held'>,
  stored: readonly MeterCostRow[],
  isCounted: (row: MeterCostRow) => boolean,
): ReadonlyMap<number, Energy> => {
  const plain = stored.map((row): Plain => ({ entry: entryOf(row, 0n), isNew: false }))
  const coverage = coverageOf(plain, [])
  const counted = new Map<number, Energy>()
  for (const [index, { entry }] of plain.entries()) {
    if (!isCounted(stored[index] as MeterCostRow)) continue
    for (const { type, direction, countingStart, before, after } of recordMoves(snapshot, entry.record, coverage.covered(entry))) {
      const key = tierKey(type, direction, countingStart)
      counted.set(key, (counted.get(key) ?? 0n) + after - before)
    }
  }
  return counted
}

/** The first place in an order at which something changed: that of an entry that moves it otherwise, or one that a former entry had. */
const firstChanged = (
  order: readonly Entry[],
  former: readonly LaneRecord[],
  countingStart: number,
  isMoved: (entry: Entry) => boolean,
): number => {
  const renewed = order.findIndex(isMoved)
  const first = renewed < 0 ? order.length : renewed
  let earliest = former[0]
  for (const one of former) if (earliest !== undefined && compareInCount(one.record, earliest.record, countingStart) < 0) earliest = one
  if (earliest === undefined) return first
  const { record } = earliest
  const place = order.findIndex(entry => compareInCount(entry.place, record, countingStart) >= 0)
  return place >= 0 && place < first ? place : first
}

/** All that come behind a change in some accumulator that the change moves. */
const behindChanges = (
  cluster: Cluster,
  { orders }: CountOrder<Entry>,
  former: readonly LaneRecord[],
  isMoved: (entry: Entry) => boolean,
): ReadonlySet<Entry> => {
  const { snapshot } = cluster.group.held
  const formerOf = new Map<number, LaneRecord[]>()
  for (const entry of former) {
    for (const { type, direction, countingStart } of recordMoves(snapshot, entry.record)) {
      const key = tierKey(type, direction, countingStart)
      const known = formerOf.get(key)
      if (known === undefined) formerOf.set(key, [entry])
      else known.push(entry)
    }
  }
  const behind = new Set<Entry>()
  for (const [key, order] of orders) {
    const first = firstChanged(order, formerOf.get(key) ?? [], countingStartOf(key), isMoved)
    for (const entry of order.slice(first)) behind.add(entry)
  }
  return behind
}

/**
 * Cost what changed. A step's own records go last: what is stored of a step that was broken off tells by them what is not yet costed anew.
 */
function* rowsOf(cluster: Cluster, changed: readonly Entry[], withdrawn: readonly LaneRecord[], before: CountOrder<Entry>['before']) {
  const { group, causes, records } = cluster
  const cause = newestOf([...records, ...causes])
  const own = new Set(group.records)
  const ordered = [...changed.filter(({ entry }) => !own.has(entry)), ...changed.filter(({ entry }) => own.has(entry))]
  for (const one of ordered) {
    const { entry } = one
    const caused = entry.version < cause ? { ...entry, version: cause } : entry
    yield (yield* settleInTurns(caused, group.held, before.get(one), one.covered)).row
  }
  for (const entry of withdrawn) yield (yield* settleInTurns(entry, group.held)).row
}

/**
 * Cost a cluster's new records and every stored row that they or its spans change, as if all had come in order: estimates lose what
 * actuals cover, accumulators count in their own order, and what lies behind a change is costed anew. `stored`: see `gatherRows`.
 * Each row is written once, with the highest version of what caused it. Behind a `prefix` only rows that start there are costed, and
 * `stored` must hold those that start before and reach into it. Gives null now and then: others may run meanwhile.
 * Source: docs/rules/metering.md #estimates; docs/rules/tariffs.md #counting-order.
 */
export function* recost(
  cluster: Cluster,
  stored: readonly MeterCostRow[],
  { until, counted: before } = noPrefix,
): Generator<null, Recosted, undefined> {
  const { group, causes, records, span } = cluster
  const { snapshot } = group.held
  const cause = newestOf([...records, ...causes])
  const { plain, former, withdrawn } = effective(cluster, stored, cause)
  yield null
  const coverage = coverageOf(plain, former)
  const tiered = isTiered(group)
  const entries: Entry[] = []
  for (const { entry, isNew } of plain) {
    const covered = coverage.covered(entry)
    const all = tiered ? recordMoves(snapshot, entry.record, covered) : noMoves
    const moves = entry.record.start < until ? all.filter(({ countingStart }) => countingStart >= until) : all
    entries.push({ entry, covered, moves, place: entry.record, isNew: isNew || coverage.isRecut(entry) })
    if (entries.length % entriesAtOnce === 0) yield null
  }
  yield null
  const counted = yield* countInOrderInSteps(entries, before)
  yield null
  const isCaused = ({ record }: LaneRecord): boolean => causes.some(one => touches(record, one))
  // Another tariff from some time on takes energy out of the count that a record reaching there had moved: what lies between its start and
  // that time is counted anew as well.
  const behind = behindChanges(cluster, counted, former, one => one.isNew || isCaused(one.entry))
  const isWithin = ({ entry: { record } }: Entry): boolean => record.start >= until && touches(record, span)
  const changed = entries.filter(one => isWithin(one) && (one.isNew || behind.has(one) || isCaused(one.entry)))
  return { rows: rowsOf(cluster, changed, withdrawn, counted.before), entries, total: counted.total }
}
