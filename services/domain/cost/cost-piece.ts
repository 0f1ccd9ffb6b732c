import type { Interval } from '../interval.ts'
import type { Energy, Money, Price } from '../quantity.ts'
import { fullConfidence } from '../record/record.ts'

/**
 * Part of a record at one price per kWh. `cost` is price × energy, half to even to 1e-9. `tier` is the lower bound of
 * the commodity tier. `confidence` (1e-6) is that of the price, without the confidence of the record.
 * The pieces of a record are contiguous, and cover the record. A piece without length is an impulse, or the rest of a
 * tier cut at an instant.
 */
export type CostPiece = Interval & {
  readonly energy: Energy
  readonly price: Price
  readonly tier: Energy
  readonly cost: Money
  readonly confidence: number
}

/** Return the piece of an interval without a price. */
export const unpricedPiece = (start: number, end: number, energy: Energy): CostPiece => ({
  start,
  end,
  energy,
  price: 0n,
  tier: 0n,
  cost: 0n,
  confidence: 0,
})

/** Return whether a piece has a provisional price: a forecast, or the price after the end of a contract. */
export const isProvisional = ({ confidence }: Pick<CostPiece, 'confidence'>): boolean => confidence < fullConfidence
