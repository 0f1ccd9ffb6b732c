import { nextLocalMonth, startOfLocalMonth } from '../domain/civil-time.ts'
import { costRecord } from '../domain/cost/cost-record.ts'
import type { MeterRecord } from '../domain/record/record.ts'
import { type CountedRecord, countInOrder } from '../domain/tariff/count-order.ts'
import type { PricingSnapshot } from '../domain/tariff/snapshot.ts'
import type { TierCounts } from '../domain/tariff/tier-count.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { rowsOfSpan, type Tenant } from '../platform/clickhouse/meter-cost-reads.ts'

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
  const own: CountedRecord = { place: { ...record, recordId }, moves: costRecord(snapshot, record).moves }
  const all = [own]
  for await (const rows of rowsOfSpan(clickHouse, tenant, filter, span)) {
    for (const row of rows) {
      if (row.recordId === recordId) continue
      all.push({ place: row, moves: costRecord(snapshot, { ...row, confidence: row.recordConfidence }).moves })
    }
  }
  return countInOrder(all).before.get(own) ?? new Map()
}
