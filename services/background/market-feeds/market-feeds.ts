import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { sharedSources } from '../../domain/market-feed/shared-sources.ts'
import { feedsFor } from '../../platform/market-feeds/feeds.ts'
import { type Lease, releaseLease, takeLease } from '../../platform/postgres/leases.ts'
import { type FeedSource, listFeedSources } from '../../platform/postgres/pricing/market-feeds.ts'
import { seedSharedSources } from '../../platform/postgres/pricing/market-sources.ts'
import type { Logger } from '../../platform/telemetry/logger.ts'
import { type LinkOptions, linkSources } from './feed-links.ts'
import { publishFeedOutages } from './feed-outages.ts'
import { fetchSource, type MarketFetchOptions } from './fetch-feed.ts'

export type MarketFeedOptions = MarketFetchOptions &
  LinkOptions & {
    readonly logger: Pick<Logger, 'info' | 'warn'>
    /** Pause between two looks at what is due; 5 s when absent. */
    readonly restMs?: number
  }

/** Longer than any fetch should take; should one take longer, two processes fetch the same prices, which does no harm. */
const leaseMs = 120_000
const defaultRestMs = 5_000
const maxParallelFetches = 4
const relinkAfterMs = 60_000

/** Fetch one source; what is amiss with it keeps no other from its turn. */
const fetchAndLog = async (options: MarketFeedOptions, source: FeedSource, signal: AbortSignal): Promise<void> => {
  const { logger } = options
  const logFields = { market: source.id, area: source.area, currency: source.currencyCode }
  try {
    const { feed, stored, replaced, error } = await fetchSource(options, source, signal)
    if (error === null) logger.info({ ...logFields, feed, stored, replaced }, 'market prices were fetched')
    else logger.warn({ ...logFields, feed, stored, replaced, error }, 'market prices are overdue')
  } catch (error) {
    if (!signal.aborted) logger.warn({ ...logFields, err: error }, 'market prices wait')
  }
}

/** Show how it goes with every source that was ever fetched. */
const updateMetrics = async ({ database, metrics }: MarketFeedOptions): Promise<void> => {
  for (const { id, area, attemptedAt, succeededAt, knownUntil } of await listFeedSources(database.operator)) {
    if (attemptedAt === null) continue
    metrics.marketLastSuccess.set({ market: id, area }, (succeededAt ?? 0) / 1000)
    metrics.marketKnownUntil.set({ market: id, area }, (knownUntil ?? 0) / 1000)
  }
}

/**
 * Do a round: fetch the sources that are used, due and published by a chosen feed, four at a time, and tell of outages. `keepLease` is
 * called before each four. Gives how many were fetched.
 */
export const fetchDueMarkets = async (
  options: MarketFeedOptions,
  renewLease: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<number> => {
  const { database, choice, at } = options
  const due = choice.enabled.length === 0 ? [] : await listFeedSources(database.operator, { dueAt: at() })
  const fetchable = due.filter(source => feedsFor(choice, source).length > 0)
  let fetched = 0
  while (fetched < fetchable.length && !signal.aborted && (await renewLease())) {
    const batch = fetchable.slice(fetched, fetched + maxParallelFetches)
    await Promise.all(batch.map(source => fetchAndLog(options, source, signal)))
    fetched += batch.length
  }
  const eventCount = await publishFeedOutages(database, at())
  if (eventCount > 0) options.logger.warn({ tariffs: eventCount }, 'accounts were told that prices fail to come')
  return fetched
}

/**
 * Start looking after shared market sources, by one process at a time: new ones reach the locations of their area, those that are used are
 * fetched from the chosen feeds when they are due, and outages are told. Without a chosen feed nothing outside is ever called.
 */
export const startMarketFeeds = (options: MarketFeedOptions): AsyncDisposable => {
  const { database, logger, metrics, at, restMs = defaultRestMs } = options
  const stopping = new AbortController()
  const holder = randomUUID()
  let lease: Lease | null = null
  let nextLinkAt = Number.NEGATIVE_INFINITY

  const renewLease = async (): Promise<boolean> => {
    lease = await takeLease(database.operator, 'market-feeds', holder, leaseMs)
    return lease !== null
  }

  const linkNewSources = async (): Promise<void> => {
    if (at() < nextLinkAt) return
    const { linked, isDone } = await linkSources(options)
    nextLinkAt = isDone ? Number.NEGATIVE_INFINITY : at() + relinkAfterMs
    if (linked > 0) logger.info({ locations: linked }, 'locations got the market source of their area')
  }

  const turn = async (isFirst: boolean): Promise<boolean> => {
    if (!(await renewLease())) {
      metrics.marketLastSuccess.reset()
      metrics.marketKnownUntil.reset()
      return true
    }
    await linkNewSources()
    if ((await fetchDueMarkets(options, renewLease, stopping.signal)) > 0 || isFirst) await updateMetrics(options)
    return false
  }

  const run = async (): Promise<void> => {
    let isFirst = true
    while (!stopping.signal.aborted) {
      try {
        isFirst = await turn(isFirst)
      } catch (error) {
        if (!stopping.signal.aborted) logger.warn({ err: error }, 'market sources wait')
      }
      await sleep(restMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
    if (lease !== null)
      await releaseLease(database.operator, lease).catch(error =>
        logger.warn({ err: error }, 'the lease runs out by itself'),
      )
  }
  const running = run()
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await running
    },
  }
}

/** Make the shared sources that an installation lacks, and start looking after them. Rejects where PostgreSQL does. */
export const openMarketFeeds = async (options: MarketFeedOptions): Promise<AsyncDisposable> => {
  await seedSharedSources(options.database.operator, sharedSources)
  return startMarketFeeds(options)
}
