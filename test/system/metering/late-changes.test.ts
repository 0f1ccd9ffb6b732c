import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { recordsOf } from '../../support/system/stored-costs.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

const at = (date: string, hour: number): string => `2025-${date}T${String(hour).padStart(2, '0')}:00:00Z`

/** Return Wh and cost by reference, in the order of time. */
const stored = async (home: string) =>
  (await recordsOf(client, home))
    .map(({ data }) => [data.record_reference_id, data.energy.value, data.tariff.cost.value])
    .reverse()

const storedUntil = (home: string, wanted: readonly unknown[]) =>
  until(
    () => stored(home),
    rows => JSON.stringify(rows) === JSON.stringify(wanted),
  )

type Reading = readonly [time: string, kwh: number, reference: string]

const read = async (home: string, ...readings: readonly Reading[]): Promise<void> => {
  const data = readings.map(([time, value, record_reference_id]) => ({
    time: Date.parse(time) / 1000,
    value,
    record_reference_id,
  }))
  await client.ask('PUT', '/meters/cumulative/epoch', { location_id: home, units: 'KWH', data })
}

const changeTogether = async (home: string, price: number): Promise<void> => {
  const tariff = { location_id: home, direction: 'IMPORT', type: 'COMMODITY', schedule: priceSchedule(price) }
  const correction = bought(home, 2, at('06-10', 8), at('06-10', 9), { record_reference_id: 'corrected' })
  await Promise.all([
    client.submit([correction]),
    read(home, [at('06-11', 1), 1, 'late']),
    client.ask('POST', '/tariffs', tariff),
  ])
}

it('a correction and a late reading that arrive together with a new tariff apply in any order', {
  timeout: 120_000,
}, async () => {
  const homes = await Promise.all(Array.from({ length: 12 }, () => makeHome(client, {})))
  for (const home of homes) {
    await client.submit([bought(home, 1, at('06-10', 8), at('06-10', 9), { record_reference_id: 'corrected' })])
    await read(home, [at('06-11', 0), 0, 'base'], [at('06-11', 2), 3, 'next'])
  }
  const before = [
    ['corrected', 1000, null],
    ['next', 3000, null],
  ]
  for (const home of homes) expect(await storedUntil(home, before)).toEqual(before)
  await Promise.all(homes.map(home => changeTogether(home, 0.5)))
  const wanted = [
    ['corrected', 2000, 1],
    ['late', 1000, 0.5],
    ['next', 2000, 1],
  ]
  for (const home of homes) expect(await storedUntil(home, wanted)).toEqual(wanted)
})

const makeTieredHome = async (): Promise<string> => {
  const home = await makeHome(client, {})
  const rate = [{ fixed: 0.1, to_kwh: 10 }, { fixed: 0.5 }]
  const hours = [{ valid_from: '00:00:00', valid_to: '00:00:00', rate }]
  const schedule = [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }]
  await makeOne(client, '/tariffs', { location_id: home, direction: 'IMPORT', type: 'COMMODITY', schedule })
  return home
}

describe('an interval of a register that a correction removes', () => {
  it('gives its energy back to the tiers of every month that it was in', async () => {
    const home = await makeTieredHome()
    await read(home, [at('04-30', 12), 0, 'base'], [at('07-02', 12), 756, 'long'])
    for (const date of ['05-20', '06-20', '07-03']) {
      await client.submit([bought(home, 1, at(date, 8), at(date, 9), { record_reference_id: date })])
    }
    const costs = async () => (await stored(home)).filter(([name]) => name !== 'long')
    // 12 kWh a day: the first tier is full before each of the records.
    const used = [
      ['05-20', 1000, 0.5],
      ['06-20', 1000, 0.5],
      ['07-03', 1000, 0.5],
    ]
    expect(await until(costs, rows => JSON.stringify(rows) === JSON.stringify(used))).toEqual(used)
    await read(home, [at('04-30', 12), 800, 'base'])
    const alone = used.map(([name, energy]) => [name, energy, 0.1])
    expect(await storedUntil(home, alone)).toEqual(alone)
  })

  it('gives back the energy that it covered of estimates', async () => {
    const home = await makeHome(client, { import: 0.5 })
    await read(home, [at('06-10', 0), 0, 'base'], [at('06-10', 12), 6, 'measured'])
    await client.submit([
      bought(home, 4, at('06-10', 8), at('06-10', 10), { record_reference_id: 'estimate', confidence: 0.5 }),
    ])
    const cut = [
      ['measured', 6000, 3],
      ['estimate', 0, 0],
    ]
    expect(await storedUntil(home, cut)).toEqual(cut)
    await read(home, [at('06-10', 0), 7, 'base'])
    expect(await storedUntil(home, [['estimate', 4000, 2]])).toEqual([['estimate', 4000, 2]])
  })
})
