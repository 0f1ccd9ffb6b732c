import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { FeedChoice } from '../../services/platform/market-feeds/feed-choice.ts'
import { sharedSources } from '../../services/platform/market-feeds/shared-sources.ts'
import { createMetrics } from '../../services/platform/metrics.ts'
import { type FedSource, fedSources } from '../../services/platform/postgres/market-feeds.ts'
import { readMarketPrices } from '../../services/platform/postgres/market-prices.ts'
import { seedSharedSources, sharedSourceId } from '../../services/platform/postgres/market-sources.ts'
import { termsToText } from '../../services/platform/postgres/tariff-row.ts'
import { withOperator } from '../../services/platform/postgres/transaction.ts'
import { timeZone } from '../../services/platform/time-zone.ts'
import { tellOutages } from '../../services/query-service/markets/market-feed-alarm.ts'
import { fetchSource, fetchSpan, type MarketFetchOptions } from '../../services/query-service/markets/market-feed-fetch.ts'
import { feedMarkets, type MarketFeedOptions, startMarketFeeds } from '../../services/query-service/markets/market-feeds.ts'
import { tieredSchedule } from '../support/drafts.ts'
import { makeTenants, openTestDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { energyChartsUntil, startFeedServer } from './market-feed-server.ts'

const hour = 3_600_000
const day = 24 * hour
const noon = Date.parse('2026-03-10T12:30:00Z')
const midnight = Date.parse('2026-03-10T23:00:00Z')
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { database } = stack.use(await openTestDatabase())
const feed = stack.use(await startFeedServer())
const other = stack.use(await startFeedServer())
await seedSharedSources(database.operator, sharedSources)
const { live } = await makeTenants(database)

const choiceOf = (...chosen: FeedChoice['chosen']): FeedChoice => ({
  chosen,
  entsoeToken: 'token-of-the-tests',
  octopus: { product: 'AGILE-24-10-01', isVatIncluded: true, region: null },
})

let now = noon
const announced: { sourceId: string; revision: number }[] = []
const optionsOf = (...chosen: FeedChoice['chosen']): MarketFetchOptions => ({
  database,
  choice: choiceOf(...chosen),
  fetch,
  timeoutMs: 300,
  mostBytes: 2 ** 20,
  timeZone,
  announcePrices: async change => {
    announced.push(change)
  },
  at: () => now,
  chance: () => 0.5,
  metrics: createMetrics(),
})
const energyCharts = optionsOf({ name: 'energy-charts', baseUrl: feed.baseUrl })

const sourceOf = async (area: string, currency = 'EUR'): Promise<FedSource> => {
  const [source] = await fedSources(database.operator, { id: sharedSourceId(area, currency) })
  if (source === undefined) throw new Error(`no source of ${area}`)
  return source
}

const fetchArea = async (area: string, options = energyCharts, currency = 'EUR') =>
  fetchSource(options, await sourceOf(area, currency), AbortSignal.timeout(10_000))

const pricesOf = async (area: string, from: number, to: number, currency = 'EUR') => {
  const read = await withOperator(database, keeper => readMarketPrices(keeper, sharedSourceId(area, currency), { from, to }))
  return read?.prices.map(({ start, end, value }) => [start, (end - start) / 60_000, value]) ?? []
}

beforeEach(() => {
  now = noon
  announced.length = 0
  feed.asked.length = 0
  other.asked.length = 0
  feed.answer = energyChartsUntil(midnight + day)
  other.answer = () => ({ status: 404, text: '' })
})

describe('a source that was never fetched', () => {
  it('gets the prices of 35 days and of tomorrow, exactly, and waits for the next publication', async () => {
    const result = await fetchArea('AT')
    expect(result).toMatchObject({ feed: 'energy-charts', replaced: 0, unchanged: 0, knownUntil: midnight + day, error: null })
    // The 3rd of February is 35 days before the 10th of March; the 11th is known whole: 37 days.
    expect(result.stored).toBe(37 * 96)
    expect(await pricesOf('AT', midnight, midnight + hour)).toEqual(
      [92n, 93n, 94n, 95n].map((price, index) => [midnight + (index * hour) / 4, 15, price * 1_000_000n]),
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
  it('announces nothing where nothing changed, and what a feed has corrected in two days', async () => {
    await fetchArea('BE')
    announced.length = 0
    now = noon + day
    feed.answer = energyChartsUntil(midnight + 2 * day)
    expect(await fetchArea('BE')).toMatchObject({ stored: 96, replaced: 0, error: null })
    expect(announced).toHaveLength(1)
    feed.answer = energyChartsUntil(midnight + 2 * day, 1_000)
    const corrected = await fetchArea('BE')
    expect(corrected.replaced).toBeGreaterThanOrEqual(2 * 96)
    expect((await pricesOf('BE', midnight, midnight + 1))[0]?.[2]).toBe(1_092_000_000n)
    expect((await pricesOf('BE', noon - 10 * day, noon - 10 * day + 1))[0]?.[2]).toBe(50_000_000n)
  })

  it('gives a span of its own on request, and leaves what is due as it is', async () => {
    const source = await sourceOf('CH')
    const span = { from: Date.parse('2025-01-01T00:00:00Z'), to: Date.parse('2025-01-02T00:00:00Z') }
    expect(await fetchSpan(energyCharts, source, span, AbortSignal.timeout(5_000))).toMatchObject({ stored: 96, error: null })
    expect(await sourceOf('CH')).toMatchObject({ attemptedAt: null, nextAt: null })
  })
})

describe('a feed that fails', () => {
  it.each<readonly [string, () => void, string]>([
    ['refuses', () => (feed.answer = () => ({ status: 500, text: 'no' })), 'answered 500'],
    ['hangs', () => (feed.answer = () => 'hang'), 'no answer in time'],
    ['is cut off', () => (feed.answer = () => 'cut'), ''],
    ['never ends', () => (feed.answer = () => 'endless'), 'more than 1048576 bytes'],
    ['sends a page for people', () => (feed.answer = () => ({ text: '<html>maintenance</html>' })), 'no JSON'],
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
    expect((state.nextAt ?? 0) - noon).toBe(Math.min(60_000 * 2 ** (state.failures - 1), hour))
    expect(await pricesOf('FR', 0, midnight)).toEqual([])
  })

  it('that asks for time gets it', async () => {
    feed.answer = () => ({ status: 429, text: '', headers: { 'Retry-After': '1800' } })
    await fetchArea('CZ')
    expect((await sourceOf('CZ')).nextAt).toBe(noon + hour / 2)
  })

  it('keeps what came before it did', async () => {
    let asked = 0
    feed.answer = url => (++asked === 1 ? energyChartsUntil(midnight)(url) : { status: 503, text: '' })
    const { stored, error } = await fetchArea('PL')
    expect(stored).toBeGreaterThan(2_000)
    expect(error).toContain('answered 503')
  })

  it('shows no token in what it says', async () => {
    const entsoe = optionsOf({ name: 'entsoe', baseUrl: other.baseUrl })
    other.answer = () => ({ status: 401, text: 'token-of-the-tests' })
    const refused = await fetchArea('ES', entsoe)
    const away = await fetchArea('ES', optionsOf({ name: 'entsoe', baseUrl: 'http://127.0.0.1:9' }))
    expect(other.asked[0]).toContain('token-of-the-tests')
    for (const { error } of [refused, away]) {
      expect(error).toContain('entsoe: 127.0.0.1')
      expect(error).not.toContain('token')
    }
  })

  it('is stood in for by the next one, which fills what is missing and changes nothing else', async () => {
    const both = optionsOf({ name: 'energy-charts', baseUrl: feed.baseUrl }, { name: 'awattar', baseUrl: other.baseUrl })
    feed.answer = energyChartsUntil(midnight)
    const rows = [0, 1].map(place => ({
      start_timestamp: midnight + (place - 1) * hour,
      end_timestamp: midnight + place * hour,
      marketprice: 500,
      unit: 'Eur/MWh',
    }))
    other.answer = () => ({
      text: JSON.stringify({
        object: 'list',
        data: [...rows, { ...rows[1], start_timestamp: midnight + hour, end_timestamp: midnight + day }],
      }),
    })
    now = Date.parse('2026-03-10T20:00:00Z')
    await fetchArea('DE-LU', both)
    expect(await pricesOf('DE-LU', midnight - hour / 4, midnight + hour)).toEqual([
      [midnight - hour / 4, 15, 91_000_000n],
      [midnight, 60, 500_000_000n],
    ])
    expect(await pricesOf('DE-LU', midnight + hour, midnight + day)).toEqual([[midnight + hour, 23 * 60, 500_000_000n]])
    // Once the preferred feed is back, its prices hold.
    feed.answer = energyChartsUntil(midnight + day)
    await fetchArea('DE-LU', both)
    expect(await pricesOf('DE-LU', midnight, midnight + day)).toHaveLength(96)
  })
})

describe('prices that are overdue', () => {
  it('are an outage although the feed answers, once six hours have passed since their publication', async () => {
    feed.answer = energyChartsUntil(midnight)
    await fetchArea('NL')
    expect(await sourceOf('NL')).toMatchObject({ failures: 0, failingSince: null, nextAt: noon + 5 * 60_000 })
    now = Date.parse('2026-03-10T18:00:00Z')
    const { error } = await fetchArea('NL')
    expect(error).toBe('prices are overdue')
    expect(await sourceOf('NL')).toMatchObject({ failures: 0, failingSince: now, nextAt: now + hour / 2 })
    feed.answer = energyChartsUntil(midnight + day)
    now += hour
    await fetchArea('NL')
    expect(await sourceOf('NL')).toMatchObject({ failingSince: null, error: null, succeededAt: now })
  })
})

describe('feeds of other shapes', () => {
  it('are read page by page, wherever their pages say they are', async () => {
    const octopus = optionsOf({ name: 'octopus-agile', baseUrl: other.baseUrl })
    const rate = (start: number, price: string) =>
      `{"value_exc_vat":1,"value_inc_vat":${price},"valid_from":"${new Date(start).toISOString()}","valid_to":"${new Date(start + hour / 2).toISOString()}","payment_method":null}`
    other.answer = url =>
      url.searchParams.get('page') === '2'
        ? { text: `{"count":2,"next":null,"previous":null,"results":[${rate(noon - hour / 2, '20.16')}]}` }
        : { text: `{"count":2,"next":"https://elsewhere.test/x?page=2","previous":null,"results":[${rate(noon, '-1.23456789')}]}` }
    await fetchArea('GB-C', octopus, 'GBP')
    expect(await pricesOf('GB-C', noon - hour, noon + hour, 'GBP')).toEqual([
      [noon - hour / 2, 30, 201_600_000n],
      [noon, 30, -12_345_679n],
    ])
    expect(other.asked.every(path => path.startsWith('/v1/products/AGILE-24-10-01/electricity-tariffs/E-1R-AGILE-24-10-01-C/'))).toBe(true)
  })

  it('are not followed round in circles', async () => {
    const octopus = optionsOf({ name: 'octopus-agile', baseUrl: other.baseUrl })
    other.answer = () => ({ text: '{"count":0,"next":"https://elsewhere.test/x?page=1","previous":null,"results":[]}' })
    expect((await fetchArea('GB-D', octopus, 'GBP')).error).toContain('more than 20 pages')
    expect(other.asked).toHaveLength(20)
  })

  it('may say that a day is not there yet', async () => {
    const swedish = optionsOf({ name: 'elpriset-just-nu', baseUrl: other.baseUrl })
    other.answer = url =>
      url.pathname.endsWith('/2026/03-10_SE3.json')
        ? {
            text: '[{"SEK_per_kWh":0.5,"EUR_per_kWh":0.04,"time_start":"2026-03-10T00:00:00+01:00","time_end":"2026-03-11T00:00:00+01:00"}]',
          }
        : { status: 404, text: '' }
    expect(await fetchArea('SE3', swedish, 'SEK')).toMatchObject({ stored: 1, knownUntil: midnight })
    expect(await sourceOf('SE3', 'SEK')).toMatchObject({ failures: 0, failingSince: null })
  })
})

let made = 0
/** Make a location on a source with a tariff that follows it. Gives the tariff's id. */
const makeTariff = async (
  sourceId: string,
  more: { marketRates?: boolean; direction?: string; closedAt?: string | null } = {},
): Promise<string> => {
  const { marketRates = true, direction = 'IMPORT', closedAt = null } = more
  const id = (made++).toString(16).padStart(24, '0')
  const { accountId, liveMode } = live
  await sql`
    insert into locations (account_id, live_mode, id, timezone, currency_code, import_market_source_id, time_created)
    values (${accountId}, ${liveMode}, ${`loc_${id}`}, 'Europe/Berlin', 'EUR', ${sourceId}, now())`.execute(database.operator)
  await sql`
    insert into tariffs (account_id, live_mode, id, location_id, direction, type, connection_type, status, market_rates, closed_at, terms, time_created)
    values (${accountId}, ${liveMode}, ${`trf_${id}`}, ${`loc_${id}`}, ${direction}, 'COMMODITY', 'MANUAL', 'CONNECTED', ${marketRates},
      ${closedAt}::timestamptz, ${termsToText(tieredSchedule(0n))}, now())`.execute(database.operator)
  return `trf_${id}`
}

const toldOf = async (): Promise<readonly string[]> => {
  const { rows } = await sql<{ id: string; data: string }>`
    select object_id as id, data from events where type = 'tariff.fetch.failed' order by time_created, object_id`.execute(database.operator)
  for (const { id, data } of rows) {
    const location = id.replace('trf_', 'loc_')
    expect(JSON.parse(data)).toEqual({ live_mode: true, tariff_id: id, location_id: location, account_id: live.accountId })
  }
  return rows.map(({ id }) => id)
}

describe('an outage', () => {
  it('is told after 48 hours, once, to each living tariff that follows the source, and anew when there is another', async () => {
    const sourceId = sharedSourceId('HU', 'EUR')
    const first = await makeTariff(sourceId)
    const second = await makeTariff(sourceId)
    await makeTariff(sourceId, { marketRates: false })
    await makeTariff(sourceId, { direction: 'EXPORT' })
    await makeTariff(sourceId, { closedAt: '2026-01-01' })
    await makeTariff(sharedSourceId('SK', 'EUR'))
    feed.answer = () => ({ status: 502, text: '' })
    await fetchArea('HU')
    for (const passed of [47 * hour, 48 * hour, 49 * hour]) {
      now = noon + passed
      await fetchArea('HU')
      expect(await tellOutages(database, now)).toBe(passed === 48 * hour ? 2 : 0)
    }
    expect(await toldOf()).toEqual([first, second])
    // A crash before the outage is noted as told begins again, and writes no event twice.
    await sql`update market_feeds set told_at = null where source_id = ${sourceId}`.execute(database.operator)
    expect(await tellOutages(database, now)).toBe(0)
    feed.answer = energyChartsUntil(midnight + 3 * day)
    await fetchArea('HU')
    expect(await sourceOf('HU')).toMatchObject({ failingSince: null, toldAt: null })
    feed.answer = () => ({ status: 502, text: '' })
    now += day
    await fetchArea('HU')
    now += 48 * hour
    expect(await tellOutages(database, now)).toBe(0)
    await fetchArea('HU')
    expect(await tellOutages(database, now)).toBe(2)
  })
})

const roundOf = (options: MarketFetchOptions): MarketFeedOptions => ({
  ...options,
  placeOf: () => {
    throw new Error('nothing is placed in a round')
  },
  publishOrders: async () => undefined,
  logger: { info: () => undefined, warn: () => undefined } as never,
  restMs: 20,
})

describe('a round', () => {
  const round = (options: MarketFetchOptions) => feedMarkets(roundOf(options), async () => true, AbortSignal.timeout(10_000))

  it('fetches what is used and due, of what a chosen feed publishes, and nothing else', async () => {
    await sql`update locations set deleted_at = now()`.execute(database.operator)
    await makeTariff(sharedSourceId('SI', 'EUR'))
    await makeTariff(sharedSourceId('SE3', 'SEK'))
    expect(await round(energyCharts)).toBe(1)
    expect(new Set(feed.asked.map(path => new URLSearchParams(path.slice(6)).get('bzn')))).toEqual(new Set(['SI']))
    expect(await round(energyCharts)).toBe(0)
    now = Date.parse('2026-03-11T12:00:00Z')
    expect(await round(energyCharts)).toBe(1)
  })

  it('asks nobody where no feed is chosen, or another process holds the lease', async () => {
    await makeTariff(sharedSourceId('LT', 'EUR'))
    expect(await round(optionsOf())).toBe(0)
    expect(await feedMarkets(roundOf(energyCharts), async () => false, AbortSignal.timeout(1_000))).toBe(0)
    expect(feed.asked).toEqual([])
  })
})

describe('rounds', () => {
  it('are done by one process at a time, and by another one once that has stopped', async () => {
    await sql`update locations set deleted_at = now()`.execute(database.operator)
    await makeTariff(sharedSourceId('RO', 'EUR'))
    const first = startMarketFeeds(roundOf(energyCharts))
    await until(
      () => sourceOf('RO'),
      ({ succeededAt }) => succeededAt === noon,
    )
    const asked = feed.asked.length
    const second = startMarketFeeds(roundOf(optionsOf({ name: 'energy-charts', baseUrl: other.baseUrl })))
    await first[Symbol.asyncDispose]()
    expect(other.asked).toEqual([])
    other.answer = energyChartsUntil(midnight + 2 * day)
    now = noon + day
    await until(
      () => sourceOf('RO'),
      ({ succeededAt }) => succeededAt === now,
    )
    await second[Symbol.asyncDispose]()
    expect(feed.asked).toHaveLength(asked)
    expect(other.asked.length).toBeGreaterThan(0)
  })

  it('end at once when they are told to, also while a feed hangs, and leave no mark', async () => {
    await sql`update locations set deleted_at = now()`.execute(database.operator)
    await makeTariff(sharedSourceId('PT', 'EUR'))
    feed.answer = () => 'hang'
    const rounds = startMarketFeeds(roundOf({ ...energyCharts, timeoutMs: 60_000 }))
    await until(
      async () => feed.asked.length,
      count => count > 0,
    )
    const startedAt = performance.now()
    await rounds[Symbol.asyncDispose]()
    expect(performance.now() - startedAt).toBeLessThan(5_000)
    expect(await sourceOf('PT')).toMatchObject({ attemptedAt: null, failures: 0 })
  })
})
