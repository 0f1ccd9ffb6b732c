import { nextLocalMonth, startOfLocalMonth } from '../domain/civil-time.ts'
import { recordMoves } from '../domain/cost/record-moves.ts'
import type { Energy } from '../domain/quantity.ts'
import { fullConfidence } from '../domain/record/check-record.ts'
import { tierKey } from '../domain/tariff/tier-count.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import type { Span } from '../platform/clickhouse/meter-cost-reads.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost-row.ts'
import {
  energyWithin,
  type Flow,
  firstAcross,
  rowsOfObjects,
  rowsOfSlice,
  type SpanEnergy,
} from '../platform/clickhouse/meter-cost-slices.ts'
import { openTurns } from '../platform/event-loop-turn.ts'
import { type Cluster, hullOf, isEstimate, isTiered, type LaneGroup } from './lane-group.ts'
import { countedOf, type Prefix } from './recost.ts'

/** The rows that the cost of a part of a cluster depends on, and what all before it have counted. */
export type Slice = { readonly stored: readonly MeterCostRow[]; readonly prefix: Prefix }

export const flowOf = ({ tenant, locationId, direction }: Pick<LaneGroup, 'tenant' | 'locationId' | 'direction'>): Flow => ({
  tenant,
  locationId,
  direction,
})

/** The instants between two others at which an accumulator may begin or end: local months and eras of tariffs begin there. */
const cutsBetween = ({ held: { snapshot }, direction }: LaneGroup, from: number, to: number): readonly number[] => {
  const cuts = new Set<number>()
  for (let at = nextLocalMonth(snapshot.timeZone, from); at < to; at = nextLocalMonth(snapshot.timeZone, at)) cuts.add(at)
  for (const era of snapshot.directions[direction].eras) if (era.from > from && era.from < to) cuts.add(era.from)
  return [...cuts].sort((a, b) => a - b)
}

/** What rows counted of which only the sum is known: between two cuts all energy counts alike, so it counts as if it were one record. */
const countedWithin = ({ held: { snapshot }, locationId, direction }: LaneGroup, spans: readonly SpanEnergy[]): Map<number, Energy> => {
  const counted = new Map<number, Energy>()
  for (const { from, to, energyFlowDirection, energy } of spans) {
    if (energy === 0n) continue
    const record = {
      ...{ locationId, deviceId: null, energyFlowDirection, tariffDirection: direction, start: from, end: to, energy },
      ...{ confidence: fullConfidence, sessionReferenceId: null, recordReferenceId: null },
    }
    for (const { type, countingStart, before, after } of recordMoves(snapshot, record)) {
      const key = tierKey(type, direction, countingStart)
      counted.set(key, (counted.get(key) ?? 0n) + after - before)
    }
  }
  return counted
}

const readInto = async (rows: Map<string, MeterCostRow>, blocks: AsyncIterable<readonly MeterCostRow[]>): Promise<void> => {
  const turns = openTurns()
  for await (const block of blocks) {
    for (const row of block) rows.set(row.recordId, row.pieces.length > 1 ? { ...row, pieces: [] } : row)
    if (turns.isOver()) await turns.next()
  }
}

/** Actuals that cover estimates may lie outside of what was read. */
const readBelowEstimates = async (db: ClickHouse, group: LaneGroup, rows: Map<string, MeterCostRow>, span: Span): Promise<void> => {
  const estimates = [
    ...[...rows.values()].filter(({ recordConfidence }) => isEstimate(recordConfidence)),
    ...group.records.map(({ record }) => record).filter(({ confidence }) => isEstimate(confidence)),
  ]
  if (estimates.length === 0) return
  const { start, end } = { start: hullOf(estimates).from, end: hullOf(estimates).to }
  if (start >= span.from && end <= span.to) return
  const devices = [...new Set(estimates.map(({ deviceId }) => deviceId))]
  await readInto(rows, rowsOfObjects(db, flowOf(group), devices, { from: start, to: end + 1 }))
}

/** Read what the costs of a cluster's rows that start within a span depend on. Its prices must be known from the span's start on. */
export const gatherSlice = async (db: ClickHouse, { group, records }: Cluster, span: Span): Promise<Slice> => {
  const flow = flowOf(group)
  const { from: until, to } = span
  if (!isTiered(group)) {
    const rows = new Map<string, MeterCostRow>()
    await readInto(rows, rowsOfSlice(db, flow, { span, across: [until], starts: [] }))
    await readBelowEstimates(db, group, rows, span)
    return { stored: [...rows.values()], prefix: { until, counted: new Map() } }
  }
  const month = startOfLocalMonth(group.held.snapshot.timeZone, until)
  const edges = [month, ...cutsBetween(group, month, until), ...(until > month ? [until] : [])]
  const rows = new Map<string, MeterCostRow>()
  await readInto(rows, rowsOfSlice(db, flow, { span, across: edges, starts: [] }))
  const { to: end } = hullOf([...rows.values(), ...records.map(({ record }) => record)])
  const later = cutsBetween(group, to - 1, end)
  if (later.length > 0) await readInto(rows, rowsOfSlice(db, flow, { span: { from: to, to }, across: later, starts: later }))
  const across = new Set([...rows.values()].filter(({ start }) => start < until).map(({ recordId }) => recordId))
  await readBelowEstimates(db, group, rows, span)
  const stored = [...rows.values()]
  const cells = edges.slice(0, -1).map((from, index) => ({ from, to: edges[index + 1] as number }))
  const counted = countedWithin(group, await energyWithin(db, flow, cells))
  for (const [key, energy] of countedOf(group, stored, ({ recordId }) => across.has(recordId))) {
    if (key < tierKey('COMMODITY', 'IMPORT', until)) counted.set(key, (counted.get(key) ?? 0n) + energy)
  }
  return { stored, prefix: { until, counted } }
}

/** Where the rows that share time with an instant begin; the instant itself where none does. */
export const startAcross = async (db: ClickHouse, flow: Flow, at: number): Promise<number> => (await firstAcross(db, flow, at)) ?? at
