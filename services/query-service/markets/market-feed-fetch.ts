import { randomInt } from 'node:crypto'
import { startOfLocalDay, type TimeZone } from '../../domain/civil-time.ts'
import { isFailure } from '../../platform/failure.ts'
import type { Span } from '../../platform/market-feeds/feed.ts'
import type { FeedChoice, FeedName } from '../../platform/market-feeds/feed-choice.ts'
import type { FeedPrice } from '../../platform/market-feeds/feed-price.ts'
import { requestSpans } from '../../platform/market-feeds/feed-spans.ts'
import { feedsFor, type OpenFeed } from '../../platform/market-feeds/feeds.ts'
import { FeedFailure, type FetchOptions, fetchPrices } from '../../platform/market-feeds/fetch-prices.ts'
import {
  expectedUntil,
  nextFetchAt,
  type PublicationClock,
  publishableUntil,
  retryDelayMs,
} from '../../platform/market-feeds/publication.ts'
import { marketClock } from '../../platform/market-feeds/shared-sources.ts'
import type { Metrics } from '../../platform/metrics.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { type FedSource, writeFeedState } from '../../platform/postgres/market-feeds.ts'
import { putMarketPrices } from '../../platform/postgres/market-prices.ts'
import type { SourceRevision } from '../../platform/postgres/pricing-input.ts'
import { withOperator } from '../../platform/postgres/transaction.ts'

/** How an attempt at one feed ended. */
type FetchOutcome = 'prices' | 'nothing' | 'failed'

export type MarketFetchOptions = Pick<FetchOptions, 'fetch' | 'timeoutMs' | 'mostBytes'> & {
  readonly database: Database
  readonly choice: FeedChoice
  readonly timeZone: (name: string) => TimeZone | null
  /** Tell the lanes of a committed change of a source's prices. Never rejects. */
  readonly announcePrices: (change: SourceRevision) => Promise<void>
  /** The present instant in ms. */
  readonly at: () => number
  /** A number of chance, 0 … 1; the machine's own when absent. */
  readonly chance?: () => number
  readonly metrics: Pick<Metrics, 'marketFetches' | 'marketLastSuccess' | 'marketKnownUntil'>
}

const anyChance = (): number => randomInt(2 ** 32) / 2 ** 32

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
const correctedMs = 2 * dayMs
const longestGapMs = 92 * dayMs

type Run = {
  feed: FeedName | null
  stored: number
  replaced: number
  unchanged: number
  knownUntil: number | null
  isAnswered: boolean
  retryAfterMs: number | null
  readonly errors: string[]
}

const clockOf = ({ timeZone }: MarketFetchOptions, area: string): PublicationClock => {
  const { timeZone: name, publishedAtMinute } = marketClock(area)
  const zone = timeZone(name)
  if (zone === null) throw new RangeError(`there is no zone ${name}`)
  return { zone, publishedAtMinute }
}

const store = async (options: MarketFetchOptions, source: FedSource, prices: readonly FeedPrice[], run: Run): Promise<void> => {
  const put = await withOperator(options.database, keeper => putMarketPrices(keeper, source.id, prices, options.at()))
  if (!put.ok) return
  const { stored, replaced, unchanged, fanOut } = put.value
  run.stored += stored
  run.replaced += replaced
  run.unchanged += unchanged
  run.knownUntil = Math.max(run.knownUntil ?? 0, prices.at(-1)?.end ?? 0)
  if (fanOut !== null) await options.announcePrices(fanOut)
}

