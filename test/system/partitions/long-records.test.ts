import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { receiptOfBatch } from '../../../services/platform/clickhouse/meter-cost/meter-object-reads.ts'
import { Failure } from '../../../services/platform/failure.ts'
import { recordTopic } from '../../../services/platform/log/log.ts'
import { openPartitionFixture, type PartitionFixture } from '../../support/partitions/partition-fixture.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'

const [from, to] = [Date.parse('2024-01-01T00:00:00Z'), Date.parse('2025-01-01T00:00:00Z')]
const quarter = 900_000
const quarters = (to - from) / quarter
const records = 40
/** A step has at most 200,000 pieces plus the excess of its last row, of about 52 bytes each. */
const maxBytes = (200_000 + quarters) * 52 + 1_000_000

let fixture: PartitionFixture
let market = ''
/** In 0.001 per kWh. Neighbours never cost the same. */
const prices = Array.from({ length: quarters }, (_, index) => 100 + (index % 96))

const publish = async (values: readonly number[], first = 0): Promise<void> => {
  const all = values.map((value, index) => {
    const start = from + (first + index) * quarter
    return {
      start_time: new Date(start).toISOString(),
      end_time: new Date(start + quarter).toISOString(),
      value: value / 1000,
    }
  })
  for (let at = 0; at < all.length; at += 10_000)
    await fixture.client.ask('PUT', `/markets/${market}/prices`, all.slice(at, at + 10_000))
}

beforeAll(async () => {
  fixture = await openPartitionFixture()
  market = await makeOne(fixture.client, '/markets', { display_name: 'Quarter hours', currency_code: 'EUR' })
  await publish(prices)
})
afterAll(() => fixture?.[Symbol.asyncDispose]())

/** Size of each insert of cost rows in bytes. */
const inserted: number[] = []
const watch = (): void => {
  inserted.length = 0
  fixture.gate.append = null
  fixture.gate.insert = async ({ table, bytes }, go) => {
    if (table === 'meter_cost') inserted.push(bytes.length)
    await go()
  }
}
beforeEach(async () => {
  watch()
  await fixture.start()
})
afterEach(() => fixture.stop())

const makeMarketHome = async (): Promise<string> => {
  const home = await makeHome(fixture.client, {}, { timezone: 'UTC', market_sources: { import: market } })
  await makeOne(fixture.client, '/tariffs', {
    location_id: home,
    direction: 'IMPORT',
    type: 'COMMODITY',
    market_rates: true,
    schedule: marketSchedule,
  })
  return home
}
const marketSchedule = [
  {
    months: ['All'],
    days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{}] }] }],
  },
]

/** Create records of the whole year with these watt-hours in each quarter of an hour. */
const yearOf = (home: string, wattHours: number, reference: string) =>
  bought(home, (wattHours * quarters) / 1000, new Date(from).toISOString(), new Date(to).toISOString(), {
    record_reference_id: reference,
  })
const years = (home: string) => Array.from({ length: records }, (_, index) => yearOf(home, index + 1, `r${index}`))
const put = (body: readonly object[]): Promise<{ readonly id: string }> =>
  fixture.client.ask('PUT', '/meters/interval', body)

type Row = readonly [reference: string, cost: string | null, pieces: number, version: string]

const rowsOf = (home: string) =>
  fixture.clickHouse.rows(`SELECT record_reference_id, toString(cost), toUInt32(length(pieces.price)), toString(version) FROM meter_cost FINAL
    WHERE account_id = unhex('${fixture.tenant.accountId.slice(4)}') AND live_mode = false AND location_id = unhex('${home.slice(4)}')
    ORDER BY toUInt32(substring(record_reference_id, 2)) SETTINGS max_threads=2`) as Promise<readonly Row[]>

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)
/** Wh × 0.001 per kWh is 1e-6. */
const costsAt = (values: readonly number[]) =>
  Array.from({ length: records }, (_, index) => (sum(values) * (index + 1)) / 1e6)
const costsOf = (rows: readonly Row[]) => rows.map(([, cost]) => Number(cost))

describe('records with more pieces than fit in memory', () => {
  it('are stored and recosted in parts; a kill between two parts leaves the same rows', {
    timeout: 300_000,
  }, async () => {
    const home = await makeMarketHome()
    await fixture.waitUntilRead()
    const { promise: died, resolve } = Promise.withResolvers<void>()
    fixture.gate.insert = async ({ table, bytes }, go) => {
      if (inserted.length === 3) {
        resolve()
        throw new Failure('killed', 'The process was killed.', { retriable: true })
      }
      if (table === 'meter_cost') inserted.push(bytes.length)
      await go()
    }
    const { id } = await put(years(home))
    await Promise.race([died, fixture.waitUntilRead()])
    expect(inserted).toHaveLength(3)
    await fixture.stop()
    const before = await rowsOf(home)
    expect(before.length).toBeGreaterThan(5)
    expect(before.length).toBeLessThan(records)
    expect((await receiptOfBatch(fixture.clickHouse, fixture.tenant, id))?.recordsProcessed ?? 0).toBe(0)
    const first = [...inserted]
    watch()
    await fixture.start()
    await fixture.waitUntilRead()
    const rows = await rowsOf(home)
    expect(costsOf(rows)).toEqual(costsAt(prices))
    expect(new Set(rows.map(([, , pieces]) => pieces))).toEqual(new Set([quarters]))
    expect(rows.filter(([reference]) => before.some(([known]) => known === reference))).toEqual(before)
    expect(await receiptOfBatch(fixture.clickHouse, fixture.tenant, id)).toMatchObject({
      recordsProcessed: records,
      failures: [],
    })
    expect(Math.max(...first, ...inserted)).toBeLessThan(maxBytes)

    watch()
    await publish([500], 40)
    await fixture.waitUntilRead()
    expect(costsOf(await rowsOf(home))).toEqual(costsAt(prices.with(40, 500)))
    expect(inserted.length).toBeGreaterThanOrEqual(records / 6)
    expect(Math.max(...inserted)).toBeLessThan(maxBytes)
  })
})

describe('a recost request in a partition that accepts no more messages', () => {
  it('is completed in parts', { timeout: 90_000 }, async () => {
    const home = await makeHome(fixture.client, { import: 0.5 })
    const months = Array.from({ length: 60 }, (_, month) => Date.UTC(2015, month, 3))
    await fixture.client.submit(
      months.map((at, index) =>
        bought(home, 2, new Date(at).toISOString(), new Date(at + quarter).toISOString(), {
          record_reference_id: `r${index}`,
        }),
      ),
    )
    let refused = 0
    fixture.gate.append = async ({ topic }, go) => {
      if (topic !== recordTopic) return go()
      refused += 1
      throw new Failure('log_full', 'The partition is full.', { retriable: true })
    }
    inserted.length = 0
    const { data } = (await fixture.client.ask('GET', `/tariffs?location_id=${home}`)) as {
      data: readonly { readonly id: string }[]
    }
    await fixture.client.ask('DELETE', `/tariffs/${data[0]?.id}?void=true`)
    await fixture.waitUntilRead()
    expect(refused).toBe(1)
    const rows = await rowsOf(home)
    expect(rows).toHaveLength(months.length)
    expect(new Set(rows.map(([, cost]) => cost))).toEqual(new Set([null]))
    // The first part is done twice: it is stored before its rest finds the partition full.
    expect(inserted.length).toBeGreaterThan(2)
  })
})
