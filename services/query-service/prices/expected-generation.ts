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
 * Read the generation that a location expects in a span: its stored LOCAL records, those of its devices included, with a confidence
 * below 1. What measured records have taken of an estimate is no longer in it.
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

/** An estimate that was cut has pieces, of which those that are covered hold nothing. */
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
        .filter(part => part.end > part.start && part.energy > 0n)
