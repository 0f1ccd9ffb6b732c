import { nextLocalMonth, startOfLocalMonth } from '../domain/civil-time.ts'
import { accumulatorChangesOf } from '../domain/cost/accumulator-changes.ts'
import { coverageLookup, isEstimate } from '../domain/cost/covered-intervals.ts'
import type { Interval } from '../domain/interval.ts'
import type { Energy } from '../domain/quantity.ts'
import type { MeterRecord } from '../domain/record/record.ts'
import {
  type AccumulatorCounts,
  accumulatorKey,
  compareSortKeys,
  type RecordSortKey,
} from '../domain/tariff/accumulator.ts'
import { hasTieredPrices, type PricingSnapshot } from '../domain/tariff/snapshot.ts'
import type { Tenant } from '../domain/tenant.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { rowsInIntervals } from '../platform/clickhouse/meter-cost/meter-cost-intervals.ts'
import type { QueryInterval } from '../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import { runInTimeSlices, startTimeSlices } from '../platform/concurrency/time-slices.ts'

/**
 * Effect of other records on the cost of a record: the energy that tiers counted before it, and the intervals that
 * actuals cover.
 */
type PriorRecords = { readonly counted: AccumulatorCounts; readonly covered: readonly Interval[] }

type IdentifiedRecord = { readonly recordId: string; readonly record: MeterRecord }

/** Return whether the cost of a record depends on other records of its location. */
export const dependsOnOtherRecords = (snapshot: PricingSnapshot, record: MeterRecord): boolean =>
  hasTieredPrices(snapshot, record.tariffDirection) || isEstimate(record)

/**
 * Read the stored records of a location that share time with an interval, as they were submitted, without their cost
 * pieces.
 */
const readStoredRecords = async (
  clickHouse: ClickHouse,
  tenant: Tenant,
  { locationId, tariffDirection }: MeterRecord,
  interval: QueryInterval,
) => {
  const stored: IdentifiedRecord[] = []
  const timeSlice = startTimeSlices(tenant.accountId)
  for await (const rows of rowsInIntervals(clickHouse, tenant, [{ locationId, ...interval }])) {
    for (const row of rows) {
      const isWithin = row.start < interval.to && (row.end > interval.from || row.start >= interval.from)
      if (row.tariffDirection !== tariffDirection || !isWithin) continue
      stored.push({
        recordId: row.recordId,
        record: { ...row, energy: row.energySubmitted ?? row.energy, confidence: row.recordConfidence },
      })
    }
    if (timeSlice.isOver()) await timeSlice.pause()
  }
  return stored
}

/** Return the interval that contains all estimates completely, so that their actuals are read. */
const widenToEstimates = ({ from, to }: QueryInterval, stored: readonly IdentifiedRecord[]): QueryInterval => {
  const estimates = stored.map(({ record }) => record).filter(isEstimate)
  return {
    from: estimates.reduce((earliest, { start }) => Math.min(earliest, start), from),
    to: estimates.reduce((latest, { end }) => Math.max(latest, end), to),
  }
}

/**
 * Return the effect of the stored records of a location on the cost of one record. The record is new, or replaces its
 * stored form.
 * The counted energy is that of the records before it, in the counting order, without the energy of estimates that
 * actuals cover.
 * With tiers, the local months of the record are read; without tiers, its own interval.
 * Source: docs/rules/metering.md #instant-cost; docs/rules/tariffs.md #counting-order.
 */
export const countedBefore = async (
  clickHouse: ClickHouse,
  tenant: Tenant,
  snapshot: PricingSnapshot,
  record: MeterRecord,
  recordId: string,
): Promise<PriorRecords> => {
  const isTiered = hasTieredPrices(snapshot, record.tariffDirection)
  const interval = isTiered
    ? { from: startOfLocalMonth(snapshot.timeZone, record.start), to: nextLocalMonth(snapshot.timeZone, record.end) }
    : { from: record.start, to: record.end }
  let stored = await readStoredRecords(clickHouse, tenant, record, interval)
  const widened = widenToEstimates(interval, stored)
  if (isTiered && (widened.from < interval.from || widened.to > interval.to))
    stored = await readStoredRecords(clickHouse, tenant, record, widened)
  const all = [{ recordId, record }, ...stored.filter(one => one.recordId !== recordId)]
  const coverage = coverageLookup(all.map(one => one.record))
  const covered = coverage(record)
  if (!isTiered) return { counted: new Map(), covered }
  const counted = await runInTimeSlices(
    sumPriorEnergy(snapshot, all, { ...record, recordId }, coverage),
    tenant.accountId,
  )
  return { counted, covered }
}

/** Records that are counted between two pauses. */
const recordsPerPause = 200

/**
 * Return the energy that earlier records have added to the accumulators of a record. Yields null so that other work can
 * run.
 */
function* sumPriorEnergy(
  snapshot: PricingSnapshot,
  records: readonly IdentifiedRecord[],
  ownSortKey: RecordSortKey,
  coverage: (record: MeterRecord) => readonly Interval[],
): Generator<null, AccumulatorCounts, undefined> {
  const counted = new Map<number, Energy>()
  for (const [index, { record, recordId }] of records.entries()) {
    if (index % recordsPerPause === 0) yield null
    for (const { type, direction, countingStart, before, after } of accumulatorChangesOf(
      snapshot,
      record,
      coverage(record),
    )) {
      if (compareSortKeys({ ...record, recordId }, ownSortKey, countingStart) >= 0) continue
      const key = accumulatorKey(type, direction, countingStart)
      counted.set(key, (counted.get(key) ?? 0n) + after - before)
    }
  }
  return counted
}
