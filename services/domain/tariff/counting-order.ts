import type { Energy } from '../quantity.ts'
import { runToEnd } from '../run-to-end.ts'
import {
  type AccumulatorChange,
  type AccumulatorCounts,
  accumulatorKey,
  compareSortKeys,
  noAccumulatorCounts,
  type RecordSortKey,
} from './accumulator.ts'

/**
 * Sort key of a record and its accumulators. The energy that a change adds (`after` − `before`) does not depend on the
 * order.
 */
export type CountedRecord = {
  readonly sortKey: RecordSortKey
  readonly accumulatorChanges: readonly AccumulatorChange[]
}

/**
 * Counts of records by accumulator key: `before` each record, and `total` after the last. `byAccumulator` lists the
 * records of each accumulator in its counting order.
 */
export type CountOrder<T extends CountedRecord> = {
  readonly before: ReadonlyMap<T, ReadonlyMap<number, Energy>>
  readonly total: Map<number, Energy>
  readonly byAccumulator: ReadonlyMap<number, readonly T[]>
}

/** Records counted between two pauses. */
const recordsAtOnce = 1_024

/**
 * Count records in the order of each accumulator, with pauses. A record across a counting start belongs to the orders
 * on both sides. Its position after the counting start can differ: shorter records that begin there come first.
 * `records` must contain all records of an accumulator, in any order. If the first ones are missing, `counted` contains
 * their energy.
 * Source: docs/rules/tariffs.md #counting-order.
 */
export function* countInOrderInSteps<T extends CountedRecord>(
  records: readonly T[],
  counted: AccumulatorCounts = noAccumulatorCounts,
): Generator<null, CountOrder<T>> {
  const accumulators = new Map<
    number,
    { readonly countingStart: number; readonly entries: { readonly record: T; readonly energy: Energy }[] }
  >()
  const before = new Map<T, Map<number, Energy>>()
  for (const record of records) {
    before.set(record, new Map())
    for (const { type, direction, countingStart, before, after } of record.accumulatorChanges) {
      const key = accumulatorKey(type, direction, countingStart)
      const accumulator = accumulators.get(key) ?? { countingStart, entries: [] }
      accumulators.set(key, accumulator)
      accumulator.entries.push({ record, energy: after - before })
    }
    if (before.size % recordsAtOnce === 0) yield null
  }
  const total = new Map<number, Energy>(counted)
  const byAccumulator = new Map<number, readonly T[]>()
  for (const [key, { countingStart, entries }] of accumulators) {
    const order: T[] = []
    let sum = counted.get(key) ?? 0n
    for (const { record, energy } of yield* sortInSteps(entries, (a, b) =>
      compareSortKeys(a.record.sortKey, b.record.sortKey, countingStart),
    )) {
      before.get(record)?.set(key, sum)
      sum += energy
      order.push(record)
      if (order.length % recordsAtOnce === 0) yield null
    }
    total.set(key, sum)
    byAccumulator.set(key, order)
  }
  return { before, total, byAccumulator }
}

/** Count without pauses, as `countInOrderInSteps` does. */
export const countInSortOrder = <T extends CountedRecord>(
  records: readonly T[],
  counted?: AccumulatorCounts,
): CountOrder<T> => runToEnd(countInOrderInSteps(records, counted))

/** Items sorted or merged between two pauses. */
const itemsAtOnce = 1_024

type Compare<T> = (a: T, b: T) => number

/** Merge two sorted lists. Equal items keep the order of the lists. */
function* merge<T>(first: readonly T[], second: readonly T[], compare: Compare<T>): Generator<null, readonly T[]> {
  if (compare(first[first.length - 1] as T, second[0] as T) <= 0) return first.concat(second)
  const merged: T[] = []
  for (let [one, other] = [0, 0]; one < first.length || other < second.length; ) {
    const isSecond = one >= first.length || (other < second.length && compare(first[one] as T, second[other] as T) > 0)
    merged.push((isSecond ? second[other] : first[one]) as T)
    if (isSecond) other += 1
    else one += 1
    if (merged.length % itemsAtOnce === 0) yield null
  }
  return merged
}

/** Sort items as `toSorted` does, with pauses; fast if they are already in order. */
export function* sortInSteps<T>(items: readonly T[], compare: Compare<T>): Generator<null, readonly T[]> {
  let runs: (readonly T[])[] = []
  for (let from = 0; from < items.length; from += itemsAtOnce) {
    runs.push(items.slice(from, from + itemsAtOnce).sort(compare))
    yield null
  }
  while (runs.length > 1) {
    const merged: (readonly T[])[] = []
    for (let at = 0; at < runs.length; at += 2) {
      const [first, second] = [runs[at] as readonly T[], runs[at + 1]]
      merged.push(second === undefined ? first : yield* merge(first, second, compare))
      yield null
    }
    runs = merged
  }
  return runs[0] ?? []
}
