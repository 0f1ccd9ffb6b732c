import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import { copyTables } from '../../platform/clickhouse/copy-tables.ts'
import { applySchemas, schemaFiles } from '../../platform/clickhouse/schemas.ts'
import { currentInstant } from '../../platform/clock.ts'
import { type Config, readConfig } from '../../platform/config/config.ts'
import { confluentSchemaIds } from '../../platform/log/avro/confluent-schema-ids.ts'
import { localSchemaIds } from '../../platform/log/avro/schema-ids.ts'
import { kafkaAddress } from '../../platform/log/kafka/kafka-settings.ts'
import { lockFolder } from '../../platform/log/lmdb/folder-lock.ts'
import { type Log, recordTopic } from '../../platform/log/log.ts'
import { copyDeadLetters, countUnread, findUsedTopic } from '../../platform/log/move-log.ts'
import { markAsMoved } from '../../platform/moved-folder.ts'
import { compareDatabases, copyDatabase, type TableRows } from '../../platform/postgres/copy-database.ts'
import { openDatabase, type PostgresAddress, readDatabaseClock } from '../../platform/postgres/database.ts'
import { startEmbeddedServer } from '../../platform/postgres/embedded/embedded-server.ts'
import { migrate, pendingMigrations } from '../../platform/postgres/migrate.ts'
import { confirmSecret } from '../../platform/postgres/secret-fingerprints.ts'
import { type Command, CommandError, type CommandInput, type CommandOutcome, success } from '../command.ts'
import { table } from '../table.ts'

/** Settings of a cluster that the copy needs. */
type Cluster = Config & {
  readonly [K in 'postgresUrl' | 'kafka' | 'clickHouse' | 'secret' | 'credentialsKey']: NonNullable<Config[K]>
}

type Stores = { readonly postgres: PostgresAddress; readonly log: Log; readonly clickHouse: ClickHouse }

/** A comparison of a large partition takes minutes. */
const clickHouseTimeoutMs = 3_600_000
const progressIntervalMs = 5_000

const readCluster = (config: Config): Cluster => {
  const needed = {
    WATTLEDGER_POSTGRES_URL: config.postgresUrl,
    WATTLEDGER_CLICKHOUSE_URL: config.clickHouse,
    WATTLEDGER_KAFKA_BROKERS: config.kafka,
    WATTLEDGER_SECRET: config.secret,
    WATTLEDGER_CREDENTIALS_KEY: config.credentialsKey,
  }
  const missing = Object.entries(needed).flatMap(([name, value]) => (value === null ? [name] : []))
  if (missing.length > 0)
    throw new CommandError(`The settings of the cluster are incomplete. Set ${missing.join(', ')}.`)
  return config as Cluster
}

/** Refuse a folder that is none, before anything is created in it. */
const refuseOtherFolder = (folder: string): void => {
  const missing = ['postgres', 'log', 'clickhouse'].find(name => !existsSync(join(folder, name)))
  if (missing !== undefined)
    throw new CommandError(`${folder} is not a data folder of this service: it has no ${missing}.`)
}

/** Open the stores of the folder. The lock makes sure that no service uses them. */
const openFolder = async (folder: string, config: Config, stack: AsyncDisposableStack): Promise<Stores> => {
  stack.adopt(lockFolder(folder), unlock => unlock())
  const { openLmdbLog } = await import('../../platform/log/lmdb/lmdb-log.ts')
  const partitions = { [recordTopic]: { partitions: config.logPartitions } }
  const opened = await openLmdbLog({ folder: join(folder, 'log'), now: currentInstant, topics: partitions })
  const log = stack.adopt(opened, one => one.close())
  const { openChdb } = await import('../../platform/clickhouse/chdb.ts')
  const clickHouse = stack.adopt(openChdb({ folder: join(folder, 'clickhouse') }), one => one.close())
  await applySchemas(clickHouse, schemaFiles())
  const { address } = stack.use(await startEmbeddedServer({ dataFolder: folder }))
  await migrate(address)
  return { postgres: address, log, clickHouse }
}

/** Open the stores of the cluster, which must have their schemas and topics. */
const openCluster = async (
  { postgresUrl, clickHouse: settings, kafka }: Cluster,
  stack: AsyncDisposableStack,
): Promise<Stores> => {
  const postgres = { url: postgresUrl }
  const pending = await pendingMigrations(postgres)
  if (pending.length > 0)
    throw new CommandError(
      `The PostgreSQL of the cluster lacks ${pending.join(', ')}. Run "npx wattledger migrate" first.`,
    )
  const { openClickHouseHttp } = await import('../../platform/clickhouse/clickhouse-http.ts')
  const { caFile, ...server } = settings
  const ca = caFile === null ? null : readFileSync(caFile, 'utf8')
  const opened = openClickHouseHttp({ ...server, ca, requestTimeoutMs: clickHouseTimeoutMs })
  const clickHouse = stack.adopt(opened, one => one.close())
  await applySchemas(clickHouse, schemaFiles(), settings.isReplicated)
  const { openKafkaLog } = await import('../../platform/log/kafka/kafka-log.ts')
  const kafkaLog = await openKafkaLog({ address: kafkaAddress(kafka), prefix: kafka.prefix, now: currentInstant })
  return { postgres, clickHouse, log: stack.adopt(kafkaLog, one => one.close()) }
}

/** Read the clock of a PostgreSQL. */
const clockOf = async (address: PostgresAddress): Promise<number> => {
  await using database = openDatabase({ address, tenantConnections: 1, operatorConnections: 1 })
  return await readDatabaseClock(database.operator)
}

