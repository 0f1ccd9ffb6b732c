import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../support/system/home.ts'
import { costsOf, costsUntil } from '../support/system/stored-costs.ts'
import { until } from '../support/system/until.ts'
import { useSharedSystem } from '../support/system/use-system.ts'

/**
 * Devices send data late, twice, and with errors. Wattledger stores one cost for each record, and the cost is the same
 * in any order of arrival. The chapter sends the same kinds of records to a running system over HTTP.
 */
const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

type Batch = {
  readonly id: string
  readonly records_submitted: number
  readonly records_accepted: number
  readonly failed_records: readonly object[]
}
type CostList = { readonly data: readonly { energy: { value: number }; tariff: { cost: { value: number | null } } }[] }

const june = { start_time: '2025-06-01T00:00:00+02:00', end_time: '2025-07-01T00:00:00+02:00' }

/** Return energy (Wh) and cost (EUR) of June, one pair for each element. */
const juneOf = async (home: string, query = '') =>
  ((await client.ask('POST', `/costs/interval/${home}${query}`, june)) as CostList).data.map(({ energy, tariff }) => [
    energy.value,
    tariff.cost.value,
  ])

/** Return a record from 10:00 to 11:00 in Berlin on a day of June. */
const hourOf = (home: string, day: number, kwh: number, reference: string) => {
  const date = `2025-06-${String(day).padStart(2, '0')}`
  return bought(home, kwh, `${date}T10:00:00+02:00`, `${date}T11:00:00+02:00`, { record_reference_id: reference })
}

describe('1 A submission is a batch with a receipt', () => {
  it('The gateway accepts good records and reports each bad record by its number', async () => {
    const home = await makeHome(client, { import: 0.3 })
    const batch = (await client.ask('PUT', '/meters/interval', [
      hourOf(home, 1, 8, 'good'),
      { ...hourOf(home, 1, 1, 'bad'), end_time: '2025-06-01T09:00:00+02:00' },
    ])) as Batch
    expect(batch).toMatchObject({
      records_submitted: 2,
      records_accepted: 1,
      failed_records: [{ record_num: 2, record_reference_id: 'bad', error: 'end_time must not be before start_time' }],
    })
    // The receipt counts a record as processed after its cost is durable.
    const receipt = await until(
      () => client.ask('GET', `/meters/batch?batch_id=${batch.id}`) as Promise<{ records_processed: number }>,
      ({ records_processed: processed }) => processed === 1,
    )
    expect(receipt).toMatchObject({ records_submitted: 2, records_accepted: 1, records_processed: 1 })
    // 8 kWh × 0.30 = 2.40
    expect(await juneOf(home)).toEqual([[8000, 2.4]])
  })
})

describe('2 A record that arrives twice counts once', () => {
  it('The second copy replaces the first one', async () => {
    const home = await makeHome(client, { import: 0.3 })
    await client.submit([hourOf(home, 1, 8, 'twice')])
    await client.submit([hourOf(home, 1, 8, 'twice')])
    expect(await juneOf(home)).toEqual([[8000, 2.4]])
  })
})

describe('3 A correction replaces a record', () => {
  it('The later value is the valid one', async () => {
    const home = await makeHome(client, { import: 0.3 })
    await client.submit([hourOf(home, 1, 8, 'corrected')])
    await client.submit([hourOf(home, 1, 6, 'corrected')])
    // 6 kWh × 0.30 = 1.80
    expect(await juneOf(home)).toEqual([[6000, 1.8]])
  })

  it('The value 0 cancels the record', async () => {
    const home = await makeHome(client, { import: 0.3 })
    await client.submit([hourOf(home, 1, 8, 'cancelled'), hourOf(home, 2, 2, 'kept')])
    await client.submit([hourOf(home, 1, 0, 'cancelled')])
    // 0 + 2 kWh × 0.30 = 0.60
    expect(await juneOf(home)).toEqual([[2000, 0.6]])
  })
})

describe('4 A late record is added to the days that it belongs to', () => {
  it('The order of arrival does not change a sum', async () => {
    const home = await makeHome(client, { import: 0.3 })
    await client.submit([hourOf(home, 20, 1, 'first to arrive')])
    await client.submit([hourOf(home, 3, 4, 'two weeks late')])
    // Per day: 4 × 0.30 = 1.20 on 3 June, 1 × 0.30 = 0.30 on 20 June
    const days = await juneOf(home, '?aggregation=DAY')
    expect(days.filter(([energy]) => energy !== 0)).toEqual([
      [4000, 1.2],
      [1000, 0.3],
    ])
  })
})

describe('5 A tariff that arrives or changes late reprices the stored records', () => {
  it('A record without a tariff is UNPRICED until its tariff is created', async () => {
    const home = await makeHome(client, {})
    await client.submit([hourOf(home, 1, 8, 'waiting')])
    expect(await costsOf(client, home)).toEqual({ waiting: null })
    const tariff = { location_id: home, direction: 'IMPORT', type: 'COMMODITY', schedule: priceSchedule(0.3) }
    await makeOne(client, '/tariffs', tariff)
    // 8 kWh × 0.30 = 2.40
    expect(await costsUntil(client, home, { waiting: 2.4 })).toEqual({ waiting: 2.4 })
  })

  it('A new price from a date on changes the records after that date only', async () => {
    const home = await makeHome(client, {})
    const terms = { location_id: home, direction: 'IMPORT', type: 'COMMODITY' }
    const change = '2025-06-15T00:00:00+02:00'
    const old = await makeOne(client, '/tariffs', { ...terms, schedule: priceSchedule(0.3) })
    await client.submit([hourOf(home, 10, 1, 'before'), hourOf(home, 20, 1, 'after')])
    await client.ask('PATCH', `/tariffs/${old}`, { contract_end_date: change })
    await makeOne(client, '/tariffs', { ...terms, contract_start_date: change, schedule: priceSchedule(0.5) })
    expect(await costsUntil(client, home, { before: 0.3, after: 0.5 })).toEqual({ before: 0.3, after: 0.5 })
  })
})

describe('6 Each cost can be explained', () => {
  it('A record shows its pieces: the time, the energy and the price of each', async () => {
    const home = await makeOne(client, '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR' })
    const hours = [
      { valid_from: '06:00:00', valid_to: '22:00:00', rate: [{ fixed: 0.3 }] },
      { valid_from: '22:00:00', valid_to: '06:00:00', rate: [{ fixed: 0.2 }] },
    ]
    const schedule = [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }]
    await makeOne(client, '/tariffs', { location_id: home, direction: 'IMPORT', type: 'COMMODITY', schedule })
    await client.submit([bought(home, 8, '2025-06-01T21:30:00+02:00', '2025-06-01T22:30:00+02:00')])
    const { data } = (await client.ask('GET', `/meters/records?location_id=${home}`)) as { data: { id: string }[] }
    // Half of the hour is before 22:00: 4 × 0.30 = 1.20, then 4 × 0.20 = 0.80
    expect(await client.ask('GET', `/meters/records/${data[0]?.id}`)).toMatchObject({
      status: 'PRICED',
      pieces: [
        { start_time: '2025-06-01T19:30:00Z', end_time: '2025-06-01T20:00:00Z', energy: 4000, price: 0.3, cost: 1.2 },
        { start_time: '2025-06-01T20:00:00Z', end_time: '2025-06-01T20:30:00Z', energy: 4000, price: 0.2, cost: 0.8 },
      ],
    })
  })
})
