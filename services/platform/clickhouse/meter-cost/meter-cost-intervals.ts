import type { ClickHouse } from '../clickhouse.ts'
import { idLiteral, instantLiteral, listLiteral } from '../encoding/literals.ts'
import { meterCost, type QueryInterval, rowSettings, type Tenant, tenantIs } from './meter-cost-reads.ts'
import type { MeterCostRow } from './meter-cost-row.ts'
import { decodeMeterCostRows, meterCostColumns } from './meter-cost-rows.ts'

/** Rows of a location that share time with a span. */
export type LocationInterval = QueryInterval & { readonly locationId: string }

const day = 86_400_000

/** Bounds of one statement, which must stay below 256 KiB. */
export const statementLimits = { locations: 1_000, intervals: 100 }

const startsIn = ({ from, to }: QueryInterval): string =>
  `start_time >= ${instantLiteral(from - day)} AND start_time < ${instantLiteral(to)}`

/** A row may have tens of thousands of pieces, and whoever costs it anew needs none of them. */
export const columnsWithoutPieces = meterCostColumns
  .map(name => (name.startsWith('pieces.') ? "CAST([], 'Array(UInt8)')" : `\`${name}\``))
  .join(', ')

/**
 * Read the rows of locations that share time with spans of their own, ordered by start, end and record id, in one statement however
 * scattered the spans are. Other rows of these locations may come with them. Of at most `mostSpans` locations and different spans.
 * Rows of several pieces come with one, or none: what they cost must be worked out anew.
 */
export async function* rowsInIntervals(
  db: ClickHouse,
  tenant: Tenant,
  intervals: readonly LocationInterval[],
): AsyncIterable<readonly MeterCostRow[]> {
  const locations = (of: readonly LocationInterval[]): string =>
    listLiteral([...new Set(of.map(({ locationId }) => locationId))].map(idLiteral))
  const byInterval = Map.groupBy(intervals, ({ from, to }) => `${from}/${to}`)
  const all = locations(intervals)
  const each = [...byInterval.values()].map(
    group => `(location_id IN ${locations(group)} AND ${startsIn(group[0] as QueryInterval)})`,
  )
  const long = `toDate(start_time) IN (SELECT start_date FROM meter_long_rows WHERE ${tenantIs(tenant)} AND location_id IN ${all})`
  const rows = meterCost(tenant, `location_id IN ${all} AND (${[...each, long].join(' OR ')})`)
  const statement = `SELECT ${columnsWithoutPieces} ${rows} ORDER BY start_time, end_time, record_id ${rowSettings}`
  for await (const block of db.stream(statement, tenant)) yield decodeMeterCostRows(block)
}
