import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Failure } from '../../failure.ts'
import type { PostgresAddress } from '../database.ts'
import {
  chooseClusterFolder,
  chooseServerUser,
  findBinaries,
  giveFolderTo,
  makeSocketFolder,
  type Report,
  removeSocketFolder,
  type ServerUser,
} from './embedded-files.ts'
import {
  embeddedSettings,
  ensureCluster,
  type ServerConfig,
  type ServerSettings,
  spawnServer,
  stopProcess,
} from './embedded-process.ts'
import { isAlive, isPostmasterOf, pidFile, readPostmaster, SOCKET_PORT } from './postmaster.ts'

export type EmbeddedServer = AsyncDisposable & { readonly address: PostgresAddress }

/** A running server and the session that marks its owner; `child` is null if the server was taken over. */
type RunningServer = {
  readonly pid: number
  readonly socketFolder: string
  readonly child: ChildProcess | null
  readonly owner: pg.Client
}

const DATABASE = 'wattledger'
const OWNER_LOCK = 7_246_001

/**
 * Start the packaged PostgreSQL on a Unix socket, with its data in `<dataFolder>/postgres`. The first start creates the
 * cluster. The function takes over a server that a killed process left. A server that dies is started again on the same
 * socket until disposal, which stops it. If this process is root, the server runs as `nobody`. `onLaunched` is called
 * after a process of the server started: from then on this function only waits, and the caller may use the thread.
 * Throws `Failure`: `data_folder_in_use` if another live process owns the server, `postgres_user`,
 * `postgres_package_missing`, `postgres_data_missing`, `postgres_data_unreachable`, `postgres_start_failed`.
 */
export const startEmbeddedServer = async (options: {
  readonly dataFolder: string
  readonly report?: Report
  readonly settings?: ServerSettings
  readonly onLaunched?: () => void
}): Promise<EmbeddedServer> => {
  const { report = () => undefined, onLaunched = () => undefined } = options
  const user = await chooseServerUser()
  const native = await findBinaries(user, report)
  const cluster = await chooseClusterFolder(options.dataFolder, user, report)
  const config: ServerConfig = {
    native,
    cluster,
    user,
    settings: { ...embeddedSettings, ...options.settings },
    report,
    onLaunched,
  }
  await ensureCluster(config)
  let running = await launch(config, null)
  await ensureDatabase(running.owner)

  let isClosing = false
  let watching = Promise.resolve()
  const watch = (): void => {
    running.owner.once('end', () => {
      if (!isClosing) watching = restart()
    })
  }
  const restart = async (): Promise<void> => {
    report('PostgreSQL stopped, starting it again')
    for (let waitMs = 50; !isClosing; waitMs = Math.min(waitMs * 2, 5_000)) {
      try {
        running = await launch(config, running.socketFolder)
        return isClosing ? undefined : watch()
      } catch (error) {
        report(`PostgreSQL does not start, retrying: ${error instanceof Error ? error.message : String(error)}`)
        await sleep(waitMs)
      }
    }
  }
  watch()
  return {
    address: addressOf(running.socketFolder),
    [Symbol.asyncDispose]: async () => {
      if (isClosing) return
      isClosing = true
      await watching
      await stop(running, cluster)
    },
  }
}

/**
 * Find the packaged PostgreSQL that runs on a data folder; null if none is ready. The function starts nothing and takes
 * nothing over: the server ends with its owner.
 */
export const findEmbeddedServer = async (dataFolder: string): Promise<PostgresAddress | null> => {
  const cluster = join(dataFolder, 'postgres')
  const postmaster = await readPostmaster(cluster)
  if (!postmaster?.isReady || !(await isPostmasterOf(postmaster.pid, cluster))) return null
  return addressOf(postmaster.socketFolder)
}

const addressOf = (socketFolder: string): PostgresAddress => ({
  host: socketFolder,
  port: SOCKET_PORT,
  database: DATABASE,
  user: 'postgres',
})

