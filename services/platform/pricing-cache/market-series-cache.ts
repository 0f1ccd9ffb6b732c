import { provisionalSeries } from '../../domain/forecast/provisional-series.ts'
import { dayMs } from '../../domain/interval.ts'
import type { MarketSeries } from '../../domain/tariff/tariff.ts'
import { Failure } from '../failure.ts'
import type { Database } from '../postgres/database.ts'
import { type LocationPricing, loadSourcePrices, type SourcePrices } from '../postgres/pricing/pricing-input.ts'

/** Prices of a market source from the instant `from` (ms) on. */
export type CachedSeries = { readonly series: MarketSeries; readonly revision: number; readonly from: number }

/** Cached series by source id. */
export type SeriesCache = Map<string, CachedSeries>

/**
 * Prices are loaded from five weeks before the first requested instant, so that records in order of time load them
 * once.
 */
const leadMs = 35 * dayMs
const endOfTime = 4_102_444_800_000
/** Max number of loads of series that change while they are loaded. */
const maxRounds = 20

/** Return the market sources that the tariffs of a location use. */
export const usedSources = ({ tariffs, importSource, exportSource }: LocationPricing) => {
  const uses = (direction: 'IMPORT' | 'EXPORT') =>
    tariffs.some(tariff => tariff.marketRates && tariff.direction === direction)
  return { importSource: uses('IMPORT') ? importSource : null, exportSource: uses('EXPORT') ? exportSource : null }
}

/**
 * Return the sources that are missing in the cache, outdated, or cached from too late on, with the first instant to
 * load.
 */
const missingSources = (
  cache: SeriesCache,
  locations: readonly LocationPricing[],
  fromOf: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> => {
  const missing = new Map<string, number>()
  for (const location of locations) {
    const from = fromOf.get(location.locationId) ?? endOfTime
    for (const source of Object.values(usedSources(location))) {
      if (source === null) continue
      const known = cache.get(source.sourceId)
      if (known !== undefined && known.revision >= source.revision && known.from <= from) continue
      const earliest = Math.min(from - leadMs, known?.from ?? endOfTime, missing.get(source.sourceId) ?? endOfTime)
      missing.set(source.sourceId, earliest)
    }
  }
  return missing
}

const seriesOf = ({ sourceId, published, forecast }: SourcePrices): MarketSeries =>
  provisionalSeries(sourceId, published, forecast)

const loadSeries = async (
  { operator }: Database,
  cache: SeriesCache,
  sources: ReadonlyMap<string, number>,
): Promise<void> => {
  const intervals = [...sources].map(([sourceId, from]) => ({ sourceId, from, to: endOfTime }))
  for (const prices of await loadSourcePrices(operator, intervals)) {
    const from = sources.get(prices.sourceId) ?? endOfTime
    cache.set(prices.sourceId, { series: await seriesOf(prices), revision: prices.revision, from })
  }
}

/**
 * Load all series that some locations need.
 * `fromOf` has the first instant (ms) whose prices are needed, by location id.
 * Series that other calls remove or replace meanwhile are loaded again.
 * Throws Failure `prices_unsettled` if the series change faster than they can be loaded.
 */
export const ensureSeries = async (
  database: Database,
  cache: SeriesCache,
  locations: readonly LocationPricing[],
  fromOf: ReadonlyMap<string, number>,
): Promise<void> => {
  for (let round = 0; round < maxRounds; round += 1) {
    const missing = missingSources(cache, locations, fromOf)
    if (missing.size === 0) return
    await loadSeries(database, cache, missing)
  }
  throw new Failure('prices_unsettled', 'Market prices change faster than they can be read.', { retriable: true })
}
