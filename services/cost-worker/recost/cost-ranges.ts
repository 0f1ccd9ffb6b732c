import { nextLocalMonth } from '../../domain/civil-time.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import { startOfRow } from '../../platform/clickhouse/meter-cost/meter-cost-counts.ts'
import { latestEnd } from '../../platform/clickhouse/meter-cost/meter-cost-ranges.ts'
import type { QueryInterval } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import { runInTimeSlices } from '../../platform/concurrency/time-slices.ts'
import type { PricingCache } from '../../platform/pricing-cache/pricing-cache.ts'
import type { RecordToCost } from '../record-to-cost.ts'
import type { RowBuffer } from '../row-buffer.ts'
import { type ChangeSet, highestVersion, type RecostGroup, type RecostTrigger } from './change-set.ts'
import { flowOf, gatherRange, startOfRowsAcross } from './gather-range.ts'
import { type RecostResult, recost } from './recost.ts'

/** Of a location's month so many rows are held at a time, and costed again at a time. */
export type RowRangeLimits = { readonly rowsInMemory: number; readonly rowsAtOnce: number }

export const defaultRowRangeLimits: RowRangeLimits = { rowsInMemory: 20_000, rowsAtOnce: 10_000 }

/** What is known behind a slice that reaches to the end of its cluster. */
export type LastRange = {
  readonly changeSet: ChangeSet
  readonly recosted: RecostResult
  readonly since: number
  readonly to: number
}

/** `owed`: rows that start in this span are yet to be costed again. `failed`: why the pure code threw. */
export type RangesResult = {
  readonly pending: QueryInterval | null
  readonly lastRange: LastRange | null
  readonly failure: string | null
}

export type RowRangeDependencies = {
  readonly db: ClickHouse
  readonly pricing: Pick<PricingCache, 'gather'>
  readonly buffer: RowBuffer
  readonly limits: RowRangeLimits
}

/** Cost again the rows of a cluster that start within a span, and its records there. */
const costRange = async (
  { db, pricing, buffer }: RowRangeDependencies,
  recostGroup: RecostGroup,
  interval: QueryInterval,
) => {
  const { tenant, locationId } = recostGroup.changeSet
  const prices = await pricing.gather([{ ...tenant, locationId, from: interval.from }])
  const changeSet = {
    ...recostGroup.changeSet,
    cachedPricing: prices.get(locationId) ?? recostGroup.changeSet.cachedPricing,
  }
  const range = { ...recostGroup, changeSet, interval }
  const { stored, prefix } = await gatherRange(db, range, interval)
  const recosted = await runInTimeSlices(recost(range, stored, prefix))
  return {
    failure: await buffer.addAll(recosted.rows),
    lastRange: { changeSet, recosted, since: interval.from, to: interval.to },
  }
}

/** Cost again all rows of a location and direction that start within a span, as an order says. Gives why that threw, else null. */
export const costRequestedRange = async (
  dependencies: RowRangeDependencies,
  flowPricing: Omit<ChangeSet, 'records' | 'triggers' | 'hasEstimates'>,
  trigger: RecostTrigger,
) => {
  const changeSet = { ...flowPricing, records: [], triggers: [trigger], hasEstimates: false }
  const { failure } = await costRange(
    dependencies,
    { changeSet, records: [], triggers: [trigger], interval: trigger },
    trigger,
  )
  return failure
}

const maxStarts = 1_000

/** The end of a cluster: what a record replaces may reach further than the record itself. */
const endOf = async (db: ClickHouse, { changeSet, records, interval }: RecostGroup): Promise<number> => {
  const starts = [...new Set(records.map(({ record }) => record.start))]
  let to = interval.to
  for (let at = 0; at < starts.length; at += maxStarts) {
    const end = await latestEnd(db, flowOf(changeSet), starts.slice(at, at + maxStarts))
    if (end !== null && end > to) to = nextLocalMonth(changeSet.cachedPricing.snapshot.timeZone, end - 1)
  }
  return to
}

/**
 * Settle a cluster that has too many stored rows to be held, slice by slice from its first change on: every new record is costed exactly;
 * rows far behind it are owed.
 */
export const costRanges = async (
  dependencies: RowRangeDependencies,
  recostGroup: RecostGroup,
): Promise<RangesResult> => {
  const { db, buffer, limits } = dependencies
  const { changeSet } = recostGroup
  const flow = flowOf(changeSet)
  const interval = { from: recostGroup.interval.from, to: await endOf(db, recostGroup) }
  let records = recostGroup.records.toSorted((a, b) => a.record.start - b.record.start)
  // A row that shares time with a cause may begin before it.
  let triggers = await Promise.all(
    recostGroup.triggers.map(async trigger => ({ ...trigger, from: await startOfRowsAcross(db, flow, trigger.from) })),
  )
  let reached = Number.NEGATIVE_INFINITY
  let pending: QueryInterval | null = null
  let lastRange: LastRange | null = null
  while (records.length + triggers.length > 0) {
    const rangeStart = Math.min(
      records[0]?.record.start ?? Number.POSITIVE_INFINITY,
      ...triggers.map(({ from }) => from),
    )
    const nextStart = await startOfRow(
      db,
      changeSet.tenant,
      changeSet.locationId,
      { from: rangeStart, to: interval.to },
      limits.rowsAtOnce,
    )
    const to = nextStart === null ? interval.to : Math.max(nextStart, rangeStart + 1)
    const isWithin = ({ record }: RecordToCost): boolean => record.start < to
    const rangeGroup = {
      ...recostGroup,
      records: records.filter(isWithin),
      triggers: triggers.filter(trigger => trigger.from < to),
    }
    if (changeSet.hasEstimates && rangeGroup.records.length > 0 && rangeStart > reached) {
      reached = rangeStart
      // Estimates that begin before may lose energy to these records; all behind them are counted anew.
      const from = await startOfRowsAcross(db, flow, rangeStart)
      if (from < rangeStart) {
        triggers = [...triggers, { from, to: rangeStart, version: highestVersion(rangeGroup.records) }]
        continue
      }
    }
    const result = await costRange(dependencies, rangeGroup, { from: rangeStart, to })
    if (result.failure !== null) return { pending, lastRange: null, failure: result.failure }
    if (rangeGroup.records.length > 0 && to < interval.to) pending ??= { from: to, to: interval.to }
    lastRange = to === interval.to ? result.lastRange : null
    records = records.filter(one => !isWithin(one))
    triggers = triggers
      .filter(trigger => trigger.to > to)
      .map(trigger => ({ ...trigger, from: Math.max(trigger.from, to) }))
    // What comes next counts what this one has changed.
    if (records.length + triggers.length > 0) await buffer.store()
  }
  return { pending, lastRange, failure: null }
}
