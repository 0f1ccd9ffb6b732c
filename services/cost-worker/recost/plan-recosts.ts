import { directions, isTiered, type RecostTrigger } from '../../domain/recost/change-set.ts'
import {
  exhaustBudget,
  type LoadLimits,
  type MonthToRecost,
  maxRowsAtOnce,
  monthsToRecost,
  pieceCountsOf,
  type RecostBudget,
  type RowLengths,
  recostBudget,
  recostLimits,
  spendBudget,
} from '../../domain/recost/recost-load.ts'
import { tenantKey } from '../../domain/tenant.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import {
  type LongRows,
  longRowsWithin,
  type MonthCount,
  rowsByMonth,
  startOfRow,
} from '../../platform/clickhouse/meter-cost/meter-cost-counts.ts'
import type { Tenant } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { StoredRowRequest } from '../../platform/log/messages.ts'
import type { CachedPricing, PricingCache, PricingRequest } from '../../platform/pricing-cache/pricing-cache.ts'
import type { RowRangeLimits } from './cost-ranges.ts'
import { startOfRowsAcross } from './gather-range.ts'
import { isTierRequest, type ReceivedRequest } from './merge-requests.ts'

/**
 * One location and month to recost. `isRange`: the task applies to rows that start in the trigger's interval. Rows that
 * start earlier and end in it belong to the range before.
 */
export type RecostTask = {
  readonly isRange: boolean
  readonly tenant: Tenant
  readonly locationId: string
  readonly prices: CachedPricing
  readonly trigger: RecostTrigger
  readonly received: ReceivedRequest
}

/** Request that failed at a location. */
export type FailedRequest = { readonly received: ReceivedRequest; readonly reason: string }

/** Work of a step for its recost requests. `deferred` goes to the end of the partition. */
export type RecostPlan = {
  readonly tasks: readonly RecostTask[]
  readonly deferred: readonly ReceivedRequest[]
  readonly failed: readonly FailedRequest[]
  /** Requests of one location each whose rows have many cost pieces: slow work. */
  readonly slowRequests: readonly ReceivedRequest[]
}

/** Limits of the work that is done at a time. */
export type PlanLimits = { readonly ranges: RowRangeLimits; readonly load: LoadLimits }

/** Request of a step, and the locations of it that the step examines. */
type SelectedLocations = {
  readonly received: ReceivedRequest
  readonly tenant: Tenant
  readonly locationIds: readonly string[]
}

type LocationToRecost = {
  readonly locationId: string
  readonly prices: CachedPricing
  readonly months: readonly MonthCount[]
}

/** Plan of a step while it is made. */
type PlanDraft = {
  readonly db: ClickHouse
  readonly limits: PlanLimits
  readonly isSlowWork: boolean
  readonly longRows: ReadonlyMap<string, LongRows>
  readonly budget: RecostBudget
  readonly tasks: RecostTask[]
  readonly deferred: ReceivedRequest[]
  readonly failed: FailedRequest[]
  readonly slowRequests: ReceivedRequest[]
}

/** Rows of one location to recost at a time. `isReduced`: fewer than usual, because they have many cost pieces. */
type RowLimit = { readonly maxRows: number; readonly isReduced: boolean }

/** Rows with the same key are read and written together. */
const monthKeyOf = ({ accountId, liveMode }: Tenant, { start }: MonthToRecost): string =>
  `${accountId}/${liveMode}/${new Date(start).toISOString().slice(0, 7)}`

/** Select the first locations of a step's requests. A message about a new revision of a source has no locations. */
const selectLocations = (requests: readonly ReceivedRequest[], maxLocations: number): readonly SelectedLocations[] => {
  let remaining = maxLocations
  return requests.flatMap(received => {
    const { accountId, liveMode, locationIds } = received.request
    if (accountId === null) return []
    const ids = locationIds.slice(0, remaining)
    remaining -= ids.length
    return [{ received, tenant: { accountId, liveMode }, locationIds: ids }]
  })
}

const earliest = (limits: readonly (number | null)[]): number | null =>
  limits.reduce((a, b) => (a === null || b === null ? null : Math.min(a, b)))
