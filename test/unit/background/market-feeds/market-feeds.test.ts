import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { fetchInterval } from '../../../../services/background/market-feeds/fetch-feed.ts'
import {
  announced,
  clock,
  dayMs,
  energyCharts,
  feed,
  fetchArea,
  hourMs,
  midnight,
  noon,
  optionsOf,
  otherFeed,
  pricesOf,
  resetFeeds,
  sourceOf,
  stack,
} from '../../../support/markets/market-feed-fixture.ts'
import { energyChartsUntil } from '../../../support/markets/market-feed-server.ts'

afterAll(() => stack.disposeAsync())
beforeEach(resetFeeds)

describe('a source that was never fetched', () => {
  it('receives the exact prices of 35 days and of tomorrow, and waits for the next publication', async () => {
    const result = await fetchArea('AT')
    expect(result).toMatchObject({
      feed: 'energy-charts',
      replaced: 0,
      unchanged: 0,
      knownUntil: midnight + dayMs,
      error: null,
    })
    // February 3 is 35 days before March 10, and March 11 is known completely: 37 days.
    expect(result.stored).toBe(37 * 96)
    expect(await pricesOf('AT', midnight, midnight + hourMs)).toEqual(
      [92n, 93n, 94n, 95n].map((price, index) => [midnight + (index * hourMs) / 4, 15, price * 1_000_000n]),
    )
    expect(announced.map(({ revision }) => revision)).toEqual([1, 2])
    const state = await sourceOf('AT')
    expect(state).toMatchObject({
      feed: 'energy-charts',
      failures: 0,
      failingSince: null,
      error: null,
      succeededAt: noon,
      attemptedAt: noon,
    })
    expect(state.nextAt).toBe(Date.parse('2026-03-11T12:00:00Z'))
  })
})

describe('a source that is fetched again', () => {
  it('announces corrections of the last two days, and nothing without a change', async () => {
    await fetchArea('BE')
    announced.length = 0
    clock.now = noon + dayMs
    feed.answer = energyChartsUntil(midnight + 2 * dayMs)
    expect(await fetchArea('BE')).toMatchObject({ stored: 96, replaced: 0, error: null })
    expect(announced).toHaveLength(1)
    feed.answer = energyChartsUntil(midnight + 2 * dayMs, 1_000)
    const corrected = await fetchArea('BE')
    expect(corrected.replaced).toBeGreaterThanOrEqual(2 * 96)
    expect((await pricesOf('BE', midnight, midnight + 1))[0]?.[2]).toBe(1_092_000_000n)
    expect((await pricesOf('BE', noon - 10 * dayMs, noon - 10 * dayMs + 1))[0]?.[2]).toBe(50_000_000n)
  })

  it('fetches any interval on request, and keeps the next due fetch', async () => {
    const source = await sourceOf('CH')
    const span = { from: Date.parse('2025-01-01T00:00:00Z'), to: Date.parse('2025-01-02T00:00:00Z') }
    expect(await fetchInterval(energyCharts, source, span, AbortSignal.timeout(5_000))).toMatchObject({
      stored: 96,
      error: null,
    })
    expect(await sourceOf('CH')).toMatchObject({ attemptedAt: null, nextAt: null })
  })
})

describe('a feed that fails', () => {
  it.each<readonly [string, () => void, string]>([
    ['refuses', () => (feed.answer = () => ({ status: 500, text: 'no' })), 'answered 500'],
    ['hangs', () => (feed.answer = () => 'hang'), 'timeout'],
    ['is cut off', () => (feed.answer = () => 'cut'), ''],
    ['never ends', () => (feed.answer = () => 'endless'), 'more than 1048576 bytes'],
    ['sends a page for people', () => (feed.answer = () => ({ text: '<html>maintenance</html>' })), 'not JSON'],
    [
      'says one time twice',
      () => (feed.answer = () => ({ text: '{"unix_seconds":[0,0],"price":[1,2],"unit":"EUR/MWh"}' })),
      'do not ascend',
    ],
  ])('that %s is asked again soon, and nothing is stored', async (_, fail, reason) => {
    fail()
    const { error, ...result } = await fetchArea('FR')
    expect(result).toMatchObject({ feed: null, stored: 0 })
    expect(error).toContain('energy-charts')
    expect(error).toContain(reason)
    const state = await sourceOf('FR')
    expect(state.failures).toBeGreaterThan(0)
    expect(state.failingSince).toBe(noon)
    expect((state.nextAt ?? 0) - noon).toBe(Math.min(60_000 * 2 ** (state.failures - 1), hourMs))
    expect(await pricesOf('FR', 0, midnight)).toEqual([])
  })

  it('is not called again before the time that it asks for', async () => {
    feed.answer = () => ({ status: 429, text: '', headers: { 'Retry-After': '1800' } })
    await fetchArea('CZ')
    expect((await sourceOf('CZ')).nextAt).toBe(noon + hourMs / 2)
  })

  it('keeps the prices from before the failure', async () => {
    let requestCount = 0
    feed.answer = url => (++requestCount === 1 ? energyChartsUntil(midnight)(url) : { status: 503, text: '' })
    const { stored, error } = await fetchArea('PL')
    expect(stored).toBeGreaterThan(2_000)
    expect(error).toContain('answered 503')
  })

  it('has an error text without the token', async () => {
    const entsoe = optionsOf({ name: 'entsoe', baseUrl: otherFeed.baseUrl })
    otherFeed.answer = () => ({ status: 401, text: 'token-of-the-tests' })
    const refused = await fetchArea('ES', entsoe)
    const away = await fetchArea('ES', optionsOf({ name: 'entsoe', baseUrl: 'http://127.0.0.1:9' }))
    expect(otherFeed.requests[0]).toContain('token-of-the-tests')
    for (const { error } of [refused, away]) {
      expect(error).toContain('entsoe: 127.0.0.1')
      expect(error).not.toContain('token')
    }
  })

  it('is replaced by the next feed, which adds missing prices and changes no others', async () => {
    const both = optionsOf(
      { name: 'energy-charts', baseUrl: feed.baseUrl },
      { name: 'awattar', baseUrl: otherFeed.baseUrl },
    )
    feed.answer = energyChartsUntil(midnight)
    const rows = [0, 1].map(place => ({
      start_timestamp: midnight + (place - 1) * hourMs,
      end_timestamp: midnight + place * hourMs,
      marketprice: 500,
      unit: 'Eur/MWh',
    }))
    otherFeed.answer = () => ({
      text: JSON.stringify({
        object: 'list',
        data: [...rows, { ...rows[1], start_timestamp: midnight + hourMs, end_timestamp: midnight + dayMs }],
      }),
    })
    clock.now = Date.parse('2026-03-10T20:00:00Z')
    await fetchArea('DE-LU', both)
    expect(await pricesOf('DE-LU', midnight - hourMs / 4, midnight + hourMs)).toEqual([
      [midnight - hourMs / 4, 15, 91_000_000n],
      [midnight, 60, 500_000_000n],
    ])
    expect(await pricesOf('DE-LU', midnight + hourMs, midnight + dayMs)).toEqual([
      [midnight + hourMs, 23 * 60, 500_000_000n],
    ])
    // After the preferred feed answers again, its prices win.
    feed.answer = energyChartsUntil(midnight + dayMs)
    await fetchArea('DE-LU', both)
    expect(await pricesOf('DE-LU', midnight, midnight + dayMs)).toHaveLength(96)
  })
})

