import { Failure } from '../failure.ts'

/**
 * The analytics engine. The statements are the same on every engine, and settings stand in their text: settings given
 * beside a statement stay on an embedded session and change what later ones do.
 */
export type ClickHouse = {
  /** Run a statement that answers nothing, as DDL or a mutation, in the order of the calls. */
  readonly command: (sql: string) => Promise<void>
  /** Insert a block of rows; resolves once they are stored to last. Inserts go one at a time, and a repeated one adds the same rows again. */
  readonly insert: (rows: NativeRows) => Promise<void>
  /** Read a small answer whole: rows of values as JSON has them. `of`: the tenant whose turn it takes; the service's own if absent. */
  readonly rows: (sql: string, account?: ReadAccount) => Promise<readonly (readonly unknown[])[]>
  /** Read an answer of some MB as text: a line of JSON for each row, as `rows` parses it. */
  readonly lines: (sql: string, account?: ReadAccount) => Promise<string>
  /** Read an answer of any size in the Native format, in whole blocks; leaving the loop early ends the read. */
  readonly stream: (sql: string, account?: ReadAccount) => AsyncIterable<Buffer>
  /** Wait until reads see all that was inserted before the call, by whatever process through whatever server; at once on an engine without copies. */
  readonly catchUp: () => Promise<void>
  /** Finish what is under way and let go of the engine. Idempotent. */
  readonly close: () => Promise<void>
}

/** The account that a read is made for. */
export type ReadAccount = { readonly accountId: string }

/** Rows of a table in Native; `columns` names the columns in the order of the bytes, with their types. */
export type NativeRows = { readonly table: string; readonly columns: readonly Column[]; readonly bytes: Buffer }
export type Column = { readonly name: string; readonly type: string }

/**
 * Settings of every insert: all months of a step in one statement, no dropping of blocks that look repeated (rows are told
 * apart by identity alone), one thread, so that a step becomes few parts.
 */
export const insertSettings =
  'max_partitions_per_insert_block=0, insert_deduplicate=0, max_insert_threads=1, max_threads=1'

/** Return the lines of an answer that is text. */
export const linesOf = (text: string): readonly string[] => text.split('\n').filter(line => line !== '')

/** Numbers of the engine's errors that pass: time-outs, servers and copies that are away, too much at once, no room. */
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

/** Classify an engine's error by its number; numbers that are not known to pass are `clickhouse_refused`, not retriable. */
export const clickHouseFailure = (errorCode: number | undefined, cause: unknown): Failure => {
  const code = errorCode === undefined ? undefined : failureCodes.get(errorCode)
  const message = cause instanceof Error ? cause.message : String(cause)
  return new Failure(code ?? 'clickhouse_refused', message, { retriable: code !== undefined, cause })
}
