import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MarketFeedWire } from '../../../services/contract/operator/market-feed.ts'
import { sharedSources } from '../../../services/domain/market-feed/shared-sources.ts'
import { sharedSourceId } from '../../../services/platform/postgres/pricing/market-sources.ts'
import { energyChartsUntil, type FeedServer, startFeedServer } from '../../support/markets/market-feed-server.ts'
import { type Client, login } from '../../support/system/client.ts'
import { bought, makeOne } from '../../support/system/home.ts'
import { startPrepared } from '../../support/system/prepared-folder.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { dataFolder, type RunningSystem, removeData } from '../../support/system/running-system.ts'
import { costsUntil } from '../../support/system/stored-costs.ts'
import { until } from '../../support/system/until.ts'

const dayMs = 86_400_000
const folder = dataFolder()
const german = sharedSourceId('DE-LU', 'EUR')
let feed: FeedServer
let system: RunningSystem
let client: Client

const command = (...args: readonly string[]) => runCommand(args, { WATTLEDGER_DATA_DIR: folder })
const json = async <T>(...args: readonly string[]): Promise<T> =>
  JSON.parse((await command(...args, '--json')).out) as T

beforeAll(async () => {
  feed = await startFeedServer()
  system = await startPrepared(folder, { WATTLEDGER_MARKET_FEEDS: `energy-charts=${feed.baseUrl}` })
  client = await login(system.sandbox)
})

afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await feed[Symbol.asyncDispose]()
  removeData(folder)
})

const marketTariff = {
  direction: 'IMPORT',
  type: 'COMMODITY',
  market_rates: true,
  schedule: [
    {
      months: ['All'],
      days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{}] }] }],
    },
  ],
}

const address = (city: string, country: string) => ({ address_line1: '1', city, post_code: '1', country_code: country })

