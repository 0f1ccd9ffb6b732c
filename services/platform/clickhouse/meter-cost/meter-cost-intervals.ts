import type { ClickHouse } from '../clickhouse.ts'
import { instantLiteral, isAmong } from '../encoding/literals.ts'
import { meterCost, type QueryInterval, rowSettings, type Tenant, tenantIs } from './meter-cost-reads.ts'
import type { MeterCostRow } from './meter-cost-row.ts'
import { decodeMeterCostRows, meterCostColumns } from './meter-cost-rows.ts'

/** A location and an interval. */
export type LocationInterval = QueryInterval & { readonly locationId: string }

const day = 86_400_000

/** Limits of one statement. Each interval names its locations once more. */
export const statementLimits = { locations: 1_000, intervals: 100 }

const startsIn = ({ from, to }: QueryInterval): string =>
  `start_time >= ${instantLiteral(from - day)} AND start_time < ${instantLiteral(to)}`

/** Columns to select without pieces: a row may have tens of thousands, and recosting needs none. */
export const columnsWithoutPieces = meterCostColumns
  .map(name => (name.startsWith('pieces.') ? "CAST([], 'Array(UInt8)')" : `\`${name}\``))
  .join(', ')

/**
 * Read the rows of locations that overlap an interval per location, in one statement. Ordered by start, end and record
 * id. Other rows of these locations may be included. At most `statementLimits` locations and different intervals. A row
 * with several pieces is returned with one piece or none, so recalculate its cost.
 */
export async function* rowsInIntervals(
  db: ClickHouse,
  tenant: Tenant,
  intervals: readonly LocationInterval[],
): AsyncIterable<readonly MeterCostRow[]> {
  const locationsAre = (of: readonly LocationInterval[]): string =>
    isAmong('location_id', [...new Set(of.map(({ locationId }) => locationId))])
  const byInterval = Map.groupBy(intervals, ({ from, to }) => `${from}/${to}`)
  const isOfAny = locationsAre(intervals)
  const each = [...byInterval.values()].map(
    group => `(${locationsAre(group)} AND ${startsIn(group[0] as QueryInterval)})`,
  )
  const long = `toDate(start_time) IN (SELECT start_date FROM meter_long_rows WHERE ${tenantIs(tenant)} AND ${isOfAny})`
  const rows = meterCost(tenant, `${isOfAny} AND (${[...each, long].join(' OR ')})`)
  const statement = `SELECT ${columnsWithoutPieces} ${rows} ORDER BY start_time, end_time, record_id ${rowSettings}`
  for await (const block of db.stream(statement, tenant)) yield decodeMeterCostRows(block)
}
