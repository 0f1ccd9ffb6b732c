import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FeedFormatError } from '../../../../services/domain/market-feed/feed-price.ts'
import { jsonFeeds } from '../../../../services/platform/market-feeds/json-feeds.ts'
import { energyChartsAnswer, listed, settings, start } from './feed-samples.ts'

const {
  awattar,
  'energi-data-service': energiDataService,
  'energy-charts': energyCharts,
  'octopus-agile': octopusAgile,
} = jsonFeeds

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const german = { area: 'DE-LU', currencyCode: 'EUR' }

describe('Energy-Charts', () => {
  const second = start / 1000
  const quarter = 900

  it('ends each price at the next start, the last one after the length of the previous one', () => {
    const text = energyChartsAnswer(
      [second, second + quarter, second + 2 * quarter],
      ['81.94250000000001', '-5', '1e-1'],
    )
    expect(listed(energyCharts, text, german)).toEqual([
      [0, 15, 81_942_500n],
      [15, 15, -5_000_000n],
      [30, 15, 100_000n],
    ])
  })

  it('keeps hours before quarter hours as they are', () => {
    const text = energyChartsAnswer([second - 7200, second - 3600, second, second + quarter], ['1', '2', '3', '4'])
    expect(listed(energyCharts, text, german).map(([at, length]) => [at, length])).toEqual([
      [-120, 60],
      [-60, 60],
      [0, 15],
      [15, 15],
    ])
  })

  it('leaves a gap where a price is null or a start is missing', () => {
    const nulls = energyChartsAnswer([second, second + quarter, second + 2 * quarter], ['1', 'null', '3'])
    expect(listed(energyCharts, nulls, german).map(([at]) => at)).toEqual([0, 30])
    const missing = energyChartsAnswer(
      [second, second + quarter, second + 4 * quarter, second + 5 * quarter],
      ['1', '2', '3', '4'],
    )
    expect(listed(energyCharts, missing, german)).toEqual([
      [0, 15, 1_000_000n],
      [15, 15, 2_000_000n],
      [60, 15, 3_000_000n],
      [75, 15, 4_000_000n],
    ])
  })

  it('returns any series of quarter hours, also with gaps', () => {
    const points = fc
      .uniqueArray(fc.integer({ min: 0, max: 100 }), { minLength: 2 })
      .map(positions => positions.toSorted((a, b) => a - b))
    fc.assert(
      fc.property(points, fc.integer({ min: -50_000, max: 400_000 }), (positions, cents) => {
        const starts = positions.map(position => second + position * quarter)
        const text = energyChartsAnswer(
          starts,
          positions.map(position => `${cents + position}`),
        )
        for (const [index, [at, length, value]] of listed(energyCharts, text, german).entries()) {
          const position = positions[index] ?? 0
          expect([at, value]).toEqual([position * 15, BigInt(cents + position) * 1_000_000n])
          // A price never reaches past the next one, and never past an hour.
          const next = positions[index + 1] ?? position + 4
          expect(Number(length)).toBeLessThanOrEqual(Math.min((next - position) * 15, 60))
          expect(Number(length)).toBeGreaterThanOrEqual(15)
        }
      }),
      { numRuns: 60 },
    )
  })

  it.each<readonly [string, string]>([
    ['another unit', energyChartsAnswer([second], ['1'], 'EUR / kWh')],
    ['lists of unlike length', energyChartsAnswer([second, second + quarter], ['1'])],
    ['starts that fall', energyChartsAnswer([second + quarter, second], ['1', '2'])],
    ['a word for a price', energyChartsAnswer([second], ['"dear"'])],
    ['cut text', energyChartsAnswer([second], ['1']).slice(0, -5)],
    ['a page for people', '<!doctype html><title>502</title>'],
    ['another object', '{"detail":"no"}'],
  ])('does not guess at %s', (_, text) => {
    expect(() => listed(energyCharts, text, german)).toThrow(FeedFormatError)
  })

  it('is requested with the zone name of Energy-Charts', () => {
    expect(
      energyCharts.urlOf({ area: 'IT-NORD', currencyCode: 'EUR' }, { from: start, to: start + dayMs }, settings),
    ).toBe('http://feed.test/price?bzn=IT-North&start=2025-10-01T22%3A00Z&end=2025-10-02T22%3A00Z')
    expect(energyCharts.serves({ area: 'SE3', currencyCode: 'SEK' }, settings)).toBe(false)
    expect(energyCharts.serves({ area: 'GB', currencyCode: 'GBP' }, settings)).toBe(false)
  })
})

