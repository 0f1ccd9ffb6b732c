import { nextLocalMonth, startOfLocalMonth } from '../../domain/civil-time.ts'
import { hasTieredPrices } from '../../domain/tariff/snapshot.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import {
  type LongRows,
  longRowsWithin,
  type MonthCount,
  rowsByMonth,
  startOfRow,
} from '../../platform/clickhouse/meter-cost/meter-cost-counts.ts'
import type { QueryInterval, Tenant } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { StoredRowRequest } from '../../platform/log/messages.ts'
import type { CachedPricing, PricingCache, PricingRequest } from '../../platform/pricing-cache/pricing-cache.ts'
import type { MessageOrigin } from '../record-to-cost.ts'
import { estimateEdges, type LoadLimits } from '../slow-work/step-load.ts'
import { directions, type RecostTrigger } from './change-set.ts'
import type { RowRangeLimits } from './cost-ranges.ts'
import { startOfRowsAcross } from './gather-range.ts'

/** An order as it stands in its lane. */
export type ReceivedRequest = {
  readonly request: StoredRowRequest
  readonly version: bigint
  readonly origin: MessageOrigin
}

/** A location-month whose rows are costed again. Of a slice, those that start in its span: what reaches into it is of the one before. */
export type RecostTask = {
  readonly isRange: boolean
  readonly tenant: Tenant
  readonly locationId: string
  readonly cachedPricing: CachedPricing
  readonly trigger: RecostTrigger
  readonly received: ReceivedRequest
}

/** An order that cannot be done at a location. */
export type FailedRequest = { readonly received: ReceivedRequest; readonly reason: string }

/** What a step does of its orders, and what goes back to the end of the lane. */
export type RecostPlan = {
  readonly tasks: readonly RecostTask[]
  readonly deferred: readonly ReceivedRequest[]
  readonly failed: readonly FailedRequest[]
  /** For locations whose rows take long to cost again: to be done beside the steps. */
  readonly slowRequests: readonly ReceivedRequest[]
}

/**
 * How much a step does of its orders at a time: location-months until about so many rows, of so many locations at most. Fresh records wait
 * for such a step; a smaller one costs nearly as much.
 */
const recostBudget = { rows: 5_000, locations: 200 }

/** Locations in a message. */
const maxLocationsPerRequest = 500
/** A location-month costs about as much as so many rows, however few it has. */
const rowsPerTask = 5
/** A month that no other portion of the step lies in costs a statement and a part of the table, about as much as so many rows. */
const rowsPerNewMonth = 150
/** So many pieces cost about as much as a row. */
const piecesPerRow = 8

type LocationToRecost = {
  readonly locationId: string
  readonly cachedPricing: CachedPricing
  readonly months: readonly MonthCount[]
}

type MonthRows = QueryInterval & { readonly rows: number }

/** The local months of a location that have rows in the order's span, with about how many; the one that holds the span's start always. */
const monthsToRecost = (
  { from, to }: StoredRowRequest,
  { cachedPricing, months }: LocationToRecost,
): readonly MonthRows[] => {
  const zone = cachedPricing.snapshot.timeZone
  const rowsOf = new Map<number, number>()
  const bound = from ?? months[0]?.month
  if (bound === undefined) return []
  rowsOf.set(startOfLocalMonth(zone, bound), 0)
  for (const { month, rows } of months) {
    const date = new Date(month)
    const end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
    for (let at = startOfLocalMonth(zone, month); at < end; at = nextLocalMonth(zone, at))
      rowsOf.set(at, (rowsOf.get(at) ?? 0) + rows)
  }
  return [...rowsOf]
    .sort(([a], [b]) => a - b)
    .map(([start, rows]) => ({
      from: Math.max(start, from ?? start),
      to: Math.min(nextLocalMonth(zone, start), to ?? Number.POSITIVE_INFINITY),
      rows,
    }))
    .filter(interval => interval.from < interval.to)
}

/** What is taken of a span at a time: all of it where it has few rows. */
const rangeOf = async (
  db: ClickHouse,
  { received, tenant }: SelectedLocations,
  { locationId, cachedPricing }: LocationToRecost,
  interval: MonthRows,
  maxRows: number,
  isReduced: boolean,
) => {
  const isTiered = directions.some(direction => hasTieredPrices(cachedPricing.snapshot, direction))
  const isRange = isTierRequest(received) || isReduced || (isTiered && interval.rows > maxRows)
  const flows =
    isRange && !isTierRequest(received) ? directions.map(direction => ({ tenant, locationId, direction })) : []
  // Rows that share time with the start of a span may begin before it.
  const from = Math.min(
    interval.from,
    ...(await Promise.all(flows.map(flow => startOfRowsAcross(db, flow, interval.from)))),
  )
  if (interval.rows <= maxRows && !(isReduced && from < interval.from)) return { isRange, from, to: interval.to }
  const start = await startOfRow(db, tenant, locationId, { from, to: interval.to }, maxRows)
  return { isRange, from, to: start === null ? interval.to : Math.max(start, from + 1) }
}

