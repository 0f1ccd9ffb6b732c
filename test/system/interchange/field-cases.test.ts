import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import type { ImportReport } from '../../../services/interchange/commands/import/import-report.ts'
import { exportedColumns, type FileForm, fieldFolder, twoCommodities } from '../../support/acceptance/field-cases.ts'
import {
  describeFieldWay,
  energiesOf,
  type FieldWay,
  linesOf,
  type Period,
  type Receipt,
  receiptOf,
  writeIn,
} from '../../support/acceptance/field-ways.ts'
import { runImport } from '../../support/interchange/run-import.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { recordsOf } from '../../support/system/stored-costs.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

const published = fileURLToPath(new URL('../../../../shared/acceptance/field/', import.meta.url))
const isPublished = existsSync(published)

it.skipIf(!isPublished)(
  `the inputs are those of the published cases${isPublished ? '' : ' (skipped: their folder is absent)'}`,
  () => {
    const files = globSync('*/*', { cwd: published }).filter(path => !path.endsWith('/case.json'))
    const read = (path: string): string =>
      path.endsWith('two-commodities-3000.csv') ? twoCommodities(3000) : readFileSync(join(fieldFolder, path), 'utf8')
    expect(files.length).toBeGreaterThan(15)
    for (const path of files) expect(read(path), path).toBe(readFileSync(join(published, path), 'utf8'))
  },
)

const csv = { 'Content-Type': 'text/csv' }

const query = (parameters: FileForm): string => new URLSearchParams(parameters).toString()

const overHttp: FieldWay = {
  sendReadings: async (location, readings) => {
    const client = await system.login()
    const body = { location_id: location, ...readings }
    const { id } = (await client.ask('PUT', '/meters/cumulative/epoch', body)) as Receipt
    return linesOf((await receiptOf(client, id)).failed_records)
  },
  sendFile: async (location, { text, form }) => {
    const client = await system.login()
    const path = `/meters/interval?${query({ location_id: location, ...form })}`
    const { id } = (await client.ask('PUT', path, text, csv)) as Receipt
    return linesOf((await receiptOf(client, id)).failed_records)
  },
  exportEnergies: async (location, { instants: [start_time, end_time] }) => {
    const client = await system.login()
    const path = `/meters/records?${query({ location_id: location, start_time, end_time })}`
    const { text } = await client.send('GET', path, undefined, { Accept: 'application/x-ndjson' })
    const costs = (await client.ask('POST', `/costs/interval/${location}`, { start_time, end_time })) as {
      readonly data: readonly { readonly energy: { readonly value: number } }[]
    }
    return { records: energiesOf(text), costs: costs.data.map(({ energy }) => energy.value) }
  },
  importAgain: async (location, { instants: [start_time, end_time] }) => {
    const client = await system.login()
    const path = `/meters/records?${query({ location_id: location, start_time, end_time })}`
    const { text } = await client.send('GET', path, undefined, { Accept: 'text/csv' })
    const form = query({ location_id: location, unit: 'WH', columns: exportedColumns })
    const { id, records_accepted } = (await client.ask('PUT', `/meters/interval?${form}`, text, csv)) as Receipt
    await receiptOf(client, id)
    return records_accepted
  },
}

/** Words of the command line for values of parameters. */
const marks: FileForm = { comma: ',', point: '.', semicolon: ';' }

const optionsOf = (form: FileForm): readonly string[] =>
  Object.entries(form).flatMap(([name, value]) => [`--${name.replaceAll('_', '-')}`, marks[value] ?? value])

const importFile = (location: string, text: string, options: readonly string[]) =>
  runImport(system.sandbox(), 'readings', [
    writeIn(makeTestFolder(), 'readings.csv', text),
    ...['--location', location, ...options],
  ])

/** Export a kind of rows in a format, and return the path of the file. */
const exportFile = async (location: string, { dates }: Period, kind: string, format: string): Promise<string> => {
  const out = join(makeTestFolder(), `rows.${format}`)
  const { base_url: url, test_key: key } = system.sandbox()
  const period = ['--from', dates[0], '--to', dates[1]]
  const args = ['export', kind, ...period, '--location', location, '--out', out, '--base-url', url]
  const { code, err } = await runCommand(args, { WATTLEDGER_API_KEY: key, WATTLEDGER_DATA_DIR: makeTestFolder() })
  expect([code, err]).toEqual([0, expect.any(String)])
  return out
}

const exitCode = ({ accepted, refused_rows }: ImportReport): number => (refused_rows === 0 ? 0 : accepted === 0 ? 1 : 3)

/** Expect that a dry run refused the rows that the import refused, and that it showed the energy of the stored records. */
const expectPreviewOf = async (
  location: string,
  { code, report: { refused, accepted, preview } }: Awaited<ReturnType<typeof importFile>>,
  report: ImportReport,
): Promise<void> => {
  expect({ code, refused, accepted }).toEqual({
    code: exitCode(report),
    refused: report.refused,
    accepted: report.accepted,
  })
  const stored = (await recordsOf(await system.login(), location)).map(({ data }) => data.energy.value)
  const sum = stored.reduce((before, one) => before + one, 0)
  const totals = preview?.totals.map(({ records, kwh }) => [records, Number(kwh) * 1000])
  expect(totals).toEqual(stored.length === 0 ? [] : [[stored.length, sum]])
  expect(preview?.has_registers).toBe(true)
}

const byCommand: FieldWay = {
  sendReadings: async (location, { units, data }) => {
    const rows = data.map(({ time, value }) => `${time},${value ?? 'withdrawn'}`)
    const text = `${['time,counter', ...rows].join('\n')}\n`
    const options = ['--unit', units, '--columns', 'register=counter']
    const dry = await importFile(location, text, [...options, '--dry-run'])
    const { code, report } = await importFile(location, text, options)
    expect(code).toBe(exitCode(report))
    // A dry run knows the readings of the file alone.
    if (data.length > 1) await expectPreviewOf(location, dry, report)
    expect(report.accepted).toBe(data.length - report.refused_rows)
    return report.refused.map(({ line, code }) => [line, code])
  },
  sendFile: async (location, { text, form }) => {
    const { code, report } = await importFile(location, text, optionsOf(form))
    expect(code).toBe(exitCode(report))
    // The report lists the first refused rows. The file of refused rows has all.
    const all = report.refused_file === null ? '' : readFileSync(report.refused_file, 'utf8')
    return all
      .split('\n')
      .flatMap(row => (/^\d/.test(row) ? [row.split(',')] : []))
      .map(([line, , code = '']) => [Number(line), code])
  },
  exportEnergies: async (location, period) => {
    const read = async (kind: string) =>
      energiesOf(readFileSync(await exportFile(location, period, kind, 'ndjson'), 'utf8'))
    return { records: await read('records'), costs: await read('costs') }
  },
  importAgain: async (location, period) => {
    const file = await exportFile(location, period, 'records', 'csv')
    const args = [file, '--location', location, '--unit', 'WH', '--columns', exportedColumns]
    const { code, report } = await runImport(system.sandbox(), 'readings', args)
    expect([code, report.refused]).toEqual([0, []])
    return report.accepted
  },
}

describeFieldWay('over HTTP', system.login, overHttp, 'none')
describeFieldWay('by the command', system.login, byCommand)
