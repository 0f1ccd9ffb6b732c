import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openSource } from '../../../services/interchange/commands/import/import-files.ts'
import { importReadings } from '../../../services/interchange/commands/import/import-readings.ts'
import { openTarget } from '../../../services/interchange/commands/import/import-target.ts'
import {
  readCsvForm,
  readCsvRules,
  readReadingColumns,
} from '../../../services/interchange/reading-import/csv-options.ts'
import { csvReadingSource } from '../../../services/interchange/reading-import/read-csv-readings.ts'
import { runImport } from '../../support/interchange/run-import.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { makeHome } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
/** Three batches. The first one has the rows of the unknown location. */
const rowCount = 15_000
const lateRows = 5
const nothing = (): void => undefined
let places = 0

/** File of two locations, of which one does not exist yet. */
const makeFile = async () => {
  const client = await system.login()
  places += 1
  const [known, late] = [`known-${places}`, `late-${places}`]
  await makeHome(client, {}, { reference_id: known })
  const path = join(makeTestFolder(), 'readings.csv')
  const instant = (minute: number): string => new Date(Date.UTC(2026, 0, 1) + minute * 60_000).toISOString()
  const rows = Array.from({ length: rowCount }, (_, index) =>
    [instant(index), instant(index + 1), 1, index >= 10 && index < 10 + lateRows ? late : known].join(','),
  )
  writeFileSync(path, `start,end,value,location_reference\n${rows.join('\n')}\n`)
  const [refused, state] = [`${path}.refused.csv`, `${path}.import-state.json`]
  const makeLate = (): Promise<string> => makeHome(client, {}, { reference_id: late })
  /** Number of records that the service has of the late location. */
  const lateRecords = async (id: string): Promise<number> => {
    const span = { start_time: instant(0), end_time: instant(60) }
    const { data } = (await client.ask('POST', `/costs/interval/${id}`, span)) as { data: { records: number }[] }
    return data.reduce((sum, { records }) => sum + records, 0)
  }
  return { path, refused, state, makeLate, lateRecords }
}

type RunOptions = {
  readonly isDryRun?: boolean
  readonly isInterrupted?: boolean
  readonly stateOptions?: string | null
}

/** Import a file. `isInterrupted`: until the first batch is acknowledged. */
const run = async (
  path: string,
  { isDryRun = false, isInterrupted = false, stateOptions = 'test' }: RunOptions = {},
) => {
  const { base_url: baseUrl, test_key: key } = system.sandbox()
  const folder = makeTestFolder()
  const variables = { WATTLEDGER_API_KEY: key, WATTLEDGER_DATA_DIR: folder }
  const file = await openSource(path, folder)
  const options = { unit: 'WH' }
  const [form, columns, rules] = [readCsvForm(options), readReadingColumns(options), readCsvRules(options, null)]
  const interruption = new AbortController()
  return importReadings({
    file,
    isDryRun,
    stateOptions,
    at: Date.UTC(2026, 1, 1),
    signal: interruption.signal,
    source: csvReadingSource(file.chunks(nothing), form, columns, rules),
    target: await openTarget({ options: { 'base-url': baseUrl }, variables }),
    progress: {
      addBytes: nothing,
      wait: nothing,
      end: nothing,
      show: () => (isInterrupted ? interruption.abort() : undefined),
    },
  })
}

/** Import a file until the first batch is acknowledged: the state has refused rows. */
const interrupt = async (path: string, options: RunOptions = {}): Promise<void> => {
  await expect(run(path, { ...options, isInterrupted: true })).rejects.toThrow()
}

/** Run the command, and return its exit code and output as a user sees them. */
const command = (kind: string, ...args: readonly string[]) => {
  const { base_url: url, test_key: key } = system.sandbox()
  const variables = { WATTLEDGER_API_KEY: key, WATTLEDGER_DATA_DIR: makeTestFolder() }
  return runCommand(['import', kind, ...args, '--base-url', url], variables)
}

const linesOf = (path: string): readonly string[] => readFileSync(path, 'utf8').trimEnd().split('\n')

