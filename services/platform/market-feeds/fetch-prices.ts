import { FeedFormatError, type FeedInterval, type FeedPrice, overlapping } from '../../domain/market-feed/feed-price.ts'
import { Failure } from '../failure.ts'
import type { FeedPage, FeedSeries } from './feed.ts'
import type { ConfiguredFeed } from './feeds.ts'

/** `fetch` of the caller, and the limits of each answer. */
export type FetchOptions = {
  readonly fetch: typeof fetch
  readonly signal: AbortSignal
  readonly timeoutMs?: number
  readonly maxBytes?: number
}

/** Prices of an interval, ordered by start. `note` is the reason if prices are missing. */
export type FetchResult = { readonly prices: readonly FeedPrice[]; readonly note: string | null }

const defaultTimeoutMs = 20_000
const defaultMaxBytes = 8 * 2 ** 20
const maxPages = 20

/** A fetch failed. `retryAfterMs` is the `Retry-After` header of the feed. */
export class FeedFailure extends Failure {
  readonly retryAfterMs: number | null

  constructor(code: string, message: string, retryAfterMs: number | null, cause?: unknown) {
    super(code, message, { retriable: true, cause })
    this.retryAfterMs = retryAfterMs
  }
}

/** Messages name the host only, because an address can contain a token. */
const hostOf = (address: string): string => new URL(address).host

const readBody = async (response: Response, maxBytes: number, host: string): Promise<string> => {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw new FeedFailure('feed_too_large', `${host} sent more than ${maxBytes} bytes`, null)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const causeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'timeout'
  return error.cause instanceof Error ? error.cause.message : error.message
}

const retryAfterMsOf = (header: string | null): number | null =>
  header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : null

/** Fetch one page. Null if nothing is published yet. */
const fetchPage = async ({ feed }: ConfiguredFeed, address: string, options: FetchOptions): Promise<string | null> => {
  const { timeoutMs = defaultTimeoutMs, maxBytes = defaultMaxBytes } = options
  const host = hostOf(address)
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)])
  try {
    const response = await options.fetch(address, {
      signal,
      redirect: 'manual',
      headers: { Accept: '*/*', 'User-Agent': 'wattledger' },
    })
    const { status } = response
    if (status === 200 || feed.readableStatuses?.includes(status) === true)
      return await readBody(response, maxBytes, host)
    await response.body?.cancel()
    if (feed.emptyStatuses?.includes(status) === true) return null
    throw new FeedFailure(
      'feed_refused',
      `${host} answered ${status}`,
      retryAfterMsOf(response.headers.get('Retry-After')),
    )
  } catch (error) {
    if (error instanceof FeedFailure) throw error
    throw new FeedFailure('feed_away', `${host}: ${causeOf(error)}`, null, error)
  }
}

/** The next page is fetched from the same host and path. Only the query of the given address is used. */
const nextAddress = (next: string, from: string): string => {
  if (!URL.canParse(next)) throw unreadable('Cannot read the answer: its next page has no address')
  return Object.assign(new URL(from), { search: new URL(next).search }).href
}

const unreadable = (message: string, cause?: unknown): Failure =>
  new Failure('feed_unreadable', message, { retriable: true, cause })

const readPage = ({ feed, settings }: ConfiguredFeed, text: string | null, series: FeedSeries): FeedPage => {
  if (text === null) return { prices: [], next: null, note: 'nothing is published yet' }
  try {
    return feed.read(text, series, settings)
  } catch (error) {
    throw error instanceof FeedFormatError ? unreadable(error.message, error) : error
  }
}

/**
 * Fetch the prices of an interval that one request can cover, page by page.
 * Limits of each answer: 20 s and 8 MiB by default. Redirects are refused, because they could lead to any host.
 * Throws Failure `feed_away`, `feed_refused`, `feed_too_large` or `feed_unreadable`, all retriable.
 * Messages contain no secret.
 */
export const fetchPrices = async (
  configuredFeed: ConfiguredFeed,
  series: FeedSeries,
  interval: FeedInterval,
  options: FetchOptions,
): Promise<FetchResult> => {
  const { feed, settings } = configuredFeed
  const prices: FeedPrice[] = []
  let note: string | null = null
  let address: string | null = feed.urlOf(series, interval, settings)
  for (let page = 1; address !== null; page += 1) {
    if (page > maxPages) throw unreadable(`Cannot read the answer: it has more than ${maxPages} pages`)
    const text = await fetchPage(configuredFeed, address, options)
    const read = readPage(configuredFeed, text, series)
    prices.push(...read.prices)
    note = read.note ?? note
    address = read.next === null ? null : nextAddress(read.next, address)
  }
  return { prices: distinct(overlapping(prices, interval)), note }
}

/** Remove equal duplicates. Throws if a feed gives two prices for one time. `prices` are sorted by start. */
const distinct = (prices: readonly FeedPrice[]): readonly FeedPrice[] => {
  const distinctPrices: FeedPrice[] = []
  for (const price of prices) {
    const last = distinctPrices.at(-1)
    if (last === undefined || last.end <= price.start) distinctPrices.push(price)
    else if (last.start !== price.start || last.end !== price.end || last.value !== price.value) {
      throw unreadable(`Cannot read the answer: two prices at ${new Date(price.start).toISOString()}`)
    }
  }
  return distinctPrices
}
