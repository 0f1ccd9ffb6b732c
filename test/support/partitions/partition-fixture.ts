import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { erasureRelay } from '../../../services/background/erasure-relay.ts'
import { startTask } from '../../../services/background/leased-work.ts'
import { startRecostRelay } from '../../../services/background/recost-relay.ts'
import type { RowRangeLimits } from '../../../services/cost-worker/recost/cost-ranges.ts'
import type { SlowWorkLimits } from '../../../services/cost-worker/slow-work/slow-work.ts'
import { type CostWorker, startCostWorker } from '../../../services/cost-worker/worker.ts'
import type { LoadLimits } from '../../../services/domain/recost/recost-load.ts'
import { ingestGatewayOperations } from '../../../services/ingest-gateway/operations.ts'
import type { Sandbox } from '../../../services/platform/access/sandbox-file.ts'
import { openChdb } from '../../../services/platform/clickhouse/chdb.ts'
import type { ClickHouse } from '../../../services/platform/clickhouse/clickhouse.ts'
import { applySchemas, schemaFiles } from '../../../services/platform/clickhouse/schemas.ts'
import { currentInstant } from '../../../services/platform/clock.ts'
import { createApp } from '../../../services/platform/http/app.ts'
import { listen } from '../../../services/platform/http/listen.ts'
import { healthRoutes } from '../../../services/platform/http/static-routes.ts'
import { batchIds } from '../../../services/platform/ids/batch-id.ts'
import { type Codec, openCodec } from '../../../services/platform/log/avro/codec.ts'
import { localSchemaIds } from '../../../services/platform/log/avro/schema-ids.ts'
import { openLmdbLog } from '../../../services/platform/log/lmdb/lmdb-log.ts'
import { type Assignment, type Log, recordTopic } from '../../../services/platform/log/log.ts'
import { appendReprice } from '../../../services/platform/log/recost-appender.ts'
import type { Database } from '../../../services/platform/postgres/database.ts'
import { createAccount } from '../../../services/platform/postgres/registry/accounts.ts'
import { createApiKey } from '../../../services/platform/postgres/registry/api-keys.ts'
import { pricingCache } from '../../../services/platform/pricing-cache/pricing-cache.ts'
import { referenceChanges, type SlowBacklog, slowBacklog } from '../../../services/platform/role-module.ts'
import { createLogger } from '../../../services/platform/telemetry/logger.ts'
import { createMetrics, type Metrics } from '../../../services/platform/telemetry/metrics.ts'
import { timeZone } from '../../../services/platform/time-zone.ts'
import { openWebhookHttpClient } from '../../../services/platform/webhook-client/webhook-http-client.ts'
import { openWorkThread } from '../../../services/platform/work-thread/work-thread.ts'
import { meteringFacts } from '../../../services/query-service/costs/metering-facts.ts'
import { openTableStreams } from '../../../services/query-service/exports/table-streams.ts'
import { costOperations, queryServiceOperations } from '../../../services/query-service/operations.ts'
import { deadLetterOperations } from '../../../services/query-service/operator/dead-letters.ts'
import { workThreadOptions } from '../../../services/query-service/work-thread/run-work.ts'
import { prepareSandbox } from '../../../services/sandbox.ts'
import { openHttpAccess, operatorKey, secret } from '../http/http-access.ts'
import { makeTestFolder, openTestDatabase } from '../stores/postgres.ts'
import { type Client, login } from '../system/client.ts'
import { gatedClickHouse, gatedLog, gatedPricing, gates } from './gates.ts'

const partitions = 4

type Stores = {
  readonly database: Database
  readonly log: Log
  readonly codec: Codec
  readonly clickHouse: ClickHouse
  readonly metrics: Metrics
}

/**
 * Open all roles on real stores in this process and call them over HTTP. The test starts and stops the cost worker.
 * Messages that arrive while the worker is stopped are one step of its next start.
 * `gate` delays or fails calls of the worker to the stores. The test itself uses the stores without a gate.
 */
