import { defaultLoadLimits } from '../domain/recost/recost-load.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import type { PlainRows } from '../platform/clickhouse/encoding/fast-path/plain-rows.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost/meter-cost-row.ts'
import type { MeterReadingRow } from '../platform/clickhouse/readings/meter-readings.ts'
import type { BatchFailureRow } from '../platform/clickhouse/readings/receipts.ts'
import { runInTimeSlices, startTimeSlices } from '../platform/concurrency/time-slices.ts'
import type { CachedPricing, PricingCache, PricingRequest } from '../platform/pricing-cache/pricing-cache.ts'
import { type CorrectionFinder, type Corrections, correctionFinder, type ObjectTime } from './correction-finder.ts'
import { costReadings, type NewestReadings, type ReadingToStore } from './cost-readings.ts'
import {
  type ChangeSets,
  changeSetOf,
  costRequests,
  invalidateCaches,
  type RecostDependencies,
  type StepProgress,
} from './cost-requests.ts'
import type { PoisonRecord } from './dead-letter.ts'
import { type EstimateIndex, estimateIndex } from './estimate-index.ts'
import { costPlainRecords, type StepColumns } from './plain-records.ts'
import { costAlone, costInSteps, isCounted, isLong, type RecordToCost } from './record-to-cost.ts'
import { defaultRowRangeLimits } from './recost/cost-ranges.ts'
import { mergeRequests, orderRequests, type ReceivedRequest, shareRequests } from './recost/merge-requests.ts'
import type { FailedRequest } from './recost/plan-recosts.ts'
import { tierCache } from './recost/tier-cache.ts'
import { findReplacedReadings, type ReplacedReadings } from './replaced-readings.ts'
import { rowBuffer } from './row-buffer.ts'

/** Records by location, in the order of their partition. */
export type RecordsByLocation = ReadonlyMap<string, readonly RecordToCost[]>

/**
 * Effects of a step. `readings` are stored last, after `failures`, `replaced` and `earlier`: these follow from the readings that
 * were stored before.
 */
export type StepResult = ReplacedReadings & {
  /** Rows that are not stored yet. */
  readonly rows: readonly MeterCostRow[]
  /** Plain rows of the step; not stored yet. */
  readonly plain: PlainRows | null
  /** Corrections of all records of the step. They are stored with the rows of their records. */
  readonly corrections: Corrections
  /** Number of all rows and cost pieces of the step, stored or not. */
  readonly costed: { readonly rows: number; readonly pieces: number }
  readonly poison: readonly PoisonRecord[]
  readonly readings: readonly MeterReadingRow[]
  readonly failures: readonly BatchFailureRow[]
  /** Remaining work of the step's requests. */
  readonly deferred: readonly ReceivedRequest[]
  /** Requests of one location each that take long: slow work. */
  readonly slowRequests: readonly ReceivedRequest[]
  readonly failedRequests: readonly FailedRequest[]
}

/** Records, readings and requests of a step. */
export type StepInput = {
  readonly records: RecordsByLocation
  /** Rows of the records that `costPlain` costed. */
  readonly plain?: PlainRows | null
  readonly readings: readonly ReadingToStore[]
  readonly requests: readonly ReceivedRequest[]
}

/**
 * `stored` resolves when the rows of the step before are stored; the store is read after that. `store` stores rows of
 * this step early, if their pieces are too many for the memory. `canDefer`: remaining work of requests goes back to the
 * partition; otherwise all is done now.
 */
export type CostStepOptions = {
  readonly stored: Promise<void>
  readonly store: (rows: readonly MeterCostRow[], corrections: Corrections) => Promise<void>
  readonly canDefer: boolean
  /** The step is slow work, and also does the requests that take long. */
  readonly isSlowWork?: boolean
}

/** Calculates the rows of steps. Two steps can run at the same time if they have no location in common. */
export type CostStep = {
  /** Cost the plain records of a step before `run` costs the others. See `costPlainRecords`. */
  readonly costPlain: (records: StepColumns, isExcluded: (object: ObjectTime) => boolean) => Promise<PlainRows | null>
  readonly run: (input: StepInput, options: CostStepOptions) => Promise<StepResult>
  /** The newest known reading of each register. */
  readonly newestReadings: NewestReadings
  /** Drop all caches: the rows of the last step were not stored. */
  readonly drop: () => void
}

type Dependencies = RecostDependencies & {
  readonly corrections: CorrectionFinder
  readonly estimates: EstimateIndex
  readonly newestReadings: NewestReadings
}

/** Records that are examined between two checks of the time slice. */
const recordsPerCheck = 64

/** Return the pricing that records need: of each location from its earliest record on. */
const pricingRequestsOf = (records: RecordsByLocation): readonly PricingRequest[] =>
  [...records].map(([locationId, entries]) => {
    const { accountId, liveMode } = (entries[0] as RecordToCost).part
    let from = Number.POSITIVE_INFINITY
    for (const { record } of entries) if (record.start < from) from = record.start
    return { accountId, liveMode, locationId, from }
  })

/** Return the reason why the records of a location have no prices. */
const reasonWithoutPrices = (
  pricing: Pick<PricingCache, 'faultOf'>,
  locationId: string,
): { readonly code: string; readonly reason: string } => {
  const fault = pricing.faultOf(locationId)
  return fault === undefined
    ? { code: 'location_unknown', reason: `${locationId} is not in the registry` }
    : { code: 'prices_failed', reason: `${locationId}: ${fault}` }
}

/** Cost a record that depends on no other. If costing throws, the record becomes poison and the result is null. */
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

