import { overlapSearch, type RecordOverlap } from '../../domain/record/warnings.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import { intervalOf, type RowFilter, type Tenant } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { CostedRow } from '../../platform/clickhouse/meter-cost/meter-cost-rows.ts'
import { searchedActuals } from '../../platform/clickhouse/meter-cost/meter-cost-sums.ts'
import { firstOverlap } from '../../platform/clickhouse/meter-cost/overlapping-rows.ts'
import type { StoredCosts } from '../work-thread/cost-work.ts'

/** Maximum number of actuals of a statement that are searched for overlaps: it takes some 50 ms. */
const maxSearchedRows = 100_000

/** Return whether rows of one location can overlap. They cannot if they do not even overlap as one session. */
const mayOverlap = (rows: readonly CostedRow[]): boolean => {
  const search = overlapSearch()
  for (const row of rows.toSorted((a, b) => a.start - b.start))
    search.add({ ...row, locationId: '', sessionReferenceId: null, confidence: row.recordConfidence })
  return search.first() !== null
}

/**
 * Return the first overlap of the records of costs; null if there is none. Rows are searched only if they, or their
 * sums, show that they can overlap. Each filter has its text of sums; rows have one filter.
 * Source: docs/rules/metering.md #warnings.
 */
export const searchOverlap = async (
  db: ClickHouse,
  tenant: Tenant,
  filters: readonly RowFilter[],
  { edges, sums, rows }: Pick<StoredCosts, 'edges' | 'sums' | 'rows'>,
): Promise<RecordOverlap | null> => {
  const canOverlap = (index: number): boolean => {
    const actuals = searchedActuals(sums[index] ?? '', edges)
    return actuals.mayOverlap && actuals.rows <= maxSearchedRows
  }
  const hasDoubt = mayOverlap(rows)
  let first: RecordOverlap | null = null
  for (const [index, filter] of filters.entries()) {
    if (!hasDoubt && !canOverlap(index)) continue
    const found = await firstOverlap(db, tenant, filter, intervalOf(edges))
    if (found !== null && (first === null || found.start < first.start)) first = found
  }
  return first
}
