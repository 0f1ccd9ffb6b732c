import { costLimits, defaultFlow, energyCostToWire, type intervalCost } from '../../contract/energy-cost.ts'
import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { type CalendarUnit, calendarEdges, offsetAt, type TimeZone } from '../../domain/civil-time.ts'
import { costBetween } from '../../domain/cost/energy-cost.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type RowFilter, rowsAcrossBuckets } from '../../platform/clickhouse/meter-cost-reads.ts'
import { type CostSum, sumsOfBuckets } from '../../platform/clickhouse/meter-cost-sums.ts'
import { type MeteredObject, placesOfDevices } from '../../platform/clickhouse/meter-object-reads.ts'
import { mint } from '../../platform/mint.ts'
import { type CostedLocation, costedLocations, costTarget } from '../../platform/postgres/costed-locations.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import type { CostReads } from './cost-reads.ts'
import { costRowOf } from './cost-row.ts'

type Asked = RequestOf<typeof intervalCost>

/** Whose rows are added up: some locations with one currency, or all that the account has, and which devices there. */
type Scope = {
  readonly locations: readonly CostedLocation[]
  readonly isWhole: boolean
  readonly deviceIds: readonly (string | null)[] | null
}

const hourMs = 3_600_000
/** A statement names at most so many locations. */
const groupSize = 1_500

/** Narrow locations to the one that is named, and to one currency. Source: contract decisions 9. */
export const chooseLocations = (
  locations: readonly CostedLocation[],
  {
    location_id: locationId,
    currency_code: currencyCode,
  }: { readonly location_id?: string | undefined; readonly currency_code?: string | undefined },
): Result<readonly CostedLocation[]> => {
  const named = locationId === undefined ? locations : locations.filter(({ id }) => id === locationId)
  if (named.length === 0 && locationId !== undefined) {
    return refused('location_not_found', 'location_id must name a location that the object was metered at', 'location_id')
  }
  const ofCurrency = currencyCode === undefined ? named : named.filter(location => location.currencyCode === currencyCode)
  const currencies = new Set(ofCurrency.map(location => location.currencyCode))
  if (currencies.size > 1) {
    return refused(
      'currency_ambiguous',
      `currency_code must be one of ${[...currencies].sort().join(', ')}: there are costs in each`,
      'currency_code',
    )
  }
  if (currencyCode !== undefined && ofCurrency.length === 0 && named.length > 0) {
    return refused('currency_ambiguous', `currency_code must be ${named[0]?.currencyCode}, the currency of the costs`, 'currency_code')
  }
  return accepted(ofCurrency)
}

const severalLocations = (name: string) =>
  refused('location_ambiguous', `location_id is required: ${name} was metered at several locations`, 'location_id')

/** A device's own locations are those it has rows at; one that has none yet can be asked for at any location. */
const deviceLocations = async (
  { database }: CostReads,
  request: Asked,
  places: readonly MeteredObject[],
): Promise<Result<readonly CostedLocation[]>> => {
  const tenant = tenantOf(request)
  const ids = new Set(places.map(({ locationId }) => locationId))
  const asked = request.query.location_id
  if (asked !== undefined && ids.size === 0) ids.add(asked)
  if (ids.size === 0) return refused('location_ambiguous', 'location_id is required: the device has no records yet', 'location_id')
  const locations = await withTenant(database, tenant, transaction => costedLocations(transaction, [...ids]))
  const chosen = chooseLocations(locations, request.query)
  return chosen.ok && chosen.value.length > 1 ? severalLocations('the device') : chosen
}

const scopeOf = async (reads: CostReads, request: Asked): Promise<Result<Scope>> => {
  const tenant = tenantOf(request)
  // Both are asked at once; what stands for nothing is not found also while the engine is away.
  const found = request.id.startsWith('dev_') ? placesOfDevices(reads.clickHouse, tenant, [request.id]) : Promise.resolve([])
  found.catch(() => undefined)
  const target = await withTenant(reads.database, tenant, transaction => costTarget(transaction, request.id))
  if (target === null) return refused('not_found', 'No location, device, customer or account has this id')
  const places = await found
  const locations =
    target.kind === 'device' ? await deviceLocations(reads, request, places) : chooseLocations(target.locations, request.query)
  if (!locations.ok) return locations
  const ownOnly = target.kind === 'location' && !request.query.include_devices
  const isWhole = target.kind === 'account' && locations.value.length === target.locations.length
  return accepted({ locations: locations.value, isWhole, deviceIds: target.kind === 'device' ? [request.id] : ownOnly ? [null] : null })
}

