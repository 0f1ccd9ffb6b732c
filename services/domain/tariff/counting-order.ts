import type { Energy } from '../quantity.ts'
import { runToEnd } from '../run-to-end.ts'
import { sortInSteps } from '../sort-in-steps.ts'
import {
  type AccumulatorChange,
  type AccumulatorCounts,
  accumulatorKey,
  compareSortKeys,
  type RecordSortKey,
} from './accumulator.ts'

/** A record's place, and the accumulators that it stands in; what a move adds (`after` − `before`) holds wherever the record stands. */
export type CountedRecord = {
  readonly sortKey: RecordSortKey
  readonly accumulatorChanges: readonly AccumulatorChange[]
}

/**
 * What records have counted, by `tierKey`: `before` each of them, and in `total` behind the last. `orders` gives the records of each
 * accumulator in its order.
 */
export type CountOrder<T extends CountedRecord> = {
  readonly before: ReadonlyMap<T, ReadonlyMap<number, Energy>>
  readonly total: Map<number, Energy>
  readonly byAccumulator: ReadonlyMap<number, readonly T[]>
}

const noTierCounts: AccumulatorCounts = new Map()

/** Records that are counted between two points where the work can be interrupted. */
const recordsAtOnce = 1_024

/**
 * Count records in the order of each accumulator. A record that lies across a counting start stands in the orders on both sides, behind
 * the start in another place than before it: shorter ones that begin there come first. `records` must hold all of an accumulator's, in any
 * order, but for the first of it, of which `counted` tells what they have counted.
 * Source: docs/rules/tariffs.md #counting-order.
 */
export function* countInOrderInSteps<T extends CountedRecord>(
  records: readonly T[],
  counted: AccumulatorCounts = noTierCounts,
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

/** Count at once, as `countInOrderInSteps` does. */
export const countInSortOrder = <T extends CountedRecord>(
  records: readonly T[],
  counted?: AccumulatorCounts,
): CountOrder<T> => runToEnd(countInOrderInSteps(records, counted))
