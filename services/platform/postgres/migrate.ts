import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { Failure } from '../failure.ts'
import { connectionOptions, type PostgresAddress } from './database.ts'
import { classifyError } from './postgres-failure.ts'

type Migration = { readonly number: number; readonly name: string; readonly text: string; readonly checksum: string }

/** The numbered SQL files of this version. */
export const migrationFolder = join(import.meta.dirname, '../../../schemas/postgres')

const MIGRATION_LOCK = 7_246_002
const roles = ['wattledger_tenant', 'wattledger_operator']

/**
 * Apply every new SQL file to the schema, in order, each in its own transaction. Concurrent starts wait for each other.
 * Returns the names of the applied files.
 * Throws `Failure` `schema_drift` if the database has a file that this version lacks or that differs,
 * `postgres_refused` if the user may not create the roles.
 */
export const migrate = async (
  address: PostgresAddress,
  folder: string = migrationFolder,
): Promise<readonly string[]> => {
  const migrations = await readMigrations(folder)
  return withClient(address, async client => {
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    await ensureRoles(client)
    if (!('url' in address)) await letRolesLogIn(client)
    return applyMissing(client, migrations)
  })
}

/**
 * Return the names of the files that a database lacks, and change nothing. Throws `Failure` `schema_drift` as `migrate`
 * does.
 */
export const pendingMigrations = async (
  address: PostgresAddress,
  folder: string = migrationFolder,
): Promise<readonly string[]> => {
  const migrations = await readMigrations(folder)
  return withClient(address, async client => {
    const { rows } = await client.query<{ known: boolean }>(
      "select to_regclass('schema_migrations') is not null as known",
    )
    const missing = rows[0]?.known ? await findMissing(client, migrations) : migrations
    return missing.map(({ name }) => name)
  })
}

/** Run work on a connection of the owner of the tables. Throws `Failure` as statements of a pool do. */
export const withClient = async <T>(address: PostgresAddress, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({
    ...connectionOptions(address, '-c timezone=UTC'),
    application_name: 'wattledger-owner',
  })
  // A broken connection fails the statement in progress, which handles the error.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await work(client)
  } catch (error) {
    throw classifyError(error)
  } finally {
    await client.end().catch(() => undefined)
  }
}

const readMigrations = async (folder: string): Promise<readonly Migration[]> => {
  const names = (await readdir(folder)).filter(name => /^\d{4}_.*\.sql$/.test(name)).sort()
  return Promise.all(
    names.map(async name => {
      const text = await readFile(join(folder, name), 'utf8')
      return { number: Number(name.slice(0, 4)), name, text, checksum: createHash('sha256').update(text).digest('hex') }
    }),
  )
}

/** Create missing roles. Roles belong to the server, so a database that was restored on another server has none. */
const ensureRoles = async (client: pg.Client): Promise<void> => {
  const { rows } = await client.query<{ name: string; member: boolean }>(
    `select rolname as name, pg_has_role(rolname, 'SET') as member from pg_roles where rolname = any($1)`,
    [roles],
  )
  for (const role of roles) {
    const found = rows.find(({ name }) => name === role)
    if (found === undefined) await client.query(`create role ${role} nologin`)
    if (found?.member !== true) await client.query(`grant ${role} to current_user`)
  }
}

/**
 * On the packaged server the pools log in as their roles, because only the owner reaches its socket. The roles are no
 * superusers and may not create roles.
 */
const letRolesLogIn = async (client: pg.Client): Promise<void> => {
  const { rows } = await client.query<{ name: string }>(
    'select rolname as name from pg_roles where rolname = any($1) and not rolcanlogin',
    [roles],
  )
  for (const { name } of rows) await client.query(`alter role ${name} login`)
}

const applyMissing = async (client: pg.Client, migrations: readonly Migration[]): Promise<readonly string[]> => {
  await client.query(
    `create table if not exists schema_migrations (
       number integer primary key, name text not null, checksum text not null,
       applied_at timestamptz not null default now())`,
  )
  const missing = await findMissing(client, migrations)
  for (const migration of missing) await apply(client, migration)
  return missing.map(({ name }) => name)
}

const findMissing = async (client: pg.Client, migrations: readonly Migration[]): Promise<readonly Migration[]> => {
  const { rows } = await client.query<{ number: number; name: string; checksum: string }>(
    'select number, name, checksum from schema_migrations',
  )
  for (const applied of rows) {
    const own = migrations.find(({ number }) => number === applied.number)
    if (own === undefined)
      throw drift(`The database has migration ${applied.name}, which this version lacks. Start the newer version.`)
    if (own.checksum !== applied.checksum) {
      throw drift(`The applied migration ${own.name} was changed. Restore the file and add the change as a new file.`)
    }
  }
  return migrations.filter(({ number }) => !rows.some(applied => applied.number === number))
}

const apply = async (client: pg.Client, { number, name, text, checksum }: Migration): Promise<void> => {
  await client.query('begin')
  await client.query(text)
  await client.query('insert into schema_migrations (number, name, checksum) values ($1, $2, $3)', [
    number,
    name,
    checksum,
  ])
  await client.query('commit')
}

const drift = (message: string): Failure => new Failure('schema_drift', message)
