import type { ClickHouse } from './clickhouse.ts'
import { idLiteral, instantLiteral, listLiteral } from './literals.ts'
import { meterCost, rowsOf, type Span, type Tenant, tenantIs } from './meter-cost-reads.ts'
import type { MeterCostRow } from './meter-cost-row.ts'

/** Rows of a location that share time with a span. */
export type LocationSpan = Span & { readonly locationId: string }

const day = 86_400_000

/** Bounds of one statement, which must stay below 256 KiB. */
export const mostSpans = { locations: 1_000, spans: 100 }

const startsIn = ({ from, to }: Span): string => `start_time >= ${instantLiteral(from - day)} AND start_time < ${instantLiteral(to)}`

/**
 * Read the rows of locations that share time with spans of their own, ordered by start, end and record id, in one statement however
 * scattered the spans are. Other rows of these locations may come with them. Of at most `mostSpans` locations and different spans.
 */
export const rowsOfSpans = (db: ClickHouse, tenant: Tenant, spans: readonly LocationSpan[]): AsyncIterable<readonly MeterCostRow[]> => {
  const locations = (of: readonly LocationSpan[]): string =>
    listLiteral([...new Set(of.map(({ locationId }) => locationId))].map(idLiteral))
  const alike = Map.groupBy(spans, ({ from, to }) => `${from}/${to}`)
  const all = locations(spans)
  const each = [...alike.values()].map(group => `(location_id IN ${locations(group)} AND ${startsIn(group[0] as Span)})`)
  const long = `toDate(start_time) IN (SELECT start_date FROM meter_long_rows WHERE ${tenantIs(tenant)} AND location_id IN ${all})`
  return rowsOf(
    db,
    `${meterCost(tenant, `location_id IN ${all} AND (${[...each, long].join(' OR ')})`)} ORDER BY start_time, end_time, record_id`,
  )
}
