import pg from 'pg'
import sql, { type Sql } from 'sql-template-tag'
import { accepted, type Result } from '../../domain/refusal.ts'
import { isFailure } from '../failure.ts'
import { columnTypes } from './column.ts'
import { classifyError } from './postgres-failure.ts'

/** Address of PostgreSQL: a socket folder or host, or a configured URL. */
export type PostgresAddress =
  | { readonly host: string; readonly port: number; readonly database: string; readonly user: string }
  | { readonly url: string }

/** Result of a statement. `rowCount`: rows that it returned or changed; `command`: its tag, such as `COMMIT`. */
export type StatementResult<Row> = {
  readonly rows: readonly Row[]
  readonly rowCount: number
  readonly command: string
}

/**
 * Run one statement. A statement with values is prepared once per connection.
 * Throws `Failure` if PostgreSQL is unavailable, `pg.DatabaseError` if a constraint is violated or the statement is
 * wrong.
 */
export type Query = <Row>(statement: Sql) => Promise<StatementResult<Row>>

/** Return a reader of all rows of a statement. */
export const readRows =
  (query: Query) =>
  async <Row>(statement: Sql): Promise<readonly Row[]> =>
    (await query<Row>(statement)).rows

/** Return a reader of the first row of a statement; null if there is none. */
export const readFirst =
  (query: Query) =>
  async <Row>(statement: Sql): Promise<Row | null> =>
    (await query<Row>(statement)).rows[0] ?? null

/** Return a reader of the row of an insert. Throws if there is none. */
export const readInserted =
  (query: Query) =>
  async <Row>(statement: Sql): Promise<Row> => {
    const row = await readFirst(query)<Row>(statement)
    if (row === null) throw new Error('The insert returned no row.')
    return row
  }

/** Return a reader of the first row of a statement; `refusal` if there is none. */
export const acceptFirst =
  (query: Query, refusal: Result<never>) =>
  async <Row>(statement: Sql): Promise<Result<Row>> => {
    const row = await readFirst(query)<Row>(statement)
    return row === null ? refusal : accepted(row)
  }

/** Return a check whether a statement returns a row. */
export const hasRow = (query: Query) => async (statement: Sql) => (await query(statement)).rows.length > 0

/** Return a counter of the rows that a statement returns or changes. */
export const countRows = (query: Query) => async (statement: Sql) => (await query(statement)).rowCount

/** Read the clock of the database, in whole ms. All processes follow it. */
export const readDatabaseClock = async (query: Query): Promise<number> =>
  (
    await readInserted(query)<{ at: number }>(
      sql`select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as at`,
    )
  ).at

type ConnectionPool = {
  readonly query: Query
  /** Reserve one connection until the work ends. */
  readonly withConnection: <T>(work: (query: Query) => Promise<T>) => Promise<T>
  readonly close: () => Promise<void>
}

type PoolName = 'tenant' | 'operator'

/**
 * The PostgreSQL database. `tenant` sees no tenant's rows outside `withTenant`. `operator` sees the rows of all
 * accounts. `withConnection` reserves one connection of a pool until the work ends.
 */
export type Database = AsyncDisposable & {
  readonly tenant: Query
  readonly operator: Query
  readonly withConnection: <T>(pool: PoolName, work: (query: Query) => Promise<T>) => Promise<T>
}

export type DatabaseOptions = {
  readonly address: PostgresAddress
  /** Maximum connections of the tenant pool; those of the operator pool are additional. */
  readonly tenantConnections?: number
  readonly operatorConnections?: number
  readonly statementTimeoutMs?: number
}

const maxPreparedStatements = 1_000
/** Time in ms after the statement timeout of the server. A server that has not answered by then will not answer. */
const silenceTimeoutMs = 1_000
/** Timeout in ms of steps without work: connect, begin a transaction, `select 1`. */
const promptTimeoutMs = 5_000
const needsNoWork = /^(begin\b|select 1$)/

/**
 * Number of connections that broke. A connection that was opened before the last break may be dead too, so the pool
 * replaces it.
 */
type ConnectionBreaks = { count: number }

/**
 * Open the pools. A connection is opened at its first use; the schema must be migrated before. Timeouts: 25 s for a
 * statement (30 s for a request), 10 s for a lock, 5 s for a connection and the begin of a transaction. They throw a
 * retriable `Failure`. A silent server gets 1 s more; then no older connection is used again. Disposal waits up to 5 s
 * for statements in progress.
 */
export const openDatabase = (options: DatabaseOptions): Database => {
  const breaks: ConnectionBreaks = { count: 0 }
  const pools = {
    tenant: openPool(options, breaks, 'wattledger_tenant', options.tenantConnections ?? 10),
    operator: openPool(options, breaks, 'wattledger_operator', options.operatorConnections ?? 12),
  }
  return {
    tenant: pools.tenant.query,
    operator: pools.operator.query,
    withConnection: (pool, work) => pools[pool].withConnection(work),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([pools.tenant.close(), pools.operator.close()])
    },
  }
}

