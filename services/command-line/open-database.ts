import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Config, readConfig } from '../platform/config/config.ts'
import { Failure, isFailure } from '../platform/failure.ts'
import { lockFolder } from '../platform/log/lmdb/folder-lock.ts'
import { refuseMovedFolder } from '../platform/moved-folder.ts'
import { type Database, openDatabase, type PostgresAddress, readDatabaseClock } from '../platform/postgres/database.ts'
import { findEmbeddedServer, startEmbeddedServer } from '../platform/postgres/embedded/embedded-server.ts'
import { migrate, pendingMigrations } from '../platform/postgres/migrate.ts'
import { CommandError, type CommandInput } from './command.ts'

const timeoutMs = 15_000

/** Address of PostgreSQL. `isOwnServer` is true if the command started the embedded server itself. */
export type PostgresAccess = {
  readonly config: Config
  readonly address: PostgresAddress
  readonly isOwnServer: boolean
}

/** Address of PostgreSQL, and the instant in ms that its clock showed when the work began. */
export type DatabaseAccess = PostgresAccess & { readonly at: number }

type AccessOptions = {
  /** True to create a missing database in the data folder; false to throw, because the folder's name may be wrong. */
  readonly mayCreate: boolean
}

/**
 * Run `work` with PostgreSQL: at the configured address, or on the socket of the running service.
 * If no service runs, the command locks the data folder and starts the embedded server until `work` ends.
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
      `There is no database in ${dataFolder}. Start the service once, or set WATTLEDGER_DATA_DIR to its data folder.`,
    )
  }
  await using stack = new AsyncDisposableStack()
  const running = await findServerOrLock(dataFolder, stack)
  if (running !== null) return await work({ config, address: running, isOwnServer: false })
  refuseMovedFolder(dataFolder)
  const server = stack.use(await startEmbeddedServer({ dataFolder, report: onProgress }))
  return await work({ config, address: server.address, isOwnServer: true })
}

/** Return the address of the running server, or null after this process has locked the folder. Waits up to 15 s. */
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
          `A service uses ${dataFolder}, but its PostgreSQL does not run. Check the log of the service.`,
          { retriable: true, cause: error },
        )
      }
    }
  }
}

/**
 * Run `work` on a database that has the schema of this version. Throws `CommandError` if migrations are missing.
 * The command's own server is migrated first. Other servers are not changed.
 * `work` writes the time of the database, as the service does, because the clock of this machine can be wrong.
 */
export const withDatabase = <T>(
  input: CommandInput,
  options: AccessOptions,
  work: (database: Database, access: DatabaseAccess) => Promise<T>,
): Promise<T> =>
  withPostgres(input, options, async postgres => {
    if (postgres.isOwnServer) await migrate(postgres.address)
    const pending = await pendingMigrations(postgres.address)
    if (pending.length > 0) {
      throw new CommandError(`The database lacks ${pending.join(', ')}. Run "npx wattledger migrate" first.`)
    }
    await using database = openDatabase({ address: postgres.address, tenantConnections: 1, operatorConnections: 1 })
    const at = await readDatabaseClock(database.operator)
    return await work(database, { ...postgres, at })
  })
