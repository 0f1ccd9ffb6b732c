import { directions, highestVersion, type RecostTrigger } from '../domain/recost/change-set.ts'
import type { LoadLimits } from '../domain/recost/recost-load.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import type { StoredRowRequest } from '../platform/log/messages.ts'
import type { PricingCache } from '../platform/pricing-cache/pricing-cache.ts'
import type { PoisonRecord } from './dead-letter.ts'
import type { RecordToCost } from './record-to-cost.ts'
import { costRequestedRange, type RowRangeLimits } from './recost/cost-ranges.ts'
import { type ReceivedRequest, trimRequests } from './recost/merge-requests.ts'
import { type FailedRequest, planRecosts, type RecostPlan, type RecostTask } from './recost/plan-recosts.ts'
import type { LocationChanges } from './recost/recost.ts'
import type { PendingInterval, TierCache } from './recost/tier-cache.ts'
import type { RowBuffer } from './row-buffer.ts'

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

export type RecostDependencies = {
  readonly db: ClickHouse
  readonly pricing: PricingCache
  readonly tiers: TierCache
  readonly rangeLimits: RowRangeLimits
  readonly loadLimits: LoadLimits
}

/**
 * Create the request for rows that changed records of a location affect, and that are too many to recost with these
 * records.
 */
const tierRequestOf = ({ changeSet, interval }: PendingInterval): ReceivedRequest => {
  const { tenant, locationId, records } = changeSet
  // The interval that a reading closes can have no message of its own. The interval that it opens has one.
  const origin = records.find(one => one.origin !== null)?.origin
  if (origin === undefined || origin === null)
    throw new Error(`No record of the step has the partition of ${locationId}.`)
  const request: StoredRowRequest = {
    kind: 'order',
    orderKind: 'TIER',
    orderId: `tier-${origin.message.offset}-${locationId}`,
    ...tenant,
    from: interval.start,
    to: interval.end,
    locationIds: [locationId],
    locationRevision: null,
    sourceId: null,
    priceRevision: null,
    objectId: null,
    detail: '',
  }
  return { request, version: highestVersion(records), origin }
}

/**
 * Drop prices and tails that are older than a request. Call it for all requests of a step before its records are
 * costed.
 */
export const invalidateCaches = ({ pricing, tiers }: RecostDependencies, { request }: ReceivedRequest): void => {
  if (request.sourceId !== null && request.priceRevision !== null)
    pricing.invalidateSource(request.sourceId, request.priceRevision)
  for (const locationId of request.locationIds) {
    pricing.invalidateLocation(locationId, request.locationRevision ?? 0)
    // Pending rows change no counted energy.
    if (request.orderKind !== 'TIER') tiers.dropLocation(locationId)
  }
}

/** Plan the requests of a step and add their triggers to the change sets. */
const plan = async (
  { db, pricing, rangeLimits, loadLimits }: RecostDependencies,
  requests: readonly ReceivedRequest[],
  stored: Promise<void>,
  changeSets: ChangeSets,
  isSlowWork: boolean,
): Promise<RecostPlan> => {
  if (requests.length === 0) return { tasks: [], deferred: [], failed: [], slowRequests: [] }
  await stored
  const planned = await planRecosts(db, pricing, requests, { ranges: rangeLimits, load: loadLimits }, isSlowWork)
  for (const { tenant, locationId, prices, trigger, isRange } of planned.tasks) {
    if (isRange) continue
    for (const direction of directions)
      changeSetOf(changeSets, { tenant, locationId, direction, prices }).triggers.push(trigger)
  }
  return planned
}

const costChangeSets = async (
  { tiers }: RecostDependencies,
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
    for (const { received } of failedTasks)
      progress.failedRequests.push({ received, reason: `${changeSet.locationId}: ${reason}` })
  }
}

/** Recost row ranges. They come last, because they read the rows of all other work of the step. */
const costRequestedRanges = async (
  { db, pricing, rangeLimits: limits }: RecostDependencies,
  tasks: readonly RecostTask[],
  { buffer, failedRequests }: StepProgress,
): Promise<void> => {
  for (const { tenant, locationId, prices, trigger, received } of tasks.filter(({ isRange }) => isRange)) {
    for (const direction of directions) {
      await buffer.store()
      const flow = { tenant, locationId, direction, prices }
      const reason = await costRequestedRange({ db, pricing, buffer, limits }, flow, trigger)
      if (reason !== null) failedRequests.push({ received, reason: `${locationId}: ${reason}` })
    }
  }
}

/** Do the recost requests of a step together with its change sets. Return the deferred requests. */
export const costRequests = async (
  dependencies: RecostDependencies,
  requests: readonly ReceivedRequest[],
  stored: Promise<void>,
  changeSets: ChangeSets,
  progress: StepProgress,
): Promise<readonly ReceivedRequest[]> => {
  const planned = await plan(dependencies, requests, stored, changeSets, progress.isSlowWork)
  const { tasks, deferred, failed, slowRequests } = planned
  progress.failedRequests.push(...failed)
  progress.slowRequests.push(...slowRequests)
  await costChangeSets(dependencies, changeSets, tasks, stored, progress)
  await costRequestedRanges(dependencies, tasks, progress)
  return trimRequests([...deferred, ...progress.pending.splice(0)])
}
