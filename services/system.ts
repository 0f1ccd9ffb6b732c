import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { layouts } from './contract/layout.ts'
import { openApiDocument } from './contract/openapi.ts'
import type { LostEnergy } from './cost-worker/erase.ts'
import { startCostWorker } from './cost-worker/worker.ts'
import { ingestGatewayOperations } from './ingest-gateway/operations.ts'
import { authenticator, operatorAuthenticator } from './platform/authenticate.ts'
import { batchIds } from './platform/batch-id.ts'
import { bearerTokens } from './platform/bearer-token.ts'
import { openChdb } from './platform/clickhouse/chdb.ts'
import type { ClickHouse } from './platform/clickhouse/clickhouse.ts'
import { applySchemas, schemaFiles } from './platform/clickhouse/schemas.ts'
import { presentInstant } from './platform/clock.ts'
import type { Config } from './platform/config.ts'
import { createApp } from './platform/http/app.ts'
import { defaultLimits, type Ports } from './platform/http/binding.ts'
import { listen } from './platform/http/listen.ts'
import { documentPage, healthPages } from './platform/http/pages.ts'
import { type IdempotencyKeys, idempotencyKeys } from './platform/idempotency-store.ts'
import { type Codec, openCodec } from './platform/log/codec.ts'
import { lockFolder } from './platform/log/folder-lock.ts'
import { openLmdbLog } from './platform/log/lmdb-log.ts'
import type { Log } from './platform/log/log.ts'
import { localSchemaIds } from './platform/log/schema-ids.ts'
import { createMetrics, type Metrics, serveMetrics } from './platform/metrics.ts'
import { isCurrency } from './platform/place/country.ts'
import { placeOf } from './platform/place/place.ts'
import { listAccounts } from './platform/postgres/accounts.ts'
import { readKeyState } from './platform/postgres/api-keys.ts'
import { type Database, openDatabase } from './platform/postgres/database.ts'
import { startEmbeddedServer } from './platform/postgres/embedded-server.ts'
import { raiseLaneGeneration, readLaneGeneration } from './platform/postgres/lane-generation.ts'
import { migrate } from './platform/postgres/migrate.ts'
import { pricingBook } from './platform/pricing-book.ts'
import { loadSecrets, type Secrets } from './platform/secrets.ts'
import type { Logger } from './platform/telemetry.ts'
import { timeZone } from './platform/time-zone.ts'
import { recordRefusal } from './query-service/change.ts'
import { costOperations } from './query-service/cost-operations.ts'
import { deadLetterOperations } from './query-service/dead-letters.ts'
import { startErasureRelay } from './query-service/erasure-relay.ts'
import { meteringFacts } from './query-service/metering-facts.ts'
import { queryServiceOperations } from './query-service/operations.ts'
import { putRePrice } from './query-service/order-lanes.ts'
import { startOrderRelay } from './query-service/order-relay.ts'
import { referencePages } from './query-service/reference-page.ts'
import { prepareSandbox, type Sandbox } from './sandbox.ts'

/** The whole system in one process, ready; disposing of it drains and closes in the reverse order of opening. */
export type System = AsyncDisposable & {
  readonly baseUrl: string
  readonly metricsUrl: string
  readonly port: number
  /** Null where its file was removed. */
  readonly sandbox: Sandbox | null
  readonly isFirstStart: boolean
}

const topic = 'meter.records.v1'
const drainMs = 10_000

type Report = (line: string) => void

/** The stores and all that roles share. */
type Stores = {
  readonly database: Database
  readonly log: Log
  readonly codec: Codec
  readonly clickHouse: ClickHouse
  readonly secrets: Secrets
  readonly metrics: Metrics
  readonly generation: number
}

const openPostgres = async (config: Config, stack: AsyncDisposableStack, report: Report): Promise<Database> => {
  const address =
    config.postgresUrl === null
      ? stack.use(await startEmbeddedServer({ dataFolder: config.dataFolder, report })).address
      : { url: config.postgresUrl }
  for (const name of await migrate(address)) report(`schema ${name} applied`)
  return stack.use(openDatabase({ address }))
}

const openClickHouse = async (config: Config, stack: AsyncDisposableStack): Promise<ClickHouse> => {
  const clickHouse = stack.adopt(openChdb({ folder: join(config.dataFolder, 'clickhouse') }), db => db.close())
  await applySchemas(clickHouse, schemaFiles())
  return clickHouse
}

const openLog = async (config: Config, stack: AsyncDisposableStack): Promise<Log> => {
  const partitions = config.logPartitions
  const roomBytes = Math.floor(config.logMaxBytes / partitions)
  const records = { partitions, roomBytes, retentionMs: config.logRetentionMs }
  const log = await openLmdbLog({ folder: join(config.dataFolder, 'log'), now: presentInstant, topics: { [topic]: records } })
  stack.adopt(log, opened => opened.close())
  return log
}

const laneGeneration = async ({ operator }: Database, partitions: number): Promise<number> => {
  const known =
    (await readLaneGeneration(operator, topic)) ?? (await raiseLaneGeneration(operator, topic, null, partitions, presentInstant()))
  return (known ?? (await readLaneGeneration(operator, topic)))?.generation ?? 0
}

/** Readings and costs are their owner's alone; the folder above lets PostgreSQL pass, which does not run as root. */
const makeFolders = (dataFolder: string): void => {
  mkdirSync(dataFolder, { recursive: true, mode: 0o711 })
  for (const name of ['log', 'clickhouse']) mkdirSync(join(dataFolder, name), { recursive: true, mode: 0o700 })
}

