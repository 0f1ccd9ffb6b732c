import { setTimeout as sleep } from 'node:timers/promises'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { termsToText } from '../../../services/platform/postgres/pricing/tariff-row.ts'
import { openPartitionFixture, type PartitionFixture } from '../../support/partitions/partition-fixture.ts'
import { tieredSchedule } from '../../support/registry/drafts.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'

const count = Number(process.env['ORDER_LOCATIONS'] ?? 3_000)
const quarters = [0, 3, 6, 9] as const
const limitMs = Math.max(60_000, count * 20)

let fixture: PartitionFixture

beforeAll(async () => {
  fixture = await openPartitionFixture()
  await fixture.start()
})
afterAll(() => fixture?.[Symbol.asyncDispose]())

/** Create locations that pay the market price only. */
const seed = async (market: string): Promise<readonly string[]> => {
  const ids = Array.from({ length: count }, (_, index) => `loc_${(index + 1).toString(16).padStart(24, '0')}`)
  const { accountId, liveMode } = fixture.tenant
  const [entry] = tieredSchedule(0n)
  const hours = [
    { validFrom: 0, validTo: 86_400, rate: [{ fixed: 0n, to: null, surchargeFixed: 0n, surchargePercentage: 0n }] },
  ]
  const terms = termsToText([{ ...entry, months: ['All'], dates: [], daysAndHours: [{ days: ['All'], hours }] }])
  await fixture.database.operator(sql`
    insert into locations (account_id, live_mode, id, timezone, currency_code, import_market_source_id, time_created)
    select ${accountId}, ${liveMode}, id, 'UTC', 'EUR', ${market}, now() from unnest(${ids}::text[]) as l(id)`)
  await fixture.database.operator(sql`
    insert into tariffs (account_id, live_mode, id, location_id, direction, type, connection_type, status, market_rates, terms, time_created)
    select ${accountId}, ${liveMode}, replace(id, 'loc_', 'trf_'), id, 'IMPORT', 'COMMODITY', 'MANUAL', 'CONNECTED', true, ${terms}, now()
    from unnest(${ids}::text[]) as l(id)`)
  return ids
}

const publish = (market: string, value: number) =>
  fixture.client.ask('PUT', `/markets/${market}/prices`, [
    { start_time: '2024-01-01T00:00:00Z', end_time: '2025-01-01T00:00:00Z', value },
  ])

/** Create one record of 1 kWh per quarter of the year at each location. */
const submitYear = async (ids: readonly string[]): Promise<void> => {
  const records = quarters.flatMap(month =>
    ids.map((id, index) => {
      const start = Date.UTC(2024, month, 1 + (index % 28))
      return bought(id, 1, new Date(start).toISOString(), new Date(start + 900_000).toISOString())
    }),
  )
  for (let from = 0; from < records.length; from += 5_000)
    await fixture.client.ask('PUT', '/meters/interval', records.slice(from, from + 5_000))
  await fixture.waitUntilRead(limitMs)
}

/** Count the rows at the locations of the year, and those with a given cost. */
const rowsAt = async (cost: number): Promise<readonly unknown[]> => {
  const [row] =
    await fixture.clickHouse.rows(`SELECT toUInt32(count()), toUInt32(countIf(cost = ${cost})) FROM meter_cost FINAL
    WHERE account_id = unhex('${fixture.tenant.accountId.slice(4)}') AND live_mode = false AND start_time < '2025-01-01' SETTINGS max_threads=2`)
  return row ?? []
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0

const freshAt = async (start: number): Promise<unknown> => {
  const [row] = await fixture.clickHouse.rows(`SELECT toUInt32(count()) FROM meter_cost FINAL
    WHERE account_id = unhex('${fixture.tenant.accountId.slice(4)}') AND live_mode = false AND start_time = fromUnixTimestamp64Milli(toInt64(${start}), 'UTC')`)
  return row?.[0]
}

/**
 * Send new records to some homes until `isOver`. Returns for each batch the delay until it was visible, and its time.
 */
const sendFresh = async (homes: readonly string[], isOver: () => boolean) => {
  const seen: { readonly lagMs: number; readonly at: number }[] = []
  for (let round = 0; !isOver(); round += 1) {
    const start = Date.UTC(2026, 0, 1) + round * 900_000
    const times = [start, start + 900_000].map(at => new Date(at).toISOString()) as [string, string]
    await fixture.client.ask(
      'PUT',
      '/meters/interval',
      homes.map(home => bought(home, 1, ...times)),
    )
    const acceptedAt = performance.now()
    while ((await freshAt(start)) !== homes.length) await sleep(10)
    seen.push({ lagMs: performance.now() - acceptedAt, at: performance.now() })
    await sleep(50)
  }
  return seen
}

it(`a recost request over a year of ${count} locations recosts every row, and new records do not wait for it`, {
  timeout: limitMs * 3,
}, async () => {
  const market = await makeOne(fixture.client, '/markets', { display_name: 'Exchange', currency_code: 'EUR' })
  const ids = await seed(market)
  await publish(market, 0.25)
  await submitYear(ids)
  const total = count * quarters.length
  expect(await rowsAt(0.25)).toEqual([total, total])
  const homes = await Promise.all(Array.from({ length: 8 }, () => makeHome(fixture.client, { import: 0.5 })))
  let isOver = false
  const fresh = sendFresh(homes, () => isOver)
  const startedAt = performance.now()
  await publish(market, 0.75)
  let priced: readonly unknown[] = []
  while (priced[1] !== total && performance.now() - startedAt < limitMs) {
    await sleep(250)
    priced = await rowsAt(0.75)
  }
  const endedAt = performance.now()
  isOver = true
  const lags = await fresh
  expect(priced).toEqual([total, total])
  const meanwhile = lags.filter(({ at }) => at < endedAt)
  const sorted = meanwhile.map(({ lagMs }) => lagMs).toSorted((a, b) => a - b)
  const took = Math.round(endedAt - startedAt)
  const [middle, late] = [quantile(sorted, 0.5), quantile(sorted, 0.99)].map(Math.round)
  console.info(
    `${total} rows recosted in ${took} ms; ${sorted.length} new batches meanwhile, visible after ${middle} ms (p50), ${late} ms (p99)`,
  )
  // New records are stored between the row ranges of the request, again and again.
  expect(sorted.length).toBeGreaterThan(1)
  expect(sorted.at(-1)).toBeLessThan(took / 2)
})
