import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { costsUntil, recordsOf } from '../../support/system/stored-costs.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

const energies = async (home: string) =>
  Object.fromEntries(
    (await recordsOf(client, home)).map(({ data }) => [
      data.record_reference_id,
      [data.energy.value, data.tariff.cost.value],
    ]),
  )

const day = (from: string, to: string): readonly [string, string] => [`2025-06-10T${from}:00Z`, `2025-06-10T${to}:00Z`]

/** Create a location that pays 0.1 per kWh up to a bound, and 0.5 above it. */
const makeTieredHome = async (bound: number, more: object = {}): Promise<string> => {
  const home = await makeHome(client, {})
  const rate = [{ fixed: 0.1, to_kwh: bound }, { fixed: 0.5 }]
  const hours = [{ valid_from: '00:00:00', valid_to: '00:00:00', rate }]
  const schedule = [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }]
  await makeOne(client, '/tariffs', { location_id: home, direction: 'IMPORT', type: 'COMMODITY', schedule, ...more })
  return home
}

const arrivals = [
  ['the estimate first', ['estimate', 'actual', 'other']],
  ['the actual first', ['actual', 'other', 'estimate']],
  ['between', ['other', 'estimate', 'actual']],
] as const

it.each(arrivals)('an estimate loses the energy that actuals of its object and session cover: %s', async (_, names) => {
  const home = await makeHome(client, { import: 0.5 })
  const session = { session_reference_id: 's' }
  const records = {
    estimate: bought(home, 8, ...day('08:00', '12:00'), {
      record_reference_id: 'estimate',
      confidence: 0.5,
      ...session,
    }),
    // Covers 1.5 of the 4 hours of the estimate: 3 of 8 kWh.
    actual: bought(home, 1, ...day('07:30', '09:30'), { record_reference_id: 'actual', ...session }),
    // Belongs to another session and covers nothing.
    other: bought(home, 1, ...day('08:00', '12:00'), { record_reference_id: 'other', session_reference_id: 't' }),
  }
  for (const name of names) await client.submit([records[name]])
  expect(await energies(home)).toEqual({ estimate: [5000, 2.5], actual: [1000, 0.5], other: [1000, 0.5] })
  // With a confidence below 1 it is no longer an actual.
  await client.submit([{ ...records.actual, confidence: 0.9 }])
  expect(await energies(home)).toEqual({ estimate: [8000, 4], actual: [1000, 0.5], other: [1000, 0.5] })
  await client.submit([{ ...records.actual, value: 0 }])
  expect(await energies(home)).toEqual({ estimate: [5000, 2.5], actual: [0, 0], other: [1000, 0.5] })
})

it('tiers count the remaining energy of an estimate, and later records follow', async () => {
  const home = await makeTieredHome(10)
  await client.submit([
    bought(home, 10, ...day('08:00', '12:00'), { record_reference_id: 'estimate', confidence: 0.5 }),
    bought(home, 4, ...day('13:00', '14:00'), { record_reference_id: 'behind' }),
  ])
  expect(await energies(home)).toEqual({ estimate: [10_000, 1], behind: [4000, 2] })
  await client.submit([bought(home, 1, ...day('08:00', '10:00'), { record_reference_id: 'actual' })])
  // Estimate: 5 kWh, actual: 1 kWh, later record: 4 kWh, all in the first tier.
  expect(await energies(home)).toEqual({ estimate: [5000, 0.5], actual: [1000, 0.1], behind: [4000, 0.4] })
})

