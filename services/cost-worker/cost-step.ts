import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost/meter-cost-row.ts'
import type { MeterReadingRow } from '../platform/clickhouse/readings/meter-readings.ts'
import type { BatchFailureRow } from '../platform/clickhouse/readings/receipts.ts'
import { runInTimeSlices, startTimeSlices } from '../platform/concurrency/time-slices.ts'
import type { StoredRowRequest } from '../platform/log/messages.ts'
import type { CachedPricing, PricingCache, PricingRequest } from '../platform/pricing-cache/pricing-cache.ts'
import { costReadings, type NewestReadings, type ReadingToStore } from './cost-readings.ts'
import type { PoisonRecord } from './dead-letter.ts'
import { estimateIndex } from './estimate-index.ts'
import { costAlone, costInSteps, isCounted, isLong, type RecordToCost } from './record-to-cost.ts'
import { type ChangeSet, directions, highestVersion, type RecostTrigger } from './recost/change-set.ts'
import { costRequestedRange, defaultRowRangeLimits } from './recost/cost-ranges.ts'
import {
  type FailedRequest,
  planRecosts,
  type ReceivedRequest,
  type RecostPlan,
  type RecostTask,
} from './recost/plan-recosts.ts'
import { type PendingInterval, tierCache } from './recost/tier-cache.ts'
import { trimRecostOverlaps } from './recost/trim-recost-overlaps.ts'
import { type RowBuffer, rowBuffer } from './row-buffer.ts'
import { defaultLoadLimits } from './slow-work/step-load.ts'

/** What a step writes: `readings` last of all, behind `failures`, because they are judged from what was stored before. */
export type StepResult = {
  /** Rows that are not stored yet. */
  readonly rows: readonly MeterCostRow[]
  /** How many were costed in all. */
  readonly costed: { readonly rows: number; readonly pieces: number }
  readonly poison: readonly PoisonRecord[]
  readonly readings: readonly MeterReadingRow[]
  readonly failures: readonly BatchFailureRow[]
  /** What is left of the step's orders. */
  readonly deferred: readonly ReceivedRequest[]
  /** Orders that take long, of one location each: to be done beside the steps. */
  readonly slowRequests: readonly ReceivedRequest[]
  readonly failedRequests: readonly FailedRequest[]
}

/** What a step brings. */
export type StepInput = {
  readonly records: ReadonlyMap<string, readonly RecordToCost[]>
  readonly readings: readonly ReadingToStore[]
  readonly requests: readonly ReceivedRequest[]
}

/**
 * `stored` settles once the rows of the step before are stored: rows are read after it. `store` stores rows of this one, behind those, when
 * their pieces are too many to be held. `canPutBack`: what a step does not do of its orders goes back to the lane; else it does all of them.
 */
export type CostStepOptions = {
  readonly stored: Promise<void>
  readonly store: (rows: readonly MeterCostRow[]) => Promise<void>
  readonly canDefer: boolean
  /** It is slow work, and does the orders that take long. */
  readonly isSlowWork?: boolean
}

/** Settles steps. Several may be under way if no location is in two of them. */
export type CostStep = {
  readonly run: (input: StepInput, options: CostStepOptions) => Promise<StepResult>
  /** The newest readings that it knows of. */
  readonly newestReadings: NewestReadings
  /** Forget what was gathered: the last step did not reach the store. */
  readonly drop: () => void
}

type Records = StepInput['records']
type PricingByLocation = ReadonlyMap<string, CachedPricing>
type ChangeSets = Map<
  string,
  ChangeSet & { readonly records: RecordToCost[]; readonly triggers: RecostTrigger[]; hasEstimates: boolean }
>
type StepProgress = {
  readonly buffer: RowBuffer
  readonly poison: PoisonRecord[]
  readonly failedRequests: FailedRequest[]
  readonly pending: ReceivedRequest[]
  readonly slowRequests: ReceivedRequest[]
  readonly isSlowWork: boolean
}

/** Cost a record that stands alone; null, and it is poison, where that throws. Of a long one others run meanwhile. */
const tryCostAlone = (
  entry: RecordToCost,
  prices: CachedPricing,
  { poison }: StepProgress,
): MeterCostRow | Promise<MeterCostRow | null> | null => {
  if (isLong(entry)) return tryCostLong(entry, prices, poison)
  try {
    return costAlone(entry, prices)
  } catch (error) {
    poison.push({ entry, code: 'cost_failed', reason: String(error) })
    return null
  }
}

const tryCostLong = async (
  entry: RecordToCost,
  prices: CachedPricing,
  poison: PoisonRecord[],
): Promise<MeterCostRow | null> => {
  try {
    return (await runInTimeSlices(costInSteps(entry, prices))).row
  } catch (error) {
    poison.push({ entry, code: 'cost_failed', reason: String(error) })
    return null
  }
}

