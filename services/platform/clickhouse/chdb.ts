import { writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Session } from 'chdb'
import { currentInstant } from '../clock.ts'
import { createFolder } from '../create-folder.ts'
import { Failure, isFailure } from '../failure.ts'
import { lockFolder } from '../log/lmdb/folder-lock.ts'
import { corruptionErrorCodes, guardParts, type PartGuard, reservedBytes } from './chdb-parts.ts'
import { bufferOf, createEngineSession, type EngineSession } from './chdb-session.ts'
import { type ClickHouse, clickHouseFailure, insertSettings, linesOf, type NativeRows } from './clickhouse.ts'
import { textLiteral } from './encoding/literals.ts'
import { chdbFileEngine } from './exports/chdb-file-engine.ts'

export type ChdbOptions = {
  readonly folder: string
  /** Memory limit of the engine in bytes. */
  readonly memoryBytes?: number
  /** Number of sessions for reads. Each session runs one read at a time. */
  readonly readers?: number
  /** Logs parts that a full disk corrupted. */
  readonly log?: (line: string) => void
}

/** Failure code of a corrupt part. */
const corruptionCode = 'clickhouse_spoiled'
/** Time limit to attach a table again. It takes about 10 ms after no statement uses the table. */
const attachTimeoutMs = 30_000
/** One session more than an account may use, so that another account need not wait for a long read. */
export const readLimits = { maxConcurrent: 3, maxConcurrentPerAccount: 2 } as const
const defaultMemoryBytes = 1024 * 1_048_576
/** Time without new rows after which a month is merged into one part. Longer than a day, for fleets that send each night. */
const quietMonthSeconds = 2 * 86_400

/**
 * Open the embedded engine in a folder, created if missing. One session writes, the others read. A process can open one
 * folder at a time. Throws `folder_taken` if another process uses the folder, `engine_not_opened` for any other error.
 */
export const openChdb = (options: ChdbOptions): ClickHouse => {
  const unlock = lockFolder(options.folder)
  try {
    const path = join(options.folder, 'engine')
    createFolder(path)
    const config = join(options.folder, 'engine.xml')
    writeFileSync(config, engineConfig(options.memoryBytes ?? defaultMemoryBytes))
    const writer = createSerialSession(
      createEngineSession(new Session(path, { connectionArgs: [`--config-file=${config}`] })),
    )
    const readers = Array.from({ length: options.readers ?? readLimits.maxConcurrent }, () =>
      createSerialSession(createEngineSession(new Session(path))),
    )
    releaseSignals()
    const openSession = (): EngineSession => {
      const session = createEngineSession(new Session(path))
      releaseSignals()
      return session
    }
    const resources = { folder: options.folder, unlock, log: options.log ?? (() => undefined), openSession }
    return clickHouseOf(writer, readers, resources)
  } catch (cause) {
    unlock()
    throw new Failure('engine_not_opened', `The engine could not open ${options.folder}.`, { cause })
  }
}

/**
 * Return the server settings: one merge at a time, small caches, parts on disk before an insert is answered, reserved
 * disk space. Each merge makes parts eight times larger: rows of small inserts are then rewritten about five times
 * instead of eight, with as many parts to read. A quiet month is merged into one part. A read opens all parts of its
 * months at once, and each part takes 0.1 MB of memory for each column.
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
    <min_age_to_force_merge_seconds>${quietMonthSeconds}</min_age_to_force_merge_seconds>
    <min_age_to_force_merge_on_partition_only>1</min_age_to_force_merge_on_partition_only>
    <enable_max_bytes_limit_for_min_age_to_force_merge>1</enable_max_bytes_limit_for_min_age_to_force_merge>
    <number_of_free_entries_in_pool_to_lower_max_size_of_merge>0</number_of_free_entries_in_pool_to_lower_max_size_of_merge>
    <number_of_free_entries_in_pool_to_execute_optimize_entire_partition>0</number_of_free_entries_in_pool_to_execute_optimize_entire_partition>
  </merge_tree>
</clickhouse>
`

/**
 * Restore the default handlers of crash signals. The engine replaces them and then hangs on a crash. Adding and
 * removing a listener restores them.
 */
const releaseSignals = (): void => {
  const listener = (): undefined => undefined
  for (const signal of ['SIGABRT', 'SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP'] as const) {
    process.on(signal, listener)
    process.removeListener(signal, listener)
  }
}

/** A session that runs one call at a time. `waiting`: calls that run or wait. */
type SerialSession = { readonly session: EngineSession; waiting: number; readonly acquire: () => Promise<() => void> }

