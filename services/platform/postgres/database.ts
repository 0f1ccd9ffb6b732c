import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { isFailure } from '../failure.ts'
import { columnTypes } from './column.ts'
import { classify } from './postgres-failure.ts'
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

const mostPrepared = 1_000

/**
 * Open the pools; connections are made when they are first needed. The schema must have been migrated.
 * Statements end after 25 s (30 s a request), waits for locks after 10 s, waits for a connection after 5 s: `Failure`, retriable.
 */
export const openDatabase = (options: DatabaseOptions): Database => {
  const tenant = openPool(options, 'wattledger_tenant', options.tenantConnections ?? 10)
  const operator = openPool(options, 'wattledger_operator', options.operatorConnections ?? 12)
  return {
    tenant,
    operator,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([tenant.destroy(), operator.destroy()])
    },
  }
}

const openPool = ({ address, statementTimeoutMs }: DatabaseOptions, role: string, max: number): Kysely<Tables> => {
  const pool = new pg.Pool({
    ...connectionOptions(address, `-c role=${role} -c timezone=UTC -c datestyle=ISO -c jit=off`),
    max,
    types: columnTypes,
    application_name: role,
    statement_timeout: statementTimeoutMs ?? 25_000,
    lock_timeout: 10_000,
    idle_in_transaction_session_timeout: 60_000,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
  })
  // A connection that breaks is replaced on next use. Whoever has it learns of it from the statement; between statements nobody
  // listens, and an error that nobody listens to would end the process.
  pool.on('error', () => undefined)
  pool.on('connect', client => client.on('error', () => undefined))
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: preparing(pool) }) })
}

/** Add our session settings to an address; those that it carries itself come first, so ours hold. */
export const connectionOptions = (address: PostgresAddress, settings: string): pg.ClientConfig => {
  if (!('url' in address)) return { ...address, options: settings }
  const url = new URL(address.url)
  url.searchParams.set('options', `${url.searchParams.get('options') ?? ''} ${settings}`.trim())
  return { connectionString: url.href }
}

/** Give every statement that has values a name, so that a connection plans it once, and say what errors mean. */
const preparing = (pool: pg.Pool): PostgresPool => {
  const names = new Map<string, string>()
  const nameOf = (text: string): string | undefined => {
    const known = names.get(text)
    if (known !== undefined || names.size >= mostPrepared) return known
    const name = `s${names.size}`
    names.set(text, name)
    return name
  }
  const clients = new WeakMap<pg.PoolClient, PostgresPoolClient>()
  const wrap = (client: pg.PoolClient): PostgresPoolClient => {
    // The server's farewell comes before the connection ends: one that has said it must not be given out again.
    let isBroken = false
    const query = async (text: string, values: readonly unknown[]) => {
      try {
        const name = values.length === 0 ? undefined : nameOf(text)
        return await client.query(name === undefined ? { text, values: [...values] } : { name, text, values: [...values] })
      } catch (error) {
        const meaning = classify(error)
        isBroken ||= isFailure(meaning) && meaning.code === 'postgres_away'
        throw meaning
      }
    }
    return { query, release: (discard?: boolean) => client.release(discard === true || isBroken) } as unknown as PostgresPoolClient
  }
  return {
    options: pool.options,
    end: () => pool.end(),
    connect: async () => {
      const client = await pool.connect().catch(error => {
        throw classify(error)
      })
      const wrapped = clients.get(client) ?? wrap(client)
      clients.set(client, wrapped)
      return wrapped
    },
  }
}
