import { accumulatorChangesOf } from '../cost/accumulator-changes.ts'
import type { Interval } from '../interval.ts'
import type { Energy } from '../quantity.ts'
import {
  type AccumulatorChange,
  type AccumulatorCounts,
  accumulatorKey,
  compareSortKeys,
  countingStartOf,
} from '../tariff/accumulator.ts'
import { type CountedRecord, type CountOrder, countInOrder } from '../tariff/counting-order.ts'
import {
  type ChangeSet,
  highestVersion,
  isTiered,
  overlaps,
  type RecostGroup,
  type VersionedRecord,
} from './change-set.ts'
import type { Prefix } from './counted-energy.ts'
import { type EffectiveRecord, estimateCoverage } from './estimate-coverage.ts'

/**
 * Record of a location and direction, in the counting order. `isNew`: its energy or its sort key can differ from the
 * stored form.
 */
export type RecostEntry<Entry extends VersionedRecord> = CountedRecord & {
  readonly entry: Entry
  readonly covered: readonly Interval[]
  readonly isNew: boolean
}

/** Records to cost, and the state of the accumulators. */
export type RecostDecision<Entry extends VersionedRecord> = {
  /** Records to cost, in this order. The new records of the step are last. */
  readonly toCost: readonly RecostEntry<Entry>[]
  /** Register intervals that no longer exist. */
  readonly withdrawn: readonly Entry[]
  /** Lowest version of the rows: the highest version among the changes. */
  readonly version: bigint
  /** Energy that each accumulator counted before a record. */
  readonly countedBefore: CountOrder<RecostEntry<Entry>>['before']
  /** All records that were read, with the new ones. */
  readonly entries: readonly RecostEntry<Entry>[]
  /** Energy of each accumulator after all records. */
  readonly total: Map<number, Energy>
}

/** Stored form of a record, as far as these rules need it. */
export type StoredVersion = { readonly recordId: string; readonly sourceVersion: bigint }

/** Return a stored form as a record whose version is at least `version`. */
export type ToEntry<Stored, Entry> = (stored: Stored, version: bigint) => Entry

type Group<Entry extends VersionedRecord> = RecostGroup<ChangeSet<Entry>>

const noPrefix: Prefix = { until: Number.NEGATIVE_INFINITY, counted: new Map() }
const noChanges: readonly AccumulatorChange[] = []

/**
 * Return whether the stored form of an identity is later than a new one: a replayed message keeps its source version.
 */
const isStoredNewer = (stored: StoredVersion, { sourceVersion, isWithdrawn }: VersionedRecord): boolean =>
  isWithdrawn === undefined && stored.sourceVersion > sourceVersion

/**
 * Choose the valid form of each identity: the form with the higher source version.
 * `former` are the stored forms that new records replace.
 */
const effectiveRecords = <Entry extends VersionedRecord, Stored extends StoredVersion>(
  { records, changeSet }: Group<Entry>,
  stored: readonly Stored[],
  version: bigint,
  entryOf: ToEntry<Stored, Entry>,
) => {
  const storedById = new Map(stored.map(row => [row.recordId, row]))
  const newById = new Map<string, Entry>()
  const storedNewer = new Set<string>()
  for (const entry of changeSet.records) {
    const storedForm = storedById.get(entry.record.recordId)
    if (storedForm !== undefined && isStoredNewer(storedForm, entry)) storedNewer.add(entry.record.recordId)
    else newById.set(entry.record.recordId, entry)
  }
  const ownRecords = new Set(records)
  const valid: EffectiveRecord<Entry>[] = []
  for (const entry of newById.values())
    if (entry.isWithdrawn !== true) valid.push({ entry, isNew: ownRecords.has(entry) })
  for (const row of stored) {
    if (!newById.has(row.recordId)) valid.push({ entry: entryOf(row, version), isNew: storedNewer.has(row.recordId) })
  }
  const former = [...newById.values()].flatMap(entry => {
    const storedForm = storedById.get(entry.record.recordId)
    return storedForm === undefined || !ownRecords.has(entry) ? [] : [entryOf(storedForm, version)]
  })
  return { valid, former, withdrawn: records.filter(({ isWithdrawn }) => isWithdrawn === true) }
}

/**
 * Return the first index in a counting order whose count can have changed: of a changed entry, or of a replaced form.
 */
const firstChangedIndex = <Entry extends VersionedRecord>(
  order: readonly RecostEntry<Entry>[],
  former: readonly Entry[],
  countingStart: number,
  isChanged: (entry: RecostEntry<Entry>) => boolean,
): number => {
  const firstNew = order.findIndex(isChanged)
  const first = firstNew < 0 ? order.length : firstNew
  let earliest = former[0]
  for (const one of former)
    if (earliest !== undefined && compareSortKeys(one.record, earliest.record, countingStart) < 0) earliest = one
  if (earliest === undefined) return first
  const { record } = earliest
  const changedIndex = order.findIndex(entry => compareSortKeys(entry.sortKey, record, countingStart) >= 0)
  return changedIndex >= 0 && changedIndex < first ? changedIndex : first
}

