import { costLimits, energyCostToCsv, intervalCost } from '../../contract/costs/energy-cost.ts'
import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { type CalendarUnit, calendarEdges, type TimeZone } from '../../domain/civil-time.ts'
import { isId } from '../../domain/identifier.ts'
import { hourMs } from '../../domain/interval.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { meteredLocations } from '../../platform/clickhouse/meter-cost/location-flows.ts'
import type { QueryInterval } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { CostedRow } from '../../platform/clickhouse/meter-cost/meter-cost-rows.ts'
import { locationIdsOfDevice } from '../../platform/clickhouse/meter-cost/meter-object-reads.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { type CostedLocation, costedLocations, costTarget } from '../../platform/postgres/pricing/costed-locations.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import type { CostDependencies } from '../dependencies.ts'
import { streamCosts } from '../exports/stream-costs.ts'
import type { AnswerOffsets } from '../work-thread/cost-work.ts'
import { answerCosts, areSmall, costViewOf, flowOf, maxInlineElements, totalLength } from './answer-costs.ts'
import { type BucketSumCache, bucketSumCache } from './bucket-sum-cache.ts'
import {
  type DeviceRecords,
  devicesAtLocation,
  devicesAtLocations,
  filtersOf,
  isOfDevice,
  readExcludedCosts,
} from './device-records.ts'
import { searchOverlap } from './overlap-search.ts'
import { costsOfRows, readCosts, readRowsIfFew } from './read-costs.ts'

type IntervalCostRequest = RequestOf<typeof intervalCost>
type IntervalDependencies = CostDependencies & { readonly cache: BucketSumCache }

/**
 * Locations whose rows are added up; they have one currency. `isWhole`: all locations of the account.
 * `devices`: the device records that are included; null if the request is for a device. `rows`: all rows of the only
 * location; null if they are not known.
 */
type Scope = {
  readonly locations: readonly CostedLocation[]
  readonly isWhole: boolean
  readonly devices: DeviceRecords | null
  readonly rows: readonly CostedRow[] | null
}

/** Select the named location and currency from locations. Source: docs/rules/costs.md #location-and-currency. */
export const chooseLocations = (
  locations: readonly CostedLocation[],
  {
    location_id: locationId,
    currency_code: currencyCode,
  }: { readonly location_id?: string | undefined; readonly currency_code?: string | undefined },
): Result<readonly CostedLocation[]> => {
  const chosenById = locationId === undefined ? locations : locations.filter(({ id }) => id === locationId)
  if (chosenById.length === 0 && locationId !== undefined) {
    return refused(
      'location_not_found',
      'location_id must be the id of a location that the object was metered at',
      'location_id',
    )
  }
  const inCurrency =
    currencyCode === undefined ? chosenById : chosenById.filter(location => location.currencyCode === currencyCode)
  const currencies = new Set(inCurrency.map(location => location.currencyCode))
  if (currencies.size > 1) {
    return refused(
      'currency_ambiguous',
      `currency_code must be one of ${[...currencies].sort().join(', ')}. There are costs in each`,
      'currency_code',
    )
  }
  if (currencyCode !== undefined && inCurrency.length === 0 && chosenById.length > 0) {
    const known = [...new Set(chosenById.map(location => location.currencyCode))].sort().join(' or ')
    return refused('currency_ambiguous', `currency_code must be ${known}, the currency of the costs`, 'currency_code')
  }
  return accepted(inCurrency)
}

/**
 * Select the locations whose costs are added up. If the locations have several currencies, those without costs are
 * ignored.
 */
const locationsWithCosts = async (
  { clickHouse }: CostDependencies,
  request: IntervalCostRequest,
  locations: readonly CostedLocation[],
): Promise<Result<readonly CostedLocation[]>> => {
  const chosen = chooseLocations(locations, request.query)
  if (chosen.ok || chosen.refusal.code !== 'currency_ambiguous') return chosen
  const ids = locations.map(({ id }) => id)
  const meteredIds = await meteredLocations(clickHouse, tenantOf(request), flowOf(request), ids)
  const withCosts = locations.filter(({ id }) => meteredIds.has(id))
  return withCosts.length === 0 ? chosen : chooseLocations(withCosts, request.query)
}

const severalLocations = (name: string) =>
  refused(
    'location_ambiguous',
    `location_id is required, because ${name} was metered at several locations`,
    'location_id',
  )

/**
 * Find the locations of a device: the locations at which it has rows. A device without rows can be requested at any
 * location.
 */
