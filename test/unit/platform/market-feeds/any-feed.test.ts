import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { marketAreaOfCountry } from '../../../../services/domain/geocoding/market-area.ts'
import { biddingZone, biddingZones } from '../../../../services/domain/market-feed/bidding-zones.ts'
import { type FeedPrice, priceOf } from '../../../../services/domain/market-feed/feed-price.ts'
import { formatDecimal } from '../../../../services/domain/quantity.ts'
import { entsoe } from '../../../../services/platform/market-feeds/entsoe.ts'
import type { Feed, FeedSeries } from '../../../../services/platform/market-feeds/feed.ts'
import { jsonFeeds } from '../../../../services/platform/market-feeds/json-feeds.ts'
import { energyChartsAnswer, publication, settings } from './feed-samples.ts'

const {
  awattar,
  'elpriset-just-nu': elprisetJustNu,
  'energi-data-service': energiDataService,
  'energy-charts': energyCharts,
  'octopus-agile': octopusAgile,
} = jsonFeeds

const minuteMs = 60_000
const iso = (at: number): string => new Date(at).toISOString()
const perMwh = ({ value }: FeedPrice): string => formatDecimal(value, 6)

/** Writers of consecutive prices of one length, by feed. */
const writers: readonly {
  readonly name: string
  readonly feed: Feed
  readonly series: FeedSeries
  readonly minutes: number
  readonly write: (prices: readonly FeedPrice[]) => string
}[] = [
  {
    name: 'ENTSO-E',
    feed: entsoe,
    series: { area: 'DE-LU', currencyCode: 'EUR' },
    minutes: 15,
    write: prices =>
      publication({
        start: iso(prices[0]?.start ?? 0).replace(':00.000Z', 'Z'),
        end: iso(prices.at(-1)?.end ?? 0).replace(':00.000Z', 'Z'),
        points: Object.fromEntries(prices.map((price, index) => [index + 1, perMwh(price)])),
      }),
  },
  {
    name: 'Energy-Charts',
    feed: energyCharts,
    series: { area: 'FR', currencyCode: 'EUR' },
    minutes: 15,
    write: prices =>
      energyChartsAnswer(
        prices.map(({ start }) => start / 1000),
        prices.map(perMwh),
      ),
  },
  {
    name: 'aWATTar',
    feed: awattar,
    series: { area: 'AT', currencyCode: 'EUR' },
    minutes: 60,
    write: prices => {
      const rows = prices.map(
        price =>
          `{"start_timestamp":${price.start},"end_timestamp":${price.end},"marketprice":${perMwh(price)},"unit":"Eur/MWh"}`,
      )
      return `{"object":"list","data":[${rows.join(',')}]}`
    },
  },
  {
    name: 'Energi Data Service',
    feed: energiDataService,
    series: { area: 'DK2', currencyCode: 'DKK' },
    minutes: 15,
    write: prices => {
      const rows = prices.map(
        price =>
          `{"TimeUTC":"${iso(price.start).slice(0, 19)}","PriceArea":"DK2","DayAheadPriceDKK":${perMwh(price)},"DayAheadPriceEUR":1}`,
      )
      return `{"total":1,"dataset":"DayAheadPrices","records":[${rows.toReversed().join(',')}]}`
    },
  },
  {
    name: 'Agile Octopus',
    feed: octopusAgile,
    series: { area: 'GB-A', currencyCode: 'GBP' },
    minutes: 30,
    write: prices => {
      const rows = prices.map(
        price =>
          `{"value_exc_vat":0,"value_inc_vat":${formatDecimal(price.value, 7)},"valid_from":"${iso(price.start)}","valid_to":"${iso(price.end)}","payment_method":null}`,
      )
      return `{"count":1,"next":null,"previous":null,"results":[${rows.toReversed().join(',')}]}`
    },
  },
  {
    name: 'elpriset just nu',
    feed: elprisetJustNu,
    series: { area: 'SE1', currencyCode: 'SEK' },
    minutes: 15,
    write: prices => {
      const rows = prices.map(
        price =>
          `{"SEK_per_kWh":${formatDecimal(price.value, 9)},"EUR_per_kWh":0,"EXR":11,"time_start":"${iso(price.start)}","time_end":"${iso(price.end)}"}`,
      )
      return `[${rows.join(',')}]`
    },
  },
]