describe('a service that may fetch prices', () => {
  it('sends no request while no location uses the prices', async () => {
    expect((await command('markets', 'list')).out).toContain(`List all ${sharedSources.length} sources with --all`)
    expect(feed.requests).toEqual([])
  })

  it('prices a location by the source of its area after the feed has answered', async () => {
    const now = Date.now()
    feed.answer = energyChartsUntil(Math.floor(now / dayMs) * dayMs + 3 * dayMs)
    const id = await makeOne(client, '/locations', { postal_address: address('Hamburg', 'DE') })
    const location = (await client.ask('GET', `/locations/${id}`)) as { market_sources: object }
    expect(location.market_sources).toEqual({ import: german, export: german })
    await makeOne(client, '/tariffs', { ...marketTariff, location_id: id })
    const yesterday = new Date(now - dayMs).toISOString().slice(0, 10)
    await client.submit([
      bought(id, 1.5, `${yesterday}T10:00:00Z`, `${yesterday}T10:15:00Z`, { record_reference_id: 'a' }),
    ])
    // 10:00Z is quarter hour 40 of the day: 40 EUR/MWh × 1.5 kWh.
    expect(await costsUntil(client, id, { a: 0.06 }, 20_000)).toEqual({ a: 0.06 })
  })

  it('shows the operator the state of fetching, on the command line and in metrics', async () => {
    const [source, ...rest] = await until(
      () => json<readonly MarketFeedWire[]>('markets', 'list'),
      ([first]) => typeof first?.time_succeeded === 'string',
    )
    expect(rest).toEqual([])
    expect(source).toMatchObject({
      id: german,
      area: 'DE-LU',
      is_used: true,
      feeds: ['energy-charts'],
      last_feed: 'energy-charts',
      failures: 0,
      error: null,
    })
    expect((await command('markets', 'list')).out).toMatch(/DE-LU +EUR +used +energy-charts .* ok$/m)
    const text = await until(
      async () => (await fetch(system.metricsUrl)).text(),
      metrics => metrics.includes(`market_last_success_timestamp_seconds{market="${german}"`),
    )
    expect(text).toMatch(/wattledger_market_fetches_total\{feed="energy-charts",outcome="prices"\} [1-9]/)
    expect(text).toMatch(
      new RegExp(`wattledger_market_known_until_timestamp_seconds\\{market="${german}",area="DE-LU"\\} 1\\.?\\d`),
    )
  })

  it('fetches due prices or any interval on command, and reports obstacles', async () => {
    const span = await command('markets', 'fetch', 'fr', '--from', '2025-01-01', '--to', '2025-02-05')
    expect(span).toMatchObject({ code: 0, err: '' })
    expect(span.out).toContain('FR/EUR from 2025-01-01  energy-charts: 2976 stored')
    expect(span.out).toContain(`${35 * 96} new or changed prices.`)
    expect(await json('markets', 'fetch')).toMatchObject({ data: [{ id: german, stored: 0, error: null }] })
    feed.answer = () => ({ status: 500, text: '' })
    const failed = await command('markets', 'fetch', german)
    expect(failed.code).toBe(1)
    expect(failed.out).toContain('answered 500')
    expect((await command('markets', 'list')).out).toContain('failing since')
    expect((await command('markets', 'fetch', 'SE3/SEK')).out).toContain('WATTLEDGER_MARKET_FEEDS')
    expect((await command('markets', 'fetch', 'SE3')).err).toContain('SE3/EUR or SE3/SEK')
    expect((await command('markets', 'fetch', 'Atlantis')).err).toContain('There is no shared source "Atlantis"')
    expect((await command('markets', 'fetch', '--to', '2025-01-01')).err).toContain('--to requires --from')
  })

  it('imports a file in any unit of the currency, and stores nothing of a file with an error', async () => {
    const file = join(folder, '..', 'prices.csv')
    writeFileSync(
      file,
      'start_time,end_time,value\n2025-10-01T22:00:00Z,2025-10-01T22:30:00Z,19.4250\n2025-10-01T22:30:00Z,2025-10-01T23:00:00Z,-0.5\n',
    )
    const imported = await command('markets', 'import', file, '--market', 'gb', '--unit', 'p/kWh')
    expect(imported).toMatchObject({ code: 0, err: '' })
    expect(imported.out).toContain('2 stored, 0 replaced, 0 unchanged')
    const prices = await client.send(
      'GET',
      `/markets/${sharedSourceId('GB', 'GBP')}/prices?start_time=2025-10-01T22:00:00Z&end_time=2025-10-01T23:00:00Z`,
    )
    expect(prices.text).toContain('"value":0.19425}')
    expect(prices.text).toContain('"value":-0.005}')
    expect(
      await json('markets', 'import', file, '--market', sharedSourceId('GB', 'GBP'), '--unit', 'GBP/MWh'),
    ).toMatchObject({
      prices: 2,
      replaced: 2,
    })
    expect((await command('markets', 'import', file, '--market', 'GB', '--unit', 'EUR/MWh')).err).toContain('GBP/MWh')
    expect((await command('markets', 'import', file, '--market', 'mrs_none')).err).toContain('mrs_none')
    expect((await command('markets', 'import', `${file}.gone`, '--market', 'GB')).err).toContain('Cannot read')
    writeFileSync(
      file,
      'start_time,end_time,value\n2025-10-02T22:00:00Z,2025-10-02T22:30:00Z,1\n2025-10-02 23:00,2025-10-03 00:00,2\n',
    )
    const faulty = await command('markets', 'import', file, '--market', 'GB')
    expect(faulty.code).toBe(1)
    expect(faulty.err).toContain('line 3: "2025-10-02 23:00" is not a time')
    const untouched = await client.send(
      'GET',
      `/markets/${sharedSourceId('GB', 'GBP')}/prices?start_time=2025-10-02T00:00:00Z&end_time=2025-10-03T00:00:00Z`,
    )
    expect(untouched.text).toContain('"data":[]')
  })

  it('allows these operations to the operator only', async () => {
    for (const [method, path] of [
      ['GET', '/operator/market-feeds'],
      ['POST', `/operator/market-feeds/${german}/fetch`],
    ] as const) {
      expect((await client.send(method, path)).status).toBe(403)
    }
    const headers = { 'X-Operator-Key': system.sandbox.operator_key }
    const post = (id: string, body?: string) =>
      fetch(`${system.sandbox.base_url}/operator/market-feeds/${id}/fetch`, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body }),
      })
    expect((await post('mrs_000000000000000000000000')).status).toBe(404)
    for (const body of [
      '{"start_time":"2025-01-01T00:00:00Z"}',
      '{"start_time":"2025-01-02T00:00:00Z","end_time":"2025-01-01T00:00:00Z"}',
      '{"start_time":"2025-01-01T00:00:00Z","end_time":"2025-02-01T00:00:01Z"}',
    ]) {
      expect((await post(german, body)).status).toBe(400)
    }
  })
})
