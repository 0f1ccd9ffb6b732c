import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from '../../../services/platform/access/sandbox-file.ts'
import type { ClickHouse } from '../../../services/platform/clickhouse/clickhouse.ts'
import { openClickHouseHttp } from '../../../services/platform/clickhouse/clickhouse-http.ts'
import type { Role } from '../../../services/platform/config/config.ts'
import { openClickHouseServer } from '../../support/stores/clickhouse-server.ts'
import { closeWithRun } from '../../support/system/close-with-run.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { dataFolder, launchSystem } from '../../support/system/running-system.ts'
import { type BenchSystem, cpuOf, type OpenBench } from '../bench-system.ts'
import { removeAfterRun } from '../data-folders.ts'
import { readSamples } from '../samples.ts'
import { openBenchDatabase, type SharedStores } from './shared-stores.ts'

/** Process of one role. `end` resolves when the process has exited. */
export type RoleProcess = {
  readonly url: string
  readonly metricsUrl: string
  readonly end: (signal: NodeJS.Signals) => Promise<void>
}

/** Distributed system whose processes can be restarted. Each role keeps its port. */
export type DistributedSystem = BenchSystem & {
  readonly processes: ReadonlyMap<Role, RoleProcess>
  readonly restart: (role: Role, signal: NodeJS.Signals) => Promise<void>
  readonly engineUrl: string
  /** Prefix of the names of topics and consumer groups. */
  readonly prefix: string
}

const secret = 'a secret that the processes of a bench share'
const roles = ['query-service', 'ingest-gateway', 'cost-worker', 'webhook-worker'] as const

/** Open ClickHouse at an address, with the settings of the service's processes. */
export const engineAt = (url: string): ClickHouse =>
  openClickHouseHttp({ url, user: 'default', password: '', database: 'default', ca: null, isReplicated: false })

/** Return variables that write a CPU profile for each process, if BENCH_PROFILE names a folder. */
const profileVariables = (name: string): Readonly<Record<string, string>> => {
  const folder = process.env['BENCH_PROFILE']
  if (folder === undefined) return {}
  return {
    NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder} --cpu-prof-name=${name}-${process.pid}-${Date.now()}.cpuprofile`,
  }
}

/**
 * Start a process. `onChange` receives the process as soon as it can be ended, and again when its addresses are known.
 */
const startRole = async (
  folder: string,
  settings: Readonly<Record<string, string>>,
  role: Role,
  onChange: (process: RoleProcess) => void,
): Promise<void> => {
  const { process: child, output, exited, ready } = launchSystem(folder, settings, ['--roles', role])
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal)
    await exited
  }
  onChange({ url: '', metricsUrl: '', end })
  await ready()
  const url = `http://127.0.0.1:${/"port":(\d+)/.exec(output())?.[1]}`
  onChange({ url, metricsUrl: /metrics\s+(http\S+)/.exec(output())?.[1] ?? '', end })
}

/** Start a process for each role, on shared brokers and registry and with a new database, ClickHouse and topics. */
export const startDistributed = async (
  { brokers, registryUrl, replicas }: SharedStores,
  environment: Readonly<Record<string, string>> = {},
): Promise<DistributedSystem> => {
  await using opening = closeWithRun(new AsyncDisposableStack())
  const database = opening.use(await openBenchDatabase())
  const engine = opening.use(await openClickHouseServer())
  const folder = opening.adopt(dataFolder(), removeAfterRun)
  const prefix = `bench-${randomUUID()}.`
  const variables = {
    WATTLEDGER_KAFKA_BROKERS: brokers.join(','),
    WATTLEDGER_KAFKA_PREFIX: prefix,
    WATTLEDGER_SCHEMA_REGISTRY_URL: registryUrl,
    WATTLEDGER_POSTGRES_URL: database.url,
    WATTLEDGER_CLICKHOUSE_URL: engine.directUrl,
    WATTLEDGER_SECRET: secret,
    ...environment,
  }
  const created = await runCommand(['topics', '--replicas', String(replicas)], variables)
  if (created.code !== 0) throw new Error(created.err + created.out)
  const processes = new Map<Role, RoleProcess>()
  const start = async (role: Role, port = '0'): Promise<void> => {
    const settings = { ...variables, ...profileVariables(role), WATTLEDGER_PORT: port }
    await startRole(folder, settings, role, process => processes.set(role, process))
  }
  opening.defer(async () => void (await Promise.all([...processes.values()].map(({ end }) => end('SIGTERM')))))
  // The first process creates the sandbox and registers the schemas.
  await start(roles[0])
  await Promise.all(roles.slice(1).map(role => start(role)))
  const db = opening.adopt(engineAt(engine.directUrl), one => one.close())
  const samples = () => readSamples([...processes.values()].map(({ metricsUrl }) => metricsUrl))
  const file = join(folder, 'sandbox.json')
  if (!existsSync(file)) throw new Error(`The service did not write ${file}.`)
  const open = opening.move()
  return closeWithRun({
    sandbox: () => JSON.parse(readFileSync(file, 'utf8')) as Sandbox,
    gatewayUrl: () => processes.get('ingest-gateway')?.url ?? '',
    postgresUrl: async () => database.url,
    samples,
    stored: async () => Number((await db.rows('SELECT count() FROM meter_cost FINAL'))[0]?.[0]),
    cpuSeconds: async () => {
      const ofRoles = [...processes].map(async ([role, { metricsUrl }]) => [role, await cpuOf(metricsUrl)] as const)
      return { ...Object.fromEntries(await Promise.all(ofRoles)), engine: engine.cpuSeconds() }
    },
    restartSeconds: async () => null,
    fill: work => work(db),
    processes,
    restart: async (role, signal) => {
      const process = processes.get(role)
      await process?.end(signal)
      await start(role, new URL(process?.url ?? '').port)
    },
    engineUrl: engine.directUrl,
    prefix,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  })
}

/** Return a function that starts distributed systems on shared brokers. */
export const openDistributedOn =
  (shared: SharedStores): OpenBench =>
  environment =>
    startDistributed(shared, environment)
