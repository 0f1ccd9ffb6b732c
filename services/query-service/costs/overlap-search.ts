import type { RecordOverlap } from '../../domain/record/warnings.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import { intervalOf, type RowFilter, type Tenant } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import { searchedActuals } from '../../platform/clickhouse/meter-cost/meter-cost-sums.ts'
import { firstOverlap } from '../../platform/clickhouse/meter-cost/overlapping-rows.ts'
import type { StoredCosts } from '../work-thread/cost-work.ts'

/** Maximum number of actuals of a statement that are searched for overlaps: it takes some 50 ms. */
const maxSearchedRows = 100_000

/**
 * Return the first overlap of the records of costs; null if there is none. Rows are searched only if their sums show
 * that they can overlap. Each filter has its text of sums.
 * Source: docs/rules/metering.md #warnings.
 */
export const searchOverlap = async (
  db: ClickHouse,
  tenant: Tenant,
  filters: readonly RowFilter[],
  { edges, sums }: Pick<StoredCosts, 'edges' | 'sums'>,
): Promise<RecordOverlap | null> => {
  let first: RecordOverlap | null = null
  for (const [index, filter] of filters.entries()) {
    const { rows, mayOverlap } = searchedActuals(sums[index] ?? '', edges)
    if (!mayOverlap || rows > maxSearchedRows) continue
    const found = await firstOverlap(db, tenant, filter, intervalOf(edges))
    if (found !== null && (first === null || found.start < first.start)) first = found
  }
  return first
}
