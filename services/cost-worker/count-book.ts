import { startOfLocalMonth } from '../domain/civil-time.ts'
import type { Energy } from '../domain/quantity.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import type { Span } from '../platform/clickhouse/meter-cost-reads.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost-row.ts'
import type { PricingBook } from '../platform/pricing-book.ts'
import { gatherRows, type StoredRows } from './gather-rows.ts'
import { type Cluster, clustersOf, isTiered, type LaneGroup } from './lane-group.ts'
import { type Recosted, recost } from './recost.ts'
import { byCount, type LaneRecord, settleCounted } from './settle.ts'

/** A group at which the pure code threw. */
export type FailedGroup = { readonly group: LaneGroup; readonly reason: string }

/**
 * What the accumulators of a location and direction hold after `last`, the last record that begins before `until`. They are known of
 * the last month before `until`, which begins at `from`. `starts`: contract starts within it. `crossed`: the latest counting start that
 * a record lies across (-Infinity: none); one that begins at or before it might have its place before that record.
 */
type Count = {
  readonly counts: Map<number, Energy>
  readonly last: LaneRecord
  readonly from: number
  readonly until: number
  readonly starts: readonly number[]
  readonly crossed: number
}

/**
 * Settles groups: at once where records are the next in the order of their accumulators, else from the stored rows, with the rows that
 * they change, as if everything had come in order.
 */
export type CountBook = {
  /** `stored` settles once the rows of earlier steps are stored; what is read is read after it. */
  readonly settle: (
    groups: readonly LaneGroup[],
    stored: Promise<void>,
  ) => Promise<{ readonly rows: readonly MeterCostRow[]; readonly failed: readonly FailedGroup[] }>
  /** Forget all: what is stored may differ from what was settled here. */
  readonly drop: () => void
  readonly dropLocation: (locationId: string) => void
}

const most = 100_000

const keyOf = ({ locationId, direction }: Pick<LaneGroup, 'locationId' | 'direction'>): string => `${locationId}/${direction}`

const contractStarts = ({ held, direction }: LaneGroup, { from, to }: Span): readonly number[] =>
  held.snapshot.directions[direction].eras
    .flatMap(era => [era.commodityStart, era.nonCommodityStart])
    .filter((start, index, all) => start > from && start < to && all.indexOf(start) === index)

/** What is known of the last month of a cluster once all of it is counted. */
const knownAfter = (group: LaneGroup, { to: until }: Span, { entries, total }: Recosted): Count | null => {
  let last: LaneRecord | null = null
  let crossed = Number.NEGATIVE_INFINITY
  for (const { entry, moves } of entries) {
    if (entry.record.start >= until) continue
    if (last === null || byCount(last, entry) < 0) last = entry
    for (const { countingStart } of moves) {
      if (countingStart > entry.record.start && countingStart < until) crossed = Math.max(crossed, countingStart)
    }
  }
  const from = startOfLocalMonth(group.held.snapshot.timeZone, until - 1)
  return last === null ? null : { counts: total, last, from, until, crossed, starts: contractStarts(group, { from, to: until }) }
}

/** Tell whether records, in order, come behind all that is counted, and none of them stands in two orders. */
const areNext = ({ last, from, until, starts, crossed }: Count, sorted: readonly LaneRecord[]): boolean => {
  const first = sorted[0]
  if (first === undefined || byCount(last, first) >= 0) return false
  return sorted.every(({ record: { start, end }, isWithdrawn }) => {
    if (start < from || start >= until || end > until || start <= crossed) return false
    // A register's interval keeps its start but not its end: an earlier form of it may be counted.
    if (isWithdrawn !== undefined && (isWithdrawn || start <= last.record.start)) return false
    return !starts.some(at => start < at && at < end)
  })
}

/** Tell whether all that a group asks for is to count some new records. */
const isPlain = ({ records, causes, hasEstimates }: LaneGroup): boolean =>
  causes.length === 0 &&
  !hasEstimates &&
  records.every(({ version, sourceVersion, isWithdrawn }) => isWithdrawn !== undefined || version === sourceVersion)

type Clusters = { readonly group: LaneGroup; readonly clusters: readonly Cluster[] }

