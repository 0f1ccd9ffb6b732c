import { mkdirSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Session } from 'chdb'
import { currentInstant } from '../clock.ts'
import { Failure, isFailure } from '../failure.ts'
import { lockFolder } from '../log/lmdb/folder-lock.ts'
import { corruptionErrorCodes, guardParts, reservedBytes } from './chdb-parts.ts'
import { type ClickHouse, clickHouseFailure, insertSettings, linesOf, type NativeRows } from './clickhouse.ts'
import { textLiteral } from './encoding/literals.ts'

export type ChdbOptions = {
  readonly folder: string
  /** What the engine may allocate in all, in bytes. */
  readonly memoryBytes?: number
  /** Sessions that answer reads; each answers one at a time. */
  readonly readers?: number
  /** Told of parts that a full disk spoiled. */
  readonly log?: (line: string) => void
}

/** A part is not as it was written. */
const corruptionCode = 'clickhouse_spoiled'
/** A table is attached again in some ten milliseconds, once no statement holds it. */
const attachTimeoutMs = 30_000
/** One session more than an account may use at once, so that the next account need not wait for a long read to end. */
export const readLimits = { maxConcurrent: 3, maxConcurrentPerAccount: 2 } as const
const defaultMemoryBytes = 1024 * 1_048_576

/**
 * Open the embedded engine on a folder, made if missing: one session that writes, others that read. A process has room for
 * one folder at a time. Throws `folder_taken` where another process has the folder, `engine_not_opened` for anything else.
 */
export const openChdb = (options: ChdbOptions): ClickHouse => {
  const unlock = lockFolder(options.folder)
  try {
    const path = join(options.folder, 'engine')
    mkdirSync(path, { recursive: true })
    const config = join(options.folder, 'engine.xml')
    writeFileSync(config, engineConfig(options.memoryBytes ?? defaultMemoryBytes))
    const writer = createSerialSession(new Session(path, { connectionArgs: [`--config-file=${config}`] }))
    const readers = Array.from({ length: options.readers ?? readLimits.maxConcurrent }, () =>
      createSerialSession(new Session(path)),
    )
    releaseSignals()
    return clickHouseOf(writer, readers, { folder: options.folder, unlock, log: options.log ?? (() => undefined) })
  } catch (cause) {
    unlock()
    throw new Failure('engine_not_opened', `the engine did not open ${options.folder}`, { retriable: false, cause })
  }
}

/**
 * Server settings: one merge at a time, small caches, parts on disk before an insert is answered, room left to others. Parts grow eightfold
 * from merge to merge: rows of small inserts are rewritten some five times in place of eight, and there are not more parts to read.
 */
const engineConfig = (memoryBytes: number): string => `<clickhouse>
  <max_server_memory_usage>${memoryBytes}</max_server_memory_usage>
  <mark_cache_size>67108864</mark_cache_size>
  <primary_index_cache_size>67108864</primary_index_cache_size>
  <index_mark_cache_size>33554432</index_mark_cache_size>
  <query_condition_cache_size>16777216</query_condition_cache_size>
  <background_pool_size>1</background_pool_size>
  <background_merges_mutations_concurrency_ratio>1</background_merges_mutations_concurrency_ratio>
  <storage_configuration><disks><default><keep_free_space_bytes>${reservedBytes}</keep_free_space_bytes></default></disks></storage_configuration>
  <merge_tree>
    <fsync_after_insert>1</fsync_after_insert>
    <fsync_part_directory>1</fsync_part_directory>
    <merge_selector_base>8</merge_selector_base>
    <number_of_free_entries_in_pool_to_lower_max_size_of_merge>0</number_of_free_entries_in_pool_to_lower_max_size_of_merge>
    <number_of_free_entries_in_pool_to_execute_optimize_entire_partition>0</number_of_free_entries_in_pool_to_execute_optimize_entire_partition>
  </merge_tree>
</clickhouse>
`

/** The engine takes over the signals of a crash and then hangs on them; adding and removing a listener gives them back. */
const releaseSignals = (): void => {
  const listener = (): undefined => undefined
  for (const signal of ['SIGABRT', 'SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP'] as const) {
    process.on(signal, listener)
    process.removeListener(signal, listener)
  }
}

/** A session with its calls made one after the other; `waiting` counts those under way or queued. */
type SerialSession = { readonly session: Session; waiting: number; readonly acquire: () => Promise<() => void> }

const createSerialSession = (session: Session): SerialSession => {
  let last: Promise<void> = Promise.resolve()
  const queue: SerialSession = {
    session,
    waiting: 0,
    acquire: async () => {
      const before = last
      const { promise, resolve } = Promise.withResolvers<void>()
      last = promise
      queue.waiting += 1
      await before
      return () => {
        queue.waiting -= 1
        resolve()
      }
    },
  }
  return queue
}

const runSerially = async <T>(queue: SerialSession, work: (session: Session) => Promise<T>): Promise<T> => {
  const release = await queue.acquire()
  try {
    return await work(queue.session)
  } catch (error) {
    throw failureOf(error)
  } finally {
    release()
  }
}

