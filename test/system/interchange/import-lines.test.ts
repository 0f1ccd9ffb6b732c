import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readCsvForm, readCsvRules, readReadingColumns } from '../../../services/command-line/import/csv-options.ts'
import { openSource, saveState } from '../../../services/command-line/import/import-files.ts'
import { importReadings } from '../../../services/command-line/import/import-readings.ts'
import { openTarget } from '../../../services/command-line/import/import-target.ts'
import { csvReadingSource } from '../../../services/command-line/import/read-csv-readings.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { makeHome } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const rowCount = 3_000
const nothing = (): void => undefined

/** Import a file whose lines up to `doneLine` an earlier run sent. Return its report, and the cells of line 2 at the end. */
const importRest = async (values: (index: number) => string, doneLine: number) => {
  const folder = makeTestFolder()
  const file = join(folder, 'readings.csv')
  const instant = (index: number): string => new Date(Date.UTC(2026, 0, 1) + index * 60_000).toISOString()
  const rows = Array.from({ length: rowCount }, (_, row) => `${instant(row)},${instant(row + 1)},${values(row)}`)
  writeFileSync(file, `start,end,value\n${rows.join('\n')}\n`)
  const { base_url: baseUrl, test_key: key } = system.sandbox()
  const variables = { WATTLEDGER_API_KEY: key, WATTLEDGER_DATA_DIR: folder }
  const opened = await openSource(file, folder)
  const state = { options: 'test', line: doneLine, accepted: doneLine - 1, refused: 0, refusedBytes: 0 }
  saveState(opened.besides('.import-state.json'), { sha256: opened.sha256(), ...state })
  const options = { location: await makeHome(await system.login(), {}), unit: 'WH' }
  const [form, columns, rules] = [readCsvForm(options), readReadingColumns(options), readCsvRules(options, null)]
  const source = csvReadingSource(opened.chunks(nothing), form, columns, rules)
  const report = await importReadings({
    ...{ file: opened, source, isDryRun: false, stateOptions: 'test', at: Date.UTC(2026, 1, 1) },
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
