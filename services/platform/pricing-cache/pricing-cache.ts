import type { LocationCalendar } from '../../domain/charge/location-calendar.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { createPricingPool, type PricingPool } from '../../domain/tariff/pricing-pool.ts'
import { compileSnapshot, type PricingSnapshot } from '../../domain/tariff/snapshot.ts'
import { schedulesOf } from '../../domain/tariff/tariff-version.ts'
import { startTimeSlices } from '../concurrency/time-slices.ts'
import { withTimeout } from '../concurrency/timeout.ts'
import type { Database } from '../postgres/database.ts'
import {
  type LocationKey,
  type LocationPricing,
  loadLocationPricing,
  readPricingRevisions,
  type SourceRevision,
} from '../postgres/pricing/pricing-input.ts'
import { type CalendarCache, ensureCalendars } from './calendar-cache.ts'
import { type CachedSeries, ensureSeries, type SeriesCache, usedSources } from './market-series-cache.ts'

/** Pricing of a location with its revisions. A source id is null if no market tariff uses the source. */
export type CachedPricing = {
  readonly snapshot: PricingSnapshot
  readonly accountId: string
  readonly revision: number
  readonly priceRevision: bigint
  readonly importSourceId: string | null
  readonly exportSourceId: string | null
}

/** A location, and the first instant (ms) whose prices are needed. */
export type PricingRequest = LocationKey & { readonly from: number }

/**
 * Snapshots of locations, and market prices by source.
 * An entry is valid until a recost request names a higher revision.
 * A few SQL statements load any number of locations. Throws `Failure` if the store is unavailable.
 */
export type PricingCache = {
  /**
   * Return the reason why a location could not be compiled at its last load. Undefined if the location does not exist.
   */
  readonly faultOf: (locationId: string) => string | undefined
  /** Return the cached pricing of a location, valid from `from` (ms) on. Undefined if it must be loaded. */
  readonly cached: (locationId: string, from: number) => CachedPricing | undefined
  /**
   * Return the pricing of locations, each valid from its `from` on. Includes deleted locations, excludes unknown ones.
   */
  readonly gather: (requests: readonly PricingRequest[]) => Promise<ReadonlyMap<string, CachedPricing>>
  /** Return the same as `gather`, with at least the revisions that the store has now. */
  readonly gatherNewest: (requests: readonly PricingRequest[]) => Promise<ReadonlyMap<string, CachedPricing>>
  /** Remove a location that is older than `revision`. */
  readonly invalidateLocation: (locationId: string, revision: number) => void
  /** Remove a source that is older than `revision`. */
  readonly invalidateSource: (sourceId: string, revision: number) => void
  /** Remove all entries, for example after another worker has received recost requests. */
  readonly clear: () => void
}

type CacheEntry = CachedPricing & { readonly sources: readonly CachedSeries[] }

type CacheState = {
  readonly database: Database
  readonly timeZone: (name: string) => TimeZone | null
  readonly maxLocations: number
  readonly pool: PricingPool
  readonly entries: Map<string, CacheEntry>
  readonly series: SeriesCache
  readonly calendars: CalendarCache
  readonly faults: Map<string, string>
}

/** Time limit in ms of reading the current revisions. */
const revisionTimeoutMs = 5_000

const isCurrent = ({ series }: CacheState, entry: CacheEntry, from: number): boolean =>
  entry.sources.every(source => source.from <= from && series.get(source.series.sourceId) === source)

const findCached = (state: CacheState, locationId: string, from: number): CachedPricing | undefined => {
  const entry = state.entries.get(locationId)
  return entry !== undefined && isCurrent(state, entry, from) ? entry : undefined
}

const seriesOfSource = ({ series }: CacheState, source: SourceRevision | null): CachedSeries | null => {
  if (source === null) return null
  const known = series.get(source.sourceId)
  if (known === undefined) throw new Error(`The prices of ${source.sourceId} are not cached`)
  return known
}

const compile = (
  state: CacheState,
  location: LocationPricing,
  calendars: ReadonlyMap<string, LocationCalendar>,
): CacheEntry => {
  const zone = state.timeZone(location.timezone)
  if (zone === null)
    throw new RangeError(`The location ${location.locationId} has the unknown time zone ${location.timezone}`)
  const used = usedSources(location)
  const importSeries = seriesOfSource(state, used.importSource)
  const exportSeries = seriesOfSource(state, used.exportSource)
  const sources = [importSeries, exportSeries].filter(source => source !== null)
  const input = {
    locationId: location.locationId,
    currencyCode: location.currencyCode,
    timeZone: zone,
    calendar: calendars.get(location.calendar?.id ?? '') ?? null,
    tariffs: location.tariffs,
    importMarket: importSeries?.series ?? null,
    exportMarket: exportSeries?.series ?? null,
  }
  return {
    snapshot: compileSnapshot(input, state.pool),
    accountId: location.accountId,
    revision: location.revision,
    priceRevision: BigInt(Math.max(0, ...sources.map(source => source.revision))),
    importSourceId: used.importSource?.sourceId ?? null,
    exportSourceId: used.exportSource?.sourceId ?? null,
    sources,
  }
}

