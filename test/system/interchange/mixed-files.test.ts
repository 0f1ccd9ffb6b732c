import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { writeInstant } from '../../../services/domain/instant.ts'
import { hourMs } from '../../../services/domain/interval.ts'
import { runImport } from '../../support/interchange/run-import.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import type { Client } from '../../support/system/client.ts'
import { makeHome } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

const fileOf = (lines: readonly string[]): string => {
  const path = join(makeTestFolder(), 'readings.csv')
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

const year = { start_time: '2025-01-01T00:00:00Z', end_time: '2027-01-01T00:00:00Z' }

const energyOf = async (client: Client, location: string): Promise<number> => {
  const costs = await client.ask('POST', `/costs/interval/${location}`, year)
  return (costs as unknown as { data: { energy: { value: number } }[] }).data[0]?.energy.value ?? 0
}

/** Hours of a quantity, one row each. */
const hoursOf = (type: string, value: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, hour) => {
    const at = writeInstant(Date.UTC(2025, 0, 1) + hour * hourMs)
    return `${at},${value},${type}`
  })

it('the rows of a second quantity are refused by the line of the first, however long the file is', async () => {
  const client = await system.login()
  const location = await makeHome(client, { import: 0.25 })
  const rows = 6_000
  const lines = ['Date,Usage,Type', ...hoursOf('Electricity', 1, rows), ...hoursOf('Reactive', 0.1, rows)]
  const file = fileOf(lines)
  const options = ['--location', location, '--unit', 'KWH', '--interval', 'PT1H', '--columns', 'start=Date,value=Usage']
  const { code, report } = await runImport(system.sandbox(), 'readings', [file, ...options])
  expect([code, report.accepted, report.refused_rows]).toEqual([3, rows, rows])
  expect([report.refused[0], report.refused.at(-1)]).toMatchObject([
    { line: rows + 2, code: 'duplicate_row', message: expect.stringMatching(/line 2 has .* --where/) },
    { line: 2 * rows + 1, message: expect.stringContaining(`line ${rows + 1} has`) },
  ])
  expect(await energyOf(client, location)).toBe(rows * 1_000)
  const selected = await runImport(system.sandbox(), 'readings', [file, ...options, '--where', 'Type=Electricity'])
  expect([selected.code, selected.report.accepted, selected.report.unselected]).toEqual([0, rows, rows])
  const leftOut = 'Rows with another text of "Type" are left out: Reactive.'
  expect(selected.report.noted).toContainEqual({ path: '/Type', message: leftOut })
  expect(await energyOf(client, location)).toBe(rows * 1_000)
})

it.each(['before', 'behind'])(
  'rows of gas are refused %s the rows of electricity, also at other times',
  async place => {
    const client = await system.login()
    const location = await makeHome(client, { import: 0.25 })
    const gas = ['2025-01-02T00:00:00Z,45,Gas', '2025-01-02T01:00:00Z,45,Gas']
    const electricity = hoursOf('Electricity', 1, 2)
    const file = fileOf([
      'Date,Usage,Type',
      ...(place === 'before' ? [...gas, ...electricity] : [...electricity, ...gas]),
    ])
    const options = [
      '--location',
      location,
      '--unit',
      'KWH',
      '--interval',
      'PT1H',
      '--columns',
      'start=Date,value=Usage',
    ]
    const { code, report } = await runImport(system.sandbox(), 'readings', [file, ...options])
    expect([code, report.accepted, report.refused_rows]).toEqual([3, 2, 2])
    expect(report.refused[0]).toMatchObject({
      field: 'Type',
      code: 'other_quantity',
      message: expect.stringContaining("--where 'Type=Gas'"),
    })
    expect(await energyOf(client, location)).toBe(2_000)
  },
)

it('a repeated row is refused by a dry run too', async () => {
  const client = await system.login()
  const location = await makeHome(client, { import: 0.25 })
  const file = fileOf(['start,value,type', ...hoursOf('a', 1, 3), ...hoursOf('b', 2, 1)])
  const options = ['--location', location, '--unit', 'KWH', '--interval', 'PT1H', '--dry-run']
  const { report } = await runImport(system.sandbox(), 'readings', [file, ...options])
  expect(report.refused.map(({ line, code }) => [line, code])).toEqual([[5, 'duplicate_row']])
})

it('a reading below the one before it is a refused row, with its line and cells', async () => {
  const client = await system.login()
  const location = await makeHome(client, { import: 0.25 })
  const rows = ['2026-03-01T08:00:00Z,4076.4', '2026-03-01T08:15:00Z,0.104', '2026-03-01T08:30:00Z,0.228']
  const file = fileOf(['time,register', ...rows])
  const { code, report } = await runImport(system.sandbox(), 'readings', [
    file,
    '--location',
    location,
    '--unit',
    'KWH',
  ])
  expect([code, report.accepted]).toEqual([3, 2])
  expect(report.refused).toMatchObject([{ line: 3, field: 'register', code: 'register_decreased' }])
  expect(readFileSync(report.refused_file ?? '', 'utf8')).toContain('"2026-03-01T08:15:00Z,0.104"')
})
