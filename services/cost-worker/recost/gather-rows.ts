import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import { rowsInIntervals, statementLimits } from '../../platform/clickhouse/meter-cost/meter-cost-intervals.ts'
import type { QueryInterval, Tenant } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost/meter-cost-row.ts'
import { startTimeSlices } from '../../platform/concurrency/time-slices.ts'
import { enclosingInterval, isEstimate, isTiered, monthsOf, overlaps, type RecostGroup } from './change-set.ts'

/** Stored rows of clusters, by cluster; null where they are too many to be held. */
export type StoredRows = ReadonlyMap<RecostGroup, readonly MeterCostRow[] | null>

type GatheredRows = Map<RecostGroup, MeterCostRow[] | null>

type RowRead = { readonly recostGroup: RecostGroup; readonly interval: QueryInterval }

const flowKeyOf = ({ locationId, tariffDirection }: MeterCostRow): string => `${locationId}/${tariffDirection}`

const noPieces: readonly never[] = []

/** A row is costed anew from its record: of many long rows the pieces would fill the memory. */
const withoutPieces = (row: MeterCostRow): MeterCostRow => (row.pieces.length > 1 ? { ...row, pieces: noPieces } : row)

/** Cut the asks of one account and mode into as few statements as hold them. */
const groupIntoStatements = (reads: readonly RowRead[]): readonly (readonly RowRead[])[] => {
  const statements: RowRead[][] = []
  let [locations, intervals] = [new Set<string>(), new Set<string>()]
  for (const rowRead of reads.toSorted((a, b) => a.interval.from - b.interval.from)) {
    const { interval, recostGroup } = rowRead
    locations.add(recostGroup.changeSet.locationId)
    intervals.add(`${interval.from}/${interval.to}`)
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
      intervals = new Set([`${interval.from}/${interval.to}`])
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
    ...interval,
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
  const tenants = Map.groupBy(
    reads,
    ({ recostGroup: { changeSet } }) => `${changeSet.tenant.accountId}/${changeSet.tenant.liveMode}`,
  )
  for (const tenantReads of tenants.values()) {
    const { tenant } = (tenantReads[0] as RowRead).recostGroup.changeSet
    for (const statement of groupIntoStatements(tenantReads))
      await readStatement(db, tenant, statement, stored, maxRows)
  }
  return stored
}

/** What must be read for a cluster whose rows within `span` are known: rows are written whole, and an estimate needs all that covers it. */
const neededInterval = (
  recostGroup: RecostGroup,
  interval: QueryInterval,
  rows: readonly MeterCostRow[],
  round: number,
): QueryInterval => {
  const { changeSet } = recostGroup
  const ownInterval = { start: interval.from, end: interval.to - 1 }
  const estimates = rows.filter(row => isEstimate(row.recordConfidence))
  if (!isTiered(changeSet)) {
    if (round > 0) return interval
    const { from, to } = enclosingInterval([ownInterval, ...estimates])
    return { from, to: Math.max(interval.to, to) }
  }
  return monthsOf(changeSet, [
    ownInterval,
    ...recostGroup.records.map(({ record }) => record),
    ...(round > 0 ? estimates : rows),
  ])
}

/**
 * Read what the cost of clusters depends on: the rows of their spans, and where one of those reaches further, the rows of these months too.
 * Most clusters need one statement together. Of one with tiers at most `most` rows are held.
 */
export const gatherRows = async (
  db: ClickHouse,
  recostGroups: readonly RecostGroup[],
  maxRows: number,
): Promise<StoredRows> => {
  let reads: readonly RowRead[] = recostGroups.map(recostGroup => ({ recostGroup, interval: recostGroup.interval }))
  const gathered = new Map<RecostGroup, readonly MeterCostRow[] | null>()
  for (let round = 0; reads.length > 0; round += 1) {
    const stored = await readRows(db, reads, maxRows)
    const wider: RowRead[] = []
    for (const { recostGroup, interval } of reads) {
      const rows = stored.get(recostGroup) ?? null
      gathered.set(recostGroup, rows)
      if (rows === null) continue
      const needed = neededInterval(recostGroup, interval, rows, round)
      if (needed.from < interval.from || needed.to > interval.to) wider.push({ recostGroup, interval: needed })
    }
    reads = wider
  }
  return gathered
}
