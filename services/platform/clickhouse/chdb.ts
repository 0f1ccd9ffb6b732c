import { mkdirSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Session } from 'chdb'
import { presentInstant } from '../clock.ts'
import { Failure, isFailure } from '../failure.ts'
import { lockFolder } from '../log/folder-lock.ts'
import { guardParts, reservedBytes, spoiledNumbers } from './chdb-parts.ts'
import { type ClickHouse, clickHouseFailure, insertSettings, linesOf, type NativeRows } from './clickhouse.ts'
import { textLiteral } from './literals.ts'

export type ChdbOptions = {
  readonly folder: string
  /** What the engine may allocate in all, in bytes. */
  readonly memoryBytes?: number
  /** Sessions that answer reads; each answers one at a time. */
  readonly readers?: number
  /** Told of parts that a full disk spoiled. */
  readonly told?: (line: string) => void
}

/** A part is not as it was written. */
const spoiledCode = 'clickhouse_spoiled'
/** A table is attached again in some ten milliseconds, once no statement holds it. */
const attachMs = 30_000
/** One session more than an account may use at once, so that the next account need not wait for a long read to end. */
export const readLimits = { atOnce: 3, ofAccount: 2 } as const
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
    const writer = serial(new Session(path, { connectionArgs: [`--config-file=${config}`] }))
    const readers = Array.from({ length: options.readers ?? readLimits.atOnce }, () => serial(new Session(path)))
    releaseSignals()
    return clickHouseOf(writer, readers, { folder: options.folder, unlock, told: options.told ?? (() => undefined) })
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
type Serial = { readonly session: Session; waiting: number; readonly enter: () => Promise<() => void> }

const serial = (session: Session): Serial => {
  let last: Promise<void> = Promise.resolve()
  const queue: Serial = {
    session,
    waiting: 0,
    enter: async () => {
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

const within = async <T>(queue: Serial, work: (session: Session) => Promise<T>): Promise<T> => {
  const leave = await queue.enter()
  try {
    return await work(queue.session)
  } catch (error) {
    throw failureOf(error)
  } finally {
    leave()
  }
}

/**
 * Have a table read its parts anew, with no other statement under way: a session holds what its last statement read until its next
 * one, and a table that is held is not attached again.
 */
const reloadTable = async (writer: Serial, readers: readonly Serial[], table: string): Promise<void> => {
  const queues = [...readers, writer]
  const leaves = await Promise.all(queues.map(queue => queue.enter()))
  try {
    await writer.session.queryAsync(`DETACH TABLE ${table} SYNC`)
    const before = presentInstant()
    for (;;) {
      for (const { session } of queues) await session.queryAsync('SELECT 1')
      const failed = await writer.session.queryAsync(`ATTACH TABLE ${table}`).then(() => null, failureOf)
      if (failed === null) return
      if (presentInstant() - before > attachMs) throw failed
      await sleep(100)
    }
  } finally {
    for (const leave of leaves) leave()
  }
}

type Home = { readonly folder: string; readonly unlock: () => void; readonly told: (line: string) => void }

const clickHouseOf = (writer: Serial, readers: readonly Serial[], { folder, unlock, told }: Home): ClickHouse => {
  let closed = false
  const file = join(folder, 'insert.native')
  const open = (): void => {
    if (closed) throw new Failure('clickhouse_away', 'the engine is closed', { retriable: true })
  }
  const quietest = (): Serial => readers.reduce((best, reader) => (reader.waiting < best.waiting ? reader : best))
  const readText = async (sql: string): Promise<string> => {
    const answer = await within(quietest(), session => session.queryAsync(sql, { format: 'JSONCompactEachRow' })).catch(suspecting)
    return answer.text()
  }
  const read = async (sql: string): Promise<readonly (readonly unknown[])[]> =>
    linesOf(await readText(sql)).map(line => JSON.parse(line) as readonly unknown[])
  const guard = guardParts({ folder, rows: read, told, reload: table => reloadTable(writer, readers, table) })
  const suspecting = (error: unknown): never => {
    if (isFailure(error) && error.code === spoiledCode) guard.suspect()
    throw error
  }
  return {
    command: async sql => {
      open()
      await within(writer, session => session.queryAsync(sql))
    },
    insert: async rows => {
      open()
      let hadRoom = true
      await within(writer, async session => {
        await writeFile(file, rows.bytes)
        await session.queryAsync(insertStatement(rows, file))
      }).finally(() => {
        hadRoom = guard.hasRoom()
      })
      if (!hadRoom) throw new Failure('clickhouse_full', 'the disk filled up while rows were stored', { retriable: true })
    },
    rows: async sql => {
      open()
      return read(sql)
    },
    lines: async sql => {
      open()
      return readText(sql)
    },
    stream: async function* (sql) {
      open()
      const reader = quietest()
      const leave = await reader.enter()
      try {
        for await (const chunk of reader.session.queryStream(sql, { format: 'Native' })) {
          const bytes = chunk.raw()
          yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
        }
      } catch (error) {
        suspecting(failureOf(error))
      } finally {
        leave()
      }
    },
    catchUp: async () => open(),
    close: async () => {
      if (closed) return
      closed = true
      await guard.close()
      for (const queue of [...readers, writer]) {
        const leave = await queue.enter()
        queue.session.close()
        leave()
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
const numberOf = (error: Error): number | undefined => {
  if ('clickhouseCode' in error && typeof error.clickhouseCode === 'number') return error.clickhouseCode
  const written = error.cause instanceof Error ? /^Code: (\d+)\. /.exec(error.cause.message)?.[1] : undefined
  return written === undefined ? undefined : Number(written)
}

const failureOf = (error: unknown): unknown => {
  if (!(error instanceof Error) || error instanceof Failure) return error
  const number = numberOf(error)
  if (number !== undefined && spoiledNumbers.has(number)) return new Failure(spoiledCode, error.message, { retriable: true, cause: error })
  const isOfEngine = 'code' in error && typeof error.code === 'string' && error.code.startsWith('CHDB')
  return number !== undefined || isOfEngine ? clickHouseFailure(number, error) : error
}