/** PostgreSQL starts as a child while the engine opens in this process. */
const openStores = async (config: Config, stack: AsyncDisposableStack, report: Report): Promise<Stores> => {
  makeFolders(config.dataFolder)
  stack.adopt(lockFolder(config.dataFolder), unlock => unlock())
  const secrets = loadSecrets(config.dataFolder, config)
  const postgres = openPostgres(config, stack, report)
  const [log, clickHouse, database] = await settled([openLog(config, stack), openClickHouse(config, stack), postgres])
  const codec = await openCodec(localSchemaIds())
  const generation = await laneGeneration(database, log.partitions(topic))
  return { database, log, codec, clickHouse, secrets, metrics: createMetrics(), generation }
}

/** Wait for all, also where one fails, so that whatever was opened by then is closed again. */
const settled = async <T extends readonly unknown[]>(promises: { readonly [K in keyof T]: Promise<T[K]> }): Promise<T> => {
  await Promise.allSettled(promises)
  return (await Promise.all(promises)) as unknown as T
}

const portsOf = ({ database, secrets, metrics }: Stores, idempotency: IdempotencyKeys, logger: Logger): Ports => ({
  authenticate: authenticator(bearerTokens(secrets.secret), subject => readKeyState(database.operator, subject)),
  authenticateOperator: operatorAuthenticator(secrets.operatorKey),
  idempotency,
  at: presentInstant,
  refused: refusal => recordRefusal({ database }, refusal),
  elapsed: () => performance.now(),
  mintRequestId: () => `req_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
  log: logger,
  observe: ({ operation, status, layout, durationMs }) => {
    metrics.requests.inc({ operation, status, layout })
    metrics.requestSeconds.observe({ operation }, durationMs / 1000)
  },
})

const answers = (asked: Promise<unknown>): Promise<boolean> =>
  asked.then(
    () => true,
    () => false,
  )

/**
 * Open the stores, start the roles and listen. `report` tells of steps that take a while.
 * Rejects with a `Failure` or a system error that says what stands in the way; nothing is left open then.
 */
export const openSystem = async (config: Config, logger: Logger, report: Report): Promise<System> => {
  await using opening = new AsyncDisposableStack()
  const stores = await openStores(config, opening, report)
  const { database, log, codec, clickHouse, secrets, metrics } = stores
  const generation = () => stores.generation
  const pricing = pricingBook(database, timeZone)
  const lanes = { log, codec, generation }
  const costAgain = async (lost: readonly LostEnergy[]): Promise<void> => {
    const order = { locationRevision: null, sourceId: null, priceRevision: null }
    await Promise.all(lost.map(({ locationId, ...one }) => putRePrice(lanes, { ...order, ...one, locationIds: [locationId] })))
  }
  const failing = { share: config.failingShare, least: config.failingLocations }
  const at = presentInstant
  const worker = opening.use(await startCostWorker({ log, codec, clickHouse, database, pricing, metrics, logger, at, costAgain, failing }))
  const relay = opening.use(startOrderRelay({ ...lanes, database, logger }))
  opening.use(startErasureRelay({ ...lanes, database, logger, at }))
  const idempotency = idempotencyKeys(database)
  const ports = portsOf(stores, idempotency, logger)
  const counts = {
    accepted: (lane: number, records: number) => metrics.accepted.inc({ lane: String(lane) }, records),
    refused: (records: number) => metrics.refused.inc(records),
    bytes: (bytes: number) => metrics.submittedBytes.inc(bytes),
  }
  const gatewayPricing = pricingBook(database, timeZone)
  const gateway = { database, log, codec, clickHouse, pricing: gatewayPricing, secret: secrets.secret, generation, counts }
  const reads = { database, clickHouse, batchIds: batchIds(secrets.secret), timeZone }
  const registries = queryServiceOperations({
    database,
    metering: meteringFacts(clickHouse),
    providersOf: async () => [],
    idempotency,
    placeOf,
    isCurrency,
    timeZone,
    publishOrders: relay.publish,
    announcePrices: relay.announce,
    bearerTokens: bearerTokens(secrets.secret),
    secret: secrets.secret,
    requestsPerSecond: config.rateLimitPerSecond,
  })
  const operations = [...ingestGatewayOperations(gateway), ...costOperations(reads), ...registries]
  const limits = { ...defaultLimits, requestsPerSecond: config.rateLimitPerSecond }
  const checks = {
    live: [{ name: 'cost-worker', isWell: worker.isLive }],
    ready: [
      { name: 'postgres', isWell: () => answers(listAccounts(database.operator)) },
      { name: 'clickhouse', isWell: () => answers(clickHouse.rows('SELECT 1')) },
      { name: 'log', isWell: () => answers(log.lag(topic, 0, 'cost-worker')) },
    ],
  }
  const declared = operations.map(({ operation }) => operation)
  const pages = [
    ...healthPages(checks.live, checks.ready),
    ...layouts.map(layout => documentPage(`/openapi/${layout}.json`, openApiDocument(declared, layout, '/'))),
    ...referencePages(declared),
  ]
  const app = createApp([...operations, ...deadLetterOperations({ ...lanes, logger })], pages, ports, limits)
  const metricsServer = opening.use(await serveMetrics(metrics, { host: config.host, port: config.metricsPort }))
  const listener = opening.adopt(await listen(app, { host: config.host, port: config.port }, ports), one => one.close(drainMs))
  const baseUrl = `http://${config.host}:${listener.port}`
  const { secret, operatorKey } = secrets
  const made = await prepareSandbox(database, { dataFolder: config.dataFolder, baseUrl, secret, operatorKey, at: presentInstant() })
  const open = opening.move()
  return {
    baseUrl,
    metricsUrl: `http://${config.host}:${metricsServer.port}/metrics`,
    port: listener.port,
    sandbox: made.sandbox,
    isFirstStart: made.isNew,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
