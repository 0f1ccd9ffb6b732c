import type { TimeZone } from '../../domain/civil-time.ts'
import { provisionalSeries } from '../../domain/forecast/provisional-series.ts'
import { createPricingPool } from '../../domain/tariff/pricing-pool.ts'
import { compileSnapshot, type PricingSnapshot } from '../../domain/tariff/snapshot.ts'
import type { MarketSeries } from '../../domain/tariff/tariff.ts'
import { schedulesOf } from '../../domain/tariff/tariff-version.ts'
import { runInTimeSlices } from '../concurrency/time-slices.ts'
import { withTimeout } from '../concurrency/timeout.ts'
import { Failure } from '../failure.ts'
import type { Database } from '../postgres/database.ts'
import {
  type LocationKey,
  type LocationPricing,
  loadLocationPricing,
  loadSourcePrices,
  readPricingRevisions,
  type SourcePrices,
  type SourceRevision,
} from '../postgres/pricing/pricing-input.ts'

/** What prices a location, and the revisions it was made from. Source ids are null where no market tariff uses them. */
export type CachedPricing = {
  readonly snapshot: PricingSnapshot
  readonly accountId: string
  readonly revision: number
  readonly priceRevision: bigint
  readonly importSourceId: string | null
  readonly exportSourceId: string | null
}

/** A location, and the earliest instant whose prices are asked for. */
export type PricingRequest = LocationKey & { readonly from: number }

/**
 * Snapshots of locations, kept until an order names a higher revision than the one they were made from. Market prices are kept once
 * per source. Both are read in a few statements for any number of locations. Throws `Failure` while the store is away.
 */
export type PricingCache = {
  /** Tell why a location that was asked for last has no prices; undefined: it does not exist. */
  readonly faultOf: (locationId: string) => string | undefined
  /** Give what is held of a location, good for times from `from` on; undefined: it must be gathered. */
  readonly cached: (locationId: string, from: number) => CachedPricing | undefined
  /** Give the pricing of locations, each from its own instant on; locations that do not exist are left out, deleted ones are not. */
  readonly gather: (requests: readonly PricingRequest[]) => Promise<ReadonlyMap<string, CachedPricing>>
  /** The same, of at least the revisions that the store holds by now. */
  readonly gatherNewest: (requests: readonly PricingRequest[]) => Promise<ReadonlyMap<string, CachedPricing>>
  /** A location's prices changed: what is older than `revision` is dropped. */
  readonly invalidateLocation: (locationId: string, revision: number) => void
  /** A source's prices changed: what was made from older ones is dropped. */
  readonly invalidateSource: (sourceId: string, revision: number) => void
  /** Forget all: orders that name higher revisions may have gone to others. */
  readonly clear: () => void
}

type CachedSeries = { readonly series: MarketSeries; readonly revision: number; readonly from: number }

type CacheEntry = CachedPricing & { readonly sources: readonly CachedSeries[] }

const day = 86_400_000
/** Prices are read from some weeks before the oldest instant asked for, so that records in order of time read them once. */
const leadMs = 35 * day
const endOfTime = 4_102_444_800_000
/** How often series are read again because they changed while they were read. */
const maxRounds = 20
/** Whoever asks for the newest prices waits for them; a store that has not told the revisions by then is away. */
const revisionTimeoutMs = 5_000

const seriesOf = ({ sourceId, published, forecast }: SourcePrices): Promise<MarketSeries> =>
  runInTimeSlices(provisionalSeries(sourceId, published, forecast))

/** The sources that a location's market tariffs use. */
const usedSources = ({ tariffs, importSource, exportSource }: LocationPricing) => {
  const uses = (direction: 'IMPORT' | 'EXPORT') =>
    tariffs.some(tariff => tariff.marketRates && tariff.direction === direction)
  return { importSource: uses('IMPORT') ? importSource : null, exportSource: uses('EXPORT') ? exportSource : null }
}

