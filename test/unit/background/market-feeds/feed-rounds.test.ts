import sql from 'sql-template-tag'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { startTask } from '../../../../services/background/leased-work.ts'
import { publishFeedOutages } from '../../../../services/background/market-feeds/feed-outages.ts'
import type { MarketFetchOptions } from '../../../../services/background/market-feeds/fetch-feed.ts'
import {
  fetchDueMarkets,
  type MarketFeedOptions,
  marketFeedWork,
} from '../../../../services/background/market-feeds/market-feeds.ts'
import { sharedSourceId } from '../../../../services/platform/postgres/pricing/market-sources.ts'
import {
  clock,
  database,
  dayMs,
  energyCharts,
  feed,
  fetchArea,
  hourMs,
  live,
  makeTariff,
  midnight,
  noon,
  optionsOf,
  otherFeed,
  resetFeeds,
  sourceOf,
  stack,
} from '../../../support/markets/market-feed-fixture.ts'
import { energyChartsUntil } from '../../../support/markets/market-feed-server.ts'
import { leasedTurn } from '../../../support/partitions/leased-turn.ts'
import { until } from '../../../support/system/until.ts'

afterAll(() => stack.disposeAsync())
beforeEach(resetFeeds)

const failureEvents = async (): Promise<readonly string[]> => {
  const { rows } = await database.operator<{ id: string; data: string }>(sql`
    select object_id as id, data from events where type = 'tariff.fetch.failed' order by time_created, object_id`)
  for (const { id, data } of rows) {
    const location = id.replace('trf_', 'loc_')
    expect(JSON.parse(data)).toEqual({
      live_mode: true,
      tariff_id: id,
      location_id: location,
      account_id: live.accountId,
    })
  }
  return rows.map(({ id }) => id)
}

describe('an outage', () => {
  it('has one event for each active tariff after 48 hours, and new ones for the next outage', async () => {
    const sourceId = sharedSourceId('HU', 'EUR')
    const first = await makeTariff(sourceId)
    const second = await makeTariff(sourceId)
    await makeTariff(sourceId, { marketRates: false })
    await makeTariff(sourceId, { direction: 'EXPORT' })
    await makeTariff(sourceId, { closedAt: '2026-01-01' })
    await makeTariff(sharedSourceId('SK', 'EUR'))
    feed.answer = () => ({ status: 502, text: '' })
    await fetchArea('HU')
    for (const passed of [47 * hourMs, 48 * hourMs, 49 * hourMs]) {
      clock.now = noon + passed
      await fetchArea('HU')
      expect(await publishFeedOutages(database, clock.now)).toBe(passed === 48 * hourMs ? 2 : 0)
    }
    expect(await failureEvents()).toEqual([first, second])
    // After a crash between two pages, the work continues after the first page and writes no event twice.
    await database.operator(sql`update market_feeds set told_at = null where source_id = ${sourceId}`)
    expect(await publishFeedOutages(database, clock.now)).toBe(0)
    // The ids contain the time of the events, so a caller finds them after the last event that it has read.
    const { rows } = await database.operator<{ id: string }>(
      sql`select id from events where type = 'tariff.fetch.failed'`,
    )
    for (const { id } of rows) expect(Number.parseInt(id.slice(4, 16), 16)).toBeGreaterThanOrEqual(noon + 48 * hourMs)
    feed.answer = energyChartsUntil(midnight + 3 * dayMs)
    await fetchArea('HU')
    expect(await sourceOf('HU')).toMatchObject({ failingSince: null, reportedAt: null })
    feed.answer = () => ({ status: 502, text: '' })
    clock.now += dayMs
    await fetchArea('HU')
    clock.now += 48 * hourMs
    expect(await publishFeedOutages(database, clock.now)).toBe(0)
    await fetchArea('HU')
    const twice = await Promise.all([publishFeedOutages(database, clock.now), publishFeedOutages(database, clock.now)])
    expect(twice.toSorted()).toEqual([0, 2])
    expect(await failureEvents()).toHaveLength(4)
  })
})

const roundOf = (options: MarketFetchOptions): MarketFeedOptions => ({
  ...options,
  areasOf: () => {
    throw new Error('nothing is placed in a round')
  },
  publishRecosts: async () => undefined,
  logger: { info: () => undefined, warn: () => undefined } as never,
  restMs: 20,
})

describe('a round', () => {
  const round = (options: MarketFetchOptions) => fetchDueMarkets(roundOf(options), leasedTurn)

  it('fetches only sources that are used, due and published by a configured feed', async () => {
    await database.operator(sql`update locations set deleted_at = now()`)
    await makeTariff(sharedSourceId('SI', 'EUR'))
    await makeTariff(sharedSourceId('SE3', 'SEK'))
    expect(await round(energyCharts)).toBe(1)
    expect(new Set(feed.requests.map(path => new URLSearchParams(path.slice(6)).get('bzn')))).toEqual(new Set(['SI']))
    expect(await round(energyCharts)).toBe(0)
    clock.now = Date.parse('2026-03-11T12:00:00Z')
    expect(await round(energyCharts)).toBe(1)
  })

  it('sends no request without a configured feed, or if another process has the lease', async () => {
    await makeTariff(sharedSourceId('LT', 'EUR'))
    expect(await round(optionsOf())).toBe(0)
    expect(await fetchDueMarkets(roundOf(energyCharts), { ...leasedTurn, renewLease: async () => null })).toBe(0)
    expect(feed.requests).toEqual([])
  })
})

describe('rounds', () => {
  const startRounds = (options: MarketFetchOptions) => {
    const feedOptions = roundOf(options)
    return startTask(feedOptions, marketFeedWork(feedOptions))
  }

  it('run in one process at a time, and in another one after the first has stopped', async () => {
    await database.operator(sql`update locations set deleted_at = now()`)
    await makeTariff(sharedSourceId('RO', 'EUR'))
    const first = startRounds(energyCharts)
    await until(
      () => sourceOf('RO'),
      ({ succeededAt }) => succeededAt === noon,
    )
    const requestCount = feed.requests.length
    const second = startRounds(optionsOf({ name: 'energy-charts', baseUrl: otherFeed.baseUrl }))
    await first[Symbol.asyncDispose]()
    expect(otherFeed.requests).toEqual([])
    otherFeed.answer = energyChartsUntil(midnight + 2 * dayMs)
    clock.now = noon + dayMs
    await until(
      () => sourceOf('RO'),
      ({ succeededAt }) => succeededAt === clock.now,
    )
    await second[Symbol.asyncDispose]()
    expect(feed.requests).toHaveLength(requestCount)
    expect(otherFeed.requests.length).toBeGreaterThan(0)
  })

  it('stop at once, also while a feed hangs, and change no state', async () => {
    await database.operator(sql`update locations set deleted_at = now()`)
    await makeTariff(sharedSourceId('PT', 'EUR'))
    feed.answer = () => 'hang'
    const rounds = startRounds({ ...energyCharts, timeoutMs: 60_000 })
    await until(
      async () => feed.requests.length,
      count => count > 0,
    )
    const startedAt = performance.now()
    await rounds[Symbol.asyncDispose]()
    expect(performance.now() - startedAt).toBeLessThan(5_000)
    expect(await sourceOf('PT')).toMatchObject({ attemptedAt: null, failures: 0 })
  })
})
