import type { ClickHouse } from '../clickhouse.ts'
import { instantLiteral } from '../encoding/literals.ts'
import { filterIs, meterCost, type QueryInterval, readSettings, sharesTime, type Tenant } from './meter-cost-reads.ts'

/** Rows of a location, in several intervals. */
export type FingerprintRequest = {
  readonly tenant: Tenant
  readonly locationId: string
  readonly intervals: readonly QueryInterval[]
}

/** Maximum number of intervals of one read. */
const maxIntervals = 200

const isIn = ({ from, to }: QueryInterval): string =>
  `(end_time > ${instantLiteral(from)} OR start_time >= ${instantLiteral(from)}) AND start_time < ${instantLiteral(to)}`

/**
 * Return a fingerprint of the stored rows of a location in each interval, in their order. Equal fingerprints mean equal
 * rows: each change of a row gives the row another version. Reads the keys and versions only.
 */
export const readRowFingerprints = async (
  db: ClickHouse,
  { tenant, locationId, intervals }: FingerprintRequest,
): Promise<readonly string[]> => {
  const fingerprints: string[] = []
  const filter = { locationIds: [locationId] }
  for (let at = 0; at < intervals.length; at += maxIntervals) {
    const some = intervals.slice(at, at + maxIntervals)
    const whole = { from: Math.min(...some.map(({ from }) => from)), to: Math.max(...some.map(({ to }) => to)) }
    const columns = some.map(one => {
      const condition = isIn(one)
      return `concat(toString(countIf(${condition})), ' ', toString(sumIf(row_hash, ${condition})))`
    })
    const [row] = await db.rows(
      `WITH cityHash64(device_id, record_id, version) AS row_hash
      SELECT ${columns.join(', ')}
      ${meterCost(tenant, `${filterIs(filter)} AND ${sharesTime(tenant, filter, whole)}`)} ${readSettings}`,
      tenant,
    )
    for (const value of row ?? []) fingerprints.push(String(value))
  }
  return fingerprints
}