describe('aWATTar', () => {
  const row = (more: object = {}) => ({
    start_timestamp: start,
    end_timestamp: start + hourMs,
    marketprice: 42.09,
    unit: 'Eur/MWh',
    ...more,
  })
  const answer = (...rows: readonly object[]): string =>
    JSON.stringify({ object: 'list', data: rows, url: '/at/v1/marketdata' })

  it('gives hours in EUR per MWh', () => {
    const next = row({ start_timestamp: start + hourMs, end_timestamp: start + 2 * hourMs, marketprice: -0.03 })
    expect(listed(awattar, answer(row(), next), german)).toEqual([
      [0, 60, 42_090_000n],
      [60, 60, -30_000n],
    ])
  })

  it.each([
    ['another unit', answer(row({ unit: 'ct/kWh' }))],
    ['a row without end', answer(row({ end_timestamp: null }))],
    ['a row that ends before it starts', answer(row({ end_timestamp: start }))],
    ['a time that is not a number', answer(row({ start_timestamp: '2025-10-01' }))],
  ])('does not guess at %s', (_, text) => {
    expect(() => listed(awattar, text, german)).toThrow(FeedFormatError)
  })

  it('is requested at a separate host for each country', () => {
    const at = { ...settings, baseUrl: awattar.baseUrl }
    const span = { from: start, to: start + dayMs }
    expect(awattar.urlOf(german, span, at)).toBe(
      `https://api.awattar.de/v1/marketdata?start=${start}&end=${start + dayMs}`,
    )
    expect(awattar.urlOf({ area: 'AT', currencyCode: 'EUR' }, span, at)).toContain('https://api.awattar.at/')
    expect(awattar.serves({ area: 'FR', currencyCode: 'EUR' }, at)).toBe(false)
  })
})

describe('Agile Octopus', () => {
  const region = { area: 'GB-C', currencyCode: 'GBP' }
  const rate = (from: number, more: object = {}) => ({
    value_exc_vat: 18.5,
    value_inc_vat: 19.425,
    valid_from: new Date(start + from * minuteMs).toISOString().replace('.000', ''),
    valid_to: new Date(start + (from + 30) * minuteMs).toISOString().replace('.000', ''),
    payment_method: null,
    ...more,
  })
  const answer = (next: string | null, ...results: readonly object[]): string =>
    JSON.stringify({ count: results.length, next, previous: null, results })

  it('gives half hours in pence per kWh, with VAT or without it', () => {
    const text = answer(null, rate(30, { value_inc_vat: -1.05 }), rate(0))
    expect(listed(octopusAgile, text, region)).toEqual([
      [30, 30, -10_500_000n],
      [0, 30, 194_250_000n],
    ])
    const octopus = { ...settings.octopus, isVatIncluded: false }
    expect(listed(octopusAgile, text, region, { octopus })[1]).toEqual([0, 30, 185_000_000n])
  })

  it('returns the next page, and omits rates without an end and of other payment methods', () => {
    const text = answer(
      'http://feed.test/next?page=2',
      rate(0, { payment_method: 'DIRECT_DEBIT' }),
      rate(0, { payment_method: 'NON_DIRECT_DEBIT' }),
      rate(30, { valid_to: null }),
    )
    const page = octopusAgile.read(text, region, settings)
    expect(page.next).toBe('http://feed.test/next?page=2')
    expect(page.prices).toHaveLength(1)
  })

  it('is requested for the tariff of a region; the area GB uses the configured region', () => {
    const span = { from: start, to: start + dayMs }
    expect(octopusAgile.urlOf(region, span, settings)).toBe(
      'http://feed.test/v1/products/AGILE-24-10-01/electricity-tariffs/E-1R-AGILE-24-10-01-C/standard-unit-rates/?period_from=2025-10-01T22%3A00Z&period_to=2025-10-02T22%3A00Z&page_size=1500',
    )
    const whole = { area: 'GB', currencyCode: 'GBP' }
    expect(octopusAgile.serves(whole, settings)).toBe(false)
    expect(octopusAgile.serves(whole, { ...settings, octopus: { ...settings.octopus, region: 'H' } })).toBe(true)
    expect(octopusAgile.serves({ area: 'GB-I', currencyCode: 'GBP' }, settings)).toBe(false)
  })

  it.each([
    ['a rate without price', answer(null, rate(0, { value_inc_vat: null }))],
    ['a rate that ends before it starts', answer(null, rate(0, { valid_to: '2025-10-01T22:00:00Z' }))],
    ['no list', '{"detail":"Not found."}'],
  ])('does not guess at %s', (_, text) => {
    expect(() => listed(octopusAgile, text, region)).toThrow(FeedFormatError)
  })
})

