import type { TariffDirection } from '../../../domain/tariff/tariff.ts'
import type { OpenInterval } from '../../../domain/tariff/tariff-change.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { idLiteral, instantLiteral, isAmong, wholeLiteral } from '../encoding/literals.ts'
import { meterCost, type QueryInterval, readSettings, type Tenant, tenantIs } from './meter-cost-reads.ts'

/**
 * Number of rows of a location that start in a UTC month, which starts at `month` (ms), and their total length in ms.
 */
export type MonthCount = {
  readonly locationId: string
  readonly month: number
  readonly rows: number
  readonly lengthMs: number
}

/**
 * Count the rows of locations by the UTC months in which they start, ordered by location and month. A null bound is
 * open.
 */
export const rowsByMonth = async (
  db: ClickHouse,
  tenant: Tenant,
  locationIds: readonly string[],
  from: number | null,
  to: number | null,
): Promise<readonly MonthCount[]> => {
  if (locationIds.length === 0) return []
  const bounds = [
    from === null ? 'true' : `start_time >= ${instantLiteral(from)}`,
    to === null ? 'true' : `start_time < ${instantLiteral(to)}`,
  ].join(' AND ')
  const condition = `${isAmong('location_id', locationIds)} AND ${bounds}`
  const answer = await db.rows(
    `SELECT lower(hex(location_id)), toUnixTimestamp(toStartOfMonth(start_time), 'UTC') AS month, count(),
      sum(toUnixTimestamp64Milli(end_time) - toUnixTimestamp64Milli(start_time))
    ${meterCost(tenant, condition)} GROUP BY location_id, month ORDER BY location_id, month ${readSettings}`,
    tenant,
  )
  return answer.map(([location, month, rows, lengthMs]) => ({
    locationId: `loc_${location}`,
    month: Number(month) * 1000,
    rows: Number(rows),
    lengthMs: Number(lengthMs),
  }))
}

/** Length of a record at most, with a margin for the days of the key. */
const maxRowDays = 367

/** Count the rows of locations in a tariff direction that share time with an interval. A null bound is open. */
export const countRowsWithin = async (
  db: ClickHouse,
  tenant: Tenant,
  locationIds: readonly string[],
  direction: TariffDirection,
  { from, to }: OpenInterval,
): Promise<number> => {
  if (locationIds.length === 0) return 0
  const bounds = [
    isAmong('location_id', locationIds),
    `tariff_direction = '${direction}'`,
    ...(from === null
      ? []
      : [
          `start_time >= ${instantLiteral(from)} - INTERVAL ${maxRowDays} DAY`,
          `(end_time > ${instantLiteral(from)} OR start_time = ${instantLiteral(from)})`,
        ]),
    ...(to === null ? [] : [`start_time < ${instantLiteral(to)}`]),
  ]
  const [row] = await db.rows(`SELECT count() ${meterCost(tenant, bounds.join(' AND '))} ${readSettings}`, tenant)
  return Number(row?.[0] ?? 0)
}

/** Number of rows of a location that are longer than two days, and their total length in ms. */
export type LongRows = { readonly locationId: string; readonly rows: number; readonly lengthMs: number }

/** Return the locations with rows longer than two days that overlap an interval. A null bound is open. */
export const longRowsWithin = async (
  db: ClickHouse,
  tenant: Tenant,
  locationIds: readonly string[],
  from: number | null,
  to: number | null,
): Promise<readonly LongRows[]> => {
  if (locationIds.length === 0) return []
  const locationIs = isAmong('location_id', locationIds)
  const starts = to === null ? 'true' : `start_time < ${instantLiteral(to)}`
  const endsAfter = (column: string): string => (from === null ? 'true' : `${column} > ${instantLiteral(from)}`)
  const days = `SELECT start_date FROM meter_long_rows WHERE ${tenantIs(tenant)} AND ${locationIs} AND ${endsAfter('last_end')}`
  const isLong = `toDate(start_time) IN (${days}) AND end_time > start_time + INTERVAL 2 DAY AND ${endsAfter('end_time')} AND ${starts}`
  const answer = await db.rows(
    `SELECT lower(hex(location_id)), count(), sum(toUnixTimestamp64Milli(end_time) - toUnixTimestamp64Milli(start_time))
    ${meterCost(tenant, `${locationIs} AND ${isLong}`)} GROUP BY location_id ${readSettings}`,
    tenant,
  )
  return answer.map(([location, rows, lengthMs]) => ({
    locationId: `loc_${location}`,
    rows: Number(rows),
    lengthMs: Number(lengthMs),
  }))
}

/**
 * Return the start of the row after the first `count` rows of a location that start in an interval; null if there are
 * fewer.
 */
export const startOfRow = async (
  db: ClickHouse,
  tenant: Tenant,
  locationId: string,
  { from, to }: QueryInterval,
  count: number,
): Promise<number | null> => {
  const condition = `location_id = ${idLiteral(locationId)} AND start_time >= ${instantLiteral(from)} AND start_time < ${instantLiteral(to)}`
  const [row] = await db.rows(
    `SELECT toUnixTimestamp64Milli(start_time) ${meterCost(tenant, condition)}
    ORDER BY start_time LIMIT 1 OFFSET ${wholeLiteral(count)} ${readSettings}`,
    tenant,
  )
  return row === undefined ? null : Number(row[0])
}

/** An object that has or had estimates. */
export type EstimatedObject = { readonly locationId: string; readonly deviceId: string | null }

/** Return the objects of all accounts that have or had estimates. */
export const estimatedObjects = async (db: ClickHouse): Promise<readonly EstimatedObject[]> => {
  const answer = await db.rows(
    'SELECT lower(hex(location_id)), lower(hex(device_id)) FROM meter_estimates GROUP BY location_id, device_id',
  )
  return answer.map(([location, device]) => ({
    locationId: `loc_${location}`,
    deviceId: device === '0'.repeat(24) ? null : `dev_${device}`,
  }))
}