export const openPartitionFixture = async () => {
  const stack = new AsyncDisposableStack()
  const folder = stack.adopt(makeTestFolder(), path => rmSync(path, { recursive: true }))
  for (const name of ['log', 'clickhouse']) mkdirSync(join(folder, name))
  const { database, address } = stack.use(await openTestDatabase())
  const log = await openLmdbLog({
    folder: join(folder, 'log'),
    now: currentInstant,
    topics: { [recordTopic]: { partitions } },
  })
  stack.adopt(log, one => one.close())
  const clickHouse = stack.adopt(openChdb({ folder: join(folder, 'clickhouse') }), db => db.close())
  await applySchemas(clickHouse, schemaFiles())
  const codec = await openCodec(localSchemaIds())
  const stores: Stores = { database, log, codec, clickHouse, metrics: createMetrics() }
  const gate = gates()
  const backlog = slowBacklog()
  const workers = openWorkers(stores, gate, backlog)
  stack.defer(() => workers.stop())
  const clock = { aheadMs: 0 }
  const { sandbox, stopRelay } = await openHttp(stores, stack, {
    isHealthy: workers.isLive,
    at: () => currentInstant() + clock.aheadMs,
    dataFolder: folder,
    acceptsRecords: accountId => !backlog.isLogFull(accountId),
  })
  return {
    ...stores,
    ...workers,
    folder,
    /** Address for commands that open the database themselves. */
    postgresUrl: `postgres://${address.user}@localhost/${address.database}?host=${encodeURIComponent(address.host)}`,
    gate,
    /** Time in ms that the clock of the HTTP API is ahead of the system clock. */
    clock,
    sandbox,
    /** Stop the repeated publication of recost requests. Each request is then published once, by its change. */
    stopRelay,
    client: await login(sandbox),
    /** Create another account and log in to its test mode. */
    makeAccount: async (): Promise<Client> => {
      const draft = { displayName: 'Other', defaultApiVersion: 'current', requestsPerSecond: null } as const
      const { id } = await createAccount(database.operator, draft, currentInstant())
      const key = await createApiKey(
        database.operator,
        { accountId: id, liveMode: false },
        { scope: 'all', description: null },
        secret,
        currentInstant(),
      )
      return login({ ...sandbox, account_id: id, test_key: key.secret })
    },
    tenant: { accountId: sandbox.account_id, liveMode: false },
    waitUntilRead: (limitMs?: number) => waitUntilRead(log, limitMs),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

export type PartitionFixture = Awaited<ReturnType<typeof openPartitionFixture>> & { readonly client: Client }

/** Wait until the worker has committed all messages of all partitions. */
const waitUntilRead = async (log: Log, limitMs = 60_000): Promise<void> => {
  for (const deadline = performance.now() + limitMs; ; await sleep(10)) {
    const lags = await Promise.all(
      Array.from({ length: partitions }, (_, partition) => log.lag(recordTopic, partition, 'cost-worker')),
    )
    if (lags.every(({ committed, end }) => committed === end)) return
    if (performance.now() > deadline)
      throw new Error(`The worker did not commit all messages within ${limitMs} ms: ${JSON.stringify(lags)}`)
  }
}

const quiet = () => {
  const logger = createLogger('error')
  logger.level = 'silent'
  return logger
}

type StartOptions = {
  readonly at?: () => number
  readonly rowRanges?: RowRangeLimits
  readonly load?: LoadLimits
  readonly slow?: SlowWorkLimits
  readonly assign?: (assignments: readonly Assignment[], go: () => void) => void
}

/** Return a log whose partitions are assigned when the test allows it. */
const withDelayedAssignments = (log: Log, assign: NonNullable<StartOptions['assign']>): Log => ({
  ...log,
  subscribe: async (name, group, assigned) => {
    const assignments: Assignment[] = []
    const subscription = await log.subscribe(name, group, assignment => void assignments.push(assignment))
    assign(assignments, () => assignments.forEach(assigned))
    return subscription
  },
})

const openWorkers = (stores: Stores, gate: ReturnType<typeof gates>, backlog: SlowBacklog) => {
  let worker: CostWorker | undefined
  const { log, codec, database, clickHouse, metrics } = stores
  const recostLog = { log, codec, generation: () => 1 }
  const unbound = { locationRevision: null, sourceId: null, priceRevision: null }
  const gated = { ...stores, log: gatedLog(log, gate), clickHouse: gatedClickHouse(clickHouse, gate) }
  const stop = async (): Promise<void> => {
    const running = worker
    worker = undefined
    await running?.[Symbol.asyncDispose]()
  }
  return {
    /**
     * Start a cost worker with empty caches. The worker reads from the committed offsets.
     * `at`: clock of the worker. `assign` receives the assignments and a function that passes them to the worker.
     * Without `assign`, the worker receives its assignments at once.
     */
    start: async (
      failing = { share: 1, minLocations: 1 },
      { at = currentInstant, rowRanges, load, slow, assign }: StartOptions = {},
    ): Promise<void> => {
      worker = await startCostWorker({
        ...gated,
        log: assign === undefined ? gated.log : withDelayedAssignments(gated.log, assign),
        metrics,
        pricing: gatedPricing(pricingCache(database, timeZone), gate),
        requestRecosts: async lost => {
          await Promise.all(
            lost.map(({ locationId, ...one }) =>
              appendReprice(recostLog, { ...unbound, ...one, locationIds: [locationId] }),
            ),
          )
        },
        failing,
        ...(rowRanges === undefined ? {} : { rowRanges }),
        ...(load === undefined ? {} : { load }),
        ...(slow === undefined ? {} : { slowWorkLimits: slow }),
        slowBacklog: backlog,
        logger: quiet(),
        at,
      })
    },
    stop,
    isLive: () => worker?.isLive() ?? true,
  }
}

type HttpDependencies = {
  readonly isHealthy: () => boolean
  readonly at: () => number
  readonly dataFolder: string
  readonly acceptsRecords: (accountId: string) => boolean
}

const openHttp = async (
  stores: Stores,
  stack: AsyncDisposableStack,
  { isHealthy, at, dataFolder, acceptsRecords }: HttpDependencies,
): Promise<{ readonly sandbox: Sandbox; readonly stopRelay: () => PromiseLike<void> }> => {
  const { database, clickHouse } = stores
  const logger = quiet()
  const generation = () => 1
  const partitionStores = { ...stores, generation }
  const relay = stack.use(startRecostRelay({ ...partitionStores, logger, at: currentInstant }))
  stack.use(startTask({ database, logger }, erasureRelay({ ...partitionStores, logger, at: currentInstant })))
  const accepted = (partition: number, records: number): void =>
    stores.metrics.accepted.inc({ lane: String(partition) }, records)
  const none = () => undefined
  const counts = { accepted, refused: none, bytes: none, warned: none }
  const access = openHttpAccess(database)
  const thread = stack.use(openWorkThread(workThreadOptions))
  const changes = referenceChanges()
  const registries = queryServiceOperations({
    thread,
    validateWebhookUrl: openWebhookHttpClient({ allowedNetworks: [] }).validateUrl,
    ...access.dependencies,
    metering: meteringFacts(clickHouse),
    providersOf: async () => [],
    publishRecosts: relay.publish,
    announcePrices: relay.announce,
    onReferencesChanged: changes.announce,
  })

  const operations = [
    ...ingestGatewayOperations({
      ...partitionStores,
      accepts: (_, __, accountId) => acceptsRecords(accountId),
      pricing: pricingCache(database, timeZone),
      secret,
      counts,
      validateCsv: null,
      referenceChanges: changes,
    }),
    ...costOperations({
      database,
      clickHouse,
      streams: openTableStreams(null, stack),
      batchIds: batchIds(secret),
      timeZone,
      thread,
    }),
    ...registries,
    ...deadLetterOperations({ ...partitionStores, logger }),
  ]
  const ports = {
    ...access.ports,
    now: at,
    log: logger,
  }
  const app = createApp(operations, healthRoutes([{ name: 'cost-worker', isHealthy }], []), ports)
  const { port } = stack.use(await listen(app, { host: '127.0.0.1', port: 0 }, ports))
  const prepared = await prepareSandbox(database, {
    dataFolder,
    baseUrl: `http://127.0.0.1:${port}`,
    secret,
    operatorKey,
    at: currentInstant(),
  })
  if (prepared.sandbox === null) throw new Error('An account exists already.')
  return { sandbox: prepared.sandbox, stopRelay: () => relay[Symbol.asyncDispose]() }
}
