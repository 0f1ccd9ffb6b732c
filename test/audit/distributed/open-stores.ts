import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startEmbeddedServer } from '../../../services/platform/postgres/embedded/embedded-server.ts'
import { type Cluster, startCluster } from '../../support/kafka/cluster.ts'
import { startRegistry } from '../../support/kafka/registry.ts'
import { type ClickHouseServer, openClickHouseServer } from '../../support/stores/clickhouse-server.ts'
import { runCommand } from '../../support/system/run-command.ts'

/** Stores that the processes share: three brokers, a registry, PostgreSQL and ClickHouse, with topics and tables. */
export type SharedStores = AsyncDisposable & {
  readonly cluster: Cluster
  readonly engine: ClickHouseServer
  /** Data folder of PostgreSQL. Its server restarts by itself after a kill. */
  readonly postgresFolder: string
  /** Environment of a process that uses these stores. */
  readonly variables: Readonly<Record<string, string>>
}

/** Time after which a broker assigns the partitions of a silent reader to others. */
export const sessionMs = 3_000

const brokerCount = 3

const runOrThrow = async (args: readonly string[], variables: Readonly<Record<string, string>>): Promise<void> => {
  const { code, out, err } = await runCommand(args, variables)
  if (code !== 0) throw new Error(`"wattledger ${args.join(' ')}" exited with code ${code}:\n${out}${err}`)
}

/** Start all stores on a data folder, and prepare them with the commands `migrate` and `topics`. */
export const openStores = async (folder: string): Promise<SharedStores> => {
  mkdirSync(join(folder, 'clickhouse'), { recursive: true, mode: 0o711 })
  await using opening = new AsyncDisposableStack()
  const cluster = opening.use(await startCluster({ nodes: brokerCount }))
  const registry = opening.use(await startRegistry())
  const { address } = opening.use(
    await startEmbeddedServer({ dataFolder: folder, settings: { max_connections: '300' } }),
  )
  if (!('host' in address)) throw new Error('The embedded PostgreSQL has no socket.')
  const engine = opening.use(await openClickHouseServer({ folder: join(folder, 'clickhouse') }))
  const { user, database, host: socketFolder, port: postgresPort } = address
  const postgresServer = `host=${encodeURIComponent(socketFolder)}&port=${postgresPort}`
  const variables = {
    WATTLEDGER_DATA_DIR: folder,
    WATTLEDGER_KAFKA_BROKERS: cluster.brokers.join(','),
    WATTLEDGER_KAFKA_SESSION_TIMEOUT_MS: String(sessionMs),
    WATTLEDGER_SCHEMA_REGISTRY_URL: registry.url,
    WATTLEDGER_POSTGRES_URL: `postgres://${user}@localhost/${database}?${postgresServer}`,
    WATTLEDGER_CLICKHOUSE_URL: engine.url,
    WATTLEDGER_SECRET: 'the secret that the processes of an audit share',
    WATTLEDGER_OPERATOR_KEY: 'the operator key of an audit',
    WATTLEDGER_CREDENTIALS_KEY: 'the credentials key of the processes of an audit',
  }
  await runOrThrow(['migrate'], variables)
  await runOrThrow(['topics'], variables)
  const open = opening.move()
  return {
    cluster,
    engine,
    postgresFolder: join(folder, 'postgres'),
    variables,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
