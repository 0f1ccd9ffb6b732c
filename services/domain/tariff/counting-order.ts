import type { Energy } from '../quantity.ts'
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

/**
 * Count records in the order of each accumulator. A record across a counting start belongs to the orders
 * on both sides. Its position after the counting start can differ: shorter records that begin there come first.
 * `records` must contain all records of an accumulator, in any order. If the first ones are missing, `counted` contains
 * their energy.
 * Source: docs/rules/tariffs.md #counting-order.
 */
export const countInOrder = <T extends CountedRecord>(
  records: readonly T[],
  counted: AccumulatorCounts = noAccumulatorCounts,
): CountOrder<T> => {
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
  }
  const total = new Map<number, Energy>(counted)
  const byAccumulator = new Map<number, readonly T[]>()
  for (const [key, { countingStart, entries }] of accumulators) {
    const order: T[] = []
    let sum = counted.get(key) ?? 0n
    for (const { record, energy } of entries.toSorted((a, b) =>
      compareSortKeys(a.record.sortKey, b.record.sortKey, countingStart),
    )) {
      before.get(record)?.set(key, sum)
      sum += energy
      order.push(record)
    }
    total.set(key, sum)
    byAccumulator.set(key, order)
  }
  return { before, total, byAccumulator }
}
