import type { StoredImport } from '../../../domain/record/undo.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { type BlockColumn, column, type NativeType } from '../encoding/fast-path/native-block.ts'
import { bool, id, instant, text, uint32 } from '../encoding/fast-path/native-types.ts'
import { instantLiteral, listLiteral, textLiteral, wholeLiteral } from '../encoding/literals.ts'
import { lookUpSettings, type Tenant, tenantIs } from '../meter-cost/meter-cost-reads.ts'

/** Submission of an import, or of its undo. */
export type ImportBatchRow = Tenant & {
  readonly importId: string
  readonly batchId: string
  readonly isUndo: boolean
  readonly recordsAccepted: number
  readonly receivedAt: number
}

const columnOf = <T>(name: string, type: NativeType<T>, get: (row: ImportBatchRow) => T): BlockColumn<ImportBatchRow> =>
  column(name, type, get)

export const importBatchColumns: readonly BlockColumn<ImportBatchRow>[] = [
  columnOf('account_id', id('acc_'), row => row.accountId),
  columnOf('live_mode', bool, row => row.liveMode),
  columnOf('import_id', text, row => row.importId),
  columnOf('batch_id', id('bat_'), row => row.batchId),
  columnOf('is_undo', bool, row => row.isUndo),
  columnOf('records_accepted', uint32, row => row.recordsAccepted),
  columnOf('received_at', instant, row => row.receivedAt),
]

/** Import that is being undone, and all imports whose records count as not sent: this one, and those that were undone. */
export type UndoneImports = { readonly id: string; readonly all: readonly string[] }

/** Return a subquery of the submissions of imports and of their undos. */
export const batchesOfImports = (tenant: Tenant, importIds: readonly string[]): string =>
  `(SELECT batch_id FROM meter_import_batches WHERE ${tenantIs(tenant)} AND import_id IN ${listLiteral(importIds.map(textLiteral))})`

const readImports = async (
  db: ClickHouse,
  tenant: Tenant,
  condition: string,
  rest: string,
): Promise<readonly StoredImport[]> => {
  const rows = await db.rows(
    `SELECT import_id, toUnixTimestamp64Milli(min(received_at)) AS started, toUnixTimestamp64Milli(max(received_at)),
      toString(sum(records_accepted)) FROM meter_import_batches FINAL
    WHERE ${tenantIs(tenant)} AND NOT is_undo AND ${condition} GROUP BY import_id ${rest} ${lookUpSettings}`,
    tenant,
  )
  return rows.map(([importId, started, ended, records]) => ({
    id: String(importId),
    startedAt: Number(started),
    endedAt: Number(ended),
    recordsAccepted: Number(records),
  }))
}

/** Return an import; null if none with this id is stored. */
export const readImport = async (db: ClickHouse, tenant: Tenant, importId: string): Promise<StoredImport | null> => {
  const [found] = await readImports(db, tenant, `import_id = ${textLiteral(importId)}`, '')
  return found ?? null
}

/** Return up to `limit` imports that began at or after an instant, newest first. */
export const listImports = (
  db: ClickHouse,
  tenant: Tenant,
  from: number,
  limit: number,
): Promise<readonly StoredImport[]> =>
  readImports(
    db,
    tenant,
    'true',
    `HAVING min(received_at) >= ${instantLiteral(from)} ORDER BY started DESC, import_id LIMIT ${wholeLiteral(limit)}`,
  )

const maxOtherImports = 20

/** Return the imports that sent records of an import too, before or after it, newest first, at most 20. Undone ones are left out. */
export const otherImports = async (
  db: ClickHouse,
  tenant: Tenant,
  { id, all }: UndoneImports,
): Promise<readonly string[]> => {
  const own = batchesOfImports(tenant, [id])
  const rows = await db.rows(
    `SELECT import_id FROM meter_import_batches
    WHERE ${tenantIs(tenant)} AND import_id NOT IN ${listLiteral(all.map(textLiteral))} AND batch_id IN (
      SELECT if(batch_id IN ${own}, batch_before, batch_id) FROM meter_earlier_values
      WHERE ${tenantIs(tenant)} AND (batch_id IN ${own}) != (batch_before IN ${own}))
    GROUP BY import_id ORDER BY min(received_at) DESC, import_id LIMIT ${wholeLiteral(maxOtherImports)} ${lookUpSettings}`,
    tenant,
  )
  return rows.map(([importId]) => String(importId))
}

/** Count the records that an import sent again after it had sent them. */
export const countRepeats = async (db: ClickHouse, tenant: Tenant, importId: string): Promise<number> => {
  const sent = `(SELECT batch_id FROM meter_import_batches
    WHERE ${tenantIs(tenant)} AND import_id = ${textLiteral(importId)} AND NOT is_undo)`
  const [counted] = await db.rows(
    `SELECT toString(count()) FROM meter_earlier_values FINAL
    WHERE ${tenantIs(tenant)} AND batch_id IN ${sent} AND batch_before IN ${sent} ${lookUpSettings}`,
    tenant,
  )
  return Number(counted?.[0] ?? 0)
}
