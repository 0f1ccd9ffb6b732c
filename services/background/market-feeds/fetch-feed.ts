import { randomInt } from 'node:crypto'
import { startOfLocalDay, type TimeZone } from '../../domain/civil-time.ts'
import { dayMs } from '../../domain/interval.ts'
import type { FeedInterval, FeedPrice } from '../../domain/market-feed/feed-price.ts'
import {
  expectedUntil,
  nextFetchAt,
  type PublicationClock,
  publishableUntil,
  requestIntervals,
  retryDelayMs,
} from '../../domain/market-feed/publication.ts'
import { marketClock } from '../../domain/market-feed/shared-sources.ts'
import type { FeedConfig, FeedName } from '../../platform/config/feed-config.ts'
import { isFailure } from '../../platform/failure.ts'
import { type ConfiguredFeed, feedsFor } from '../../platform/market-feeds/feeds.ts'
import { FeedFailure, type FetchOptions, fetchPrices } from '../../platform/market-feeds/fetch-prices.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { type FeedSource, writeFeedState } from '../../platform/postgres/pricing/market-feeds.ts'
import { putMarketPrices } from '../../platform/postgres/pricing/market-prices.ts'
import type { SourceRevision } from '../../platform/postgres/pricing/pricing-input.ts'
import { withOperator } from '../../platform/postgres/transaction.ts'
import type { Metrics } from '../../platform/telemetry/metrics.ts'

/** Result of an attempt at one feed: a label of the metric. */
type FetchOutcome = 'prices' | 'nothing' | 'failed'

export type MarketFetchOptions = Pick<FetchOptions, 'fetch' | 'timeoutMs' | 'maxBytes'> & {
  readonly database: Database
  readonly choice: FeedConfig
  readonly timeZone: (name: string) => TimeZone | null
  /** Announce a committed change of a source's prices in all partitions. Never rejects. */
  readonly announcePrices: (change: SourceRevision) => Promise<void>
  /** Current instant in ms. */
  readonly at: () => number
  /** Random number in [0, 1); from the operating system if absent. */
  readonly random?: () => number
  readonly metrics: Pick<Metrics, 'marketFetches' | 'marketLastSuccess' | 'marketKnownUntil'>
}

const randomNumber = (): number => randomInt(2 ** 32) / 2 ** 32

/**
 * Result of a fetch. `feed`: feed of the last prices; `error`: null if all prices that are due are known; `knownUntil`
 * in ms.
 */
export type FetchResult = {
  readonly feed: FeedName | null
  readonly stored: number
  readonly replaced: number
  readonly unchanged: number
  readonly knownUntil: number | null
  readonly error: string | null
}

/** Forecasts read 28 days, and seven more days to measure their error. */
const historyMs = 35 * dayMs
/** The preferred feed is read again for this time, because it may have corrected prices. */
const recheckMs = 2 * dayMs
const maxGapMs = 92 * dayMs

type FetchRun = {
  feed: FeedName | null
  stored: number
  replaced: number
  unchanged: number
  knownUntil: number | null
  hasAnswer: boolean
  retryAfterMs: number | null
  readonly errors: string[]
}

const clockOf = ({ timeZone }: MarketFetchOptions, area: string): PublicationClock => {
  const { timeZone: name, publishedAtMinute } = marketClock(area)
  const zone = timeZone(name)
  if (zone === null) throw new RangeError(`The time zone ${name} is unknown.`)
  return { zone, publishedAtMinute }
}

const storePrices = async (
  options: MarketFetchOptions,
  source: FeedSource,
  prices: readonly FeedPrice[],
  fetchRun: FetchRun,
): Promise<void> => {
  const put = await withOperator(options.database, transaction => putMarketPrices(transaction, source.id, prices))
  if (!put.ok) return
  const { stored, replaced, unchanged, fanOut } = put.value
  fetchRun.stored += stored
  fetchRun.replaced += replaced
  fetchRun.unchanged += unchanged
  fetchRun.knownUntil = Math.max(fetchRun.knownUntil ?? 0, prices.at(-1)?.end ?? 0)
  if (fanOut !== null) await options.announcePrices(fanOut)
}

/**
 * Fetch an interval from one feed, request by request, and store the prices that begin in the interval after each
 * request.
 */
