import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, login } from '../support/client.ts'
import { bought, makeHome, makeOne } from '../support/home.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../support/running-system.ts'
import { recordsOf } from '../support/settled.ts'

const folder = dataFolder()
let system: RunningSystem | undefined
let client: Client

beforeAll(async () => {
  system = await startSystem(folder)
  client = await login(system.sandbox)
})

afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  removeData(folder)
})

const energies = async (home: string) =>
  Object.fromEntries(
    (await recordsOf(client, home)).map(({ data }) => [data.record_reference_id, [data.energy.value, data.tariff.cost.value]]),
  )

const day = (from: string, to: string): readonly [string, string] => [`2025-06-10T${from}:00Z`, `2025-06-10T${to}:00Z`]

const arrivals = [
  ['the estimate first', ['estimate', 'actual', 'other']],
  ['the actual first', ['actual', 'other', 'estimate']],
  ['between', ['other', 'estimate', 'actual']],
] as const

it.each(arrivals)('an estimate loses what actuals of its object and session cover: %s', async (_, names) => {
  const home = await makeHome(client, { import: 0.5 })
  const session = { session_reference_id: 's' }
  const records = {
    estimate: bought(home, 8, ...day('08:00', '12:00'), { record_reference_id: 'estimate', confidence: 0.5, ...session }),
    // It covers an hour and a half of the estimate's four: 3 of 8 kWh.
    actual: bought(home, 1, ...day('07:30', '09:30'), { record_reference_id: 'actual', ...session }),
    // Of another session: it covers nothing.
    other: bought(home, 1, ...day('08:00', '12:00'), { record_reference_id: 'other', session_reference_id: 't' }),
  }
  for (const name of names) await client.submit([records[name]])
  expect(await energies(home)).toEqual({ estimate: [5000, 2.5], actual: [1000, 0.5], other: [1000, 0.5] })
  // Sent again below 1 it is an actual no more.
  await client.submit([{ ...records.actual, confidence: 0.9 }])
  expect(await energies(home)).toEqual({ estimate: [8000, 4], actual: [1000, 0.5], other: [1000, 0.5] })
  await client.submit([{ ...records.actual, value: 0 }])
  expect(await energies(home)).toEqual({ estimate: [5000, 2.5], actual: [0, 0], other: [1000, 0.5] })
})

it('tiers count what is left of an estimate, and what lies behind it follows', async () => {
  const home = await makeHome(client, {})
  const rate = [{ fixed: 0.1, to_kwh: 10 }, { fixed: 0.5 }]
  await makeOne(client, '/tariffs', {
    ...{ location_id: home, direction: 'IMPORT', type: 'COMMODITY' },
    schedule: [{ months: ['All'], days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate }] }] }],
  })
  await client.submit([
    bought(home, 10, ...day('08:00', '12:00'), { record_reference_id: 'estimate', confidence: 0.5 }),
    bought(home, 4, ...day('13:00', '14:00'), { record_reference_id: 'behind' }),
  ])
  expect(await energies(home)).toEqual({ estimate: [10_000, 1], behind: [4000, 2] })
  await client.submit([bought(home, 1, ...day('08:00', '10:00'), { record_reference_id: 'actual' })])
  // estimate: 5 kWh, actual: 1 kWh, behind: 4 kWh, all in the first tier
  expect(await energies(home)).toEqual({ estimate: [5000, 0.5], actual: [1000, 0.1], behind: [4000, 0.4] })
})
