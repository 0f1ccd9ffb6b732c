import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
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

const run = (words: readonly string[], url = system.sandbox().base_url) => {
  const { test_key: key } = system.sandbox()
  const from = words.includes('--from') ? [] : ['--from', '2025-06-01']
  const period = [...from, '--to', '2025-07-01', '--base-url', url]
  return runCommand(['export', ...words, ...period], { WATTLEDGER_DATA_DIR: folder, WATTLEDGER_API_KEY: key })
}
const fileOf = (name: string): string => join(folder, name)

/** Open a way to the service that cuts each download after some bytes. `cuts` counts them. */
const openCuttingProxy = async (bytesPerDownload: number) => {
  const { hostname, port } = new URL(system.sandbox().base_url)
  let cuts = 0
  const server = createServer(client => {
    const service = connect(Number(port), hostname)
    let left = Number.POSITIVE_INFINITY
    client.on('data', (data: Buffer) => {
      left = data.includes('/file ') ? bytesPerDownload : Number.POSITIVE_INFINITY
      service.write(data)
    })
    service.on('data', (data: Buffer) => {
      left -= data.length
      if (left > 0) client.write(data)
      else if (!client.destroyed) {
        cuts += 1
        client.resetAndDestroy()
        service.destroy()
      }
    })
    for (const [one, other] of [[client, service] as const, [service, client] as const]) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    cuts: () => cuts,
    [Symbol.asyncDispose]: async () => void server.close(),
  }
}

describe('the command export', () => {
  it('continues an interrupted download, and the file has each byte once', async () => {
    const client = await system.login()
    const start = (index: number): string => new Date(Date.UTC(2025, 5, 3) + index * 60_000).toISOString()
    const other = await makeHome(client, { import: 0.25 })
    await client.submit(Array.from({ length: 3_000 }, (_, index) => bought(other, 1, start(index), start(index + 1))))
    const out = fileOf('cut.ndjson')
    await using proxy = await openCuttingProxy(150_000)
    const done = await run(['records', '--out', out, '--location', other], proxy.url)
    expect([done.err, done.code]).toEqual(['', 0])
    const manifest = JSON.parse(readFileSync(`${out}.manifest.json`, 'utf8')) as { bytes: number; sha256: string }
    const bytes = readFileSync(out)
    expect([bytes.length, createHash('sha256').update(bytes).digest('hex')]).toEqual([manifest.bytes, manifest.sha256])
    expect(proxy.cuts()).toBeGreaterThan(Math.floor(manifest.bytes / 150_000) - 1)
    expect(proxy.cuts()).toBeGreaterThan(3)
  })

  it('writes an empty file if there is nothing to write', async () => {
    const out = fileOf('statements.ndjson')
    expect(await run(['statements', '--out', out])).toMatchObject({ err: '', code: 0 })
    expect([readFileSync(out, 'utf8'), readdirSync(folder).some(name => name.endsWith('.part'))]).toEqual(['', false])
    expect(JSON.parse(readFileSync(`${out}.manifest.json`, 'utf8'))).toMatchObject({ rows: 0, bytes: 0 })
  })

  it('says before the export that the file cannot be written', async () => {
    const done = await run(['records', '--out', fileOf('missing/records.csv')])
    expect([done.code, done.err]).toEqual([1, expect.stringContaining('cannot be written')])
    const client = await system.login()
    expect((await client.ask('GET', '/exports')) as { data: unknown[] }).toMatchObject({ data: [] })
  })

  it('writes a file and its manifest, and deletes the export of the service', async () => {
    const out = fileOf('records.csv')
    const done = await run(['records', '--out', out, '--location', 'reference:home', '--json'])
    expect([done.err, done.code]).toEqual(['', 0])
    const sums = { energy_wh: '6000', cost: { EUR: '1.5' }, unpriced_records: 0 }
    expect(JSON.parse(done.out)).toMatchObject({ file: out, rows: 2, format: 'csv', sums })
    expect(JSON.parse(readFileSync(`${out}.manifest.json`, 'utf8'))).toMatchObject({
      rows: 2,
      sums,
      version: expect.stringMatching(/^[0-9]+[.][0-9]+[.][0-9]+$/),
    })
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
    const noFrame = await run(['costs', '--out', fileOf('cdr.json'), '--format', 'ocpi-cdr-2.2.1'])
    expect([noFrame.code, noFrame.err]).toEqual([2, expect.stringContaining('party, token and location')])
    const backwards = await run(['records', '--out', fileOf('back.csv'), '--from', '2025-08-01'])
    expect([backwards.code, backwards.err]).toEqual([2, expect.stringContaining('--to must be after --from.')])
    const unknown = await run(['records', '--out', fileOf('none.csv'), '--location', 'loc_0198c0ffee00112233445566'])
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('location_not_found')])
    expect([readdirSync(folder), existsSync(fileOf('none.csv'))]).toEqual([before, false])
  })
})
