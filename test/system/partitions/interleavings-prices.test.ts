import sql from 'sql-template-tag'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openPartitionFixture, type PartitionFixture } from '../../support/partitions/partition-fixture.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { costsOf, costsUntil, recordsOf } from '../../support/system/stored-costs.ts'
import { until } from '../../support/system/until.ts'
import { addTiers } from '../../support/tariffs/tier-tariff.ts'

let fixture: PartitionFixture

beforeAll(async () => {
  fixture = await openPartitionFixture()
  await fixture.start()
})
afterAll(() => fixture?.[Symbol.asyncDispose]())
afterEach(() => {
  fixture.gate.insert = null
})

const hour = (day: number, at = 8): string =>
  `2025-06-${String(day).padStart(2, '0')}T${String(at).padStart(2, '0')}:00:00Z`
const used = (home: string, day: number, kwh: number, more: object = {}) =>
  bought(home, kwh, hour(day), hour(day, 9), { record_reference_id: `d${day}`, ...more })
const put = (...records: readonly object[]): Promise<{ readonly id: string }> =>
  fixture.client.ask('PUT', '/meters/interval', records)

/** Create a location that pays the market price plus 0.1. */
const makeMarketHome = async (more: object = {}): Promise<{ readonly home: string; readonly market: string }> => {
  const market = await makeOne(fixture.client, '/markets', { display_name: 'Exchange', currency_code: 'EUR' })
  const home = await makeHome(fixture.client, {}, { market_sources: { import: market }, ...more })
  const hours = [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ surcharge_fixed: 0.1 }] }]
  const schedule = [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }]
  await makeOne(fixture.client, '/tariffs', {
    location_id: home,
    direction: 'IMPORT',
    type: 'COMMODITY',
    market_rates: true,
    schedule,
  })
  return { home, market }
}

/** Publish the price of the hour of some days. */
const publish = (market: string, value: number, ...days: readonly number[]) =>
  fixture.client.ask(
    'PUT',
    `/markets/${market}/prices`,
    days.map(day => ({ start_time: hour(day), end_time: hour(day, 9), value })),
  )

/** Delay the insert of the next cost rows while something happens; later steps wait. */
const whileInserting = async (begin: () => Promise<unknown>, meanwhile: () => Promise<unknown>): Promise<void> => {
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  fixture.gate.insert = async (rows, go) => {
    if (rows.table === 'meter_cost') {
      fixture.gate.insert = null
      reached.resolve()
      await released.promise
    }
    await go()
  }
  await begin()
  await reached.promise
  await meanwhile()
  released.resolve()
}

/**
 * The partitions have the recost requests of the source after the waiting messages: all of its locations are notified.
 */
const waitForPrice = async (market: string): Promise<void> => {
  await until(
    async () =>
      (await fixture.database.operator(sql`select 1 from price_fan_outs where source_id = ${market}`)).rows.length,
    count => count === 0,
  )
}

describe('a new market price', () => {
  it('prices a record that waits unread, in either order of reading', async () => {
    for (const isFirst of [true, false]) {
      const { home, market } = await makeMarketHome()
      await publish(market, 0.2, 10)
      await fixture.stop()
      if (isFirst) await publish(market, 0.4, 10)
      await put(used(home, 10, 1))
      if (!isFirst) await publish(market, 0.4, 10)
      await waitForPrice(market)
      await fixture.start()
      await fixture.waitUntilRead()
      expect(await costsOf(fixture.client, home)).toEqual({ d10: 0.5 })
    }
  })

  it.each([
    ['a first price', false],
    ['a corrected price', true],
  ])('that arrives during the insert of a record applies in the end: %s', async (_, isCorrection) => {
    const { home, market } = await makeMarketHome()
    if (isCorrection) {
      await publish(market, 0.2, 10, 11)
      // The worker has cached the older price by now.
      await fixture.client.submit([used(home, 11, 1)])
    }
    await whileInserting(
      () => put(used(home, 10, 1)),
      async () => {
        await publish(market, 0.4, 10)
        await waitForPrice(market)
      },
    )
    const wanted = isCorrection ? { d10: 0.5, d11: 0.3 } : { d10: 0.5 }
    expect(await costsUntil(fixture.client, home, wanted)).toEqual(wanted)
  })

  it('leaves the newest price if it changes again during its own recost request', async () => {
    const { home, market } = await makeMarketHome()
    await fixture.client.submit([used(home, 10, 1), used(home, 11, 1)])
    await whileInserting(
      () => publish(market, 0.1, 10, 11),
      async () => {
        await publish(market, 0.2, 10)
        await publish(market, 0.3, 11)
        await waitForPrice(market)
      },
    )
    const wanted = { d10: 0.3, d11: 0.4 }
    expect(await costsUntil(fixture.client, home, wanted)).toEqual(wanted)
  })
})

type Sum = {
  readonly data: readonly {
    readonly energy: { readonly value: number }
    readonly tariff: { readonly cost: { readonly value: number } }
  }[]
}

const spent = async (id: string, from = hour(9), to = hour(30)) => {
  const { data } = (await fixture.client.ask('POST', `/costs/interval/${id}`, {
    start_time: from,
    end_time: to,
  })) as Sum
  return data.map(({ energy, tariff }) => [energy.value, tariff.cost.value])
}

