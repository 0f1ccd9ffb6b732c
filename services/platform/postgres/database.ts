import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { isFailure } from '../failure.ts'
import { columnTypes } from './column.ts'
import { classifyError } from './postgres-failure.ts'
import type { Tables } from './tables.ts'

/** Where a PostgreSQL is: a socket folder or host, or the address that a caller configured. */
export type PostgresAddress =
  | { readonly host: string; readonly port: number; readonly database: string; readonly user: string }
  | { readonly url: string }

/**
 * The records of truth. `tenant` sees nothing outside `withTenant`; `operator` sees all accounts, and every use of it says so.
 * Statements with values are prepared once per connection.
 */
export type Database = AsyncDisposable & { readonly tenant: Kysely<Tables>; readonly operator: Kysely<Tables> }

export type DatabaseOptions = {
  readonly address: PostgresAddress
  /** Connections for the callers' work; the operator's come on top. */
  readonly tenantConnections?: number
  readonly operatorConnections?: number
  readonly statementTimeoutMs?: number
}

const maxPreparedStatements = 1_000
/** A server that is well ends a statement by itself; one that has said nothing this long after that will say nothing any more. */
const silenceTimeoutMs = 1_000
/** How long what needs no work may take: to connect, to begin a transaction, to show life. */
const promptTimeoutMs = 5_000
const needsNoWork = /^(begin\b|select 1$)/

/** Connections opened under an older count may be as dead as the one that broke, and are replaced when they are next asked for. */
type ConnectionBreaks = { count: number }

/**
 * Open the pools; connections are made when they are first needed. The schema must have been migrated.
 * Statements end after 25 s (30 s a request), waits for locks after 10 s, waits for a connection and for the beginning of a transaction
 * after 5 s: `Failure`, retriable. A server that has gone silent is waited for a second longer than it may take, and no connection from
 * before is used after that. At the end statements under way are waited for, 5 s at most.
 */
export const openDatabase = (options: DatabaseOptions): Database => {
  const breaks: ConnectionBreaks = { count: 0 }
  const tenant = openPool(options, breaks, 'wattledger_tenant', options.tenantConnections ?? 10)
  const operator = openPool(options, breaks, 'wattledger_operator', options.operatorConnections ?? 12)
  return {
    tenant: tenant.query,
    operator: operator.query,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([tenant.close(), operator.close()])
    },
  }
}

const openPool = (
  { address, statementTimeoutMs = 25_000 }: DatabaseOptions,
  breaks: ConnectionBreaks,
  role: string,
  max: number,
) => {
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
  // A connection that breaks is replaced on next use. Whoever has it learns of it from the statement; between statements nobody
  // listens, and an error that nobody listens to would end the process.
  pool.on('error', () => undefined)
  pool.on('connect', client => client.on('error', () => undefined))
  const query = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: preparedPool(pool, breaks) }) })
  return { query, close: poolCloser(pool, () => query.destroy()) }
}

/** Make the end of a pool: connections in use are waited for, but not those on which nothing comes back. */
const poolCloser = (pool: pg.Pool, end: () => Promise<void>): (() => Promise<void>) => {
  const open = new Set<pg.PoolClient>()
  pool.on('connect', client => open.add(client))
  pool.on('remove', client => open.delete(client))
  return async () => {
    const cut = setTimeout(() => {
      for (const client of open) client.connection.stream.destroy()
    }, promptTimeoutMs)
    await end().finally(() => clearTimeout(cut))
  }
}

const sessionSettings = '-c timezone=UTC -c datestyle=ISO -c jit=off'

/**
 * Log in as a role that has no more rights than its pool needs. On the packaged server the role itself logs in, so nothing is left to go
 * back to; at a configured address its login takes the role for the session.
 */
const loginAs = (role: string, address: PostgresAddress): pg.ClientConfig =>
  'url' in address
    ? connectionOptions(address, `-c role=${role} ${sessionSettings}`)
    : connectionOptions({ ...address, user: role }, sessionSettings)

/** Add our session settings to an address; those that it carries itself come first, so ours hold. */
export const connectionOptions = (address: PostgresAddress, settings: string): pg.ClientConfig => {
  if (!('url' in address)) return { ...address, options: settings }
  const url = new URL(address.url)
  url.searchParams.set('options', `${url.searchParams.get('options') ?? ''} ${settings}`.trim())
  return { connectionString: url.href }
}

/** Give statements that have values a name, so that a connection plans each of them once. */
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

/** A connection as the callers have it, and the count of breaks under which it was opened. */
type PooledClient = { readonly client: PostgresPoolClient; readonly openedAfter: number }

/** Prepare statements, say what errors mean, and give out no connection that broke or is older than one that did. */
const preparedPool = (pool: pg.Pool, breaks: ConnectionBreaks): PostgresPool => {
  const nameOf = statementNames()
  const clients = new WeakMap<pg.PoolClient, PooledClient>()
  const wrapClient = (client: pg.PoolClient): PooledClient => {
    const openedAfter = breaks.count
    // The server's farewell comes before the connection ends: one that has said it must not be given out again.
    let broken: unknown = null
    const query = async (text: string, values: readonly unknown[]) => {
      // Nothing comes back on it any more: an attempt to undo would wait for as long again.
      if (broken !== null) throw broken
      try {
        return await client.query(statement(text, values, values.length === 0 ? undefined : nameOf(text)))
      } catch (error) {
        const failure = classifyError(error)
        if (isFailure(failure) && failure.code === 'postgres_away') {
          broken = failure
          if (openedAfter === breaks.count) breaks.count += 1
        }
        throw failure
      }
    }
    const release = (discard?: boolean): void => client.release(discard === true || broken !== null)
    return { client: { query, release } as unknown as PostgresPoolClient, openedAfter }
  }
  return {
    options: pool.options,
    end: () => pool.end(),
    connect: async () => {
      for (;;) {
        const client = await pool.connect().catch(error => {
          throw classifyError(error)
        })
        const pooledClient = clients.get(client) ?? wrapClient(client)
        clients.set(client, pooledClient)
        if (pooledClient.openedAfter === breaks.count) return pooledClient.client
        client.connection.stream.destroy()
        client.release(true)
      }
    },
  }
}

const statement = (text: string, values: readonly unknown[], name: string | undefined): pg.QueryConfig => {
  const named = name === undefined ? { text, values: [...values] } : { name, text, values: [...values] }
  return needsNoWork.test(text) ? { ...named, ...{ query_timeout: promptTimeoutMs } } : named
}
