import type { Operation, Outcome, RequestOf } from '../../contract/operation.ts'
import {
  type MarketFeedFetchWire,
  type MarketFeedWire,
  marketFeedFetch,
  marketFeedList,
} from '../../contract/operator/market-feed.ts'
import { writeInstant } from '../../domain/instant.ts'
import { noObject } from '../../domain/no-object.ts'
import { accepted, refused } from '../../domain/refusal.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { feedsFor } from '../../platform/market-feeds/feeds.ts'
import { type FeedSource, listFeedSources } from '../../platform/postgres/pricing/market-feeds.ts'
import { type FetchResult, fetchInterval, fetchSource, type MarketFetchOptions } from './fetch-feed.ts'

const timeOf = (at: number | null): string | null => (at === null ? null : writeInstant(at))

const toWire = (source: FeedSource, { choice }: MarketFetchOptions): MarketFeedWire => ({
  id: source.id,
  object: 'market_feed',
  display_name: source.displayName,
  area: source.area,
  currency_code: source.currencyCode,
  feeds: feedsFor(choice, source).map(({ name }) => name),
  is_used: source.isUsed,
  known_until: timeOf(source.knownUntil),
  last_feed: source.feed,
  time_attempted: timeOf(source.attemptedAt),
  time_succeeded: timeOf(source.succeededAt),
  time_next: timeOf(source.nextAt),
  failures: source.failures,
  failing_since: timeOf(source.failingSince),
  time_told: timeOf(source.reportedAt),
  error: source.error,
})

const resultToWire = ({ id }: FeedSource, { knownUntil, ...result }: FetchResult): MarketFeedFetchWire => ({
  id,
  object: 'market_feed_fetch',
  ...result,
  known_until: timeOf(knownUntil),
})

const noFeed = (knownUntil: number | null): FetchResult => ({
  feed: null,
  stored: 0,
  replaced: 0,
  unchanged: 0,
  knownUntil,
  error: 'No configured feed publishes this source. Add a feed to WATTLEDGER_MARKET_FEEDS.',
})

/** Require the operator key: shared sources belong to all accounts. */
const forOperator =
  <Request extends RequestOf<Operation>, Answer>(run: (request: Request) => Promise<Outcome<Answer>>) =>
  async (request: Request): Promise<Outcome<Answer>> =>
    request.caller.scope === 'operator'
      ? run(request)
      : refused('insufficient_scope', 'Send the X-Operator-Key for this request')

/** Bind the operations of the operator on market feeds. The OpenAPI documents do not list them. */
export const marketFeedOperations = (options: MarketFetchOptions): readonly Binding[] => [
  bind(
    marketFeedList,
    forOperator(async () => {
      const sources = await listFeedSources(options.database.operator)
      return accepted({
        object: 'list' as const,
        url: '/operator/market-feeds',
        has_more: false,
        data: sources.map(source => toWire(source, options)),
      })
    }),
  ),
  bind(
    marketFeedFetch,
    forOperator(async ({ parameters, body, signal }) => {
      const [source] = await listFeedSources(options.database.operator, { id: parameters['id'] ?? '' })
      if (source === undefined) return noObject('shared market source that feeds can fill')
      if (feedsFor(options.choice, source).length === 0)
        return accepted(resultToWire(source, noFeed(source.knownUntil)))
      const { start_time: start, end_time: end } = body
      const result =
        start === undefined || end === undefined
          ? await fetchSource(options, source, signal)
          : await fetchInterval(options, source, { from: start.at, to: end.at }, signal)
      return accepted(resultToWire(source, result))
    }),
  ),
]
