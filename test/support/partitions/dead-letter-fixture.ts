import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import sql from 'sql-template-tag'
import { afterAll, beforeAll } from 'vitest'
import { startCostWorker } from '../../../services/cost-worker/worker.ts'
import { noOptions } from '../../../services/domain/record/record.ts'
import { openChdb } from '../../../services/platform/clickhouse/chdb.ts'
import type { ClickHouse } from '../../../services/platform/clickhouse/clickhouse.ts'
import { rowOfRecord } from '../../../services/platform/clickhouse/meter-cost/meter-cost-reads.ts'
import { applySchemas, schemaFiles } from '../../../services/platform/clickhouse/schemas.ts'
import { currentInstant } from '../../../services/platform/clock.ts'
import { createApp } from '../../../services/platform/http/app.ts'
import { listen } from '../../../services/platform/http/listen.ts'
import { type Codec, openCodec } from '../../../services/platform/log/avro/codec.ts'
import { localSchemaIds } from '../../../services/platform/log/avro/schema-ids.ts'
import { openLmdbLog } from '../../../services/platform/log/lmdb/lmdb-log.ts'
import { type Log, recordTopic } from '../../../services/platform/log/log.ts'
import { partitionKey, partitionOf } from '../../../services/platform/log/partition.ts'
import type { Tenant } from '../../../services/platform/postgres/transaction.ts'
import { pricingCache } from '../../../services/platform/pricing-cache/pricing-cache.ts'
import { createLogger } from '../../../services/platform/telemetry/logger.ts'
import { createMetrics } from '../../../services/platform/telemetry/metrics.ts'
import { timeZone } from '../../../services/platform/time-zone.ts'
import { deadLetterOperations } from '../../../services/query-service/operator/dead-letters.ts'
import type { AcceptedRecord } from '../../../services/record-bytes/accepted-record.ts'
import { hexId } from '../../suites/cost-rows.ts'
import { openHttpAccess, operatorKey } from '../http/http-access.ts'
import { makeObjects } from '../metering/gateway.ts'
import { makeTenants, makeTestFolder, openTestDatabase } from '../stores/postgres.ts'
import { runCommand } from '../system/run-command.ts'

const start = Date.parse('2025-06-02T10:00:00Z')
export const missingLocationId = hexId('loc_', 77)
const stack = new AsyncDisposableStack()
let folder = ''
export let baseUrl = ''
export let log: Log
let codec: Codec
export let clickHouse: ClickHouse
export let tenant: Tenant
export let createMissingLocation: () => Promise<void>

export type DeadLetter = {
  readonly id: string
  readonly code: string
  readonly lane: number
  readonly position: number | null
}

export const runDeadLetters = (...args: readonly string[]) =>
  runCommand(args, { WATTLEDGER_DATA_DIR: folder, WATTLEDGER_OPERATOR_KEY: operatorKey })

export const runJson = async <T>(...args: readonly string[]): Promise<T> => {
  const { code, out, err } = await runDeadLetters('dead-letters', ...args, '--base-url', baseUrl, '--json')
  if (code !== 0) throw new Error(`${args.join(' ')} exited with ${code}: ${err}`)
  return JSON.parse(out) as T
}

export const listDeadLetters = async (...args: readonly string[]) =>
  (await runJson<{ readonly data: readonly DeadLetter[] }>('list', ...args)).data

export const recordAt = (locationId: string, number: number): AcceptedRecord => ({
  locationId,
  deviceId: null,
  energyFlowDirection: 'INBOUND',
  tariffDirection: 'IMPORT',
  start,
  end: start + 3_600_000,
  energy: 2_000_000_000n,
  confidence: 1_000_000,
  ...noOptions,
  recordReferenceId: `record ${number}`,
  recordNumber: number,
  recordId: hexId('', number),
})

/** Append a chunk to the partition of a location that is in no registry. */
export const appendChunk = (value: Buffer, headers: Readonly<Record<string, string>>) =>
  log.append(recordTopic, partitionOf(partitionKey(tenant.accountId, missingLocationId), log.partitions(recordTopic)), {
    key: partitionKey(tenant.accountId, missingLocationId),
    value,
    headers,
  })

export const encodeChunk = (...records: readonly AcceptedRecord[]) =>
  codec.encodeMeterMessage({ kind: 'records', parts: [{ ...tenant, batchId: null, receivedAt: start, records }] })

export const storedRow = (number: number) => rowOfRecord(clickHouse, tenant, hexId('', number))

/** Open stores, a cost worker and the dead-letter operations before the tests of a file. Close them after the tests. */
export const useDeadLetters = (): void => {
  beforeAll(async () => {
    folder = stack.adopt(makeTestFolder(), path => rmSync(path, { recursive: true }))
    const { database } = stack.use(await openTestDatabase())
    tenant = (await makeTenants(database)).live
    for (const name of ['log', 'clickhouse']) mkdirSync(join(folder, name))
    log = stack.adopt(await openLmdbLog({ folder: join(folder, 'log'), now: currentInstant }), one => one.close())
    clickHouse = stack.adopt(openChdb({ folder: join(folder, 'clickhouse') }), db => db.close())
    await applySchemas(clickHouse, schemaFiles())
    codec = await openCodec(localSchemaIds())
    const logger = createLogger('error')
    logger.level = 'silent'
    const pricing = pricingCache(database, timeZone)
    const dependencies = {
      log,
      codec,
      clickHouse,
      database,
      pricing,
      metrics: createMetrics(),
      logger,
      at: currentInstant,
    }
    stack.use(
      await startCostWorker({
        ...dependencies,
        requestRecosts: async () => undefined,
        failing: { share: 1, minLocations: 1 },
      }),
    )
    createMissingLocation = async () => {
      const { locationId } = await makeObjects({ database }, tenant, 'found again')
      await database.operator(sql`update locations set id = ${missingLocationId} where id = ${locationId}`)
    }
    const ports = {
      ...openHttpAccess(database).ports,
      authenticate: async () => ({
        ok: true as const,
        value: { ...tenant, keyId: 'key', scope: 'all' as const, defaultApiVersion: 'current' as const },
      }),
      now: currentInstant,
      log: logger,
    }
    const app = createApp(deadLetterOperations({ log, codec, generation: () => 3, logger }), [], ports)
    const listener = stack.use(await listen(app, { host: '127.0.0.1', port: 0 }, ports))
    baseUrl = `http://127.0.0.1:${listener.port}`
  })
  afterAll(() => stack.disposeAsync())
}
