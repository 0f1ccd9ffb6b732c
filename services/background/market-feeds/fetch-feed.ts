import { randomInt } from 'node:crypto'
import { startOfLocalDay, type TimeZone } from '../../domain/civil-time.ts'
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
import { isFailure } from '../../platform/failure.ts'
import type { FeedConfig, FeedName } from '../../platform/market-feeds/feed-config.ts'
import { type ConfiguredFeed, feedsFor } from '../../platform/market-feeds/feeds.ts'
import { FeedFailure, type FetchOptions, fetchPrices } from '../../platform/market-feeds/fetch-prices.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { type FeedSource, writeFeedState } from '../../platform/postgres/pricing/market-feeds.ts'
import { putMarketPrices } from '../../platform/postgres/pricing/market-prices.ts'
import type { SourceRevision } from '../../platform/postgres/pricing/pricing-input.ts'
import { withOperator } from '../../platform/postgres/transaction.ts'
import type { Metrics } from '../../platform/telemetry/metrics.ts'

/** How an attempt at one feed ended. */
type FetchOutcome = 'prices' | 'nothing' | 'failed'

export type MarketFetchOptions = Pick<FetchOptions, 'fetch' | 'timeoutMs' | 'maxBytes'> & {
  readonly database: Database
  readonly choice: FeedConfig
  readonly timeZone: (name: string) => TimeZone | null
  /** Tell the lanes of a committed change of a source's prices. Never rejects. */
  readonly announcePrices: (change: SourceRevision) => Promise<void>
  /** The present instant in ms. */
  readonly at: () => number
  /** A number of chance, 0 … 1; the machine's own when absent. */
  readonly random?: () => number
  readonly metrics: Pick<Metrics, 'marketFetches' | 'marketLastSuccess' | 'marketKnownUntil'>
}

const randomNumber = (): number => randomInt(2 ** 32) / 2 ** 32

/** What a fetch has brought. `feed` is the one that gave the last prices; `error` what went wrong, null where all that is due is known. */
export type FetchResult = {
  readonly feed: FeedName | null
  readonly stored: number
  readonly replaced: number
  readonly unchanged: number
  readonly knownUntil: number | null
  readonly error: string | null
}

const dayMs = 86_400_000
/** Forecasts read 28 days, and need a week more to be judged by. */
const historyMs = 35 * dayMs
/** The preferred feed is asked again for what it may have corrected. */
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
  if (zone === null) throw new RangeError(`there is no zone ${name}`)
  return { zone, publishedAtMinute }
}

const storePrices = async (
  options: MarketFetchOptions,
  source: FeedSource,
  prices: readonly FeedPrice[],
  fetchRun: FetchRun,
): Promise<void> => {
  const put = await withOperator(options.database, transaction =>
    putMarketPrices(transaction, source.id, prices, options.at()),
  )
  if (!put.ok) return
  const { stored, replaced, unchanged, fanOut } = put.value
  fetchRun.stored += stored
  fetchRun.replaced += replaced
  fetchRun.unchanged += unchanged
  fetchRun.knownUntil = Math.max(fetchRun.knownUntil ?? 0, prices.at(-1)?.end ?? 0)
  if (fanOut !== null) await options.announcePrices(fanOut)
}

/** Ask one feed for a span, request by request; what each gives is stored at once, as far as it begins in the span. */
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
 * Fetch what is due of one source: the preferred feed is asked for the last two days again, the others in turn for what is still
 * missing, a new source for 35 days. What comes is stored as a submission of prices is. Writes down how it went and when to fetch next:
 * prices that are overdue count as an outage like a feed that does not answer. Rejects where PostgreSQL does, or `signal` ends it.
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
 * Fetch a span of one source, however old: the first of its feeds that has prices in it gives them. What is due, and when, stays as it is.
 * Rejects where PostgreSQL does, or `signal` ends it.
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