const deviceLocations = async (
  { database }: CostDependencies,
  request: IntervalCostRequest,
  meteredIds: readonly string[],
): Promise<Result<readonly CostedLocation[]>> => {
  const tenant = tenantOf(request)
  const ids = new Set(meteredIds)
  const requestedLocationId = request.query.location_id
  if (requestedLocationId !== undefined && ids.size === 0) ids.add(requestedLocationId)
  if (ids.size === 0)
    return refused(
      'location_ambiguous',
      'location_id is required, because the device has no records yet',
      'location_id',
    )
  const locations = await withTenant(database, tenant, transaction => costedLocations(transaction, [...ids]))
  const chosen = chooseLocations(locations, request.query)
  return chosen.ok && chosen.value.length > 1 ? severalLocations('the device') : chosen
}

const intervalAsked = ({ body }: IntervalCostRequest): QueryInterval => ({
  from: body.start_time.at,
  to: body.end_time.at,
})

const scopeOf = async (dependencies: CostDependencies, request: IntervalCostRequest): Promise<Result<Scope>> => {
  const tenant = tenantOf(request)
  // ClickHouse and PostgreSQL are read in parallel. An unknown id is refused even if ClickHouse is unavailable.
  const locationsRead = isId('device', request.id)
    ? locationIdsOfDevice(dependencies.clickHouse, tenant, request.id)
    : Promise.resolve([])
  const { include_devices: inclusion } = request.query
  const flow = flowOf(request)
  const isLocation = isId('location', request.id)
  const rowsRead = isLocation
    ? readRowsIfFew(dependencies.clickHouse, tenant, { ...flow, locationIds: [request.id] }, intervalAsked(request))
    : null
  const devicesRead = isLocation
    ? devicesAtLocation(dependencies.clickHouse, tenant, flow, request.id, inclusion, rowsRead)
    : null
  for (const promise of [locationsRead, rowsRead, devicesRead]) promise?.catch(() => undefined)
  const target = await withTenant(dependencies.database, tenant, transaction => costTarget(transaction, request.id))
  if (target === null) return refused('not_found', 'No location, device, customer or account has this id')
  const meteredIds = await locationsRead
  const locations =
    target.kind === 'device'
      ? await deviceLocations(dependencies, request, meteredIds)
      : await locationsWithCosts(dependencies, request, target.locations)
  if (!locations.ok) return locations
  if (target.kind === 'device')
    return accepted({ locations: locations.value, isWhole: false, devices: null, rows: null })
  const isWhole = target.kind === 'account' && locations.value.length === target.locations.length
  const locationSet = { ids: locations.value.map(({ id }) => id), isWhole }
  const devices = await (devicesRead ??
    devicesAtLocations(dependencies.clickHouse, tenant, flow, locationSet, inclusion))
  return accepted({
    locations: locations.value,
    isWhole,
    devices,
    rows: locations.value.length === 1 ? await rowsRead : null,
  })
}

/**
 * Return the common time zone of locations: UTC if there are no locations, or if they differ.
 * Refuses different zones if the buckets follow a calendar.
 */
const zoneOf = (
  { timeZone }: CostDependencies,
  locations: readonly CostedLocation[],
  isCalendar: boolean,
): Result<TimeZone> => {
  const names = new Set(locations.map(({ timezone }) => timezone))
  if (names.size > 1 && isCalendar) {
    return refused(
      'location_ambiguous',
      'location_id is required with aggregation, because the locations are in several time zones',
      'location_id',
    )
  }
  const zone = timeZone(names.size === 1 ? ([...names][0] ?? 'UTC') : 'UTC')
  if (zone === null) throw new RangeError('A location has an unknown time zone.')
  return accepted(zone)
}

const bucketEdges = (
  zone: TimeZone,
  from: number,
  to: number,
  unit: CalendarUnit | null,
): Result<readonly number[]> => {
  const tooManyBuckets = refused(
    'too_many_elements',
    `Ask for at most ${costLimits.elements} elements. Choose a shorter period or a coarser aggregation`,
    'aggregation',
  )
  if (unit === null) return accepted([from, to])
  if (unit === 'HOUR' && to - from > (costLimits.elements + 2) * hourMs) return tooManyBuckets
  const edges = calendarEdges(zone, from, to, unit)
  return edges.length - 1 > costLimits.elements ? tooManyBuckets : accepted(edges)
}

