import type { CostStatus } from '../../../domain/cost/cost-record.ts'
import type { MeterRecord } from '../../../domain/record/record.ts'
import type { Tenant } from '../../../domain/tenant.ts'
import { type ClickHouse, readSmall, streamUnlessSmall } from '../clickhouse.ts'
import { idLiteral, instantLiteral, isAmong, textLiteral } from '../encoding/literals.ts'
import type { MeterCostRow } from './meter-cost-row.ts'
import {
  type CostedRow,
  costedColumns,
  decodeCostedRows,
  decodeMeterCostRows,
  meterCostColumns,
} from './meter-cost-rows.ts'

export type { Tenant }

/**
 * Filter of rows; an absent member selects all. `locationIds` null: all locations. In `deviceIds`, null means the
 * location's own records. `isOfDevices`: records of devices only. `ownOnly`: of these locations (at most some
 * thousand), own records only.
 */
export type RowFilter = {
  readonly locationIds: readonly string[] | null
  readonly deviceIds?: readonly (string | null)[]
  readonly isOfDevices?: boolean
  readonly ownOnly?: readonly string[]
  readonly energyFlowDirection?: MeterRecord['energyFlowDirection']
  readonly tariffDirection?: MeterRecord['tariffDirection']
  readonly status?: CostStatus
}

/** Half-open, in ms. */
export type QueryInterval = { readonly from: number; readonly to: number }

const day = 86_400_000
const limitsOf = (threads: number): string => `SETTINGS max_execution_time=25, max_threads=${threads}`
// The engine would compile the functions of each kind of statement at its fourth run. This takes 50 to 100 ms, and most
// reads have few rows.
const notCompiled = 'compile_aggregate_expressions=0, compile_expressions=0'
/** Settings of reads of small tables. */
export const lookUpSettings = `${limitsOf(2)}, ${notCompiled}`
// All versions of a row are in one month, because the key has the start. So months need not be merged with each other.
const settingsOf = (threads: number): string => `${limitsOf(threads)}, do_not_merge_across_partitions_select_final=1`
export const readSettings: string = `${settingsOf(2)}, ${notCompiled}`
/** Settings of reads that add up the rows of whole accounts: compiled functions take less time per row. */
export const sumSettings: string = settingsOf(2)
const smallBlocks = 'max_block_size=2048'
/** Settings of reads that decode rows: decoding a block of 2,048 rows takes some milliseconds. */
export const rowSettings = `${readSettings}, ${smallBlocks}`
/** Settings of reads in the background: one thread takes less CPU time than two, because it merges fewer blocks. */
export const backgroundRowSettings = `${settingsOf(1)}, ${smallBlocks}`
const listOf = (columns: readonly string[]): string => columns.map(name => `\`${name}\``).join(', ')
export const allColumns = listOf(meterCostColumns)

export const tenantIs = ({ accountId, liveMode }: Tenant): string =>
  `account_id = ${idLiteral(accountId)} AND live_mode = ${liveMode}`

/** Return the FROM clause of cost rows: deduplicated by FINAL and limited to a tenant. */
export const meterCost = (tenant: Tenant, condition: string): string =>
  `FROM meter_cost FINAL WHERE ${tenantIs(tenant)} AND ${condition}`

/** Return the FROM clause of all versions of cost rows of a tenant: for upper estimates and candidates only. */
export const meterCostVersions = (tenant: Tenant, condition: string): string =>
  `FROM meter_cost WHERE ${tenantIs(tenant)} AND ${condition}`

const noDevice = '0'.repeat(24)
const isOwn = `(device_id = ${idLiteral(noDevice)})`

const locationsAre = ({ locationIds }: RowFilter): string =>
  locationIds === null ? '' : isAmong('location_id', locationIds)

export const isEmpty = ({ locationIds }: RowFilter): boolean => locationIds?.length === 0

export const filterIs = (filter: RowFilter): string =>
  [
    locationsAre(filter),
    filter.deviceIds === undefined ? '' : isAmong('device_id', filter.deviceIds),
    filter.isOfDevices === true ? `NOT ${isOwn}` : '',
    filter.ownOnly === undefined ? '' : `(${isOwn} OR NOT ${isAmong('location_id', filter.ownOnly)})`,
    filter.energyFlowDirection === undefined
      ? ''
      : `energy_flow_direction = ${textLiteral(filter.energyFlowDirection)}`,
    filter.tariffDirection === undefined ? '' : `tariff_direction = ${textLiteral(filter.tariffDirection)}`,
    filter.status === undefined ? '' : `status = ${textLiteral(filter.status)}`,
  ]
    .filter(condition => condition !== '')
    .join(' AND ') || 'true'

