import { type ClickHouse, streamUnlessSmall } from '../clickhouse.ts'
import { idLiteral, instantLiteral, isAmong, textLiteral, wholeLiteral } from '../encoding/literals.ts'
import { columnsWithoutPieces } from './meter-cost-intervals.ts'
import { allColumns, byRecordId, meterCost, readSettings, type Tenant } from './meter-cost-reads.ts'
import type { MeterCostRow } from './meter-cost-row.ts'
import { decodeListedRows } from './meter-cost-rows.ts'

/** Filter of a list; null selects all. The interval bounds the starts, half-open, in ms. */
export type RowSelection = {
  readonly locationIds: readonly string[] | null
  readonly deviceIds: readonly string[] | null
  readonly sessionReferenceId: string | null
  readonly recordReferenceId: string | null
  readonly batchId: string | null
  readonly from: number | null
  readonly to: number | null
}

/** A page that starts after a row (null: at the newest row). `isBack`: towards newer rows, else towards older ones. */
export type RowPage = {
  readonly after: Pick<MeterCostRow, 'start' | 'recordId'> | null
  readonly isBack: boolean
  readonly limit: number
}

/** A row without its pieces, except a single piece, and its number of pieces. */
export type ListedRow = MeterCostRow & { readonly pieceCount: number }

const listedColumns = `${columnsWithoutPieces}, length(\`pieces.start_time\`)`

const listedRows = async (
  db: ClickHouse,
  tenant: Tenant,
  fromAndWhere: string,
  settings: string,
): Promise<readonly ListedRow[]> =>
  decodeListedRows(await db.blocks(`SELECT ${listedColumns} ${fromAndWhere} ${settings}`, tenant))

/** Return the row of a record by the digits of its id, without its pieces; null if there is none. */
export const listedRowOf = async (db: ClickHouse, tenant: Tenant, recordId: string): Promise<ListedRow | null> => {
  const condition = `record_id = ${idLiteral(recordId)}`
  const [row] = await listedRows(db, tenant, meterCost(tenant, condition), byRecordId)
  return row ?? null
}

/**
 * Read listed rows with all their pieces, as unordered blocks for `decodeMeterCostRows`. Rows that no longer exist are
 * left out.
 */
export const blocksOfRows = async (
  db: ClickHouse,
  tenant: Tenant,
  rows: readonly ListedRow[],
): Promise<readonly Buffer[]> => {
  const starts = rows.map(({ start }) => start)
  const locationIds = [...new Set(rows.map(({ locationId }) => locationId))]
  const condition = `${isAmong('location_id', locationIds)} AND start_time >= ${instantLiteral(Math.min(...starts))}
    AND start_time <= ${instantLiteral(Math.max(...starts))} AND ${isAmong(
      'record_id',
      rows.map(({ recordId }) => recordId),
    )}`
  const statement = `SELECT ${allColumns} ${meterCost(tenant, condition)} ${readSettings}`
  return Array.fromAsync(streamUnlessSmall(db, statement, tenant))
}

/** Return the conditions of a filter. */
export const selectionConditions = (selection: RowSelection): readonly string[] => {
  const { locationIds, deviceIds, sessionReferenceId, recordReferenceId, batchId, from, to } = selection
  return [
    locationIds === null ? null : isAmong('location_id', locationIds),
    deviceIds === null ? null : isAmong('device_id', deviceIds),
    sessionReferenceId === null ? null : `session_reference_id = ${textLiteral(sessionReferenceId)}`,
    recordReferenceId === null ? null : `record_reference_id = ${textLiteral(recordReferenceId)}`,
    batchId === null ? null : `batch_id = ${idLiteral(batchId)}`,
    from === null ? null : `start_time >= ${instantLiteral(from)}`,
    to === null ? null : `start_time < ${instantLiteral(to)}`,
  ].filter(condition => condition !== null)
}

/** Return a page of rows, ordered by start and record id, newest first. With `isBack`, the oldest row comes first. */
export const pageOfRows = async (
  db: ClickHouse,
  tenant: Tenant,
  selection: RowSelection,
  { after, isBack, limit }: RowPage,
): Promise<readonly ListedRow[]> => {
  const order = isBack ? 'ASC' : 'DESC'
  const conditions = [
    ...selectionConditions(selection),
    ...(after === null
      ? []
      : [
          `(start_time, record_id) ${isBack ? '>' : '<'} (${instantLiteral(after.start)}, ${idLiteral(after.recordId)})`,
        ]),
  ]
  const statement = `${meterCost(tenant, conditions.join(' AND '))} ORDER BY start_time ${order}, record_id ${order} LIMIT ${wholeLiteral(limit)}`
  return listedRows(db, tenant, statement, readSettings)
}
