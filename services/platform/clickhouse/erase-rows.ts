import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../failure.ts'
import type { ClickHouse } from './clickhouse.ts'
import { idLiteral, listLiteral, textLiteral } from './literals.ts'
import { type Tenant, tenantIs } from './meter-cost-reads.ts'

/** Objects of one account and mode of which no row may stay. `receiptsBefore` (ms): receipts of submissions before go too. */
export type RowsToErase = Tenant & {
  readonly locationIds: readonly string[]
  readonly deviceIds: readonly string[]
  readonly receiptsBefore: number | null
}

/** Ids in one statement, so that it stays below the 256 KiB that the engine parses. */
const idsAtOnce = 1_000

/** Where devices were metered. */
const places = 'meter_device_locations'

type Table = { readonly name: string; readonly columns: ReadonlySet<string> }

const quoted = (name: string): string => `\`${name}\``

/** The tables that hold rows of accounts, whichever the schemas have made. */
const accountTables = async (db: ClickHouse): Promise<readonly Table[]> => {
  const rows = await db.rows(`SELECT table, groupArray(name) FROM system.columns
    WHERE database = currentDatabase() AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree')
    GROUP BY table HAVING has(groupArray(name), 'account_id') AND has(groupArray(name), 'live_mode') ORDER BY table`)
  return rows.map(([name, columns]) => ({ name: String(name), columns: new Set(columns as readonly string[]) }))
}

/** Begin to change rows; parts that have none are not rewritten, and tables that have none are left alone. */
const mutate = async (db: ClickHouse, table: string, change: string, condition: string): Promise<void> => {
  const [found] = await db.rows(`SELECT 1 FROM ${quoted(table)} WHERE ${condition} LIMIT 1`)
  if (found !== undefined) await db.command(`ALTER TABLE ${quoted(table)} ${change} WHERE ${condition} SETTINGS mutations_sync = 0`)
}

const pollMs = 50
const patienceMs = 300_000

/**
 * Wait until what was begun is done in every part. The engine begins a mutation after a second or so: begun together and waited for
 * together they take as long as one, and inserts go on meanwhile. Throws `clickhouse_timeout` when nothing moves for five minutes.
 */
const mutated = async (db: ClickHouse, tables: readonly Table[], onProgress: () => void): Promise<void> => {
  const names = listLiteral(tables.map(({ name }) => textLiteral(name)))
  const statement = `SELECT toUInt32(count()), toUInt32(sum(parts_to_do)), max(latest_fail_reason) FROM system.mutations
    WHERE database = currentDatabase() AND table IN ${names} AND NOT is_done`
  let before = ''
  for (let movedAt = performance.now(); ; await sleep(pollMs)) {
    const [[mutations, parts, reason] = []] = await db.rows(statement)
    if (Number(mutations) === 0) return
    const left = `${mutations} mutations, ${parts} parts`
    if (left !== before) {
      movedAt = performance.now()
      onProgress()
    } else if (performance.now() - movedAt > patienceMs) {
      throw new Failure('clickhouse_timeout', `rows are not yet erased: ${left} left. ${reason}`, { retriable: true })
    }
    before = left
  }
}

const groupsOf = <T>(ids: readonly T[]): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(ids.length / idsAtOnce) }, (_, group) => ids.slice(group * idsAtOnce, (group + 1) * idsAtOnce))

const eraseObjectRows = async (db: ClickHouse, { name, columns }: Table, rows: RowsToErase): Promise<void> => {
  const ids = [
    ...rows.locationIds.map(id => ({ column: 'location_id', id })),
    ...rows.deviceIds.map(id => ({ column: 'device_id', id })),
  ].filter(({ column }) => columns.has(column))
  for (const group of groupsOf(ids)) {
    const conditions = [...Map.groupBy(group, ({ column }) => column)].map(
      ([column, some]) => `${column} IN ${listLiteral(some.map(({ id }) => idLiteral(id)))}`,
    )
    await mutate(db, name, 'DELETE', `${tenantIs(rows)} AND (${conditions.join(' OR ')})`)
  }
}

/** Batch ids begin with 40 bits of mint time in steps of 16 ms, so those before an instant are smaller than its first. */
const mintedBefore = (at: number): string => {
  const lead = Math.floor(at / 16)
    .toString(16)
    .padStart(10, '0')
  return `batch_id < ${idLiteral(lead.padEnd(24, '0'))}`
}

/** What receipts say: all of before an instant goes, or the words that name an object; how many records failed stays true. */
const eraseReceipts = async (db: ClickHouse, { name, columns }: Table, rows: RowsToErase): Promise<void> => {
  if (rows.receiptsBefore !== null && columns.has('batch_id')) {
    await mutate(db, name, 'DELETE', `${tenantIs(rows)} AND ${mintedBefore(rows.receiptsBefore)}`)
  }
  if (!columns.has('error') || !columns.has('record_reference_id')) return
  for (const group of groupsOf([...rows.locationIds, ...rows.deviceIds])) {
    const names = `arrayExists(id -> position(error, id) > 0, [${group.map(textLiteral).join(', ')}])`
    await mutate(db, name, "UPDATE error = 'erased', record_reference_id = ''", `${tenantIs(rows)} AND ${names}`)
  }
}

export type EraseOptions = {
  /** Leave the rows that tell where devices were metered; erase them with another call. */
  readonly keepPlaces: boolean
  /** Called as it goes on. */
  readonly onProgress?: (() => void) | undefined
}

/**
 * Delete every row of some objects from all tables, and wait until no part on disk holds any. Repeats change nothing.
 * Throws `Failure` where the engine does not do it.
 */
export const eraseRows = async (db: ClickHouse, rows: RowsToErase, options: EraseOptions): Promise<void> => {
  const tables = (await accountTables(db)).filter(({ name }) => !(options.keepPlaces && name === places))
  for (const table of tables) {
    if (table.columns.has('location_id')) await eraseObjectRows(db, table, rows)
    else await eraseReceipts(db, table, rows)
  }
  await mutated(db, tables, options.onProgress ?? (() => undefined))
}