/** Make an empty book over the stored rows. */
export const countBook = (db: ClickHouse, pricing: Pick<PricingBook, 'held' | 'gather'>): CountBook => {
  const held = new Map<string, Count>()

  const remember = (group: LaneGroup, count: Count | null): void => {
    held.delete(keyOf(group))
    if (count !== null) held.set(keyOf(group), count)
    for (const key of held.keys()) {
      if (held.size <= most) return
      held.delete(key)
    }
  }

  const settleNext = (group: LaneGroup, sorted: readonly LaneRecord[], count: Count): readonly MeterCostRow[] => {
    const rows = sorted.map(entry => settleCounted(entry, group.held, count.counts))
    remember(group, { ...count, last: sorted.at(-1) ?? count.last })
    return rows
  }

  const tryNext = (group: LaneGroup): readonly MeterCostRow[] | null => {
    const known = held.get(keyOf(group))
    if (known === undefined || !isPlain(group)) return null
    const sorted = group.records.toSorted(byCount)
    return areNext(known, sorted) ? settleNext(group, sorted, known) : null
  }

  /** What is held of a later month stands, for a change before it does not reach it. */
  const rememberAfter = (group: LaneGroup, span: Span, recosted: Recosted): void => {
    const known = held.get(keyOf(group))
    if (known === undefined || known.from < span.to) remember(group, knownAfter(group, span, recosted))
  }

  /** Cost a group's clusters; of a row that two of them write, either is right. */
  const settleAmong = (group: LaneGroup, clusters: readonly Cluster[], stored: StoredRows): readonly MeterCostRow[] => {
    const rows = new Map<string, MeterCostRow>()
    for (const cluster of clusters) {
      const recosted = recost({ ...cluster, group }, stored.get(cluster) ?? [])
      for (const row of recosted.rows) {
        const before = rows.get(row.recordId)
        if (before === undefined || before.version <= row.version) rows.set(row.recordId, row)
      }
      if (isTiered(group)) rememberAfter(group, cluster.span, recosted)
    }
    return [...rows.values()]
  }

  /** Give each group's clusters prices that reach back to the oldest of their rows. */
  const priced = async (groups: readonly Clusters[], stored: StoredRows): Promise<readonly Clusters[]> => {
    const asks = groups.flatMap(({ group, clusters }) => {
      let from = Number.POSITIVE_INFINITY
      for (const cluster of clusters) for (const { start } of stored.get(cluster) ?? []) if (start < from) from = start
      const isHeld = from === Number.POSITIVE_INFINITY || pricing.held(group.locationId, from) === group.held
      return isHeld ? [] : [{ ...group.tenant, locationId: group.locationId, from }]
    })
    if (asks.length === 0) return groups
    const longer = await pricing.gather(asks)
    return groups.map(({ group, clusters }) => {
      const held = longer.get(group.locationId) ?? group.held
      return { group: { ...group, held }, clusters }
    })
  }

  const settleSlow = async (groups: readonly LaneGroup[], settled: { rows: MeterCostRow[]; failed: FailedGroup[] }): Promise<void> => {
    const clustered = groups.map(group => ({ group, clusters: clustersOf(group) }))
    const stored = await gatherRows(
      db,
      clustered.flatMap(({ clusters }) => clusters),
    )
    for (const { group, clusters } of await priced(clustered, stored)) {
      try {
        for (const row of settleAmong(group, clusters, stored)) settled.rows.push(row)
      } catch (error) {
        held.delete(keyOf(group))
        settled.failed.push({ group, reason: String(error) })
      }
    }
  }

  return {
    settle: async (groups, storedBefore) => {
      const settled: { rows: MeterCostRow[]; failed: FailedGroup[] } = { rows: [], failed: [] }
      const slow: LaneGroup[] = []
      for (const group of groups) {
        try {
          const rows = tryNext(group)
          if (rows === null) slow.push(group)
          else for (const row of rows) settled.rows.push(row)
        } catch (error) {
          held.delete(keyOf(group))
          settled.failed.push({ group, reason: String(error) })
        }
      }
      if (slow.length > 0) {
        await storedBefore
        await settleSlow(slow, settled)
      }
      return settled
    },
    drop: () => held.clear(),
    dropLocation: locationId => {
      for (const direction of ['IMPORT', 'EXPORT', 'LOCAL'] as const) held.delete(keyOf({ locationId, direction }))
    },
  }
}