/** Read the costs, and the first overlap of their records. */
const costsOf = async (
  { clickHouse, cache }: IntervalDependencies,
  request: IntervalCostRequest,
  { locations, isWhole, devices, rows: knownRows }: Scope,
  edges: readonly number[],
) => {
  const [tenant, flow, ids] = [tenantOf(request), flowOf(request), locations.map(({ id }) => id)]
  const filters =
    devices === null
      ? [{ ...flow, locationIds: ids, deviceIds: [request.id] }]
      : filtersOf(flow, { ids, isWhole }, devices)
  const rows =
    devices === null && filters[0] !== undefined
      ? await readRowsIfFew(clickHouse, tenant, filters[0], intervalAsked(request))
      : knownRows
  const costs =
    rows === null
      ? await readCosts(clickHouse, tenant, filters, edges, devices === null ? undefined : cache)
      : costsOfRows(edges, devices?.isIncluded === false ? rows.filter(row => !isOfDevice(row)) : rows)
  return { costs, overlap: await searchOverlap(clickHouse, tenant, filters, costs) }
}

/**
 * Describe the device records of an answer: included, mixed with records of the location, or excluded with their costs.
 */
const deviceNoteOf = async (
  { clickHouse }: CostDependencies,
  request: IntervalCostRequest,
  { locations, isWhole, devices, rows }: Scope,
) => {
  if (devices === null) return null
  const locationSet = { ids: locations.map(({ id }) => id), isWhole, rows }
  const { start_time: start, end_time: end } = request.body
  const excluded = await readExcludedCosts(clickHouse, tenantOf(request), flowOf(request), locationSet, devices, [
    start.at,
    end.at,
  ])
  return { isIncluded: devices.isIncluded, isMixed: devices.isMixed, excluded }
}

/**
 * Return the offsets of an answer: buckets use the zone of the location, a whole interval follows `answerOffset`.
 * Locations in different zones have no common zone.
 * Source: docs/rules/versions-and-transport.md #offsets-of-answers.
 */
const answerOffsets = (
  zone: TimeZone,
  locations: readonly CostedLocation[],
  isBucket: boolean,
  requested: number,
): AnswerOffsets => {
  const isOneZone = isBucket || new Set(locations.map(({ timezone }) => timezone)).size === 1
  return { zone: isOneZone ? zone : null, isBucket, requested }
}

/** ISO 4217 code for no currency. A customer or account without locations has costs of zero without a currency. */
const noCurrency = 'XXX'

/** Calculate the stored costs of an object in an interval. Source: docs/rules/costs.md #objects. */
const calculateIntervalCost = async (
  dependencies: IntervalDependencies,
  request: IntervalCostRequest,
): Promise<Outcome<AnswerOf<typeof intervalCost>>> => {
  const { start_time: start, end_time: end } = request.body
  const { aggregation = null } = request.query
  const scope = await scopeOf(dependencies, request)
  if (!scope.ok) return scope
  const zone = zoneOf(dependencies, scope.value.locations, aggregation !== null)
  if (!zone.ok) return zone
  const edges = bucketEdges(zone.value, start.at, end.at, aggregation)
  if (!edges.ok) return edges
  const [{ costs, overlap }, devices] = await Promise.all([
    costsOf(dependencies, request, scope.value, edges.value),
    deviceNoteOf(dependencies, request, scope.value),
  ])
  const currencyCode = request.query.currency_code ?? scope.value.locations[0]?.currencyCode ?? noCurrency
  const view = { ...costViewOf(request, zone.value.name, currencyCode), objectId: request.id, overlap }
  const offsets = answerOffsets(zone.value, scope.value.locations, aggregation !== null, end.offsetMinutes)
  const input = { view, costs, devices, offsets }
  const isSmall =
    edges.value.length <= maxInlineElements && areSmall(costs.blocks) && areSmall(devices?.excluded?.blocks ?? [])
  const bytes = [costs, devices?.excluded ?? null].reduce(
    (sum, costsPart) => sum + totalLength(costsPart?.blocks ?? []) + totalLength(costsPart?.sums ?? []),
    0,
  )
  return answerCosts(dependencies, request, { name: 'intervalCost', input, isSmall, bytes })
}

/** Bind the operation on the costs of an interval. */
export const intervalCostOperation = (dependencies: CostDependencies): Binding => {
  const cached = { ...dependencies, cache: bucketSumCache() }
  return bind(
    intervalCost,
    request => {
      const calculate = (one: IntervalCostRequest) => calculateIntervalCost(cached, one)
      const { tableFormat = 'csv' } = request
      return tableFormat === 'csv' ? calculate(request) : streamCosts(dependencies, request, tableFormat, calculate)
    },
    energyCostToCsv,
  )
}