const launch = async (config: ServerConfig, socketFolder: string | null): Promise<RunningServer> => {
  const { cluster, report } = config
  const before = await readPostmaster(cluster)
  if (before !== null) {
    if (await isPostmasterOf(before.pid, cluster)) {
      const adopted = await adopt(before.pid, config)
      if (adopted !== null) return adopted
    }
    // The server refuses to start if the pid file names a live process, even if that is another program with the same
    // number.
    await rm(pidFile(cluster), { force: true })
    if (before.socketFolder !== socketFolder) await removeSocketFolder(before.socketFolder)
  }
  const folder = await emptySocketFolder(config.user, socketFolder)
  // Children of a killed server keep its shared memory for a moment. Until they end, a new server is refused.
  for (let attemptsLeft = before === null ? 1 : 20; ; attemptsLeft--) {
    try {
      const child = await spawnServer(config, folder)
      const owner = await connectOwner(folder)
      if (owner === null || !(await takeOwnership(owner))) throw folderInUse(cluster)
      return { pid: child.pid ?? 0, socketFolder: folder, child, owner }
    } catch (error) {
      if (attemptsLeft <= 1 || !(error instanceof Failure) || error.code !== 'postgres_start_failed') throw error
      report('Waiting until the processes of a killed PostgreSQL end')
      await sleep(250)
    }
  }
}

/** The folder is not given to the user again: in a shared /tmp another user may have replaced it by a link. */
const emptySocketFolder = async (user: ServerUser, known: string | null): Promise<string> => {
  if (known === null) return makeSocketFolder(user)
  if (existsSync(known)) {
    for (const name of [`.s.PGSQL.${SOCKET_PORT}`, `.s.PGSQL.${SOCKET_PORT}.lock`])
      await rm(join(known, name), { force: true })
    return known
  }
  await mkdir(known, 0o700)
  return giveFolderTo(known, user)
}

/**
 * Take over a live server whose owner is dead. Null if the server was ending, or was stopped because it did not answer.
 */
const adopt = async (pid: number, config: ServerConfig): Promise<RunningServer | null> => {
  for (const deadline = performance.now() + 10_000; performance.now() < deadline; await sleep(20)) {
    if (!isAlive(pid)) return null
    const postmaster = await readPostmaster(config.cluster)
    if (postmaster?.pid !== pid) return null
    const owner = postmaster.isReady ? await connectOwner(postmaster.socketFolder) : null
    if (owner === null) continue
    if (!(await takeOwnership(owner))) throw folderInUse(config.cluster)
    config.report('Taking over the PostgreSQL of a run that was killed')
    return { pid, socketFolder: postmaster.socketFolder, child: null, owner }
  }
  await stopProcess(pid, config.cluster, null)
  return null
}

const folderInUse = (cluster: string): Failure =>
  new Failure(
    'data_folder_in_use',
    `Another running Wattledger uses the database in ${cluster}. Stop it first, or choose another data folder.`,
    {
      retriable: true,
    },
  )

const connectOwner = async (socketFolder: string): Promise<pg.Client | null> => {
  const client = new pg.Client({
    host: socketFolder,
    port: SOCKET_PORT,
    user: 'postgres',
    database: 'postgres',
    application_name: 'wattledger-owner',
    connectionTimeoutMillis: 5_000,
  })
  // The end of the session is observed; its error adds nothing.
  client.on('error', () => undefined)
  try {
    await client.connect()
  } catch {
    return null
  }
  return client
}

/** Take the lock that marks the owner. PostgreSQL releases the lock when the session of a dead process ends. */
const takeOwnership = async (owner: pg.Client): Promise<boolean> => {
  for (const deadline = performance.now() + 1_000; ; await sleep(20)) {
    const { rows } = await owner.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [OWNER_LOCK])
    if (rows[0]?.taken) return true
    if (performance.now() > deadline) break
  }
  await owner.end()
  return false
}

const ensureDatabase = async (owner: pg.Client): Promise<void> => {
  const { rowCount } = await owner.query('select 1 from pg_database where datname = $1', [DATABASE])
  if (rowCount === 0) await owner.query(`create database ${DATABASE}`)
}

const stop = async ({ pid, child, owner, socketFolder }: RunningServer, cluster: string): Promise<void> => {
  await owner.end().catch(() => undefined)
  await stopProcess(pid, cluster, child)
  await removeSocketFolder(socketFolder)
}
