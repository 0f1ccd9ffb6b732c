import { expect, it } from 'vitest'
import { writeIn } from '../../support/acceptance/field-ways.ts'
import { runImport } from '../../support/interchange/run-import.ts'
import { countsOf, undoAll } from '../../support/interchange/undo-import.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { recordsOf } from '../../support/system/stored-costs.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

const hour = (at: number): string => `2026-03-01T${String(at).padStart(2, '0')}:00:00Z`
const record = (home: string, at: number, kwh: number, more: object = {}) =>
  bought(home, kwh, hour(at), hour(at + 1), more)

/** Energy and cost of each record of a home, by hour. */
type Stored = Readonly<Record<string, readonly [wattHours: number, cost: number | null]>>

const storedIn = async (client: Client, home: string): Promise<Stored> =>
  Object.fromEntries(
    (await recordsOf(client, home)).map(({ data }) => [
      String(new Date(data.start_time).getUTCHours()),
      [data.energy.value, data.tariff.cost.value] as const,
    ]),
  )

/** Wait until a home has the expected records. */
const expectStored = async (client: Client, home: string, expected: Stored): Promise<void> => {
  const text = JSON.stringify(expected)
  // A busy service refuses some reads.
  await until(
    () => storedIn(client, home).catch((): Stored => ({})),
    stored => JSON.stringify(stored) === text,
    20_000,
  ).catch(() => undefined)
  expect(await storedIn(client, home)).toEqual(expected)
}

const header = 'start,end,value'
const line = (at: number, kwh: number): string => `${hour(at)},${hour(at + 1)},${kwh}`

/** Import lines of CSV, and return the id of the import. */
const importLines = async (
  home: string,
  lines: readonly string[],
  options: readonly string[] = [],
): Promise<string> => {
  const file = writeIn(makeTestFolder(), 'readings.csv', `${lines.join('\n')}\n`)
  const args = [file, '--location', home, '--unit', 'KWH', ...options]
  const { report } = await runImport(system.sandbox(), 'readings', args)
  expect(report.refused_rows, JSON.stringify(report)).toBe(0)
  expect(report.batches_pending).toBe(0)
  return report.import_id ?? ''
}

const makeMeter = async (client: Client): Promise<string> => makeHome(client, { import: 0.5 }, { timezone: 'UTC' })

it('an undo withdraws new records, sets replaced ones back, and leaves those that others sent since', async () => {
  const client = await system.login()
  const home = await makeMeter(client)
  await client.submit([record(home, 0, 1), record(home, 1, 2)])
  await expectStored(client, home, { 0: [1000, 0.5], 1: [2000, 1] })
  const id = await importLines(home, [header, line(0, 1), line(1, 7), line(2, 3), line(3, 4)])
  await client.submit([record(home, 3, 9)])
  await expectStored(client, home, { 0: [1000, 0.5], 1: [7000, 3.5], 2: [3000, 1.5], 3: [9000, 4.5] })

  const counted = await undoAll(client, id, true)
  expect(countsOf(counted)).toEqual([1, 1, 1, 1])
  // The other submissions have no import_id.
  expect(counted.other_imports).toEqual([])
  await expectStored(client, home, { 0: [1000, 0.5], 1: [7000, 3.5], 2: [3000, 1.5], 3: [9000, 4.5] })
  const undone: Stored = { 0: [1000, 0.5], 1: [2000, 1], 2: [0, 0], 3: [9000, 4.5] }
  expect(countsOf(await undoAll(client, id))).toEqual([1, 1, 1, 1])
  await expectStored(client, home, undone)
  expect(countsOf(await undoAll(client, id))).toEqual([0, 0, 3, 1])
  await expectStored(client, home, undone)
})

it('an undo of register readings withdraws new readings and sets replaced ones back', async () => {
  const client = await system.login()
  const home = await makeMeter(client)
  const first = await importLines(home, ['time,register', `${hour(0)},10`, `${hour(1)},12`, `${hour(2)},13`])
  // The readings make two intervals: 12 - 10 and 13 - 12.
  await expectStored(client, home, { 0: [2000, 1], 1: [1000, 0.5] })
  const id = await importLines(home, ['time,register', `${hour(1)},11`, `${hour(2)},13`, `${hour(3)},20`])
  await expectStored(client, home, { 0: [1000, 0.5], 1: [2000, 1], 2: [7000, 3.5] })
  const undone = await undoAll(client, id)
  expect(countsOf(undone)).toEqual([1, 1, 1, 0])
  expect(undone.other_imports).toEqual([first])
  await expectStored(client, home, { 0: [2000, 1], 1: [1000, 0.5] })
  expect(countsOf(await undoAll(client, id))).toEqual([0, 0, 3, 0])
  expect(countsOf(await undoAll(client, first))).toEqual([3, 0, 0, 0])
  await expectStored(client, home, {})
})

