import { trimEnd } from '../../domain/trim-end.ts'
import type { EnabledFeed, FeedConfig, FeedName } from '../config/feed-config.ts'
import { entsoe } from './entsoe.ts'
import type { Feed, FeedSeries, FeedSettings } from './feed.ts'
import { jsonFeeds } from './json-feeds.ts'

/** Public feeds by name. */
const feeds: Readonly<Record<FeedName, Feed>> = { entsoe, ...jsonFeeds }

/** A feed with its settings. */
export type ConfiguredFeed = { readonly name: FeedName; readonly feed: Feed; readonly settings: FeedSettings }

const configureFeed = ({ enabled: _, ...settings }: FeedConfig, { name, baseUrl }: EnabledFeed): ConfiguredFeed => {
  const feed = feeds[name]
  return { name, feed, settings: { ...settings, baseUrl: trimEnd(baseUrl ?? feed.baseUrl, '/') } }
}

/** Return the enabled feeds that publish a series, in order of preference. */
export const feedsFor = (config: FeedConfig, series: FeedSeries): readonly ConfiguredFeed[] =>
  config.enabled.map(one => configureFeed(config, one)).filter(({ feed, settings }) => feed.serves(series, settings))