/** Ask one feed for a span, request by request; what each gives is stored at once, as far as it begins in the span. */
const askFeed = async (
  options: MarketFetchOptions,
  source: FedSource,
  open: OpenFeed,
  asked: Span & { readonly zone: TimeZone },
  run: Run,
  signal: AbortSignal,
): Promise<void> => {
  const { fetch, timeoutMs, mostBytes } = options
  const bounds = { fetch, signal, ...(timeoutMs === undefined ? {} : { timeoutMs }), ...(mostBytes === undefined ? {} : { mostBytes }) }
  let outcome: FetchOutcome = 'nothing'
  try {
    for (const span of requestSpans(open.feed, asked.zone, asked)) {
      const { prices, note } = await fetchPrices(open, source, span, bounds)
      if (note !== null) run.errors.push(`${open.name}: ${note}`)
      const news = prices.filter(({ start }) => start >= asked.from && start < asked.to)
      if (news.length === 0) continue
      await store(options, source, news, run)
      run.feed = open.name
      outcome = 'prices'
    }
    run.isAnswered = true
  } catch (error) {
    if (!isFailure(error) || !error.code.startsWith('feed_')) throw error
    outcome = 'failed'
    run.errors.push(`${open.name}: ${error.message}`)
    if (error instanceof FeedFailure) run.retryAfterMs = Math.max(run.retryAfterMs ?? 0, error.retryAfterMs ?? 0)
  }
  options.metrics.marketFetches.inc({ feed: open.name, outcome })
}

const begin = ({ knownUntil }: FedSource): Run => ({
  feed: null,
  stored: 0,
  replaced: 0,
  unchanged: 0,
  knownUntil,
  isAnswered: false,
  retryAfterMs: null,
  errors: [],
})

const resultOf = ({ feed, stored, replaced, unchanged, knownUntil, errors }: Run, isWell: boolean): FetchResult => ({
  feed,
  stored,
  replaced,
  unchanged,
  knownUntil,
  error: isWell ? null : [...new Set(errors)].join('; ').slice(0, 500) || 'prices are overdue',
})

/**
 * Fetch what is due of one source: the preferred feed is asked for the last two days again, the others in turn for what is still
 * missing, a new source for 35 days. What comes is stored as a submission of prices is. Writes down how it went and when to fetch next:
 * prices that are overdue count as an outage like a feed that does not answer. Rejects where PostgreSQL does, or `signal` ends it.
 * Source: docs/rules/markets-and-forecasts.md #public-feeds, #outages.
 */
export const fetchSource = async (options: MarketFetchOptions, source: FedSource, signal: AbortSignal): Promise<FetchResult> => {
  const at = options.at()
  const chance = (options.chance ?? anyChance)()
  const clock = clockOf(options, source.area)
  const [wanted, to] = [expectedUntil(clock, at), publishableUntil(clock, at)]
  const run = begin(source)
  for (const [place, open] of feedsFor(options.choice, source).entries()) {
    const known = run.knownUntil ?? startOfLocalDay(clock.zone, at - historyMs)
    const from = Math.max(place === 0 && run.knownUntil !== null ? Math.min(known, at) - correctedMs : known, at - longestGapMs)
    if (place > 0 && known >= wanted) break
    if (from < to) await askFeed(options, source, open, { from, to, zone: clock.zone }, run, signal)
    signal.throwIfAborted()
  }
  const isWell = run.isAnswered && (run.knownUntil ?? 0) >= wanted
  const result = resultOf(run, isWell)
  const failures = run.isAnswered ? 0 : source.failures + 1
  await writeFeedState(options.database.operator, source.id, {
    attemptedAt: at,
    succeededAt: isWell ? at : source.succeededAt,
    feed: run.feed ?? source.feed,
    failures,
    failingSince: isWell ? null : (source.failingSince ?? at),
    error: result.error,
    nextAt: run.isAnswered ? nextFetchAt(clock, at, run.knownUntil, chance) : at + retryDelayMs(failures, chance, run.retryAfterMs),
  })
  return result
}

/**
 * Fetch a span of one source, however old: the first of its feeds that has prices in it gives them. What is due, and when, stays as it is.
 * Rejects where PostgreSQL does, or `signal` ends it.
 */
export const fetchSpan = async (options: MarketFetchOptions, source: FedSource, span: Span, signal: AbortSignal): Promise<FetchResult> => {
  const { zone } = clockOf(options, source.area)
  const run = begin(source)
  for (const open of feedsFor(options.choice, source)) {
    await askFeed(options, source, open, { ...span, zone }, run, signal)
    signal.throwIfAborted()
    if (run.feed !== null) break
  }
  return resultOf(run, run.feed !== null)
}
