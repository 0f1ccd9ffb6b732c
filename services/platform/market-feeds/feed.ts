import type { FeedInterval, FeedPrice } from '../../domain/market-feed/feed-price.ts'
import type { FeedConfig } from '../config/feed-config.ts'

/** Market area and currency of a series of prices. */
export type FeedSeries = { readonly area: string; readonly currencyCode: string }

/** Settings of a feed from the configuration. `baseUrl` has no slash at the end. */
export type FeedSettings = Omit<FeedConfig, 'enabled'> & { readonly baseUrl: string }

/** Content of an answer. `next` is the address of the next page. `note` is the reason why an answer has no prices. */
export type FeedPage = {
  readonly prices: readonly FeedPrice[]
  readonly next: string | null
  readonly note: string | null
}

/** A public feed of prices: its requests and the reader of its answers. All functions are pure. */
export type Feed = {
  readonly baseUrl: string
  /** Longest interval of one request, in local days. */
  readonly maxDays: number
  /** Instants (ms) at which requests are split, because the addresses before and after differ. */
  readonly cutsAt?: readonly number[]
  /** Return whether the feed publishes a series with these settings. */
  readonly serves: (series: FeedSeries, settings: FeedSettings) => boolean
  /** Return the address of the prices of an interval. */
  readonly urlOf: (series: FeedSeries, interval: FeedInterval, settings: FeedSettings) => string
  /** Read an answer. Prices have any order and may lie outside the requested interval. Throws `FeedFormatError`. */
  readonly read: (text: string, series: FeedSeries, settings: FeedSettings) => FeedPage
  /** Statuses other than 200 whose body is read. */
  readonly readableStatuses?: readonly number[]
  /** Statuses of an interval without published prices. */
  readonly emptyStatuses?: readonly number[]
}

/** Create a page that has no next page. */
export const onePage = (prices: readonly FeedPrice[], note: string | null = null): FeedPage => ({
  prices,
  next: null,
  note,
})
