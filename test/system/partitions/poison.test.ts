import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noOptions } from '../../../services/domain/record/record.ts'
import { batchIds } from '../../../services/platform/ids/batch-id.ts'
import { openCodec } from '../../../services/platform/log/avro/codec.ts'
import { localSchemaIds } from '../../../services/platform/log/avro/schema-ids.ts'
import { type ChunkBatch, toHeaders } from '../../../services/platform/log/chunk-headers.ts'
import { openLmdbLog } from '../../../services/platform/log/lmdb/lmdb-log.ts'
import { type Assignment, deadLetterTopic, type Log, recordTopic } from '../../../services/platform/log/log.ts'
import type { DeadLetter } from '../../../services/platform/log/messages.ts'
import { partitionKey, partitionOf } from '../../../services/platform/log/partition.ts'
import type { AcceptedRecord } from '../../../services/record-bytes/accepted-record.ts'
import { recordIdDigits } from '../../../services/record-bytes/record-id.ts'
import { measureCpuTime } from '../../support/cpu/measure-cpu-time.ts'
import { type Client, login } from '../../support/system/client.ts'
import { startPrepared } from '../../support/system/prepared-folder.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../../support/system/running-system.ts'

const folder = dataFolder()
const codec = await openCodec(localSchemaIds())
const hourMs = 3_600_000
const start = Date.parse('2025-06-02T10:00:00Z')

/** Messages that were appended while the system was down: invalid bytes by their error, and batches. */
const poison = {
  'no bytes at all': Buffer.alloc(0),
  'bytes of something else': Buffer.from('{"location_id":"loc_1"}'),
  'an unknown schema number': Buffer.from([0, 1, 2, 3, 4, 0, 2, 2]),
}
let system: RunningSystem | undefined
let client: Client
let locationId = ''
let batches: { readonly unreadable: string; readonly half: string }
let letters: readonly DeadLetter[] = []

const recordOf = (location: string, recordNumber: number, recordReferenceId: string): AcceptedRecord => {
  const record = {
    locationId: location,
    deviceId: null,
    ...({ energyFlowDirection: 'INBOUND', tariffDirection: 'IMPORT' } as const),
    start,
    end: start + hourMs,
    energy: 2_000_000_000n,
    confidence: 1_000_000,
    ...noOptions,
    recordReferenceId,
    recordNumber,
  }
  return { ...record, recordId: recordIdDigits(tenant(), record) }
}

const tenant = () => ({ accountId: system?.sandbox.account_id ?? '', liveMode: false })

const secret = (): string =>
  (JSON.parse(readFileSync(join(folder, 'secrets.json'), 'utf8')) as { secret: string }).secret

const withLog = async (work: (log: Log) => Promise<void>): Promise<void> => {
  const log = await openLmdbLog({ folder: join(folder, 'log'), now: () => Date.now() })
  await work(log)
  await log.close()
}

/** Append poison messages to the partition of the location, with good records after them. */
const appendPoison = async (log: Log): Promise<void> => {
  const { accountId, liveMode } = tenant()
  const partition = partitionOf(partitionKey(accountId, locationId), log.partitions(recordTopic))
  const [unreadable, half] = [0, 1].map(() => batchIds(secret()).create(tenant(), Date.now())) as [string, string]
  batches = { unreadable, half }
  const ofBatch = (batchId: string, recordNumbers: readonly number[]): ChunkBatch => ({
    accountId,
    liveMode,
    batchId,
    recordNumbers,
  })
  let chunks = 0
  const append = (value: Buffer, ...named: readonly ChunkBatch[]) =>
    log.append(recordTopic, partition, {
      key: partitionKey(accountId, locationId),
      value,
      headers: toHeaders({ generation: 1, chunkId: `laid${chunks++}`, batches: named }),
    })
  for (const value of Object.values(poison))
    await log.append(recordTopic, partition, { key: 'poison', value, headers: { from: 'elsewhere' } })
  const records = [recordOf(locationId, 1, 'good'), recordOf(`loc_${'0'.repeat(23)}1`, 2, 'of no location')]
  const chunk = codec.encodeMeterMessage({
    kind: 'records',
    parts: [{ ...tenant(), batchId: half, receivedAt: Date.now(), records }],
  })
  await append(chunk, ofBatch(half, [1, 2]))
  await append(chunk.subarray(0, -7), ofBatch(unreadable, [1, 2, 3]))
  for (const [batchId, count] of [
    [half, 2],
    [unreadable, 3],
  ] as const) {
    const counts = { recordsSubmitted: count, recordsAccepted: count, refused: [] }
    await append(
      codec.encodeMeterMessage({ kind: 'submission', ...tenant(), batchId, receivedAt: Date.now(), ...counts }),
    )
  }
}