/** Return the entries that are at or after a change, in an accumulator that the change affects. */
const entriesAfterChanges = <Entry extends VersionedRecord>(
  { changeSet }: Group<Entry>,
  orders: CountOrder<RecostEntry<Entry>>['byAccumulator'],
  former: readonly Entry[],
  isChanged: (entry: RecostEntry<Entry>) => boolean,
): ReadonlySet<RecostEntry<Entry>> => {
  const formerByAccumulator = new Map<number, Entry[]>()
  for (const entry of former) {
    const changes = accumulatorChangesOf(changeSet.prices.snapshot, entry.record)
    for (const { type, direction, countingStart } of changes) {
      const key = accumulatorKey(type, direction, countingStart)
      const known = formerByAccumulator.get(key)
      if (known === undefined) formerByAccumulator.set(key, [entry])
      else known.push(entry)
    }
  }
  const after = new Set<RecostEntry<Entry>>()
  for (const [key, order] of orders) {
    const first = firstChangedIndex(order, formerByAccumulator.get(key) ?? [], countingStartOf(key), isChanged)
    for (const entry of order.slice(first)) after.add(entry)
  }
  return after
}

/** Determine the coverage and the accumulator changes of all valid records. */
const entriesOf = <Entry extends VersionedRecord>(
  changeSet: ChangeSet<Entry>,
  valid: readonly EffectiveRecord<Entry>[],
  former: readonly Entry[],
  until: number,
): readonly RecostEntry<Entry>[] => {
  const coverage = estimateCoverage(valid, former)
  const hasTiers = isTiered(changeSet)
  const entries: RecostEntry<Entry>[] = []
  for (const { entry, isNew } of valid) {
    const covered = coverage.covered(entry)
    const all = hasTiers ? accumulatorChangesOf(changeSet.prices.snapshot, entry.record, covered) : noChanges
    const accumulatorChanges =
      entry.record.start < until ? all.filter(({ countingStart }) => countingStart >= until) : all
    entries.push({ entry, covered, accumulatorChanges, sortKey: entry.record, isNew: isNew || coverage.isRecut(entry) })
  }
  return entries
}

/**
 * Put the new records of the step last. After an interrupted step, the stored new records then show which rows are
 * complete.
 */
const inStoreOrder = <Entry extends VersionedRecord>(
  changed: readonly RecostEntry<Entry>[],
  changeSet: ChangeSet<Entry>,
): readonly RecostEntry<Entry>[] => {
  const ownRecords = new Set(changeSet.records)
  return [
    ...changed.filter(({ entry }) => !ownRecords.has(entry)),
    ...changed.filter(({ entry }) => ownRecords.has(entry)),
  ]
}

/**
 * Decide which records to cost after changes, as if all records had arrived in order.
 * Estimates lose the energy that actuals cover. Accumulators count in their own order. Records after a change are
 * costed again.
 * `stored` are all stored forms that the group depends on. With a `prefix`, only records that start at `prefix.until`
 * or later are costed, and `stored` also contains the earlier records that end after it.
 * Law: costing `toCost` in any partition of the changes into groups and steps gives the same costs.
 * Source: docs/rules/metering.md #estimates; docs/rules/tariffs.md #counting-order.
 */
export const decideRecost = <Entry extends VersionedRecord, Stored extends StoredVersion>(
  group: Group<Entry>,
  stored: readonly Stored[],
  entryOf: ToEntry<Stored, Entry>,
  { until, counted: before }: { readonly until: number; readonly counted: AccumulatorCounts } = noPrefix,
): RecostDecision<Entry> => {
  const { changeSet, triggers, records, interval } = group
  const version = highestVersion([...records, ...triggers])
  const { valid, former, withdrawn } = effectiveRecords(group, stored, version, entryOf)
  const entries = entriesOf(changeSet, valid, former, until)
  const counted = countInOrder(entries, before)
  const isTriggered = ({ record }: Entry): boolean => triggers.some(trigger => overlaps(record, trigger))
  // A new tariff resets the count at its start. A record that spans this start counted before it, so all later records
  // count again.
  const after = entriesAfterChanges(group, counted.byAccumulator, former, one => one.isNew || isTriggered(one.entry))
  const isWithin = ({ entry: { record } }: RecostEntry<Entry>): boolean =>
    record.start >= until && overlaps(record, interval)
  const changed = entries.filter(one => isWithin(one) && (one.isNew || after.has(one) || isTriggered(one.entry)))
  return {
    toCost: inStoreOrder(changed, changeSet),
    withdrawn,
    version,
    countedBefore: counted.before,
    entries,
    total: counted.total,
  }
}