it('an undo of a new meter and its old meter at one instant sets back each reading', async () => {
  const client = await system.login()
  const home = await makeMeter(client)
  const readings = [
    [hour(0), 10, 0] as const,
    [hour(1), 12, 0] as const,
    [hour(1), 1, 1] as const,
    [hour(2), 4, 0] as const,
  ]
  const rows = readings.map(([time, value, restart]) => `${time},${value},${restart}`)
  await importLines(home, ['time,register,restart', ...rows])
  await expectStored(client, home, { 0: [2000, 1], 1: [3000, 1.5] })
  const id = await importLines(home, ['time,register,restart', `${hour(1)},11.5,0`, `${hour(1)},2,1`])
  await expectStored(client, home, { 0: [1500, 0.75], 1: [2000, 1] })
  expect(countsOf(await undoAll(client, id))).toEqual([0, 2, 0, 0])
  await expectStored(client, home, { 0: [2000, 1], 1: [3000, 1.5] })
})

it('the same file imported twice can be undone once or twice, in either order', async () => {
  const client = await system.login()
  for (const isFirstUndoneFirst of [true, false]) {
    const home = await makeMeter(client)
    const lines = [header, line(0, 1), line(1, 2)]
    const ids = [await importLines(home, lines), await importLines(home, lines)]
    const both: Stored = { 0: [1000, 0.5], 1: [2000, 1] }
    await expectStored(client, home, both)
    const [one = '', other = ''] = isFirstUndoneFirst ? ids : ids.toReversed()
    // The dry run names the other import before its records are kept.
    expect((await undoAll(client, one, true)).other_imports).toEqual([other])
    const undone = await undoAll(client, one)
    expect(countsOf(undone)).toEqual(isFirstUndoneFirst ? [0, 0, 0, 2] : [0, 0, 2, 0])
    expect(undone.other_imports).toEqual([other])
    await expectStored(client, home, both)
    const last = await undoAll(client, other)
    expect(countsOf(last)).toEqual([2, 0, 0, 0])
    expect(last.other_imports).toEqual([])
    await expectStored(client, home, { 0: [0, 0], 1: [0, 0] })
  }
})

it('two imports that overlap leave nothing after both undos, in either order', async () => {
  const client = await system.login()
  for (const isFirstUndoneFirst of [true, false]) {
    const home = await makeMeter(client)
    await client.submit([record(home, 1, 5)])
    await expectStored(client, home, { 1: [5000, 2.5] })
    const first = await importLines(home, [header, line(0, 1), line(1, 2), line(2, 3)])
    const second = await importLines(home, [header, line(1, 6), line(2, 7), line(3, 8)])
    const all: Stored = { 0: [1000, 0.5], 1: [6000, 3], 2: [7000, 3.5], 3: [8000, 4] }
    await expectStored(client, home, all)
    if (isFirstUndoneFirst) {
      expect(countsOf(await undoAll(client, first))).toEqual([1, 0, 0, 2])
      await expectStored(client, home, { ...all, 0: [0, 0] })
      expect(countsOf(await undoAll(client, second))).toEqual([2, 1, 0, 0])
    } else {
      expect(countsOf(await undoAll(client, second))).toEqual([1, 2, 0, 0])
      await expectStored(client, home, { 0: [1000, 0.5], 1: [2000, 1], 2: [3000, 1.5], 3: [0, 0] })
      expect(countsOf(await undoAll(client, first))).toEqual([2, 1, 0, 0])
    }
    await expectStored(client, home, { 0: [0, 0], 1: [5000, 2.5], 2: [0, 0], 3: [0, 0] })
  }
})

