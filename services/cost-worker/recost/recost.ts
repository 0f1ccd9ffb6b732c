import { accumulatorChangesOf } from '../../domain/cost/accumulator-changes.ts'
import { intervalsWithin, unionOfIntervals } from '../../domain/cost/covered-intervals.ts'
import type { Interval } from '../../domain/cost/record-segments.ts'
import type { Energy } from '../../domain/quantity.ts'
import {
  type AccumulatorChange,
  type AccumulatorCounts,
  accumulatorKey,
  compareSortKeys,
  countingStartOf,
} from '../../domain/tariff/accumulator.ts'
import { type CountedRecord, type CountOrder, countInOrderInSteps } from '../../domain/tariff/counting-order.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost/meter-cost-row.ts'
import { costInSteps, type RecordToCost } from '../record-to-cost.ts'
import { type ChangeSet, highestVersion, isEstimate, isTiered, overlaps, type RecostGroup } from './change-set.ts'

/** A record among those of its location and direction; `isNew`: its energy or its place may differ from what was stored. */
export type RecostEntry = CountedRecord & {
  readonly entry: RecordToCost
  readonly covered: readonly Interval[]
  readonly isNew: boolean
}

/** Rows to be written, costed as they are taken, once; and how all that was read counts. */
export type RecostResult = {
  readonly rows: Iterable<MeterCostRow | null>
  readonly entries: readonly RecostEntry[]
  readonly total: Map<number, Energy>
}

/**
 * What lies before a part of a cluster: of what is stored from `until` on all is known, and of what starts before, `counted` tells what it
 * moved in accumulators that begin before.
 */
export type Prefix = { readonly until: number; readonly counted: AccumulatorCounts }

const noPrefix: Prefix = { until: Number.NEGATIVE_INFINITY, counted: new Map() }

type PlainEntry = { readonly entry: RecordToCost; readonly isNew: boolean }

/** So many entries are looked at without a stop. */
const entriesAtOnce = 200

const noChanges: readonly AccumulatorChange[] = []
const noIntervals: readonly Interval[] = []

/** A stored row as the record it came from, to be costed because of `cause`. */
const entryOf = (row: MeterCostRow, triggerVersion: bigint): RecordToCost => ({
  record: { ...row, energy: row.energySubmitted ?? row.energy, confidence: row.recordConfidence },
  part: row,
  version: row.version > triggerVersion ? row.version : triggerVersion,
  sourceVersion: row.sourceVersion,
  origin: null,
})

/** Whether what is stored of an identity came later than what waits: a message put back into the lane keeps its old place. */
const isStoredNewer = (stored: MeterCostRow, { sourceVersion, isWithdrawn }: RecordToCost): boolean =>
  isWithdrawn === undefined && stored.sourceVersion > sourceVersion

/** Records that share energy with an estimate: of one object, flow and session. */
const sessionKeyOf = ({ deviceId, energyFlowDirection, sessionReferenceId }: RecordToCost['record']): string =>
  `${deviceId}/${energyFlowDirection}/${sessionReferenceId ?? ''}/${sessionReferenceId === null}`

