import sql from 'sql-template-tag'
import { hasRow, readRows } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

/** Active location of a simulation. A market source is null if the location has none. */
export type SimulatedLocationRow = {
  readonly id: string
  readonly timezone: string
  readonly currencyCode: string
  readonly importSourceId: string | null
  readonly importCurrency: string | null
  readonly exportSourceId: string | null
  readonly exportCurrency: string | null
}

const columns = sql`
  l.id, l.timezone, l.currency_code as "currencyCode",
  l.import_market_source_id as "importSourceId",
  (select currency_code from market_sources where id = l.import_market_source_id) as "importCurrency",
  l.export_market_source_id as "exportSourceId",
  (select currency_code from market_sources where id = l.export_market_source_id) as "exportCurrency"`

const isActive = sql`l.deleted_at is null`

/** Find active locations by their ids, by id. Unknown ones are left out. */
export const simulatedLocations = (
  transaction: TenantTransaction,
  ids: readonly string[],
): Promise<readonly SimulatedLocationRow[]> =>
  readRows(transaction.query)(sql`
    select ${columns} from locations l where ${ownedBy(transaction)} and l.id = any(${ids}) and ${isActive} order by l.id`)

/** Find the first `limit` active locations of a customer, by id; null if there is no customer. */
export const locationsOfCustomer = async (
  transaction: TenantTransaction,
  customerId: string,
  limit: number,
): Promise<readonly SimulatedLocationRow[] | null> => {
  const isCustomer = await hasRow(transaction.query)(sql`
    select 1 from customers where ${ownedBy(transaction)} and id = ${customerId} and deleted_at is null`)
  if (!isCustomer) return null
  return readRows(transaction.query)(sql`
    select ${columns} from locations l
    where ${ownedBy(transaction)} and l.customer_id = ${customerId} and ${isActive} order by l.id limit ${limit}`)
}
