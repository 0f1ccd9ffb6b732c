import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { presetNames } from '../../../services/interchange/domain/known-files.ts'
import { knownFileSamples } from '../../support/interchange/known-file-samples.ts'
import { makeWorkbook, type TestCell } from '../../support/interchange/make-workbook.ts'
import { runImport } from '../../support/interchange/run-import.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import type { Client } from '../../support/system/client.ts'
import { makeHome } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

const fileOf = (lines: readonly string[]): string => {
  const path = join(makeTestFolder(), 'readings.csv')
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

type Costs = { readonly data: readonly { readonly records: number; readonly energy: { readonly value: number } }[] }

/** Energy in Wh of both directions, and their records, between two instants. */
const energiesOf = async (client: Client, location: string, from: string, to: string) => {
  const read = async (direction: 'IMPORT' | 'EXPORT') => {
    const span = { start_time: from, end_time: to }
    const path = `/costs/interval/${location}?tariff_direction=${direction}`
    const costs = (await client.ask('POST', path, span)) as unknown as Costs
    return { energy: costs.data[0]?.energy.value ?? 0, records: costs.data[0]?.records ?? 0 }
  }
  const [bought, sold] = [await read('IMPORT'), await read('EXPORT')]
  return { bought: bought.energy, sold: sold.energy, records: bought.records + sold.records }
}

describe('a known file', () => {
  it.each(knownFileSamples)('of $name is found by its headings, and its energy is that of the portal', async sample => {
    const client = await system.login()
    const location = await makeHome(client, { import: 0.25, export: 0.1 }, { timezone: sample.zone })
    const { code, report } = await runImport(system.sandbox(), 'readings', [
      ...[fileOf(sample.lines), '--location', location],
    ])
    expect([code, report.refused]).toEqual([0, []])
    expect(report.remarks?.[0]).toContain(`--preset ${sample.preset}.`)
    const { bought, sold, records } = sample
    expect(await energiesOf(client, location, sample.from, sample.to)).toEqual({ bought, sold, records })
  })

  it('has a sample for each preset', () => {
    expect([...new Set(knownFileSamples.map(({ preset }) => preset))].sort()).toEqual(presetNames)
  })
})

const fluvius = knownFileSamples[0]?.lines ?? []

it('another file is refused under --preset, and the message names the headings', async () => {
  const { base_url: url, test_key: key } = system.sandbox()
  const file = fileOf(['start,end,value', '2026-01-01T00:00:00Z,2026-01-01T01:00:00Z,1'])
  const args = ['import', 'readings', file, '--preset', 'fluvius', '--location', 'depot-7', '--base-url', url]
  const { code, err } = await runCommand(args, { WATTLEDGER_API_KEY: key, WATTLEDGER_DATA_DIR: makeTestFolder() })
  expect([code, err]).toEqual([
    2,
    expect.stringMatching(/--preset fluvius: .*Van \(datum\).*"start,end,value".*--columns/s),
  ])
})

it('an option of the user wins over the preset, and words are added to those of the preset', async () => {
  const client = await system.login()
  const location = await makeHome(client, { import: 0.25, export: 0.1 })
  const lines = fluvius.map(line => line.replace('Uitgelezen', 'Nieuw'))
  const refused = await runImport(system.sandbox(), 'readings', [fileOf(lines), '--location', location, '--dry-run'])
  expect([refused.code, refused.report.refused[0]]).toMatchObject([
    3,
    { code: 'not_a_number', message: expect.stringContaining('--map "Nieuw=1"') },
  ])
  const options = [
    '--location',
    location,
    '--preset',
    'fluvius',
    '--map',
    'Nieuw=1',
    '--unit',
    'WH',
    '--columns',
    'unit=',
  ]
  const { code, report } = await runImport(system.sandbox(), 'readings', [fileOf(lines), ...options])
  expect([code, report.accepted, report.remarks]).toEqual([0, 200, undefined])
  const day = ['2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z'] as const
  // 100 quarter hours x 0.065 Wh, and x 0.010 Wh.
  expect(await energiesOf(client, location, ...day)).toEqual({ bought: 6.5, sold: 1, records: 200 })
})

it('a row of a register that comes twice is refused, not added', async () => {
  const client = await system.login()
  const location = await makeHome(client, { import: 0.25, export: 0.1 })
  const days = knownFileSamples[1]?.lines ?? []
  const file = fileOf([...days, days[1] ?? ''])
  const { code, report } = await runImport(system.sandbox(), 'readings', [file, '--location', location])
  expect([code, report.refused.map(row => [row.line, row.code])]).toEqual([3, [[14, 'duplicate_row']]])
})

it('a day of NEM12 that comes twice is refused, and the cells of its line are in the file of refused rows', async () => {
  const client = await system.login()
  const location = await makeHome(client, { import: 0.25, export: 0.1 }, { timezone: 'Australia/Sydney' })
  const lines = knownFileSamples.find(({ name }) => name === 'nem12 of 5 minutes')?.lines ?? []
  const file = fileOf([...lines.slice(0, 4), lines[2] ?? '', ...lines.slice(4)])
  const { code, report } = await runImport(system.sandbox(), 'readings', [file, '--location', location])
  expect([code, report.accepted, report.refused_rows]).toEqual([3, 1152, 288])
  expect(report.refused[0]).toMatchObject({
    line: 5,
    code: 'duplicate_row',
    message: expect.stringContaining('line 3'),
  })
  expect(readFileSync(report.refused_file ?? '', 'utf8')).toContain('300,20260404,25,25')
})

it('a worksheet of E-REDES has the energy of its CSV file, with texts, numbers and dates of the spreadsheet', async () => {
  const sample = knownFileSamples.find(({ name }) => name === 'e-redes')
  if (sample === undefined) throw new Error('The sample is missing.')
  const rows = sample.lines.map(line => line.split(';'))
  const numbers = rows.map((cells, index): readonly TestCell[] => {
    if (index < 7) return cells
    const [date = '', hour = '', value = '', ...rest] = cells
    const serial = (Date.parse(`${date.replaceAll('/', '-')}T00:00:00Z`) - Date.UTC(1899, 11, 30)) / 86_400_000
    const [hours = 0, minutes = 0] = hour.split(':').map(Number)
    const time = { number: String((hours * 60 + minutes) / 1440), style: 2 }
    return [{ number: String(serial), style: 1 }, time, { number: value.replace(',', '.') }, ...rest]
  })
  const client = await system.login()
  for (const cells of [rows, numbers]) {
    const location = await makeHome(client, { import: 0.25, export: 0.1 }, { timezone: 'UTC' })
    const file = join(makeTestFolder(), 'consumos.xlsx')
    writeFileSync(file, makeWorkbook({ sheets: { Other: [['x']], Leituras: cells }, usesSharedTexts: cells === rows }))
    const options = ['--location', location, '--sheet', 'Leituras']
    const { code, report } = await runImport(system.sandbox(), 'readings', [file, ...options])
    expect([code, report.refused, report.format, report.remarks?.[0]]).toEqual([
      ...[0, [], 'xlsx'],
      expect.stringContaining('--preset e-redes.'),
    ])
    const { bought, sold, records } = sample
    expect(await energiesOf(client, location, sample.from, sample.to)).toEqual({ bought, sold, records })
  }
})
