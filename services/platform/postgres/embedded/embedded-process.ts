import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFolder } from '../../create-folder.ts'
import { Failure } from '../../failure.ts'
import { giveFolderTo, permissionFailure, type Report, type ServerUser } from './embedded-files.ts'
import { isAlive, readPostmaster, SOCKET_PORT } from './postmaster.ts'

export type ServerSettings = Readonly<Record<string, string>>

/** Folders, user and settings of a server. */
export type ServerConfig = {
  readonly native: string
  readonly cluster: string
  readonly user: ServerUser
  readonly settings: ServerSettings
  readonly report: Report
  /** Called after a process of the server started: from then on the start only waits. */
  readonly onLaunched: () => void
}

const UNFINISHED = '.new-'

export const embeddedSettings: ServerSettings = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  shared_buffers: '64MB',
  max_connections: '60',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  max_parallel_workers_per_gather: '0',
  io_method: 'sync',
  huge_pages: 'off',
  jit: 'off',
  autovacuum_naptime: '15s',
  timezone: 'UTC',
  // Statements contain data of customers, so the server logs fatal errors only.
  log_min_messages: 'fatal',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
}

/**
 * Create the cluster in a temporary folder and move it to its place, so that an interrupted first start leaves no
 * incomplete cluster. Each attempt has its own folder, because the initdb of a killed start may still run and empties
 * its folder after a failure.
 */
export const ensureCluster = async ({ native, cluster, user, report, onLaunched }: ServerConfig): Promise<void> => {
  if (existsSync(join(cluster, 'PG_VERSION'))) return
  report('Creating the PostgreSQL database files (first start)')
  createFolder(dirname(cluster))
  await removeUnfinished(cluster)
  const fresh = await mkdtemp(`${cluster}${UNFINISHED}`)
  await giveFolderTo(fresh, user)
  const args = ['-D', fresh, '-U', 'postgres', '-A', 'trust', '--encoding=UTF8', '--locale=C', '--no-instructions']
  const child = runAs(user, join(native, 'bin', 'initdb'), args, { stdio: ['ignore', 'ignore', 'pipe'] })
  onLaunched()
  let errorOutput = ''
  child.stderr?.setEncoding('utf8').on('data', text => {
    errorOutput += text
  })
  const code = await waitForExit(child)
  if (code !== 0) throw startFailed(`initdb ended with code ${code}`, errorOutput)
  await rm(cluster, { recursive: true, force: true })
  await rename(fresh, cluster)
}

const removeUnfinished = async (cluster: string): Promise<void> => {
  const prefix = `${basename(cluster)}${UNFINISHED}`
  const names = (await readdir(dirname(cluster))).filter(name => name.startsWith(prefix))
  // A running initdb may create files again during the removal. The next first start removes them.
  await Promise.allSettled(
    names.map(name => rm(join(dirname(cluster), name), { recursive: true, force: true, maxRetries: 3 })),
  )
}

/**
 * Start the server in its own session, so that Ctrl-C of the terminal does not reach it, and wait until it is ready.
 */
export const spawnServer = async (config: ServerConfig, socketFolder: string): Promise<ChildProcess> => {
  const { native, cluster, user, settings, report } = config
  const logFile = join(cluster, 'server.log')
  await rename(logFile, `${logFile}.previous`).catch(() => undefined)
  const log = await open(logFile, 'a')
  const flags = Object.entries({ ...settings, unix_socket_directories: socketFolder, port: String(SOCKET_PORT) })
  const args = ['-D', cluster, ...flags.flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  const child = runAs(user, join(native, 'bin', 'postgres'), args, {
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  })
  config.onLaunched()
  let code: number | string | null = null
  const ended = waitForExit(child).then(value => {
    code = value
  })
  await log.close()
  const started = performance.now()
  for (let isReported = false; ; ) {
    await Promise.race([ended, sleep(4)])
    if (code !== null) throw startFailed(`postgres ended with code ${code}`, await readFile(logFile, 'utf8'))
    const postmaster = await readPostmaster(cluster)
    if (postmaster?.pid === child.pid && postmaster?.isReady) break
    if (!isReported && performance.now() - started > 2_000) {
      isReported = true
      report('PostgreSQL is recovering its files')
    }
  }
  return child
}

const runAs = (user: ServerUser, program: string, args: readonly string[], options: SpawnOptions): ChildProcess => {
  try {
    return spawn(program, args, {
      ...options,
      ...user,
      cwd: '/',
      env: { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' },
    })
  } catch (error) {
    throw permissionFailure(error)
  }
}

const waitForExit = (child: ChildProcess): Promise<number | string> =>
  new Promise((resolve, reject) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'no code'))
    child.once('error', cause => reject(startFailed('the program cannot be run', cause.message)))
  })

const startFailed = (what: string, log: string): Failure =>
  new Failure('postgres_start_failed', `PostgreSQL did not start: ${what}. ${log.trim().slice(-1_000)}`)

/**
 * Stop a process: fast shutdown first, then stronger signals. In a container an orphan can stay as a zombie, but its
 * pid file is gone.
 */
export const stopProcess = async (pid: number, cluster: string, child: ChildProcess | null): Promise<void> => {
  const isGone = async (): Promise<boolean> => {
    if (child !== null) return child.exitCode !== null || child.signalCode !== null
    return !isAlive(pid) || (await readPostmaster(cluster))?.pid !== pid
  }
  for (const [signal, waitMs] of [
    ['SIGINT', 10_000],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 5_000],
  ] as const) {
    if (await isGone()) return
    if (isAlive(pid)) process.kill(pid, signal)
    for (const deadline = performance.now() + waitMs; performance.now() < deadline && !(await isGone()); )
      await sleep(4)
  }
}