const latest = (limits: readonly (number | null)[]): number | null =>
  limits.reduce((a, b) => (a === null || b === null ? null : Math.max(a, b)))

/**
 * Read something of all selected locations, in the intervals of their requests: one statement for each account and
 * mode.
 */
const readSelected = async <T>(
  read: (
    tenant: Tenant,
    locationIds: readonly string[],
    from: number | null,
    to: number | null,
  ) => Promise<readonly T[]>,
  selections: readonly SelectedLocations[],
): Promise<readonly T[]> => {
  const found: T[] = []
  for (const selected of Map.groupBy(selections, ({ tenant }) => tenantKey(tenant)).values()) {
    const from = earliest(selected.map(({ received }) => received.request.from))
    const to = latest(selected.map(({ received }) => received.request.to))
    const ids = [...new Set(selected.flatMap(selection => selection.locationIds))]
    found.push(...(await read((selected[0] as SelectedLocations).tenant, ids, from, to)))
  }
  return found
}

/** Load the prices of all selected locations, each from the earliest start of its requests on. */
const gatherPrices = (
  pricing: Pick<PricingCache, 'gather'>,
  selections: readonly SelectedLocations[],
): ReturnType<PricingCache['gather']> => {
  const pricingRequests = new Map<string, PricingRequest>()
  for (const { received, tenant, locationIds: ids } of selections) {
    for (const locationId of ids) {
      const from = Math.min(
        received.request.from ?? 0,
        pricingRequests.get(locationId)?.from ?? Number.POSITIVE_INFINITY,
      )
      pricingRequests.set(locationId, { ...tenant, locationId, from })
    }
  }
  return pricing.gather([...pricingRequests.values()])
}

const noRows: RowLengths = { rows: 0, lengthMs: 0 }

const sumOf = (counts: readonly RowLengths[]): RowLengths => ({
  rows: counts.reduce((sum, { rows }) => sum + rows, 0),
  lengthMs: counts.reduce((sum, { lengthMs }) => sum + lengthMs, 0),
})

/** Return the part of a month to recost at a time: all of it if it has few rows. */
const rangeOf = async (
  db: ClickHouse,
  { received, tenant }: SelectedLocations,
  { locationId, prices }: LocationToRecost,
  month: MonthToRecost,
  { maxRows, isReduced }: RowLimit,
) => {
  const hasTiers = directions.some(direction => isTiered({ prices, direction }))
  const isRange = isTierRequest(received) || isReduced || (hasTiers && month.rows > maxRows)
  const flows =
    isRange && !isTierRequest(received) ? directions.map(direction => ({ tenant, locationId, direction })) : []
  // Rows that share time with the start of the interval can start before it.
  const start = Math.min(
    month.start,
    ...(await Promise.all(flows.map(flow => startOfRowsAcross(db, flow, month.start)))),
  )
  if (month.rows <= maxRows && !(isReduced && start < month.start)) return { isRange, start, end: month.end }
  const next = await startOfRow(db, tenant, locationId, { from: start, to: month.end }, maxRows)
  return { isRange, start, end: next === null ? month.end : Math.max(next, start + 1) }
}

const defer = (
  { deferred }: PlanDraft,
  received: ReceivedRequest,
  locationIds: readonly string[],
  changes: Partial<StoredRowRequest>,
): void => {
  if (locationIds.length > 0) deferred.push({ ...received, request: { ...received.request, ...changes, locationIds } })
}

/**
 * Defer the work of a request after a range that ends at `end`. Return whether the location has no more work in this
 * step.
 */
const deferAfterRange = (
  draft: PlanDraft,
  { received }: SelectedLocations,
  { locationId }: LocationToRecost,
  month: MonthToRecost & { readonly isLast: boolean },
  { isRange, end, isReduced }: { readonly isRange: boolean; readonly end: number; readonly isReduced: boolean },
): boolean => {
  if (isReduced && !isTierRequest(received)) {
    // A long row is recosted once, even if it spans several months: the deferred request applies to rows that start in
    // its interval.
    if (end < month.end || !month.isLast) defer(draft, received, [locationId], { orderKind: 'TIER', from: end })
    return true
  }
  if (end === month.end) return false
  if (!isRange || isTierRequest(received)) defer(draft, received, [locationId], { from: end })
  else {
    defer(draft, received, [locationId], { orderKind: 'TIER', from: end, to: month.end })
    if (month.end !== received.request.to) defer(draft, received, [locationId], { from: month.end })
  }
  return true
}