/** So many records are looked at before the time is. */
const recordsAtOnce = 64

/** Why the records of a location have no prices. */
const reasonWithoutPrices = (
  pricing: PricingCache,
  locationId: string,
): { readonly code: string; readonly reason: string } => {
  const fault = pricing.faultOf(locationId)
  return fault === undefined
    ? { code: 'location_unknown', reason: `${locationId} is not in the registry` }
    : { code: 'prices_failed', reason: `${locationId}: ${fault}` }
}

const pricingRequestsOf = (records: Records): readonly PricingRequest[] =>
  [...records].map(([locationId, entries]) => {
    const { accountId, liveMode } = (entries[0] as RecordToCost).part
    let from = Number.POSITIVE_INFINITY
    for (const { record } of entries) if (record.start < from) from = record.start
    return { accountId, liveMode, locationId, from }
  })

const withIntervals = (records: Records, intervals: readonly RecordToCost[]): Records => {
  if (intervals.length === 0) return records
  const all = new Map<string, readonly RecordToCost[]>(records)
  for (const [locationId, ownIntervals] of Map.groupBy(intervals, ({ record }) => record.locationId)) {
    all.set(locationId, [...(records.get(locationId) ?? []), ...ownIntervals])
  }
  return all
}

const changeSetOf = (
  changeSets: ChangeSets,
  of: Pick<ChangeSet, 'tenant' | 'locationId' | 'direction' | 'cachedPricing'>,
) => {
  const key = `${of.locationId}/${of.direction}`
  const known = changeSets.get(key)
  if (known !== undefined) return known
  const changeSet = { ...of, records: [], triggers: [], hasEstimates: false }
  changeSets.set(key, changeSet)
  return changeSet
}

/** The order for what records of a group have changed too far behind them to be costed again with them. */
const tierRequestOf = ({ changeSet, interval }: PendingInterval): ReceivedRequest => {
  const { tenant, locationId, records } = changeSet
  // The interval that a reading ends may have no message of its own; the one that it opens does.
  const origin = records.find(one => one.origin !== null)?.origin
  if (origin === undefined || origin === null) throw new Error(`no record of the step tells the lane of ${locationId}`)
  const request: StoredRowRequest = {
    ...{
      kind: 'order',
      orderKind: 'TIER',
      orderId: `tier-${origin.message.offset}-${locationId}`,
      ...tenant,
      ...interval,
    },
    ...{
      locationIds: [locationId],
      locationRevision: null,
      sourceId: null,
      priceRevision: null,
      objectId: null,
      detail: '',
    },
  }
  return { request, version: highestVersion(records), origin }
}

