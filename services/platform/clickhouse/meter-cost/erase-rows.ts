import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../../failure.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { idLiteral, isAmong, listLiteral, textLiteral } from '../encoding/literals.ts'
import { meterCost, type Tenant, tenantIs } from './meter-cost-reads.ts'

/** Objects of one account and mode whose rows are erased. `receiptsBefore` (ms): earlier receipts are erased too. */
export type RowsToErase = Tenant & {
  readonly locationIds: readonly string[]
  readonly deviceIds: readonly string[]
  readonly receiptsBefore: number | null
}

/** Ids per statement. */
const idsPerStatement = 1_000

/** Table with the locations of devices. */
const deviceLocationsTable = 'meter_device_locations'

type Table = { readonly name: string; readonly columns: ReadonlySet<string> }

/**
 * Return whether the table has failed records: their rows stay, because receipts count them, but their texts are
 * erased.
 */
const isFailuresTable = (columns: Table['columns']): boolean =>
  columns.has('error') && columns.has('record_reference_id')

const quoted = (name: string): string => `\`${name}\``

/** Read the tables that have rows of accounts. */
const accountTables = async (db: ClickHouse): Promise<readonly Table[]> => {
  const rows = await db.rows(`SELECT table, groupArray(name) FROM system.columns
    WHERE database = currentDatabase() AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree')
    GROUP BY table HAVING has(groupArray(name), 'account_id') AND has(groupArray(name), 'live_mode') ORDER BY table`)
  return rows.map(([name, columns]) => ({ name: String(name), columns: new Set(columns as readonly string[]) }))
}

/** Start a mutation. Parts without matching rows are not rewritten; tables without matching rows are skipped. */
const mutate = async (db: ClickHouse, table: string, change: string, condition: string): Promise<void> => {
  const [found] = await db.rows(`SELECT 1 FROM ${quoted(table)} WHERE ${condition} LIMIT 1`)
  if (found !== undefined)
    await db.command(`ALTER TABLE ${quoted(table)} ${change} WHERE ${condition} SETTINGS mutations_sync = 0`)
}

const pollIntervalMs = 50
const stallTimeoutMs = 300_000

/**
 * Wait until all mutations are done. The engine starts a mutation after about 1 s, so mutations that run together take
 * as long as one. Inserts continue meanwhile. Throws `clickhouse_timeout` if there is no progress for 5 minutes.
 */
const waitForMutations = async (db: ClickHouse, tables: readonly Table[], onProgress: () => void): Promise<void> => {
  const names = listLiteral(tables.map(({ name }) => textLiteral(name)))
  const statement = `SELECT toUInt32(count()), toUInt32(sum(parts_to_do)), max(latest_fail_reason) FROM system.mutations
    WHERE database = currentDatabase() AND table IN ${names} AND NOT is_done`
  let before = ''
  for (let progressAt = performance.now(); ; await sleep(pollIntervalMs)) {
    const [[mutations, parts, reason] = []] = await db.rows(statement)
    if (Number(mutations) === 0) return
    const remaining = `${mutations} mutations, ${parts} parts`
    if (remaining !== before) {
      progressAt = performance.now()
      onProgress()
    } else if (performance.now() - progressAt > stallTimeoutMs) {
      throw new Failure('clickhouse_timeout', `Rows are not erased yet: ${remaining} remain. ${reason}`, {
        retriable: true,
      })
    }
    before = remaining
  }
}

const groupsOf = <T>(ids: readonly T[]): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(ids.length / idsPerStatement) }, (_, group) =>
    ids.slice(group * idsPerStatement, (group + 1) * idsPerStatement),
  )

/** Return conditions that find the rows of a table by location or device, for some ids each. */
const objectConditions = (rows: RowsToErase, columns: Table['columns']): readonly string[] => {
  const ids = [
    ...rows.locationIds.map(id => ({ column: 'location_id', id })),
    ...rows.deviceIds.map(id => ({ column: 'device_id', id })),
  ].filter(({ column }) => columns.has(column))
  return groupsOf(ids).map(group =>
    [...Map.groupBy(group, ({ column }) => column)]
      .map(([column, some]) =>
        isAmong(
          column,
          some.map(({ id }) => id),
        ),
      )
      .join(' OR '),
  )
}

