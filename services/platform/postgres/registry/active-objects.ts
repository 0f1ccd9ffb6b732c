import sql from 'sql-template-tag'
import { isActive, ownedBy } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

/** Tell which of some ids are locations and devices that records may name, in one statement. */
export const findActiveObjects = async (
  transaction: TenantTransaction,
  locationIds: readonly string[],
  deviceIds: readonly string[],
): Promise<ReadonlySet<string>> => {
  const { rows } = await transaction.query<{ id: string }>(sql`
    select id from locations where ${ownedBy(transaction)} and id = any(${locationIds}) and ${isActive}
    union all
    select id from devices where ${ownedBy(transaction)} and id = any(${deviceIds}) and ${isActive}`)
  return new Set(rows.map(({ id }) => id))
}
