import { fullConfidence } from '../../../domain/record/record.ts'
import type { RecordOverlap } from '../../../domain/record/warnings.ts'
import type { ClickHouse } from '../clickhouse.ts'
import {
  filterIs,
  isEmpty,
  meterCost,
  type QueryInterval,
  type RowFilter,
  readSettings,
  sharesTime,
  type Tenant,
} from './meter-cost-reads.ts'

const startAndEnd = '(toUnixTimestamp64Milli(start_time), toUnixTimestamp64Milli(end_time))'

/**
 * Return the first overlap of actuals of one series with different lengths, among the rows of one pair of directions
 * that share time with an interval; null if there is none.
 * It is enough to compare each row with the next one by start: if a row overlaps a later one, then it overlaps each row
 * between them, and two neighbours of them differ in length.
 */
export const firstOverlap = async (
  db: ClickHouse,
  tenant: Tenant,
  filter: RowFilter,
  interval: QueryInterval,
): Promise<RecordOverlap | null> => {
  if (isEmpty(filter)) return null
  const isActual = `record_confidence = ${fullConfidence} AND energy > 0 AND end_time > start_time`
  const condition = `${filterIs(filter)} AND ${sharesTime(tenant, filter, interval)} AND ${isActual}`
  const series = `SELECT location_id, device_id, arraySort(groupArray(${startAndEnd})) AS rows,
    arrayFirstIndex((a, b) -> a.2 > b.1 AND a.2 - a.1 != b.2 - b.1, arrayPopBack(rows), arrayPopFront(rows)) AS place
    ${meterCost(tenant, condition)} GROUP BY location_id, device_id, session_reference_id HAVING place > 0`
  const [found] = await db.rows(
    `SELECT lower(hex(location_id)), lower(hex(device_id)), rows[place + 1].1 AS start FROM (${series})
    ORDER BY start, location_id, device_id LIMIT 1 ${readSettings}`,
    tenant,
  )
  if (found === undefined) return null
  const [location, device, start] = found
  return {
    locationId: `loc_${location}`,
    deviceId: device === '0'.repeat(24) ? null : `dev_${device}`,
    start: Number(start),
  }
}
