import { z } from 'zod'
import { count, idText, instantText, orNull } from '../answer-field.ts'
import { fields, instant, optional, refuseField } from '../field.ts'
import { listEnvelope } from '../list.ts'
import { defineOperation, sameRoute } from '../operation.ts'

/**
 * What the operator sees and does of fetching the prices of shared market sources. These operations take the operator's key alone and
 * stand in no document for callers.
 */

const feed = z.object({
  id: idText('mrs'),
  object: z.literal('market_feed'),
  display_name: z.string(),
  area: z.string(),
  currency_code: z.string(),
  feeds: z.array(z.string()).describe('The chosen feeds that publish it, preferred first.'),
  is_used: z.boolean().describe('Whether a location takes its prices; others are not fetched unasked.'),
  known_until: orNull(instantText).describe('End of its last published price.'),
  last_feed: orNull(z.string()).describe('The feed that last gave prices.'),
  time_attempted: orNull(instantText),
  time_succeeded: orNull(instantText).describe('When it last had all prices that were due.'),
  time_next: orNull(instantText),
  failures: count.describe('Attempts in a row without an answer that can be used.'),
  failing_since: orNull(instantText),
  time_told: orNull(instantText).describe('When accounts were told of the outage.'),
  error: orNull(z.string()),
})

const fetchResult = z.object({
  id: idText('mrs'),
  object: z.literal('market_feed_fetch'),
  feed: orNull(z.string()),
  stored: count.describe('Prices for time that had none.'),
  replaced: count.describe('Prices that changed some that were stored.'),
  unchanged: count.describe('Prices that were stored already.'),
  known_until: orNull(instantText),
  error: orNull(z.string()).describe('What went wrong; null where all is well.'),
})

export type MarketFeedWire = z.output<typeof feed>
export type MarketFeedFetchWire = z.output<typeof fetchResult>

const operatorDefaults = { tag: 'Operator', access: 'all', operator: true, status: 200 } as const

export const maxFetchMs = 31 * 86_400_000

export const marketFeedList = defineOperation({
  ...operatorDefaults,
  id: 'market_feed_list',
  summary: 'List shared market sources and how fetching goes',
  description: 'All of them, by area and currency.',
  routes: sameRoute('GET', '/operator/market-feeds'),
  answer: { name: 'MarketFeedList', shape: listEnvelope(feed) },
})

export const marketFeedFetch = defineOperation({
  ...operatorDefaults,
  id: 'market_feed_fetch',
  summary: 'Fetch the prices of a shared market source now',
  description: 'What is due, or a span of at most 31 days, however old.',
  routes: sameRoute('POST', '/operator/market-feeds/{id}/fetch'),
  body: fields({ start_time: optional(instant), end_time: optional(instant) }).superRefine(
    ({ start_time, end_time }, context) => {
      if ((start_time === undefined) !== (end_time === undefined)) {
        refuseField(context, 'field_required', 'goes with the other end of the span', [
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