/** Add months of a location to the plan until the budget is used. */
const planLocation = async (
  draft: PlanDraft,
  selection: SelectedLocations,
  target: LocationToRecost,
): Promise<void> => {
  const { limits, budget } = draft
  const { received, tenant } = selection
  const { request } = received
  const { locationId, prices } = target
  const from = request.from ?? target.months[0]?.month ?? 0
  const pieces = pieceCountsOf(prices, from, sumOf(target.months))
  const longPieces = pieceCountsOf(prices, from, draft.longRows.get(locationId) ?? noRows)
  const maxRows = maxRowsAtOnce([pieces, longPieces], limits.ranges.rowsAtOnce, limits.load)
  const isReduced = maxRows < limits.ranges.rowsAtOnce
  if (isReduced && !draft.isSlowWork) {
    draft.slowRequests.push({ ...received, request: { ...request, locationIds: [locationId] } })
    return
  }
  const months = monthsToRecost(prices.snapshot.timeZone, { start: request.from, end: request.to }, target.months)
  for (const month of months) {
    if (budget.remainingRows <= 0) return defer(draft, received, [locationId], { from: month.start })
    const { isRange, start, end } = await rangeOf(draft.db, selection, target, month, { maxRows, isReduced })
    const trigger = { start, end, version: received.version }
    draft.tasks.push({ tenant, locationId, prices, trigger, received, isRange })
    spendBudget(budget, monthKeyOf(tenant, month), Math.min(month.rows, limits.ranges.rowsAtOnce), pieces)
    if (isReduced) exhaustBudget(budget)
    const isLast = month === months.at(-1)
    if (deferAfterRange(draft, selection, target, { ...month, isLast }, { isRange, end, isReduced })) return
  }
}

/**
 * Plan the work of a step for its recost requests: location-months until the budget is used, at least one. The rest is
 * deferred to the end of the partition, so that new records do not wait. Locations whose rows have many cost pieces
 * become slow work. Slow work plans with `isSlowWork`, and recosts some rows of one month at a time.
 */
export const planRecosts = async (
  db: ClickHouse,
  pricing: Pick<PricingCache, 'gather' | 'faultOf'>,
  requests: readonly ReceivedRequest[],
  limits: PlanLimits,
  isSlowWork = false,
): Promise<RecostPlan> => {
  const selections = selectLocations(requests, recostLimits.locations)
  const prices = await gatherPrices(pricing, selections)
  const monthCounts = await readSelected((...query) => rowsByMonth(db, ...query), selections)
  const longRows = await readSelected((...query) => longRowsWithin(db, ...query), selections)
  const monthsByLocation = Map.groupBy(monthCounts, ({ locationId }) => locationId)
  const draft: PlanDraft = {
    db,
    limits,
    isSlowWork,
    budget: recostBudget(),
    longRows: new Map(longRows.map(rows => [rows.locationId, rows])),
    tasks: [],
    deferred: [],
    failed: [],
    slowRequests: [],
  }
  for (const selection of selections) {
    const { received, locationIds: ids } = selection
    let plannedCount = 0
    for (; plannedCount < ids.length && draft.budget.remainingRows > 0; plannedCount += 1) {
      const locationId = ids[plannedCount] as string
      const cached = prices.get(locationId)
      const fault = cached === undefined ? pricing.faultOf(locationId) : undefined
      if (cached !== undefined)
        await planLocation(draft, selection, {
          locationId,
          prices: cached,
          months: monthsByLocation.get(locationId) ?? [],
        })
      else if (fault !== undefined) draft.failed.push({ received, reason: `${locationId}: ${fault}` })
    }
    defer(draft, received, received.request.locationIds.slice(plannedCount), {})
  }
  const { tasks, deferred, failed, slowRequests } = draft
  return { tasks, deferred, failed, slowRequests }
}
