import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recordIdentityText } from '../../services/domain/identifier.ts'
import { presentInstant } from '../../services/platform/clock.ts'
import { deleteDevice } from '../../services/platform/postgres/devices.ts'
import { type Tenant, withTenant } from '../../services/platform/postgres/transaction.ts'
import { callAs, type Gateway, headersOf, makeObjects, openGateway, partsOf, readLanes, recordsOf } from '../support/gateway.ts'
import { makeTenants } from '../support/postgres.ts'
import type { Call } from '../support/service.ts'

let gateway: Gateway
let live: Tenant
let call: Call
let locationId = ''
let deviceId = ''

beforeAll(async () => {
  gateway = await openGateway()
  live = (await makeTenants(gateway.database)).live
  call = callAs(gateway.app, live)
  ;({ locationId, deviceId } = await makeObjects(gateway, live, 'home'))
})
afterAll(() => gateway[Symbol.asyncDispose]())

const hour = 3_600_000
const start = Math.floor(presentInstant() / hour) * hour - 24 * hour
const record = (index: number, change: object = {}) => ({
  location_id: locationId,
  units: 'WH',
  value: index + 0.25,
  start_time: new Date(start + index * 1000).toISOString(),
  end_time: new Date(start + index * 1000 + 1000).toISOString(),
  ...change,
})
const many = (count: number) => Array.from({ length: count }, (_, index) => record(index))

type Batch = {
  readonly id: string
  readonly records_submitted: number
  readonly records_accepted: number
  readonly failed_records: readonly { record_num: number; record_reference_id: string | null; error: string }[]
}
const submit = async (body: unknown, headers = {}): Promise<Batch> => {
  const answer = await call('PUT', '/meters/interval', body, headers)
  expect([answer.status, answer.text.slice(0, 300)]).toEqual([200, expect.any(String)])
  return answer.body as unknown as Batch
}

describe('what is accepted', () => {
  it('stands in the lanes as it was sent, each record once, with the id of its identity', async () => {
    const batch = await submit([
      record(0, { device_id: deviceId, session_reference_id: 'Sitzung ä', record_reference_id: 'r-0' }),
      record(1, { energy_flow_direction: 'OUTBOUND', tariff_direction: 'IMPORT', units: 'KW', value: 3.6, confidence: 0.5 }),
    ])
    expect(batch).toMatchObject({
      object: 'meter_batch',
      records_submitted: 2,
      records_accepted: 2,
      records_processed: 0,
      failed_records: [],
    })
    const [first, second] = recordsOf(await readLanes(gateway), batch.id)
    expect(first).toMatchObject({
      recordNumber: 1,
      deviceId,
      sessionReferenceId: 'Sitzung ä',
      energy: 250_000n,
      confidence: 1_000_000,
      start,
    })
    // 3.6 kW over a second is 1 Wh.
    expect(second).toMatchObject({ recordNumber: 2, energyFlowDirection: 'OUTBOUND', energy: 1_000_000n, confidence: 500_000 })
    for (const stored of [first, second]) {
      if (stored === undefined) throw new Error('a record is missing')
      const identity = recordIdentityText({ ...live, ...stored })
      expect(stored.recordId).toBe(createHash('sha256').update(identity).digest('hex').slice(0, 24))
    }
  })

  it('is the same in both layouts', async () => {
    const current = await submit([record(10, { energy_flow_direction: 'OUTBOUND', tariff_direction: 'EXPORT' })])
    const earlier = await submit([record(10, { direction: 'EXPORT', tariff_rate: 'EXPORT' })], { 'api-version': '2024-08-24' })
    const written = await readLanes(gateway)
    expect(recordsOf(written, earlier.id)).toEqual(recordsOf(written, current.id))
    expect(recordsOf(written, current.id)).toHaveLength(1)
  })

  it('may come in lines and compressed', async () => {
    const lines = [record(20), record(21)].map(one => JSON.stringify(one)).join('\n')
    const inLines = await submit(`${lines}\n\n`, { 'content-type': 'application/x-ndjson' })
    const request = {
      method: 'PUT',
      headers: { authorization: `Bearer ${live.accountId}/live`, 'content-type': 'application/json', 'content-encoding': 'gzip' },
    }
    const response = await gateway.app.request('/meters/interval', { ...request, body: gzipSync(JSON.stringify([record(20), record(21)])) })
    const compressed = (await response.json()) as Batch
    const written = await readLanes(gateway)
    expect(recordsOf(written, inLines.id)).toHaveLength(2)
    expect(recordsOf(written, compressed.id)).toEqual(recordsOf(written, inLines.id))
  })

  it('tells in its headers which records of which batch a chunk holds, and keeps their order', async () => {
    const batch = await submit(many(1200))
    const written = await readLanes(gateway)
    const chunks = written.filter(({ headers }) => headers.batches.some(one => one.batchId === batch.id))
    expect(chunks.length).toBeGreaterThan(1)
    for (const { headers, message } of chunks) {
      const records =
        message.kind === 'records' ? message.parts.filter(part => part.batchId === batch.id).flatMap(part => part.records) : []
      expect(headers.generation).toBe(3)
      expect(headers.batches.find(one => one.batchId === batch.id)?.recordNumbers).toEqual(records.map(one => one.recordNumber))
      expect(message.kind === 'records' && message.parts.flatMap(part => part.records).length).toBeLessThanOrEqual(500)
    }
    expect(new Set(chunks.map(({ headers }) => headers.chunkId)).size).toBe(chunks.length)
    const inOrder = partsOf(written, batch.id).flatMap(part => part.records.map(one => one.recordNumber))
    expect(inOrder).toEqual(Array.from({ length: 1200 }, (_, index) => index + 1))
  })

  it('shares chunks between concurrent requests', async () => {
    const batches = await Promise.all(Array.from({ length: 40 }, (_, index) => submit([record(100 + index)])))
    const written = await readLanes(gateway)
    const ids = new Set(batches.map(batch => batch.id))
    const chunks = written.filter(({ headers }) => headers.batches.some(one => ids.has(one.batchId)))
    expect(ids.size).toBe(40)
    expect(chunks.length).toBeLessThan(40)
    for (const batch of batches) expect(recordsOf(written, batch.id)).toHaveLength(1)
  })

  it('has one id however often it is sent at once', async () => {
    const twins = await Promise.all(Array.from({ length: 5 }, () => submit([record(300), record(301)])))
    const written = await readLanes(gateway)
    const ids = twins.map(twin => recordsOf(written, twin.id).map(one => one.recordId))
    for (const one of ids) expect(one).toEqual(ids[0])
  })
})

