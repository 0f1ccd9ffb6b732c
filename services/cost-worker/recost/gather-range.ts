import { startOfLocalMonth } from '../../domain/civil-time.ts'
import { isEstimate } from '../../domain/cost/covered-intervals.ts'
import type { Interval } from '../../domain/interval.ts'
import { type ChangeSet, enclosingInterval, isTiered } from '../../domain/recost/change-set.ts'
import {
  accumulatorEdgesBetween,
  countedEnergyOf,
  countedEnergyWithin,
  type Prefix,
} from '../../domain/recost/counted-energy.ts'
import { accumulatorKey } from '../../domain/tariff/accumulator.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import {
  energyWithin,
  type Flow,
  readFirstStartAcross,
  rowsInRange,
  rowsOfObjects,
} from '../../platform/clickhouse/meter-cost/meter-cost-ranges.ts'
import type { QueryInterval } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost/meter-cost-row.ts'
import { startTimeSlices } from '../../platform/concurrency/time-slices.ts'
import { withoutPieces } from './gather-rows.ts'
import { entryOf, isEstimateRow, type LocationChanges, type LocationRecostGroup, queryIntervalOf } from './recost.ts'

/** Stored rows that the costs of a row range depend on, and the energy that was counted before them. */
export type RowRange = { readonly stored: readonly MeterCostRow[]; readonly prefix: Prefix }

export const flowOf = ({
  tenant,
  locationId,
  direction,
}: Pick<LocationChanges, 'tenant' | 'locationId' | 'direction'>): Flow => ({ tenant, locationId, direction })

const readInto = async (
  rows: Map<string, MeterCostRow>,
  blocks: AsyncIterable<readonly MeterCostRow[]>,
): Promise<void> => {
  const timeSlice = startTimeSlices()
  for await (const block of blocks) {
    for (const row of block) rows.set(row.recordId, withoutPieces(row))
    if (timeSlice.isOver()) await timeSlice.pause()
  }
}

/** Read the actuals that cover estimates. They can lie outside of the interval that was read. */
const readActualsOfEstimates = async (
  db: ClickHouse,
  changeSet: LocationChanges,
  rows: Map<string, MeterCostRow>,
  interval: Interval,
): Promise<void> => {
  const estimates = [
    ...[...rows.values()].filter(isEstimateRow),
    ...changeSet.records.map(({ record }) => record).filter(isEstimate),
  ]
  if (estimates.length === 0) return
  const { start, end } = enclosingInterval(estimates)
  if (start >= interval.start && end <= interval.end) return
  const devices = [...new Set(estimates.map(({ deviceId }) => deviceId))]
  await readInto(rows, rowsOfObjects(db, flowOf(changeSet), devices, { from: start, to: end + 1 }))
}

/** Read the counted energy before a range: sums of the rows between edges, and the rows across an edge one by one. */
const readCountedEnergy = async (
  db: ClickHouse,
  changeSet: ChangeSet & Pick<LocationChanges, 'tenant'>,
  edges: readonly number[],
  stored: readonly MeterCostRow[],
  isAcross: (recordId: string) => boolean,
  until: number,
) => {
  const intervals = edges.slice(0, -1).map((from, index): QueryInterval => ({ from, to: edges[index + 1] as number }))
  const energies = await energyWithin(db, flowOf(changeSet), intervals)
  const counted = countedEnergyWithin(
    changeSet,
    energies.map(({ from, to, energyFlowDirection, energy }) => ({
      start: from,
      end: to,
      energyFlowDirection,
      energy,
    })),
  )
  const across = countedEnergyOf(
    changeSet,
    stored.map(row => entryOf(row, 0n)),
    ({ record }) => isAcross(record.recordId),
  )
  for (const [key, energy] of across) {
    if (key < accumulatorKey('COMMODITY', 'IMPORT', until)) counted.set(key, (counted.get(key) ?? 0n) + energy)
  }
  return counted
}

/**
 * Read the rows that the costs of a group's rows in an interval depend on. It applies to rows that start in the
 * interval.
 * The group's prices must begin at or before the interval.
 */
export const gatherRange = async (
  db: ClickHouse,
  { changeSet, records }: LocationRecostGroup,
  interval: Interval,
): Promise<RowRange> => {
  const flow = flowOf(changeSet)
  const { start: until, end: to } = interval
  const rows = new Map<string, MeterCostRow>()
  if (!isTiered(changeSet)) {
    await readInto(rows, rowsInRange(db, flow, { interval: queryIntervalOf(interval), across: [until], starts: [] }))
    await readActualsOfEstimates(db, changeSet, rows, interval)
    return { stored: [...rows.values()], prefix: { until, counted: new Map() } }
  }
  const month = startOfLocalMonth(changeSet.prices.snapshot.timeZone, until)
  const edges = [month, ...accumulatorEdgesBetween(changeSet, month, until), ...(until > month ? [until] : [])]
  await readInto(rows, rowsInRange(db, flow, { interval: queryIntervalOf(interval), across: edges, starts: [] }))
  const { end } = enclosingInterval([...rows.values(), ...records.map(({ record }) => record)])
  const later = accumulatorEdgesBetween(changeSet, to - 1, end)
  if (later.length > 0)
    await readInto(rows, rowsInRange(db, flow, { interval: { from: to, to }, across: later, starts: later }))
  const across = new Set([...rows.values()].filter(({ start }) => start < until).map(({ recordId }) => recordId))
  await readActualsOfEstimates(db, changeSet, rows, interval)
  const stored = [...rows.values()]
  const counted = await readCountedEnergy(db, changeSet, edges, stored, id => across.has(id), until)
  return { stored, prefix: { until, counted } }
}

/** Return the first start of the rows that share time with an instant; the instant itself if there are none. */
export const startOfRowsAcross = async (db: ClickHouse, flow: Flow, at: number): Promise<number> =>
  (await readFirstStartAcross(db, flow, at)) ?? at