/** Refuse secrets of the cluster that the folder was not used with: keys and credentials would be useless. */
const refuseOtherSecrets = async (
  address: PostgresAddress,
  { secret, credentialsKey, formerSecrets, formerCredentialsKeys }: Cluster,
): Promise<void> => {
  await using database = openDatabase({ address, tenantConnections: 1, operatorConnections: 1 })
  const known = { isNew: false, save: () => undefined, at: await readDatabaseClock(database.operator) }
  await confirmSecret(database, 'secret', { ...known, secret: [secret, ...formerSecrets] })
  await confirmSecret(database, 'credentials_key', { ...known, secret: [credentialsKey, ...formerCredentialsKeys] })
}

const refuseUnread = async (log: Log, folder: string): Promise<void> => {
  const unread = [...(await countUnread(log))].map(([group, count]) => `${group} has ${count} unread messages`)
  if (unread.length === 0) return
  const advice = `Start the service on ${folder}, wait until it has read them, and stop it.`
  throw new CommandError(`The folder is not ready: ${unread.join(', ')}. ${advice}`)
}

const refuseUsedTopics = async (log: Log, prefix: string): Promise<void> => {
  const used = await findUsedTopic(log)
  if (used === null) return
  const advice = 'Set another WATTLEDGER_KAFKA_PREFIX and run "npx wattledger topics".'
  throw new CommandError(`The topic ${prefix}${used} of the cluster is not empty. ${advice}`)
}

/**
 * Copy everything. PostgreSQL is last: without it, no process of the cluster finds an account. The folder is marked before
 * that copy, so that no crash leaves both the folder and the cluster usable.
 */
const copyAll = async (
  folder: string,
  source: Stores,
  target: Stores,
  { schemaRegistry: registry }: Cluster,
  { onProgress, at }: CommandInput,
): Promise<CommandOutcome> => {
  let shown = { name: '', at: 0 }
  const rows = await copyTables(source.clickHouse, target.clickHouse, ({ table: name, share }) => {
    if (name === shown.name && performance.now() - shown.at < progressIntervalMs) return
    shown = { name, at: performance.now() }
    onProgress(`ClickHouse: ${name}, ${Math.floor(share * 100)} %`)
  })
  const schemaIds = {
    source: localSchemaIds(),
    target: registry === null ? localSchemaIds() : confluentSchemaIds({ address: registry, fetch }),
  }
  const letters = await copyDeadLetters(source.log, target.log, schemaIds)
  onProgress(`Kafka: ${letters} dead letters`)
  markAsMoved(folder, at)
  const tables = await copyDatabase(source.postgres, target.postgres, {
    newTopic: {
      topic: recordTopic,
      partitions: target.log.partitions(recordTopic),
      at: await clockOf(target.postgres),
    },
    onTable: ({ table: name, rows: count }) => {
      if (count > 0) onProgress(`PostgreSQL: ${name}, ${count} rows`)
    },
  })
  return movedOutcome(rows, letters, tables)
}

const nextSteps = 'Start the roles of the cluster. No service starts on the folder any more.'

const movedOutcome = (clickHouseRows: number, letters: number, tables: readonly TableRows[]): CommandOutcome => {
  const postgresRows = tables.reduce((sum, { rows }) => sum + rows, 0)
  const moved = [
    ['ClickHouse', 'stored rows', String(clickHouseRows)],
    ['Kafka', 'dead letters', String(letters)],
    ['PostgreSQL', 'rows', String(postgresRows)],
  ]
  const text = [
    'The cluster has all data of the folder. All copies were compared.',
    table(['store', 'kind', 'count'], moved, ''),
  ]
  const json = { moved: true, clickhouse_rows: clickHouseRows, dead_letters: letters, postgres_rows: postgresRows }
  return success([...text, nextSteps].join('\n'), json)
}

export const moveCommand: Command = {
  name: 'move',
  operands: ['FOLDER'],
  summary: 'Copy a data folder into an empty cluster.',
  details: [
    'Stop the service that uses FOLDER first. The settings are those of the cluster, with the secrets of the folder.',
    'Run "npx wattledger migrate" and "npx wattledger topics" before, and start the roles of the cluster after it.',
    'Copies costs, receipts, dead letters and all objects. The folder keeps all its data, and each copy is compared with it.',
    'An interrupted move can be started again: no row is stored twice. A cluster with other data is refused.',
    'Export files are not copied. Copy exports/files of the folder to WATTLEDGER_EXPORT_DIR.',
  ],
  options: {},
  run: async input => {
    const folder = resolve(input.operands[0] ?? '')
    const cluster = readCluster(readConfig(input.variables))
    refuseOtherFolder(folder)
    await using stack = new AsyncDisposableStack()
    const target = await openCluster(cluster, stack)
    const source = await openFolder(folder, cluster, stack)
    await refuseOtherSecrets(source.postgres, cluster)
    const state = await compareDatabases(source.postgres, target.postgres)
    if (state === 'equal') {
      markAsMoved(folder, input.at)
      const text = `The cluster has the data of ${folder} already.`
      return success(`${text}\n${nextSteps}`, { moved: false })
    }
    if (state === 'different') {
      const advice =
        'If a move has ended and the cluster was used since, nothing is left to do. Else use an empty database.'
      throw new CommandError(`The PostgreSQL of the cluster has other data than ${folder}. ${advice}`)
    }
    await refuseUnread(source.log, folder)
    await refuseUsedTopics(target.log, cluster.kafka.prefix)
    return await copyAll(folder, source, target, cluster, input)
  },
}
