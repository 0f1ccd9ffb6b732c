import sql from 'sql-template-tag'
import { noObject } from '../../../domain/no-object.ts'
import { accepted, type Result } from '../../../domain/refusal.ts'
import type { Customer, CustomerInput } from '../../../domain/registry/customer.ts'
import type { Location } from '../../../domain/registry/location.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { assignmentsOf, insertOf, type ObjectTable, selectOf } from '../object-table.ts'
import { allOf, isActive, mapPage, matching, ownedBy, type Page, type Paging, readPage } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'
import { deleteLocationsOf } from './locations.ts'

type Row = Omit<Customer, 'locationIds'> & { readonly locationIds: string }

/** Table of customers. */
export const customerTable: ObjectTable<CustomerInput> = {
  name: 'customers',
  columns: {
    referenceId: ['reference_id', 'text'],
    displayName: ['display_name', 'text'],
    metadata: ['metadata', 'jsonb'],
  },
}

const columns = sql`${selectOf(customerTable)},
  (select coalesce(json_agg(l.id order by l.id), '[]') from locations l
   where l.account_id = customers.account_id and l.live_mode = customers.live_mode and l.customer_id = customers.id
     and l.deleted_at is null) as "locationIds"`

const fromRow = ({ locationIds, ...customer }: Row): Customer => ({
  ...customer,
  locationIds: JSON.parse(locationIds),
})

const notFound = noObject('customer')

/** Create a customer at `at` (ms). The constraint refuses a duplicate reference_id. */
export const createCustomer = async (
  transaction: TenantTransaction,
  draft: CustomerInput,
  at: number,
): Promise<Customer> => {
  const { accountId, liveMode, query } = transaction
  const id = newId('customer', at)
  await query(insertOf(customerTable, { accountId, liveMode }, id, draft, at))
  return { id, accountId, liveMode, ...draft, locationIds: [], createdAt: at }
}

/** Retrieve a customer; null if there is none or it was deleted. */
export const retrieveCustomer = async (transaction: TenantTransaction, id: string): Promise<Customer | null> => {
  const { rows } = await transaction.query<Row>(
    sql`select ${columns} from customers where ${ownedBy(transaction)} and id = ${id} and ${isActive}`,
  )
  return rows[0] === undefined ? null : fromRow(rows[0])
}

/** Change the given members. Refuses `not_found`; the constraint refuses a duplicate reference_id. */
export const updateCustomer = async (
  transaction: TenantTransaction,
  id: string,
  change: Partial<CustomerInput>,
): Promise<Result<Customer>> => {
  const { rows } = await transaction.query<Row>(sql`
    update customers set ${assignmentsOf(customerTable, change)}
    where ${ownedBy(transaction)} and id = ${id} and ${isActive} returning ${columns}`)
  return rows[0] === undefined ? notFound : accepted(fromRow(rows[0]))
}

/**
 * Delete a customer with its locations, whose tariffs end at `at` (ms). Returns the last state of all deleted objects.
 * Refuses `not_found`.
 * Source: docs/rules/registry.md #deletion.
 */
export const deleteCustomer = async (
  transaction: TenantTransaction,
  id: string,
  at: number,
): Promise<Result<{ readonly customer: Customer; readonly locations: readonly Location[] }>> => {
  const { rows } = await transaction.query<Row>(sql`
    update customers set deleted_at = ${toTimestamp(at)}
    where ${ownedBy(transaction)} and id = ${id} and ${isActive} returning ${columns}`)
  if (rows[0] === undefined) return notFound
  return accepted({
    customer: fromRow(rows[0]),
    locations: await deleteLocationsOf(transaction, sql`customer_id = ${id}`, at),
  })
}

/** List customers, newest first. Refuses `cursor_not_found`. */
export const listCustomers = async (
  transaction: TenantTransaction,
  filter: { readonly referenceId: string | null },
  paging: Paging,
): Promise<Result<Page<Customer>>> => {
  const page = await readPage<Row>(
    transaction.query,
    {
      table: 'customers',
      columns,
      scope: ownedBy(transaction),
      filter: allOf(isActive, matching('reference_id', filter.referenceId)),
    },
    paging,
  )
  return mapPage(page, fromRow)
}
