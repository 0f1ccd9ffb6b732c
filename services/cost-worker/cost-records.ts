import type { RecostTrigger } from '../domain/recost/change-set.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost/meter-cost-row.ts'
import { runInTimeSlices, startTimeSlices } from '../platform/concurrency/time-slices.ts'
import type { CachedPricing, PricingCache, PricingRequest } from '../platform/pricing-cache/pricing-cache.ts'
import type { PoisonRecord } from './dead-letter.ts'
import type { EstimateIndex } from './estimate-index.ts'
import { costAlone, costInSteps, isCounted, isLong, type RecordToCost } from './record-to-cost.ts'
import type { ReceivedRequest } from './recost/merge-requests.ts'
import type { FailedRequest } from './recost/plan-recosts.ts'
import type { LocationChanges } from './recost/recost.ts'
import type { RowBuffer } from './row-buffer.ts'

/** Records by location, in the order of their partition. */
export type RecordsByLocation = ReadonlyMap<string, readonly RecordToCost[]>

/** Change sets of a step, by location and direction. They grow while the records are examined. */
export type ChangeSets = Map<
  string,
  LocationChanges & { readonly records: RecordToCost[]; readonly triggers: RecostTrigger[]; hasEstimates: boolean }
>

/** Results of a step so far. */
export type StepProgress = {
  readonly buffer: RowBuffer
  readonly poison: PoisonRecord[]
  readonly failedRequests: FailedRequest[]
  /** Recost requests for stored rows that are too many to recost with the records that changed them. */
  readonly pending: ReceivedRequest[]
  readonly slowRequests: ReceivedRequest[]
  readonly isSlowWork: boolean
}

/** Records that are examined between two checks of the time slice. */
const recordsPerCheck = 64

/** Return the change set of a location and direction; create it if there is none. */
export const changeSetOf = (
  changeSets: ChangeSets,
  of: Pick<LocationChanges, 'tenant' | 'locationId' | 'direction' | 'prices'>,
) => {
  const key = `${of.locationId}/${of.direction}`
  const known = changeSets.get(key)
  if (known !== undefined) return known
  const changeSet = { ...of, records: [], triggers: [], hasEstimates: false }
  changeSets.set(key, changeSet)
  return changeSet
}

/** Return the pricing that records need: of each location from its earliest record on. */
export const pricingRequestsOf = (records: RecordsByLocation): readonly PricingRequest[] =>
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
export const costRecords = async (
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
