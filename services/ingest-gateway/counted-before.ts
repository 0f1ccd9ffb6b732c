import { nextLocalMonth, startOfLocalMonth } from '../domain/civil-time.ts'
import { coverageBy, isEstimate } from '../domain/cost/estimate.ts'
import { recordMoves } from '../domain/cost/record-moves.ts'
import type { Interval } from '../domain/cost/record-segments.ts'
import type { Energy } from '../domain/quantity.ts'
import type { MeterRecord } from '../domain/record/record.ts'
import { countsEnergy, type PricingSnapshot } from '../domain/tariff/snapshot.ts'
import { compareInCount, type TierCounts, type TierPlace, tierKey } from '../domain/tariff/tier-count.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import type { Span, Tenant } from '../platform/clickhouse/meter-cost-reads.ts'
import { rowsOfSpans } from '../platform/clickhouse/meter-cost-spans.ts'
import { inTurns, openTurns } from '../platform/event-loop-turn.ts'

/** What the cost of a record takes from others: what tiers have counted before it, and where actuals cover it. */
type Before = { readonly counted: TierCounts; readonly covered: readonly Interval[] }

type Named = { readonly recordId: string; readonly record: MeterRecord }

/** Tell whether the cost of a record depends on other records of its location. */
export const needsOthers = (snapshot: PricingSnapshot, record: MeterRecord): boolean =>
  countsEnergy(snapshot, record.tariffDirection) || isEstimate(record)

/** The stored records of the location that share time with a span, as they were submitted. Their pieces are not read. */
const storedIn = async (clickHouse: ClickHouse, tenant: Tenant, { locationId, tariffDirection }: MeterRecord, span: Span) => {
  const stored: Named[] = []
  const turns = openTurns(tenant.accountId)
  for await (const rows of rowsOfSpans(clickHouse, tenant, [{ locationId, ...span }])) {
    for (const row of rows) {
      const isWithin = row.start < span.to && (row.end > span.from || row.start >= span.from)
      if (row.tariffDirection !== tariffDirection || !isWithin) continue
      stored.push({
        recordId: row.recordId,
        record: { ...row, energy: row.energySubmitted ?? row.energy, confidence: row.recordConfidence },
      })
    }
    if (turns.isOver()) await turns.next()
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
 * Source: docs/rules/metering.md #instant-cost; docs/rules/tariffs.md #counting-order.
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
  const counted = await inTurns(countBefore(snapshot, all, { ...record, recordId }, coverage), tenant.accountId)
  return { counted, covered }
}

/** So many records are counted without a stop. */
const countedAtOnce = 200

/** Add up what records before one have brought to its tiers. Gives null now and then: others may run meanwhile. */
function* countBefore(
  snapshot: PricingSnapshot,
  records: readonly Named[],
  own: TierPlace,
  coverage: (record: MeterRecord) => readonly Interval[],
): Generator<null, TierCounts, undefined> {
  const counted = new Map<number, Energy>()
  for (const [index, { record, recordId }] of records.entries()) {
    if (index % countedAtOnce === 0) yield null
    for (const { type, direction, countingStart, before, after } of recordMoves(snapshot, record, coverage(record))) {
      if (compareInCount({ ...record, recordId }, own, countingStart) >= 0) continue
      const key = tierKey(type, direction, countingStart)
      counted.set(key, (counted.get(key) ?? 0n) + after - before)
    }
  }
  return counted
}
