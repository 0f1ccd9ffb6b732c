import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { recordsOf } from '../../support/system/stored-costs.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

type Receipt = {
  readonly id: string
  readonly records_submitted: number
  readonly records_accepted: number
  readonly records_processed: number
  readonly failed_records: readonly { readonly record_num: number; readonly error: string }[]
}

const hour = (at: number): number => Date.parse('2025-06-10T00:00:00Z') / 1000 + at * 3600

type SentReading = readonly [at: number, value: number | null, restart?: true]

/** Submit readings (hour of the day, kWh) and wait until all are processed. */
const read = (home: string, ...readings: readonly SentReading[]): Promise<Receipt> =>
  readDevice({ location_id: home }, ...readings)

const readDevice = async (object: object, ...readings: readonly SentReading[]): Promise<Receipt> => {
  const data = readings.map(([at, value, restart]) => ({
    time: hour(at),
    value,
    record_reference_id: `${at}`,
    ...(restart === undefined ? {} : { restart }),
  }))
  const { id } = (await client.ask('PUT', '/meters/cumulative/epoch', { ...object, units: 'KWH', data })) as Receipt
  const ask = async (): Promise<Receipt> => await client.ask('GET', `/meters/batch?batch_id=${id}`)
  return until(ask, receipt => receipt.records_processed + receipt.failed_records.length >= receipt.records_submitted)
}

/** Return start hour, end hour, Wh and cost, in order. */
const intervals = async (home: string) =>
  (await recordsOf(client, home))
    .map(({ data: { start_time: start, end_time: end, energy, tariff } }) => [
      (Date.parse(start) / 1000 - hour(0)) / 3600,
      (Date.parse(end) / 1000 - hour(0)) / 3600,
      energy.value,
      tariff.cost.value,
    ])
    .reverse()

describe('readings of a register', () => {
  it('form intervals with their neighbours in time, in any order of arrival', async () => {
    const home = await makeHome(client, { import: 0.5 })
    expect(await read(home, [0, 100])).toMatchObject({ records_accepted: 1, records_processed: 1 })
    expect(await intervals(home)).toEqual([])
    await read(home, [4, 108], [2, 102])
    expect(await intervals(home)).toEqual([
      [0, 2, 2000, 1],
      [2, 4, 6000, 3],
    ])
    const ids = (await recordsOf(client, home)).map(({ id }) => id)
    // A late reading divides its interval; existing intervals keep their ids.
    await read(home, [3, 103])
    expect(await intervals(home)).toEqual([
      [0, 2, 2000, 1],
      [2, 3, 1000, 0.5],
      [3, 4, 5000, 2.5],
    ])
    expect((await recordsOf(client, home)).map(({ id }) => id)).toEqual(expect.arrayContaining(ids))
    // A reading before all others creates a new interval.
    await read(home, [-1, 99])
    expect((await intervals(home))[0]).toEqual([-1, 0, 1000, 0.5])
  })

  it('that decrease fail and start the next interval; a correction changes the interval, not the receipt', async () => {
    const home = await makeHome(client, { import: 0.5 })
    const receipt = await read(home, [0, 100], [1, 90], [2, 95])
    expect(receipt).toMatchObject({ records_submitted: 3, records_accepted: 3, records_processed: 2 })
    expect(receipt.failed_records).toMatchObject([
      { record_num: 2, error: expect.stringContaining('register_decreased') },
    ])
    expect(await intervals(home)).toEqual([[1, 2, 5000, 2.5]])
    await read(home, [1, 104])
    expect(await intervals(home)).toEqual([[0, 1, 4000, 2]])
    // Now the third reading decreases. A failed reading remains failed.
    const later = { records_processed: 1, failed_records: [{ record_num: 2 }, { record_num: 3 }] }
    expect(await client.ask('GET', `/meters/batch?batch_id=${receipt.id}`)).toMatchObject(later)
    await read(home, [1, 91], [0, 90])
    expect(await intervals(home)).toEqual([
      [0, 1, 1000, 0.5],
      [1, 2, 4000, 2],
    ])
    expect(await client.ask('GET', `/meters/batch?batch_id=${receipt.id}`)).toMatchObject(later)
  })

  it('that are sent twice change nothing', async () => {
    const home = await makeHome(client, { import: 0.5 })
    const sent = [
      [0, 1],
      [1, 2],
      [2, 4],
    ] as const
    await Promise.all([read(home, ...sent), read(home, ...sent)])
    expect(await read(home, ...sent)).toMatchObject({ records_processed: 3, failed_records: [] })
    expect(await intervals(home)).toEqual([
      [0, 1, 1000, 0.5],
      [1, 2, 2000, 1],
    ])
  })
})

