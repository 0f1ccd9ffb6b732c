import type { EnergyFlowDirection } from '../../../domain/record/record.ts'
import type { TariffDirection } from '../../../domain/tariff/tariff.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { idLiteral, instantLiteral, isAmong, isInstantAmong, textLiteral } from '../encoding/literals.ts'
import { columnsWithoutPieces } from './meter-cost-intervals.ts'
import { meterCost, type QueryInterval, readSettings, rowSettings, type Tenant, tenantIs } from './meter-cost-reads.ts'
import type { MeterCostRow } from './meter-cost-row.ts'
import { decodeMeterCostRows } from './meter-cost-rows.ts'

/** A location and tariff direction of a tenant. */
export type Flow = { readonly tenant: Tenant; readonly locationId: string; readonly direction: TariffDirection }

/** Energy of the rows that lie within an interval, in 1e-6 Wh. */
export type IntervalEnergy = QueryInterval & {
  readonly energyFlowDirection: EnergyFlowDirection
  readonly energy: bigint
}

/**
 * Rows to read: rows that start in `interval`, rows that start before and end after an instant of `across`, rows that
 * start at an instant of `starts`.
 */
export type RowRangeQuery = {
  readonly interval: QueryInterval
  readonly across: readonly number[]
  readonly starts: readonly number[]
}

const day = 86_400_000

const isOf = ({ locationId, direction }: Flow): string =>
  `location_id = ${idLiteral(locationId)} AND tariff_direction = ${textLiteral(direction)}`

const isAcross = ({ tenant, locationId }: Flow, at: number): string => {
  const instant = instantLiteral(at)
  const long = `SELECT start_date FROM meter_long_rows WHERE ${tenantIs(tenant)} AND location_id = ${idLiteral(locationId)} AND last_end > ${instant}`
  return `(start_time < ${instant} AND end_time > ${instant} AND (start_time >= ${instantLiteral(at - day)} OR toDate(start_time) IN (${long})))`
}

async function* read(db: ClickHouse, flow: Flow, condition: string): AsyncIterable<readonly MeterCostRow[]> {
  const statement = `SELECT ${columnsWithoutPieces} ${meterCost(flow.tenant, `${isOf(flow)} AND (${condition})`)} ${rowSettings}`
  for await (const block of db.stream(statement, flow.tenant)) yield decodeMeterCostRows(block)
}

/** Read the rows of a row range, unordered, each once. A row with several pieces is returned with one piece or none. */
export const rowsInRange = (
  db: ClickHouse,
  flow: Flow,
  { interval, across, starts }: RowRangeQuery,
): AsyncIterable<readonly MeterCostRow[]> => {
  const conditions = [
    ...(interval.from < interval.to
      ? [`(start_time >= ${instantLiteral(interval.from)} AND start_time < ${instantLiteral(interval.to)})`]
      : []),
    ...across.map(at => isAcross(flow, at)),
    ...(starts.length === 0 ? [] : [isInstantAmong('start_time', starts)]),
  ]
  return read(db, flow, conditions.length === 0 ? 'false' : conditions.join(' OR '))
}

/** Read the rows of objects that overlap an interval, unordered. A null device id means the location itself. */
export const rowsOfObjects = (
  db: ClickHouse,
  flow: Flow,
  deviceIds: readonly (string | null)[],
  { from, to }: QueryInterval,
): AsyncIterable<readonly MeterCostRow[]> => {
  const starts = `(start_time >= ${instantLiteral(from)} AND start_time < ${instantLiteral(to)})`
  return read(db, flow, `${isAmong('device_id', deviceIds)} AND (${starts} OR ${isAcross(flow, from)})`)
}

/** Return the earliest start of the rows that start before an instant and end after it; null if there are none. */
export const readFirstStartAcross = async (db: ClickHouse, flow: Flow, at: number): Promise<number | null> => {
  const [row] = await db.rows(
    `SELECT toUnixTimestamp64Milli(min(start_time)), toUInt32(count())
    ${meterCost(flow.tenant, `${isOf(flow)} AND ${isAcross(flow, at)}`)} ${readSettings}`,
    flow.tenant,
  )
  return Number(row?.[1] ?? 0) === 0 ? null : Number(row?.[0])
}

/**
 * Return the latest end of the rows that start at one of the instants; null if there are none. At most 1,000 instants.
 */
export const latestEnd = async (db: ClickHouse, flow: Flow, starts: readonly number[]): Promise<number | null> => {
  const isStart = isInstantAmong('start_time', starts)
  const [row] = await db.rows(
    `SELECT toUnixTimestamp64Milli(max(end_time)), toUInt32(count())
    ${meterCost(flow.tenant, `${isOf(flow)} AND ${isStart}`)} ${readSettings}`,
    flow.tenant,
  )
  return Number(row?.[1] ?? 0) === 0 ? null : Number(row?.[0])
}

/**
 * Return the energy of the rows that lie within each interval, by energy flow direction. The intervals are disjoint.
 */
export const energyWithin = async (
  db: ClickHouse,
  flow: Flow,
  intervals: readonly QueryInterval[],
): Promise<readonly IntervalEnergy[]> => {
  const [first, last] = [intervals[0], intervals.at(-1)]
  if (first === undefined || last === undefined) return []
  const sums = intervals.map(
    ({ from, to }) =>
      `toString(sumIf(toInt128(reinterpretAsInt64(energy)), start_time >= ${instantLiteral(from)} AND start_time < ${instantLiteral(to)} AND end_time <= ${instantLiteral(to)}))`,
  )
  const within = `start_time >= ${instantLiteral(first.from)} AND start_time < ${instantLiteral(last.to)}`
  const answer = await db.rows(
    `SELECT energy_flow_direction, ${sums.join(', ')}
    ${meterCost(flow.tenant, `${isOf(flow)} AND ${within}`)} GROUP BY energy_flow_direction ${readSettings}`,
    flow.tenant,
  )
  return answer.flatMap(([energyFlowDirection, ...energies]) =>
    intervals.map((interval, index) => ({
      ...interval,
      energyFlowDirection: energyFlowDirection as EnergyFlowDirection,
      energy: BigInt(String(energies[index])),
    })),
  )
}
