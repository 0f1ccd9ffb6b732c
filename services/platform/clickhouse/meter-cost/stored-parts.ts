import type { ClickHouse } from '../clickhouse.ts'
import { wholeLiteral } from '../encoding/literals.ts'
import { readSettings, type Tenant } from './meter-cost-reads.ts'

/**
 * Immutable part of the table of cost rows. All rows of the part start in [from, to), in ms. `content`: name and hash of
 * its files; parts with equal content have equal rows.
 */
export type StoredPart = { readonly from: number; readonly to: number; readonly content: string }

const second = 1_000

/**
 * List the parts with rows of any account that start before an instant (ms). If the same parts are listed later, the
 * rows that start before the instant have not changed. `tenant`: the account whose share of reads is used.
 */
export const storedParts = async (db: ClickHouse, tenant: Tenant, to: number): Promise<readonly StoredPart[]> => {
  const rows = await db.rows(
    `SELECT toUnixTimestamp(min_time), toUnixTimestamp(max_time), concat(name, ' ', hash_of_all_files) FROM system.parts
    WHERE active AND database = currentDatabase() AND table = 'meter_cost' AND toUnixTimestamp(min_time) < ${wholeLiteral(Math.ceil(to / second))}
    ORDER BY name ${readSettings}`,
    tenant,
  )
  return rows.map(([first, last, content]) => ({
    from: Number(first) * second,
    // The engine cuts off milliseconds. A part without known times can have rows of any time.
    to: Number(last) === 0 ? Number.POSITIVE_INFINITY : (Number(last) + 1) * second,
    content: String(content),
  }))
}