/**
 * Return a condition that includes all rows that overlap an interval: it looks back one day, and further only on days
 * with longer rows.
 */
export const mayShareTime = (tenant: Tenant, filter: RowFilter, { from, to }: QueryInterval): string => {
  const earlier = `SELECT start_date FROM meter_long_rows WHERE ${tenantIs(tenant)} AND ${locationsAre(filter) || 'true'} AND last_end > ${instantLiteral(from)}`
  return `(start_time >= ${instantLiteral(from - day)} OR toDate(start_time) IN (${earlier})) AND start_time < ${instantLiteral(to)}`
}

/** Return the condition of rows that start in an interval. The engine leaves out parts without such rows. */
export const startsWithin = ({ from, to }: QueryInterval): string =>
  `start_time >= ${instantLiteral(from)} AND start_time < ${instantLiteral(to)}`

/** Return the condition of rows that overlap an interval, including impulses in it. */
export const sharesTime = (tenant: Tenant, filter: RowFilter, interval: QueryInterval): string =>
  `${mayShareTime(tenant, filter, interval)} AND (end_time > ${instantLiteral(interval.from)} OR start_time >= ${instantLiteral(interval.from)})`

/** Read the rows of a statement, block by block. */
export async function* rowsOf(
  db: ClickHouse,
  tenant: Tenant,
  fromAndWhere: string,
): AsyncIterable<readonly MeterCostRow[]> {
  const statement = `SELECT ${allColumns} ${fromAndWhere} ${rowSettings}`
  for await (const block of streamUnlessSmall(db, statement, tenant)) yield decodeMeterCostRows(block)
}

/** Read the rows of locations that overlap an interval, ordered by start, end and record id. */
export const rowsInInterval = (
  db: ClickHouse,
  tenant: Tenant,
  filter: RowFilter,
  interval: QueryInterval,
): AsyncIterable<readonly MeterCostRow[]> =>
  isEmpty(filter)
    ? noRows()
    : rowsOf(
        db,
        tenant,
        `${meterCost(tenant, `${filterIs(filter)} AND ${sharesTime(tenant, filter, interval)}`)} ORDER BY start_time, end_time, record_id`,
      )

/** Read the rows of a statement as blocks for `decodeCostedRows`. */
const costedBlocks = (db: ClickHouse, tenant: Tenant, fromAndWhere: string, prologue = ''): AsyncIterable<Buffer> =>
  streamUnlessSmall(db, `${prologue}SELECT ${listOf(costedColumns)} ${fromAndWhere} ${rowSettings}`, tenant)

async function* noRows(): AsyncIterable<never> {
  // No locations, so no rows.
}

/** Read the rows that cross an edge of buckets, as blocks for `decodeCostedRows`. `readBucketSums` leaves these rows out. */
export const blocksAcrossBuckets = (
  db: ClickHouse,
  tenant: Tenant,
  filter: RowFilter,
  edges: readonly number[],
): AsyncIterable<Buffer> => {
  const condition = `${filterIs(filter)} AND ${sharesTime(tenant, filter, intervalOf(edges))} AND NOT ${isWhole(edges)}`
  return isEmpty(filter)
    ? noRows()
    : costedBlocks(
        db,
        tenant,
        `${meterCost(tenant, condition)} ORDER BY start_time, end_time, record_id`,
        withEdges(edges),
      )
}

/** Read all rows that share time with an interval, in any order; null if they have more than `maxBytes`. */
export const costedRowsIfFew = async (
  db: ClickHouse,
  tenant: Tenant,
  filter: RowFilter,
  interval: QueryInterval,
  maxBytes: number,
): Promise<readonly CostedRow[] | null> => {
  const fromAndWhere = meterCost(tenant, `${filterIs(filter)} AND ${sharesTime(tenant, filter, interval)}`)
  const statement = `SELECT ${listOf(costedColumns)} ${fromAndWhere} ${readSettings}`
  const block = await readSmall(db, statement, tenant, maxBytes)
  return block === null ? null : decodeCostedRows(block)
}

