import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, login } from '../support/system/client.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../support/system/running-system.ts'

/**
 * A caller's way through the interface, in order: each step goes on where the one before it ended.
 * The same requests work against any running system; `npm start` prints the keys for them.
 */
const folder = dataFolder()
let system: RunningSystem | undefined
let client: Client
let home = ''
let batch = ''

beforeAll(async () => {
  system = await startSystem(folder)
})

afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  removeData(folder)
})

type WithId = { readonly id: string }
type Costs = {
  readonly data: readonly {
    readonly start_time: string
    readonly energy: { readonly value: number }
    readonly tariff: { readonly cost: { readonly value: number } }
  }[]
}

const costs = async (path: string, body?: object) =>
  ((await client.ask('POST', path, body)) as Costs).data.map(({ energy, tariff }) => [energy.value, tariff.cost.value])

/** A charge in the evening of 1 June in Berlin: from 21:30 to 22:30. */
const charge = {
  record_reference_id: 'reading-1',
  session_reference_id: 'charge-17',
  units: 'KWH',
  start_time: '2025-06-01T21:30:00+02:00',
  end_time: '2025-06-01T22:30:00+02:00',
}
const june = { start_time: '2025-06-01T00:00:00+02:00', end_time: '2025-06-03T00:00:00+02:00' }

it('1 The account and its key give a token, the key of test mode one of test mode', async () => {
  const { account_id, test_key, base_url } = system?.sandbox ?? {}
  const basic = Buffer.from(`${account_id}:${test_key}`).toString('base64')
  const answer = await fetch(`${base_url}/login`, { headers: { Authorization: `Basic ${basic}` } })
  expect(await answer.json()).toMatchObject({ expires_in: 3600, live_mode: false })
  if (system !== undefined) client = await login(system.sandbox, 'test')
})

it('2 A location has a time zone and a currency, from its address or as the caller says', async () => {
  const address = { address_line1: 'Unter den Linden 1', city: 'Berlin', post_code: '10117', country_code: 'DE' }
  const location = (await client.ask('POST', '/locations', { reference_id: 'home', postal_address: address })) as WithId
  expect(location).toMatchObject({ timezone: 'Europe/Berlin', currency_code: 'EUR' })
  home = location.id
})

it('3 A tariff gives it prices', async () => {
  const hours = [
    { valid_from: '06:00:00', valid_to: '22:00:00', rate: [{ fixed: 0.3 }] },
    { valid_from: '22:00:00', valid_to: '06:00:00', rate: [{ fixed: 0.2 }] },
  ]
  const schedule = [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }]
  const tariff = await client.ask('POST', '/tariffs', {
    location_id: home,
    direction: 'IMPORT',
    type: 'COMMODITY',
    schedule,
  })
  expect(tariff).toMatchObject({ object: 'tariff', status: 'CONNECTED', timezone: 'Europe/Berlin' })
})

it('4 Records are taken one by one: a bad one is named by its number, the others are accepted', async () => {
  const receipt = (await client.ask('PUT', '/meters/interval', [
    { location_id: home, ...charge, value: 8 },
    { location_id: home, ...charge, record_reference_id: 'reading-2', value: 1, end_time: '2025-06-01T20:00:00+02:00' },
    {
      location_id: home,
      record_reference_id: 'reading-3',
      units: 'KWH',
      value: 2,
      start_time: '2025-06-02T10:00:00+02:00',
      end_time: '2025-06-02T11:00:00+02:00',
    },
  ])) as WithId
  expect(receipt).toMatchObject({
    records_submitted: 3,
    records_accepted: 2,
    failed_records: [
      { record_num: 2, record_reference_id: 'reading-2', error: 'end_time must not be before start_time' },
    ],
  })
  batch = receipt.id
})

it('5 The receipt tells when all of them are stored with their cost', async () => {
  await expect
    .poll(() => client.ask('GET', `/meters/batch?batch_id=${batch}`), { timeout: 60_000 })
    .toMatchObject({ records_submitted: 3, records_accepted: 2, records_processed: 2 })
})

it('6 The cost of a span comes whole, or by hour, day or month of the local calendar', async () => {
  // 8 kWh over 22:00: 4 × 0.30 + 4 × 0.20 = 2; and 2 × 0.30 = 0.6 the next day
  expect(await costs(`/costs/interval/${home}`, june)).toEqual([[10_000, 2.6]])
  expect(await costs(`/costs/interval/${home}?aggregation=DAY`, june)).toEqual([
    [8000, 2],
    [2000, 0.6],
  ])
})

it('7 The cost of a session is asked for by the name that the caller gave it', async () => {
  expect(await costs('/costs/session/charge-17')).toEqual([[8000, 2]])
})

it('8 Every cost can be explained: a record shows its pieces', async () => {
  const { data } = (await client.ask('GET', '/meters/records?record_reference_id=reading-1')) as {
    data: readonly WithId[]
  }
  const record = await client.ask('GET', `/meters/records/${data[0]?.id}`)
  expect(record).toMatchObject({
    status: 'PRICED',
    batch_id: batch,
    pieces: [
      { start_time: '2025-06-01T19:30:00Z', end_time: '2025-06-01T20:00:00Z', energy: 4000, price: 0.3, cost: 1.2 },
      { start_time: '2025-06-01T20:00:00Z', end_time: '2025-06-01T20:30:00Z', energy: 4000, price: 0.2, cost: 0.8 },
    ],
  })
})

it('9 A record that is sent again counts once', async () => {
  await client.submit([{ location_id: home, ...charge, value: 8 }])
  expect(await costs('/costs/session/charge-17')).toEqual([[8000, 2]])
})

it('10 With another value it is a correction: the later one holds', async () => {
  await client.submit([{ location_id: home, ...charge, value: 6 }])
  // 3 × 0.30 + 3 × 0.20 = 1.5
  expect(await costs('/costs/session/charge-17')).toEqual([[6000, 1.5]])
})

it('11 The value 0 cancels it', async () => {
  await client.submit([{ location_id: home, ...charge, value: 0 }])
  expect(await costs('/costs/session/charge-17')).toEqual([[0, 0]])
  expect(await costs(`/costs/interval/${home}?aggregation=DAY`, june)).toEqual([
    [0, 0],
    [2000, 0.6],
  ])
})
