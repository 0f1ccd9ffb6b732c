import { nextLocalMonth } from '../domain/civil-time.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { startOfRow } from '../platform/clickhouse/meter-cost-counts.ts'
import type { Span } from '../platform/clickhouse/meter-cost-reads.ts'
import { lastEnd } from '../platform/clickhouse/meter-cost-slices.ts'
import { inTurns } from '../platform/event-loop-turn.ts'
import type { PricingBook } from '../platform/pricing-book.ts'
import { flowOf, gatherSlice, startAcross } from './gather-slice.ts'
import { type Cause, type Cluster, type LaneGroup, newestOf } from './lane-group.ts'
import { type Recosted, recost } from './recost.ts'
import type { RowHold } from './row-hold.ts'
import type { LaneRecord } from './settle.ts'

/** Of a location's month so many rows are held at a time, and costed again at a time. */
export type SliceBounds = { readonly held: number; readonly rows: number }

export const usualSlices: SliceBounds = { held: 20_000, rows: 10_000 }

/** What is known behind a slice that reaches to the end of its cluster. */
export type SliceEnd = { readonly group: LaneGroup; readonly recosted: Recosted; readonly since: number; readonly to: number }

/** `owed`: rows that start in this span are yet to be costed again. `failed`: why the pure code threw. */
export type SlicesSettled = { readonly owed: Span | null; readonly end: SliceEnd | null; readonly failed: string | null }

export type SliceMeans = {
  readonly db: ClickHouse
  readonly pricing: Pick<PricingBook, 'gather'>
  readonly hold: RowHold
  readonly bounds: SliceBounds
}

/** Cost again the rows of a cluster that start within a span, and its records there. */
const settleSlice = async ({ db, pricing, hold }: SliceMeans, cluster: Cluster, span: Span) => {
  const { tenant, locationId } = cluster.group
  const prices = await pricing.gather([{ ...tenant, locationId, from: span.from }])
  const group = { ...cluster.group, held: prices.get(locationId) ?? cluster.group.held }
  const slice = { ...cluster, group, span }
  const { stored, prefix } = await gatherSlice(db, slice, span)
  const recosted = await inTurns(recost(slice, stored, prefix))
  return { failed: await hold.take(recosted.rows), end: { group, recosted, since: span.from, to: span.to } }
}

/** Cost again all rows of a location and direction that start within a span, as an order says. Gives why that threw, else null. */
export const settleOrderedSlice = async (means: SliceMeans, of: Omit<LaneGroup, 'records' | 'causes' | 'hasEstimates'>, cause: Cause) => {
  const group = { ...of, records: [], causes: [cause], hasEstimates: false }
  const { failed } = await settleSlice(means, { group, records: [], causes: [cause], span: cause }, cause)
  return failed
}

const mostStarts = 1_000

/** The end of a cluster: what a record replaces may reach further than the record itself. */
const endOf = async (db: ClickHouse, { group, records, span }: Cluster): Promise<number> => {
  const starts = [...new Set(records.map(({ record }) => record.start))]
  let to = span.to
  for (let at = 0; at < starts.length; at += mostStarts) {
    const end = await lastEnd(db, flowOf(group), starts.slice(at, at + mostStarts))
    if (end !== null && end > to) to = nextLocalMonth(group.held.snapshot.timeZone, end - 1)
  }
  return to
}

/**
 * Settle a cluster that has too many stored rows to be held, slice by slice from its first change on: every new record is costed exactly;
 * rows far behind it are owed.
 */
export const settleSlices = async (means: SliceMeans, cluster: Cluster): Promise<SlicesSettled> => {
  const { db, hold, bounds } = means
  const { group } = cluster
  const flow = flowOf(group)
  const span = { from: cluster.span.from, to: await endOf(db, cluster) }
  let records = cluster.records.toSorted((a, b) => a.record.start - b.record.start)
  // A row that shares time with a cause may begin before it.
  let causes = await Promise.all(cluster.causes.map(async cause => ({ ...cause, from: await startAcross(db, flow, cause.from) })))
  let reached = Number.NEGATIVE_INFINITY
  let owed: Span | null = null
  let end: SliceEnd | null = null
  while (records.length + causes.length > 0) {
    const first = Math.min(records[0]?.record.start ?? Number.POSITIVE_INFINITY, ...causes.map(({ from }) => from))
    const next = await startOfRow(db, group.tenant, group.locationId, { from: first, to: span.to }, bounds.rows)
    const to = next === null ? span.to : Math.max(next, first + 1)
    const isWithin = ({ record }: LaneRecord): boolean => record.start < to
    const own = { ...cluster, records: records.filter(isWithin), causes: causes.filter(cause => cause.from < to) }
    if (group.hasEstimates && own.records.length > 0 && first > reached) {
      reached = first
      // Estimates that begin before may lose energy to these records; all behind them are counted anew.
      const from = await startAcross(db, flow, first)
      if (from < first) {
        causes = [...causes, { from, to: first, version: newestOf(own.records) }]
        continue
      }
    }
    const settled = await settleSlice(means, own, { from: first, to })
    if (settled.failed !== null) return { owed, end: null, failed: settled.failed }
    if (own.records.length > 0 && to < span.to) owed ??= { from: to, to: span.to }
    end = to === span.to ? settled.end : null
    records = records.filter(one => !isWithin(one))
    causes = causes.filter(cause => cause.to > to).map(cause => ({ ...cause, from: Math.max(cause.from, to) }))
    // What comes next counts what this one has changed.
    if (records.length + causes.length > 0) await hold.store()
  }
  return { owed, end, failed: null }
}