/** An order for rows that start in its span; of others, for those that share time with it. */
export const isTierRequest = ({ request }: Pick<ReceivedRequest, 'request'>): boolean => request.orderKind === 'TIER'

/** Rows of months that have this in common are read and written together. */
const monthOf = ({ accountId, liveMode }: Tenant, { from }: QueryInterval): string =>
  `${accountId}/${liveMode}/${new Date(from).toISOString().slice(0, 7)}`

const differOnlyInLocations = (a: ReceivedRequest, b: ReceivedRequest): boolean => {
  const [first, second] = [a.request, b.request]
  return (
    a.origin.assignment.partition === b.origin.assignment.partition &&
    first.orderKind === second.orderKind &&
    first.accountId === second.accountId &&
    first.liveMode === second.liveMode &&
    first.sourceId === second.sourceId &&
    first.priceRevision === second.priceRevision &&
    first.locationRevision === second.locationRevision &&
    first.from === second.from &&
    first.to === second.to
  )
}

/** Put what is left of orders together where only the locations differ. */
const mergeRequests = (deferred: readonly ReceivedRequest[]): readonly ReceivedRequest[] => {
  const requests: ReceivedRequest[] = []
  for (const received of deferred) {
    const last = requests.at(-1)
    if (
      last !== undefined &&
      differOnlyInLocations(last, received) &&
      last.request.locationIds.length + received.request.locationIds.length <= maxLocationsPerRequest
    ) {
      requests[requests.length - 1] = {
        ...last,
        request: { ...last.request, locationIds: [...last.request.locationIds, ...received.request.locationIds] },
      }
    } else requests.push(received)
  }
  return requests
}

/** An order of a step, and those of its locations that the step looks at. */
type SelectedLocations = {
  readonly received: ReceivedRequest
  readonly tenant: Tenant
  readonly locationIds: readonly string[]
}

/** Look at the first locations of a step's orders; a notice of a source's new revision has none. */
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

/** Count the rows of all locations that are looked at, by month: a statement for each account and mode. */
const countMonths = async (
  db: ClickHouse,
  selections: readonly SelectedLocations[],
): Promise<ReadonlyMap<string, readonly MonthCount[]>> => {
  const counts: MonthCount[] = []
  for (const tenantSelections of Map.groupBy(
    selections,
    ({ tenant }) => `${tenant.accountId}/${tenant.liveMode}`,
  ).values()) {
    const from = earliest(tenantSelections.map(({ received }) => received.request.from))
    const to = latest(tenantSelections.map(({ received }) => received.request.to))
    const ids = [...new Set(tenantSelections.flatMap(selection => selection.locationIds))]
    counts.push(...(await rowsByMonth(db, (tenantSelections[0] as SelectedLocations).tenant, ids, from, to)))
  }
  return Map.groupBy(counts, ({ locationId }) => locationId)
}

/** The long rows of all locations that are looked at, in the spans of their orders. */
const longRowsOf = async (
  db: ClickHouse,
  selections: readonly SelectedLocations[],
): Promise<ReadonlyMap<string, LongRows>> => {
  const found: LongRows[] = []
  for (const tenantSelections of Map.groupBy(
    selections,
    ({ tenant }) => `${tenant.accountId}/${tenant.liveMode}`,
  ).values()) {
    const from = earliest(tenantSelections.map(({ received }) => received.request.from))
    const to = latest(tenantSelections.map(({ received }) => received.request.to))
    found.push(
      ...(await longRowsWithin(
        db,
        (tenantSelections[0] as SelectedLocations).tenant,
        [...new Set(tenantSelections.flatMap(selection => selection.locationIds))],
        from,
        to,
      )),
    )
  }
  return new Map(found.map(received => [received.locationId, received]))
}

/** What bounds how much is done at a time. */
export type PlanLimits = { readonly ranges: RowRangeLimits; readonly load: LoadLimits }

type Lengths = { readonly rows: number; readonly lengthMs: number }

/** Rows that have so many pieces in all, and each of them on average. */
type PieceCounts = { readonly total: number; readonly perRow: number }

const pieceCountsOf = (cachedPricing: CachedPricing, from: number, { rows, lengthMs }: Lengths): PieceCounts => {
  if (rows === 0) return { total: 0, perRow: 0 }
  const lengths = { from, to: Number.POSITIVE_INFINITY, lengthMs, longestMs: lengthMs / rows }
  const total = Math.max(...directions.map(direction => estimateEdges(cachedPricing, direction, lengths)))
  return { total, perRow: total / rows }
}

const noRows: Lengths = { rows: 0, lengthMs: 0 }

const sumOf = (counts: readonly Lengths[]): Lengths => ({
  rows: counts.reduce((sum, { rows }) => sum + rows, 0),
  lengthMs: counts.reduce((sum, { lengthMs }) => sum + lengthMs, 0),
})

