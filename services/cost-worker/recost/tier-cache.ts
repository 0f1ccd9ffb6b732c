import type { Interval } from '../../domain/interval.ts'
import { type AccumulatorTail, isNearTail, tailAfter } from '../../domain/recost/accumulator-tail.ts'
import { type ChangeSet, directions, isTiered, recostGroupsOf } from '../../domain/recost/change-set.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost/meter-cost-row.ts'
import { startTimeSlices } from '../../platform/concurrency/time-slices.ts'
import type { PricingCache } from '../../platform/pricing-cache/pricing-cache.ts'
import type { RecordToCost } from '../record-to-cost.ts'
import type { RowBuffer } from '../row-buffer.ts'
import { costRanges, type RowRangeLimits } from './cost-ranges.ts'
import { gatherRows, type StoredRows } from './gather-rows.ts'
import {
  costNearTail,
  type LocationChanges,
  type LocationRecostGroup,
  type RecostResult,
  recost,
  withoutMessage,
} from './recost.ts'

/** Change set whose costing threw an error. */
export type FailedChangeSet = { readonly changeSet: LocationChanges; readonly reason: string }

/** Interval of a change set whose rows are not recosted yet. It applies to rows that start in it. */
export type PendingInterval = { readonly changeSet: LocationChanges; readonly interval: Interval }

export type ChangeSetsResult = {
  readonly failed: readonly FailedChangeSet[]
  readonly pending: readonly PendingInterval[]
}

/**
 * Costs change sets. If the records are near the end of the counting order, the cached tail of the accumulators is
 * sufficient.
 * Otherwise the stored rows are read, and costed with the rows that they change, as if all records had arrived in
 * order.
 */
export type TierCache = {
  /**
   * `stored` resolves when the rows of earlier steps are stored; the store is read after that. Rows go into `buffer`.
   */
  readonly cost: (
    changeSets: readonly LocationChanges[],
    stored: Promise<void>,
    buffer: RowBuffer,
  ) => Promise<ChangeSetsResult>
  /** Drop all tails: the stored rows can differ from them. */
  readonly drop: () => void
  readonly dropLocation: (locationId: string) => void
}

/** Records in all tails together. */
const maxCountedRecords = 300_000

const maxLargeKeys = 10_000

/** Tails by location and direction, and the total of their records. The map's order is that of their last use. */
type Tails = { readonly cached: Map<string, AccumulatorTail<RecordToCost>>; countedRecords: number }

type Dependencies = {
  readonly db: ClickHouse
  readonly pricing: Pick<PricingCache, 'cached' | 'gather'>
  readonly limits: RowRangeLimits
  readonly tails: Tails
  /** Locations and directions that once had too many rows for the memory. Their rows are not read as a whole again. */
  readonly largeKeys: Set<string>
}

type GroupedChangeSet = { readonly changeSet: LocationChanges; readonly recostGroups: readonly LocationRecostGroup[] }

type MutableResult = { readonly failed: FailedChangeSet[]; readonly pending: PendingInterval[] }

const keyOf = ({ locationId, direction }: Pick<ChangeSet, 'locationId' | 'direction'>): string =>
  `${locationId}/${direction}`

const forget = (tails: Tails, key: string): void => {
  tails.countedRecords -= tails.cached.get(key)?.tail.length ?? 0
  tails.cached.delete(key)
}

const remember = (tails: Tails, changeSet: ChangeSet, tail: AccumulatorTail<RecordToCost> | null): void => {
  forget(tails, keyOf(changeSet))
  if (tail !== null) {
    tails.cached.set(keyOf(changeSet), tail)
    tails.countedRecords += tail.tail.length
  }
  for (const key of tails.cached.keys()) {
    if (tails.countedRecords <= maxCountedRecords) return
    forget(tails, key)
  }
}

/** Remember the tail after a recost. The tail of a later month stays: earlier changes do not affect it. */
const rememberAfter = (
  tails: Tails,
  changeSet: LocationChanges,
  interval: Interval,
  recosted: RecostResult,
  since?: number,
): void => {
  const knownTail = tails.cached.get(keyOf(changeSet))
  if (knownTail === undefined || knownTail.from < interval.end)
    remember(tails, changeSet, tailAfter(changeSet, interval, recosted, withoutMessage, since))
}

/** Return whether a change set only adds new records to the counts. */
const isPlain = ({ records, triggers, hasEstimates }: LocationChanges): boolean =>
  triggers.length === 0 &&
  !hasEstimates &&
  records.every(({ version, sourceVersion, isWithdrawn }) => isWithdrawn !== undefined || version === sourceVersion)

/** Cost a change set from the cached tail; null if the stored rows must be read. */
const tryCostFromTail = (tails: Tails, changeSet: LocationChanges): Iterable<MeterCostRow | null> | null => {
  const knownTail = tails.cached.get(keyOf(changeSet))
  if (knownTail === undefined || !isPlain(changeSet) || !isNearTail(knownTail, changeSet.records)) return null
  return costAndRemember(tails, changeSet, knownTail)
}

function* costAndRemember(
  tails: Tails,
  changeSet: LocationChanges,
  knownTail: AccumulatorTail<RecordToCost>,
): Generator<MeterCostRow | null, void, undefined> {
  remember(tails, changeSet, yield* costNearTail(changeSet, knownTail))
}

/**
 * Cost the groups of a change set. If two groups write a row, both forms are correct, and the higher version is used.
 */
