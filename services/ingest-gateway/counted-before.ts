import { nextLocalMonth, startOfLocalMonth } from '../domain/civil-time.ts'
import { costRecord } from '../domain/cost/cost-record.ts'
import type { Energy } from '../domain/quantity.ts'
import type { MeterRecord } from '../domain/record/record.ts'
import type { PricingSnapshot } from '../domain/tariff/snapshot.ts'
import { compareInCount, countMoves, type TierCounts, type TierPlace } from '../domain/tariff/tier-count.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { rowsOfSpan, type Tenant } from '../platform/clickhouse/meter-cost-reads.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost-row.ts'

/**
 * Count what the stored records of the location before this one, in the order of the accumulators, have brought to its tiers.
 * Reads the local months that the record touches. Source: contract decisions 8 and 10.
 */
export const countedBefore = async (
  clickHouse: ClickHouse,
  tenant: Tenant,
  snapshot: PricingSnapshot,
  record: MeterRecord,
  recordId: string,
): Promise<TierCounts> => {
  const span = { from: startOfLocalMonth(snapshot.timeZone, record.start), to: nextLocalMonth(snapshot.timeZone, record.end) }
  const filter = { locationIds: [record.locationId], tariffDirection: record.tariffDirection }
  const inMonth = (a: TierPlace, b: TierPlace): number => compareInCount(a, b, span.from)
  const before: MeterCostRow[] = []
  for await (const rows of rowsOfSpan(clickHouse, tenant, filter, span)) {
    for (const row of rows) if (row.recordId !== recordId && inMonth(row, { ...record, recordId }) < 0) before.push(row)
  }
  const counts = new Map<number, Energy>()
  for (const row of before.toSorted(inMonth)) {
    countMoves(counts, costRecord(snapshot, { ...row, confidence: row.recordConfidence }, counts).moves)
  }
  return counts
}