describe('an instant cost equals the cost of the stored row', () => {
  type InstantCost = {
    readonly data: {
      readonly energy: { readonly value: number }
      readonly tariff: { readonly cost: { readonly value: number } }
    }
  }
  const askFor = async (record: object, search = ''): Promise<readonly [energy: number, cost: number]> => {
    const { data } = (await client.ask('POST', `/costs/instant${search}`, record)) as InstantCost
    return [data.energy.value, data.tariff.cost.value]
  }
  const costTwice = async (record: object) => [await askFor(record, '?non_persistent=true'), await askFor(record)]
  const twice = <T>(cost: T): readonly [T, T] => [cost, cost]

  it('for an estimate that actuals cover, with one price and with tiers', async () => {
    const session = { session_reference_id: 's' }
    for (const home of [await makeHome(client, { import: 0.5 }), await makeTieredHome(4)]) {
      await client.submit([
        bought(home, 1, ...day('07:30', '09:30'), session),
        bought(home, 1, ...day('09:00', '10:00'), session),
        bought(home, 1, ...day('10:00', '11:00'), { session_reference_id: 't' }),
      ])
      const estimate = bought(home, 8, ...day('08:00', '12:00'), {
        record_reference_id: 'estimate',
        confidence: 0.5,
        ...session,
      })
      // Two of its four hours are covered.
      const [simulated, stored] = await costTwice(estimate)
      expect(simulated).toEqual(stored)
      expect(stored).toEqual((await energies(home))['estimate'])
      expect(stored?.[0]).toBe(4000)
      // The same record as an actual keeps all of its energy.
      expect((await askFor({ ...estimate, confidence: 1 }, '?non_persistent=true'))[0]).toBe(8000)
    }
  })

  it('for a record after an estimate that is covered in one of two months', async () => {
    const home = await makeTieredHome(5)
    const midnight = Date.parse('2025-06-01T00:00:00+02:00')
    const hours = (from: number, to: number) =>
      [from, to].map(hour => new Date(midnight + hour * 3_600_000).toISOString()) as [string, string]
    await client.submit([bought(home, 8, ...hours(-2, 2), { confidence: 0.5 }), bought(home, 0, ...hours(-2, 0))])
    // 4 of its 8 kWh remain, all of them in June: 1 × 0.1 + 1 × 0.5
    expect(await costTwice(bought(home, 2, ...hours(3, 4)))).toEqual(twice([2000, 0.6]))
  })

  it('for an actual that replaces an earlier estimate', async () => {
    const home = await makeTieredHome(5)
    await client.submit([bought(home, 10, ...day('08:00', '12:00'), { confidence: 0.5 })])
    // 2.5 kWh of the estimate remain: 2.5 × 0.1 + 1.5 × 0.5
    expect(await costTwice(bought(home, 4, ...day('09:00', '12:00')))).toEqual(twice([4000, 1]))
  })
})

it('an estimate without a price keeps the uncovered energy, as with a price', async () => {
  const home = await makeHome(client, {})
  const midnight = Date.parse('2025-06-10T00:00:00+02:00')
  const at = (hours: number): string => new Date(midnight + hours * 3_600_000).toISOString()
  // 7 kWh over seven hours until 01:00. Actuals cover three hours in two parts.
  await client.submit([bought(home, 7, at(-6), at(1), { record_reference_id: 'estimate', confidence: 0.5 })])
  const actual = (name: string, from: number, to: number) =>
    bought(home, 0, at(from), at(to), { record_reference_id: name })
  await client.submit([actual('a', -5, -4), actual('b', -3, -2), actual('c', -2, -1)])
  type Answer = {
    readonly data: readonly { records: number; energy: { value: number }; unpriced_energy?: { value: number } }[]
  }
  const elements = async (aggregation: string, name: 'energy' | 'unpriced_energy') => {
    const span = { start_time: at(-6), end_time: at(2) }
    const { data } = (await client.ask('POST', `/costs/interval/${home}?aggregation=${aggregation}`, span)) as Answer
    return data.map(element => element[name]?.value ?? 0)
  }
  const hours = [1000, 0, 1000, 0, 0, 1000, 1000, 0]
  const days = [3000, 1000]
  expect(await elements('HOUR', 'unpriced_energy')).toEqual(hours)
  expect(await elements('DAY', 'unpriced_energy')).toEqual(days)
  const [shown] = (await recordsOf(client, home)).filter(({ data }) => data.record_reference_id === 'estimate')
  expect(shown).toMatchObject({ status: 'UNPRICED', pieces: [], data: { energy: { value: 4000 } } })
  await makeOne(client, '/tariffs', {
    location_id: home,
    direction: 'IMPORT',
    type: 'COMMODITY',
    schedule: priceSchedule(0.5),
  })
  await costsUntil(client, home, { estimate: 2, a: 0, b: 0, c: 0 })
  expect(await elements('HOUR', 'energy')).toEqual(hours)
  expect(await elements('DAY', 'energy')).toEqual(days)
})

it('a price counts the remaining energy of an estimate without a price', async () => {
  const midnight = '2025-06-01T00:00:00+02:00'
  const home = await makeTieredHome(3, { contract_start_date: midnight })
  const hours = (from: number, to: number) =>
    [from, to].map(hour => new Date(Date.parse(midnight) + hour * 3_600_000).toISOString()) as [string, string]
  // Half of the estimate is before the contract. The actual covers the other half, so the estimate adds nothing to the
  // tiers.
  await client.submit([bought(home, 8, ...hours(-2, 2), { confidence: 0.5 }), bought(home, 0, ...hours(0, 2))])
  const [start_time, end_time] = hours(3, 4)
  const { data } = (await client.ask('POST', `/prices/${home}`, { start_time, end_time })) as {
    data: { price: { value: number } }[]
  }
  expect(data.map(({ price }) => price.value)).toEqual([0.1])
})
