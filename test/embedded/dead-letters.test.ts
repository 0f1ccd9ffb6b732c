import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCostWorker } from '../../services/cost-worker/worker.ts'
import { operatorAuthenticator } from '../../services/platform/authenticate.ts'
import { openChdb } from '../../services/platform/clickhouse/chdb.ts'
import type { ClickHouse } from '../../services/platform/clickhouse/clickhouse.ts'
import { rowOfRecord } from '../../services/platform/clickhouse/meter-cost-reads.ts'
import { applySchemas, schemaFiles } from '../../services/platform/clickhouse/schemas.ts'
import { presentInstant } from '../../services/platform/clock.ts'
import { createApp } from '../../services/platform/http/app.ts'
import { listen } from '../../services/platform/http/listen.ts'
import { toHeaders } from '../../services/platform/log/chunk-headers.ts'
import { type Codec, openCodec } from '../../services/platform/log/codec.ts'
import { openLmdbLog } from '../../services/platform/log/lmdb-log.ts'
import type { Log } from '../../services/platform/log/log.ts'
import type { AcceptedRecord } from '../../services/platform/log/messages.ts'
import { laneKey, partitionOf } from '../../services/platform/log/partition.ts'
import { fromReplayHeader } from '../../services/platform/log/replay-header.ts'
import { localSchemaIds } from '../../services/platform/log/schema-ids.ts'
import { versionOf } from '../../services/platform/log/version.ts'
import { createMetrics } from '../../services/platform/metrics.ts'
import type { Tenant } from '../../services/platform/postgres/transaction.ts'
import { pricingBook } from '../../services/platform/pricing-book.ts'
import { createLogger } from '../../services/platform/telemetry.ts'
import { timeZone } from '../../services/platform/time-zone.ts'
import { deadLetterOperations } from '../../services/query-service/lanes/dead-letters.ts'
import { hexId } from '../suites/cost-rows.ts'
import { makeObjects } from '../support/gateway.ts'
import { makeTenants, makeTestFolder, openTestDatabase } from '../support/postgres.ts'
import { runCommand } from '../support/run-command.ts'
import { operatorKey } from '../support/service.ts'
import { until } from '../support/until.ts'

const topic = 'meter.records.v1'
const start = Date.parse('2025-06-02T10:00:00Z')
const missing = hexId('loc_', 77)
const stack = new AsyncDisposableStack()
let folder = ''
let baseUrl = ''
let log: Log
let codec: Codec
let clickHouse: ClickHouse
let tenant: Tenant
let createMissing: () => Promise<void>

type Letter = { readonly id: string; readonly code: string; readonly lane: number; readonly position: number | null }

const run = (...words: readonly string[]) => runCommand(words, { WATTLEDGER_DATA_DIR: folder, WATTLEDGER_OPERATOR_KEY: operatorKey })

