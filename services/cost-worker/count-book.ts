import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import type { Span } from '../platform/clickhouse/meter-cost-reads.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost-row.ts'
import { openTurns } from '../platform/event-loop-turn.ts'
import type { PricingBook } from '../platform/pricing-book.ts'
import { gatherRows, type StoredRows } from './gather-rows.ts'
import { type Cluster, clustersOf, directions, isTiered, type LaneGroup } from './lane-group.ts'
import { type Recosted, recost } from './recost.ts'
import type { RowHold } from './row-hold.ts'
import { type SliceBounds, settleSlices } from './settle-slices.ts'
import { countAfter, isNear, settleNear, type TailCount } from './tail-count.ts'

/** A group at which the pure code threw. */
export type FailedGroup = { readonly group: LaneGroup; readonly reason: string }

/** Rows of a group that start in a span and are yet to be costed again, because of records of it. */
export type OwedSpan = { readonly group: LaneGroup; readonly span: Span }

export type GroupsSettled = { readonly failed: readonly FailedGroup[]; readonly owed: readonly OwedSpan[] }

/**
 * Settles groups: at once where records have their place near the end of the order of their accumulators, else from the stored rows, with
 * the rows that they change, as if everything had come in order.
 */
export type CountBook = {
  /** `stored` settles once the rows of earlier steps are stored; what is read is read after it. Rows go into `hold`. */
  readonly settle: (groups: readonly LaneGroup[], stored: Promise<void>, hold: RowHold) => Promise<GroupsSettled>
  /** Forget all: what is stored may differ from what was settled here. */
  readonly drop: () => void
  readonly dropLocation: (locationId: string) => void
}

/** Tails of all groups together, in records. */
const mostCounted = 300_000

const mostLarge = 10_000

const keyOf = ({ locationId, direction }: Pick<LaneGroup, 'locationId' | 'direction'>): string => `${locationId}/${direction}`

/** Tell whether all that a group asks for is to count some new records. */
const isPlain = ({ records, causes, hasEstimates }: LaneGroup): boolean =>
  causes.length === 0 &&
  !hasEstimates &&
  records.every(({ version, sourceVersion, isWithdrawn }) => isWithdrawn !== undefined || version === sourceVersion)

type Clusters = { readonly group: LaneGroup; readonly clusters: readonly Cluster[] }

/** Make an empty book over the stored rows. */
export const countBook = (db: ClickHouse, pricing: Pick<PricingBook, 'held' | 'gather'>, bounds: SliceBounds): CountBook => {
  const held = new Map<string, TailCount>()
  /** Groups whose rows were once too many to be held: they are not read whole only to find that again. */
  const large = new Set<string>()
  let counted = 0

  const noteLarge = (key: string): void => {
    if (large.size >= mostLarge) large.clear()
    large.add(key)
  }

  const forget = (key: string): void => {
    counted -= held.get(key)?.tail.length ?? 0
    held.delete(key)
  }

  const remember = (group: LaneGroup, count: TailCount | null): void => {
    forget(keyOf(group))
    if (count !== null) {
      held.set(keyOf(group), count)
      counted += count.tail.length
    }
    for (const key of held.keys()) {
      if (counted <= mostCounted) return
      forget(key)
    }
  }

  /** Cost a group behind what is known of its accumulators; null where that does not do. */
  const near = (group: LaneGroup): Iterable<MeterCostRow | null> | null => {
    const known = held.get(keyOf(group))
    if (known === undefined || !isPlain(group) || !isNear(known, group.records)) return null
    return settleAndRemember(group, known)
  }

  function* settleAndRemember(group: LaneGroup, known: TailCount): Generator<MeterCostRow | null, void, undefined> {
    remember(group, yield* settleNear(group, group.records, known))
  }

  /** What is held of a later month stands, for a change before it does not reach it. */
  const rememberAfter = (group: LaneGroup, span: Span, recosted: Recosted, since?: number): void => {
    const known = held.get(keyOf(group))
    if (known === undefined || known.from < span.to) remember(group, countAfter(group, span, recosted, since))
  }

  /** Cost a group's clusters; of a row that two of them write, either is right, and the higher version holds. */
  function* settleAmong(
    group: LaneGroup,
    clusters: readonly Cluster[],
    stored: StoredRows,
  ): Generator<MeterCostRow | null, void, undefined> {
    const versions = new Map<string, bigint>()
    for (const cluster of clusters) {
      const rows = stored.get(cluster) ?? null
      if (rows === null) continue
      const recosted = yield* recost({ ...cluster, group }, rows)
      for (const row of recosted.rows) {
        if (row !== null && (versions.get(row.recordId) ?? -1n) >= row.version) continue
        if (row !== null && clusters.length > 1) versions.set(row.recordId, row.version)
        yield row
      }
      if (isTiered(group)) rememberAfter(group, cluster.span, recosted)
    }
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

  /** Settle the clusters of a group that are too large to be held. Gives why that threw, else null. */
  const settleLarge = async (group: LaneGroup, clusters: readonly Cluster[], hold: RowHold, owed: OwedSpan[]): Promise<string | null> => {
    for (const cluster of clusters) {
      // Its rows may be those of the step, and are read again.
      await hold.store()
      const slices = await settleSlices({ db, pricing, hold, bounds }, { ...cluster, group })
      if (slices.owed !== null) owed.push({ group, span: slices.owed })
      if (slices.failed !== null) return slices.failed
      if (slices.end === null) forget(keyOf(group))
      else rememberAfter(slices.end.group, { from: slices.end.since, to: slices.end.to }, slices.end.recosted, slices.end.since)
    }
    return null
  }

  const settleSlow = async (groups: readonly LaneGroup[], hold: RowHold, failed: FailedGroup[], owed: OwedSpan[]): Promise<void> => {
    const clustered = groups.map(group => ({ group, clusters: clustersOf(group) }))
    const stored = await gatherRows(
      db,
      clustered.flatMap(({ group, clusters }) => (large.has(keyOf(group)) ? [] : clusters)),
      bounds.held,
    )
    const turns = openTurns()
    for (const { group, clusters } of await priced(clustered, stored)) {
      if (turns.isOver()) await turns.next()
      const tooLarge = clusters.filter(cluster => (stored.get(cluster) ?? null) === null)
      if (tooLarge.length > 0) noteLarge(keyOf(group))
      const reason = (await hold.take(settleAmong(group, clusters, stored))) ?? (await settleLarge(group, tooLarge, hold, owed))
      if (reason === null) continue
      forget(keyOf(group))
      failed.push({ group, reason })
    }
  }

  return {
    settle: async (groups, storedBefore, hold) => {
      const failed: FailedGroup[] = []
      const owed: OwedSpan[] = []
      const slow: LaneGroup[] = []
      for (const group of groups) {
        const rows = near(group)
        if (rows === null) {
          slow.push(group)
          continue
        }
        const reason = await hold.take(rows)
        if (reason === null) continue
        forget(keyOf(group))
        failed.push({ group, reason })
      }
      if (slow.length > 0) {
        await storedBefore
        await settleSlow(slow, hold, failed, owed)
      }
      return { failed, owed }
    },
    drop: () => {
      held.clear()
      counted = 0
    },
    dropLocation: locationId => {
      for (const direction of directions) forget(keyOf({ locationId, direction }))
    },
  }
}
