import { accessSync, constants, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadSecrets } from './platform/access/secrets.ts'
import type { ClickHouse } from './platform/clickhouse/clickhouse.ts'
import { fairReads } from './platform/clickhouse/fair-reads.ts'
import { applySchemas, schemaFiles } from './platform/clickhouse/schemas.ts'
import { currentInstant, followClock } from './platform/clock.ts'
import { withTimeout } from './platform/concurrency/timeout.ts'
import { type Config, type Role, roles } from './platform/config/config.ts'
import { embeddedStores } from './platform/config/distributed-settings.ts'
import { createFolder } from './platform/create-folder.ts'
import { Failure, isFailure } from './platform/failure.ts'
import type { HealthCheck } from './platform/http/static-routes.ts'
import { openCodec } from './platform/log/avro/codec.ts'
import { confluentSchemaIds } from './platform/log/avro/confluent-schema-ids.ts'
import { localSchemaIds } from './platform/log/avro/schema-ids.ts'
import { lockFolder } from './platform/log/lmdb/folder-lock.ts'
import { type Log, recordTopic, type TopicSettings } from './platform/log/log.ts'
import { refuseMovedFolder } from './platform/moved-folder.ts'
import { type Database, openDatabase, readDatabaseClock } from './platform/postgres/database.ts'
import { startEmbeddedServer } from './platform/postgres/embedded/embedded-server.ts'
import { migrate } from './platform/postgres/migrate.ts'
import { listAccounts } from './platform/postgres/registry/accounts.ts'
import { confirmSecret } from './platform/postgres/secret-fingerprints.ts'
import { raiseTopicGeneration, readTopicGeneration } from './platform/postgres/topic-generation.ts'
import type { Stores } from './platform/role-module.ts'
import { createMetrics } from './platform/telemetry/metrics.ts'

const generationPollMs = 2_000
/** Time limit in ms of creating the ClickHouse tables, for processes that can run without ClickHouse. */
const schemaTimeoutMs = 5_000

// Packages of stores are imported on demand: the Kafka client takes a quarter of the start time, the ClickHouse engine
// 145 MB.

/** Reports a slow step of the start, or that a store was interrupted and recovers, with its error. */
export type Report = (line: string, error?: unknown) => void

const openPostgres = async (
  config: Config,
  stack: AsyncDisposableStack,
  report: Report,
  onLaunched: () => void,
): Promise<Database> => {
  const { dataFolder, postgresUrl: url } = config
  if (url !== null) onLaunched()
  const address =
    url === null ? stack.use(await startEmbeddedServer({ dataFolder, report, onLaunched })).address : { url }
  for (const name of await migrate(address)) report(`Schema ${name} applied`)
  return stack.use(openDatabase({ address }))
}

const openClickHouseClient = async ({ clickHouse, dataFolder }: Config, report: Report): Promise<ClickHouse> => {
  if (clickHouse === null) {
    const { openChdb, readLimits } = await import('./platform/clickhouse/chdb.ts')
    return fairReads(openChdb({ folder: join(dataFolder, 'clickhouse'), log: report }), readLimits)
  }
  const { openClickHouseHttp, readLimits } = await import('./platform/clickhouse/clickhouse-http.ts')
  const { caFile, ...server } = clickHouse
  return fairReads(
    openClickHouseHttp({ ...server, ca: caFile === null ? null : readFileSync(caFile, 'utf8') }),
    readLimits,
  )
}

const storeNames = ['postgres', 'clickhouse', 'log'] as const
type StoreName = (typeof storeNames)[number]

/**
 * Stores that each role requires. A gateway accepts records of known locations without PostgreSQL and ClickHouse.
 * A query service without ClickHouse refuses only requests that need ClickHouse.
 */
const neededStores: Readonly<Record<Role, readonly StoreName[]>> = {
  'ingest-gateway': ['log'],
  'cost-worker': ['postgres', 'clickhouse', 'log'],
  'query-service': ['postgres'],
  'webhook-worker': ['postgres', 'log'],
}

const isNeeded = (store: StoreName, chosenRoles: readonly Role[]): boolean =>
  chosenRoles.some(role => neededStores[role].includes(store))

/** Create the readiness checks of the stores that these roles require. */
export const storeChecks = (
  { database, clickHouse, log }: Stores,
  chosenRoles: readonly Role[],
): readonly HealthCheck[] => {
  const checks: Readonly<Record<StoreName, () => Promise<unknown>>> = {
    postgres: () => listAccounts(database.operator),
    clickhouse: () => clickHouse.rows('SELECT 1'),
    log: () => log.lag(recordTopic, 0, 'cost-worker'),
  }
  const needed = storeNames.filter(name => isNeeded(name, chosenRoles))
  return needed.map(name => ({ name, isHealthy: () => checks[name]().then(() => true) }))
}

const openClickHouse = async (
  config: Config,
  stack: AsyncDisposableStack,
  report: Report,
  chosenRoles: readonly Role[],
): Promise<ClickHouse> => {
  const clickHouse = stack.adopt(await openClickHouseClient(config, report), db => db.close())
  const applied = applySchemas(clickHouse, schemaFiles(), config.clickHouse?.isReplicated ?? false)
  if (isNeeded('clickhouse', chosenRoles)) await applied
  else await withTimeout(schemaTimeoutMs, () => applied).catch(continueWithout(report))
  return clickHouse
}