const json = async <T>(...words: readonly string[]): Promise<T> => {
  const { code, out, err } = await run('dead-letters', ...words, '--base-url', baseUrl, '--json')
  if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}: ${err}`)
  return JSON.parse(out) as T
}

const listed = async (...words: readonly string[]) => (await json<{ readonly data: readonly Letter[] }>('list', ...words)).data

const recordAt = (locationId: string, number: number): AcceptedRecord => ({
  ...{ locationId, deviceId: null, energyFlowDirection: 'INBOUND', tariffDirection: 'IMPORT' },
  ...{ start, end: start + 3_600_000, energy: 2_000_000_000n, confidence: 1_000_000 },
  ...{ sessionReferenceId: null, recordReferenceId: `record ${number}`, recordNumber: number, recordId: hexId('', number) },
})

/** Append a chunk to the lane of a location that is in no registry. */
const append = (value: Buffer, headers: Readonly<Record<string, string>>) =>
  log.append(topic, partitionOf(laneKey(tenant.accountId, missing), log.partitions(topic)), {
    key: laneKey(tenant.accountId, missing),
    value,
    headers,
  })

const chunkOf = (...records: readonly AcceptedRecord[]) =>
  codec.encodeLane({ kind: 'records', parts: [{ ...tenant, batchId: null, receivedAt: start, records }] })

const rowOf = (number: number) => rowOfRecord(clickHouse, tenant, hexId('', number))

beforeAll(async () => {
  folder = stack.adopt(makeTestFolder(), path => rmSync(path, { recursive: true }))
  const { database } = stack.use(await openTestDatabase())
  tenant = (await makeTenants(database)).live
  for (const name of ['log', 'clickhouse']) mkdirSync(join(folder, name))
  log = stack.adopt(await openLmdbLog({ folder: join(folder, 'log'), now: presentInstant }), one => one.close())
  clickHouse = stack.adopt(openChdb({ folder: join(folder, 'clickhouse') }), db => db.close())
  await applySchemas(clickHouse, schemaFiles())
  codec = await openCodec(localSchemaIds())
  const logger = createLogger('error')
  logger.level = 'silent'
  const pricing = pricingBook(database, timeZone)
  const means = { log, codec, clickHouse, database, pricing, metrics: createMetrics(), logger, at: presentInstant }
  stack.use(await startCostWorker({ ...means, costAgain: async () => undefined, failing: { share: 1, least: 1 } }))
  createMissing = async () => {
    const { locationId } = await makeObjects({ database }, tenant, 'found again')
    await sql`update locations set id = ${missing} where id = ${locationId}`.execute(database.operator)
  }
  const ports = {
    authenticate: async () => ({
      ok: true as const,
      value: { ...tenant, keyId: 'key', scope: 'all' as const, defaultLayout: 'current' as const },
    }),
    authenticateOperator: operatorAuthenticator(operatorKey),
    idempotency: { begin: async () => ({ state: 'new' as const }), finish: async () => undefined, abandon: async () => undefined },
    at: presentInstant,
    elapsed: () => performance.now(),
    mintRequestId: () => 'req_test',
    log: logger,
    observe: () => undefined,
  }
  const app = createApp(deadLetterOperations({ log, codec, generation: () => 3, logger }), [], ports)
  const listener = stack.use(await listen(app, { host: '127.0.0.1', port: 0 }, ports))
  baseUrl = `http://127.0.0.1:${listener.port}`
  await append(chunkOf(recordAt(missing, 1), recordAt(missing, 2)), toHeaders({ generation: 3, chunkId: 'laid', batches: [] }))
  await append(Buffer.from('poison'), { from: 'elsewhere' })
  await until(
    () => listed(),
    letters => letters.length === 3,
  )
})

afterAll(() => stack.disposeAsync())

