import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sumWarnings } from '../../../services/interchange/reading-import/import-warnings.ts'
import { runImport } from '../../support/interchange/run-import.ts'
import { makeKey, openRecords } from '../../support/registry/accounts.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { makeHome } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const { sandbox, folder, login } = useSharedSystem()

const hours = (count: number): readonly string[] =>
  Array.from(
    { length: count },
    (_, hour) => `2026-03-0${1 + Math.floor(hour / 24)}T${String(hour % 24).padStart(2, '0')}:00:00Z`,
  )

/** Write a file with two columns of values, which differ in all hours but the first. */
const twoColumns = (): string => {
  const path = join(makeTestFolder(), 'readings.csv')
  const rows = hours(30).map((start, hour) => `${start},1,${hour === 0 ? 1 : 2}`)
  writeFileSync(path, `${['start,day,night', ...rows].join('\n')}\n`)
  return path
}

const optionsOf = (location: string, column: string): readonly string[] => [
  ...['--location', location, '--unit', 'KWH', '--interval', 'PT1H', '--columns', `value=${column}`],
]

it('the report counts the stored records that an import replaced with another value', async () => {
  const client = await login()
  const location = await makeHome(client, { import: 0.25 })
  const file = twoColumns()
  const replacedBy = async (column: string): Promise<number | null | undefined> =>
    (await runImport(sandbox(), 'readings', [file, ...optionsOf(location, column)])).report.replaced
  expect(await replacedBy('day')).toBe(0)
  expect(await replacedBy('day')).toBe(0)
  // The first hour has the same value in both columns: 30 - 1 = 29.
  const args = ['import', 'readings', file, ...optionsOf(location, 'night'), '--base-url', sandbox().base_url]
  const { out } = await runCommand(args, {
    WATTLEDGER_API_KEY: sandbox().test_key,
    WATTLEDGER_DATA_DIR: makeTestFolder(),
  })
  expect(out).toContain('  29 stored records replaced with another value. GET /meters/corrections lists')
  expect(await replacedBy('night')).toBe(0)
  expect(await replacedBy('day')).toBe(29)
})

it('a dry run counts no replaced records', async () => {
  const location = await makeHome(await login(), { import: 0.25 })
  const { report } = await runImport(sandbox(), 'readings', [twoColumns(), ...optionsOf(location, 'day'), '--dry-run'])
  expect([report.replaced, report.remarks]).toEqual([null, undefined])
})

it('an import with a key that may not read receipts says what the report does not have', async () => {
  const location = await makeHome(await login(), { import: 0.25 })
  await using records = await openRecords(folder)
  const { key } = await makeKey(records, folder, sandbox(), 'metering', false)
  const file = join(makeTestFolder(), 'register.csv')
  const times = hours(3)
  writeFileSync(file, `time,register\n${times[0]},10\n${times[1]},5\n${times[2]},6\n`)
  const account = { ...sandbox(), test_key: key }
  const options = ['--location', location, '--unit', 'KWH', '--zone', 'UTC']
  const { code, report } = await runImport(account, 'readings', [file, ...options])
  expect([code, report.accepted, report.replaced]).toEqual([0, 3, null])
  expect(report.remarks).toEqual([
    expect.stringMatching(/^The key may not read receipts\. /),
    expect.stringMatching(/^Whether 3 register readings failed later is unknown: /),
  ])
})

it('the report tells the warnings of the receipts with the lines of the file', async () => {
  const location = await makeHome(await login(), { import: 0.25 })
  const file = join(makeTestFolder(), 'doubtful.csv')
  // 12 MWh in an hour need 12 MW. The day of line 8 shares time with the hours of lines 2 to 7.
  const rows = hours(6).map((start, hour) => `${start},${start.replace('00:00Z', '59:59Z')},${hour === 2 ? 12_000 : 1}`)
  writeFileSync(file, `start,end,value\n${rows.join('\n')}\n2026-03-01T00:00:00Z,2026-03-02T00:00:00Z,24\n`)
  const options = ['--location', location, '--unit', 'KWH']
  const { code, report } = await runImport(sandbox(), 'readings', [file, ...options])
  expect([code, report.warnings]).toEqual([
    0,
    [
      { code: 'implausible_energy', message: expect.stringContaining('10 MW'), records: 1, lines: [4] },
      { code: 'overlapping_records', message: expect.any(String), records: 7, lines: [2, 3, 4, 5, 6, 7, 8] },
    ],
  ])
  const args = ['import', 'readings', file, ...options, '--base-url', sandbox().base_url]
  const { out } = await runCommand(args, {
    WATTLEDGER_API_KEY: sandbox().test_key,
    WATTLEDGER_DATA_DIR: makeTestFolder(),
  })
  expect(out).toContain('  Warning: 1 stored record (line 4): implausible_energy: The mean power is above 10 MW.')
  expect(out).toContain('  Warning: 7 stored records (lines 2, 3, 4, 5, 6, 7, 8): overlapping_records: ')
})

it('warnings of several submissions are added by code, with the first 100 lines', () => {
  const warning = (records: number, line: number) => ({
    code: 'implausible_energy',
    message: 'Check it.',
    records,
    lines: Array.from({ length: Math.min(records, 100) }, (_, index) => line + index),
  })
  const sum = sumWarnings([warning(70, 2), warning(70, 5_002)])
  expect(sum).toEqual([{ ...warning(140, 2), lines: [...warning(70, 2).lines, ...warning(30, 5_002).lines] }])
})
