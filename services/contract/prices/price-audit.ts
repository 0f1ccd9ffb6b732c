import { z } from 'zod'
import type { PriceAuditElement } from '../../domain/price/price-series.ts'
import { idText, instantText, objectShape, objectToWire, seriesNumber } from '../answer-field.ts'
import type { ApiVersion } from '../api-version.ts'
import { defineOperation } from '../operation.ts'
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
import { type PriceWriter, priceWriter } from './price-writer.ts'

const breakdownShape = z.object({
  commodity: z.object({
    market: seriesNumber.describe('The market price; 0 for tariffs without market prices.'),
    fixed: seriesNumber.describe('The fixed price and the fixed surcharge together.'),
    percentage: seriesNumber.describe('Amount of the percentage: aggregate - market - fixed.'),
    tier: seriesNumber.describe('Lower bound of the tier, in kWh of the local month.'),
    aggregate: seriesNumber,
  }),
  non_commodity: z.object({
    fixed: seriesNumber,
    tier: seriesNumber.describe('Lower bound of the tier, in kWh of the local month.'),
  }),
  total: seriesNumber.describe('Price of a kWh: commodity.aggregate + non_commodity.fixed, exact.'),
  confidence: seriesNumber.describe('0 to 1; 1 is known.'),
})

const priceAuditShape = objectShape('tra', 'price_audit', {
  ...sharedPriceShape,
  request: z.object(requestShape),
  market_sources: z.array(idText('mrs')).describe('Sources of the market prices.'),
  data: z.array(z.object({ valid_from: instantText, valid_to: instantText, price_breakdown: breakdownShape })),
})

type PriceAuditView = PriceView<PriceAuditElement> & {
  readonly apiVersion: ApiVersion
  readonly marketSourceIds: readonly string[]
}

const breakdownToWire = ({ breakdown, price, confidence }: PriceAuditElement, write: PriceWriter) => ({
  commodity: {
    market: write.price(breakdown.commodity.market),
    fixed: write.price(breakdown.commodity.fixed),
    percentage: write.price(breakdown.commodity.percentage),
    tier: write.kwh(breakdown.commodity.tier),
    aggregate: write.price(breakdown.commodity.aggregate),
  },
  non_commodity: { fixed: write.price(breakdown.nonCommodity.fixed), tier: write.kwh(breakdown.nonCommodity.tier) },
  total: write.price(price),
  confidence: write.confidence(confidence),
})

type Breakdown = ReturnType<typeof breakdownToWire>
type Element = { readonly valid_from: string; readonly valid_to: string; readonly price_breakdown: Breakdown }

/** Create an element in the names of each API version, in one step for the reason in `price.ts`. */
const createElement: Readonly<
  Record<ApiVersion, (valid_from: string, valid_to: string, breakdown: Breakdown) => Element>
> = {
  current: (valid_from, valid_to, price_breakdown) => ({ valid_from, valid_to, price_breakdown }),
  earlier: (valid_from, valid_to, tariff_rate) => ({ valid_from, valid_to, tariff_rate }) as unknown as Element,
}

/** Write prices with their parts. The elements have the names of the view's API version. */
export const priceAuditToWire = (view: PriceAuditView): z.input<typeof priceAuditShape> => {
  const write = priceWriter(view.offsetOf)
  const element = createElement[view.apiVersion]
  return objectToWire('price_audit', view, {
    ...sharedPriceToWire(view),
    request: requestToWire(view.interval),
    market_sources: [...view.marketSourceIds],
    data: view.elements.map(one =>
      element(write.instant(one.start), write.instant(one.end), breakdownToWire(one, write)),
    ),
  })
}

const start = 1_757_844_000_000

const example = priceAuditToWire({
  id: 'tra_0198c0ffee00112233445566',
  accountId: 'acc_0198c0ffee00112233445566',
  liveMode: false,
  apiVersion: 'current',
  locationId: 'loc_0198c0ffee00112233445566',
  timezone: 'Europe/Berlin',
  currencyCode: 'EUR',
  interval: { start, end: start + 3_600_000, startOffset: 0, endOffset: 0, direction: 'IMPORT' },
  offsetOf: () => 0,
  lastUpdated: 1_757_765_000_000,
  marketSourceIds: ['mrs_0198c0ffee00112233445566'],
  elements: [
    {
      start,
      end: start + 3_600_000,
      price: 224_163_700n,
      confidence: 10_000,
      // (0.08123 + 0.0125) × 1.19 = 0.1115387; with the grid fee 0.224163700
      breakdown: {
        commodity: {
          market: 81_230_000n,
          fixed: 12_500_000n,
          percentage: 17_808_700n,
          tier: 0n,
          aggregate: 111_538_700n,
        },
        nonCommodity: { fixed: 112_625_000n, tier: 0n },
      },
    },
  ],
  createdAt: 1_757_844_100_000,
})

export const priceAuditRetrieve = defineOperation({
  id: 'price_audit_retrieve',
  unaudited: 'Only calculates.',
  summary: 'Audit energy prices',
  description:
    'Returns the prices of a period with their parts: one element for each interval in which no part changes. The sums are exact. The limits of the request, and the time without elements, are those of the prices.',
  tag: 'Prices',
  access: 'read',
  routes: {
    current: [{ method: 'POST', path: '/audits/prices/{id}' }],
    earlier: [
      { method: 'GET', path: '/tariffs/audits/{id}', bodyInQuery: repeatedLocation },
      {
        id: 'price_audit_retrieve_singular',
        method: 'GET',
        path: '/tariffs/audit/{id}',
        bodyInQuery: repeatedLocation,
      },
    ],
  },
  references: { id: locationOnly },
  body: priceBody,
  answer: { name: 'PriceAudit', shape: priceAuditShape },
  status: 200,
  renames: {
    body: directionVersionRenames.body,
    answer: [
      { current: 'object', earlier: 'object', values: { price_audit: 'tariff_rate_audit' } },
      ...directionVersionRenames.answer,
      { current: 'data.price_breakdown', earlier: 'data.tariff_rate' },
    ],
  },
  refusals: ['end_before_start', 'interval_too_long', 'no_tariff_connected', 'no_price_data', 'pending_connect'],
  examples: { body: { start_time: '2025-09-14T10:00:00Z', end_time: '2025-09-14T11:00:00Z' }, answer: example },
})