describe('what was put aside', () => {
  it('is listed newest first, by page, code and time', async () => {
    const letters = await listed()
    expect(letters.map(({ code, position }) => [code, position]).toSorted()).toEqual([
      ['location_unknown', 0],
      ['location_unknown', 1],
      ['undecodable', null],
    ])
    expect((await listed('--limit', '2')).map(({ id }) => id)).toEqual(letters.slice(0, 2).map(({ id }) => id))
    expect((await listed('--code', 'undecodable')).map(({ code }) => code)).toEqual(['undecodable'])
    expect(await listed('--since', '2100-01-01T00:00:00Z')).toEqual([])
    expect(await listed('--since', '1h')).toHaveLength(3)
    const { out } = await run('dead-letters', 'list', '--limit', '1', '--base-url', baseUrl)
    expect(out).toContain('There are more')
    expect(await run('dead-letters', 'list', '--since', 'yesterday', '--base-url', baseUrl)).toMatchObject({ code: 2 })
  })

  it('is listed whole page by page, none twice, while others come', async () => {
    const seen: string[] = []
    for (let next: string | null = ''; next !== null; ) {
      const before: string = next === '' ? '' : `&before=${next}`
      const response = await fetch(`${baseUrl}/operator/dead-letters?limit=1${before}`, { headers: { 'X-Operator-Key': operatorKey } })
      const page = (await response.json()) as { readonly data: readonly Letter[]; readonly next: string | null }
      seen.push(...page.data.map(({ id }) => id))
      if (seen.length === 1) {
        await append(Buffer.from('more poison'), {})
        await until(
          () => listed(),
          letters => letters.length === 4,
        )
      }
      next = page.next
    }
    expect(seen).toHaveLength(3)
    expect(new Set(seen).size).toBe(3)
  })

  it('is shown with its bytes, its headers, and what they say', async () => {
    const [known] = await listed('--code', 'location_unknown')
    expect(await json('show', known?.id ?? '')).toMatchObject({
      headers: { chunk: 'laid', generation: '3' },
      content: { kind: 'records', parts: [{ records: [{ locationId: missing, energy: '2000000000' }] }] },
      content_error: null,
    })
    const poison = (await listed('--code', 'undecodable')).at(-1)
    expect(await json('show', poison?.id ?? '')).toMatchObject({
      value_base64: btoa('poison'),
      headers: { from: 'elsewhere' },
      content: null,
    })
    const { out } = await run('dead-letters', 'show', poison?.id ?? '', '--base-url', baseUrl)
    expect(out).toContain(Buffer.from('poison').toString('hex'))
    expect(await run('dead-letters', 'show', '0-999', '--base-url', baseUrl)).toMatchObject({
      code: 1,
      err: expect.stringContaining('not_found'),
    })
  })

  it("is the operator's alone, whatever an account's key may do", async () => {
    const statusOf = async (headers: Readonly<Record<string, string>>) =>
      (await fetch(`${baseUrl}/operator/dead-letters`, { headers })).status
    expect(await statusOf({})).toBe(401)
    expect(await statusOf({ Authorization: 'Bearer token' })).toBe(403)
    expect(await statusOf({ 'X-Operator-Key': 'wrong' })).toBe(401)
    expect(await statusOf({ 'X-Operator-Key': operatorKey })).toBe(200)
  })

  it('is stored by a replay once its cause is gone, and once however often it is replayed', async () => {
    const [two, one] = await listed('--code', 'location_unknown')
    expect(await run('dead-letters', 'replay', '--base-url', baseUrl)).toMatchObject({ code: 2 })
    await createMissing()
    expect(await rowOf(1)).toBeNull()
    expect(await json('replay', one?.id ?? '', two?.id ?? '')).toMatchObject({ replayed: 2 })
    await until(
      () => Promise.all([rowOf(1), rowOf(2)]),
      rows => rows.every(row => row !== null),
    )
    const { messages } = await log.peek(topic, one?.lane ?? 0, 0, { maxMessages: 100, maxBytes: 10_000_000 })
    const origins = messages.map(({ headers }) => fromReplayHeader(headers)).filter(origin => origin !== null)
    expect(origins.map(({ generation, offset }) => [generation, offset])).toEqual([
      [3, 0],
      [3, 0],
    ])
    expect(origins.map(({ position }) => position).toSorted()).toEqual([0, 1])
    expect(await run('dead-letters', 'replay', '--all', '--code', 'location_unknown', '--base-url', baseUrl)).toMatchObject({
      code: 0,
      out: '2 of 2 put back into their lanes.\n',
    })
    const lane = one?.lane ?? 0
    await until(
      () => log.lag(topic, lane, 'cost-worker'),
      ({ committed, end }) => committed === end,
    )
    expect(await clickHouse.rows('SELECT toUInt32(count()), toUInt32(uniqExact(record_id)) FROM meter_cost FINAL')).toEqual([[2, 2]])
    expect(await listed('--code', 'location_unknown')).toHaveLength(2)
  })

  it('keeps the standing of its first place: what was sent again since holds', async () => {
    expect(await rowOf(1)).toMatchObject({ sourceVersion: versionOf(3, 0, 0), energy: 2_000_000_000n })
    expect(await rowOf(2)).toMatchObject({ sourceVersion: versionOf(3, 0, 1) })
    const headers = toHeaders({ generation: 3, chunkId: 'sent again', batches: [] })
    const sentAgain = await append(chunkOf({ ...recordAt(missing, 1), energy: 7_000_000_000n }), headers)
    await until(
      () => rowOf(1),
      row => row?.energy === 7_000_000_000n,
    )
    await run('dead-letters', 'replay', '--all', '--code', 'location_unknown', '--base-url', baseUrl)
    const lane = partitionOf(laneKey(tenant.accountId, missing), log.partitions(topic))
    await until(
      () => log.lag(topic, lane, 'cost-worker'),
      ({ committed, end }) => committed === end && end > sentAgain + 1,
    )
    expect(await rowOf(1)).toMatchObject({ sourceVersion: versionOf(3, sentAgain, 0), energy: 7_000_000_000n })
  })

  it('is put aside again where its cause is still there, and an id that is none is told', async () => {
    const before = await listed('--code', 'undecodable')
    const replayed = await run('dead-letters', 'replay', before[0]?.id ?? '', '7-12345', '--base-url', baseUrl)
    expect([replayed.code, replayed.out]).toEqual([1, expect.stringMatching(/7-12345 {2}not replayed: .*\n1 of 2 put back/)])
    await until(
      () => listed('--code', 'undecodable'),
      letters => letters.length === before.length + 1,
    )
  })

  it('says so where nothing answers', async () => {
    const { code, err } = await run('dead-letters', 'list', '--base-url', 'http://127.0.0.1:9')
    expect([code, err]).toEqual([1, expect.stringContaining('Is the service running?')])
  })
})
