import { z } from 'zod'
import { count, idText, instantText, orNull } from '../answer-field.ts'
import { fields, instant, optional, refuseField } from '../field.ts'
import { listEnvelope } from '../list.ts'
import { defineOperation, sameRoute } from '../operation.ts'

/**
 * Operations on the feeds of shared market sources for the operator. They require the operator's key and are absent
 * from the documents for callers.
 */

const feed = z.object({
  id: idText('mrs'),
  object: z.literal('market_feed'),
  display_name: z.string(),
  area: z.string(),
  currency_code: z.string(),
  feeds: z.array(z.string()).describe('The enabled feeds of the source, preferred feed first.'),
  is_used: z.boolean().describe('True if a location uses the source. Unused sources are not fetched automatically.'),
  known_until: orNull(instantText).describe('End of its last published price.'),
  last_feed: orNull(z.string()).describe('The feed of the last prices.'),
  time_attempted: orNull(instantText),
  time_succeeded: orNull(instantText).describe('Time of the last fetch with all expected prices.'),
  time_next: orNull(instantText),
  failures: count.describe('Consecutive attempts without a usable answer.'),
  failing_since: orNull(instantText),
  time_told: orNull(instantText).describe('Time of the outage events to the accounts.'),
  error: orNull(z.string()),
})

const fetchResult = z.object({
  id: idText('mrs'),
  object: z.literal('market_feed_fetch'),
  feed: orNull(z.string()),
  stored: count.describe('Prices for time without an earlier price.'),
  replaced: count.describe('Prices that replaced stored prices.'),
  unchanged: count.describe('Prices that were already stored.'),
  known_until: orNull(instantText),
  error: orNull(z.string()).describe('Error message; null after success.'),
})

export type MarketFeedWire = z.output<typeof feed>
export type MarketFeedFetchWire = z.output<typeof fetchResult>

const operatorDefaults = { tag: 'Operator', access: 'all', operator: true, status: 200 } as const

export const maxFetchMs = 31 * 86_400_000

export const marketFeedList = defineOperation({
  ...operatorDefaults,
  id: 'market_feed_list',
  summary: 'List shared market sources and their feeds',
  description: 'All shared market sources, ordered by area and currency.',
  routes: sameRoute('GET', '/operator/market-feeds'),
  answer: { name: 'MarketFeedList', shape: listEnvelope(feed) },
})

export const marketFeedFetch = defineOperation({
  ...operatorDefaults,
  id: 'market_feed_fetch',
  summary: 'Fetch the prices of a shared market source now',
  description: 'Fetches the expected prices, or the prices of a period of at most 31 days.',
  routes: sameRoute('POST', '/operator/market-feeds/{id}/fetch'),
  body: fields({ start_time: optional(instant), end_time: optional(instant) }).superRefine(
    ({ start_time, end_time }, context) => {
      if ((start_time === undefined) !== (end_time === undefined)) {
        refuseField(context, 'field_required', 'is required with the other end of the period', [
          start_time === undefined ? 'start_time' : 'end_time',
        ])
        return
      }
      if (start_time === undefined || end_time === undefined) return
      if (end_time.at <= start_time.at)
        refuseField(context, 'end_before_start', 'must be after start_time', ['end_time'])
      if (end_time.at - start_time.at > maxFetchMs) {
        refuseField(context, 'interval_too_long', 'must be at most 31 days after start_time', ['end_time'])
      }
    },
  ),
  bodyOptional: true,
  answer: { name: 'MarketFeedFetch', shape: fetchResult },
})
