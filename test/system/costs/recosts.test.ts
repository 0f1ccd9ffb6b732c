import { beforeAll, describe, expect, it } from 'vitest'
import { measureCpuTime } from '../../support/cpu/measure-cpu-time.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { costsOf, costsUntil, recordsOf } from '../../support/system/stored-costs.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

const hour = (day: number, at: number): string =>
  `2025-06-${String(day).padStart(2, '0')}T${String(at).padStart(2, '0')}:00:00Z`
const oneHour = (home: string, day: number, at: number, kwh: number, name: string) =>
  bought(home, kwh, hour(day, at), hour(day, at + 1), { record_reference_id: name })

const addTariff = (locationId: string, fixed: number, more: object = {}) =>
  makeOne(client, '/tariffs', {
    location_id: locationId,
    direction: 'IMPORT',
    type: 'COMMODITY',
    schedule: priceSchedule(fixed),
    ...more,
  })

describe('stored costs follow a changed tariff automatically', () => {
  it('if the tariff is created after the records, which were UNPRICED until then', async () => {
    const home = await makeHome(client, {})
    await client.submit([oneHour(home, 10, 8, 2, 'first'), oneHour(home, 11, 8, 3, 'second')])
    expect(await costsOf(client, home)).toEqual({ first: null, second: null })
    const before = await recordsOf(client, home)
    await addTariff(home, 0.5)
    expect(await costsUntil(client, home, { first: 1, second: 1.5 })).toEqual({ first: 1, second: 1.5 })
    const after = await recordsOf(client, home)
    expect(after.map(({ id, batch_id }) => [id, batch_id])).toEqual(before.map(({ id, batch_id }) => [id, batch_id]))
  })

  it('from its start to the next tariff of its kind, and after its end moves', async () => {
    const home = await makeHome(client, {})
    await addTariff(home, 0.2, { contract_end_date: hour(12, 0) })
    await client.submit([
      oneHour(home, 10, 8, 1, 'first'),
      oneHour(home, 12, 8, 1, 'second'),
      oneHour(home, 14, 8, 1, 'third'),
    ])
    // The first pattern applies after its end until another tariff starts.
    expect(await costsOf(client, home)).toEqual({ first: 0.2, second: 0.2, third: 0.2 })
    const later = await addTariff(home, 0.4, { contract_start_date: hour(14, 0) })
    expect(await costsUntil(client, home, { first: 0.2, second: 0.2, third: 0.4 })).toEqual({
      first: 0.2,
      second: 0.2,
      third: 0.4,
    })
    await client.ask('DELETE', `/tariffs/${later}?void=true`)
    expect(await costsUntil(client, home, { first: 0.2, second: 0.2, third: 0.2 })).toEqual({
      first: 0.2,
      second: 0.2,
      third: 0.2,
    })
  })

  it('with all later tiers counted again', async () => {
    const home = await makeHome(client, {})
    await client.submit([
      oneHour(home, 10, 8, 6, 'first'),
      oneHour(home, 11, 8, 6, 'second'),
      oneHour(home, 12, 8, 1, 'third'),
    ])
    const tiers = [{ fixed: 0.1, to_kwh: 10 }, { fixed: 0.5 }]
    const schedule = [
      {
        months: ['All'],
        days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: tiers }] }],
      },
    ]
    const id = await makeOne(client, '/tariffs', {
      location_id: home,
      direction: 'IMPORT',
      type: 'COMMODITY',
      schedule,
    })
    // 6 × 0.1; 4 × 0.1 + 2 × 0.5; 1 × 0.5
    expect(await costsUntil(client, home, { first: 0.6, second: 1.4, third: 0.5 })).toEqual({
      first: 0.6,
      second: 1.4,
      third: 0.5,
    })
    await client.ask('DELETE', `/tariffs/${id}?void=true`)
    expect(await costsUntil(client, home, { first: null, second: null, third: null })).toEqual({
      first: null,
      second: null,
      third: null,
    })
    await makeOne(client, '/tariffs', {
      location_id: home,
      direction: 'IMPORT',
      type: 'COMMODITY',
      schedule,
      contract_start_date: hour(11, 0),
    })
    // Counted from the start of the contract: 6 × 0.1; 1 × 0.1
    expect(await costsUntil(client, home, { first: null, second: 0.6, third: 0.1 })).toEqual({
      first: null,
      second: 0.6,
      third: 0.1,
    })
  })
})

