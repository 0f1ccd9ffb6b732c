import { type RawBuilder, sql } from 'kysely'
import { toTimestamp } from './column.ts'
import { type LocationRow, locationColumns, locationFromRow, type StoredLocation } from './location-row.ts'
import { newOrder, type OutboxMessage, writeOrders } from './outbox.ts'
import { isLiving, ownedBy } from './page.ts'
import type { TenantTransaction } from './transaction.ts'

/** The last state of the locations that went, oldest first, and the orders that their tariffs' end owes the lanes. */
export type LocationDeletion = { readonly locations: readonly StoredLocation[]; readonly orders: readonly OutboxMessage[] }

/**
 * Delete the living locations that fit a condition: they are hidden, and their tariffs end at `at` (ms).
 * What their tariffs have priced stays; locations without tariffs owe no order. Source: contract decisions 6 and 10.
 */
export const deleteLocationsOf = async (
  transaction: TenantTransaction,
  condition: RawBuilder<unknown>,
  at: number,
): Promise<LocationDeletion> => {
  const { accountId, liveMode, query } = transaction
  const owned = ownedBy(transaction)
  // Locks are taken in the order of ids, as by all who take several; what is read after them is what a change that went before has left.
  const deleted = await sql<{ id: string }>`
    update locations set deleted_at = ${toTimestamp(at)}, pricing_revision = pricing_revision + 1
    where ${owned} and id = any(array(select id from locations where ${owned} and ${condition} and ${isLiving} order by id for no key update))
    returning id`.execute(query)
  const ids = deleted.rows.map(({ id }) => id)
  if (ids.length === 0) return { locations: [], orders: [] }
  const { rows } = await sql<LocationRow>`
    select ${locationColumns} from locations where ${owned} and id = any(${ids}) order by id`.execute(query)
  const locations = rows.map(locationFromRow)
  await sql`update tariffs set closed_at = ${toTimestamp(at)}
    where ${owned} and location_id = any(${ids}) and closed_at is null and voided_at is null`.execute(query)
  const orders = locations
    .filter(({ tariffs }) => tariffs.length > 0)
    .map(({ id, pricingRevision }) => newOrder({ accountId, liveMode, locations: [id], revision: pricingRevision, from: at, to: null }))
  return { locations, orders: await writeOrders(query, orders, at) }
}