/** Make a settler on the stored rows and the book of prices. */
export const createCostStep = (
  db: ClickHouse,
  pricing: PricingCache,
  rangeLimits = defaultRowRangeLimits,
  loadLimits = defaultLoadLimits,
): CostStep => {
  const tiers = tierCache(db, pricing, rangeLimits)
  const estimates = estimateIndex(db)
  const newestReadings: NewestReadings = new Map()

  /**
   * Cost what stands alone; gather the rest by location and direction. Records of a location that an order of the step costs again go
   * with it: else it would write their stored forms behind them.
   */
  const costRecords = async (
    records: Records,
    requests: readonly ReceivedRequest[],
    cachedPricing: PricingByLocation,
    progress: StepProgress,
    changeSets: ChangeSets,
  ): Promise<void> => {
    const requestedLocations = new Set(requests.flatMap(({ request }) => request.locationIds))
    const timeSlice = startTimeSlices()
    let looked = 0
    for (const [locationId, entries] of records) {
      const prices = cachedPricing.get(locationId)
      for (const entry of entries) {
        looked += 1
        if (looked % recordsAtOnce === 0 && timeSlice.isOver()) await timeSlice.pause()
        if (prices === undefined) {
          progress.poison.push({ entry, ...reasonWithoutPrices(pricing, locationId) })
          continue
        }
        const hasEstimates = estimates.has(entry.record)
        if (
          !hasEstimates &&
          !requestedLocations.has(locationId) &&
          entry.version === entry.sourceVersion &&
          !isCounted(prices, entry)
        ) {
          const costed = tryCostAlone(entry, prices, progress)
          const row = costed instanceof Promise ? await costed : costed
          if (row !== null && progress.buffer.add(row)) await progress.buffer.store()
          continue
        }
        const { accountId, liveMode } = entry.part
        const direction = entry.record.tariffDirection
        const changeSet = changeSetOf(changeSets, {
          tenant: { accountId, liveMode },
          locationId,
          direction,
          cachedPricing: prices,
        })
        changeSet.records.push(entry)
        changeSet.hasEstimates ||= hasEstimates
      }
    }
  }

  const costChangeSets = async (
    changeSets: ChangeSets,
    tasks: readonly RecostTask[],
    stored: Promise<void>,
    progress: StepProgress,
  ): Promise<void> => {
    if (changeSets.size === 0) return
    const { failed, pending } = await tiers.cost([...changeSets.values()], stored, progress.buffer)
    progress.pending.push(...pending.map(tierRequestOf))
    for (const { changeSet, reason } of failed) {
      for (const entry of changeSet.records) progress.poison.push({ entry, code: 'cost_failed', reason })
      const failedTasks = tasks.filter(({ trigger }) => changeSet.triggers.includes(trigger))
      for (const { received: of } of failedTasks)
        progress.failedRequests.push({ received: of, reason: `${changeSet.locationId}: ${reason}` })
    }
  }

  /** Prices older than an order says are dropped before anything is costed. */
  const raiseRevisions = ({ request }: ReceivedRequest): void => {
    if (request.sourceId !== null && request.priceRevision !== null)
      pricing.invalidateSource(request.sourceId, request.priceRevision)
    for (const locationId of request.locationIds) {
      pricing.invalidateLocation(locationId, request.locationRevision ?? 0)
      // What is owed changes no count.
      if (request.orderKind !== 'TIER') tiers.dropLocation(locationId)
    }
  }

  const plan = async (
    requests: readonly ReceivedRequest[],
    stored: Promise<void>,
    changeSets: ChangeSets,
    isSlowWork: boolean,
  ): Promise<RecostPlan> => {
    if (requests.length === 0) return { tasks: [], deferred: [], failed: [], slowRequests: [] }
    await stored
    const planned = await planRecosts(db, pricing, requests, { ranges: rangeLimits, load: loadLimits }, isSlowWork)
    for (const { tenant, locationId, cachedPricing, trigger, isRange } of planned.tasks) {
      if (isRange) continue
      for (const direction of directions)
        changeSetOf(changeSets, { tenant, locationId, direction, cachedPricing }).triggers.push(trigger)
    }
    return planned
  }

  /** Slices of months too large to be held read what all else in the step has changed. */
  const costRequestedRanges = async (tasks: readonly RecostTask[], progress: StepProgress): Promise<void> => {
    for (const { tenant, locationId, cachedPricing, trigger, received: of } of tasks.filter(({ isRange }) => isRange)) {
      for (const direction of directions) {
        await progress.buffer.store()
        const reason = await costRequestedRange(
          { db, pricing, buffer: progress.buffer, limits: rangeLimits },
          { tenant, locationId, direction, cachedPricing },
          trigger,
        )
        if (reason !== null) progress.failedRequests.push({ received: of, reason: `${locationId}: ${reason}` })
      }
    }
  }

  /** Do orders, with the records of a step that go with them, and give what is left of them. */
  const costRequests = async (
    requests: readonly ReceivedRequest[],
    stored: Promise<void>,
    changeSets: ChangeSets,
    progress: StepProgress,
  ): Promise<readonly ReceivedRequest[]> => {
    const { tasks, deferred, failed, slowRequests } = await plan(requests, stored, changeSets, progress.isSlowWork)
    progress.failedRequests.push(...failed)
    progress.slowRequests.push(...slowRequests)
    await costChangeSets(changeSets, tasks, stored, progress)
    await costRequestedRanges(tasks, progress)
    return trimRecostOverlaps([...deferred, ...progress.pending.splice(0)])
  }

  return {
    newestReadings,
    run: async ({ records, readings, requests }, { stored, store, canDefer, isSlowWork = false }) => {
      if (readings.length > 0) await stored
      const readingsResult = await costReadings(db, readings, newestReadings)
      const all = withIntervals(records, readingsResult.intervals)
      await estimates.addRecords(all)
      for (const request of requests) raiseRevisions(request)
      const buffer = rowBuffer(async rows => {
        await stored
        await store(rows)
      })
      const progress: StepProgress = {
        buffer,
        poison: [],
        failedRequests: [],
        pending: [],
        slowRequests: [],
        isSlowWork,
      }
      const changeSets: ChangeSets = new Map()
      await costRecords(all, requests, await pricing.gather(pricingRequestsOf(all)), progress, changeSets)
      let deferred = await costRequests(requests, stored, changeSets, progress)
      while (deferred.length > 0 && !canDefer) {
        // The next part reads what this one has costed.
        await buffer.store()
        deferred = await costRequests(deferred, stored, new Map(), progress)
      }
      const { poison, failedRequests, slowRequests } = progress
      const { readings: storedReadings, failures } = readingsResult
      return {
        rows: buffer.rows(),
        costed: buffer.totals(),
        poison,
        failedRequests,
        readings: storedReadings,
        failures,
        deferred,
        slowRequests,
      }
    },
    drop: () => {
      tiers.drop()
      estimates.drop()
      newestReadings.clear()
    },
  }
}