function* costRecostGroups(
  tails: Tails,
  { changeSet, recostGroups }: GroupedChangeSet,
  stored: StoredRows,
): Generator<MeterCostRow | null, void, undefined> {
  const versions = new Map<string, bigint>()
  for (const recostGroup of recostGroups) {
    const rows = stored.get(recostGroup) ?? null
    if (rows === null) continue
    const recosted = recost({ ...recostGroup, changeSet }, rows)
    for (const row of recosted.rows) {
      if (row !== null && (versions.get(row.recordId) ?? -1n) >= row.version) continue
      if (row !== null && recostGroups.length > 1) versions.set(row.recordId, row.version)
      yield row
    }
    if (isTiered(changeSet)) rememberAfter(tails, changeSet, recostGroup.interval, recosted)
  }
}

/** Replace the prices of change sets by prices that begin at or before their oldest row. */
const withLongerPrices = async (
  { pricing }: Dependencies,
  changeSets: readonly GroupedChangeSet[],
  stored: StoredRows,
): Promise<readonly GroupedChangeSet[]> => {
  const missing = changeSets.flatMap(({ changeSet, recostGroups }) => {
    let from = Number.POSITIVE_INFINITY
    for (const recostGroup of recostGroups)
      for (const { start } of stored.get(recostGroup) ?? []) if (start < from) from = start
    const isCached =
      from === Number.POSITIVE_INFINITY || pricing.cached(changeSet.locationId, from) === changeSet.prices
    return isCached ? [] : [{ ...changeSet.tenant, locationId: changeSet.locationId, from }]
  })
  if (missing.length === 0) return changeSets
  const longer = await pricing.gather(missing)
  return changeSets.map(({ changeSet, recostGroups }) => {
    const prices = longer.get(changeSet.locationId) ?? changeSet.prices
    return { changeSet: { ...changeSet, prices }, recostGroups }
  })
}

/**
 * Cost groups with too many rows for the memory, range by range. Return the error text if costing throws, else null.
 */
const costLarge = async (
  { db, pricing, limits, tails }: Dependencies,
  changeSet: LocationChanges,
  recostGroups: readonly LocationRecostGroup[],
  buffer: RowBuffer,
  pending: PendingInterval[],
): Promise<string | null> => {
  for (const recostGroup of recostGroups) {
    // The ranges are read from the store, so the buffered rows must be there.
    await buffer.store()
    const result = await costRanges({ db, pricing, buffer, limits }, { ...recostGroup, changeSet })
    if (result.pending !== null) pending.push({ changeSet, interval: result.pending })
    if (result.failure !== null) return result.failure
    if (result.lastRange === null) forget(tails, keyOf(changeSet))
    else {
      const { changeSet: rangeChanges, interval, recosted } = result.lastRange
      rememberAfter(tails, rangeChanges, interval, recosted, interval.start)
    }
  }
  return null
}

const noteLarge = (largeKeys: Set<string>, key: string): void => {
  if (largeKeys.size >= maxLargeKeys) largeKeys.clear()
  largeKeys.add(key)
}

const costFromStore = async (
  dependencies: Dependencies,
  changeSets: readonly LocationChanges[],
  buffer: RowBuffer,
  { failed, pending }: MutableResult,
): Promise<void> => {
  const { db, limits, tails, largeKeys } = dependencies
  const grouped = changeSets.map(changeSet => ({ changeSet, recostGroups: recostGroupsOf(changeSet) }))
  const stored = await gatherRows(
    db,
    grouped.flatMap(({ changeSet, recostGroups }) => (largeKeys.has(keyOf(changeSet)) ? [] : recostGroups)),
    limits.rowsInMemory,
  )
  const timeSlice = startTimeSlices()
  for (const groupedSet of await withLongerPrices(dependencies, grouped, stored)) {
    const { changeSet, recostGroups } = groupedSet
    if (timeSlice.isOver()) await timeSlice.pause()
    const tooLarge = recostGroups.filter(recostGroup => (stored.get(recostGroup) ?? null) === null)
    if (tooLarge.length > 0) noteLarge(largeKeys, keyOf(changeSet))
    const reason =
      (await buffer.addAll(costRecostGroups(tails, groupedSet, stored))) ??
      (await costLarge(dependencies, changeSet, tooLarge, buffer, pending))
    if (reason === null) continue
    forget(tails, keyOf(changeSet))
    failed.push({ changeSet, reason })
  }
}

/** Create an empty cache over the stored rows. */
export const tierCache = (
  db: ClickHouse,
  pricing: Pick<PricingCache, 'cached' | 'gather'>,
  limits: RowRangeLimits,
): TierCache => {
  const tails: Tails = { cached: new Map(), countedRecords: 0 }
  const dependencies: Dependencies = { db, pricing, limits, tails, largeKeys: new Set() }
  return {
    cost: async (changeSets, rowsStored, buffer) => {
      const result: MutableResult = { failed: [], pending: [] }
      const farFromTail: LocationChanges[] = []
      for (const changeSet of changeSets) {
        const rows = tryCostFromTail(tails, changeSet)
        if (rows === null) {
          farFromTail.push(changeSet)
          continue
        }
        const reason = await buffer.addAll(rows)
        if (reason === null) continue
        forget(tails, keyOf(changeSet))
        result.failed.push({ changeSet, reason })
      }
      if (farFromTail.length > 0) {
        await rowsStored
        await costFromStore(dependencies, farFromTail, buffer, result)
      }
      return result
    },
    drop: () => {
      tails.cached.clear()
      tails.countedRecords = 0
    },
    dropLocation: locationId => {
      for (const direction of directions) forget(tails, keyOf({ locationId, direction }))
    },
  }
}
