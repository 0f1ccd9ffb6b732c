import type { Energy } from '../../../services/domain/quantity.ts'
import { type AccumulatorChange, accumulatorKey } from '../../../services/domain/tariff/accumulator.ts'

/** Write what a record has counted into the counts, for records that are priced one after the other. */
export const countChanges = (counts: Map<number, Energy>, changes: readonly AccumulatorChange[]): void => {
  for (const change of changes)
    counts.set(accumulatorKey(change.type, change.direction, change.countingStart), change.after)
}
