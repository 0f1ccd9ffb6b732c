import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { ClickHouseError, ClickHouseLogLevel, createClient } from '@clickhouse/client'
import { Failure } from '../failure.ts'
import { type ClickHouse, clickHouseFailure, insertSettings, linesOf, type NativeRows } from './clickhouse.ts'

export type ClickHouseHttpOptions = {
  /** http or https, with the port. */
  readonly url: string
  readonly user: string
  readonly password: string
  readonly database: string
  /** PEM certificates that the server is trusted by; null: those of the machine. */
  readonly ca: string | null
  /** Whether tables are copied over a cluster: then a row counts as stored once most copies have it. */
  readonly isReplicated: boolean
  /** After so long a call fails; an insert may still be done then, and a repeated one adds the same rows. */
  readonly requestTimeoutMs?: number
}

const requestTimeoutMs = 30_000
/** Connections to the server: what inserts and statements without an answer use is left to them. */
const maxConnections = 24
export const readLimits = { maxConcurrent: maxConnections - 4, maxConcurrentPerAccount: 10 } as const
/** At its end an insert that is under way has so long; one that is cut off then is repeated by whoever has its messages next. */
const closeTimeoutMs = 3_000

/**
 * A row counts as stored once most copies have it; a copy that is not among them has it later. Workers insert at once, so inserts must not wait
 * for one another: reads that must see what another process has inserted catch up first. A server gives up on a quorum while somebody
 * still waits for its answer.
 */
const quorumSettings = (timeoutMs: number) =>
  ({ insert_quorum: 'auto', insert_quorum_parallel: 1, insert_quorum_timeout: Math.floor(timeoutMs * 0.8) }) as const

const replicatedTables = `SELECT concat('\`', name, '\`') FROM system.tables WHERE database = currentDatabase() AND engine LIKE 'Replicated%MergeTree' ORDER BY name`

/**
 * Open a server over HTTP. Nothing is asked yet: a server that is away fails the calls. Answers are read whole before they are given,
 * so that an error in the middle of one is an error and no short answer.
 */
export const openClickHouseHttp = (options: ClickHouseHttpOptions): ClickHouse => {
  const timeoutMs = options.requestTimeoutMs ?? requestTimeoutMs
  const client = createClient({
    url: options.url,
    username: options.user,
    password: options.password,
    database: options.database,
    request_timeout: timeoutMs,
    max_open_connections: maxConnections,
    // Whoever called is told, and tells.
    log: { level: ClickHouseLogLevel.OFF },
    clickhouse_settings: { wait_end_of_query: 1, ...(options.isReplicated ? quorumSettings(timeoutMs) : {}) },
    ...(options.ca === null ? {} : { tls: { ca_cert: Buffer.from(options.ca) } }),
  })
  let inserted: Promise<unknown> = Promise.resolve()
  let isClosed = false

  const call = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isClosed) throw new Failure('clickhouse_away', 'the client is closed', { retriable: true })
    try {
      return await work()
    } catch (error) {
      throw failureOf(error)
    }
  }
  const command = (sql: string) => call(async () => void (await client.command({ query: sql })))
  const lines = (sql: string) =>
    call(async () => (await client.query({ query: sql, format: 'JSONCompactEachRow' })).text())
  const rows = async (sql: string) => linesOf(await lines(sql)).map(line => JSON.parse(line) as readonly unknown[])
  return {
    command,
    rows,
    lines,
    catchUp: async () => {
      if (!options.isReplicated) return
      for (const [table] of await rows(replicatedTables)) await command(`SYSTEM SYNC REPLICA ${table} LIGHTWEIGHT`)
    },
    insert: rows => {
      const done = inserted.then(() =>
        call(async () => {
          const { stream } = await client.exec({
            query: insertStatement(rows),
            values: Readable.from([rows.bytes], { objectMode: false }),
          })
          await buffer(stream)
        }),
      )
      inserted = done.catch(() => undefined)
      return done
    },
    stream: async function* (sql) {
      const bytes = await call(async () => buffer((await client.exec({ query: `${sql} FORMAT Native` })).stream))
      if (bytes.length > 0) yield bytes
    },
    close: async () => {
      if (isClosed) return
      isClosed = true
      const cut = new AbortController()
      await Promise.race([inserted, sleep(closeTimeoutMs, undefined, { signal: cut.signal })]).finally(() =>
        cut.abort(),
      )
      await client.close()
    },
  }
}

const insertStatement = ({ table, columns }: NativeRows): string => {
  const names = columns.map(({ name }) => `\`${name}\``).join(', ')
  return `INSERT INTO ${table} (${names}) SETTINGS ${insertSettings} FORMAT Native`
}

/** What the server refused has its number; anything else never came to an answer. */
const failureOf = (error: unknown): Failure => {
  if (error instanceof Failure) return error
  if (error instanceof ClickHouseError) return clickHouseFailure(Number(error.code), error)
  const message = error instanceof Error ? error.message : String(error)
  return new Failure('clickhouse_away', `the analytics server did not answer: ${message}`, {
    retriable: true,
    cause: error,
  })
}
