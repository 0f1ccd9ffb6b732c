import { nextLocalMonth, startOfLocalMonth } from '../../domain/civil-time.ts'
import { accumulatorChangesOf } from '../../domain/cost/accumulator-changes.ts'
import type { Energy } from '../../domain/quantity.ts'
import { fullConfidence } from '../../domain/record/validate-record.ts'
import { accumulatorKey } from '../../domain/tariff/accumulator.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import {
  energyWithin,
  type Flow,
  type IntervalEnergy,
  readFirstStartAcross,
  rowsInRange,
  rowsOfObjects,
} from '../../platform/clickhouse/meter-cost/meter-cost-ranges.ts'
import type { QueryInterval } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost/meter-cost-row.ts'
import { startTimeSlices } from '../../platform/concurrency/time-slices.ts'
import { type ChangeSet, enclosingInterval, isEstimate, isTiered, type RecostGroup } from './change-set.ts'
import { countedEnergyOf, type Prefix } from './recost.ts'

/** The rows that the cost of a part of a cluster depends on, and what all before it have counted. */
export type RowRange = { readonly stored: readonly MeterCostRow[]; readonly prefix: Prefix }

export const flowOf = ({
  tenant,
  locationId,
  direction,
}: Pick<ChangeSet, 'tenant' | 'locationId' | 'direction'>): Flow => ({
  tenant,
  locationId,
  direction,
})

/** The instants between two others at which an accumulator may begin or end: local months and eras of tariffs begin there. */
const accumulatorEdgesBetween = (
  { cachedPricing: { snapshot }, direction }: ChangeSet,
  from: number,
  to: number,
): readonly number[] => {
  const cuts = new Set<number>()
  for (let at = nextLocalMonth(snapshot.timeZone, from); at < to; at = nextLocalMonth(snapshot.timeZone, at))
    cuts.add(at)
  for (const pricePeriod of snapshot.directions[direction].pricePeriods)
    if (pricePeriod.start > from && pricePeriod.start < to) cuts.add(pricePeriod.start)
  return [...cuts].sort((a, b) => a - b)
}

/** What rows counted of which only the sum is known: between two cuts all energy counts alike, so it counts as if it were one record. */
const countedEnergyWithin = (
  { cachedPricing: { snapshot }, locationId, direction }: ChangeSet,
  energies: readonly IntervalEnergy[],
): Map<number, Energy> => {
  const counted = new Map<number, Energy>()
  for (const { from, to, energyFlowDirection, energy } of energies) {
    if (energy === 0n) continue
    const record = {
      ...{ locationId, deviceId: null, energyFlowDirection, tariffDirection: direction, start: from, end: to, energy },
      ...{ confidence: fullConfidence, sessionReferenceId: null, recordReferenceId: null },
    }
    for (const { type, countingStart, before, after } of accumulatorChangesOf(snapshot, record)) {
      const key = accumulatorKey(type, direction, countingStart)
      counted.set(key, (counted.get(key) ?? 0n) + after - before)
    }
  }
  return counted
}

const readInto = async (
  rows: Map<string, MeterCostRow>,
  blocks: AsyncIterable<readonly MeterCostRow[]>,
): Promise<void> => {
  const timeSlice = startTimeSlices()
  for await (const block of blocks) {
    for (const row of block) rows.set(row.recordId, row.pieces.length > 1 ? { ...row, pieces: [] } : row)
    if (timeSlice.isOver()) await timeSlice.pause()
  }
}

/** Actuals that cover estimates may lie outside of what was read. */
const readActualsOfEstimates = async (
  db: ClickHouse,
  changeSet: ChangeSet,
  rows: Map<string, MeterCostRow>,
  interval: QueryInterval,
): Promise<void> => {
  const estimates = [
    ...[...rows.values()].filter(({ recordConfidence }) => isEstimate(recordConfidence)),
    ...changeSet.records.map(({ record }) => record).filter(({ confidence }) => isEstimate(confidence)),
  ]
  if (estimates.length === 0) return
  const { start, end } = { start: enclosingInterval(estimates).from, end: enclosingInterval(estimates).to }
  if (start >= interval.from && end <= interval.to) return
  const devices = [...new Set(estimates.map(({ deviceId }) => deviceId))]
  await readInto(rows, rowsOfObjects(db, flowOf(changeSet), devices, { from: start, to: end + 1 }))
}

/** Read what the costs of a cluster's rows that start within a span depend on. Its prices must be known from the span's start on. */
export const gatherRange = async (
  db: ClickHouse,
  { changeSet, records }: RecostGroup,
  interval: QueryInterval,
): Promise<RowRange> => {
  const flow = flowOf(changeSet)
  const { from: until, to } = interval
  if (!isTiered(changeSet)) {
    const rows = new Map<string, MeterCostRow>()
    await readInto(rows, rowsInRange(db, flow, { interval, across: [until], starts: [] }))
    await readActualsOfEstimates(db, changeSet, rows, interval)
    return { stored: [...rows.values()], prefix: { until, counted: new Map() } }
  }
  const month = startOfLocalMonth(changeSet.cachedPricing.snapshot.timeZone, until)
  const edges = [month, ...accumulatorEdgesBetween(changeSet, month, until), ...(until > month ? [until] : [])]
  const rows = new Map<string, MeterCostRow>()
  await readInto(rows, rowsInRange(db, flow, { interval, across: edges, starts: [] }))
  const { to: end } = enclosingInterval([...rows.values(), ...records.map(({ record }) => record)])
  const later = accumulatorEdgesBetween(changeSet, to - 1, end)
  if (later.length > 0)
    await readInto(rows, rowsInRange(db, flow, { interval: { from: to, to }, across: later, starts: later }))
  const across = new Set([...rows.values()].filter(({ start }) => start < until).map(({ recordId }) => recordId))
  await readActualsOfEstimates(db, changeSet, rows, interval)
  const stored = [...rows.values()]
  const countingIntervals = edges.slice(0, -1).map((from, index) => ({ from, to: edges[index + 1] as number }))
  const counted = countedEnergyWithin(changeSet, await energyWithin(db, flow, countingIntervals))
  for (const [key, energy] of countedEnergyOf(changeSet, stored, ({ recordId }) => across.has(recordId))) {
    if (key < accumulatorKey('COMMODITY', 'IMPORT', until)) counted.set(key, (counted.get(key) ?? 0n) + energy)
  }
  return { stored, prefix: { until, counted } }
}

/** Where the rows that share time with an instant begin; the instant itself where none does. */
export const startOfRowsAcross = async (db: ClickHouse, flow: Flow, at: number): Promise<number> =>
  (await readFirstStartAcross(db, flow, at)) ?? at