describe('a meter exchange', () => {
  it('with restart counts the energy of both meters, at one instant and after it', async () => {
    const home = await makeHome(client, { import: 0.5 })
    await read(home, [0, 12_300], [1, 12_345.6])
    expect(await read(home, [1, 0.2, true], [2, 1.2])).toMatchObject({ records_processed: 2, failed_records: [] })
    // 45.6 of the old meter and 1.0 of the new one.
    expect(await intervals(home)).toEqual([
      [0, 1, 45_600, 22.8],
      [1, 2, 1000, 0.5],
    ])
    // The restart is withdrawn: the old meter falls from 12,345.6 to 1.2 kWh.
    const receipt = await read(home, [1, null, true], [2, 1.2])
    expect(receipt.failed_records).toMatchObject([
      { record_num: 2, error: expect.stringContaining('register_decreased') },
    ])
    expect(await intervals(home)).toEqual([[0, 1, 45_600, 22.8]])
  })
})

describe('a reading of another meter', () => {
  it('is left out at an implausible power', async () => {
    const home = await makeHome(client, { import: 0.25 })
    const receipt = await read(home, [0, 100], [0.5, 12_000], [1, 101])
    expect(receipt.failed_records).toMatchObject([
      { record_num: 2, error: expect.stringContaining('implausible_energy') },
    ])
    expect(await intervals(home)).toEqual([[0, 1, 1000, 0.25]])
  })

  it('is withdrawn by the value null, with its intervals and costs', async () => {
    const home = await makeHome(client, {})
    await tiers(home)
    await read(home, [0, 100], [12, 112], [13, 113])
    // 10 × 0.1 + 2 × 0.5, then 1 × 0.5.
    expect(await intervals(home)).toEqual([
      [0, 12, 12_000, 2],
      [12, 13, 1000, 0.5],
    ])
    await read(home, [12, null])
    expect(await intervals(home)).toEqual([[0, 13, 13_000, 2.5]])
    await read(home, [13, null])
    expect(await intervals(home)).toEqual([])
    await read(home, [12, 101])
    expect(await intervals(home)).toEqual([[0, 12, 1000, 0.1]])
  })
})

