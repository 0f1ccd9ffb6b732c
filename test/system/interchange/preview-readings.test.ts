import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { previewReadings } from '../../../services/interchange/reading-import/preview-readings.ts'
import { timeZone } from '../../../services/platform/time-zone.ts'
import { runImport } from '../../support/interchange/run-import.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { makeHome } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { recordsOf } from '../../support/system/stored-costs.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

const write = (name: string, lines: readonly string[]): string => {
  const path = join(makeTestFolder(), name)
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

it('a dry run of daily values shows the local days that the import stores', async () => {
  const client = await system.login()
  const location = await makeHome(client, { import: 0.25 })
  // The clock changes on 29 March 2026: this local day has 23 hours.
  const file = write('days.csv', ['Date,Energy', '28.03.2026,"24,5"', 'x,1', '29.03.2026,23', '30.03.2026,24'])
  const options = [
    ...['--location', location, '--unit', 'KWH', '--columns', 'start=Date,value=Energy', '--interval', 'P1D'],
    ...['--date-format', 'dd.MM.yyyy', '--decimal', ',', '--zone', 'Europe/Berlin'],
  ]
  const { report } = await runImport(system.sandbox(), 'readings', [file, ...options, '--dry-run'])
  expect(report.preview).toMatchObject({
    zone: 'Europe/Berlin',
    time_label: 'start',
    summed: 3,
    is_complete: true,
    totals: [{ direction: 'IMPORT', records: 3, kwh: '71.5' }],
    first: [
      {
        line: 2,
        direction: 'IMPORT',
        kind: 'record',
        value: '24.5',
        units: 'KWH',
        start_time: '2026-03-27T23:00:00Z',
        end_time: '2026-03-28T23:00:00Z',
        local_start_time: '2026-03-28T00:00:00+01:00',
        local_end_time: '2026-03-29T00:00:00+01:00',
      },
      { line: 4, start_time: '2026-03-28T23:00:00Z', local_end_time: '2026-03-30T00:00:00+02:00' },
      { line: 5, start_time: '2026-03-29T22:00:00Z' },
    ],
    days: [
      { day: '2026-03-28', direction: 'IMPORT', records: 1, kwh: '24.5' },
      { day: '2026-03-29', direction: 'IMPORT', records: 1, kwh: '23' },
      { day: '2026-03-30', direction: 'IMPORT', records: 1, kwh: '24' },
    ],
  })
  expect(await recordsOf(client, location)).toEqual([])
  const sent = await runImport(system.sandbox(), 'readings', [file, ...options])
  expect(sent.report.preview).toBeUndefined()
  const records = await recordsOf(client, location)
  const stored = records.map(({ data }) => [Date.parse(data.start_time), data.energy.value]).toSorted()
  expect(stored).toEqual(
    report.preview?.first.map(({ start_time: start, value }) => [Date.parse(start), Number(value) * 1000]),
  )
})

it('a dry run prints both directions, and the power of a quarter of an hour as energy', async () => {
  const location = await makeHome(await system.login(), { import: 0.25 })
  const file = write('power.csv', ['start,value,value_export', '2026-03-01T00:00:00Z,2,1', '2026-03-01T00:15:00Z,4,0'])
  const args = ['import', 'readings', file, '--location', location, '--unit', 'KW', '--interval', 'PT15M', '--dry-run']
  const { base_url: url, test_key: key } = system.sandbox()
  const { out } = await runCommand([...args, '--zone', 'UTC', '--base-url', url], {
    WATTLEDGER_API_KEY: key,
    WATTLEDGER_DATA_DIR: makeTestFolder(),
  })
  expect(out).toContain(
    '    line 2: 2 KW IMPORT, 2026-03-01T00:00:00Z to 2026-03-01T00:15:00Z, local 2026-03-01T00:00:00Z',
  )
  // (2 kW + 4 kW) × 0.25 h = 1.5 kWh; 1 kW × 0.25 h = 0.25 kWh.
  expect(out).toContain('    2026-03-01 EXPORT: 0.25 kWh in 2 records\n    2026-03-01 IMPORT: 1.5 kWh in 2 records')
  expect(out).toContain('  Sum of all days:\n    EXPORT: 0.25 kWh in 2 records\n    IMPORT: 1.5 kWh in 2 records')
  expect(out).toContain('  The time of a row is read as the start of its interval.')
})

it('the sums of a preview are those of the first 100,000 readings, of the first and the last three days', async () => {
  const preview = previewReadings({ zone: timeZone('UTC') })
  const hourMs = 3_600_000
  const readings = Array.from({ length: 100_001 }, (_, index) => ({
    line: index + 2,
    isRegister: false,
    isRestart: false,
    location: { id: 'loc' },
    device: null,
    directions: null,
    sessionReferenceId: null,
    recordReferenceId: null,
    confidence: null,
    units: 'WH' as const,
    value: '500',
    start: index * hourMs,
    end: (index + 1) * hourMs,
  }))
  await preview.add(readings.map(reading => ({ reading, register: null })))
  const { first, days, totals, summed, is_complete: isComplete } = preview.end()
  expect([first.length, summed, isComplete]).toEqual([3, 100_000, false])
  // 24 × 0.5 kWh = 12 kWh. 100,000 hours are 4,166 days and 16 hours: 16 × 0.5 kWh = 8 kWh.
  expect(days.map(({ kwh }) => kwh)).toEqual(['12', '12', '12', '12', '12', '8'])
  // 100,000 × 0.5 kWh.
  expect(totals).toEqual([{ direction: 'IMPORT', records: 100_000, kwh: '50000' }])
})

it.each([
  ['end,value', '2026-03-01T01:00:00Z,1', [], 'end'],
  ['start,value', '2026-03-01T01:00:00Z,1', ['--label', 'end'], 'end'],
  ['start,end,value', '2026-03-01T00:00:00Z,2026-03-01T01:00:00Z,1', [], null],
])('a dry run of the columns %s says which time of the interval it read', async (header, row, more, label) => {
  const location = await makeHome(await system.login(), { import: 0.25 })
  const interval = label === null ? [] : ['--interval', 'PT1H']
  const args = [write('one.csv', [header, row]), '--location', location, '--unit', 'KWH', ...interval, ...more]
  const { report } = await runImport(system.sandbox(), 'readings', [...args, '--dry-run'])
  expect(report.preview).toMatchObject({
    time_label: label,
    first: [{ start_time: '2026-03-01T00:00:00Z', end_time: '2026-03-01T01:00:00Z' }],
  })
})