const createSerialSession = (session: EngineSession): SerialSession => {
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

const runSerially = async <T>(queue: SerialSession, work: (session: EngineSession) => Promise<T>): Promise<T> => {
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
 * Load the parts of a table again, while no other statement runs. A session keeps the data of its last statement until
 * the next one, and a table in use cannot be attached again.
 */
const reloadTable = async (writer: SerialSession, readers: readonly SerialSession[], table: string): Promise<void> => {
  const queues = [...readers, writer]
  const releases = await Promise.all(queues.map(queue => queue.acquire()))
  try {
    await writer.session.query(`DETACH TABLE ${table} SYNC`)
    const before = currentInstant()
    for (;;) {
      for (const { session } of queues) await session.query('SELECT 1')
      const failure = await writer.session.query(`ATTACH TABLE ${table}`).then(() => null, failureOf)
      if (failure === null) return
      if (currentInstant() - before > attachTimeoutMs) throw failure
      await sleep(100)
    }
  } finally {
    for (const release of releases) release()
  }
}

type EngineResources = {
  readonly folder: string
  readonly unlock: () => void
  readonly log: (line: string) => void
  readonly openSession: () => EngineSession
}

const clickHouseOf = (
  writer: SerialSession,
  readers: readonly SerialSession[],
  { folder, unlock, log, openSession }: EngineResources,
): ClickHouse => {
  let closed = false
  const files = chdbFileEngine({ openSession, failureOf })
  const assertOpen = (): void => {
    if (closed) throw new Failure('clickhouse_away', 'The engine is closed.', { retriable: true })
  }
  const reads = readsOf(readers, error => {
    if (isFailure(error) && error.code === corruptionCode) guard.reportCorruption()
    throw error
  })
  const guard = guardParts({ folder, rows: reads.rows, log, reload: table => reloadTable(writer, readers, table) })
  return {
    command: async sql => {
      assertOpen()
      await runSerially(writer, session => session.query(sql))
    },
    insert: async rows => {
      assertOpen()
      await insertThroughFile(writer, rows, { file: join(folder, 'insert.native'), guard })
    },
    rows: async sql => {
      assertOpen()
      return reads.rows(sql)
    },
    lines: async sql => {
      assertOpen()
      return reads.lines(sql)
    },
    blocks: async sql => {
      assertOpen()
      return reads.blocks(sql)
    },
    stream: async function* (sql) {
      assertOpen()
      yield* reads.stream(sql)
    },
    writeFile: async (select, file, signal) => {
      assertOpen()
      await files.write(select, file, signal)
    },
    files,
    hasReplicas: false,
    catchUp: async () => assertOpen(),
    close: async () => {
      if (closed) return
      closed = true
      await guard.close()
      await files.close()
      for (const queue of [...readers, writer]) {
        const release = await queue.acquire()
        queue.session.close()
        release()
      }
      unlock()
    },
  }
}

/** Create the reads of an engine: each uses the session with the shortest queue. `rethrow` receives their errors. */
const readsOf = (
  readers: readonly SerialSession[],
  rethrow: (error: unknown) => never,
): Pick<ClickHouse, 'rows' | 'lines' | 'blocks' | 'stream'> => {
  const idlestReader = (): SerialSession =>
    readers.reduce((best, reader) => (reader.waiting < best.waiting ? reader : best))
  const read = (sql: string, format: 'Native' | 'JSONCompactEachRow') =>
    runSerially(idlestReader(), session => session.query(sql, format)).catch(rethrow)
  const lines = async (sql: string): Promise<string> => (await read(sql, 'JSONCompactEachRow')).text()
  return {
    lines,
    rows: async sql => linesOf(await lines(sql)).map(line => JSON.parse(line) as readonly unknown[]),
    blocks: async sql => bufferOf((await read(sql, 'Native')).bytes()),
    stream: async function* (sql) {
      const reader = idlestReader()
      const release = await reader.acquire()
      try {
        yield* reader.session.stream(sql)
      } catch (error) {
        rethrow(failureOf(error))
      } finally {
        release()
      }
    },
  }
}

/** Insert rows through a file. Throws `clickhouse_full` if the disk filled up meanwhile: the rows may be corrupt. */
const insertThroughFile = async (
  writer: SerialSession,
  rows: NativeRows,
  { file, guard }: { readonly file: string; readonly guard: PartGuard },
): Promise<void> => {
  let hadFreeSpace = true
  await runSerially(writer, async session => {
    await writeFile(file, rows.bytes)
    await session.query(insertStatement(rows, file))
  }).finally(() => {
    hadFreeSpace = guard.hasFreeSpace()
  })
  if (!hadFreeSpace) {
    const message = 'The disk filled up during an insert. Free some space.'
    throw new Failure('clickhouse_full', message, { retriable: true })
  }
}

const insertStatement = ({ table, columns }: NativeRows, file: string): string => {
  const names = columns.map(column => `\`${column.name}\``).join(', ')
  const structure = columns.map(column => `\`${column.name}\` ${column.type}`).join(', ')
  const source = `file(${textLiteral(file)}, 'Native', ${textLiteral(structure)})`
  return `INSERT INTO ${table} (${names}) SETTINGS ${insertSettings} SELECT ${names} FROM ${source}`
}

/**
 * Return the number of an engine's error: its `clickhouseCode`, or for a stream the number at the start of the cause's
 * text.
 */
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
