import type { Interval } from '../../domain/interval.ts'
import { enclosingInterval, isTiered, monthsOf, overlaps } from '../../domain/recost/change-set.ts'
import { type Tenant, tenantKey } from '../../domain/tenant.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import { rowsInIntervals, statementLimits } from '../../platform/clickhouse/meter-cost/meter-cost-intervals.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost/meter-cost-row.ts'
import { startTimeSlices } from '../../platform/concurrency/time-slices.ts'
import { isEstimateRow, type LocationRecostGroup, queryIntervalOf } from './recost.ts'

/** Stored rows of each group; null if they are too many for the memory. */
export type StoredRows = ReadonlyMap<LocationRecostGroup, readonly MeterCostRow[] | null>

type GatheredRows = Map<LocationRecostGroup, MeterCostRow[] | null>

type RowRead = { readonly recostGroup: LocationRecostGroup; readonly interval: Interval }

const flowKeyOf = ({ locationId, tariffDirection }: MeterCostRow): string => `${locationId}/${tariffDirection}`

const noPieces: readonly never[] = []

/**
 * Return a row without its pieces: it is costed again from its record, and the pieces of many long rows would fill the
 * memory.
 */
export const withoutPieces = (row: MeterCostRow): MeterCostRow =>
  row.pieces.length > 1 ? { ...row, pieces: noPieces } : row

/** Distribute the reads of one account and mode over as few statements as possible. */
const groupIntoStatements = (reads: readonly RowRead[]): readonly (readonly RowRead[])[] => {
  const statements: RowRead[][] = []
  let [locations, intervals] = [new Set<string>(), new Set<string>()]
  for (const rowRead of reads.toSorted((a, b) => a.interval.start - b.interval.start)) {
    const { interval, recostGroup } = rowRead
    locations.add(recostGroup.changeSet.locationId)
    intervals.add(`${interval.start}/${interval.end}`)
    const last = statements.at(-1)
    if (
      last !== undefined &&
      locations.size <= statementLimits.locations &&
      intervals.size <= statementLimits.intervals
    )
      last.push(rowRead)
    else {
      statements.push([rowRead])
      locations = new Set([recostGroup.changeSet.locationId])
      intervals = new Set([`${interval.start}/${interval.end}`])
    }
  }
  return statements
}

const readStatement = async (
  db: ClickHouse,
  tenant: Tenant,
  reads: readonly RowRead[],
  gathered: GatheredRows,
  maxRows: number,
): Promise<void> => {
  const readsByFlow = Map.groupBy(
    reads,
    ({ recostGroup: { changeSet } }) => `${changeSet.locationId}/${changeSet.direction}`,
  )
  const intervals = reads.map(({ recostGroup: { changeSet }, interval }) => ({
    ...queryIntervalOf(interval),
    locationId: changeSet.locationId,
  }))
  const timeSlice = startTimeSlices()
  for await (const rows of rowsInIntervals(db, tenant, intervals)) {
    if (timeSlice.isOver()) await timeSlice.pause()
    for (const stored of rows) {
      const row = withoutPieces(stored)
      for (const { recostGroup, interval } of readsByFlow.get(flowKeyOf(row)) ?? []) {
        const groupRows = overlaps(row, interval) ? gathered.get(recostGroup) : null
        if (groupRows === null || groupRows === undefined) continue
        if (groupRows.length < maxRows || !isTiered(recostGroup.changeSet)) groupRows.push(row)
        else gathered.set(recostGroup, null)
      }
    }
  }
}

const readRows = async (db: ClickHouse, reads: readonly RowRead[], maxRows: number): Promise<StoredRows> => {
  const stored: GatheredRows = new Map(reads.map(({ recostGroup }) => [recostGroup, []]))
  const tenants = Map.groupBy(reads, ({ recostGroup: { changeSet } }) => tenantKey(changeSet.tenant))
  for (const tenantReads of tenants.values()) {
    const { tenant } = (tenantReads[0] as RowRead).recostGroup.changeSet
    for (const statement of groupIntoStatements(tenantReads))
      await readStatement(db, tenant, statement, stored, maxRows)
  }
  return stored
}

/**
 * Return the interval that a group needs, after the rows of `interval` were read.
 * Rows are written completely, and an estimate needs all actuals that cover it.
 */
const neededInterval = (
  recostGroup: LocationRecostGroup,
  interval: Interval,
  rows: readonly MeterCostRow[],
  round: number,
): Interval => {
  const { changeSet } = recostGroup
  const ownInterval = { start: interval.start, end: interval.end - 1 }
  const estimates = rows.filter(isEstimateRow)
  if (!isTiered(changeSet)) {
    if (round > 0) return interval
    const { start, end } = enclosingInterval([ownInterval, ...estimates])
    return { start, end: Math.max(interval.end, end) }
  }
  return monthsOf(changeSet, [
    ownInterval,
    ...recostGroup.records.map(({ record }) => record),
    ...(round > 0 ? estimates : rows),
  ])
}

/**
 * Read the stored rows that the costs of groups depend on: the rows of their intervals, and of other months in which
 * such a row lies.
 * Most groups together need one statement. At most `maxRows` rows of a group with tiers are read.
 */
export const gatherRows = async (
  db: ClickHouse,
  recostGroups: readonly LocationRecostGroup[],
  maxRows: number,
): Promise<StoredRows> => {
  let reads: readonly RowRead[] = recostGroups.map(recostGroup => ({ recostGroup, interval: recostGroup.interval }))
  const gathered = new Map<LocationRecostGroup, readonly MeterCostRow[] | null>()
  for (let round = 0; reads.length > 0; round += 1) {
    const stored = await readRows(db, reads, maxRows)
    const wider: RowRead[] = []
    for (const { recostGroup, interval } of reads) {
      const rows = stored.get(recostGroup) ?? null
      gathered.set(recostGroup, rows)
      if (rows === null) continue
      const needed = neededInterval(recostGroup, interval, rows, round)
      if (needed.start < interval.start || needed.end > interval.end) wider.push({ recostGroup, interval: needed })
    }
    reads = wider
  }
  return gathered
}
