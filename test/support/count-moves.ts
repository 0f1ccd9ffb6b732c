import type { Energy } from '../../services/domain/quantity.ts'
import { type TierMove, tierKey } from '../../services/domain/tariff/tier-count.ts'

/** Write what a record has counted into the counts, for records that are priced one after the other. */
export const countMoves = (counts: Map<number, Energy>, moves: readonly TierMove[]): void => {
  for (const move of moves) counts.set(tierKey(move.type, move.direction, move.countingStart), move.after)
}
