import { readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import type { Sandbox } from '../../../services/platform/access/sandbox-file.ts'
import type { Role } from '../../../services/platform/config/config.ts'
import { startLocalServer } from '../http/local-server.ts'
import { openClickHouseServer } from '../stores/clickhouse-server.ts'
import { openTestDatabase } from '../stores/postgres.ts'
import { severablePostgres } from '../stores/severable-postgres.ts'
import { runCommand } from '../system/run-command.ts'
import { dataFolder, launchSystem, removeData } from '../system/running-system.ts'
import { rotatingClocks } from '../system/shifted-clock.ts'
import { sessionMs } from './test-log.ts'

/** A process that runs some of the roles. */
export type RoleProcess = {
  readonly roles: readonly Role[]
  readonly url: string
  readonly pid: number
  readonly hasExited: () => boolean
  readonly output: () => string
  /** End the process with a signal. Resolves with the exit code; null if the signal killed the process. */
  readonly end: (signal: NodeJS.Signals) => Promise<number | null>
}

const nextClock = rotatingClocks()

/**
 * Start a process with some roles on external stores and wait until it is ready. The clock of its machine is wrong, in
 * another way for each process.
 * Kills the process if it is not ready in time.
 */
export const startRoles = async (
  folder: string,
  variables: Readonly<Record<string, string>>,
  roles: readonly Role[],
): Promise<RoleProcess> => {
  const {
    process: child,
    output,
    exited,
    ready,
  } = launchSystem(folder, { ...nextClock(), ...variables }, ['--roles', roles.join(',')])
  try {
    await ready()
  } catch (error) {
    child.kill('SIGKILL')
    await exited
    throw error
  }
  return {
    roles,
    output,
    url: `http://127.0.0.1:${/"port":(\d+)/.exec(output())?.[1]}`,
    pid: child.pid ?? 0,
    hasExited: () => child.exitCode !== null || child.signalCode !== null,
    end: signal => {
      child.kill(signal)
      return exited
    },
  }
}

const secret = 'a secret that all processes of a test share'

/**
 * Open topics, a database and a ClickHouse for one test, and a function that starts processes on them.
 * The test can interrupt the connection of the processes to PostgreSQL.
 */
export const openProcesses = async (
  brokers: readonly string[],
  prefix: string,
  { replicas = 1 }: { readonly replicas?: number } = {},
) => {
  const stack = new AsyncDisposableStack()
  const { address: direct, database } = stack.use(await openTestDatabase())
  const postgres = stack.use(await severablePostgres(direct))
  const { address } = postgres
  const clickHouse = stack.use(await openClickHouseServer())
  const folder = stack.adopt(dataFolder(), removeData)
  const variables = {
    WATTLEDGER_KAFKA_BROKERS: brokers.join(','),
    WATTLEDGER_KAFKA_PREFIX: prefix,
    WATTLEDGER_KAFKA_SESSION_TIMEOUT_MS: String(sessionMs),
    WATTLEDGER_POSTGRES_URL: `postgres://${address.user}@localhost/${address.database}?host=${encodeURIComponent(address.host)}`,
    WATTLEDGER_CLICKHOUSE_URL: clickHouse.url,
    WATTLEDGER_SECRET: secret,
  }
  const created = await runCommand(['topics', '--replicas', String(replicas)], variables)
  if (created.code !== 0) throw new Error(created.err + created.out)
  const start = async (...roles: readonly Role[]): Promise<RoleProcess> => {
    const started = await startRoles(folder, variables, roles)
    stack.defer(async () => void (await started.end('SIGKILL')))
    return started
  }
  const sandbox = (): Sandbox => JSON.parse(readFileSync(join(folder, 'sandbox.json'), 'utf8'))
  return {
    start,
    sandbox,
    folder,
    clickHouse: clickHouse.proxy,
    database,
    postgres,
    postgresFolder: direct.host,
    variables,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/**
 * Open a proxy to the processes. It sends submissions and instant costs to the gateways in turn,
 * and all other requests to the query service. Without a process, it closes the connection.
 */
export const openProxy = async (gateways: () => readonly (RoleProcess | null)[], query: () => RoleProcess | null) => {
  let turn = 0
  return startLocalServer((request, response) => {
    const { method = 'GET', url = '/' } = request
    const isForGateway = (method === 'PUT' && url.startsWith('/meters')) || url.startsWith('/costs/instant')
    const running = gateways().filter(one => one !== null)
    const target = isForGateway ? running[turn++ % running.length] : query()
    if (!target) return void response.destroy()
    const forwarded = httpRequest(
      new URL(url, target.url),
      { method, headers: request.headers, agent: false },
      answer => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.on('error', () => response.destroy())
        answer.pipe(response)
      },
    )
    forwarded.on('error', () => response.destroy())
    request.pipe(forwarded)
  })
}