describe('what is refused', () => {
  it('is numbered from 1, named, and kept in the header of its batch', async () => {
    const body = [
      record(0),
      record(1, { record_reference_id: 'late', end_time: new Date(start).toISOString() }),
      record(0),
      record(2, { location_id: 'loc_ffffffffffffffffffffffff' }),
      record(3, { device_id: 'dev_ffffffffffffffffffffffff' }),
      'no record',
      record(4, { note: 'x'.repeat(8200) }),
      record(5, { direction: 'IMPORT' }),
    ]
    const batch = await submit(body)
    expect(batch).toMatchObject({ records_submitted: 8, records_accepted: 1 })
    expect(batch.failed_records.map(failed => failed.record_num)).toEqual([2, 3, 4, 5, 6, 7, 8])
    expect(batch.failed_records[0]).toEqual({
      record_num: 2,
      record_reference_id: 'late',
      error: 'end_time must not be before start_time',
    })
    expect(batch.failed_records[1]?.error).toBe('duplicate of record 1')
    const [header] = headersOf(await readLanes(gateway), batch.id)
    expect(header).toMatchObject({ recordsSubmitted: 8, recordsAccepted: 1 })
    expect(header?.refused.map(failed => failed.error)).toEqual(batch.failed_records.map(failed => failed.error))
  })

  it('leaves a batch with its header also where nothing is good, cut into messages that fit', async () => {
    const batch = await submit(Array.from({ length: 10_000 }, () => ({ record_reference_id: 'x'.repeat(255) })))
    const headers = headersOf(await readLanes(gateway), batch.id)
    expect(batch).toMatchObject({ records_submitted: 10_000, records_accepted: 0 })
    expect(headers.length).toBeGreaterThan(1)
    expect(headers.flatMap(header => header.refused.map(failed => failed.recordNumber))).toEqual(
      Array.from({ length: 10_000 }, (_, index) => index + 1),
    )
  })

  it('is what belongs to the other mode or another account', async () => {
    const other = (await makeTenants(gateway.database)).live
    for (const tenant of [other, { ...live, liveMode: false }]) {
      const answer = await callAs(gateway.app, tenant)('PUT', '/meters/interval', [record(0), record(1, { device_id: deviceId })])
      expect([answer.status, answer.body['records_accepted']]).toEqual([200, 0])
    }
  })
})

