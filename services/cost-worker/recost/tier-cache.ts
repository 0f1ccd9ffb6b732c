import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import type { QueryInterval } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost/meter-cost-row.ts'
import { startTimeSlices } from '../../platform/concurrency/time-slices.ts'
import type { PricingCache } from '../../platform/pricing-cache/pricing-cache.ts'
import type { RowBuffer } from '../row-buffer.ts'
import { type AccumulatorTail, costNearTail, isNearTail, tailAfter } from './accumulator-tail.ts'
import { type ChangeSet, directions, isTiered, type RecostGroup, recostGroupsOf } from './change-set.ts'
import { costRanges, type RowRangeLimits } from './cost-ranges.ts'
import { gatherRows, type StoredRows } from './gather-rows.ts'
import { type RecostResult, recost } from './recost.ts'

/** A group at which the pure code threw. */
export type FailedChangeSet = { readonly changeSet: ChangeSet; readonly reason: string }

/** Rows of a group that start in a span and are yet to be costed again, because of records of it. */
export type PendingInterval = { readonly changeSet: ChangeSet; readonly interval: QueryInterval }

export type ChangeSetsResult = {
  readonly failed: readonly FailedChangeSet[]
  readonly pending: readonly PendingInterval[]
}

/**
 * Settles groups: at once where records have their place near the end of the order of their accumulators, else from the stored rows, with
 * the rows that they change, as if everything had come in order.
 */
export type TierCache = {
  /** `stored` settles once the rows of earlier steps are stored; what is read is read after it. Rows go into `hold`. */
  readonly cost: (
    changeSets: readonly ChangeSet[],
    stored: Promise<void>,
    buffer: RowBuffer,
  ) => Promise<ChangeSetsResult>
  /** Forget all: what is stored may differ from what was settled here. */
  readonly drop: () => void
  readonly dropLocation: (locationId: string) => void
}

/** Tails of all groups together, in records. */
const maxCountedRecords = 300_000

const maxLargeKeys = 10_000

const keyOf = ({ locationId, direction }: Pick<ChangeSet, 'locationId' | 'direction'>): string =>
  `${locationId}/${direction}`

/** Tell whether all that a group asks for is to count some new records. */
const isPlain = ({ records, triggers, hasEstimates }: ChangeSet): boolean =>
  triggers.length === 0 &&
  !hasEstimates &&
  records.every(({ version, sourceVersion, isWithdrawn }) => isWithdrawn !== undefined || version === sourceVersion)

type GroupedChangeSet = { readonly changeSet: ChangeSet; readonly recostGroups: readonly RecostGroup[] }