const fetchFromFeed = async (
  options: MarketFetchOptions,
  source: FeedSource,
  openFeed: ConfiguredFeed,
  requested: FeedInterval & { readonly zone: TimeZone },
  fetchRun: FetchRun,
  signal: AbortSignal,
): Promise<void> => {
  const { fetch, timeoutMs, maxBytes } = options
  const fetchLimits = {
    fetch,
    signal,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(maxBytes === undefined ? {} : { maxBytes }),
  }
  let outcome: FetchOutcome = 'nothing'
  try {
    for (const interval of requestIntervals(openFeed.feed, requested.zone, requested)) {
      const { prices, note } = await fetchPrices(openFeed, source, interval, fetchLimits)
      if (note !== null) fetchRun.errors.push(`${openFeed.name}: ${note}`)
      const newPrices = prices.filter(({ start }) => start >= requested.from && start < requested.to)
      if (newPrices.length === 0) continue
      await storePrices(options, source, newPrices, fetchRun)
      fetchRun.feed = openFeed.name
      outcome = 'prices'
    }
    fetchRun.hasAnswer = true
  } catch (error) {
    if (!isFailure(error) || !error.code.startsWith('feed_')) throw error
    outcome = 'failed'
    fetchRun.errors.push(`${openFeed.name}: ${error.message}`)
    if (error instanceof FeedFailure)
      fetchRun.retryAfterMs = Math.max(fetchRun.retryAfterMs ?? 0, error.retryAfterMs ?? 0)
  }
  options.metrics.marketFetches.inc({ feed: openFeed.name, outcome })
}

const startRun = ({ knownUntil }: FeedSource): FetchRun => ({
  feed: null,
  stored: 0,
  replaced: 0,
  unchanged: 0,
  knownUntil,
  hasAnswer: false,
  retryAfterMs: null,
  errors: [],
})

const resultOf = (
  { feed, stored, replaced, unchanged, knownUntil, errors }: FetchRun,
  isComplete: boolean,
): FetchResult => ({
  feed,
  stored,
  replaced,
  unchanged,
  knownUntil,
  error: isComplete ? null : [...new Set(errors)].join('; ').slice(0, 500) || 'prices are overdue',
})

/**
 * Fetch the prices of one source that are due. The preferred feed is read from two days before the last known price,
 * the other feeds for prices that are still missing. A new source is read from 35 days ago. Prices are stored in the
 * same way as submitted prices. The state of the fetch and the time of the next one are stored; overdue prices count as
 * an outage.
 * Rejects if PostgreSQL is unavailable or `signal` is aborted.
 * Source: docs/rules/markets-and-forecasts.md #public-feeds, #outages.
 */
export const fetchSource = async (
  options: MarketFetchOptions,
  source: FeedSource,
  signal: AbortSignal,
): Promise<FetchResult> => {
  const at = options.at()
  const random = (options.random ?? randomNumber)()
  const clock = clockOf(options, source.area)
  const [expectedEnd, to] = [expectedUntil(clock, at), publishableUntil(clock, at)]
  const fetchRun = startRun(source)
  for (const [feedIndex, openFeed] of feedsFor(options.choice, source).entries()) {
    const known = fetchRun.knownUntil ?? startOfLocalDay(clock.zone, at - historyMs)
    const from = Math.max(
      feedIndex === 0 && fetchRun.knownUntil !== null ? Math.min(known, at) - recheckMs : known,
      at - maxGapMs,
    )
    if (feedIndex > 0 && known >= expectedEnd) break
    if (from < to) await fetchFromFeed(options, source, openFeed, { from, to, zone: clock.zone }, fetchRun, signal)
    signal.throwIfAborted()
  }
  const isComplete = fetchRun.hasAnswer && (fetchRun.knownUntil ?? 0) >= expectedEnd
  const result = resultOf(fetchRun, isComplete)
  const failures = fetchRun.hasAnswer ? 0 : source.failures + 1
  await writeFeedState(options.database.operator, source.id, {
    attemptedAt: at,
    succeededAt: isComplete ? at : source.succeededAt,
    feed: fetchRun.feed ?? source.feed,
    failures,
    failingSince: isComplete ? null : (source.failingSince ?? at),
    error: result.error,
    nextAt: fetchRun.hasAnswer
      ? nextFetchAt(clock, at, fetchRun.knownUntil, random)
      : at + retryDelayMs(failures, random, fetchRun.retryAfterMs),
  })
  return result
}

/**
 * Fetch any interval of one source, from the first of its feeds that has prices in the interval. The next due fetch
 * stays the same.
 * Rejects if PostgreSQL is unavailable or `signal` is aborted.
 */
export const fetchInterval = async (
  options: MarketFetchOptions,
  source: FeedSource,
  interval: FeedInterval,
  signal: AbortSignal,
): Promise<FetchResult> => {
  const { zone } = clockOf(options, source.area)
  const fetchRun = startRun(source)
  for (const openFeed of feedsFor(options.choice, source)) {
    await fetchFromFeed(options, source, openFeed, { ...interval, zone }, fetchRun, signal)
    signal.throwIfAborted()
    if (fetchRun.feed !== null) break
  }
  return resultOf(fetchRun, fetchRun.feed !== null)
}
