import { expect, it } from 'vitest'
import { type Receipt, receiptOf, writeIn } from '../../support/acceptance/field-ways.ts'
import { runImport } from '../../support/interchange/run-import.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { makeHome } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

type Counts = { readonly records_replaced: number }
type SentReading = readonly [hour: number, value: number | null, restart?: true]

const hour = (at: number): number => Date.UTC(2026, 2, 1, at) / 1000

/** Send readings, wait until all are processed, and return how many replaced another value. */
const send = async (home: string, ...readings: readonly SentReading[]): Promise<number> => {
  const client = await system.login()
  const data = readings.map(([at, value, restart = false]) => ({ time: hour(at), value, restart }))
  const body = { location_id: home, units: 'KWH', data }
  const { id } = (await client.ask('PUT', '/meters/cumulative/epoch', body)) as Receipt
  return ((await receiptOf(client, id)) as Receipt & Counts).records_replaced
}

const makeMeter = async (): Promise<string> => makeHome(await system.login(), { import: 0.5 })

it('a receipt counts the readings that replaced a stored reading with another value', async () => {
  const home = await makeMeter()
  const all: readonly SentReading[] = [
    [0, 1],
    [1, 2],
    [2, 4],
  ]
  expect(await send(home, ...all)).toBe(0)
  expect(await send(home, ...all)).toBe(0)
  // 1.0 kWh and 1,000 Wh are one value. The readings of hours 1 and 2 have others.
  expect(await send(home, [0, 1.0], [1, 2.5], [2, 4.5], [3, 5])).toBe(2)
  expect(await send(home, [2, 4.5], [4, 6])).toBe(0)
  expect(await send(home, [4, 6.5])).toBe(1)
})

it('a restart is another reading than one of the same time', async () => {
  const home = await makeMeter()
  expect(await send(home, [0, 1], [1, 2])).toBe(0)
  expect(await send(home, [1, 0, true], [2, 1])).toBe(0)
  expect(await send(home, [1, 0.5, true], [1, 2])).toBe(1)
})

it('a withdrawal counts once, and a value after it replaces nothing', async () => {
  const home = await makeMeter()
  expect(await send(home, [0, 1], [1, 2], [2, 3])).toBe(0)
  expect(await send(home, [2, null])).toBe(1)
  expect(await send(home, [2, null])).toBe(0)
  expect(await send(home, [5, null])).toBe(0)
  expect(await send(home, [2, 3], [1, null])).toBe(1)
  expect(await send(home, [1, 2])).toBe(0)
  expect(await send(home, [1, 2.5])).toBe(1)
})

it('a reading that fails counts if it replaced another value', async () => {
  const home = await makeMeter()
  expect(await send(home, [0, 100], [1, 101])).toBe(0)
  expect(await send(home, [1, 90])).toBe(1)
  expect(await send(home, [1, 90])).toBe(0)
})

it('submissions at one time count each change of a value once', async () => {
  const home = await makeMeter()
  // The values are all different, so each submission after the first replaces the one before it, in any order.
  const counts = await Promise.all([1, 2, 3, 4, 5].map(value => send(home, [0, value])))
  expect(counts.toSorted()).toEqual([0, 1, 1, 1, 1])
})

it('a receipt stays the same after later readings, and is of its account and device', async () => {
  const home = await makeMeter()
  const client = await system.login()
  expect(await send(home, [0, 1], [1, 2])).toBe(0)
  const body = { location_id: home, units: 'KWH', data: [{ time: hour(1), value: 3 }] }
  const first = (await client.ask('PUT', '/meters/cumulative/epoch', body)) as Receipt
  const countOf = async () => ((await receiptOf(client, first.id)) as Receipt & Counts).records_replaced
  expect(await countOf()).toBe(1)
  expect(await send(home, [1, 4])).toBe(1)
  expect(await countOf()).toBe(1)
  const sold = { ...body, energy_flow_direction: 'OUTBOUND' }
  const { id } = (await client.ask('PUT', '/meters/cumulative/epoch', sold)) as Receipt
  expect(((await receiptOf(client, id)) as Receipt & Counts).records_replaced).toBe(0)
})

it('the report of an import counts replaced readings', async () => {
  const home = await makeMeter()
  const replacedBy = async (...rows: readonly string[]) => {
    const file = writeIn(makeTestFolder(), 'counter.csv', `${['time,register', ...rows].join('\n')}\n`)
    const args = [file, '--location', home, '--unit', 'KWH']
    return (await runImport(system.sandbox(), 'readings', args)).report.replaced
  }
  expect(await replacedBy('2026-03-01T00:00:00Z,1', '2026-03-01T01:00:00Z,2')).toBe(0)
  expect(await replacedBy('2026-03-01T00:00:00Z,1', '2026-03-01T01:00:00Z,2')).toBe(0)
  expect(await replacedBy('2026-03-01T00:00:00Z,withdrawn', '2026-03-01T01:00:00Z,2.5')).toBe(2)
})

it('a submission of an import is accepted with its import, and counts as others do', async () => {
  const home = await makeMeter()
  const client = await system.login()
  const record = {
    location_id: home,
    units: 'KWH',
    value: 1,
    start_time: '2026-03-01T00:00:00Z',
    end_time: '2026-03-01T01:00:00Z',
  }
  const submit = async (value: number): Promise<number> => {
    const { id } = (await client.ask('PUT', '/meters/interval?import_id=a-file', [{ ...record, value }])) as Receipt
    return ((await receiptOf(client, id)) as Receipt & Counts).records_replaced
  }
  expect([await submit(1), await submit(1), await submit(2)]).toEqual([0, 0, 1])
  const data = [{ time: hour(0), value: 1 }]
  const body = { location_id: home, device_id: undefined, units: 'KWH', data }
  const path = '/meters/cumulative/epoch?import_id=a-file'
  for (let count = 0; count < 2; count += 1)
    await receiptOf(client, ((await client.ask('PUT', path, body)) as Receipt).id)
})