/** Make an empty book over the stored rows. */
export const tierCache = (
  db: ClickHouse,
  pricing: Pick<PricingCache, 'cached' | 'gather'>,
  limits: RowRangeLimits,
): TierCache => {
  const cached = new Map<string, AccumulatorTail>()
  /** Groups whose rows were once too many to be held: they are not read whole only to find that again. */
  const largeKeys = new Set<string>()
  let countedRecords = 0

  const noteLarge = (key: string): void => {
    if (largeKeys.size >= maxLargeKeys) largeKeys.clear()
    largeKeys.add(key)
  }

  const forget = (key: string): void => {
    countedRecords -= cached.get(key)?.tail.length ?? 0
    cached.delete(key)
  }

  const remember = (changeSet: ChangeSet, tail: AccumulatorTail | null): void => {
    forget(keyOf(changeSet))
    if (tail !== null) {
      cached.set(keyOf(changeSet), tail)
      countedRecords += tail.tail.length
    }
    for (const key of cached.keys()) {
      if (countedRecords <= maxCountedRecords) return
      forget(key)
    }
  }

  /** Cost a group behind what is known of its accumulators; null where that does not do. */
  const tryCostFromTail = (changeSet: ChangeSet): Iterable<MeterCostRow | null> | null => {
    const knownTail = cached.get(keyOf(changeSet))
    if (knownTail === undefined || !isPlain(changeSet) || !isNearTail(knownTail, changeSet.records)) return null
    return costAndRemember(changeSet, knownTail)
  }

  function* costAndRemember(
    changeSet: ChangeSet,
    knownTail: AccumulatorTail,
  ): Generator<MeterCostRow | null, void, undefined> {
    remember(changeSet, yield* costNearTail(changeSet, changeSet.records, knownTail))
  }

  /** What is held of a later month stands, for a change before it does not reach it. */
  const rememberAfter = (
    changeSet: ChangeSet,
    interval: QueryInterval,
    recosted: RecostResult,
    since?: number,
  ): void => {
    const knownTail = cached.get(keyOf(changeSet))
    if (knownTail === undefined || knownTail.from < interval.to)
      remember(changeSet, tailAfter(changeSet, interval, recosted, since))
  }

  /** Cost a group's clusters; of a row that two of them write, either is right, and the higher version holds. */
  function* costRecostGroups(
    changeSet: ChangeSet,
    recostGroups: readonly RecostGroup[],
    stored: StoredRows,
  ): Generator<MeterCostRow | null, void, undefined> {
    const versions = new Map<string, bigint>()
    for (const recostGroup of recostGroups) {
      const rows = stored.get(recostGroup) ?? null
      if (rows === null) continue
      const recosted = yield* recost({ ...recostGroup, changeSet }, rows)
      for (const row of recosted.rows) {
        if (row !== null && (versions.get(row.recordId) ?? -1n) >= row.version) continue
        if (row !== null && recostGroups.length > 1) versions.set(row.recordId, row.version)
        yield row
      }
      if (isTiered(changeSet)) rememberAfter(changeSet, recostGroup.interval, recosted)
    }
  }

  /** Give each group's clusters prices that reach back to the oldest of their rows. */
  const withLongerPrices = async (
    changeSets: readonly GroupedChangeSet[],
    stored: StoredRows,
  ): Promise<readonly GroupedChangeSet[]> => {
    const missing = changeSets.flatMap(({ changeSet, recostGroups }) => {
      let from = Number.POSITIVE_INFINITY
      for (const recostGroup of recostGroups)
        for (const { start } of stored.get(recostGroup) ?? []) if (start < from) from = start
      const isCached =
        from === Number.POSITIVE_INFINITY || pricing.cached(changeSet.locationId, from) === changeSet.cachedPricing
      return isCached ? [] : [{ ...changeSet.tenant, locationId: changeSet.locationId, from }]
    })
    if (missing.length === 0) return changeSets
    const longer = await pricing.gather(missing)
    return changeSets.map(({ changeSet, recostGroups }) => {
      const cached = longer.get(changeSet.locationId) ?? changeSet.cachedPricing
      return { changeSet: { ...changeSet, cachedPricing: cached }, recostGroups }
    })
  }

  /** Settle the clusters of a group that are too large to be held. Gives why that threw, else null. */
  const costLarge = async (
    changeSet: ChangeSet,
    recostGroups: readonly RecostGroup[],
    buffer: RowBuffer,
    pending: PendingInterval[],
  ): Promise<string | null> => {
    for (const recostGroup of recostGroups) {
      // Its rows may be those of the step, and are read again.
      await buffer.store()
      const result = await costRanges({ db, pricing, buffer, limits }, { ...recostGroup, changeSet })
      if (result.pending !== null) pending.push({ changeSet, interval: result.pending })
      if (result.failure !== null) return result.failure
      if (result.lastRange === null) forget(keyOf(changeSet))
      else
        rememberAfter(
          result.lastRange.changeSet,
          { from: result.lastRange.since, to: result.lastRange.to },
          result.lastRange.recosted,
          result.lastRange.since,
        )
    }
    return null
  }

  const costFromStore = async (
    changeSets: readonly ChangeSet[],
    buffer: RowBuffer,
    failed: FailedChangeSet[],
    pending: PendingInterval[],
  ): Promise<void> => {
    const grouped = changeSets.map(changeSet => ({ changeSet, recostGroups: recostGroupsOf(changeSet) }))
    const stored = await gatherRows(
      db,
      grouped.flatMap(({ changeSet, recostGroups }) => (largeKeys.has(keyOf(changeSet)) ? [] : recostGroups)),
      limits.rowsInMemory,
    )
    const timeSlice = startTimeSlices()
    for (const { changeSet, recostGroups } of await withLongerPrices(grouped, stored)) {
      if (timeSlice.isOver()) await timeSlice.pause()
      const tooLarge = recostGroups.filter(recostGroup => (stored.get(recostGroup) ?? null) === null)
      if (tooLarge.length > 0) noteLarge(keyOf(changeSet))
      const reason =
        (await buffer.addAll(costRecostGroups(changeSet, recostGroups, stored))) ??
        (await costLarge(changeSet, tooLarge, buffer, pending))
      if (reason === null) continue
      forget(keyOf(changeSet))
      failed.push({ changeSet, reason })
    }
  }

  return {
    cost: async (changeSets, rowsStored, buffer) => {
      const failed: FailedChangeSet[] = []
      const pending: PendingInterval[] = []
      const slow: ChangeSet[] = []
      for (const changeSet of changeSets) {
        const rows = tryCostFromTail(changeSet)
        if (rows === null) {
          slow.push(changeSet)
          continue
        }
        const reason = await buffer.addAll(rows)
        if (reason === null) continue
        forget(keyOf(changeSet))
        failed.push({ changeSet, reason })
      }
      if (slow.length > 0) {
        await rowsStored
        await costFromStore(slow, buffer, failed, pending)
      }
      return { failed, pending }
    },
    drop: () => {
      cached.clear()
      countedRecords = 0
    },
    dropLocation: locationId => {
      for (const direction of directions) forget(keyOf({ locationId, direction }))
    },
  }
}