/** How many rows of a location are costed again at a time: fewer than usual where these, or the long ones among them, have many pieces. */
const rowsAtOnce = (
  counts: readonly PieceCounts[],
  usual: number,
  { maxPieces, minPiecesPerRecord }: LoadLimits,
): number => {
  let maxRows = usual
  for (const { total, perRow } of counts)
    if (total > maxPieces && perRow >= minPiecesPerRecord)
      maxRows = Math.min(maxRows, Math.max(1, Math.floor(maxPieces / perRow)))
  return maxRows
}

/** The prices of all locations that are looked at, each from the earliest start of its orders on. */
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

/**
 * Plan what a step does of its orders: location-months until the budget is used up, at least one; the rest goes back to the end of the
 * lane, so that fresh records never wait for long. Locations whose rows have many pieces are left to slow work, which comes here with `isBeside`
 * and takes some rows of one month at a time.
 */
export const planRecosts = async (
  db: ClickHouse,
  pricing: Pick<PricingCache, 'gather' | 'faultOf'>,
  requests: readonly ReceivedRequest[],
  { ranges: limits, load }: PlanLimits,
  isSlowWork = false,
): Promise<RecostPlan> => {
  const selections = selectLocations(requests, recostBudget.locations)
  const [cachedPricing, counts, longRows] = [
    await gatherPrices(pricing, selections),
    await countMonths(db, selections),
    await longRowsOf(db, selections),
  ]
  const tasks: RecostTask[] = []
  const deferred: ReceivedRequest[] = []
  const failed: FailedRequest[] = []
  const slowRequests: ReceivedRequest[] = []
  const months = new Set<string>()
  let remainingRows = recostBudget.rows

  const defer = (
    received: ReceivedRequest,
    locationIds: readonly string[],
    changes: Partial<StoredRowRequest>,
  ): void => {
    if (locationIds.length > 0)
      deferred.push({ ...received, request: { ...received.request, ...changes, locationIds } })
  }

  /** Take months of a location until the budget is used up. */
  const planLocation = async (selection: SelectedLocations, target: LocationToRecost): Promise<void> => {
    const { received, tenant } = selection
    const { locationId, cachedPricing } = target
    const from = received.request.from ?? target.months[0]?.month ?? 0
    const pieces = pieceCountsOf(cachedPricing, from, sumOf(target.months))
    const maxRows = rowsAtOnce(
      [pieces, pieceCountsOf(cachedPricing, from, longRows.get(locationId) ?? noRows)],
      limits.rowsAtOnce,
      load,
    )
    const isReduced = maxRows < limits.rowsAtOnce
    if (isReduced && !isSlowWork) {
      slowRequests.push({ ...received, request: { ...received.request, locationIds: [locationId] } })
      return
    }
    const intervals = monthsToRecost(received.request, target)
    for (const interval of intervals) {
      if (remainingRows <= 0) return defer(received, [locationId], { from: interval.from })
      const { isRange, from, to } = await rangeOf(db, selection, target, interval, maxRows, isReduced)
      tasks.push({
        tenant,
        locationId,
        cachedPricing,
        trigger: { from, to, version: received.version },
        received,
        isRange,
      })
      const month = monthOf(tenant, interval)
      const rows = Math.min(interval.rows, limits.rowsAtOnce) * (1 + pieces.perRow / piecesPerRow)
      remainingRows -= isReduced ? remainingRows : rows + rowsPerTask + (months.has(month) ? 0 : rowsPerNewMonth)
      months.add(month)
      if (isReduced && !isTierRequest(received)) {
        // Each long row once, however many months it lies in: what follows is done for rows that start there.
        if (to < interval.to || interval !== intervals.at(-1))
          defer(received, [locationId], { orderKind: 'TIER', from: to })
        return
      }
      if (to === interval.to) continue
      if (!isRange || isTierRequest(received)) return defer(received, [locationId], { from: to })
      defer(received, [locationId], { orderKind: 'TIER', from: to, to: interval.to })
      if (interval.to !== received.request.to) defer(received, [locationId], { from: interval.to })
      return
    }
  }

  for (const selection of selections) {
    const { received, locationIds: ids } = selection
    let plannedCount = 0
    for (; plannedCount < ids.length && remainingRows > 0; plannedCount += 1) {
      const locationId = ids[plannedCount] as string
      const prices = cachedPricing.get(locationId)
      const reason = prices === undefined ? pricing.faultOf(locationId) : undefined
      if (prices !== undefined)
        await planLocation(selection, { locationId, cachedPricing: prices, months: counts.get(locationId) ?? [] })
      else if (reason !== undefined) failed.push({ received, reason: `${locationId}: ${reason}` })
    }
    defer(received, received.request.locationIds.slice(plannedCount), {})
  }
  return { tasks, deferred: mergeRequests(deferred), failed, slowRequests }
}
