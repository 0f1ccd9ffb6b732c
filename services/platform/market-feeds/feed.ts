import type { FeedConfig } from './feed-config.ts'
import type { FeedPrice } from './feed-price.ts'

/** A series that a feed may fill. */
export type FeedSeries = { readonly area: string; readonly currencyCode: string }

/** A half-open span of instants (ms). */
export type FeedInterval = { readonly from: number; readonly to: number }

/** What a feed is told by configuration; `baseUrl` is where it answers, without a slash at the end. */
export type FeedSettings = Omit<FeedConfig, 'enabled'> & { readonly baseUrl: string }

/** What an answer says. `next` is where the same answer goes on; `note` what it says beside prices, such as why there are none. */
export type FeedPage = {
  readonly prices: readonly FeedPrice[]
  readonly next: string | null
  readonly note: string | null
}

/** A public feed of prices: what to ask it for, and how to read what it answers. Both are pure. */
export type Feed = {
  readonly baseUrl: string
  /** The longest span that one request asks for. */
  readonly maxDays: number
  /** Instants that lie inside no request, because what is asked differs before and after. */
  readonly cutsAt?: readonly number[]
  /** Whether the feed publishes a series, as far as its settings go. */
  readonly serves: (series: FeedSeries, settings: FeedSettings) => boolean
  /** The address that gives the prices of a span. */
  readonly urlOf: (series: FeedSeries, interval: FeedInterval, settings: FeedSettings) => string
  /** Read an answer; prices in any order, which may lie beside what was asked for. Throws Failure `feed_unreadable`. */
  readonly read: (text: string, series: FeedSeries, settings: FeedSettings) => FeedPage
  /** Statuses beside 200 whose body is read. */
  readonly readableStatuses?: readonly number[]
  /** Statuses that say that nothing is published yet. */
  readonly emptyStatuses?: readonly number[]
}

/** Write an instant as the feeds take it: 2025-10-01T00:00Z. */
export const minuteText = (at: number): string => `${new Date(at).toISOString().slice(0, 16)}Z`

/** A page that holds all there is. */
export const onePage = (prices: readonly FeedPrice[], note: string | null = null): FeedPage => ({
  prices,
  next: null,
  note,
})