/** Compile a location. An error is stored as its fault and does not affect other locations. */
const tryCompile = (...of: Parameters<typeof compile>): CacheEntry | null => {
  const [state, location] = of
  try {
    return compile(...of)
  } catch (error) {
    state.faults.set(location.locationId, String(error))
    return null
  }
}

const evictOldest = ({ entries, maxLocations }: CacheState): void => {
  for (const locationId of entries.keys()) {
    if (entries.size <= maxLocations) return
    entries.delete(locationId)
  }
}

/** Compile the schedules of locations. Other work runs between two of them. */
const prepareSchedules = async ({ pool }: CacheState, locations: readonly LocationPricing[]): Promise<void> => {
  const slices = startTimeSlices()
  for (const { tariffs } of locations) {
    for (const { marketRates, ...tariff } of tariffs) {
      for (const { schedule } of schedulesOf(tariff)) pool.compiledScheduleOf({ schedule, marketRates })
      if (slices.isOver()) await slices.pause()
    }
  }
}

const load = async (
  state: CacheState,
  requests: readonly PricingRequest[],
): Promise<ReadonlyMap<string, CacheEntry>> => {
  const { database, entries, series, faults } = state
  const locations = await loadLocationPricing(database.operator, requests)
  await prepareSchedules(state, locations)
  const fromOf = new Map(requests.map(({ locationId, from }) => [locationId, from]))
  const calendars = await ensureCalendars(database, state.calendars, locations)
  await ensureSeries(database, series, locations, fromOf)
  // No await from here on, so that the snapshots use exactly the series that are cached now.
  const loaded = new Map<string, CacheEntry>()
  for (const { locationId } of requests) faults.delete(locationId)
  for (const location of locations) {
    const entry = tryCompile(state, location, calendars)
    if (entry === null) continue
    entries.delete(location.locationId)
    entries.set(location.locationId, entry)
    loaded.set(location.locationId, entry)
  }
  evictOldest(state)
  return loaded
}

const gather = async (
  state: CacheState,
  requests: readonly PricingRequest[],
): Promise<ReadonlyMap<string, CachedPricing>> => {
  const found = new Map<string, CachedPricing>()
  const missing: PricingRequest[] = []
  for (const request of requests) {
    const known = findCached(state, request.locationId, request.from)
    if (known === undefined) missing.push(request)
    else found.set(request.locationId, known)
  }
  if (missing.length > 0) for (const [locationId, entry] of await load(state, missing)) found.set(locationId, entry)
  return found
}

const invalidateLocation = ({ entries }: CacheState, locationId: string, revision: number): void => {
  const entry = entries.get(locationId)
  if (entry !== undefined && entry.revision < revision) entries.delete(locationId)
}

const invalidateSource = ({ series }: CacheState, sourceId: string, revision: number): void => {
  const known = series.get(sourceId)
  if (known !== undefined && known.revision < revision) series.delete(sourceId)
}

const gatherNewest = async (
  state: CacheState,
  requests: readonly PricingRequest[],
): Promise<ReadonlyMap<string, CachedPricing>> => {
  const { operator } = state.database
  const revisions = await withTimeout(revisionTimeoutMs, () => readPricingRevisions(operator, requests))
  for (const { locationId, revision, importSource, exportSource } of revisions) {
    invalidateLocation(state, locationId, revision)
    for (const source of [importSource, exportSource])
      if (source !== null) invalidateSource(state, source.sourceId, source.revision)
  }
  return gather(state, requests)
}

/** Create an empty cache. Above `maxLocations` the locations that were loaded first are removed. */
export const pricingCache = (
  database: Database,
  timeZone: (name: string) => TimeZone | null,
  maxLocations = 200_000,
): PricingCache => {
  const state: CacheState = {
    database,
    timeZone,
    maxLocations,
    pool: createPricingPool(),
    entries: new Map(),
    series: new Map(),
    calendars: new Map(),
    faults: new Map(),
  }
  return {
    faultOf: locationId => state.faults.get(locationId),
    cached: (locationId, from) => findCached(state, locationId, from),
    gather: requests => gather(state, requests),
    gatherNewest: requests => gatherNewest(state, requests),
    invalidateLocation: (locationId, revision) => invalidateLocation(state, locationId, revision),
    invalidateSource: (sourceId, revision) => invalidateSource(state, sourceId, revision),
    clear: () => {
      state.entries.clear()
      state.series.clear()
    },
  }
}
