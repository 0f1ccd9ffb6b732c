import { nextLocalMonth, startOfLocalMonth } from '../domain/civil-time.ts'
import { coverageBy, isEstimate } from '../domain/cost/estimate.ts'
import { recordMoves } from '../domain/cost/record-moves.ts'
import type { Interval } from '../domain/cost/record-segments.ts'
import type { MeterRecord } from '../domain/record/record.ts'
import { type CountedRecord, countInOrder } from '../domain/tariff/count-order.ts'
import { countsEnergy, type PricingSnapshot } from '../domain/tariff/snapshot.ts'
import type { TierCounts } from '../domain/tariff/tier-count.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { rowsOfSpan, type Span, type Tenant } from '../platform/clickhouse/meter-cost-reads.ts'

/** What the cost of a record takes from others: what tiers have counted before it, and where actuals cover it. */
type Before = { readonly counted: TierCounts; readonly covered: readonly Interval[] }

type Named = { readonly recordId: string; readonly record: MeterRecord }

/** Tell whether the cost of a record depends on other records of its location. */
export const needsOthers = (snapshot: PricingSnapshot, record: MeterRecord): boolean =>
  countsEnergy(snapshot, record.tariffDirection) || isEstimate(record)

/** The stored records of the location that share time with a span, as they were submitted. */
const storedIn = async (clickHouse: ClickHouse, tenant: Tenant, { locationId, tariffDirection }: MeterRecord, span: Span) => {
  const stored: Named[] = []
  for await (const rows of rowsOfSpan(clickHouse, tenant, { locationIds: [locationId], tariffDirection }, span)) {
    for (const row of rows) {
      stored.push({
        recordId: row.recordId,
        record: { ...row, energy: row.energySubmitted ?? row.energy, confidence: row.recordConfidence },
      })
    }
  }
  return stored
}

/** The span that holds all estimates whole, for what covers them. */
const aroundEstimates = ({ from, to }: Span, stored: readonly Named[]): Span => {
  const estimates = stored.map(({ record }) => record).filter(isEstimate)
  return {
    from: estimates.reduce((earliest, { start }) => Math.min(earliest, start), from),
    to: estimates.reduce((latest, { end }) => Math.max(latest, end), to),
  }
}

/**
 * Read what the stored records of the location mean for the cost of one that stands among them, or takes the place of its stored form:
 * what those before it, in the order of the accumulators, have brought to its tiers, less what actuals cover of estimates, and what
 * actuals cover of itself. Reads the local months that the record touches; without tiers its own time alone.
 * Source: contract decisions 8 and 10.
 */
export const countedBefore = async (
  clickHouse: ClickHouse,
  tenant: Tenant,
  snapshot: PricingSnapshot,
  record: MeterRecord,
  recordId: string,
): Promise<Before> => {
  const isTiered = countsEnergy(snapshot, record.tariffDirection)
  const span = isTiered
    ? { from: startOfLocalMonth(snapshot.timeZone, record.start), to: nextLocalMonth(snapshot.timeZone, record.end) }
    : { from: record.start, to: record.end }
  let stored = await storedIn(clickHouse, tenant, record, span)
  const wider = aroundEstimates(span, stored)
  if (isTiered && (wider.from < span.from || wider.to > span.to)) stored = await storedIn(clickHouse, tenant, record, wider)
  const all = [{ recordId, record }, ...stored.filter(one => one.recordId !== recordId)]
  const coverage = coverageBy(all.map(one => one.record))
  const covered = coverage(record)
  if (!isTiered) return { counted: new Map(), covered }
  const entries = all.map((one): CountedRecord => {
    const moves = recordMoves(snapshot, one.record, coverage(one.record))
    return { place: { ...one.record, recordId: one.recordId }, moves }
  })
  const [own] = entries
  return { counted: (own === undefined ? undefined : countInOrder(entries).before.get(own)) ?? new Map(), covered }
}
