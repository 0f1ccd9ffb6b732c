import type { Energy } from '../../../services/domain/quantity.ts'
import { type AccumulatorChange, accumulatorKey } from '../../../services/domain/tariff/accumulator.ts'

/** Add the accumulator changes of a record to the counts, so that the next record continues from them. */
export const countChanges = (counts: Map<number, Energy>, changes: readonly AccumulatorChange[]): void => {
  for (const change of changes)
    counts.set(accumulatorKey(change.type, change.direction, change.countingStart), change.after)
}
