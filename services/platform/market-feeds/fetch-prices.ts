import { Failure } from '../failure.ts'
import type { FeedInterval, FeedPage, FeedSeries } from './feed.ts'
import { type FeedPrice, overlapping, unreadable } from './feed-price.ts'
import type { ConfiguredFeed } from './feeds.ts'

/** How answers are got: the caller's `fetch`, and what bounds each answer. */
export type FetchOptions = {
  readonly fetch: typeof fetch
  readonly signal: AbortSignal
  readonly timeoutMs?: number
  readonly maxBytes?: number
}

/** What a feed has said of a span: its prices in the order of time, and why there are none. */
export type FetchResult = { readonly prices: readonly FeedPrice[]; readonly note: string | null }

const defaultTimeoutMs = 20_000
const defaultMaxBytes = 8 * 2 ** 20
const maxPages = 20

/** The world did not answer as it should; `retryAfterMs` is what the feed asked for. */
export class FeedFailure extends Failure {
  readonly retryAfterMs: number | null

  constructor(code: string, message: string, retryAfterMs: number | null, cause?: unknown) {
    super(code, message, { retriable: true, cause })
    this.retryAfterMs = retryAfterMs
  }
}

/** Only the host is named: an address may carry a token. */
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
  if (error.name === 'TimeoutError') return 'no answer in time'
  return error.cause instanceof Error ? error.cause.message : error.message
}

const retryAfterMsOf = (header: string | null): number | null =>
  header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : null

/** Ask one address; null where its status says that nothing is published yet. */
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

/** The next page is asked for where the first one was; only what is asked differs. */
const nextAddress = (next: string, from: string): string => {
  if (!URL.canParse(next)) throw unreadable('its next page has no address')
  return Object.assign(new URL(from), { search: new URL(next).search }).href
}

/**
 * Ask a feed for the prices of a span that one request may cover, page by page.
 * Each answer is bounded: 20 s and 8 MiB where the options say nothing else. Throws Failure `feed_away`, `feed_refused`, `feed_too_large`,
 * `feed_unreadable`, all retriable; a redirect is refused, because it could lead anywhere; their messages name the host and hold no secret.
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
    if (page > maxPages) throw unreadable(`it has more than ${maxPages} pages`)
    const text = await fetchPage(configuredFeed, address, options)
    const read: FeedPage =
      text === null ? { prices: [], next: null, note: 'nothing is published yet' } : feed.read(text, series, settings)
    prices.push(...read.prices)
    note = read.note ?? note
    address = read.next === null ? null : nextAddress(read.next, address)
  }
  return { prices: distinct(overlapping(prices, interval)), note }
}

/** A feed that gives one time twice must give it one price. Sorted by start. */
const distinct = (prices: readonly FeedPrice[]): readonly FeedPrice[] => {
  const distinctPrices: FeedPrice[] = []
  for (const price of prices) {
    const last = distinctPrices.at(-1)
    if (last === undefined || last.end <= price.start) distinctPrices.push(price)
    else if (last.start !== price.start || last.end !== price.end || last.value !== price.value) {
      throw unreadable(`two prices at ${new Date(price.start).toISOString()}`)
    }
  }
  return distinctPrices
}