describe('a deleted location', () => {
  it('keeps the costs of its records, by its id and in the account, after any later market price', async () => {
    const { home, market } = await makeMarketHome()
    const other = await makeHome(fixture.client, {}, { market_sources: { import: market } })
    await publish(market, 0.2, 20, 21)
    await fixture.client.submit([used(home, 20, 1), used(home, 21, 2)])
    const [before, all] = [
      await recordsOf(fixture.client, home),
      await spent(fixture.sandbox.account_id, hour(20, 0), hour(22, 0)),
    ]
    expect(await spent(home)).toEqual([[3000, 0.9]])
    expect((await fixture.client.send('DELETE', `/locations/${home}`)).status).toBe(202)
    await publish(market, 5, 20, 21)
    await waitForPrice(market)
    await fixture.waitUntilRead()
    expect(await spent(home)).toEqual([[3000, 0.9]])
    expect(await spent(fixture.sandbox.account_id, hour(20, 0), hour(22, 0))).toEqual(all)
    expect(await recordsOf(fixture.client, home)).toEqual(before)
    expect(await spent(other)).toEqual([[0, 0]])
  })

  it('keeps the whole cost of records that end after its deletion, also after a restart', async () => {
    const home = await makeHome(fixture.client, { import: 0.5 })
    const now = Date.now()
    const around = (kwh: number, hours: number, name: string) =>
      bought(home, kwh, new Date(now - 3_600_000).toISOString(), new Date(now + hours * 3_600_000).toISOString(), {
        record_reference_id: name,
      })
    await fixture.client.submit([around(1, 1, 'stored')])
    await fixture.stop()
    await put(around(2, 2, 'waiting'))
    expect((await fixture.client.send('DELETE', `/locations/${home}`)).status).toBe(202)
    await fixture.start()
    await fixture.waitUntilRead()
    await put(around(4, 1, 'stored'))
    await fixture.waitUntilRead()
    expect(await costsOf(fixture.client, home)).toEqual({ stored: 2, waiting: 1 })
  })

  it('has all records accepted before the deletion stored and priced, and accepts no new records', async () => {
    const home = await makeHome(fixture.client, { import: 0.5 })
    await fixture.client.submit([used(home, 12, 1)])
    await fixture.stop()
    const { id } = await put(used(home, 13, 2))
    expect((await fixture.client.send('DELETE', `/locations/${home}`)).status).toBe(202)
    await fixture.start()
    await fixture.waitUntilRead()
    expect(await fixture.client.ask('GET', `/meters/batch?batch_id=${id}`)).toMatchObject({
      records_processed: 1,
      failed_records: [],
    })
    expect(await costsOf(fixture.client, home)).toEqual({ d12: 0.5, d13: 1 })
    fixture.clock.aheadMs = 59_000
    try {
      expect(await put(used(home, 14, 1))).toMatchObject({
        records_accepted: 0,
        failed_records: [{ error: expect.stringContaining('location') }],
      })
      expect((await fixture.client.send('POST', '/costs/instant', used(home, 14, 1))).json).toMatchObject({
        code: 'location_not_found',
      })
    } finally {
      fixture.clock.aheadMs = 0
    }
    expect(await costsOf(fixture.client, home)).toEqual({ d12: 0.5, d13: 1 })
  })
})

const unpricedRows = async (): Promise<number> =>
  (await fixture.metrics.unpriced.get()).values.reduce((sum, { value }) => sum + value, 0)

describe('records without a tariff', () => {
  it.each([
    [
      'one price',
      (home: string) =>
        makeOne(fixture.client, '/tariffs', {
          location_id: home,
          direction: 'IMPORT',
          type: 'COMMODITY',
          schedule: priceSchedule(0.2),
        }),
      [1.2, 1.2],
    ],
    ['tiers', (home: string) => addTiers(fixture.client, home), [0.6, 1.4]],
  ] as const)(
    'count as unpriced in every answer, and are priced automatically after there is %s',
    async (_, addTariff, [first, second]) => {
      const home = await makeHome(fixture.client, {})
      const counted = await unpricedRows()
      const receipt = (await fixture.client.submit([used(home, 10, 6), used(home, 11, 6)])) as { readonly id: string }
      expect(await unpricedRows()).toBe(counted + 2)
      expect(
        (await recordsOf(fixture.client, home)).map(({ status, data }) => [status, data.tariff.cost.value]),
      ).toEqual([
        ['UNPRICED', null],
        ['UNPRICED', null],
      ])
      const body = { start_time: hour(9), end_time: hour(13) }
      const cost = () =>
        fixture.client.ask('POST', `/costs/interval/${home}?aggregation=DAY`, body) as Promise<{
          readonly data: readonly object[]
        }>
      const days = (await cost()).data
      expect(days).toMatchObject(
        [
          {},
          { unpriced_records: 1, unpriced_energy: { value: 6000 }, energy: { value: 0 } },
          { unpriced_records: 1 },
          {},
          {},
        ].slice(0, days.length),
      )
      const readReceipt = () => fixture.client.ask('GET', `/meters/batch?batch_id=${receipt.id}`)
      expect(await readReceipt()).toMatchObject({ records_processed: 2, failed_records: [] })
      await addTariff(home)
      const wanted = { d10: first, d11: second }
      expect(await costsUntil(fixture.client, home, wanted)).toEqual(wanted)
      for (const element of (await cost()).data) expect(element).not.toHaveProperty('unpriced_records')
      expect(await readReceipt()).toMatchObject({ records_processed: 2, failed_records: [] })
      expect(await unpricedRows()).toBe(counted + 2)
    },
  )
})
