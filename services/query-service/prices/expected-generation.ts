import type { ExpectedGeneration } from '../../domain/schedule/amount-request.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import {
  type QueryInterval,
  rowsInInterval,
  type Tenant,
} from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost/meter-cost-row.ts'

const fullConfidence = 1_000_000

/**
 * Read the expected generation of a location in an interval: its stored LOCAL records with a confidence below 1, including
 * records of its devices. Energy of an estimate that measured records cover is excluded.
 * Source: docs/rules/schedules.md #own-generation.
 */
export const expectedGeneration = async (
  db: ClickHouse,
  tenant: Tenant,
  locationId: string,
  interval: QueryInterval,
): Promise<readonly ExpectedGeneration[]> => {
  const found: ExpectedGeneration[] = []
  const filter = { locationIds: [locationId], tariffDirection: 'LOCAL' } as const
  for await (const rows of rowsInInterval(db, tenant, filter, interval)) {
    for (const row of rows)
      if (row.recordConfidence < fullConfidence && row.end > row.start) found.push(...generationOf(row))
  }
  return found
}

/** Return the uncovered time of an estimate. A covered piece has no energy; an estimate without pieces is uncovered. */
const generationOf = ({
  start,
  end,
  energy,
  recordConfidence: confidence,
  pieces,
}: MeterCostRow): ExpectedGeneration[] =>
  pieces.length === 0
    ? [{ start, end, energy, confidence }]
    : pieces
        .map((piece, index) => ({
          start: piece.start,
          end: pieces[index + 1]?.start ?? end,
          energy: piece.energy,
          confidence,
        }))
        .filter(piece => piece.end > piece.start && piece.energy > 0n)