describe('prices that are overdue', () => {
  it('are an outage six hours after their publication time, even if the feed answers', async () => {
    feed.answer = energyChartsUntil(midnight)
    await fetchArea('NL')
    expect(await sourceOf('NL')).toMatchObject({ failures: 0, failingSince: null, nextAt: noon + 5 * 60_000 })
    clock.now = Date.parse('2026-03-10T18:00:00Z')
    const { error } = await fetchArea('NL')
    expect(error).toBe('prices are overdue')
    expect(await sourceOf('NL')).toMatchObject({ failures: 0, failingSince: clock.now, nextAt: clock.now + hourMs / 2 })
    feed.answer = energyChartsUntil(midnight + dayMs)
    clock.now += hourMs
    await fetchArea('NL')
    expect(await sourceOf('NL')).toMatchObject({ failingSince: null, error: null, succeededAt: clock.now })
  })
})

describe('feeds of other shapes', () => {
  it('are read page by page, at the addresses of the pages', async () => {
    const octopus = optionsOf({ name: 'octopus-agile', baseUrl: otherFeed.baseUrl })
    const rate = (start: number, price: string) =>
      `{"value_exc_vat":1,"value_inc_vat":${price},"valid_from":"${new Date(start).toISOString()}","valid_to":"${new Date(start + hourMs / 2).toISOString()}","payment_method":null}`
    otherFeed.answer = url =>
      url.searchParams.get('page') === '2'
        ? { text: `{"count":2,"next":null,"previous":null,"results":[${rate(noon - hourMs / 2, '20.16')}]}` }
        : {
            text: `{"count":2,"next":"https://elsewhere.test/x?page=2","previous":null,"results":[${rate(noon, '-1.23456789')}]}`,
          }
    await fetchArea('GB-C', octopus, 'GBP')
    expect(await pricesOf('GB-C', noon - hourMs, noon + hourMs, 'GBP')).toEqual([
      [noon - hourMs / 2, 30, 201_600_000n],
      [noon, 30, -12_345_679n],
    ])
    expect(
      otherFeed.requests.every(path =>
        path.startsWith('/v1/products/AGILE-24-10-01/electricity-tariffs/E-1R-AGILE-24-10-01-C/'),
      ),
    ).toBe(true)
  })

  it('are not read in endless cycles', async () => {
    const octopus = optionsOf({ name: 'octopus-agile', baseUrl: otherFeed.baseUrl })
    otherFeed.answer = () => ({
      text: '{"count":0,"next":"https://elsewhere.test/x?page=1","previous":null,"results":[]}',
    })
    expect((await fetchArea('GB-D', octopus, 'GBP')).error).toContain('more than 20 pages')
    expect(otherFeed.requests).toHaveLength(20)
  })

  it('may report that a day is not published yet', async () => {
    const swedish = optionsOf({ name: 'elpriset-just-nu', baseUrl: otherFeed.baseUrl })
    otherFeed.answer = url =>
      url.pathname.endsWith('/2026/03-10_SE3.json')
        ? {
            text: '[{"SEK_per_kWh":0.5,"EUR_per_kWh":0.04,"time_start":"2026-03-10T00:00:00+01:00","time_end":"2026-03-11T00:00:00+01:00"}]',
          }
        : { status: 404, text: '' }
    expect(await fetchArea('SE3', swedish, 'SEK')).toMatchObject({ stored: 1, knownUntil: midnight })
    expect(await sourceOf('SE3', 'SEK')).toMatchObject({ failures: 0, failingSince: null })
  })
})
