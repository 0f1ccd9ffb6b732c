import type { Generation } from '../../domain/schedule/amount-request.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import { rowsOfSpan, type Span, type Tenant } from '../../platform/clickhouse/meter-cost-reads.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost-row.ts'

const certain = 1_000_000

/**
 * Read the generation that a location expects in a span: its stored LOCAL records, those of its devices included, with a confidence
 * below 1. What measured records have taken of an estimate is no longer in it.
 * Source: docs/rules/schedules.md #own-generation.
 */
export const expectedGeneration = async (
  db: ClickHouse,
  tenant: Tenant,
  locationId: string,
  span: Span,
): Promise<readonly Generation[]> => {
  const found: Generation[] = []
  const filter = { locationIds: [locationId], tariffDirection: 'LOCAL' } as const
  for await (const rows of rowsOfSpan(db, tenant, filter, span)) {
    for (const row of rows) if (row.recordConfidence < certain && row.end > row.start) found.push(...generationOf(row))
  }
  return found
}

/** An estimate that was cut has pieces, of which those that are covered hold nothing. */
const generationOf = ({ start, end, energy, recordConfidence: confidence, pieces }: MeterCostRow): Generation[] =>
  pieces.length === 0
    ? [{ start, end, energy, confidence }]
    : pieces
        .map((piece, index) => ({ start: piece.start, end: pieces[index + 1]?.start ?? end, energy: piece.energy, confidence }))
        .filter(one => one.end > one.start && one.energy > 0n)
