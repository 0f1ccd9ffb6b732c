import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { ClickHouseError, ClickHouseLogLevel, createClient } from '@clickhouse/client'
import { Failure } from '../failure.ts'
import {
  type ClickHouse,
  clickHouseFailure,
  insertSettings,
  linesOf,
  maxStatementBytes,
  type NativeRows,
} from './clickhouse.ts'
import { engineFormats, fileSettings } from './exports/engine-file.ts'
import { lazyFileEngine } from './exports/lazy-file-engine.ts'

export type ClickHouseHttpOptions = {
  /** URL with scheme http or https and port. */
  readonly url: string
  readonly user: string
  readonly password: string
  readonly database: string
  /** PEM certificates of trusted authorities; null: those of the system. */
  readonly ca: string | null
  /** Whether tables are replicated in a cluster. A row is then stored after most replicas have it. */
  readonly isReplicated: boolean
  /** Time limit of a call. A timed-out insert may still succeed; a repeated insert adds the same rows. */
  readonly requestTimeoutMs?: number
}

const requestTimeoutMs = 30_000
/** Connections to the server. Inserts and commands use the connections that reads leave. */
const maxConnections = 24
export const readLimits = { maxConcurrent: maxConnections - 4, maxConcurrentPerAccount: 10 } as const
/** Time limit of an export. */
const exportTimeoutMs = 3_600_000
/** The server ends the read of a client that has left. It does so only for statements that it knows to be reads. */
const readSettings = { readonly: '2', cancel_http_readonly_queries_on_client_close: 1 } as const
const lineRead = { format: 'JSONCompactEachRow', clickhouse_settings: readSettings } as const
/** Time limit of an insert during `close`. The next reader of its messages repeats an interrupted insert. */
const closeTimeoutMs = 3_000

/**
 * Settings of replicated tables. A row is stored after most replicas have it; the others receive it later. Workers
 * insert concurrently, so inserts must not wait for each other. A read that must see the rows of another process calls
 * `catchUp` first. The server gives up on a quorum while the client still waits.
 */
const quorumSettings = (timeoutMs: number) =>
  ({ insert_quorum: 'auto', insert_quorum_parallel: 1, insert_quorum_timeout: Math.floor(timeoutMs * 0.8) }) as const

const replicatedTables = `SELECT concat('\`', name, '\`') FROM system.tables
  WHERE database = currentDatabase() AND engine LIKE 'Replicated%MergeTree' ORDER BY name`

/**
 * Open a server over HTTP. Nothing is sent yet; if the server is unavailable, calls fail. Answers are read completely
 * before they are returned, so that a late error never looks like a short answer.
 */
export const openClickHouseHttp = (options: ClickHouseHttpOptions): ClickHouse => {
  const client = createHttpClient(options)
  const exporter = createHttpClient({ ...options, requestTimeoutMs: exportTimeoutMs })
  const files = lazyFileEngine(failureOf)
  let inserted: Promise<unknown> = Promise.resolve()
  let isClosed = false

  const call = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isClosed) throw new Failure('clickhouse_away', 'The client is closed.', { retriable: true })
    try {
      return await work()
    } catch (error) {
      throw failureOf(error)
    }
  }
  const command = (sql: string) => call(async () => void (await client.command({ query: sql })))
  const lines = (sql: string) => call(async () => (await client.query({ query: sql, ...lineRead })).text())
  const blocks = (sql: string) =>
    call(async () => {
      const { stream } = await client.exec({ query: `${sql} FORMAT Native`, clickhouse_settings: readSettings })
      return buffer(stream)
    })
  const rows = async (sql: string) => linesOf(await lines(sql)).map(line => JSON.parse(line) as readonly unknown[])
  return {
    command,
    rows,
    lines,
    hasReplicas: options.isReplicated,
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
    blocks,
    stream: async function* (sql) {
      const bytes = await blocks(sql)
      if (bytes.length > 0) yield bytes
    },
    writeFile: (select, { path, format }, signal) =>
      call(async () => {
        const { stream } = await exporter.exec({
          query: `${select} SETTINGS ${fileSettings(format)} FORMAT ${engineFormats[format]}`,
          clickhouse_settings: readSettings,
          abort_signal: signal,
        })
        await pipeline(stream, createWriteStream(path, { flags: 'wx', mode: 0o600 }), { signal })
      }),
    files,
    close: async () => {
      if (isClosed) return
      isClosed = true
      await files.close()
      const cut = new AbortController()
      await Promise.race([inserted, sleep(closeTimeoutMs, undefined, { signal: cut.signal })]).finally(() =>
        cut.abort(),
      )
      await exporter.close()
      await client.close()
    },
  }
}

const createHttpClient = (options: ClickHouseHttpOptions) => {
  const timeoutMs = options.requestTimeoutMs ?? requestTimeoutMs
  return createClient({
    url: options.url,
    username: options.user,
    password: options.password,
    database: options.database,
    request_timeout: timeoutMs,
    max_open_connections: maxConnections,
    // The caller receives the error and logs it.
    log: { level: ClickHouseLogLevel.OFF },
    clickhouse_settings: {
      wait_end_of_query: 1,
      max_query_size: String(maxStatementBytes),
      ...(options.isReplicated ? quorumSettings(timeoutMs) : {}),
    },
    ...(options.ca === null ? {} : { tls: { ca_cert: Buffer.from(options.ca) } }),
  })
}

const insertStatement = ({ table, columns }: NativeRows): string => {
  const names = columns.map(({ name }) => `\`${name}\``).join(', ')
  return `INSERT INTO ${table} (${names}) SETTINGS ${insertSettings} FORMAT Native`
}

/** Return the failure of a call: by number if the server refused it, else `clickhouse_away`. */
const failureOf = (error: unknown): Failure => {
  if (error instanceof Failure) return error
  if (error instanceof ClickHouseError) return clickHouseFailure(Number(error.code), error)
  const message = error instanceof Error ? error.message : String(error)
  return new Failure('clickhouse_away', `The ClickHouse server did not answer: ${message}`, {
    retriable: true,
    cause: error,
  })
}