/** Cost a long record in time slices, so that other work can run. */
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

/** Add a record to the change set of its location and direction. */
const addToChangeSet = (
  changeSets: ChangeSets,
  entry: RecordToCost,
  prices: CachedPricing,
  hasEstimates: boolean,
): void => {
  const { accountId, liveMode } = entry.part
  const { locationId, tariffDirection: direction } = entry.record
  const changeSet = changeSetOf(changeSets, { tenant: { accountId, liveMode }, locationId, direction, prices })
  changeSet.records.push(entry)
  changeSet.hasEstimates ||= hasEstimates
}

/**
 * Cost the records that depend on no other record, and add the others to change sets.
 * Records of a location that a request of the step recosts go into change sets too: the request would otherwise write
 * their stored forms.
 */
const costRecords = async (
  { pricing, estimates }: { readonly pricing: PricingCache; readonly estimates: EstimateIndex },
  records: RecordsByLocation,
  requests: readonly ReceivedRequest[],
  cachedPricing: ReadonlyMap<string, CachedPricing>,
  progress: StepProgress,
  changeSets: ChangeSets,
): Promise<void> => {
  const requestedLocations = new Set(requests.flatMap(({ request }) => request.locationIds))
  const timeSlice = startTimeSlices()
  let examined = 0
  for (const [locationId, entries] of records) {
    const prices = cachedPricing.get(locationId)
    for (const entry of entries) {
      examined += 1
      if (examined % recordsPerCheck === 0 && timeSlice.isOver()) await timeSlice.pause()
      if (prices === undefined) {
        progress.poison.push({ entry, ...reasonWithoutPrices(pricing, locationId) })
        continue
      }
      const hasEstimates = estimates.has(entry.record)
      const isAlone =
        !hasEstimates &&
        !requestedLocations.has(locationId) &&
        entry.version === entry.sourceVersion &&
        !isCounted(prices, entry)
      if (!isAlone) {
        addToChangeSet(changeSets, entry, prices, hasEstimates)
        continue
      }
      const costed = tryCostAlone(entry, prices, progress)
      const row = costed instanceof Promise ? await costed : costed
      if (row !== null && progress.buffer.add(row)) await progress.buffer.store()
    }
  }
}

/** Add register intervals to the records of their locations. */
const withIntervals = (records: RecordsByLocation, intervals: readonly RecordToCost[]): RecordsByLocation => {
  if (intervals.length === 0) return records
  const all = new Map<string, readonly RecordToCost[]>(records)
  for (const [locationId, ownIntervals] of Map.groupBy(intervals, ({ record }) => record.locationId)) {
    all.set(locationId, [...(records.get(locationId) ?? []), ...ownIntervals])
  }
  return all
}

/**
 * Cost a step: register readings become intervals, records become rows or change sets, requests and change sets become
 * rows.
 */
const runStep = async (
  dependencies: Dependencies,
  { records, plain = null, readings, requests }: StepInput,
  { stored, store, canDefer, isSlowWork = false }: CostStepOptions,
): Promise<StepResult> => {
  const { db, pricing, corrections: finder, estimates, newestReadings } = dependencies
  if (readings.length > 0) await stored
  const corrections = await finder.find(records, stored)
  const replacedReadings = await findReplacedReadings(db, readings, newestReadings)
  const readingsResult = await costReadings(db, readings, newestReadings)
  const all = withIntervals(records, readingsResult.intervals)
  await estimates.addRecords(all)
  for (const request of requests) invalidateCaches(dependencies, request)
  const buffer = rowBuffer(async rows => {
    await stored
    await store(rows, corrections)
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
  const prices = await pricing.gather(pricingRequestsOf(all))
  await costRecords(dependencies, all, requests, prices, progress, changeSets)
  let deferred = await costRequests(dependencies, orderRequests(requests), stored, changeSets, progress)
  while (deferred.length > 0 && !canDefer) {
    // The next part reads the rows of this one.
    await buffer.store()
    deferred = await costRequests(dependencies, deferred, stored, new Map(), progress)
  }
  const { poison, failedRequests, slowRequests } = progress
  const { rows, pieces } = buffer.totals()
  const plainCount = plain?.rows.length ?? 0
  return {
    rows: buffer.rows(),
    plain,
    corrections,
    costed: { rows: rows + plainCount, pieces: pieces + plainCount },
    readings: readingsResult.readings,
    failures: readingsResult.failures,
    ...replacedReadings,
    deferred: mergeRequests(shareRequests(deferred)),
    poison,
    failedRequests,
    slowRequests,
  }
}

/** Create the calculation of steps over the stored rows and the pricing cache. */
export const createCostStep = (
  db: ClickHouse,
  pricing: PricingCache,
  rangeLimits = defaultRowRangeLimits,
  loadLimits = defaultLoadLimits,
): CostStep => {
  const tiers = tierCache(db, pricing, rangeLimits)
  const estimates = estimateIndex(db)
  const corrections = correctionFinder(db)
  const newestReadings: NewestReadings = new Map()
  const dependencies: Dependencies = {
    db,
    pricing,
    tiers,
    rangeLimits,
    loadLimits,
    corrections,
    estimates,
    newestReadings,
  }
  return {
    newestReadings,
    costPlain: (records, isExcluded) => {
      corrections.trim()
      return costPlainRecords(records, dependencies, isExcluded)
    },
    run: (input, options) => runStep(dependencies, input, options),
    drop: () => {
      tiers.drop()
      estimates.drop()
      corrections.drop()
      newestReadings.clear()
    },
  }
}