describe('Energi Data Service', () => {
  const danish = { area: 'DK1', currencyCode: 'DKK' }
  const answer = (dataset: string, ...records: readonly object[]): string =>
    JSON.stringify({ total: records.length, limit: 0, dataset, records })
  const quarter = {
    TimeUTC: '2025-10-01T22:00:00',
    TimeDK: '2025-10-02T00:00:00',
    PriceArea: 'DK1',
    DayAheadPriceEUR: 71.3,
    DayAheadPriceDKK: 532.195068,
  }

  it('returns quarter hours in DKK or EUR per MWh of the requested area', () => {
    const text = answer('DayAheadPrices', quarter, { ...quarter, PriceArea: 'DK2', DayAheadPriceDKK: 1 })
    expect(listed(energiDataService, text, danish)).toEqual([[0, 15, 532_195_068n]])
    expect(listed(energiDataService, text, { ...danish, currencyCode: 'EUR' })).toEqual([[0, 15, 71_300_000n]])
  })

  it('returns hours of the earlier data set, and none for unknown prices', () => {
    const hourly = {
      HourUTC: '2025-10-01T22:00:00',
      HourDK: '2025-10-02T00:00:00',
      PriceArea: 'DK1',
      SpotPriceDKK: 100,
      SpotPriceEUR: 13.4,
    }
    const unknown = { ...hourly, HourUTC: '2025-10-01T23:00:00', SpotPriceDKK: null }
    expect(listed(energiDataService, answer('Elspotprices', hourly, unknown), danish)).toEqual([[0, 60, 100_000_000n]])
  })

  it('is requested from the data set of each time', () => {
    const change = Date.parse('2025-09-30T22:00:00Z')
    expect(energiDataService.cutsAt).toContain(change)
    expect(energiDataService.urlOf(danish, { from: change - dayMs, to: change }, settings)).toContain(
      '/dataset/Elspotprices?',
    )
    const later = new URL(energiDataService.urlOf(danish, { from: change, to: change + dayMs }, settings))
    expect(later.pathname).toBe('/dataset/DayAheadPrices')
    expect(Object.fromEntries(later.searchParams)).toEqual({
      start: '2025-09-30T22:00',
      end: '2025-10-01T22:00',
      timezone: 'UTC',
      filter: '{"PriceArea":["DK1"]}',
      limit: '0',
    })
  })

  it.each([
    ['another data set', answer('Forecast', quarter)],
    ['a record without time', answer('DayAheadPrices', { ...quarter, TimeUTC: null })],
    ['a record without price', answer('DayAheadPrices', { ...quarter, DayAheadPriceDKK: undefined })],
  ])('does not guess at %s', (_, text) => {
    expect(() => listed(energiDataService, text, danish)).toThrow(FeedFormatError)
  })
})
