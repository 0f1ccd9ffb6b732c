import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hono } from 'hono'
import { ingestGatewayOperations } from '../../../services/ingest-gateway/operations.ts'
import { partitionBacklog } from '../../../services/ingest-gateway/partition-backlog.ts'
import { openChdb } from '../../../services/platform/clickhouse/chdb.ts'
import type { ClickHouse } from '../../../services/platform/clickhouse/clickhouse.ts'
import { applySchemas, schemaFiles } from '../../../services/platform/clickhouse/schemas.ts'
import { currentInstant } from '../../../services/platform/clock.ts'
import { createApp } from '../../../services/platform/http/app.ts'
import { openCodec } from '../../../services/platform/log/avro/codec.ts'
import { localSchemaIds } from '../../../services/platform/log/avro/schema-ids.ts'
import { type ChunkHeaders, fromHeaders } from '../../../services/platform/log/chunk-headers.ts'
import { openLmdbLog } from '../../../services/platform/log/lmdb/lmdb-log.ts'
import { type Assignment, type Log, recordTopic, type TopicSettings } from '../../../services/platform/log/log.ts'
import type { MeterMessage, Submission } from '../../../services/platform/log/messages.ts'
import { openDatabase } from '../../../services/platform/postgres/database.ts'
import { createDevice } from '../../../services/platform/postgres/registry/devices.ts'
import { createLocation } from '../../../services/platform/postgres/registry/locations.ts'
import { type Tenant, withTenant } from '../../../services/platform/postgres/transaction.ts'
import { pricingCache } from '../../../services/platform/pricing-cache/pricing-cache.ts'
import { referenceChanges } from '../../../services/platform/role-module.ts'
import { timeZone } from '../../../services/platform/time-zone.ts'
import type { AcceptedRecord, RecordPart } from '../../../services/record-bytes/accepted-record.ts'
import { acceptedValue } from '../accepted-value.ts'
import { openHttpAccess } from '../http/http-access.ts'
import { checkAnswersOf } from '../openapi/documented-answers.ts'
import { locationDraft } from '../registry/drafts.ts'
import { type Call, caller } from '../registry/service.ts'
import { openTestDatabase } from '../stores/postgres.ts'
import { severablePostgres } from '../stores/severable-postgres.ts'

/** A message of a partition, as the log stores it. */
export type AppendedMessage = {
  readonly partition: number
  readonly headers: ChunkHeaders
  readonly message: MeterMessage
}

/** Create counters of submitted records and bytes. `counts` are the callbacks of the gateway. */
const createCounts = () => {
  const counted = { accepted: 0, refused: 0, bytes: 0, warned: 0 }
  const counts = {
    accepted: (_: number, records: number) => {
      counted.accepted += records
    },
    refused: (records: number) => {
      counted.refused += records
    },
    bytes: (bytes: number) => {
      counted.bytes += bytes
    },
    warned: (_: string, records: number) => {
      counted.warned += records
    },
  }
  return { counted, counts }
}

/**
 * Open the gateway over real stores. The token of a call is its account and mode.
 * A process has one embedded ClickHouse, so a second gateway must share it.
 */
