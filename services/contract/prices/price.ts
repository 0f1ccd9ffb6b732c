import { z } from 'zod'
import { writeInstant } from '../../domain/instant.ts'
import { hourMs } from '../../domain/interval.ts'
import type { PriceElement } from '../../domain/price/price-series.ts'
import { instantText, objectShape, objectToWire, seriesNumber } from '../answer-field.ts'
import type { ApiVersion } from '../api-version.ts'
import type { JsonNumber } from '../json/exact-number.ts'
import { defineOperation } from '../operation.ts'
import { flag, parameters } from '../parameter.ts'
import { locationOnly } from '../reference.ts'
import {
  directionVersionRenames,
  type PriceView,
  priceBody,
  repeatedLocation,
  requestShape,
  requestToWire,
  sharedPriceShape,
  sharedPriceToWire,
} from './price-request.ts'
import { priceWriter } from './price-writer.ts'

const elementShape = z.object({
  valid_from: instantText,
  valid_to: instantText,
  price: z
    .object({
      value: seriesNumber.describe('Major units of the currency per kWh, exact.'),
      confidence: seriesNumber.describe('0 to 1; 1 is known.'),
    })
    .optional(),
})

const priceShape = objectShape('prs', 'price', {
  ...sharedPriceShape,
  next_update: instantText.optional(),
  request: z.object({
    ...requestShape,
    include_tariff: z.boolean().optional(),
    include_carbon: z.boolean().optional(),
  }),
  data: z.array(elementShape).describe('Ordered by time. Each element ends at the start of the next element.'),
})

/** Additional members of the earlier API version; `nextUpdate` in ms. */
export type EarlierPriceOptions = {
  readonly includeTariff: boolean
  readonly includeCarbon: boolean
  readonly nextUpdate: number
}

/** Data of a price answer; `earlier` is null in the current API version. */
type PriceAnswer = PriceView<PriceElement> & { readonly earlier: EarlierPriceOptions | null }

type Element = z.input<typeof elementShape>
type ElementWriter = (valid_from: string, valid_to: string, value: JsonNumber, confidence: JsonNumber) => Element

/**
 * Create an element in the names of each API version. Renaming thousands of elements afterwards, or computed member
 * names, would take 50% more time. The type is that of the current API version, as in all shapes.
 */
const createElement: Readonly<Record<ApiVersion, ElementWriter>> = {
  current: (valid_from, valid_to, value, confidence) => ({ valid_from, valid_to, price: { value, confidence } }),
  earlier: (valid_from, valid_to, value, confidence) =>
    ({ valid_from, valid_to, tariff: { rate: value, confidence } }) as Element,
}

/** Write prices. The elements have the names of the view's API version. */
export const priceToWire = (view: PriceAnswer): z.input<typeof priceShape> => {
  const { earlier, interval } = view
  const write = priceWriter(view.offsetOf)
  const includesPrice = earlier?.includeTariff !== false
  const element = createElement[earlier === null ? 'current' : 'earlier']
  return objectToWire('price', view, {
    ...sharedPriceToWire(view),
    ...(earlier === null ? {} : { next_update: writeInstant(earlier.nextUpdate) }),
    request: {
      ...requestToWire(interval),
      ...(earlier === null ? {} : { include_tariff: earlier.includeTariff, include_carbon: earlier.includeCarbon }),
    },
    data: view.elements.map(({ start, end, price, confidence }) => {
      const [valid_from, valid_to] = [write.instant(start), write.instant(end)]
      if (!includesPrice) return { valid_from, valid_to }
      return element(valid_from, valid_to, write.price(price), write.confidence(confidence))
    }),
  })
}

const midnight = 1_757_800_800_000
const exampleHours: readonly (readonly [number, bigint])[] = [
  [6, 214_500_000n],
  [9, 318_200_000n],
  [12, 197_400_000n],
  [15, 61_900_000n],
  [17, 182_300_000n],
  [20, 402_750_000n],
  [22, 296_100_000n],
  [24, 221_800_000n],
]

const example = priceToWire({
  id: 'prs_0198c0ffee00112233445566',
  accountId: 'acc_0198c0ffee00112233445566',
  liveMode: false,
  locationId: 'loc_0198c0ffee00112233445566',
  timezone: 'Europe/Berlin',
  currencyCode: 'EUR',
  interval: { start: midnight, end: midnight + 24 * hourMs, startOffset: 120, endOffset: 120, direction: 'IMPORT' },
  offsetOf: () => 120,
  lastUpdated: 1_757_765_000_000,
  earlier: null,
  elements: exampleHours.map(([until, price], index) => ({
    start: midnight + (exampleHours[index - 1]?.[0] ?? 0) * hourMs,
    end: midnight + until * hourMs,
    price,
    confidence: 10_000,
  })),
  createdAt: 1_757_801_000_000,
})

export const priceRetrieve = defineOperation({
  id: 'price_retrieve',
  unaudited: 'Only calculates.',
  summary: 'Retrieve energy prices',
  description:
    'Returns the price of a kWh at a location over a period of at most 90 days, including grid fees. Each element is an interval with one price and one confidence. Time before the first contract has no element. With tiers, the price at an instant applies to the next energy: all records that start up to that instant are counted. Prices that are not published yet are forecast up to 5 days ahead, with a confidence below 1. After the end of a contract its prices continue, with decreasing confidence.',
  tag: 'Prices',
  access: 'read',
  routes: {
    current: [{ method: 'POST', path: '/prices/{id}' }],
    earlier: [{ method: 'GET', path: '/tariffs/rates/{id}', bodyInQuery: repeatedLocation }],
  },
  references: { id: locationOnly },
  query: parameters({
    include_tariff: flag.default(true).describe('False omits the price.'),
    include_carbon: flag
      .default(false)
      .describe('Accepted and ignored: there is no carbon data.')
      .meta({ deprecated: true }),
  }),
  body: priceBody,
  answer: { name: 'Price', shape: priceShape },
  status: 200,
  renames: {
    query: [{ earlier: 'include_tariff', inRequest: true }],
    body: directionVersionRenames.body,
    answer: [
      { current: 'object', earlier: 'object', values: { price: 'tariff_rate' } },
      ...directionVersionRenames.answer,
      { earlier: 'next_update', inRequest: true },
      { alwaysInCurrent: 'data.price' },
      { earlier: 'request.include_tariff', inRequest: true },
      { earlier: 'request.include_carbon', inRequest: true },
      { current: 'data.price.value', earlier: 'data.tariff.rate' },
      { current: 'data.price.confidence', earlier: 'data.tariff.confidence' },
    ],
  },
  refusals: ['end_before_start', 'interval_too_long', 'no_tariff_connected', 'no_price_data', 'pending_connect'],
  examples: {
    body: { start_time: '2025-09-14T00:00:00+02:00', end_time: '2025-09-15T00:00:00+02:00' },
    answer: example,
  },
})