const pricesFrom = (start: number, minutes: number, values: readonly bigint[]): readonly FeedPrice[] =>
  values.map((value, index) => ({
    start: start + index * minutes * minuteMs,
    end: start + (index + 1) * minutes * minuteMs,
    value,
  }))

describe.each(writers)('$name', ({ feed, series, minutes, write }) => {
  const read = (text: string): readonly FeedPrice[] =>
    feed.read(text, series, settings).prices.toSorted((a, b) => a.start - b.start)
  // Up to 500 EUR per kWh, in steps of the finest digit that all of them write.
  const value = fc.bigInt({ min: -5n * 10n ** 9n, max: 5n * 10n ** 9n }).map(units => units * 100n)

  it('returns each price to the last digit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1_762_000_000, max: 1_790_000_000 }),
        fc.array(value, { minLength: 2, maxLength: 100 }),
        (second, values) => {
          const prices = pricesFrom(Math.floor(second / 3600) * 3_600_000, minutes, values)
          expect(read(write(prices))).toEqual(prices)
        },
      ),
      { numRuns: 40 },
    )
  })

  it.each([
    ['23', '2026-03-28T23:00:00Z'],
    ['25', '2026-10-24T22:00:00Z'],
  ])('covers a day of %s hours without gap or overlap', (hours, from) => {
    const values = Array.from({ length: (Number(hours) * 60) / minutes }, (_, index) => BigInt(index) * 1_000n)
    const prices = pricesFrom(Date.parse(from), minutes, values)
    expect(read(write(prices))).toEqual(prices)
  })
})

describe('a written price', () => {
  it('is 1e-9 per kWh, exactly, finer digits rounded half to even', () => {
    expect(priceOf('0.0000005', 'PER_MWH')).toBe(0n)
    expect(priceOf('0.0000015', 'PER_MWH')).toBe(2n)
    expect(priceOf('-81.94250000000001', 'PER_MWH')).toBe(-81_942_500n)
    expect(priceOf('1e3', 'PER_MWH')).toBe(1_000_000_000n)
    expect(priceOf('0.1', 'HUNDREDTH_PER_KWH')).toBe(1_000_000n)
    expect(priceOf('1000000', 'PER_KWH')).toBe(10n ** 15n)
  })

  it.each(['', ' 1', '1,5', '+1', '.5', '0x10', 'NaN', '1000000.1', '1e999999999'])('is not %o', text => {
    expect(priceOf(text, 'PER_KWH')).toBeNull()
  })
})

describe('the bidding zones', () => {
  it('have unique codes of 16 characters', () => {
    expect(biddingZones.every(({ eic }) => /^[0-9A-Z-]{16}$/.test(eic))).toBe(true)
    expect(new Set(biddingZones.map(({ eic }) => eic)).size).toBe(biddingZones.length)
  })

  it('include each area that European locations are mapped to', () => {
    const countries = 'AT BE BG CH CZ DE EE ES FI FR GR HR HU IE LI LT LU LV MC NL PL RO SI SK SM VA'.split(' ')
    const areas = countries.map(country => marketAreaOfCountry(country))
    const several =
      'DK1 DK2 NO1 NO2 NO3 NO4 NO5 SE1 SE2 SE3 SE4 PT IT-NORD IT-CNOR IT-CSUD IT-SUD IT-CALA IT-SICI IT-SARD'.split(' ')
    for (const area of [...areas, ...several]) expect(biddingZone(area ?? '')?.area).toBe(area)
  })
})
