import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openSource, saveState } from '../../../services/interchange/commands/import/import-files.ts'
import { importReadings } from '../../../services/interchange/commands/import/import-readings.ts'
import { openTarget } from '../../../services/interchange/commands/import/import-target.ts'
import {
  readCsvForm,
  readCsvRules,
  readReadingColumns,
} from '../../../services/interchange/reading-import/csv-options.ts'
import { csvReadingSource } from '../../../services/interchange/reading-import/read-csv-readings.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { makeHome } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const rowCount = 3_000
const nothing = (): void => undefined

/**
 * Import a file whose lines up to `doneLine` an earlier run sent. `times`: rows of each interval, one after the other.
 * Returns the report, and the cells of line 2 at the end.
 */
const importRest = async (values: (index: number) => string, doneLine: number, times = 1) => {
  const folder = makeTestFolder()
  const file = join(folder, 'readings.csv')
  const instant = (index: number): string => new Date(Date.UTC(2026, 0, 1) + index * 60_000).toISOString()
  const minute = (row: number): number => Math.floor(row / times)
  const rows = Array.from(
    { length: rowCount },
    (_, row) => `${instant(minute(row))},${instant(minute(row) + 1)},${values(row)}`,
  )
  writeFileSync(file, `start,end,value\n${rows.join('\n')}\n`)
  const { base_url: baseUrl, test_key: key } = system.sandbox()
  const variables = { WATTLEDGER_API_KEY: key, WATTLEDGER_DATA_DIR: folder }
  const opened = await openSource(file, folder)
  const state = { options: 'test', line: doneLine, accepted: doneLine - 1, refused: 0, refusedBytes: 0 }
  saveState(opened.besides('.import-state.json'), { sha256: opened.sha256(), importId: 'interrupted', ...state })
  const options = { location: await makeHome(await system.login(), {}), unit: 'WH' }
  const [form, columns, rules] = [readCsvForm(options), readReadingColumns(options), readCsvRules(options, null)]
  const source = csvReadingSource(opened.chunks(nothing), form, columns, rules)
  const report = await importReadings({
    file: opened,
    source,
    isDryRun: false,
    stateOptions: 'test',
    at: Date.UTC(2026, 1, 1),
    target: await openTarget({ options: { 'base-url': baseUrl }, variables }),
    progress: { addBytes: nothing, show: nothing, wait: nothing, end: nothing },
    signal: new AbortController().signal,
  })
  return { report, kept: source.cellsOf(2) }
}

describe('an import that continues', () => {
  it('keeps no cells of the lines that an earlier run sent, so its memory does not grow with the file', async () => {
    const { report, kept } = await importRest(() => '1', rowCount + 1)
    expect(report).toMatchObject({ resumed_at_line: rowCount + 2, accepted: rowCount, rows: rowCount, refused: [] })
    expect(kept).toEqual([])
  })

  it('keeps no cells of rows without a value', async () => {
    const { report, kept } = await importRest(() => '', 1)
    expect(report).toMatchObject({ rows: rowCount, blank: rowCount, accepted: 0 })
    expect(kept).toEqual([])
  })
})

describe('an import of rows that repeat each other', () => {
  it('names the first row of each, in a time that grows with their number only', { timeout: 60_000 }, async () => {
    const startedAt = process.cpuUsage()
    const { report } = await importRest(() => '1', 1, 3)
    const { user, system: kernel } = process.cpuUsage(startedAt)
    expect(report).toMatchObject({ rows: rowCount, accepted: rowCount / 3, refused_rows: (rowCount * 2) / 3 })
    // Line 2 is the first row: lines 3 and 4 repeat it, then lines 6 and 7 repeat line 5.
    const messages = report.refused.map(({ line, code, message }) => [line, code, message])
    expect(messages.slice(1, 3)).toEqual([
      [4, 'duplicate_row', expect.stringContaining('The reading of line 2 has')],
      [6, 'duplicate_row', expect.stringContaining('The reading of line 5 has')],
    ])
    expect(messages.at(-1)?.[2]).toContain(`The reading of line ${rowCount - 1} has the same meter and times.`)
    // Comparing each row with all earlier rows takes several seconds.
    expect((user + kernel) / 1e6).toBeLessThan(2)
  })
})
