import { setTimeout as sleep } from 'node:timers/promises'
import { Failure, isFailure } from '../failure.ts'
import type { ClickHouse, Column } from './clickhouse.ts'
import { textLiteral } from './encoding/literals.ts'

/** Progress of a copy: the table that is being copied, and the share of all bytes that are copied, from 0 to 1. */
export type CopyProgress = { readonly table: string; readonly share: number }

/** A partition of a table. `rows`: stored rows, with those that a newer row replaces. `bytes`: size without compression. */
type TablePartition = { readonly table: string; readonly id: string; readonly rows: number; readonly bytes: number }

/** Bytes of an insert: about 130,000 cost rows. A smaller insert leaves more parts to merge. */
const insertBytes = 32 * 1_048_576
/** The copy may read and compare for hours. */
const copySettings = 'max_threads=1, max_execution_time=0'
const repeatPausesMs = [100, 1_000, 5_000, 15_000]
const history = 'schema_history'

const quoted = (name: string): string => `\`${name}\``

/** Repeat a call of the target after temporary failures, such as a broken connection: a repeat changes nothing. */
const withRepeats = async <T>(call: () => Promise<T>): Promise<T> => {
  for (const pauseMs of repeatPausesMs) {
    try {
      return await call()
    } catch (error) {
      if (!isFailure(error) || !error.retriable) throw error
      await sleep(pauseMs)
    }
  }
  return call()
}

const repeated = (db: ClickHouse): ClickHouse => ({
  ...db,
  rows: sql => withRepeats(() => db.rows(sql)),
  insert: rows => withRepeats(() => db.insert(rows)),
  catchUp: () => withRepeats(db.catchUp),
})

const listPartitions = async (db: ClickHouse): Promise<readonly TablePartition[]> => {
  const rows = await db.rows(
    `SELECT table, partition_id, toString(sum(rows)), toString(sum(data_uncompressed_bytes)) FROM system.parts
    WHERE active AND database = currentDatabase() AND table != ${textLiteral(history)}
    GROUP BY table, partition_id ORDER BY table, partition_id`,
  )
  return rows.map(([table, id, count, bytes]) => ({
    table: String(table),
    id: String(id),
    rows: Number(count),
    bytes: Number(bytes),
  }))
}

/** List the columns that a table stores, in order. */
const listColumns = async (db: ClickHouse, table: string): Promise<readonly Column[]> => {
  const rows = await db.rows(
    `SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = ${textLiteral(table)}
    AND default_kind NOT IN ('ALIAS', 'MATERIALIZED', 'EPHEMERAL') ORDER BY position`,
  )
  return rows.map(([name, type]) => ({ name: String(name), type: String(type) }))
}

const listAccounts = async (db: ClickHouse, table: string): Promise<readonly string[]> =>
  (await db.rows(`SELECT DISTINCT lower(hex(account_id)) FROM ${quoted(table)}`)).map(([account]) => String(account))

/** Refuse a target with rows of accounts that the source does not have: it belongs to another installation. */
const refuseOthers = async (source: ClickHouse, target: ClickHouse): Promise<void> => {
  const tables = new Set((await listPartitions(target)).map(({ table }) => table))
  for (const table of tables) {
    const own = new Set(await listAccounts(source, table))
    const others = (await listAccounts(target, table)).filter(account => !own.has(account))
    if (others.length === 0) continue
    const advice = 'Set WATTLEDGER_CLICKHOUSE_DATABASE to an empty database.'
    throw new Failure(
      'clickhouse_not_empty',
      `${table} in ClickHouse has rows of ${others.length} accounts that the folder does not have. ${advice}`,
    )
  }
}

/** Count and hash the rows of a partition that reads see. Equal texts mean equal rows. */
const readDigest = async (
  db: ClickHouse,
  { table, id }: TablePartition,
  columns: readonly Column[],
): Promise<string> => {
  const row = `tuple(${columns.map(({ name }) => quoted(name)).join(', ')})`
  const [digest] = await db.rows(
    `SELECT toString(count()), toString(sum(cityHash64(toString(${row})))) FROM ${quoted(table)} FINAL
    WHERE _partition_id = ${textLiteral(id)} SETTINGS ${copySettings}`,
  )
  return (digest ?? []).join(' ')
}

/** True if the partition has rows that withdraw others. Reads do not see them, so a digest does not either. */
const hasWithdrawals = async (db: ClickHouse, { table, id }: TablePartition, columns: readonly Column[]) => {
  if (!columns.some(({ name }) => name === 'is_deleted')) return false
  const rows = await db.rows(
    `SELECT 1 FROM ${quoted(table)} WHERE _partition_id = ${textLiteral(id)} AND is_deleted = 1 LIMIT 1
    SETTINGS ${copySettings}`,
  )
  return rows.length > 0
}

const copyPartition = async (
  source: ClickHouse,
  target: ClickHouse,
  { table, id }: TablePartition,
  columns: readonly Column[],
  onBytes: (bytes: number) => void,
): Promise<void> => {
  let blocks: Buffer[] = []
  let waiting = 0
  const insert = async (): Promise<void> => {
    await target.insert({ table, columns, bytes: Buffer.concat(blocks) })
    onBytes(waiting)
    blocks = []
    waiting = 0
  }
  const names = columns.map(({ name }) => quoted(name)).join(', ')
  const select = `SELECT ${names} FROM ${quoted(table)} WHERE _partition_id = ${textLiteral(id)} SETTINGS ${copySettings}`
  for await (const block of source.stream(select)) {
    // The engine uses the memory of a block again.
    blocks.push(Buffer.from(block))
    waiting += block.length
    if (waiting >= insertBytes) await insert()
  }
  if (waiting > 0) await insert()
}

/**
 * Copy all rows of an engine to another one with the same schema, by partitions. Rows that are copied twice replace each
 * other, so an interrupted copy can begin again; it leaves out partitions that are equal. Each partition is compared
 * after its copy. Throws `Failure` `clickhouse_not_empty` if the target has rows of other accounts, `copy_differs` if a
 * copied partition is not equal. Returns the number of stored rows.
 */
export const copyTables = async (
  source: ClickHouse,
  targetOnce: ClickHouse,
  onProgress: (progress: CopyProgress) => void,
): Promise<number> => {
  const target = repeated(targetOnce)
  await refuseOthers(source, target)
  const partitions = await listPartitions(source)
  const known = await listPartitions(target)
  const allBytes = partitions.reduce((sum, { bytes }) => sum + bytes, 0)
  let doneBytes = 0
  for (const partition of partitions) {
    const { table, bytes } = partition
    let copiedBytes = 0
    const show = (newBytes: number): void => {
      copiedBytes = Math.min(copiedBytes + newBytes, bytes)
      onProgress({ table, share: (doneBytes + copiedBytes) / Math.max(1, allBytes) })
    }
    const columns = await listColumns(source, table)
    const digest = await readDigest(source, partition, columns)
    const isEqual = async (): Promise<boolean> => digest === (await readDigest(target, partition, columns))
    const isKnown = known.some(one => one.table === table && one.id === partition.id)
    if (!isKnown || (await hasWithdrawals(source, partition, columns)) || !(await isEqual())) {
      await copyPartition(source, target, partition, columns, show)
      await target.catchUp()
      if (!(await isEqual())) throw differs(partition)
    }
    show(bytes)
    doneBytes += bytes
  }
  return partitions.reduce((sum, { rows }) => sum + rows, 0)
}

const differs = ({ table, id }: TablePartition): Failure =>
  new Failure(
    'copy_differs',
    `${table} in ClickHouse has other rows than the folder in partition ${id}. Use an empty database.`,
  )