describe('the register of a device or location', () => {
  it('LIFETIME leaves out dips, in any order of arrival', async () => {
    const home = await makeHome(client, { import: 0.25 })
    await client.ask('PATCH', `/locations/${home}`, { register: { kind: 'LIFETIME' } })
    const receipt = await read(home, [0, 4076.4], [0.25, 0.104], [0.5, 0.228], [0.75, 0.353], [1, 4076.8])
    expect(receipt.failed_records).toMatchObject(
      [2, 3, 4].map(record_num => ({ record_num, error: expect.stringContaining('register_dip') })),
    )
    expect(await intervals(home)).toEqual([[0, 1, 400, 0.1]])
    // The dip is found even if the zero is alone first.
    await read(home, [2, 0])
    await read(home, [3, 4077.8])
    expect(await intervals(home)).toEqual([
      [0, 1, 400, 0.1],
      [1, 3, 1000, 0.25],
    ])
  })

  it('with digits counts on after a roll-over, and with max_power refuses other readings', async () => {
    const home = await makeHome(client, { import: 0.5 })
    const register = { kind: 'LIFETIME', digits: 5, max_power: { units: 'KW', value: 22 } }
    const device = await makeOne(client, '/devices', { reference_id: `roll-over ${home}`, register })
    expect(await client.ask('GET', `/devices/${device}`)).toMatchObject({ register })
    const object = { location_id: home, device_id: device }
    const receipt = await readDevice(object, [0, 99_996.4], [1, 99_999], [2, 1.2], [3, 5000], [4, 2.2])
    expect(receipt.failed_records).toMatchObject([
      { record_num: 4, error: expect.stringContaining('implausible_energy') },
    ])
    // 2.6 + (100,000 − 99,999 + 1.2) = 4.8 kWh, then 1.0 kWh without the reading of another meter.
    expect((await intervals(home)).map(([start, end, energy]) => [start, end, energy])).toEqual([
      [0, 1, 2600],
      [1, 2, 2200],
      [2, 4, 1000],
    ])
    // 40 kWh in an hour are more than 22 kW, also as a record.
    const time = (at: number): string => new Date(hour(at) * 1000).toISOString()
    const record = (kwh: number) => ({ ...bought(home, kwh, time(6), time(7)), device_id: device })
    const batch = (await client.ask('PUT', '/meters/interval', [record(40), record(22)])) as Receipt
    expect(batch.failed_records).toMatchObject([
      { record_num: 1, error: expect.stringContaining('implausible_energy') },
    ])
    const alone = await client.send('POST', '/costs/instant', record(40))
    expect([alone.status, alone.json]).toMatchObject([400, { code: 'implausible_energy', field: 'value' }])
    // A change applies to readings that are sent afterwards.
    const changed = await client.ask('PATCH', `/devices/${device}`, { register: null })
    expect(changed).toMatchObject({ register: null })
    await readDevice(object, [5, 5002.2])
    expect(await intervals(home)).toContainEqual([4, 5, 5_000_000, 2500])
  })
})

const tiers = async (home: string): Promise<void> => {
  const rate = [{ fixed: 0.1, to_kwh: 10 }, { fixed: 0.5 }]
  await makeOne(client, '/tariffs', {
    location_id: home,
    direction: 'IMPORT',
    type: 'COMMODITY',
    schedule: [
      {
        months: ['All'],
        days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate }] }],
      },
    ],
  })
}

it('tiers count register intervals as they are after each reading', async () => {
  const home = await makeHome(client, {})
  await tiers(home)
  await read(home, [0, 0], [2, 12])
  expect(await intervals(home)).toEqual([[0, 2, 12_000, 2]])
  // 10 × 0.1 + 2 × 0.5. Then the parts divided by the late reading: 4 kWh and 8 kWh.
  await read(home, [1, 4])
  expect(await intervals(home)).toEqual([
    [0, 1, 4000, 0.4],
    [1, 2, 8000, 1.6],
  ])
  await read(home, [3, 13])
  expect((await intervals(home)).at(-1)).toEqual([2, 3, 1000, 0.5])
  // Corrected: the first interval has 1 kWh, the second 11 kWh.
  await read(home, [1, 1])
  expect(await intervals(home)).toEqual([
    [0, 1, 1000, 0.1],
    [1, 2, 11_000, 1.9],
    [2, 3, 1000, 0.5],
  ])
})

it('the same energy costs the same as intervals, as register readings and as an instant cost', async () => {
  const [asIntervals, asRegisters, atOnce] = await Promise.all([
    makeHome(client, {}),
    makeHome(client, {}),
    makeHome(client, {}),
  ])
  for (const home of [asIntervals, asRegisters, atOnce]) await tiers(home)
  const time = (at: number): string => new Date(hour(at) * 1000).toISOString()
  const records = [3.5, 4.25, 6.125, 2].map((kwh, at) => [kwh, time(at), time(at + 1)] as const)
  await client.submit(records.map(([kwh, start, end]) => bought(asIntervals, kwh, start, end)))
  await read(asRegisters, [0, 0], [1, 3.5], [2, 7.75], [3, 13.875], [4, 15.875])
  const instant: (number | null)[] = []
  for (const [kwh, start, end] of records) {
    const answer = (await client.ask('POST', '/costs/instant', bought(atOnce, kwh, start, end))) as {
      data: { tariff: { cost: { value: number } } }
    }
    instant.push(answer.data.tariff.cost.value)
  }
  expect(await intervals(asRegisters)).toEqual(await intervals(asIntervals))
  expect(instant).toEqual((await intervals(asIntervals)).map(row => row[3]))
})
