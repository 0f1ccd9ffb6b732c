import { sharedSources } from '../../domain/market-feed/shared-sources.ts'
import { feedsFor } from '../../platform/market-feeds/feeds.ts'
import { type FeedSource, listFeedSources } from '../../platform/postgres/pricing/market-feeds.ts'
import { seedSharedSources } from '../../platform/postgres/pricing/market-sources.ts'
import type { LeasedTurn, LeasedWork } from '../../platform/role-module.ts'
import type { Logger } from '../../platform/telemetry/logger.ts'
import { type LinkOptions, linkSources } from './feed-links.ts'
import { publishFeedOutages } from './feed-outages.ts'
import { fetchSource, type MarketFetchOptions } from './fetch-feed.ts'

export type MarketFeedOptions = MarketFetchOptions &
  LinkOptions & {
    readonly logger: Pick<Logger, 'info' | 'warn'>
    /** Pause in ms between two checks for due sources; 5 s if absent. */
    readonly restMs?: number
  }

/**
 * Longer than a fetch should take. If a fetch takes longer, two processes may fetch the same prices, which changes
 * nothing.
 */
const leaseMs = 120_000
const defaultRestMs = 5_000
const maxParallelFetches = 4
const relinkAfterMs = 60_000

/** Fetch one source and log the result. Never rejects, so that other sources are fetched too. */
const fetchAndLog = async (options: MarketFeedOptions, source: FeedSource, signal: AbortSignal): Promise<void> => {
  const { logger } = options
  const logFields = { market: source.id, area: source.area, currency: source.currencyCode }
  try {
    const { feed, stored, replaced, error } = await fetchSource(options, source, signal)
    if (error === null) logger.info({ ...logFields, feed, stored, replaced }, 'Market prices fetched')
    else logger.warn({ ...logFields, feed, stored, replaced, error }, 'Market prices are overdue')
  } catch (error) {
    if (!signal.aborted) logger.warn({ ...logFields, err: error }, 'Market fetch failed, retrying')
  }
}

/** Update the metrics of every source that was fetched before. */
const updateMetrics = async ({ database, metrics }: MarketFeedOptions): Promise<void> => {
  for (const { id, area, attemptedAt, succeededAt, knownUntil } of await listFeedSources(database.operator)) {
    if (attemptedAt === null) continue
    metrics.marketLastSuccess.set({ market: id, area }, (succeededAt ?? 0) / 1000)
    metrics.marketKnownUntil.set({ market: id, area }, (knownUntil ?? 0) / 1000)
  }
}

/**
 * Fetch the sources that are used, due and published by a configured feed, four at a time, and publish events of
 * outages. Each batch of four begins after `renewLease`. Returns the number of fetched sources.
 */
export const fetchDueMarkets = async (
  options: MarketFeedOptions,
  { renewLease, signal }: LeasedTurn,
): Promise<number> => {
  const { database, choice, at } = options
  const due = choice.enabled.length === 0 ? [] : await listFeedSources(database.operator, { dueAt: at() })
  const fetchable = due.filter(source => feedsFor(choice, source).length > 0)
  let fetched = 0
  while (fetched < fetchable.length && !signal.aborted && (await renewLease()) !== null) {
    const batch = fetchable.slice(fetched, fetched + maxParallelFetches)
    await Promise.all(batch.map(source => fetchAndLog(options, source, signal)))
    fetched += batch.length
  }
  const eventCount = await publishFeedOutages(database, at())
  if (eventCount > 0) options.logger.warn({ tariffs: eventCount }, 'Events of feed outages published')
  return fetched
}

/**
 * Work on shared market sources: link new sources to the locations of their area, fetch used sources from the
 * configured feeds when they are due, and publish events of outages. Without a configured feed, the work calls no
 * server.
 */
export const marketFeedWork = (options: MarketFeedOptions): LeasedWork => {
  const { logger, metrics, at, restMs = defaultRestMs } = options
  let nextLinkAt = Number.NEGATIVE_INFINITY
  let mustUpdateMetrics = true

  const linkNewSources = async (): Promise<void> => {
    if (at() < nextLinkAt) return
    const { linked, isDone } = await linkSources(options)
    nextLinkAt = isDone ? Number.NEGATIVE_INFINITY : at() + relinkAfterMs
    if (linked > 0) logger.info({ locations: linked }, 'Locations linked to the market source of their area')
  }

  return {
    name: 'market-feeds',
    restMs,
    leaseMs,
    turn: async leasedTurn => {
      await linkNewSources()
      if ((await fetchDueMarkets(options, leasedTurn)) > 0 || mustUpdateMetrics) await updateMetrics(options)
      mustUpdateMetrics = false
      return false
    },
    onStandby: () => {
      metrics.marketLastSuccess.reset()
      metrics.marketKnownUntil.reset()
      mustUpdateMetrics = true
    },
  }
}

/**
 * Create the shared sources that the installation lacks, and return the work on them. Rejects if PostgreSQL is
 * unavailable.
 */
export const openMarketFeeds = async (options: MarketFeedOptions): Promise<LeasedWork> => {
  await seedSharedSources(options.database.operator, sharedSources)
  return marketFeedWork(options)
}
