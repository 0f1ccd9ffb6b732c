import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { costsUntil } from '../../support/system/stored-costs.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

type Rate = { readonly fixed: number; readonly to_kwh?: number }
type StoredRecord = {
  readonly data: {
    readonly record_reference_id: string
    readonly tariff: { readonly cost: { readonly value: number } }
  }
}

const addTariff = (locationId: string, rate: readonly Rate[], more: object = {}) =>
  makeOne(client, '/tariffs', {
    location_id: locationId,
    direction: 'IMPORT',
    type: 'COMMODITY',
    ...more,
    schedule: [
      {
        months: ['All'],
        days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate }] }],
      },
    ],
  })

const costsByReference = async (locationId: string) => {
  const { data } = (await client.ask('GET', `/meters/records?location_id=${locationId}`)) as {
    data: readonly StoredRecord[]
  }
  return Object.fromEntries(data.map(({ data: { record_reference_id: name, tariff } }) => [name, tariff.cost.value]))
}

const orders = [
  ['together', [['short', 'long', 'after']]],
  ['the long record first', [['long'], ['short'], ['after']]],
  ['the short record first', [['short'], ['long'], ['after']]],
  ['backwards', [['after'], ['long'], ['short']]],
] as const

describe.each(orders)('records of which one crosses a counting start, %s', (_, submissions) => {
  it('count in June in the order of June: the shorter record that begins with the month is first', async () => {
    const home = await makeHome(client, {})
    await addTariff(home, [{ fixed: 0.1, to_kwh: 10 }, { fixed: 0.5 }])
    // June begins in Berlin at 22:00Z.
    const records = {
      long: bought(home, 16, '2025-05-31T21:00:00Z', '2025-06-01T01:00:00Z', { record_reference_id: 'long' }),
      short: bought(home, 6, '2025-05-31T22:00:00Z', '2025-05-31T23:00:00Z', { record_reference_id: 'short' }),
      after: bought(home, 1, '2025-06-02T10:00:00Z', '2025-06-02T11:00:00Z', { record_reference_id: 'after' }),
    }
    for (const names of submissions) await client.submit(names.map(name => records[name]))
    // short: 6 × 0.1. long: 4 in May × 0.1, then of 12 in June 4 × 0.1, which fill the tier, and 8 × 0.5. after: 1 × 0.5
    expect(await costsByReference(home)).toEqual({ short: 0.6, long: 4.8, after: 0.5 })
    await client.submit([
      bought(home, 9, '2025-05-20T10:00:00Z', '2025-05-20T11:00:00Z', { record_reference_id: 'late' }),
    ])
    // 1 kWh of the tier of May remains for the long record: 1 × 0.1 + 3 × 0.5 in May, and June as before.
    expect(await costsByReference(home)).toEqual({ late: 0.9, short: 0.6, long: 6, after: 0.5 })
  })

  it('count in a contract in the order from its start', async () => {
    const home = await makeHome(client, {})
    const change = '2025-06-15T00:00:00Z'
    await addTariff(home, [{ fixed: 0.2 }], { contract_end_date: change })
    await addTariff(home, [{ fixed: 0.1, to_kwh: 5 }, { fixed: 0.4 }], { contract_start_date: change })
    const records = {
      long: bought(home, 8, '2025-06-14T22:00:00Z', '2025-06-15T02:00:00Z', { record_reference_id: 'long' }),
      short: bought(home, 3, change, '2025-06-15T01:00:00Z', { record_reference_id: 'short' }),
      after: bought(home, 1, '2025-06-16T10:00:00Z', '2025-06-16T11:00:00Z', { record_reference_id: 'after' }),
    }
    for (const names of submissions) await client.submit(names.map(name => records[name]))
    // short: 3 × 0.1. long: 4 × 0.2 before, then 2 × 0.1 and 2 × 0.4. after: 1 × 0.4
    expect(await costsByReference(home)).toEqual({ short: 0.3, long: 1.8, after: 0.4 })
  })
})

it('a simulated record counts all records before it, in each of its counting orders', async () => {
  const home = await makeHome(client, {})
  await addTariff(home, [{ fixed: 0.1, to_kwh: 10 }, { fixed: 0.5 }])
  await client.submit([bought(home, 6, '2025-05-31T22:00:00Z', '2025-05-31T23:00:00Z')])
  const long = bought(home, 16, '2025-05-31T21:00:00Z', '2025-06-01T01:00:00Z')
  const answer = (await client.ask('POST', '/costs/instant?non_persistent=true', long)) as StoredRecord
  expect(answer.data.tariff.cost.value).toBe(4.8)
  expect((await client.ask('POST', '/costs/instant', long)) as StoredRecord).toMatchObject({
    data: { tariff: { cost: { value: 4.8 } } },
  })
})

it('a contract that ends within a long record leaves the rest of its tier to the records before that end', async () => {
  const home = await makeHome(client, {}, { timezone: 'UTC' })
  const first = await addTariff(home, [{ fixed: 0.1, to_kwh: 10 }, { fixed: 0.5 }])
  await client.submit([
    bought(home, 20, '2025-06-01T00:00:00Z', '2025-06-11T00:00:00Z', { record_reference_id: 'long' }),
    bought(home, 1, '2025-06-03T00:00:00Z', '2025-06-03T01:00:00Z', { record_reference_id: 'inner' }),
  ])
  // 10 × 0.1 + 10 × 0.5; the long record has filled the tier.
  await costsUntil(client, home, { long: 6, inner: 0.5 })
  await client.ask('PATCH', `/tariffs/${first}`, { contract_end_date: '2025-06-04T00:00:00Z' })
  await addTariff(home, [{ fixed: 1 }], { contract_start_date: '2025-06-04T00:00:00Z' })
  // 6 kWh of the long record count until then: 6 × 0.1 + 14 × 1. The tier has capacity for the inner record.
  expect(await costsUntil(client, home, { long: 14.6, inner: 0.1 })).toEqual({ long: 14.6, inner: 0.1 })
})
