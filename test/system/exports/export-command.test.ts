import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bought, makeHome } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const folder = mkdtempSync(join(tmpdir(), 'wattledger-export-'))
let home: string

beforeAll(async () => {
  const client = await system.login()
  home = await makeHome(client, { import: 0.25 }, { reference_id: 'home' })
  await client.submit([
    bought(home, 2, '2025-06-01T10:00:00Z', '2025-06-01T11:00:00Z', { session_reference_id: 's-1' }),
    bought(home, 4, '2025-06-02T10:00:00Z', '2025-06-02T11:00:00Z'),
  ])
})
afterAll(() => rmSync(folder, { recursive: true }))

const run = (words: readonly string[]) => {
  const { base_url: url, test_key: key } = system.sandbox()
  const period = ['--from', '2025-06-01', '--to', '2025-07-01', '--base-url', url]
  return runCommand(['export', ...words, ...period], { WATTLEDGER_DATA_DIR: folder, WATTLEDGER_API_KEY: key })
}
const fileOf = (name: string): string => join(folder, name)

describe('the command export', () => {
  it('writes a file and its manifest, and deletes the export of the service', async () => {
    const out = fileOf('records.csv')
    const done = await run(['records', '--out', out, '--location', 'reference:home', '--json'])
    expect([done.err, done.code]).toEqual(['', 0])
    const sums = { energy_wh: '6000', cost: { EUR: '1.5' }, unpriced_records: 0 }
    expect(JSON.parse(done.out)).toMatchObject({ file: out, rows: 2, format: 'csv', sums })
    expect(JSON.parse(readFileSync(`${out}.manifest.json`, 'utf8'))).toMatchObject({ rows: 2, sums })
    expect(readFileSync(out, 'utf8').split('\r\n')).toHaveLength(4)
    const client = await system.login()
    expect((await client.ask('GET', '/exports')) as { data: unknown[] }).toMatchObject({ data: [] })
    expect((await run(['records', '--out', out])).err).toContain('exists')
  })

  it('exports costs of each month, and tariffs', async () => {
    const costs = fileOf('costs.ndjson')
    const done = await run(['costs', '--out', costs, '--location', home, '--aggregation', 'MONTH'])
    expect([done.err, done.code]).toEqual(['', 0])
    const rows = readFileSync(costs, 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as { cost: number })
    expect(rows.reduce((sum, { cost }) => sum + cost, 0)).toBe(1.5)
    const tariffs = fileOf('tariffs.parquet')
    expect((await run(['tariffs', '--out', tariffs])).code).toBe(0)
    expect(readFileSync(tariffs).subarray(0, 4).toString()).toBe('PAR1')
  })

  it('names wrong arguments and refused requests, and leaves no file', async () => {
    const before = readdirSync(folder)
    const wrong = await run(['records', '--out', fileOf('records.xlsx')])
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('csv, ndjson, parquet, arrow')])
    const unknown = await run(['records', '--out', fileOf('none.csv'), '--location', 'loc_0198c0ffee00112233445566'])
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('location_not_found')])
    expect([readdirSync(folder), existsSync(fileOf('none.csv'))]).toEqual([before, false])
  })
})
