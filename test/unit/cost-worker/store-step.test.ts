import { rmSync } from 'node:fs'
import { afterAll, expect, it } from 'vitest'
import { emptySummary } from '../../../services/cost-worker/pending-steps.ts'
import type { ReceivedRequest } from '../../../services/cost-worker/recost/merge-requests.ts'
import { stepStore } from '../../../services/cost-worker/store-step.ts'
import { currentInstant } from '../../../services/platform/clock.ts'
import { openCodec } from '../../../services/platform/log/avro/codec.ts'
import { localSchemaIds } from '../../../services/platform/log/avro/schema-ids.ts'
import { openLmdbLog } from '../../../services/platform/log/lmdb/lmdb-log.ts'
import { deadLetterTopic, recordTopic } from '../../../services/platform/log/log.ts'
import { rowVersionOf } from '../../../services/platform/log/row-version.ts'
import { createLogger } from '../../../services/platform/telemetry/logger.ts'
import { createMetrics } from '../../../services/platform/telemetry/metrics.ts'
import { db, useMeterTables } from '../../suites/meter-tables.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'

useMeterTables()

const folder = makeTestFolder()
const log = await openLmdbLog({ folder, now: currentInstant, topics: { [recordTopic]: { partitions: 4 } } })
const codec = await openCodec(localSchemaIds())
const logger = createLogger('error')
logger.level = 'silent'
const store = stepStore({ log, codec, clickHouse: db, metrics: createMetrics(), logger, at: currentInstant })

afterAll(async () => {
  await log.close()
  rmSync(folder, { recursive: true })
})

/** Request that was read from an offset of a partition. */
const received = (partition: number, offset: number): ReceivedRequest => ({
  request: {
    kind: 'order',
    orderKind: 'RE_PRICE',
    orderId: `${partition}-${offset}`,
    accountId: 'acc',
    liveMode: true,
    from: null,
    to: null,
    locationIds: [`loc_${partition}`],
    locationRevision: 1,
    sourceId: null,
    priceRevision: null,
    objectId: null,
    detail: '',
  },
  version: rowVersionOf(1, offset, 0),
  origin: {
    assignment: { topic: recordTopic, partition },
    message: { offset, key: 'key', value: Buffer.alloc(0), headers: {}, timestamp: 0 },
  },
})

it('a failed request of each partition and offset is dead-lettered once, with its first reason', async () => {
  const failed = [
    { received: received(0, 17), reason: 'first' },
    { received: received(3, 17), reason: 'other partition' },
    { received: received(0, 17), reason: 'second' },
    { received: received(3, 18), reason: 'other offset' },
  ]
  const nothing = { poison: [], deferred: [], slowRequests: [], failures: [], readings: [], replaced: [], earlier: [] }
  const letters = await store.storeRest(emptySummary, {
    ...nothing,
    costed: { rows: 0, pieces: 0 },
    failedRequests: failed,
  })
  const expected = [
    [0, 17, 'first'],
    [3, 17, 'other partition'],
    [3, 18, 'other offset'],
  ]
  const found = letters.map(({ letter: { partition, offset, reason } }) => [partition, offset, reason])
  expect(found.toSorted()).toEqual(expected)
  const ends = await Promise.all(
    Array.from({ length: log.partitions(deadLetterTopic) }, (_, partition) =>
      log.lag(deadLetterTopic, partition, 'reader'),
    ),
  )
  expect(ends.reduce((sum, { end }) => sum + end, 0)).toBe(3)
})
