import { Failure, isFailure } from '../failure.ts'
import type { EngineFile, FileEngine } from './exports/engine-file.ts'

/**
 * Size of a statement. The default of the engine, 256 KiB, has 9,000 ids; an export may name 2,000,000 tariffs.
 */
export const maxStatementBytes = 64 * 1_048_576

/**
 * The analytics engine. All engines run the same statements. Settings are part of the statement: an embedded session
 * would keep separate settings for later statements.
 */
export type ClickHouse = {
  /** Run a statement without an answer, such as DDL or a mutation. Statements run in the order of the calls. */
  readonly command: (sql: string) => Promise<void>
  /**
   * Insert a block of rows; resolves after they are durable. Inserts run one at a time. A repeated insert adds the same
   * rows again.
   */
  readonly insert: (rows: NativeRows) => Promise<void>
  /**
   * Read a small answer: rows of JSON values. `account`: the account whose share of reads is used; absent for the
   * service itself.
   */
  readonly rows: (sql: string, account?: ReadAccount) => Promise<readonly (readonly unknown[])[]>
  /** Read an answer of some MB as text: one JSON line per row, as `rows` parses it. */
  readonly lines: (sql: string, account?: ReadAccount) => Promise<string>
  /** Read an answer of some MB in the Native format: whole blocks, one after the other. */
  readonly blocks: (sql: string, account?: ReadAccount) => Promise<Buffer>
  /**
   * Read an answer of any size in the Native format, in whole blocks. Leaving the loop ends the read. An embedded engine
   * plans the statement on the thread of the caller (some 10 ms), so small answers should use `blocks`.
   */
  readonly stream: (sql: string, account?: ReadAccount) => AsyncIterable<Buffer>
  /**
   * Write the answer of a SELECT of any size to a new file of this process, with flat memory. Aborting the signal ends
   * the statement. The file may be incomplete after a failure.
   */
  readonly writeFile: (select: string, file: EngineFile, signal: AbortSignal) => Promise<void>
  /** Writes and reads files of this process without tables. */
  readonly files: FileEngine
  /** True if two reads can see the rows of different replicas. One of the replicas can be late. */
  readonly hasReplicas: boolean
  /**
   * Wait until reads see all rows that any process inserted before the call. Returns at once on an engine without
   * replicas.
   */
  readonly catchUp: () => Promise<void>
  /** Finish running calls and release the engine. Idempotent. */
  readonly close: () => Promise<void>
}

/** Account of a read. */
export type ReadAccount = { readonly accountId: string }

/** Rows of a table in the Native format. `columns`: names and types in the order of the bytes. */
export type NativeRows = { readonly table: string; readonly columns: readonly Column[]; readonly bytes: Buffer }
export type Column = { readonly name: string; readonly type: string }

/**
 * Settings of every insert: all months in one statement; no deduplication of blocks, because rows have identities; one
 * thread, so that an insert creates few parts.
 */
export const insertSettings =
  'max_partitions_per_insert_block=0, insert_deduplicate=0, max_insert_threads=1, max_threads=1'

/** Return the non-empty lines of a text. */
export const linesOf = (text: string): readonly string[] => text.split('\n').filter(line => line !== '')

/** Error numbers of temporary failures: timeouts, unavailable servers and replicas, overload, no space. */
const failureCodes: ReadonlyMap<number, string> = new Map([
  [159, 'clickhouse_timeout'],
  [160, 'clickhouse_timeout'],
  [209, 'clickhouse_away'],
  [210, 'clickhouse_away'],
  [198, 'clickhouse_away'],
  [242, 'clickhouse_away'],
  [319, 'clickhouse_away'],
  [999, 'clickhouse_away'],
  [285, 'clickhouse_away'],
  [289, 'clickhouse_away'],
  [202, 'clickhouse_busy'],
  [241, 'clickhouse_busy'],
  [252, 'clickhouse_busy'],
  [286, 'clickhouse_busy'],
  [75, 'clickhouse_full'],
  [243, 'clickhouse_full'],
])

/** Error number of an answer that is larger than the statement allows. */
const largeAnswer = 396
const largeAnswerCode = 'clickhouse_large'

/** Maximum size in bytes of an answer of `readSmall`. */
export const maxSmallBytes: number = 4 * 2 ** 20

/** Create the failure of an engine's error, by its number. Other numbers give `clickhouse_refused`, not retriable. */
export const clickHouseFailure = (errorCode: number | undefined, cause: unknown): Failure => {
  const code = errorCode === undefined ? undefined : failureCodes.get(errorCode)
  const message = cause instanceof Error ? cause.message : String(cause)
  if (errorCode === largeAnswer) return new Failure(largeAnswerCode, message, { retriable: false, cause })
  return new Failure(code ?? 'clickhouse_refused', message, { retriable: code !== undefined, cause })
}

/**
 * Read an answer in the Native format in one piece; null if it has more than `maxBytes`. `sql` ends with its settings.
 * An embedded engine plans a stream on the thread of the caller, so most answers should be read like this.
 */
export const readSmall = async (
  db: ClickHouse,
  sql: string,
  account: ReadAccount,
  maxBytes = maxSmallBytes,
): Promise<Buffer | null> => {
  try {
    return await db.blocks(`${sql}, max_result_bytes=${maxBytes}, result_overflow_mode='throw'`, account)
  } catch (error) {
    if (isFailure(error) && error.code === largeAnswerCode) return null
    throw error
  }
}

/** Read an answer of any size, as `stream` does. A small answer is read in one piece. `sql` ends with its settings. */
export async function* streamUnlessSmall(db: ClickHouse, sql: string, account: ReadAccount): AsyncIterable<Buffer> {
  const small = await readSmall(db, sql, account)
  if (small === null) yield* db.stream(sql, account)
  else if (small.length > 0) yield small
}
