import sql, { type Sql } from 'sql-template-tag'
import { toTimestamp } from '../column.ts'
import { isActive, ownedBy } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'
import { type LocationRow, locationColumns, locationFromRow, type StoredLocation } from './location-row.ts'

/**
 * Delete the living locations that fit a condition: they are hidden, and their tariffs end at `at` (ms). Gives their last state, oldest first.
 * Their rows are never priced again, also where they reach beyond `at`: no order is owed.
 * Source: docs/rules/registry.md #deletion.
 */
export const deleteLocationsOf = async (
  transaction: TenantTransaction,
  condition: Sql,
  at: number,
): Promise<readonly StoredLocation[]> => {
  const { query } = transaction
  const owned = ownedBy(transaction)
  // Locks are taken in the order of ids, as by all who take several; what is read after them is what a change that went before has left.
  const deleted = await query<{ id: string }>(sql`
    update locations set deleted_at = ${toTimestamp(at)}
    where ${owned} and id = any(array(select id from locations where ${owned} and ${condition} and ${isActive} order by id for no key update))
    returning id`)
  const ids = deleted.rows.map(({ id }) => id)
  if (ids.length === 0) return []
  const { rows } = await query<LocationRow>(sql`
    select ${locationColumns} from locations where ${owned} and id = any(${ids}) order by id`)
  await query(sql`update tariffs set closed_at = ${toTimestamp(at)}
    where ${owned} and location_id = any(${ids}) and closed_at is null and voided_at is null`)
  return rows.map(locationFromRow)
}