/** Make a test whether any of some intervals overlaps another one: an impulse within it does. */
const overlapTest = (intervals: readonly Interval[]): ((other: Interval) => boolean) => {
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
const effectiveEntries = (
  { records, changeSet }: RecostGroup,
  stored: readonly MeterCostRow[],
  triggerVersion: bigint,
) => {
  const storedById = new Map(stored.map(row => [row.recordId, row]))
  const newById = new Map<string, RecordToCost>()
  const storedNewer = new Set<string>()
  for (const entry of changeSet.records) {
    const storedRow = storedById.get(entry.record.recordId)
    if (storedRow !== undefined && isStoredNewer(storedRow, entry)) storedNewer.add(entry.record.recordId)
    else newById.set(entry.record.recordId, entry)
  }
  const ownRecords = new Set(records)
  const plain: PlainEntry[] = []
  for (const entry of newById.values())
    if (entry.isWithdrawn !== true) plain.push({ entry, isNew: ownRecords.has(entry) })
  for (const row of stored) {
    if (!newById.has(row.recordId))
      plain.push({ entry: entryOf(row, triggerVersion), isNew: storedNewer.has(row.recordId) })
  }
  const former = [...newById.values()].flatMap(entry => {
    const storedRow = storedById.get(entry.record.recordId)
    return storedRow === undefined || !ownRecords.has(entry) ? [] : [entryOf(storedRow, triggerVersion)]
  })
  return { plain, former, withdrawn: records.filter(({ isWithdrawn }) => isWithdrawn === true) }
}

/** Where actuals cover estimates by now, and which estimates a change of actuals touches. */
const coverageOf = (plain: readonly PlainEntry[], former: readonly RecordToCost[]) => {
  const actuals = new Map<string, Interval[]>()
  const changed = new Map<string, Interval[]>()
  const add = (to: Map<string, Interval[]>, { record }: RecordToCost): void => {
    if (isEstimate(record.confidence)) return
    const key = sessionKeyOf(record)
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
    const union = unions.get(key) ?? unionOfIntervals(actuals.get(key) ?? noIntervals)
    unions.set(key, union)
    return union
  }
  const overlapTests = new Map([...changed].map(([key, intervals]) => [key, overlapTest(intervals)]))
  return {
    covered: ({ record }: RecordToCost): readonly Interval[] =>
      isEstimate(record.confidence) ? intervalsWithin(record, unionOfSession(sessionKeyOf(record))) : noIntervals,
    isRecut: ({ record }: RecordToCost): boolean =>
      isEstimate(record.confidence) && (overlapTests.get(sessionKeyOf(record))?.(record) ?? false),
  }
}

/** What some of a location's stored rows moved in its accumulators; the others are there for the estimates that they cover. */
export const countedEnergyOf = (
  { cachedPricing: { snapshot } }: Pick<ChangeSet, 'cachedPricing'>,
  stored: readonly MeterCostRow[],
  isCounted: (row: MeterCostRow) => boolean,
): ReadonlyMap<number, Energy> => {
  const plain = stored.map((row): PlainEntry => ({ entry: entryOf(row, 0n), isNew: false }))
  const coverage = coverageOf(plain, [])
  const counted = new Map<number, Energy>()
  for (const [index, { entry }] of plain.entries()) {
    if (!isCounted(stored[index] as MeterCostRow)) continue
    for (const { type, direction, countingStart, before, after } of accumulatorChangesOf(
      snapshot,
      entry.record,
      coverage.covered(entry),
    )) {
      const key = accumulatorKey(type, direction, countingStart)
      counted.set(key, (counted.get(key) ?? 0n) + after - before)
    }
  }
  return counted
}

/** The first place in an order at which something changed: that of an entry that moves it otherwise, or one that a former entry had. */
const firstChangedIndex = (
  order: readonly RecostEntry[],
  former: readonly RecordToCost[],
  countingStart: number,
  isChanged: (entry: RecostEntry) => boolean,
): number => {
  const newById = order.findIndex(isChanged)
  const first = newById < 0 ? order.length : newById
  let earliest = former[0]
  for (const one of former)
    if (earliest !== undefined && compareSortKeys(one.record, earliest.record, countingStart) < 0) earliest = one
  if (earliest === undefined) return first
  const { record } = earliest
  const changedIndex = order.findIndex(entry => compareSortKeys(entry.sortKey, record, countingStart) >= 0)
  return changedIndex >= 0 && changedIndex < first ? changedIndex : first
}

/** All that come behind a change in some accumulator that the change moves. */
const entriesBehindChanges = (
  recostGroup: RecostGroup,
  { byAccumulator: orders }: CountOrder<RecostEntry>,
  former: readonly RecordToCost[],
  isChanged: (entry: RecostEntry) => boolean,
): ReadonlySet<RecostEntry> => {
  const { snapshot } = recostGroup.changeSet.cachedPricing
  const formerOf = new Map<number, RecordToCost[]>()
  for (const entry of former) {
    for (const { type, direction, countingStart } of accumulatorChangesOf(snapshot, entry.record)) {
      const key = accumulatorKey(type, direction, countingStart)
      const known = formerOf.get(key)
      if (known === undefined) formerOf.set(key, [entry])
      else known.push(entry)
    }
  }
  const behind = new Set<RecostEntry>()
  for (const [key, order] of orders) {
    const first = firstChangedIndex(order, formerOf.get(key) ?? [], countingStartOf(key), isChanged)
    for (const entry of order.slice(first)) behind.add(entry)
  }
  return behind
}

/**
 * Cost what changed. A step's own records go last: what is stored of a step that was broken off tells by them what is not yet costed anew.
 */
function* recostRows(
  recostGroup: RecostGroup,
  changed: readonly RecostEntry[],
  withdrawn: readonly RecordToCost[],
  before: CountOrder<RecostEntry>['before'],
) {
  const { changeSet, triggers, records } = recostGroup
  const triggerVersion = highestVersion([...records, ...triggers])
  const ownRecords = new Set(changeSet.records)
  const ordered = [
    ...changed.filter(({ entry }) => !ownRecords.has(entry)),
    ...changed.filter(({ entry }) => ownRecords.has(entry)),
  ]
  for (const one of ordered) {
    const { entry } = one
    const triggeredEntry = entry.version < triggerVersion ? { ...entry, version: triggerVersion } : entry
    yield (yield* costInSteps(triggeredEntry, changeSet.cachedPricing, before.get(one), one.covered)).row
  }
  for (const entry of withdrawn) yield (yield* costInSteps(entry, changeSet.cachedPricing)).row
}

/**
 * Cost a cluster's new records and every stored row that they or its spans change, as if all had come in order: estimates lose what
 * actuals cover, accumulators count in their own order, and what lies behind a change is costed anew. `stored`: see `gatherRows`.
 * Each row is written once, with the highest version of what caused it. Behind a `prefix` only rows that start there are costed, and
 * `stored` must hold those that start before and reach into it. Gives null now and then: others may run meanwhile.
 * Source: docs/rules/metering.md #estimates; docs/rules/tariffs.md #counting-order.
 */
export function* recost(
  recostGroup: RecostGroup,
  stored: readonly MeterCostRow[],
  { until, counted: before } = noPrefix,
): Generator<null, RecostResult, undefined> {
  const { changeSet, triggers, records, interval } = recostGroup
  const { snapshot } = changeSet.cachedPricing
  const triggerVersion = highestVersion([...records, ...triggers])
  const { plain, former, withdrawn } = effectiveEntries(recostGroup, stored, triggerVersion)
  yield null
  const coverage = coverageOf(plain, former)
  const hasTiers = isTiered(changeSet)
  const entries: RecostEntry[] = []
  for (const { entry, isNew } of plain) {
    const covered = coverage.covered(entry)
    const all = hasTiers ? accumulatorChangesOf(snapshot, entry.record, covered) : noChanges
    const moves = entry.record.start < until ? all.filter(({ countingStart }) => countingStart >= until) : all
    entries.push({
      entry,
      covered,
      accumulatorChanges: moves,
      sortKey: entry.record,
      isNew: isNew || coverage.isRecut(entry),
    })
    if (entries.length % entriesAtOnce === 0) yield null
  }
  yield null
  const counted = yield* countInOrderInSteps(entries, before)
  yield null
  const isTriggered = ({ record }: RecordToCost): boolean => triggers.some(one => overlaps(record, one))
  // Another tariff from some time on takes energy out of the count that a record reaching there had moved: what lies between its start and
  // that time is counted anew as well.
  const behind = entriesBehindChanges(recostGroup, counted, former, one => one.isNew || isTriggered(one.entry))
  const isWithin = ({ entry: { record } }: RecostEntry): boolean => record.start >= until && overlaps(record, interval)
  const changed = entries.filter(one => isWithin(one) && (one.isNew || behind.has(one) || isTriggered(one.entry)))
  return { rows: recostRows(recostGroup, changed, withdrawn, counted.before), entries, total: counted.total }
}