/**
 * Have a table read its parts anew, with no other statement under way: a session holds what its last statement read until its next
 * one, and a table that is held is not attached again.
 */
const reloadTable = async (writer: SerialSession, readers: readonly SerialSession[], table: string): Promise<void> => {
  const queues = [...readers, writer]
  const releases = await Promise.all(queues.map(queue => queue.acquire()))
  try {
    await writer.session.queryAsync(`DETACH TABLE ${table} SYNC`)
    const before = currentInstant()
    for (;;) {
      for (const { session } of queues) await session.queryAsync('SELECT 1')
      const failure = await writer.session.queryAsync(`ATTACH TABLE ${table}`).then(() => null, failureOf)
      if (failure === null) return
      if (currentInstant() - before > attachTimeoutMs) throw failure
      await sleep(100)
    }
  } finally {
    for (const release of releases) release()
  }
}

type EngineResources = { readonly folder: string; readonly unlock: () => void; readonly log: (line: string) => void }

const clickHouseOf = (
  writer: SerialSession,
  readers: readonly SerialSession[],
  { folder, unlock, log }: EngineResources,
): ClickHouse => {
  let closed = false
  const file = join(folder, 'insert.native')
  const assertOpen = (): void => {
    if (closed) throw new Failure('clickhouse_away', 'the engine is closed', { retriable: true })
  }
  const idlestReader = (): SerialSession =>
    readers.reduce((best, reader) => (reader.waiting < best.waiting ? reader : best))
  const readText = async (sql: string): Promise<string> => {
    const answer = await runSerially(idlestReader(), session =>
      session.queryAsync(sql, { format: 'JSONCompactEachRow' }),
    ).catch(reportAndRethrow)
    return answer.text()
  }
  const read = async (sql: string): Promise<readonly (readonly unknown[])[]> =>
    linesOf(await readText(sql)).map(line => JSON.parse(line) as readonly unknown[])
  const guard = guardParts({ folder, rows: read, log, reload: table => reloadTable(writer, readers, table) })
  const reportAndRethrow = (error: unknown): never => {
    if (isFailure(error) && error.code === corruptionCode) guard.reportCorruption()
    throw error
  }
  return {
    command: async sql => {
      assertOpen()
      await runSerially(writer, session => session.queryAsync(sql))
    },
    insert: async rows => {
      assertOpen()
      let hadFreeSpace = true
      await runSerially(writer, async session => {
        await writeFile(file, rows.bytes)
        await session.queryAsync(insertStatement(rows, file))
      }).finally(() => {
        hadFreeSpace = guard.hasFreeSpace()
      })
      if (!hadFreeSpace)
        throw new Failure('clickhouse_full', 'the disk filled up while rows were stored', { retriable: true })
    },
    rows: async sql => {
      assertOpen()
      return read(sql)
    },
    lines: async sql => {
      assertOpen()
      return readText(sql)
    },
    stream: async function* (sql) {
      assertOpen()
      const reader = idlestReader()
      const release = await reader.acquire()
      try {
        for await (const chunk of reader.session.queryStream(sql, { format: 'Native' })) {
          const bytes = chunk.raw()
          yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
        }
      } catch (error) {
        reportAndRethrow(failureOf(error))
      } finally {
        release()
      }
    },
    catchUp: async () => assertOpen(),
    close: async () => {
      if (closed) return
      closed = true
      await guard.close()
      for (const queue of [...readers, writer]) {
        const release = await queue.acquire()
        queue.session.close()
        release()
      }
      unlock()
    },
  }
}

const insertStatement = ({ table, columns }: NativeRows, file: string): string => {
  const names = columns.map(column => `\`${column.name}\``).join(', ')
  const structure = columns.map(column => `\`${column.name}\` ${column.type}`).join(', ')
  const source = `file(${textLiteral(file)}, 'Native', ${textLiteral(structure)})`
  return `INSERT INTO ${table} (${names}) SETTINGS ${insertSettings} SELECT ${names} FROM ${source}`
}

/** The engine's errors carry its number as `clickhouseCode`; those of a stream only in how the text of their cause begins. */
const errorCodeOf = (error: Error): number | undefined => {
  if ('clickhouseCode' in error && typeof error.clickhouseCode === 'number') return error.clickhouseCode
  const written = error.cause instanceof Error ? /^Code: (\d+)\. /.exec(error.cause.message)?.[1] : undefined
  return written === undefined ? undefined : Number(written)
}

const failureOf = (error: unknown): unknown => {
  if (!(error instanceof Error) || error instanceof Failure) return error
  const errorCode = errorCodeOf(error)
  if (errorCode !== undefined && corruptionErrorCodes.has(errorCode))
    return new Failure(corruptionCode, error.message, { retriable: true, cause: error })
  const isOfEngine = 'code' in error && typeof error.code === 'string' && error.code.startsWith('CHDB')
  return errorCode !== undefined || isOfEngine ? clickHouseFailure(errorCode, error) : error
}
