import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chunkWriter } from '../../../services/ingest-gateway/chunk-writer.ts'
import { readingWriter } from '../../../services/ingest-gateway/reading-writer.ts'
import { recordEntrance } from '../../../services/ingest-gateway/record-entrance.ts'
import { currentInstant } from '../../../services/platform/clock.ts'
import { batchIds } from '../../../services/platform/ids/batch-id.ts'
import { type Codec, openCodec } from '../../../services/platform/log/avro/codec.ts'
import { localSchemaIds } from '../../../services/platform/log/avro/schema-ids.ts'
import { openLmdbLog } from '../../../services/platform/log/lmdb/lmdb-log.ts'
import { type Log, recordTopic } from '../../../services/platform/log/log.ts'
import type { AcceptedRecord } from '../../../services/record-bytes/accepted-record.ts'
import { encodeParts } from '../../../services/record-bytes/record-chunk.ts'
import { headersOf, readPartitions, recordsOf } from '../../support/metering/gateway.ts'

const shortLimitMs = 2_000
const tenant = { accountId: 'acc_0198c0ffee00112233445566', liveMode: true }
const locationId = 'loc_0198c0ffee00112233445566'
const late = { code: 'gateway_late', retriable: true }

let folder = ''
let log: Log
let codec: Codec
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'wattledger-limit-'))
  log = await openLmdbLog({ folder, now: currentInstant, topics: { [recordTopic]: { partitions: 2 } } })
  codec = await openCodec(localSchemaIds())
})
afterAll(async () => {
  await log.close()
  rmSync(folder, { recursive: true })
})

/** Entrance over the real log, whose appends wait until the test opens the gate. */
const openEntrance = (writeLimitMs: number) => {
  const gate = Promise.withResolvers<void>()
  const slow: Pick<Log, 'append' | 'partitions' | 'lingerMs'> = {
    partitions: log.partitions,
    lingerMs: log.lingerMs,
    append: async (...words) => {
      await gate.promise
      return log.append(...words)
    },
  }
  const options = { log: slow, codec, generation: () => 1, accepts: () => true, onAppended: () => undefined }
  const entrance = recordEntrance({
    writer: chunkWriter(options),
    readings: readingWriter(options),
    batchIds: batchIds('a secret of the installation'),
    counts: { refused: () => undefined, warned: () => undefined },
    writeLimitMs,
  })
  return { entrance, openGate: gate.resolve }
}

type Entrance = ReturnType<typeof openEntrance>['entrance']

const recordAt = (recordNumber: number): AcceptedRecord => ({
  recordNumber,
  recordId: recordNumber.toString(16).padStart(24, '0'),
  locationId,
  deviceId: null,
  energyFlowDirection: 'INBOUND',
  tariffDirection: 'IMPORT',
  energy: 1_000_000n,
  confidence: 1_000_000,
  start: recordNumber * 1000,
  end: recordNumber * 1000 + 1000,
  sessionReferenceId: null,
  recordReferenceId: null,
})

/** Submit records to partition 0. The returned `done` is the receipt or the error. */
const submitRecords = (entrance: Entrance, count: number) => {
  const batch = entrance.begin(tenant, currentInstant())
  const records = Array.from({ length: count }, (_, index) => recordAt(index + 1))
  const parts = new Map([[0, encodeParts({ ...batch, records })]])
  const numbers = { recordsSubmitted: count, recordsAccepted: count }
  const done = entrance.accept(batch, { kind: 'records', parts, refused: [], warnings: [] }, numbers)
  done.catch(() => undefined)
  return { id: batch.batchId, done }
}

describe('a log that does not answer in time', () => {
  it('lets every submission be refused in time, and only appends in progress are stored later', async () => {
    const { entrance, openGate } = openEntrance(shortLimitMs)
    const startedAt = performance.now()
    // 1,200 records are three chunks. The first chunk is in progress, and the others wait.
    const first = submitRecords(entrance, 1_200)
    const second = submitRecords(entrance, 10)
    await expect(first.done).rejects.toMatchObject(late)
    await expect(second.done).rejects.toMatchObject(late)
    expect(performance.now() - startedAt).toBeLessThan(shortLimitMs + 2_000)

    openGate()
    const third = submitRecords(entrance, 10)
    await third.done
    const stored = await readPartitions({ log, codec })
    expect(recordsOf(stored, first.id).map(({ recordNumber }) => recordNumber)).toEqual(
      Array.from({ length: 500 }, (_, index) => index + 1),
    )
    expect(recordsOf(stored, second.id)).toEqual([])
    // Headers were in progress: their receipts can exist.
    expect(headersOf(stored, third.id)).toHaveLength(1)
    expect(recordsOf(stored, third.id)).toHaveLength(10)
    // A repeated record has the same id, so it counts once.
    expect(recordsOf(stored, third.id)[0]?.recordId).toBe(recordsOf(stored, first.id)[0]?.recordId)
  })

  it('lets no later chunk of readings be stored', async () => {
    const { entrance, openGate } = openEntrance(100)
    const batch = entrance.begin(tenant, currentInstant())
    const readings = Array.from({ length: 700 }, (_, index) => ({
      time: index * 1000,
      isRestart: false,
      value: BigInt(index),
      recordReferenceId: null,
      recordNumber: index + 1,
      recordId: index.toString(16).padStart(24, '0'),
    }))
    const register = {
      locationId,
      deviceId: null,
      sessionReferenceId: null,
      register: null,
      ...({ energyFlowDirection: 'INBOUND', tariffDirection: 'IMPORT' } as const),
    }
    const numbers = { recordsSubmitted: 700, recordsAccepted: 700 }
    await expect(
      entrance.accept(batch, { kind: 'readings', partition: 1, register, readings, refused: [] }, numbers),
    ).rejects.toMatchObject(late)
    openGate()
    await sleep(100)
    const stored = await readPartitions({ log, codec })
    const numbersStored = stored.flatMap(({ message }) =>
      message.kind === 'readings' ? message.parts.flatMap(part => part.readings.map(one => one.recordNumber)) : [],
    )
    expect(numbersStored).toEqual(Array.from({ length: 500 }, (_, index) => index + 1))
  })

  it('does not refuse a submission that the log stores in time', async () => {
    const { entrance, openGate } = openEntrance(shortLimitMs)
    const { id, done } = submitRecords(entrance, 1_200)
    await sleep(50)
    openGate()
    expect(await done).toMatchObject({ id, recordsAccepted: 1_200 })
    expect(recordsOf(await readPartitions({ log, codec }), id)).toHaveLength(1_200)
  })
})
