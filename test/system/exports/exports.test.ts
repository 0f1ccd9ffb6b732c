import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import { beforeAll, describe, expect, it } from 'vitest'
import { makeKey, openRecords } from '../../support/registry/accounts.ts'
import { postStatement } from '../../support/statements/statement-answer.ts'
import { type Client, login } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { until } from '../../support/system/until.ts'
import { useSystem } from '../../support/system/use-system.ts'

type Export = {
  readonly id: string
  readonly status: string
  readonly error: { readonly code: string; readonly message: string } | null
  readonly manifest: {
    readonly rows: number
    readonly sums: object
    readonly sha256: string
    readonly bytes: number
    readonly filters: object
    readonly schema: readonly { readonly name: string }[]
  } | null
}

const system = useSystem()
let client: Client
let home: string

const period = { start_time: '2025-06-01T00:00:00Z', end_time: '2025-07-01T00:00:00Z' }
const hour = (index: number): string => new Date(Date.UTC(2025, 5, 1) + index * 3_600_000).toISOString()
const hours = 500

const create = async (body: object): Promise<Export> =>
  (await client.ask('POST', '/exports', { format: 'ndjson', ...period, ...body })) as Export
const read = async (id: string): Promise<Export> => (await client.ask('GET', `/exports/${id}`)) as Export
const finished = (id: string): Promise<Export> =>
  until(
    () => read(id),
    ({ status }) => status === 'DONE' || status === 'FAILED',
  )
const done = async (body: object): Promise<Export> => {
  const { id } = await create(body)
  const found = await finished(id)
  expect([found.status, found.error]).toEqual(['DONE', null])
  return found
}
const remove = ({ id }: Export) => client.ask('DELETE', `/exports/${id}`)

