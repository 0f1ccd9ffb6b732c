import { nextLocalMonth } from '../../domain/civil-time.ts'
import type { Interval } from '../../domain/interval.ts'
import { highestVersion, type RecostTrigger } from '../../domain/recost/change-set.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import { startOfRow } from '../../platform/clickhouse/meter-cost/meter-cost-counts.ts'
import { latestEnd } from '../../platform/clickhouse/meter-cost/meter-cost-ranges.ts'
import type { PricingCache } from '../../platform/pricing-cache/pricing-cache.ts'
import type { RecordToCost } from '../record-to-cost.ts'
import type { RowBuffer } from '../row-buffer.ts'
import { flowOf, gatherRange, startOfRowsAcross } from './gather-range.ts'
import { type LocationChanges, type LocationRecostGroup, queryIntervalOf, type RecostResult, recost } from './recost.ts'

/** Rows of a large month: how many may be in memory, and how many are costed at a time. */
export type RowRangeLimits = { readonly rowsInMemory: number; readonly rowsAtOnce: number }

export const defaultRowRangeLimits: RowRangeLimits = { rowsInMemory: 20_000, rowsAtOnce: 10_000 }

/**
 * Result of a row range. Its recosted records are the base of the next tail if the range is the last one of its group.
 */
export type LastRange = {
  readonly changeSet: LocationChanges
  readonly recosted: RecostResult
  readonly interval: Interval
}

/** `pending`: rows that start in this interval are not recosted yet. `failure`: error text if costing threw. */
export type RangesResult = {
  readonly pending: Interval | null
  readonly lastRange: LastRange | null
  readonly failure: string | null
}

export type RowRangeDependencies = {
  readonly db: ClickHouse
  readonly pricing: Pick<PricingCache, 'gather'>
  readonly buffer: RowBuffer
  readonly limits: RowRangeLimits
}

/** Recost the rows of a group that start in an interval, with the new records there. */
const costRange = async (
  { db, pricing, buffer }: RowRangeDependencies,
  recostGroup: LocationRecostGroup,
  interval: Interval,
): Promise<{ readonly failure: string | null; readonly lastRange: LastRange }> => {
  const { tenant, locationId } = recostGroup.changeSet
  const gathered = await pricing.gather([{ ...tenant, locationId, from: interval.start }])
  const changeSet = { ...recostGroup.changeSet, prices: gathered.get(locationId) ?? recostGroup.changeSet.prices }
  const range = { ...recostGroup, changeSet, interval }
  const { stored, prefix } = await gatherRange(db, range, interval)
  const recosted = recost(range, stored, prefix)
  return { failure: await buffer.addAll(recosted.rows), lastRange: { changeSet, recosted, interval } }
}

/**
 * Recost all rows of a location and direction that start in a trigger's interval. Return the error text if costing
 * throws, else null.
 */
export const costRequestedRange = async (
  dependencies: RowRangeDependencies,
  flow: Omit<LocationChanges, 'records' | 'triggers' | 'hasEstimates'>,
  trigger: RecostTrigger,
) => {
  const changeSet = { ...flow, records: [], triggers: [trigger], hasEstimates: false }
  const group = { changeSet, records: [], triggers: [trigger], interval: trigger }
  const { failure } = await costRange(dependencies, group, trigger)
  return failure
}

const maxStarts = 1_000

/** Return the end of a group's interval. The stored form of a new record can end after the record. */
const endOf = async (db: ClickHouse, { changeSet, records, interval }: LocationRecostGroup): Promise<number> => {
  const starts = [...new Set(records.map(({ record }) => record.start))]
  let to = interval.end
  for (let index = 0; index < starts.length; index += maxStarts) {
    const end = await latestEnd(db, flowOf(changeSet), starts.slice(index, index + maxStarts))
    if (end !== null && end > to) to = nextLocalMonth(changeSet.prices.snapshot.timeZone, end - 1)
  }
  return to
}

/** Return the first start of a change and the end of the row range that begins there. */
const nextRange = async (
  { db, limits }: RowRangeDependencies,
  { tenant, locationId }: LocationChanges,
  records: readonly RecordToCost[],
  triggers: readonly RecostTrigger[],
  end: number,
): Promise<Interval> => {
  const start = Math.min(
    records[0]?.record.start ?? Number.POSITIVE_INFINITY,
    ...triggers.map(trigger => trigger.start),
  )
  const nextStart = await startOfRow(db, tenant, locationId, queryIntervalOf({ start, end }), limits.rowsAtOnce)
  return { start, end: nextStart === null ? end : Math.max(nextStart, start + 1) }
}

/**
 * Cost a group whose stored rows are too many for the memory, one row range at a time from its first change on.
 * Every new record is costed exactly. Rows in ranges after a new record are `pending`.
 */
export const costRanges = async (
  dependencies: RowRangeDependencies,
  recostGroup: LocationRecostGroup,
): Promise<RangesResult> => {
  const { db, buffer } = dependencies
  const { changeSet } = recostGroup
  const flow = flowOf(changeSet)
  const end = await endOf(db, recostGroup)
  let records = recostGroup.records.toSorted((a, b) => a.record.start - b.record.start)
  // A row that shares time with a trigger can start before it.
  let triggers = await Promise.all(
    recostGroup.triggers.map(async trigger => ({
      ...trigger,
      start: await startOfRowsAcross(db, flow, trigger.start),
    })),
  )
  let reached = Number.NEGATIVE_INFINITY
  let pending: Interval | null = null
  let lastRange: LastRange | null = null
  while (records.length + triggers.length > 0) {
    const range = await nextRange(dependencies, changeSet, records, triggers, end)
    const isWithin = ({ record }: RecordToCost): boolean => record.start < range.end
    const rangeGroup = {
      ...recostGroup,
      records: records.filter(isWithin),
      triggers: triggers.filter(trigger => trigger.start < range.end),
    }
    if (changeSet.hasEstimates && rangeGroup.records.length > 0 && range.start > reached) {
      reached = range.start
      // Earlier estimates can lose energy to these records, and all later records then count again.
      const start = await startOfRowsAcross(db, flow, range.start)
      if (start < range.start) {
        triggers = [...triggers, { start, end: range.start, version: highestVersion(rangeGroup.records) }]
        continue
      }
    }
    const result = await costRange(dependencies, rangeGroup, range)
    if (result.failure !== null) return { pending, lastRange: null, failure: result.failure }
    if (rangeGroup.records.length > 0 && range.end < end) pending ??= { start: range.end, end }
    lastRange = range.end === end ? result.lastRange : null
    records = records.filter(one => !isWithin(one))
    triggers = triggers
      .filter(trigger => trigger.end > range.end)
      .map(trigger => ({ ...trigger, start: Math.max(trigger.start, range.end) }))
    // The next range reads the rows of this one.
    if (records.length + triggers.length > 0) await buffer.store()
  }
  return { pending, lastRange, failure: null }
}