export const intervalOf = (edges: readonly number[]): QueryInterval => ({ from: edges[0] ?? 0, to: edges.at(-1) ?? 0 })

/**
 * Return a WITH clause with the edges. One text of thousands of edges is parsed faster than an expression for each.
 */
export const withEdges = (edges: readonly number[]): string => {
  const unsafe = edges.find(edge => !Number.isSafeInteger(edge))
  if (unsafe !== undefined) throw new RangeError(`Not a whole number: ${unsafe}.`)
  return `WITH CAST([${edges.join(',')}], 'Array(Int64)') AS edges `
}

const bucketOf = (column: string): string => `roundDown(toUnixTimestamp64Milli(${column}), edges)`

/** Return the condition that a row lies within one bucket. It may end at the bucket's end. */
const isWhole = (edges: readonly number[]): string => {
  const { from, to } = intervalOf(edges)
  const last = `greatest(start_time, end_time - INTERVAL 1 MILLISECOND)`
  return `(start_time >= ${instantLiteral(from)} AND end_time <= ${instantLiteral(to)} AND ${bucketOf('start_time')} = ${bucketOf(last)})`
}

/** Location and device of a session, with an interval that contains its rows and may be wider. */
export type SessionLocation = {
  readonly locationId: string
  readonly deviceId: string | null
  readonly from: number
  readonly to: number
}

/** Return the locations and devices of a session, ordered by location and device. */
export const locationsOfSession = async (
  db: ClickHouse,
  tenant: Tenant,
  sessionReferenceId: string,
): Promise<readonly SessionLocation[]> => {
  // The engine combines the rows of an object, because a name that many devices share can have many rows.
  const answer = await db.rows(
    `SELECT lower(hex(location_id)), lower(hex(device_id)), toUnixTimestamp64Milli(min(first_start)), toUnixTimestamp64Milli(max(last_end))
    FROM meter_sessions WHERE ${tenantIs(tenant)} AND session_reference_id = ${textLiteral(sessionReferenceId)}
    GROUP BY location_id, device_id ORDER BY location_id, device_id ${lookUpSettings}`,
    tenant,
  )
  return answer.map(([location, device, from, to]) => ({
    ...objectIdsOf(location, device),
    from: Number(from),
    to: Number(to),
  }))
}

/** Read the rows of a session at its locations, as blocks for `decodeCostedRows`, ordered by start, end and record id. */
export const blocksOfSession = (
  db: ClickHouse,
  tenant: Tenant,
  sessionReferenceId: string,
  sessionLocations: readonly SessionLocation[],
): AsyncIterable<Buffer> => {
  if (sessionLocations.length === 0) return noRows()
  const from = Math.min(...sessionLocations.map(sessionLocation => sessionLocation.from))
  const to = Math.max(...sessionLocations.map(sessionLocation => sessionLocation.to))
  const locationIs = isAmong('location_id', [...new Set(sessionLocations.map(({ locationId }) => locationId))])
  const deviceIs = isAmong('device_id', [...new Set(sessionLocations.map(({ deviceId }) => deviceId))])
  const condition = `${locationIs} AND ${deviceIs}
    AND start_time >= ${instantLiteral(from)} AND start_time <= ${instantLiteral(to)} AND session_reference_id = ${textLiteral(sessionReferenceId)}`
  return costedBlocks(db, tenant, `${meterCost(tenant, condition)} ORDER BY start_time, end_time, record_id`)
}

// All versions of a row have its record id, because the id is in the key. So parts that the index excludes have no
// version of the row, and the engine need not check them.
export const byRecordId = `${readSettings}, use_skip_indexes_if_final_exact_mode=0`

/** Return the row of a record by the digits of its id; null if there is none. Reads only parts that contain the id. */
export const rowOfRecord = async (db: ClickHouse, tenant: Tenant, recordId: string): Promise<MeterCostRow | null> => {
  const statement = `SELECT ${allColumns} ${meterCost(tenant, `record_id = ${idLiteral(recordId)}`)} ${byRecordId}`
  const [row] = decodeMeterCostRows(await db.blocks(statement, tenant))
  return row ?? null
}

const objectIdsOf = (
  location: unknown,
  device: unknown,
): { readonly locationId: string; readonly deviceId: string | null } => ({
  locationId: `loc_${location}`,
  deviceId: device === noDevice ? null : `dev_${device}`,
})
