import sql, { raw } from 'sql-template-tag'
import { ownedBy } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

/** What a cost needs of a location; deleted ones are given too, because their costs stay readable. */
export type CostedLocation = { readonly id: string; readonly timezone: string; readonly currencyCode: string }

/** Whose cost is asked for, by an id of the tenant's own; null where it has no such object, and never had. */
export type CostTarget =
  | { readonly kind: 'location' | 'customer' | 'account'; readonly locations: readonly CostedLocation[] }
  | { readonly kind: 'device' }

const columns = sql`id, timezone, currency_code as "currencyCode"`

/** Find some locations of a tenant, deleted ones included; unknown ones are left out. */
export const costedLocations = async (
  transaction: TenantTransaction,
  ids: readonly string[],
): Promise<readonly CostedLocation[]> => {
  if (ids.length === 0) return []
  const { rows } = await transaction.query<CostedLocation>(sql`
    select ${columns} from locations where ${ownedBy(transaction)} and id = any(${ids}) order by id`)
  return rows
}

const allLocations = async (
  transaction: TenantTransaction,
  customerId: string | null,
): Promise<readonly CostedLocation[]> => {
  const { rows } = await transaction.query<CostedLocation>(sql`
    select ${columns} from locations
    where ${ownedBy(transaction)} and (${customerId}::text is null or customer_id = ${customerId}) order by id`)
  return rows
}

const exists = async (transaction: TenantTransaction, table: 'customers' | 'devices', id: string): Promise<boolean> => {
  const { rows } = await transaction.query(
    sql`select 1 from ${raw(table)} where ${ownedBy(transaction)} and id = ${id}`,
  )
  return rows.length > 0
}

/** Find what an id stands for: a location, device, customer, or the account itself. */
export const costTarget = async (transaction: TenantTransaction, id: string): Promise<CostTarget | null> => {
  if (id.startsWith('loc_')) {
    const locations = await costedLocations(transaction, [id])
    return locations.length === 0 ? null : { kind: 'location', locations }
  }
  if (id.startsWith('dev_')) return (await exists(transaction, 'devices', id)) ? { kind: 'device' } : null
  if (id.startsWith('cus_')) {
    return (await exists(transaction, 'customers', id))
      ? { kind: 'customer', locations: await allLocations(transaction, id) }
      : null
  }
  return id === transaction.accountId ? { kind: 'account', locations: await allLocations(transaction, null) } : null
}