it('a session of an undone import has no energy and no cost', async () => {
  const client = await system.login()
  const home = await makeMeter(client)
  const lines = ['start,end,value,session', `${line(0, 4)},undone-session`, `${line(5, 6)},undone-session`]
  const id = await importLines(home, lines)
  const costOf = async () =>
    (await client.ask('POST', '/costs/session/undone-session')) as {
      readonly data: readonly {
        readonly energy: { readonly value: number }
        readonly tariff: { readonly cost: { readonly value: number } }
      }[]
    }
  const [before] = (await costOf()).data
  expect([before?.energy.value, before?.tariff.cost.value]).toEqual([10_000, 5])
  expect(countsOf(await undoAll(client, id))).toEqual([2, 0, 0, 0])
  const after = await until(costOf, ({ data }) => data[0]?.energy.value === 0)
  expect(after.data[0]?.tariff.cost.value).toBe(0)
})

it('a withdrawn actual covers no estimate', async () => {
  const client = await system.login()
  const home = await makeMeter(client)
  await client.submit([bought(home, 4, hour(0), hour(4), { confidence: 0.5 })])
  const id = await importLines(home, [header, line(1, 9)])
  // The actual covers a quarter of the estimate: 4 - 1 = 3 kWh.
  await expectStored(client, home, { 0: [3000, 1.5], 1: [9000, 4.5] })
  await undoAll(client, id)
  await expectStored(client, home, { 0: [4000, 2], 1: [0, 0] })
})

it('readings of a deleted location are left', async () => {
  const client = await system.login()
  const home = await makeMeter(client)
  const id = await importLines(home, ['time,register', `${hour(0)},10`, `${hour(1)},12`])
  await client.send('DELETE', `/locations/${home}`)
  expect(countsOf(await undoAll(client, id))).toEqual([0, 0, 0, 2])
})

it('an undo of many rows of several months and meters works in pages', { timeout: 180_000 }, async () => {
  const client = await system.login()
  const homes = [await makeMeter(client), await makeMeter(client)]
  const start = Date.UTC(2025, 10, 20)
  const quarter = (index: number): string => new Date(start + index * 900_000).toISOString()
  const rows = Array.from({ length: 7_000 }, (_, index) => `${quarter(index)},${quarter(index + 1)},1,`)
  const lines = ['start,end,value,location', ...homes.flatMap(home => rows.map(row => row + home))]
  const file = writeIn(makeTestFolder(), 'many.csv', `${lines.join('\n')}\n`)
  const { report } = await runImport(system.sandbox(), 'readings', [file, '--unit', 'WH'])
  expect(report.accepted).toBe(14_000)
  expect(countsOf(await undoAll(client, report.import_id ?? ''))).toEqual([14_000, 0, 0, 0])
  const energyOf = async (home: string): Promise<number> => {
    const range = { start_time: '2025-11-01T00:00:00Z', end_time: '2026-03-01T00:00:00Z' }
    type Months = { readonly data: readonly { readonly energy: { readonly value: number } }[] }
    const { data }: Months = await client.ask('POST', `/costs/interval/${home}?aggregation=MONTH`, range)
    return data.reduce((sum, { energy: { value } }) => sum + value, 0)
  }
  for (const home of homes)
    await until(
      () => energyOf(home),
      energy => energy === 0,
    )
})

it('refuses an import that does not exist, and a cursor of another kind', async () => {
  const client = await system.login()
  const refusalOf = async (body: object): Promise<unknown> => {
    const { status, json } = await client.send('POST', '/meters/imports/undo', body)
    return [status, (json as { readonly code: string }).code]
  }
  expect(await refusalOf({ import_id: 'never-sent' })).toEqual([400, 'import_not_found'])
  expect(await refusalOf({ import_id: 'never-sent', cursor: 'records.1' })).toEqual([400, 'cursor_not_found'])
  const late = 'records.99999999999999.0.0.0'
  expect(await refusalOf({ import_id: 'never-sent', cursor: late })).toEqual([400, 'cursor_not_found'])
  expect(await refusalOf({ import_id: "x' OR 1" })).toEqual([400, 'field_invalid'])
  const live = await system.login('live')
  const home = await makeMeter(client)
  const id = await importLines(home, [header, line(0, 1)])
  const { status } = await live.send('POST', '/meters/imports/undo', { import_id: id })
  expect(status).toBe(400)
})