const fetchFile = (id: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> => {
  const { base_url: url, account_id: account, test_key: key } = system.sandbox()
  const authorization = `Basic ${Buffer.from(`${account}:${key}`).toString('base64')}`
  return fetch(`${url}/exports/${id}/file`, { headers: { Authorization: authorization, ...headers } })
}
const files = (): readonly string[] => readdirSync(join(system.folder, 'exports', 'files'))

beforeAll(async () => {
  client = await system.login()
  home = await makeHome(client, { import: 0.123456789 })
  await client.submit(Array.from({ length: hours }, (_, index) => bought(home, 1.234567, hour(index), hour(index + 1))))
})

describe('an export of records', () => {
  it.each(['parquet', 'csv', 'ndjson', 'arrow'])('has a manifest that is counted from its %s file', async format => {
    const found = await done({ kind: 'records', format })
    // 500 × 1234.567 Wh; 500 × round(1.234567 × 0.123456789, 9).
    expect(found.manifest?.sums).toEqual({
      energy_wh: '617283.5',
      cost: { EUR: '76.207839' },
      unpriced_records: 0,
    })
    expect([found.manifest?.rows, found.manifest?.schema.length]).toEqual([hours, 18])
    const answer = await fetchFile(found.id)
    const bytes = Buffer.from(await answer.arrayBuffer())
    expect(bytes.length).toBe(found.manifest?.bytes)
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(found.manifest?.sha256)
    expect(answer.headers.get('etag')).toBe(`"${found.manifest?.sha256}"`)
    if (format === 'parquet') {
      const rows = await parquetReadObjects({
        file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
      })
      const sum = rows.reduce((total, row) => total + BigInt(Math.round(row['cost'] * 1e9)), 0n)
      expect([rows.length, sum]).toEqual([hours, 76_207_839_000n])
    }
    await remove(found)
  })

  it('is downloaded in parts, and is gone after its deletion', async () => {
    const found = await done({ kind: 'records', format: 'csv', location_id: home, pieces: true })
    expect(found.manifest?.filters).toEqual({ location_id: home, pieces: 'true' })
    const whole = await (await fetchFile(found.id)).text()
    const part = await fetchFile(found.id, { Range: 'bytes=10-19' })
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 10-19/${whole.length}`])
    expect(await part.text()).toBe(whole.slice(10, 20))
    const tail = await fetchFile(found.id, { Range: 'bytes=-5' })
    expect(await tail.text()).toBe(whole.slice(-5))
    const beyond = await fetchFile(found.id, { Range: `bytes=${whole.length}-` })
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, `bytes */${whole.length}`])
    expect(await beyond.json()).toMatchObject({ object: 'error', code: 'range_not_satisfiable' })
    const etag = part.headers.get('etag') ?? ''
    const range = 'bytes=10-19'
    for (const [headers, status] of [
      [{ 'If-None-Match': etag }, 304],
      [{ 'If-None-Match': `"other", W/${etag}` }, 304],
      [{ 'If-None-Match': '*' }, 304],
      [{ 'If-None-Match': '"other"' }, 200],
      [{ 'If-None-Match': etag, Range: range }, 304],
      [{ 'If-Match': etag }, 200],
      [{ 'If-Match': `"other", ${etag}`, Range: range }, 206],
      [{ 'If-Match': '*' }, 200],
      [{ 'If-Match': '"other"' }, 412],
      [{ 'If-Match': `W/${etag}` }, 412],
      [{ 'If-Match': '"other"', Range: range }, 412],
      [{ 'If-Match': '"other"', 'If-None-Match': etag }, 412],
      [{ 'If-Range': etag, Range: range }, 206],
      [{ 'If-Range': `W/${etag}`, Range: range }, 200],
      [{ 'If-Range': 'Wed, 21 Oct 2015 07:28:00 GMT', Range: range }, 200],
    ] as const) {
      const answered = await fetchFile(found.id, headers)
      expect([headers, answered.status]).toEqual([headers, status])
      if (status === 412) expect(await answered.json()).toMatchObject({ code: 'precondition_failed' })
      else await answered.arrayBuffer()
    }
    const changed = await fetchFile(found.id, { Range: 'bytes=10-19', 'If-Range': '"other"' })
    expect([changed.status, (await changed.text()).length]).toEqual([200, whole.length])
    await remove(found)
    expect((await fetchFile(found.id)).status).toBe(404)
    expect(files().filter(name => name.startsWith(found.id))).toEqual([])
  })
})

describe('an export of other kinds', () => {
  it('has the costs of each day, with the sums of the elements', async () => {
    const found = await done({ kind: 'costs', location_id: home, format: 'parquet' })
    expect(found.manifest?.sums).toEqual({ energy_wh: '617283.5', cost: { EUR: '76.207839' }, unpriced_records: 0 })
    expect(found.manifest?.rows).toBe(31)
    await remove(found)
  })

  it('has the tariffs and the events of the period', async () => {
    const tariffs = await done({ kind: 'tariffs' })
    const [line = ''] = (await (await fetchFile(tariffs.id)).text()).split('\n')
    expect(JSON.parse(line)).toMatchObject({ object: 'tariff', location_id: home })
    const now = { start_time: '2020-01-01T00:00:00Z', end_time: '2100-01-01T00:00:00Z' }
    const events = await done({ kind: 'events', format: 'csv', ...now })
    expect(await (await fetchFile(events.id)).text()).toContain('"json"')
    expect(events.manifest?.rows).toBeGreaterThan(0)
    await remove(tariffs)
    await remove(events)
  })

  it('has the FINAL statements with a day of the period, as they were answered', async () => {
    const june = { start_date: '2025-06-01', end_date: '2025-07-01', expect: 'NOTHING' }
    const { id, hash } = await postStatement(client, home, { ...june, rounding: { profile: 'LARGEST_REMAINDER' } })
    const draft = await done({ kind: 'statements' })
    expect(draft.manifest?.rows).toBe(0)
    await remove(draft)
    const final = await client.send('POST', `/statements/${id}/finalise`, { hash })
    const statements = await done({ kind: 'statements', location_id: home })
    expect(await (await fetchFile(statements.id)).text()).toBe(`${final.text}\n`)
    expect(statements.manifest?.rows).toBe(1)
    await remove(statements)
    const july = await done({
      kind: 'statements',
      start_time: '2025-07-01T00:00:00Z',
      end_time: '2025-08-01T00:00:00Z',
    })
    expect(july.manifest?.rows).toBe(0)
    await remove(july)
  })
})

describe('exports of an account', () => {
  it('are at most two at a time, also if many are requested at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => client.send('POST', '/exports', { kind: 'records', format: 'csv', ...period })),
    )
    const accepted = answers.filter(({ status }) => status === 202)
    const refused = answers.filter(({ status, text }) => status === 429 && text.includes('"too_many_exports"'))
    expect([accepted.length + refused.length, accepted.length >= 2]).toEqual([20, true])
    const ids = accepted.map(({ json }) => (json as Export).id)
    for (const id of ids) expect((await finished(id)).status).toBe('DONE')
    const list = (await client.ask('GET', '/exports')) as { data: Export[] }
    expect(list.data.map(({ id }) => id).sort()).toEqual(ids.sort())
    for (const one of list.data) await remove(one)
  })

  it('refuse members of other kinds, and unknown objects', async () => {
    const refusal = async (body: object) => {
      const { json } = await client.send('POST', '/exports', { kind: 'records', format: 'csv', ...period, ...body })
      return [(json as { code: string }).code, (json as { field: string }).field]
    }
    expect(await refusal({ aggregation: 'DAY' })).toEqual(['field_invalid', 'aggregation'])
    expect(await refusal({ kind: 'events', device_id: 'dev_0198c0ffee00112233445566' })).toEqual([
      'field_invalid',
      'device_id',
    ])
    expect(await refusal({ location_id: 'loc_0198c0ffee00112233445566' })).toEqual([
      'location_not_found',
      'location_id',
    ])
    const live = await system.login('live')
    const own = await done({ kind: 'tariffs' })
    expect((await live.send('GET', `/exports/${own.id}`)).status).toBe(404)
    expect((await live.send('GET', `/exports/${own.id}/file`)).status).toBe(404)
    expect((await live.send('DELETE', `/exports/${own.id}`)).status).toBe(404)
    await remove(own)
  })

  it('are deleted by their creator or by a key of scope all, and by no other key of scope read', async () => {
    await using records = await openRecords(system.folder)
    const sandbox = system.sandbox()
    const reader = async () => {
      const { key } = await makeKey(records, system.folder, sandbox, 'read')
      return login({ ...sandbox, test_key: key })
    }
    const [creator, other] = [await reader(), await reader()]
    const body = { kind: 'tariffs', format: 'csv', ...period }
    const ids: string[] = []
    for (let count = 0; count < 2; count += 1) ids.push(((await creator.ask('POST', '/exports', body)) as Export).id)
    for (const id of ids) {
      await finished(id)
      const refused = await other.send('DELETE', `/exports/${id}`)
      expect([refused.status, (refused.json as { code: string }).code]).toEqual([403, 'insufficient_scope'])
      expect((await other.send('GET', `/exports/${id}`)).status).toBe(200)
    }
    const deleted = [
      await creator.send('DELETE', `/exports/${ids[0]}`),
      await client.send('DELETE', `/exports/${ids[1]}`),
    ]
    expect(deleted.map(({ status }) => status)).toEqual([202, 202])
  })

  it('survive the end of the process, and no part remains', async () => {
    await makeOne(client, '/devices', { reference_id: 'car' })
    const { id } = await create({ kind: 'records', format: 'parquet' })
    const orphan = `exp_${'0'.repeat(24)}.${randomUUID()}.parquet.part`
    writeFileSync(join(system.folder, 'exports', 'files', orphan), 'part of a file')
    await system.killAndStart()
    client = await system.login()
    const found = await finished(id)
    expect([found.status, found.manifest?.rows]).toEqual(['DONE', hours])
    await until(files, names => names.length === 1)
    expect(files()).toEqual([expect.stringMatching(new RegExp(`^${id}\\.[0-9a-f-]{36}\\.parquet$`))])
  })
})
