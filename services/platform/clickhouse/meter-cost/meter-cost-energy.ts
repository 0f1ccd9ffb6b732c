import type { TariffDirection } from '../../../domain/tariff/tariff.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { idLiteral, instantLiteral, textLiteral, wholeLiteral } from '../encoding/literals.ts'
import { meterCost, type QueryInterval, readSettings, rowsOf, type Tenant, tenantIs } from './meter-cost-reads.ts'
import type { MeterCostRow } from './meter-cost-row.ts'

/** Location and direction whose energy counts towards tiers. */
export type CountedLocation = { readonly locationId: string; readonly direction: TariffDirection }

/** Energy (1e-6 Wh) and number of the rows that start from `from` up to the next edge. */
export type EnergyByStart = { readonly from: number; readonly records: number; readonly energy: bigint }

const day = 86_400_000

/** Energy from storage is priced as IMPORT and not counted. Source: docs/rules/tariffs.md #tiers. */
const isCounted = ({ locationId, direction }: CountedLocation): string =>
  `location_id = ${idLiteral(locationId)} AND tariff_direction = ${textLiteral(direction)} AND NOT (tariff_direction = 'IMPORT' AND energy_flow_direction = 'OUTBOUND')`

const wholeNumbers = (name: string, values: readonly number[]): string => {
  values.forEach(wholeLiteral)
  return `CAST([${values.join(',')}], 'Array(Int64)') AS ${name}`
}

/**
 * Sum the counted energy of a location by start: between edges, or without edges per instant. Covers rows that start
 * within `intervals` and lie within one range of `countingEdges`. `intervals` are disjoint and at most some hundred.
 * Ordered by time; ranges without rows are left out.
 */
export const energyByStart = async (
  db: ClickHouse,
  tenant: Tenant,
  of: CountedLocation,
  countingEdges: readonly number[],
  intervals: readonly QueryInterval[],
  edges: readonly number[] | null,
): Promise<readonly EnergyByStart[]> => {
  const start = 'toUnixTimestamp64Milli(start_time)'
  const last = 'toUnixTimestamp64Milli(greatest(start_time, end_time - INTERVAL 1 MILLISECOND))'
  const within = intervals.map(
    ({ from, to }) => `(start_time >= ${instantLiteral(from)} AND start_time < ${instantLiteral(to)})`,
  )
  const isWhole = `${start} >= ${wholeLiteral(countingEdges[0] ?? 0)} AND roundDown(${start}, cells) = roundDown(${last}, cells)`
  const answer = await db.rows(
    `WITH ${wholeNumbers('cells', countingEdges)}${edges === null ? '' : `, ${wholeNumbers('edges', edges)}`}
    SELECT ${edges === null ? start : `roundDown(${start}, edges)`} AS started, count(), toString(sum(toInt128(reinterpretAsInt64(energy))))
    ${meterCost(tenant, `${isCounted(of)} AND (${within.join(' OR ')}) AND ${isWhole}`)} GROUP BY started ORDER BY started ${readSettings}`,
    tenant,
  )
  return answer.map(([from, records, energy]) => ({
    from: Number(from),
    records: Number(records),
    energy: BigInt(String(energy)),
  }))
}

/**
 * Read the counted rows of a location that start before one of the instants and end after it. Unordered, each row once.
 */
export const rowsAcross = (
  db: ClickHouse,
  tenant: Tenant,
  of: CountedLocation,
  instants: readonly number[],
): AsyncIterable<readonly MeterCostRow[]> => {
  const across = instants.map(at => {
    const long = `SELECT start_date FROM meter_long_rows WHERE ${tenantIs(tenant)} AND location_id = ${idLiteral(of.locationId)} AND last_end > ${instantLiteral(at)}`
    const near = `(start_time >= ${instantLiteral(at - day)} OR toDate(start_time) IN (${long}))`
    return `(start_time < ${instantLiteral(at)} AND end_time > ${instantLiteral(at)} AND ${near})`
  })
  return rowsOf(db, tenant, meterCost(tenant, `${isCounted(of)} AND (${across.join(' OR ')})`))
}
