import type { meterRecordList } from '../../contract/metering/meter-record-read.ts'
import type { Outcome, RequestOf } from '../../contract/operation.ts'
import type { TableFormat } from '../../domain/table-format.ts'
import { monthsWithRows } from '../../platform/clickhouse/exports/record-periods.ts'
import { type RecordTable, recordTableSelect } from '../../platform/clickhouse/exports/record-table.ts'
import type { RowSelection } from '../../platform/clickhouse/meter-cost/meter-cost-pages.ts'
import { tableObjects } from '../../platform/postgres/exports/table-objects.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import type { CostDependencies } from '../dependencies.ts'

type RecordListRequest = RequestOf<typeof meterRecordList>

/** Format of the table of a whole period; null if the request asks for a page. */
export const streamFormat = ({ tableFormat, query }: RecordListRequest): TableFormat | null => {
  const { start_time, end_time, limit, starting_after, ending_before } = query
  const isPage = limit !== undefined || starting_after !== undefined || ending_before !== undefined
  return isPage || start_time === undefined || end_time === undefined ? null : (tableFormat ?? null)
}

/** Selection of no rows: an impossible period of one location. */
const noRows = { from: 0, to: 0 } as const

const emptySelection: RowSelection = {
  locationIds: null,
  deviceIds: null,
  sessionReferenceId: null,
  recordReferenceId: null,
  batchId: null,
  ...noRows,
}

/** Stream all records of a selection as a table that the engine writes. `selection` null: no row can match. */
export const streamRecords = async (
  { database, clickHouse, streams }: CostDependencies,
  request: RecordListRequest,
  selection: RowSelection | null,
  format: TableFormat,
): Promise<Outcome<never>> => {
  const tenant = tenantOf(request)
  const table: RecordTable = {
    tenant,
    selection: selection ?? emptySelection,
    ...(await withTenant(database, tenant, tableObjects)),
    format,
    hasPieces: request.query.pieces === true,
    isRaw: request.query.raw === true,
  }
  const select = recordTableSelect(table, await monthsWithRows(clickHouse, tenant, table.selection))
  const opened = await streams.open(
    tenant.accountId,
    (path, signal) => clickHouse.writeFile(select, { path, format }, signal),
    request.signal,
  )
  return opened.ok ? { ok: true, serialized: { chunks: opened.value }, table: format } : opened
}