describe('limits', () => {
  it('takes 10,000 records and refuses 10,001', async () => {
    expect(await submit(many(10_000))).toMatchObject({ records_accepted: 10_000 })
    const answer = await call('PUT', '/meters/interval', many(10_001))
    expect([answer.status, answer.body['code']]).toEqual([400, 'too_many_records'])
  })

  it('takes a record of 8 KiB and refuses one of a byte more, alone', async () => {
    const padded = (length: number): string => {
      const text = JSON.stringify(record(0))
      return `${text.slice(0, -1)}${' '.repeat(length - text.length)}}`
    }
    const batch = await submit(`[${padded(8192)},${JSON.stringify(record(1))}]`)
    expect(batch.records_accepted).toBe(2)
    const larger = await submit(`[${padded(8193)},${JSON.stringify(record(1))}]`)
    expect(larger.failed_records.map(failed => failed.record_num)).toEqual([1])
  })

  it.each([
    ['an empty list', '[]', 400],
    ['an object', '{}', 400],
    ['no JSON', '[{]', 400],
    ['nothing', '', 400],
    ['a number', '17', 400],
    ['a member twice', '[{"value":1,"value":2}]', 400],
    ['33 levels', `${'['.repeat(33)}${']'.repeat(33)}`, 400],
    ['half a surrogate', '["\\ud800"]', 400],
    ['bytes that are not UTF-8', '\u00ff', 400],
    ['more than 16 MiB', `[${' '.repeat(16 * 2 ** 20)}]`, 413],
  ])('refuses %s as a whole', async (_, body, status) => {
    const bytes = body === '\u00ff' ? Buffer.from([0x5b, 0xff, 0x5d]) : body
    const headers = { authorization: `Bearer ${live.accountId}/live`, 'content-type': 'application/json' }
    const response = await gateway.app.request('/meters/interval', { method: 'PUT', headers, body: bytes })
    expect([response.status, ((await response.json()) as { object: string }).object]).toEqual([status, 'error'])
    const earlier = await gateway.app.request('/meters/interval', {
      method: 'PUT',
      headers: { ...headers, 'api-version': '2024-08-24' },
      body: bytes,
    })
    expect(earlier.status).toBe(status === 400 ? 409 : status)
  })

  it('never answers 5xx to elements of any kind', async () => {
    const odd = [null, true, 1e300, 'x', [], [[]], {}, { location_id: {} }, { ...record(0), value: [] }, { ...record(0), start_time: {} }]
    const batch = await submit(odd)
    expect(batch).toMatchObject({ records_submitted: odd.length, records_accepted: 0 })
    expect(gateway.faults).toEqual([])
  })
})

describe('stores that are away or full', () => {
  it('answers 503 when the log is full, and acknowledges nothing', async () => {
    await using small = await openGateway({ roomBytes: 300_000 }, gateway.clickHouse)
    const tenant = (await makeTenants(small.database)).live
    const objects = await makeObjects(small, tenant, 'home')
    const records = (round: number) =>
      many(500).map((one, index) => ({ ...one, location_id: objects.locationId, record_reference_id: `${round}-${index}` }))
    const acknowledged: string[] = []
    let refusal = await callAs(small.app, tenant)('PUT', '/meters/interval', records(0))
    for (let round = 1; refusal.status === 200 && round < 50; round += 1) {
      acknowledged.push(String(refusal.body['id']))
      refusal = await callAs(small.app, tenant)('PUT', '/meters/interval', records(round))
    }
    expect([refusal.status, refusal.body['code'], refusal.headers.get('retry-after')]).toEqual([503, 'unavailable', '5'])
    expect(refusal.text).not.toContain('bat_')
    const written = await readLanes(small)
    expect(acknowledged.length).toBeGreaterThan(0)
    for (const id of acknowledged) expect(recordsOf(written, id)).toHaveLength(500)
    // The ledger counts what is durable, acknowledged or not.
    const durable = written.flatMap(({ message }) => (message.kind === 'records' ? message.parts : [])).flatMap(part => part.records)
    expect(small.counted.accepted).toBe(durable.length)
  })

  it('goes on with known objects while PostgreSQL is away; the rest is 503', async () => {
    await using alone = await openGateway({}, gateway.clickHouse)
    const tenant = (await makeTenants(alone.database)).live
    const objects = await makeObjects(alone, tenant, 'home')
    const send = (change: object) =>
      callAs(alone.app, tenant)('PUT', '/meters/interval', [record(0, { location_id: objects.locationId, ...change })])
    expect((await send({})).body['records_accepted']).toBe(1)
    alone.severPostgres()
    expect((await send({ value: 7 })).body['records_accepted']).toBe(1)
    const unknown = await send({ device_id: objects.deviceId })
    expect([unknown.status, unknown.body['code']]).toEqual([503, 'unavailable'])
  })

  it('refuses a device that was deleted', async () => {
    const objects = await makeObjects(gateway, live, 'gone')
    await withTenant(gateway.database, live, transaction => deleteDevice(transaction, objects.deviceId, presentInstant()))
    expect((await submit([record(0, { device_id: objects.deviceId })])).failed_records).toHaveLength(1)
  })
})