export const openGateway = async (settings: Partial<TopicSettings> = {}, shared?: ClickHouse) => {
  const stack = new AsyncDisposableStack()
  const { address } = stack.use(await openTestDatabase())
  const connection = stack.use(await severablePostgres(address))
  const database = stack.use(openDatabase({ address: connection.address }))
  const folder = stack.adopt(mkdtempSync(join(tmpdir(), 'wattledger-gateway-')), path =>
    rmSync(path, { recursive: true }),
  )
  const log: Log = await openLmdbLog({
    folder: join(folder, 'log'),
    now: currentInstant,
    topics: { [recordTopic]: { partitions: 4, ...settings } },
  })
  stack.defer(() => log.close())
  const clickHouse = shared ?? stack.adopt(openChdb({ folder: join(folder, 'clickhouse') }), db => db.close())
  if (shared === undefined) await applySchemas(clickHouse, schemaFiles())
  const codec = await openCodec(localSchemaIds())
  const pricing = pricingCache(database, timeZone)
  const { counted, counts } = createCounts()
  const stores = { database, log, codec, clickHouse, pricing }
  const changes = referenceChanges()
  const { accepts, refresh: refreshBacklog } = partitionBacklog(log)
  const operations = ingestGatewayOperations({
    ...stores,
    referenceChanges: changes,
    accepts,
    secret: 'a secret of the installation',
    generation: () => 3,
    counts,
    validateCsv: null,
  })
  const faults: object[] = []
  const makeApp = () =>
    createApp(operations, [], {
      ...openHttpAccess(database).ports,
      authenticate: async token => {
        const [accountId = '', mode] = token.split('/')
        const liveMode = mode === 'live'
        return {
          ok: true,
          value: { accountId, liveMode, keyId: 'key', scope: 'metering', defaultApiVersion: 'current' },
        }
      },
      now: currentInstant,
      log: { warn: () => undefined, error: fields => void faults.push(fields) },
    })
  return {
    ...stores,
    app: checkAnswersOf(makeApp()),
    makeApp,
    counted,
    faults,
    refreshBacklog,
    severPostgres: connection.sever,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

export type Gateway = Awaited<ReturnType<typeof openGateway>>

export const callAs = (app: Hono, { accountId, liveMode }: Tenant): Call =>
  caller(app, { authorization: `Bearer ${accountId}/${liveMode ? 'live' : 'test'}` })

/** Create a location and a device of a tenant. */
export const makeObjects = ({ database }: Pick<Gateway, 'database'>, tenant: Tenant, reference: string) =>
  withTenant(database, tenant, async transaction => {
    const location = acceptedValue(
      await createLocation(transaction, locationDraft({ referenceId: reference }), currentInstant()),
    )
    const device = await createDevice(
      transaction,
      { referenceId: reference, displayName: null, register: null, metadata: {} },
      currentInstant(),
    )
    return { locationId: location.id, deviceId: device.id }
  })

/** Read all messages that the partitions contain now. */
export const readPartitions = async ({
  log,
  codec,
}: Pick<Gateway, 'log' | 'codec'>): Promise<readonly AppendedMessage[]> => {
  const assignments: Assignment[] = []
  const reader = `test-${crypto.randomUUID()}`
  const subscription = await log.subscribe(recordTopic, reader, partition => void assignments.push(partition))
  const appended: AppendedMessage[] = []
  for (const partition of assignments) {
    const { end } = await log.lag(recordTopic, partition.partition, reader)
    for (let next = 0; next < end; ) {
      for (const { offset, headers, value } of await partition.read({ maxMessages: 100, maxBytes: 10_000_000 })) {
        appended.push({
          partition: partition.partition,
          headers: fromHeaders(headers),
          message: await codec.decodeMeterMessage(value),
        })
        next = offset + 1
      }
    }
  }
  await subscription.close()
  return appended
}

/** Return the parts with the records of one submission. */
export const partsOf = (appended: readonly AppendedMessage[], batchId: string | null): readonly RecordPart[] =>
  appended.flatMap(({ message }) =>
    message.kind === 'records' ? message.parts.filter(part => part.batchId === batchId) : [],
  )

export const recordsOf = (appended: readonly AppendedMessage[], batchId: string | null): readonly AcceptedRecord[] =>
  partsOf(appended, batchId)
    .flatMap(part => part.records)
    .toSorted((a, b) => a.recordNumber - b.recordNumber)

export const headersOf = (appended: readonly AppendedMessage[], batchId: string): readonly Submission[] =>
  appended.flatMap(({ message }) => (message.kind === 'submission' && message.batchId === batchId ? [message] : []))
