import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startEmbeddedServer } from '../../../services/platform/postgres/embedded/embedded-server.ts'
import { type Cluster, startCluster } from '../../support/kafka/cluster.ts'
import { freePorts } from '../../support/kafka/java-process.ts'
import { startRegistry } from '../../support/kafka/registry.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { type Engine, openEngine } from './engine.ts'

/** What the processes share: three brokers that copy all to each other, a registry, PostgreSQL and ClickHouse, with topics and tables made. */
export type SharedStores = AsyncDisposable & {
  readonly cluster: Cluster
  readonly engine: Engine
  /** The data of PostgreSQL, which comes back by itself when it is killed. */
  readonly postgresFolder: string
  /** The settings of a process on these parts. */
  readonly variables: Readonly<Record<string, string>>
}

/** The brokers of tests give a silent reader's lanes away after this. */
export const sessionMs = 3_000

const brokerCount = 3

const runOrThrow = async (args: readonly string[], variables: Readonly<Record<string, string>>): Promise<void> => {
  const { code, out, err } = await runCommand(args, variables)
  if (code !== 0) throw new Error(`"wattledger ${args.join(' ')}" ended with ${code}:\n${out}${err}`)
}

/** Start all on a folder of data and have the commands `migrate` and `topics` prepare them. */
export const openStores = async (folder: string): Promise<SharedStores> => {
  mkdirSync(join(folder, 'clickhouse'), { recursive: true, mode: 0o711 })
  await using opening = new AsyncDisposableStack()
  const cluster = opening.use(await startCluster({ nodes: brokerCount }))
  const registry = opening.use(await startRegistry())
  const { address } = opening.use(
    await startEmbeddedServer({ dataFolder: folder, settings: { max_connections: '300' } }),
  )
  if (!('host' in address)) throw new Error('the packaged PostgreSQL has no socket')
  const [port = 0] = await freePorts(1)
  const engine = opening.use(await openEngine(join(folder, 'clickhouse'), port))
  const variables = {
    WATTLEDGER_DATA_DIR: folder,
    WATTLEDGER_KAFKA_BROKERS: cluster.brokers.join(','),
    WATTLEDGER_KAFKA_SESSION_TIMEOUT_MS: String(sessionMs),
    WATTLEDGER_SCHEMA_REGISTRY_URL: registry.url,
    WATTLEDGER_POSTGRES_URL: `postgres://${address.user}@localhost/${address.database}?host=${encodeURIComponent(address.host)}&port=${address.port}`,
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