/** Make an empty book; above `most` locations the ones gathered longest ago are dropped. */
export const pricingCache = (
  database: Database,
  timeZone: (name: string) => TimeZone | null,
  maxLocations = 200_000,
): PricingCache => {
  const pool = createPricingPool()
  const entries = new Map<string, CacheEntry>()
  const series = new Map<string, CachedSeries>()
  const faults = new Map<string, string>()

  const isCurrent = (entry: CacheEntry, from: number): boolean =>
    entry.sources.every(source => source.from <= from && series.get(source.series.sourceId) === source)

  const cached = (locationId: string, from: number): CachedPricing | undefined => {
    const entry = entries.get(locationId)
    return entry !== undefined && isCurrent(entry, from) ? entry : undefined
  }

  /** The sources whose prices are not held as new, or from as early, as these locations need; with the earliest instant of each. */
  const missingSources = (
    locations: readonly LocationPricing[],
    fromOf: ReadonlyMap<string, number>,
  ): ReadonlyMap<string, number> => {
    const missing = new Map<string, number>()
    for (const location of locations) {
      const from = fromOf.get(location.locationId) ?? endOfTime
      for (const source of Object.values(usedSources(location))) {
        if (source === null) continue
        const known = series.get(source.sourceId)
        if (known !== undefined && known.revision >= source.revision && known.from <= from) continue
        const earliest = Math.min(from - leadMs, known?.from ?? endOfTime, missing.get(source.sourceId) ?? endOfTime)
        missing.set(source.sourceId, earliest)
      }
    }
    return missing
  }

  const loadSeries = async (sources: ReadonlyMap<string, number>): Promise<void> => {
    if (sources.size === 0) return
    const intervals = [...sources].map(([sourceId, from]) => ({ sourceId, from, to: endOfTime }))
    for (const prices of await loadSourcePrices(database.operator, intervals)) {
      const from = sources.get(prices.sourceId) ?? endOfTime
      series.set(prices.sourceId, { series: await seriesOf(prices), revision: prices.revision, from })
    }
  }

  const compile = (location: LocationPricing): CacheEntry => {
    const zone = timeZone(location.timezone)
    if (zone === null)
      throw new RangeError(`location ${location.locationId} lies in the unknown zone ${location.timezone}`)
    const used = usedSources(location)
    const cachedSeries = (source: SourceRevision | null): CachedSeries | null => {
      if (source === null) return null
      const known = series.get(source.sourceId)
      if (known === undefined) throw new Error(`the prices of ${source.sourceId} are not held`)
      return known
    }
    const [importSeries, exportSeries] = [cachedSeries(used.importSource), cachedSeries(used.exportSource)]
    const sources = [importSeries, exportSeries].filter(source => source !== null)
    return {
      snapshot: compileSnapshot(
        {
          locationId: location.locationId,
          currencyCode: location.currencyCode,
          timeZone: zone,
          tariffs: location.tariffs,
          importMarket: importSeries?.series ?? null,
          exportMarket: exportSeries?.series ?? null,
        },
        pool,
      ),
      accountId: location.accountId,
      revision: location.revision,
      priceRevision: BigInt(Math.max(0, ...sources.map(source => source.revision))),
      importSourceId: used.importSource?.sourceId ?? null,
      exportSourceId: used.exportSource?.sourceId ?? null,
      sources,
    }
  }

  /** What cannot be compiled is a fault of that location alone. */
  const tryCompile = (location: LocationPricing): CacheEntry | null => {
    try {
      return compile(location)
    } catch (error) {
      faults.set(location.locationId, String(error))
      return null
    }
  }

  const forgetOldest = (): void => {
    for (const locationId of entries.keys()) {
      if (entries.size <= maxLocations) return
      entries.delete(locationId)
    }
  }

  /**
   * Make all series be held that some locations need. What others drop or replace while one is read is read again, so that nothing is
   * missing when this returns.
   */
  const ensureSeries = async (
    locations: readonly LocationPricing[],
    requests: readonly PricingRequest[],
  ): Promise<void> => {
    const fromOf = new Map(requests.map(({ locationId, from }) => [locationId, from]))
    for (let round = 0; round < maxRounds; round += 1) {
      const missing = missingSources(locations, fromOf)
      if (missing.size === 0) return
      await loadSeries(missing)
    }
    throw new Failure('prices_unsettled', 'Market prices change faster than they can be read.', { retriable: true })
  }

  function* prepareTerms(locations: readonly LocationPricing[]): Generator<void, void> {
    for (const { tariffs } of locations)
      for (const { marketRates, ...tariff } of tariffs)
        for (const { schedule } of schedulesOf(tariff)) yield* pool.prepare({ schedule, marketRates })
  }

  const load = async (requests: readonly PricingRequest[]): Promise<ReadonlyMap<string, CacheEntry>> => {
    const locations = await loadLocationPricing(database.operator, requests)
    await runInTimeSlices(prepareTerms(locations))
    await ensureSeries(locations, requests)
    // Nothing is waited for from here on: what is held now is what the snapshots are made of.
    const loaded = new Map<string, CacheEntry>()
    for (const { locationId } of requests) faults.delete(locationId)
    for (const location of locations) {
      const entry = tryCompile(location)
      if (entry === null) continue
      entries.delete(location.locationId)
      entries.set(location.locationId, entry)
      loaded.set(location.locationId, entry)
    }
    forgetOldest()
    return loaded
  }

  const gather: PricingCache['gather'] = async requests => {
    const found = new Map<string, CachedPricing>()
    const missing: PricingRequest[] = []
    for (const request of requests) {
      const known = cached(request.locationId, request.from)
      if (known === undefined) missing.push(request)
      else found.set(request.locationId, known)
    }
    if (missing.length > 0) for (const [locationId, entry] of await load(missing)) found.set(locationId, entry)
    return found
  }

  const invalidateLocation: PricingCache['invalidateLocation'] = (locationId, revision) => {
    const entry = entries.get(locationId)
    if (entry !== undefined && entry.revision < revision) entries.delete(locationId)
  }

  const invalidateSource: PricingCache['invalidateSource'] = (sourceId, revision) => {
    const known = series.get(sourceId)
    if (known !== undefined && known.revision < revision) series.delete(sourceId)
  }

  return {
    faultOf: locationId => faults.get(locationId),
    cached,
    gather,
    gatherNewest: async requests => {
      const revisions = await withTimeout(revisionTimeoutMs, () => readPricingRevisions(database.operator, requests))
      for (const { locationId, revision, importSource, exportSource } of revisions) {
        invalidateLocation(locationId, revision)
        for (const source of [importSource, exportSource])
          if (source !== null) invalidateSource(source.sourceId, source.revision)
      }
      return gather(requests)
    },
    invalidateLocation,
    invalidateSource,
    clear: () => {
      entries.clear()
      series.clear()
    },
  }
}
