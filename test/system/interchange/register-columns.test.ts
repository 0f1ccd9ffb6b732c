import { expect, it } from 'vitest'
import { writeIn } from '../../support/acceptance/field-ways.ts'
import { runImport } from '../../support/interchange/run-import.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { makeHome } from '../../support/system/home.ts'
import { recordsOf } from '../../support/system/stored-costs.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

const importRows = async (location: string, rows: readonly string[], ...more: readonly string[]) => {
  const file = writeIn(makeTestFolder(), 'counter.csv', `${rows.join('\n')}\n`)
  const args = [file, '--location', location, '--unit', 'KWH', '--zone', 'UTC', ...more]
  const { code, report } = await runImport(system.sandbox(), 'readings', args)
  return { code, accepted: report.accepted, refused: report.refused }
}

const energies = async (location: string): Promise<readonly number[]> =>
  (await recordsOf(await system.login(), location)).map(({ data }) => data.energy.value).reverse()

const exchange = [
  'time,register,restart',
  '2026-03-01T00:00:00Z,12300,',
  '2026-03-02T00:00:00Z,12345.6,0',
  '2026-03-02T00:00:00Z,0.2,TRUE',
  '2026-03-03T00:00:00Z,1.2,false',
]

it('a file of an exchanged meter has the energy of both meters, and its readings can be withdrawn', async () => {
  const home = await makeHome(await system.login(), { import: 0.5 })
  const all = { code: 0, accepted: 4, refused: [] }
  // A dry run accepts what the import accepts.
  expect(await importRows(home, exchange, '--dry-run')).toEqual(all)
  expect(await energies(home)).toEqual([])
  expect(await importRows(home, exchange)).toEqual(all)
  // 12,345.6 - 12,300 = 45.6 kWh, then 1.2 - 0.2 = 1 kWh.
  expect(await energies(home)).toEqual([45_600, 1000])
  const withdrawal = ['time,register,restart', '2026-03-02T00:00:00Z,Withdrawn,']
  expect(await importRows(home, withdrawal, '--dry-run')).toEqual({ code: 0, accepted: 1, refused: [] })
  expect(await energies(home)).toEqual([45_600, 1000])
  expect(await importRows(home, withdrawal)).toEqual({ code: 0, accepted: 1, refused: [] })
  // The reading of the new meter stays: the old meter has no interval without its last reading.
  expect(await energies(home)).toEqual([1000])
})

it('words of the file can mean a restart and a withdrawal', async () => {
  const home = await makeHome(await system.login(), { import: 0.5 })
  const rows = exchange.map(row => row.replace('TRUE', 'Wechsel'))
  expect(await importRows(home, rows, '--map', 'Wechsel=true')).toMatchObject({ code: 0, accepted: 4 })
  const withdrawal = ['time,register,restart', '2026-03-02T00:00:00Z,Storno,Wechsel', '2026-03-03T00:00:00Z,Storno,']
  const meanings = ['--map', 'wechsel=1', '--map', 'Storno=withdrawn']
  expect(await importRows(home, withdrawal, ...meanings)).toMatchObject({ code: 0, accepted: 2 })
  expect(await energies(home)).toEqual([45_600])
})

it('a repeated restart, another word and a withdrawal of an interval are refused with their line', async () => {
  const home = await makeHome(await system.login(), { import: 0.5 })
  const repeated = [...exchange, '2026-03-02T00:00:00Z,0.3,1', '2026-03-04T00:00:00Z,2,maybe']
  const refused = [
    [6, 'duplicate_row', null],
    [7, 'field_invalid', 'restart'],
  ]
  for (const more of [['--dry-run'], []]) {
    const result = await importRows(home, repeated, ...more)
    expect([result.code, result.accepted]).toEqual([3, 4])
    expect(result.refused.map(({ line, code, field }) => [line, code, field])).toEqual(refused)
  }
  const interval = ['start,end,value', '2026-03-02T00:00:00Z,2026-03-03T00:00:00Z,withdrawn']
  expect((await importRows(home, interval)).refused).toMatchObject([{ line: 2, code: 'not_a_number' }])
  await expect(
    importRows(home, ['start,end,value,restart', '2026-03-02T00:00:00Z,2026-03-03T00:00:00Z,1,1']),
  ).rejects.toThrow(/restart is for readings of a register/)
})

it('a sum of registers is withdrawn as a whole', async () => {
  const home = await makeHome(await system.login(), { import: 0.5 })
  const rows = ['time,day,night', '2026-03-01T00:00:00Z,1,2', '2026-03-02T00:00:00Z,2,4', '2026-03-03T00:00:00Z,3,5']
  const sum = ['--columns', 'register=day+night']
  expect(await importRows(home, rows, ...sum)).toMatchObject({ code: 0, accepted: 3 })
  expect(await energies(home)).toEqual([3000, 2000])
  const withdrawal = ['time,day,night', '2026-03-02T00:00:00Z,withdrawn,withdrawn', '2026-03-03T00:00:00Z,withdrawn,5']
  const result = await importRows(home, withdrawal, ...sum)
  expect([result.code, result.accepted]).toEqual([3, 1])
  expect(result.refused).toMatchObject([{ line: 3, code: 'not_a_number', field: 'register' }])
  expect(await energies(home)).toEqual([5000])
})

it('a dry run refuses the registers that the service refuses', async () => {
  const home = await makeHome(await system.login(), { import: 0.5 })
  const rows = [
    'time,register,unit',
    '2026-03-01T00:00:00.5Z,1,KWH',
    '2026-03-02T00:00:00Z,-1,KWH',
    '2026-03-03T00:00:00Z,1,KW',
  ]
  for (const more of [['--dry-run'], []]) {
    const { refused } = await importRows(home, rows, ...more)
    expect(refused.map(({ line, field }) => [line, field])).toEqual([
      [2, 'time'],
      [3, 'register'],
      [4, expect.stringMatching(/^units?$/)],
    ])
  }
})
