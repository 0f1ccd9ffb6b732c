import type { CostRow } from '../../domain/cost/energy-cost.ts'
import type { CostPiece, MeterCostRow } from '../../platform/clickhouse/meter-cost/meter-cost-row.ts'

/** Stored confidences are in 1e-6, those of the domain in 1e-4. */
const confidenceDivisor = 100

/** The pieces of a stored row with their ends: each reaches to the next one's start, the last to the row's end. */
export const piecesOf = ({ pieces, end }: MeterCostRow): readonly (CostPiece & { readonly end: number })[] =>
  pieces.map((piece, index) => ({
    ...piece,
    end: pieces[index + 1]?.start ?? end,
    confidence: piece.confidence / confidenceDivisor,
  }))

/** See a stored row as the domain adds it up. */
export const costRowOf = (row: MeterCostRow): CostRow => ({
  start: row.start,
  end: row.end,
  energy: row.energy,
  cost: row.cost,
  recordConfidence: row.recordConfidence,
  pieces: piecesOf(row),
})