describe('refused rows of an interrupted import', () => {
  it('stay through a dry run and a usage error, and are in the report at the end', async () => {
    const { path, refused, state, makeLate } = await makeFile()
    await interrupt(path)
    const list = readFileSync(refused, 'utf8')
    expect(JSON.parse(readFileSync(state, 'utf8'))).toMatchObject({ refused: lateRows, refusedBytes: list.length })

    const dry = await run(path, { isDryRun: true })
    expect(dry).toMatchObject({ refused_rows: lateRows, refused_file: `${path}.dry-run.refused.csv` })
    expect(linesOf(`${path}.dry-run.refused.csv`)).toHaveLength(lateRows + 1)
    await makeLate()
    expect(await run(path, { isDryRun: true })).toMatchObject({ refused_rows: 0, refused_file: null })
    expect(existsSync(`${path}.dry-run.refused.csv`)).toBe(false)
    expect((await command('readings', path, '--columns', 'value=none')).code).toBe(2)
    expect(readFileSync(refused, 'utf8')).toBe(list)

    const report = await run(path)
    expect(report.resumed_at_line).toBeGreaterThan(1_000)
    expect(report).toMatchObject({ rows: rowCount, accepted: rowCount - lateRows, refused_rows: lateRows })
    expect(report).toMatchObject({
      refused_file: refused,
      refused: Array(lateRows).fill({ code: 'location_not_found' }),
    })
    expect(report.remarks).toBeUndefined()
    expect(readFileSync(refused, 'utf8')).toBe(list)
    expect(existsSync(state)).toBe(false)
  })

  it.each<[string, (path: string) => void]>([
    ['removed', path => rmSync(path)],
    ['shorter', path => writeFileSync(path, `${linesOf(path).slice(0, -1).join('\n')}\n`)],
    ['longer, with fewer rows', path => writeFileSync(path, `${linesOf(path)[0]}\n2,,,${'-'.repeat(2_000)},\n`)],
    ['of other line ends', path => writeFileSync(path, readFileSync(path, 'utf8').replaceAll('\n', '\r\n'))],
  ])('whose file is %s are sent again: the import begins at line 1 and says so', async (_, change) => {
    const { path, refused, makeLate, lateRecords } = await makeFile()
    await interrupt(path)
    change(refused)
    const late = await makeLate()
    const report = await run(path)
    expect(report).toMatchObject({ accepted: rowCount, refused_rows: 0, refused_file: null })
    expect(report.resumed_at_line).toBeUndefined()
    expect(report.remarks).toEqual([
      expect.stringMatching(/refused\.csv was removed or changed, .* began at line 1 again/),
    ])
    expect(existsSync(refused)).toBe(false)
    expect(await lateRecords(late)).toBe(lateRows)
  })

  it('of which the state knows only some are listed once', async () => {
    const { path, refused } = await makeFile()
    await interrupt(path)
    const list = readFileSync(refused, 'utf8')
    // A kill after the rows of the next batch and before its state.
    writeFileSync(refused, `${list}9999,,location_not_found,Not in the state.,row\n`)
    const report = await run(path)
    expect(report.resumed_at_line).toBeGreaterThan(1_000)
    expect([report.refused_rows, report.refused.length]).toEqual([lateRows, lateRows])
    expect(readFileSync(refused, 'utf8')).toBe(list)
  })

  it('are replaced together with the state, by an import that never continues', async () => {
    const { path, refused, state, makeLate } = await makeFile()
    await interrupt(path)
    await makeLate()
    await interrupt(path, { stateOptions: null })
    expect([existsSync(refused), existsSync(state)]).toEqual([false, false])
    expect(await run(path)).toMatchObject({ accepted: rowCount, refused_rows: 0 })
  })
})

describe('refused rows of an import that ended', () => {
  it('stay through a dry run and a usage error, and go when a later import sends its first rows', async () => {
    const { path, refused, makeLate } = await makeFile()
    const first = await runImport(system.sandbox(), 'readings', [path, '--unit', 'WH'])
    expect([first.code, first.report.refused_file]).toEqual([3, refused])
    const list = readFileSync(refused, 'utf8')
    await makeLate()
    expect((await command('readings', path, '--unit', 'WH', '--dry-run')).code).toBe(0)
    expect((await command('readings', path, '--unit', 'WH', '--columns', 'value=none')).code).toBe(2)
    expect(readFileSync(refused, 'utf8')).toBe(list)
    const last = await runImport(system.sandbox(), 'readings', [path, '--unit', 'WH'])
    expect([last.code, last.report.accepted, existsSync(refused)]).toEqual([0, rowCount, false])
  })

  it('stay for locations too', async () => {
    const path = join(makeTestFolder(), 'places.csv')
    const refused = `${path}.refused.csv`
    const row = 'twice,Europe/Berlin,EUR'
    writeFileSync(path, `reference_id,timezone,currency_code\n${row}\n${row}\n`)
    expect((await command('locations', path)).code).toBe(3)
    const list = readFileSync(refused, 'utf8')
    writeFileSync(path, `reference_id,timezone,currency_code\n${row}\n`)
    expect((await command('locations', path, '--dry-run')).code).toBe(0)
    expect((await command('locations', path, '--columns', 'timezone=none')).code).toBe(2)
    expect(readFileSync(refused, 'utf8')).toBe(list)
    expect((await command('locations', path)).code).toBe(0)
    expect(existsSync(refused)).toBe(false)
  })
})

describe('a file without rows', () => {
  it.each([
    ['readings', ''],
    ['readings', 'start,end,value,unit,location\n'],
    ['locations', 'reference_id,timezone\n'],
  ])('of %s ends with 1 and the reason: %j', async (kind, text) => {
    const path = join(makeTestFolder(), 'empty.csv')
    writeFileSync(path, text)
    const { code, out, err } = await command(kind, path)
    expect([code, `${out}${err}`]).toEqual([1, expect.stringContaining('The file has no rows.')])
  })
})
