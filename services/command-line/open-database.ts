import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Config, readConfig } from '../platform/config/config.ts'
import { Failure, isFailure } from '../platform/failure.ts'
import { lockFolder } from '../platform/log/lmdb/folder-lock.ts'
import { type Database, openDatabase, type PostgresAddress } from '../platform/postgres/database.ts'
import { findEmbeddedServer, startEmbeddedServer } from '../platform/postgres/embedded/embedded-server.ts'
import { migrate, pendingMigrations } from '../platform/postgres/migrate.ts'
import { CommandError, type CommandInput } from './command.ts'

const timeoutMs = 15_000

/** Where the records of truth are; `isOurs` while no service runs and the command keeps the server up itself. */
export type PostgresAccess = {
  readonly config: Config
  readonly address: PostgresAddress
  readonly isOwnServer: boolean
}

type AccessOptions = {
  /** Whether a data folder without a database gets one; else it is taken for a mistake in the folder's name. */
  readonly mayCreate: boolean
}

/**
 * Do a piece of work while PostgreSQL is reachable: at the configured address, on the socket of the running service, or, where none runs,
 * on a server that is started for the moment and holds the data folder as a service would.
 */
export const withPostgres = async <T>(
  { variables, onProgress }: Pick<CommandInput, 'variables' | 'onProgress'>,
  { mayCreate }: AccessOptions,
  work: (postgres: PostgresAccess) => Promise<T>,
): Promise<T> => {
  const config = readConfig(variables)
  const { dataFolder, postgresUrl } = config
  if (postgresUrl !== null) return work({ config, address: { url: postgresUrl }, isOwnServer: false })
  if (!mayCreate && !existsSync(join(dataFolder, 'postgres'))) {
    throw new CommandError(
      `there is no database in ${dataFolder}; start the service once, or name its folder with WATTLEDGER_DATA_DIR`,
    )
  }
  await using stack = new AsyncDisposableStack()
  const running = await findServerOrLock(dataFolder, stack)
  if (running !== null) return await work({ config, address: running, isOwnServer: false })
  const server = stack.use(await startEmbeddedServer({ dataFolder, report: onProgress }))
  return await work({ config, address: server.address, isOwnServer: true })
}

/** The address of the running server, or null once this process holds the folder. A service that is starting or stopping is waited for. */
const findServerOrLock = async (dataFolder: string, stack: AsyncDisposableStack): Promise<PostgresAddress | null> => {
  for (const deadline = performance.now() + timeoutMs; ; await sleep(100)) {
    const running = await findEmbeddedServer(dataFolder)
    if (running !== null) return running
    try {
      stack.adopt(lockFolder(dataFolder), unlock => unlock())
      return null
    } catch (error) {
      if (!isFailure(error) || error.code !== 'folder_taken') throw error
      if (performance.now() > deadline) {
        throw new Failure(
          'postgres_away',
          `a service holds ${dataFolder} and its PostgreSQL does not run; look at the log of the service`,
          {
            retriable: true,
            cause: error,
          },
        )
      }
    }
  }
}

/** Do a piece of work on a database whose schema is that of this version; a server of our own is brought up to it, others are not touched. */
export const withDatabase = <T>(
  input: CommandInput,
  options: AccessOptions,
  work: (database: Database, postgres: PostgresAccess) => Promise<T>,
): Promise<T> =>
  withPostgres(input, options, async postgres => {
    if (postgres.isOwnServer) await migrate(postgres.address)
    const pending = await pendingMigrations(postgres.address)
    if (pending.length > 0) {
      throw new CommandError(`the database lacks ${pending.join(', ')}; run "npx wattledger migrate" first`)
    }
    await using database = openDatabase({ address: postgres.address, tenantConnections: 1, operatorConnections: 1 })
    return await work(database, postgres)
  })
