import sql, { raw } from 'sql-template-tag'
import { hasRow, readRows } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

/** Data of a location for its costs. Deleted locations are included, because their costs stay readable. */
export type CostedLocation = { readonly id: string; readonly timezone: string; readonly currencyCode: string }

/** Object whose costs are requested. Null if the tenant never had an object with the id. */
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
  return readRows(transaction.query)<CostedLocation>(sql`
    select ${columns} from locations where ${ownedBy(transaction)} and id = any(${ids}) order by id`)
}

/** Ids as one text for each zone and currency: a row for each of 10,000 locations takes three times as long to read. */
const allLocations = async (
  transaction: TenantTransaction,
  customerId: string | null,
): Promise<readonly CostedLocation[]> => {
  const groups = await readRows(transaction.query)<Omit<CostedLocation, 'id'> & { readonly ids: string }>(sql`
    select timezone, currency_code as "currencyCode", string_agg(id, ',') as ids from locations
    where ${ownedBy(transaction)} and (${customerId}::text is null or customer_id = ${customerId}) group by 1, 2`)
  return groups
    .flatMap(({ ids, ...place }) => ids.split(',').map(id => ({ id, ...place })))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
}

const exists = (transaction: TenantTransaction, table: 'customers' | 'devices', id: string): Promise<boolean> =>
  hasRow(transaction.query)(sql`select 1 from ${raw(table)} where ${ownedBy(transaction)} and id = ${id}`)

/** Find the object of an id: a location, device, customer, or the account itself. */
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