const openPool = (
  { address, statementTimeoutMs = 25_000 }: DatabaseOptions,
  breaks: ConnectionBreaks,
  role: string,
  max: number,
): ConnectionPool => {
  const pool = new pg.Pool({
    ...loginAs(role, address),
    max,
    types: columnTypes,
    application_name: role,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + silenceTimeoutMs,
    lock_timeout: 10_000,
    idle_in_transaction_session_timeout: 60_000,
    connectionTimeoutMillis: promptTimeoutMs,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  })
  // The pool replaces a broken connection at its next use. The statement in progress receives the error. Between
  // statements, an error event without a listener would end the process.
  pool.on('error', () => undefined)
  pool.on('connect', client => client.on('error', () => undefined))
  const connect = connector(pool, breaks)
  const withConnection = async <T>(work: (query: Query) => Promise<T>): Promise<T> => {
    const { query, release } = await connect()
    try {
      return await work(query)
    } finally {
      release()
    }
  }
  return { query: statement => withConnection(query => query(statement)), withConnection, close: poolCloser(pool) }
}

/**
 * Create the function that ends a pool. The function waits for connections in use, but not for those that no longer
 * answer.
 */
const poolCloser = (pool: pg.Pool): (() => Promise<void>) => {
  const open = new Set<pg.PoolClient>()
  pool.on('connect', client => open.add(client))
  pool.on('remove', client => open.delete(client))
  return async () => {
    const timer = setTimeout(() => {
      for (const client of open) client.connection.stream.destroy()
    }, promptTimeoutMs)
    await pool.end().finally(() => clearTimeout(timer))
  }
}

const sessionSettings = '-c timezone=UTC -c datestyle=ISO -c jit=off'

/**
 * Log in with a role that has only the rights of its pool. On the packaged server the session logs in as the role, so
 * `reset role` gains nothing. At a configured address the session sets the role.
 */
const loginAs = (role: string, address: PostgresAddress): pg.ClientConfig =>
  'url' in address
    ? connectionOptions(address, `-c role=${role} ${sessionSettings}`)
    : connectionOptions({ ...address, user: role }, sessionSettings)

/** Add session settings to an address. The settings of the URL come first, so that ours override them. */
export const connectionOptions = (address: PostgresAddress, settings: string): pg.ClientConfig => {
  if (!('url' in address)) return { ...address, options: settings }
  const url = new URL(address.url)
  url.searchParams.set('options', `${url.searchParams.get('options') ?? ''} ${settings}`.trim())
  return { connectionString: url.href }
}

/** Give each statement with values a name, so that a connection plans it once. */
const statementNames = (): ((text: string) => string | undefined) => {
  const names = new Map<string, string>()
  return text => {
    const known = names.get(text)
    if (known !== undefined || names.size >= maxPreparedStatements) return known
    const name = `s${names.size}`
    names.set(text, name)
    return name
  }
}

/** A connection of a pool, and the number of breaks when it was opened. */
type Connection = { readonly query: Query; readonly release: () => void; readonly breaksBefore: number }

/**
 * Create the function that takes a connection from a pool. A connection prepares statements and classifies errors.
 * The function discards connections that were opened before another one broke.
 */
const connector = (pool: pg.Pool, breaks: ConnectionBreaks): (() => Promise<Connection>) => {
  const nameOf = statementNames()
  const connections = new WeakMap<pg.PoolClient, Connection>()
  const wrapClient = (client: pg.PoolClient): Connection => {
    const breaksBefore = breaks.count
    // The server announces its end before the connection closes: such a connection must not be used again.
    let broken: unknown = null
    const query: Query = async ({ text, values }) => {
      // A broken connection does not answer: a rollback on it would wait for the timeout again.
      if (broken !== null) throw broken
      try {
        const name = values.length === 0 ? undefined : nameOf(text)
        const { rows, rowCount, command } = await client.query(statement(text, values, name))
        return { rows, rowCount: rowCount ?? 0, command }
      } catch (error) {
        const failure = classifyError(error)
        if (isFailure(failure) && failure.code === 'postgres_away') {
          broken = failure
          if (breaksBefore === breaks.count) breaks.count += 1
        }
        throw failure
      }
    }
    return { query, release: () => client.release(broken !== null), breaksBefore }
  }
  return async () => {
    for (;;) {
      const client = await pool.connect().catch(error => {
        throw classifyError(error)
      })
      const connection = connections.get(client) ?? wrapClient(client)
      connections.set(client, connection)
      if (connection.breaksBefore === breaks.count) return connection
      client.connection.stream.destroy()
      client.release(true)
    }
  }
}

const statement = (text: string, values: unknown[], name: string | undefined): pg.QueryConfig => {
  const named = name === undefined ? { text, values } : { name, text, values }
  const limits = { query_timeout: promptTimeoutMs }
  return needsNoWork.test(text) ? { ...named, ...limits } : named
}