it('begins with an audit entry, also by the cursor of a dry run', async () => {
  const client = await system.login()
  const home = await makeMeter(client)
  const id = await importLines(home, [header, line(0, 1)])
  // Only a call without a cursor waits for accepted records.
  await expectStored(client, home, { 0: [1000, 0.5] })
  const undoneAt = async (): Promise<string | null | undefined> => {
    const { data } = (await client.ask('GET', '/meters/imports')) as {
      readonly data: readonly { readonly id: string; readonly time_undone: string | null }[]
    }
    return data.find(one => one.id === id)?.time_undone
  }
  const cursor = 'records.0.0.0.0'
  await client.ask('POST', '/meters/imports/undo', { import_id: id, dry_run: true, cursor })
  expect(await undoneAt()).toBeNull()
  expect(countsOf(await undoAll(client, id, false, cursor))).toEqual([1, 0, 0, 0])
  expect(await undoneAt()).toEqual(expect.any(String))
  await expectStored(client, home, { 0: [0, 0] })
})

const command = (args: readonly string[], ask?: (question: string) => Promise<string>) =>
  runCommand(
    ['import', ...args, '--base-url', system.sandbox().base_url],
    { WATTLEDGER_API_KEY: system.sandbox().test_key, WATTLEDGER_DATA_DIR: makeTestFolder() },
    ask,
  )

it('the command shows the counts, asks, and undoes the import that its import named', async () => {
  const client = await system.login()
  const home = await makeMeter(client)
  const file = writeIn(makeTestFolder(), 'readings.csv', `${header}\n${line(0, 1)}\n${line(1, 2)}\n`)
  const { out } = await command(['readings', file, '--location', home, '--unit', 'KWH'])
  const [, id = ''] = /To undo this import within 24 hours: npx wattledger import undo (\S+)/.exec(out) ?? []
  expect(id).not.toBe('')

  const stored: Stored = { 0: [1000, 0.5], 1: [2000, 1] }
  const dry = await command(['undo', id, '--dry-run'])
  expect([dry.code, dry.out]).toEqual([0, expect.stringContaining('2 would be withdrawn')])
  expect(dry.out).not.toContain('other imports')
  const silent = await command(['undo', id])
  expect([silent.code, silent.err]).toEqual([2, expect.stringContaining('Add --yes')])
  const questions: string[] = []
  const no = await command(['undo', id], async question => {
    questions.push(question)
    return 'n'
  })
  expect([no.code, no.err]).toEqual([1, expect.stringContaining('Nothing was undone.')])
  expect(questions).toHaveLength(1)
  await expectStored(client, home, stored)

  const yes = await command(['undo', id], async () => 'y')
  expect([yes.code, yes.out]).toEqual([0, expect.stringContaining('2 withdrawn')])
  await expectStored(client, home, { 0: [0, 0], 1: [0, 0] })
  await client.submit([record(home, 1, 3)])
  await expectStored(client, home, { 0: [0, 0], 1: [3000, 1.5] })
  const again = await command(['undo', id, '--yes', '--json'])
  expect([again.code, countsOf(JSON.parse(again.out))]).toEqual([3, [0, 0, 1, 1]])
  const unknown = await command(['undo', 'never-sent', '--yes'])
  expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('import_not_found')])
})

it('the command names the other import of the same readings before its question', async () => {
  const client = await system.login()
  const home = await makeMeter(client)
  const lines = [header, line(0, 1), line(1, 2)]
  const [first, second] = [await importLines(home, lines), await importLines(home, lines)]
  for (const [id, other, count] of [
    [first, second, '2 left'],
    [second, first, '2 unchanged'],
  ] as const) {
    const { code, out } = await command(['undo', id, '--dry-run'])
    expect([code, out]).toEqual([0, expect.stringContaining(count)])
    expect(out).toContain(
      `Other imports sent some of them too: ${other}. These records keep the value that others sent last.`,
    )
  }
})

it('the list has the imports of the last day, and the start of their undo', async () => {
  const client = await system.login()
  const home = await makeMeter(client)
  const id = await importLines(home, [header, line(0, 1), line(1, 2)])
  type Listed = { readonly data: readonly { readonly id: string; readonly time_undone: string | null }[] }
  const find = async () => ((await client.ask('GET', '/meters/imports')) as Listed).data.find(one => one.id === id)
  expect(await find()).toMatchObject({ records_accepted: 2, time_undone: null })
  await undoAll(client, id, true)
  expect((await find())?.time_undone).toBeNull()
  await undoAll(client, id)
  expect(await find()).toMatchObject({ records_accepted: 2, time_undone: expect.any(String) })
  const log = (await client.ask('GET', '/audit-log?limit=1')) as { readonly data: readonly object[] }
  expect(log.data).toEqual([expect.objectContaining({ action: 'readings.import_undo', detail: { import_id: id } })])
})