const readLetters = async (log: Log): Promise<void> => {
  const assignments: Assignment[] = []
  await log.subscribe(deadLetterTopic, 'test', partition => assignments.push(partition))
  const found: DeadLetter[] = []
  for (const partition of assignments) {
    const { end } = await log.lag(deadLetterTopic, partition.partition, 'test')
    if (end === 0) continue
    for (const { value } of await partition.read({ maxMessages: 1_000, maxBytes: 2 ** 26 }))
      found.push(await codec.decodeDeadLetter(value))
  }
  letters = found
}

beforeAll(async () => {
  system = await startPrepared(folder)
  client = await login(system.sandbox)
  const { id } = (await client.ask('POST', '/locations', { timezone: 'UTC', currency_code: 'EUR' })) as { id: string }
  locationId = id
  const hours = [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 0.25 }] }]
  const schedule = [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }]
  await client.ask('POST', '/tariffs', { location_id: id, direction: 'IMPORT', type: 'COMMODITY', schedule })
  expect(await system.stop()).toBe(0)
  await withLog(appendPoison)
  system = await startSystem(folder)
  client = await login(system.sandbox)
}, 180_000)

afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  removeData(folder)
})

const listed = async (reference: string): Promise<readonly unknown[]> => {
  const { data } = (await client.ask(
    'GET',
    `/meters/records?location_id=${locationId}&record_reference_id=${reference}`,
  )) as {
    data: readonly unknown[]
  }
  return data
}

describe('poison messages in a partition', () => {
  it('do not delay the records after them by more than 5 s', { timeout: 120_000 }, async () => {
    const sent = {
      location_id: locationId,
      record_reference_id: 'behind',
      units: 'KWH',
      value: 2,
      start_time: '2025-06-02T10:00:00Z',
      end_time: '2025-06-02T11:00:00Z',
    }
    const { ms } = await measureCpuTime(() => client.submit([sent]))
    expect(ms).toBeLessThan(5_000)
    for (const reference of ['good', 'behind']) {
      expect(await listed(reference)).toMatchObject([
        { data: { energy: { value: 2_000 }, tariff: { cost: { value: 0.5 } } } },
      ])
    }
  })

  it('leave correct receipts: a dead-lettered record is listed as failed and not counted as processed', async () => {
    const receiptOf = (id: string) => client.ask('GET', `/meters/batch?batch_id=${id}`)
    expect(await receiptOf(batches.half)).toMatchObject({
      records_submitted: 2,
      records_accepted: 2,
      records_processed: 1,
      failed_records: [{ record_num: 2, record_reference_id: 'of no location' }],
    })
    const unreadable = (await receiptOf(batches.unreadable)) as {
      failed_records: readonly { record_num: number; error: string }[]
    }
    expect(unreadable).toMatchObject({ records_submitted: 3, records_accepted: 3, records_processed: 0 })
    expect(unreadable.failed_records.map(({ record_num }) => record_num)).toEqual([1, 2, 3])
    for (const { error } of unreadable.failed_records) expect(error).toContain('could not be read from the log')
  })

  it('are in the dead-letter topic once, with their bytes, origin and reason', async () => {
    expect(await system?.stop()).toBe(0)
    await withLog(readLetters)
    const whole = letters.filter(({ position }) => position === -1)
    expect(whole).toHaveLength(Object.keys(poison).length + 1)
    for (const [what, bytes] of Object.entries(poison)) {
      const found = whole.filter(({ value, key }) => key === 'poison' && value.equals(bytes))
      expect(found, what).toMatchObject([
        { topic: recordTopic, headers: { from: 'elsewhere' }, code: expect.any(String), reason: expect.any(String) },
      ])
      expect(found[0]?.reason, what).not.toBe('')
    }
    const single = letters.filter(({ position }) => position >= 0)
    expect(single).toMatchObject([
      { position: 1, code: 'location_unknown', reason: expect.stringContaining('registry') },
    ])
    const [appended] = single
    expect(appended === undefined ? null : await codec.decodeMeterMessage(appended.value)).toMatchObject({
      parts: [{ batchId: batches.half, records: [{ recordNumber: 2, recordReferenceId: 'of no location' }] }],
    })
  })

  it('are dead-lettered once: another start adds nothing', async () => {
    const before = letters.length
    system = await startSystem(folder)
    client = await login(system.sandbox)
    expect(await listed('behind')).toHaveLength(1)
    expect(await system.stop()).toBe(0)
    await withLog(readLetters)
    expect(letters).toHaveLength(before)
  })
})
