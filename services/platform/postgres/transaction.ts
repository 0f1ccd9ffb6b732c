import pg from 'pg'
import { raw } from 'sql-template-tag'
import type { Refusal, Result } from '../../domain/refusal.ts'
import { refused } from '../../domain/refusal.ts'
import type { Database, Query } from './database.ts'
import { brokenConstraint } from './postgres-failure.ts'

/** One account in one mode: a world of its own. */
export type Tenant = { readonly accountId: string; readonly liveMode: boolean }

/**
 * A transaction that sees one tenant's rows alone. Statements name the tenant as well, so that they find their index;
 * one that forgets still sees nothing else.
 */
export type TenantTransaction = Tenant & { readonly query: Query }

/** A transaction over all accounts. */
export type OperatorTransaction = { readonly query: Query }

/** What a broken constraint says to the caller whose request broke it. */
const refusals: Readonly<Record<string, Refusal>> = {
  customers_reference_id_key: referenceTaken('customer'),
  locations_reference_id_key: referenceTaken('location'),
  devices_reference_id_key: referenceTaken('device'),
  locations_customer_fkey: constraintRefusal('customer_not_found', 'No customer has this id.', 'customer_id'),
  locations_import_market_source_fkey: constraintRefusal(
    'market_source_not_found',
    'No market source has this id.',
    'market_sources.import',
  ),
  locations_export_market_source_fkey: constraintRefusal(
    'market_source_not_found',
    'No market source has this id.',
    'market_sources.export',
  ),
  tariffs_location_fkey: constraintRefusal('location_not_found', 'No location has this id.', 'location_id'),
  tariffs_provider_fkey: constraintRefusal('provider_not_found', 'No provider has this id.', 'provider_id'),
  tariffs_overlap: constraintRefusal(
    'tariff_overlap',
    'Another tariff of this location, direction and type covers part of this time.',
    'contract_start_date',
  ),
}

function referenceTaken(kind: string): Refusal {
  return constraintRefusal(
    'reference_id_taken',
    `Another ${kind} has this reference_id: choose another one.`,
    'reference_id',
  )
}

function constraintRefusal(...[code, message, field]: Parameters<typeof refused>): Refusal {
  return refused(code, message, field).refusal
}

/** Run a piece of work in one transaction of a tenant; it is undone when the work throws. */
export const withTenant = <T>(
  database: Database,
  tenant: Tenant,
  work: (transaction: TenantTransaction) => Promise<T>,
): Promise<T> =>
  inTransaction(
    database,
    'tenant',
    tenantSettings(tenant),
    query => work({ ...tenant, query }),
    () => true,
  )

/**
 * Run a change in one transaction of a tenant. It is undone when the change is refused, also where a constraint is what refuses it,
 * and when it throws. What belongs to the change (its event, its order, its audit entry) is written in the same transaction.
 */
export const changeTenant = async <T>(
  database: Database,
  tenant: Tenant,
  change: (transaction: TenantTransaction) => Promise<Result<T>>,
): Promise<Result<T>> => {
  try {
    return await inTransaction(
      database,
      'tenant',
      tenantSettings(tenant),
      query => change({ ...tenant, query }),
      result => result.ok,
    )
  } catch (error) {
    const refusal = refusals[brokenConstraint(error) ?? '']
    if (refusal === undefined) throw error
    return { ok: false, refusal }
  }
}

/** Run a piece of work over all accounts in one transaction. Single statements take `database.operator`. */
export const withOperator = <T>(
  database: Database,
  work: (transaction: OperatorTransaction) => Promise<T>,
): Promise<T> =>
  inTransaction(
    database,
    'operator',
    '',
    query => work({ query }),
    () => true,
  )

/** Named in the same round trip that begins the transaction, and gone with it. */
const tenantSettings = ({ accountId, liveMode }: Tenant): string =>
  `set local app.account_id = ${pg.escapeLiteral(accountId)}; set local app.live_mode = '${liveMode}'`

const inTransaction = <T>(
  database: Database,
  pool: 'tenant' | 'operator',
  settings: string,
  work: (query: Query) => Promise<T>,
  mustCommit: (value: T) => boolean,
): Promise<T> =>
  database.withConnection(pool, async query => {
    await query(raw(`begin; ${settings}`))
    try {
      const value = await work(query)
      const ending = mustCommit(value) ? 'commit' : 'rollback'
      const ended = await query(raw(ending))
      // A statement failed and the work went on as if it had not: PostgreSQL has undone it all.
      if (ended.command !== ending.toUpperCase())
        throw new Error('a transaction went on after one of its statements had failed')
      return value
    } catch (error) {
      // Where the connection broke nothing is left to undo, and the first error is the one that says why.
      await query(raw('rollback')).catch(() => undefined)
      throw error
    }
  })