it('stored costs follow new prices of a tariff from their start, and the tiers continue to count', async () => {
  const home = await makeHome(client, {})
  const tiers = (low: number, high: number) => [
    {
      months: ['All'],
      days_and_hours: [
        {
          days: ['All'],
          hours: [
            { valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: low, to_kwh: 10 }, { fixed: high }] },
          ],
        },
      ],
    },
  ]
  const id = await makeOne(client, '/tariffs', {
    location_id: home,
    direction: 'IMPORT',
    type: 'COMMODITY',
    schedule: tiers(0.1, 0.5),
  })
  await client.submit([
    oneHour(home, 10, 8, 4, 'before'),
    bought(home, 8, hour(14, 22), hour(15, 2), { record_reference_id: 'across' }),
    oneHour(home, 16, 8, 1, 'after'),
  ])
  // 4 × 0.1; 6 × 0.1 + 2 × 0.5; 1 × 0.5
  expect(await costsOf(client, home)).toEqual({ before: 0.4, across: 1.6, after: 0.5 })
  const stored = await recordsOf(client, home)
  await client.ask('PATCH', `/tariffs/${id}`, { schedule: tiers(0.2, 0.7), effective_from: hour(15, 0) })
  // 2 kWh per hour: 4 × 0.1 before midnight, then 2 × 0.2 up to the bound at 10 kWh and 2 × 0.7; 1 × 0.7. Earlier costs
  // do not change.
  const versioned = { before: 0.4, across: 2.2, after: 0.7 }
  expect(await costsUntil(client, home, versioned)).toEqual(versioned)
  expect((await recordsOf(client, home)).map(({ id: record, batch_id }) => [record, batch_id])).toEqual(
    stored.map(({ id: record, batch_id }) => [record, batch_id]),
  )
  // A late record has the prices of its own time, and counts for the records after the change.
  await client.submit([oneHour(home, 9, 8, 5, 'late')])
  // late: 5 × 0.1. before: 4 × 0.1. across: 1 × 0.1 + 3 × 0.5 before midnight, 4 × 0.7 after it
  const counted = { late: 0.5, before: 0.4, across: 4.4, after: 0.7 }
  expect(await costsUntil(client, home, counted)).toEqual(counted)
  // A past instant changes stored costs: from the 10th on, the prices of the 15th no longer apply.
  await client.ask('PATCH', `/tariffs/${id}`, { schedule: priceSchedule(0.3), effective_from: hour(10, 0) })
  const flat = { late: 0.5, before: 1.2, across: 2.4, after: 0.3 }
  expect(await costsUntil(client, home, flat)).toEqual(flat)
  const price = (await client.ask('POST', `/prices/${home}`, {
    start_time: hour(9, 22),
    end_time: hour(10, 2),
  })) as { data: readonly { readonly valid_from: string; readonly price: { readonly value: number } }[] }
  expect(price.data.map(({ valid_from, price: { value } }) => [valid_from, value])).toEqual([
    [hour(9, 22), 0.1],
    [hour(10, 0), 0.3],
  ])
})

const makeMarket = async (): Promise<string> =>
  makeOne(client, '/markets', { display_name: 'Exchange', currency_code: 'EUR' })
const putPrices = (
  market: string,
  ...prices: readonly (readonly [day: number, from: number, to: number, value: number])[]
) =>
  client.ask(
    'PUT',
    `/markets/${market}/prices`,
    prices.map(([day, from, to, value]) => ({ start_time: hour(day, from), end_time: hour(day, to), value })),
  )

it('stored costs follow a late market price and a corrected market price', async () => {
  const market = await makeMarket()
  const home = await makeHome(client, {}, { market_sources: { import: market } })
  await makeOne(client, '/tariffs', {
    location_id: home,
    direction: 'IMPORT',
    type: 'COMMODITY',
    market_rates: true,
    schedule: [
      {
        months: ['All'],
        days_and_hours: [
          {
            days: ['All'],
            hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ surcharge_fixed: 0.1 }] }],
          },
        ],
      },
    ],
  })
  await putPrices(market, [10, 8, 9, 0.2])
  await client.submit([oneHour(home, 10, 8, 1, 'known'), oneHour(home, 10, 9, 1, 'late')])
  expect(await costsOf(client, home)).toEqual({ known: 0.3, late: null })
  await putPrices(market, [10, 9, 10, 0.4])
  expect(await costsUntil(client, home, { known: 0.3, late: 0.5 })).toEqual({ known: 0.3, late: 0.5 })
  await putPrices(market, [10, 8, 9, -0.05])
  expect(await costsUntil(client, home, { known: 0.05, late: 0.5 })).toEqual({ known: 0.05, late: 0.5 })
})

it('stored costs follow the zone of their location', async () => {
  const home = await makeHome(client, {})
  const hours = [
    { valid_from: '00:00:00', valid_to: '10:00:00', rate: [{ fixed: 0.1 }] },
    { valid_from: '10:00:00', valid_to: '00:00:00', rate: [{ fixed: 0.9 }] },
  ]
  await makeOne(client, '/tariffs', {
    location_id: home,
    direction: 'IMPORT',
    type: 'COMMODITY',
    schedule: [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }],
  })
  // 08:00Z is 10:00 in Berlin in summer, and 09:00 in London.
  await client.submit([oneHour(home, 10, 8, 1, 'one')])
  expect(await costsOf(client, home)).toEqual({ one: 0.9 })
  await client.ask('PATCH', `/locations/${home}`, { timezone: 'Europe/London' })
  expect(await costsUntil(client, home, { one: 0.1 })).toEqual({ one: 0.1 })
})

it('10,000 records of a location are recosted within 10 s; ids and receipts do not change', async () => {
  const home = await makeHome(client, { import: 0.25 })
  const start = Date.parse('2025-01-01T00:00:00Z')
  const records = Array.from({ length: 10_000 }, (_, i) => {
    const at = (offset: number): string => new Date(start + (i + offset) * 900_000).toISOString()
    return bought(home, 1, at(0), at(1), { record_reference_id: String(i) })
  })
  const receipt = (await client.submit(records)) as { id: string; records_processed: number }
  const [tariff] = ((await client.ask('GET', `/tariffs?location_id=${home}`)) as { data: { id: string }[] }).data
  const costOfAll = async (): Promise<number> => {
    const body = { start_time: '2025-01-01T00:00:00Z', end_time: '2025-05-01T00:00:00Z' }
    const answer = (await client.ask('POST', `/costs/interval/${home}`, body)) as {
      data: { tariff: { cost: { value: number } } }[]
    }
    return answer.data[0]?.tariff.cost.value ?? 0
  }
  const { ms } = await measureCpuTime(async () => {
    await client.ask('DELETE', `/tariffs/${tariff?.id}?void=true`)
    await addTariff(home, 0.75)
    await until(costOfAll, cost => cost === 7500, 60_000)
  })
  expect(ms).toBeLessThan(10_000)
  expect(await client.ask('GET', `/meters/batch?batch_id=${receipt.id}`)).toMatchObject({
    records_processed: 10_000,
    failed_records: [],
  })
}, 120_000)