const eraseObjectRows = async (db: ClickHouse, { name, columns }: Table, rows: RowsToErase): Promise<void> => {
  for (const objects of objectConditions(rows, columns))
    await mutate(db, name, 'DELETE', `${tenantIs(rows)} AND (${objects})`)
}

/**
 * Return the condition of batches that were created before an instant. Batch ids start with 40 bits of creation time in
 * steps of 16 ms.
 */
const createdBefore = (at: number): string => {
  const lead = Math.floor(at / 16)
    .toString(16)
    .padStart(10, '0')
  return `batch_id < ${idLiteral(lead.padEnd(24, '0'))}`
}

const noObject = `toFixedString(unhex('${'0'.repeat(24)}'), 12)`

/**
 * Read the batches with stored records of these objects: their failures without an object may be about these objects.
 */
const batchesOf = async (db: ClickHouse, rows: RowsToErase, objects: string): Promise<readonly string[]> => {
  const found = await db.rows(`SELECT DISTINCT lower(hex(batch_id)) FROM meter_batch_failures
    WHERE ${tenantIs(rows)} AND location_id = ${noObject} AND error != 'erased'
      AND batch_id IN (SELECT batch_id ${meterCost(rows, `(${objects})`)})`)
  return found.map(([batch]) => String(batch))
}

/**
 * Erase the texts of failures about some objects. The number of failed records stays. A failure names its objects. A
 * failure of an earlier release, or of a record without objects, is found by the ids in its text and by the stored
 * records of its batch.
 */
const redactFailures = async (db: ClickHouse, { name, columns }: Table, rows: RowsToErase): Promise<void> => {
  const redaction = `UPDATE error = 'erased', record_reference_id = '', location_id = ${noObject}, device_id = ${noObject}`
  for (const objects of objectConditions(rows, columns)) {
    const batches = await batchesOf(db, rows, objects)
    await mutate(db, name, redaction, `${tenantIs(rows)} AND (${objects})`)
    for (const group of groupsOf(batches)) {
      const isOfBatch = `${isAmong('batch_id', group)} AND location_id = ${noObject}`
      await mutate(db, name, redaction, `${tenantIs(rows)} AND ${isOfBatch}`)
    }
  }
  for (const group of groupsOf([...rows.locationIds, ...rows.deviceIds])) {
    const names = `arrayExists(id -> position(error, id) > 0, [${group.map(textLiteral).join(', ')}])`
    await mutate(db, name, redaction, `${tenantIs(rows)} AND ${names}`)
  }
}

/** Erase the receipts before an instant, and texts about the objects in later ones. */
const eraseReceipts = async (db: ClickHouse, table: Table, rows: RowsToErase): Promise<void> => {
  const { name, columns } = table
  if (rows.receiptsBefore !== null && columns.has('batch_id')) {
    await mutate(db, name, 'DELETE', `${tenantIs(rows)} AND ${createdBefore(rows.receiptsBefore)}`)
  }
  if (isFailuresTable(columns)) await redactFailures(db, table, rows)
}

export type EraseOptions = {
  /** Keep the rows with the locations of devices; another call erases them. */
  readonly keepDeviceLocations: boolean
  /** Called after each progress. */
  readonly onProgress?: (() => void) | undefined
}

/**
 * Delete every row of some objects from all tables. Resolves after no part on disk has such a row. Idempotent. Throws a
 * `Failure` if the engine fails.
 */
export const eraseRows = async (db: ClickHouse, rows: RowsToErase, options: EraseOptions): Promise<void> => {
  const tables = (await accountTables(db)).filter(
    ({ name }) => !(options.keepDeviceLocations && name === deviceLocationsTable),
  )
  // Failures first, because the stored records show which batches are about the objects.
  for (const table of tables.toSorted(
    (a, b) => Number(isFailuresTable(b.columns)) - Number(isFailuresTable(a.columns)),
  )) {
    if (table.columns.has('location_id') && !isFailuresTable(table.columns)) await eraseObjectRows(db, table, rows)
    else await eraseReceipts(db, table, rows)
  }
  await waitForMutations(db, tables, options.onProgress ?? (() => undefined))
}
