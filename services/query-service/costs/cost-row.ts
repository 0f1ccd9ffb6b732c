import type { CostRow } from '../../domain/cost/energy-cost.ts'
import type { CostPiece, MeterCostRow } from '../../platform/clickhouse/meter-cost/meter-cost-row.ts'

/** Stored confidences are in 1e-6, confidences of the domain in 1e-4. */
const confidenceDivisor = 100

/** Return the pieces of a stored row with their ends. A piece ends where the next piece starts; the last piece ends with the row. */
export const piecesOf = ({ pieces, end }: MeterCostRow): readonly (CostPiece & { readonly end: number })[] =>
  pieces.map((piece, index) => ({
    ...piece,
    end: pieces[index + 1]?.start ?? end,
    confidence: piece.confidence / confidenceDivisor,
  }))

/** Convert a stored row to the row that the domain adds up. */
export const costRowOf = (row: MeterCostRow): CostRow => ({
  start: row.start,
  end: row.end,
  energy: row.energy,
  cost: row.cost,
  recordConfidence: row.recordConfidence,
  pieces: piecesOf(row),
})