/** The one zone of some locations; UTC where there are none, and where they differ, which a calendar does not allow. */
const zoneOf = ({ timeZone }: CostReads, locations: readonly CostedLocation[], isCalendar: boolean): Result<TimeZone> => {
  const names = new Set(locations.map(({ timezone }) => timezone))
  if (names.size > 1 && isCalendar) {
    return refused('location_ambiguous', 'location_id is required with aggregation: the locations lie in several time zones', 'location_id')
  }
  const zone = timeZone(names.size === 1 ? ([...names][0] ?? 'UTC') : 'UTC')
  if (zone === null) throw new RangeError('a location lies in an unknown zone')
  return accepted(zone)
}

const edgesOf = (zone: TimeZone, from: number, to: number, unit: CalendarUnit | null): Result<readonly number[]> => {
  const tooMany = refused(
    'too_many_elements',
    `Ask for at most ${costLimits.elements} elements: a shorter span or a coarser aggregation`,
    'aggregation',
  )
  if (unit === null) return accepted([from, to])
  if (unit === 'HOUR' && to - from > (costLimits.elements + 2) * hourMs) return tooMany
  const edges = calendarEdges(zone, from, to, unit)
  return edges.length - 1 > costLimits.elements ? tooMany : accepted(edges)
}

const groupsOf = (locations: readonly CostedLocation[]): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(locations.length / groupSize) }, (_, index) =>
    locations.slice(index * groupSize, (index + 1) * groupSize).map(({ id }) => id),
  )

const elementsOf = async ({ clickHouse }: CostReads, request: Asked, scope: Scope, edges: readonly number[]) => {
  const { tariff_direction: tariffDirection, energy_flow_direction: flow = defaultFlow(tariffDirection) } = request.query
  const tenant = tenantOf(request)
  const sums: CostSum[] = []
  const rows: ReturnType<typeof costRowOf>[] = []
  for (const locationIds of scope.isWhole ? [null] : groupsOf(scope.locations)) {
    const devices = scope.deviceIds === null ? {} : { deviceIds: scope.deviceIds }
    const filter: RowFilter = { locationIds, ...devices, tariffDirection, energyFlowDirection: flow }
    const whole = await sumsOfBuckets(clickHouse, tenant, filter, edges)
    sums.push(...whole.sums)
    if (!whole.isCrossed) continue
    for await (const crossing of rowsAcrossBuckets(clickHouse, tenant, filter, edges)) for (const row of crossing) rows.push(costRowOf(row))
  }
  return costBetween(edges, rows, sums)
}

/** The code of ISO 4217 for no currency: a customer or account without locations has cost nothing, in none. */
const noCurrency = 'XXX'

/** Calculate what is stored of an object in a span. Source: contract decisions 9. */
export const calculateIntervalCost = async (reads: CostReads, request: Asked): Promise<Outcome<AnswerOf<typeof intervalCost>>> => {
  const { start_time: start, end_time: end } = request.body
  const { aggregation = null, tariff_direction: tariffDirection } = request.query
  const scope = await scopeOf(reads, request)
  if (!scope.ok) return scope
  const zone = zoneOf(reads, scope.value.locations, aggregation !== null)
  if (!zone.ok) return zone
  const edges = edgesOf(zone.value, start.at, end.at, aggregation)
  if (!edges.ok) return edges
  const elements = await elementsOf(reads, request, scope.value, edges.value)
  const isCalendar = aggregation === 'DAY' || aggregation === 'MONTH'
  return accepted(
    energyCostToWire(
      {
        id: mint('energyCost', request.at),
        accountId: request.caller.accountId,
        liveMode: request.caller.liveMode,
        objectId: request.id,
        energyFlowDirection: request.query.energy_flow_direction ?? defaultFlow(tariffDirection),
        tariffDirection,
        timezone: zone.value.name,
        currencyCode: request.query.currency_code ?? scope.value.locations[0]?.currencyCode ?? noCurrency,
        entries: elements.map(element => ({ ...element, sessionReferenceId: null, recordReferenceId: null })),
        includeTariff: request.query.include_tariff,
        createdAt: request.at,
      },
      at => (isCalendar ? offsetAt(zone.value, at) / 60_000 : end.offsetMinutes),
    ),
  )
}
