import { atOnce } from '../at-once.ts'
import type { Energy } from '../quantity.ts'
import { sortInSteps } from '../sort-in-steps.ts'
import { compareInCount, type TierCounts, type TierMove, type TierPlace, tierKey } from './tier-count.ts'

/** A record's place, and the accumulators that it stands in; what a move adds (`after` − `before`) holds wherever the record stands. */
export type CountedRecord = { readonly place: TierPlace; readonly moves: readonly TierMove[] }

/**
 * What records have counted, by `tierKey`: `before` each of them, and in `total` behind the last. `orders` gives the records of each
 * accumulator in its order.
 */
export type CountOrder<T extends CountedRecord> = {
  readonly before: ReadonlyMap<T, ReadonlyMap<number, Energy>>
  readonly total: Map<number, Energy>
  readonly orders: ReadonlyMap<number, readonly T[]>
}

const nothing: TierCounts = new Map()

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
  counted: TierCounts = nothing,
): Generator<null, CountOrder<T>> {
  const standings = new Map<number, { readonly countingStart: number; readonly found: { readonly of: T; readonly adds: Energy }[] }>()
  const before = new Map<T, Map<number, Energy>>()
  for (const of of records) {
    before.set(of, new Map())
    for (const { type, direction, countingStart, before, after } of of.moves) {
      const key = tierKey(type, direction, countingStart)
      const standing = standings.get(key) ?? { countingStart, found: [] }
      standings.set(key, standing)
      standing.found.push({ of, adds: after - before })
    }
    if (before.size % recordsAtOnce === 0) yield null
  }
  const total = new Map<number, Energy>(counted)
  const orders = new Map<number, readonly T[]>()
  for (const [key, { countingStart, found }] of standings) {
    const order: T[] = []
    let sum = counted.get(key) ?? 0n
    for (const { of, adds } of yield* sortInSteps(found, (a, b) => compareInCount(a.of.place, b.of.place, countingStart))) {
      before.get(of)?.set(key, sum)
      sum += adds
      order.push(of)
      if (order.length % recordsAtOnce === 0) yield null
    }
    total.set(key, sum)
    orders.set(key, order)
  }
  return { before, total, orders }
}

/** Count at once, as `countInOrderInSteps` does. */
export const countInOrder = <T extends CountedRecord>(records: readonly T[], counted?: TierCounts): CountOrder<T> =>
  atOnce(countInOrderInSteps(records, counted))
