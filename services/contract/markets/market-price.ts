import { z } from 'zod'
import { writeInstant } from '../../domain/instant.ts'
import { maxMarketDecimals } from '../../domain/market-feed/feed-price.ts'
import type { Price } from '../../domain/quantity.ts'
import { count, exactDecimal, idText, instantText, storedMembers } from '../answer-field.ts'
import { fields, instant, listOf, refuseField, scaledDecimal } from '../field.ts'
import { scaledNumber } from '../json/exact-number.ts'
import { defineOperation, sameRoute } from '../operation.ts'
import { instantParameter, parameters } from '../parameter.ts'
import { submissionLimits } from '../registry/account.ts'

/** Market price over a half-open interval (ms). */
export type MarketPrice = { readonly start: number; readonly end: number; readonly value: Price }

const priceScale = 9
const priceLimit = 1_000_000n * 10n ** BigInt(priceScale)

/** First instant of year 1. PostgreSQL has no year 0. */
const minStart = -62_135_596_800_000

const marketPriceInput = fields({
  start_time: instant,
  end_time: instant,
  value: scaledDecimal({
    scale: priceScale,
    min: -priceLimit,
    max: priceLimit,
    round: true,
    maxDecimals: maxMarketDecimals,
  }).describe('Major units per kWh, up to 30 decimals. They are rounded half to even to 9 decimals.'),
})
  .meta({ component: 'MarketPriceInput' })
  .transform((wire, context): MarketPrice => {
    const price = { start: wire.start_time.at, end: wire.end_time.at, value: wire.value }
    if (price.start < minStart)
      return refuseField(context, 'time_out_of_range', 'must not be before 0001-01-01T00:00:00Z', ['start_time'])
    return price.start < price.end
      ? price
      : refuseField(context, 'end_before_start', 'must be after start_time', ['end_time'])
  })

/** Find two prices that overlap: the index of the later price and of the earlier one. Null without an overlap. */
export const findOverlap = (
  prices: readonly MarketPrice[],
): { readonly index: number; readonly other: number } | null => {
  const sorted = prices
    .map((price, index) => ({ ...price, index }))
    .toSorted((a, b) => a.start - b.start || a.index - b.index)
  for (const [index, price] of sorted.entries()) {
    const next = sorted[index + 1]
    if (next !== undefined && next.start < price.end) return { index: next.index, other: price.index }
  }
  return null
}

/**
 * Body of prices, in the order of the request. Prices must not overlap.
 * Source: docs/rules/markets-and-forecasts.md #storing-prices.
 */
export const marketPrices = listOf(marketPriceInput, { min: 1, max: submissionLimits.records }).superRefine(
  (prices, context) => {
    const overlap = findOverlap(prices)
    if (overlap !== null)
      refuseField(context, 'field_invalid', `must not overlap entry [${overlap.other}]`, [overlap.index, 'start_time'])
  },
)

const marketPriceChangeShape = z.object({
  stored: count.describe('Prices for time without an earlier price.'),
  replaced: count.describe('Prices that replaced stored prices.'),
  unchanged: count.describe('Prices that were already stored.'),
})

const marketPriceListShape = z.object({
  id: idText('mrs'),
  object: z.literal('market_prices'),
  live_mode: storedMembers.live_mode,
  currency_code: z.string(),
  data: z.array(z.object({ start_time: instantText, end_time: instantText, value: exactDecimal })),
})

type PriceList = {
  readonly id: string
  readonly liveMode: boolean
  readonly currencyCode: string
  readonly prices: readonly MarketPrice[]
}

/** Write stored prices, ordered by time. */
export const marketPricesToWire = (list: PriceList, offsetMinutes: number): z.input<typeof marketPriceListShape> => ({
  id: list.id,
  object: 'market_prices',
  live_mode: list.liveMode,
  currency_code: list.currencyCode,
  data: list.prices.map(({ start, end, value }) => ({
    start_time: writeInstant(start, offsetMinutes),
    end_time: writeInstant(end, offsetMinutes),
    value: scaledNumber(value, priceScale),
  })),
})

const tag = 'Markets'
const maxIntervalMs = 90 * 86_400_000

export const marketPricePut = defineOperation({
  id: 'market_price_put',
  summary: 'Store market prices',
  description:
    'Stores up to 10,000 prices with intervals of any length. New prices replace stored prices that overlap them. All costs from this source in that time are calculated again.',
  tag,
  access: 'all',
  operator: true,
  routes: sameRoute('PUT', '/markets/{id}/prices'),
  body: marketPrices,
  bodyLimit: submissionLimits.bytes,
  answer: { name: 'MarketPriceChange', shape: marketPriceChangeShape },
  status: 200,
  refusals: ['end_before_start', 'time_out_of_range'],
  examples: {
    body: [{ start_time: '2025-09-14T10:00:00Z', end_time: '2025-09-14T11:00:00Z', value: 0.08123 }],
    answer: { stored: 1, replaced: 0, unchanged: 0 },
  },
})

export const marketPriceList = defineOperation({
  id: 'market_price_list',
  summary: 'Read market prices',
  description: 'Returns the stored prices that overlap a period of at most 90 days, ordered by time.',
  tag,
  access: 'read',
  operator: true,
  routes: sameRoute('GET', '/markets/{id}/prices'),
  query: parameters({ start_time: instantParameter, end_time: instantParameter }).superRefine(
    ({ start_time, end_time }, context) => {
      if (end_time.at <= start_time.at)
        refuseField(context, 'end_before_start', 'must be after start_time', ['end_time'])
      if (end_time.at - start_time.at > maxIntervalMs) {
        refuseField(context, 'interval_too_long', 'must be at most 90 days after start_time', ['end_time'])
      }
    },
  ),
  answer: { name: 'MarketPrices', shape: marketPriceListShape },
  status: 200,
  refusals: ['end_before_start', 'interval_too_long'],
  examples: {
    answer: marketPricesToWire(
      {
        id: 'mrs_0198c0ffee00112233445566',
        liveMode: false,
        currencyCode: 'EUR',
        prices: [{ start: 1_757_844_000_000, end: 1_757_847_600_000, value: 81_230_000n }],
      },
      0,
    ),
  },
})