const continueWithout =
  (report: Report) =>
  (error: unknown): void => {
    if (!isFailure(error) || !error.retriable) throw error
    report(`ClickHouse is unavailable, its tables are not updated: ${error.message}`)
  }

/** Open the log of the records: Kafka if it is configured, otherwise the embedded log. */
export const openLog = async (config: Config, stack: AsyncDisposableStack, report: Report): Promise<Log> => {
  if (config.kafka !== null) {
    const { prefix } = config.kafka
    const [{ openKafkaLog }, { kafkaAddress }] = await Promise.all([
      import('./platform/log/kafka/kafka-log.ts'),
      import('./platform/log/kafka/kafka-settings.ts'),
    ])
    const kafka = await openKafkaLog({ address: kafkaAddress(config.kafka), prefix, now: currentInstant, log: report })
    return stack.adopt(kafka, opened => opened.close())
  }
  const partitions = config.logPartitions
  const capacityBytes = Math.floor(config.logMaxBytes / partitions)
  const records = { partitions, capacityBytes, retentionMs: config.logRetentionMs } satisfies Partial<TopicSettings>
  const { openLmdbLog } = await import('./platform/log/lmdb/lmdb-log.ts')
  const log = await openLmdbLog({
    folder: join(config.dataFolder, 'log'),
    now: currentInstant,
    topics: { [recordTopic]: records },
  })
  stack.adopt(log, opened => opened.close())
  return log
}

const findGeneration = async ({ operator }: Database, partitions: number): Promise<number> => {
  const known =
    (await readTopicGeneration(operator, recordTopic)) ??
    (await raiseTopicGeneration(operator, recordTopic, null, partitions, currentInstant()))
  const currentGeneration = known ?? (await readTopicGeneration(operator, recordTopic))
  if (currentGeneration !== null && currentGeneration.partitions !== partitions) {
    const explanation = `${recordTopic} has ${partitions} partitions instead of ${currentGeneration.partitions}`
    throw new Failure('partitions_changed', `${explanation}. Run "npx wattledger topics" first.`)
  }
  return currentGeneration?.generation ?? 0
}

/** Read the generation of the topic, and check every 2 s whether it is still current. */
const openGeneration = async (
  database: Database,
  partitions: number,
  stack: AsyncDisposableStack,
): Promise<() => number> => {
  const found = await findGeneration(database, partitions)
  let current = found
  const refresh = async (): Promise<void> => {
    current = (await readTopicGeneration(database.operator, recordTopic))?.generation ?? current
  }
  // If PostgreSQL is unavailable, the last known generation stays valid.
  const timer = setInterval(() => void refresh().catch(() => undefined), generationPollMs)
  stack.defer(() => clearInterval(timer))
  return () => {
    if (current === found) return found
    throw new Failure('lanes_renumbered', 'The number of partitions has changed. Restart this process.', {
      retriable: true,
    })
  }
}

/**
 * Create the data folders. Only their owner can read records and costs.
 * PostgreSQL, another user, can pass through the parent.
 */
const makeFolders = (dataFolder: string): void => {
  createFolder(dataFolder, 0o711)
  accessSync(dataFolder, constants.W_OK)
  for (const name of ['log', 'clickhouse']) {
    createFolder(join(dataFolder, name), 0o700)
    accessSync(join(dataFolder, name), constants.W_OK)
  }
}

/**
 * Open the stores. The stack closes them.
 * PostgreSQL starts as a child process while the ClickHouse engine opens in this process.
 * Rejects with a `Failure` or a system error that names the reason.
 */
export const openStores = async (
  config: Config,
  stack: AsyncDisposableStack,
  report: Report,
  chosenRoles: readonly Role[] = roles,
): Promise<Stores> => {
  makeFolders(config.dataFolder)
  // Several processes can share the folder if all stores are external.
  if (embeddedStores(config).length > 0) {
    stack.adopt(lockFolder(config.dataFolder), unlock => unlock())
    refuseMovedFolder(config.dataFolder)
  }
  const loaded = loadSecrets(config.dataFolder, config)
  const { promise: launched, resolve } = Promise.withResolvers<void>()
  const postgres = openPostgres(config, stack, report, resolve)
  await Promise.race([launched, postgres])
  const opened = [openLog(config, stack, report), openClickHouse(config, stack, report, chosenRoles), postgres] as const
  const [log, clickHouse, database] = await waitForAll(opened)
  stack.use(await followClock(() => readDatabaseClock(database.operator)))
  await confirmSecret(database, 'secret', { ...loaded, secret: loaded.value.secret, at: currentInstant() })
  const address = config.schemaRegistry
  const codec = await openCodec(address === null ? localSchemaIds() : confluentSchemaIds({ address, fetch }))
  const generation = await openGeneration(database, log.partitions(recordTopic), stack)
  return { database, log, codec, clickHouse, secrets: loaded.value, metrics: createMetrics(), generation }
}

/** Wait for all promises, also after a failure, so that the stack knows all opened stores and closes them. */
const waitForAll = async <T extends readonly unknown[]>(
  promises: { readonly [K in keyof T]: Promise<T[K]> },
): Promise<T> => {
  await Promise.allSettled(promises)
  return (await Promise.all(promises)) as unknown as T
}
