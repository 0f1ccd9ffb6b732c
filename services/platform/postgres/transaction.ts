import pg from 'pg'
import { raw } from 'sql-template-tag'
import { noNamedObject } from '../../domain/no-object.ts'
import type { Refusal, Result } from '../../domain/refusal.ts'
import { refused } from '../../domain/refusal.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { Database, Query } from './database.ts'
import { brokenConstraint } from './postgres-failure.ts'

export type { Tenant }

/**
 * Transaction that sees only the rows of one tenant. Statements also name the tenant, to use the index; a statement
 * without the condition still sees no other rows.
 */
export type TenantTransaction = Tenant & { readonly query: Query }

/** Transaction over all accounts. */
export type OperatorTransaction = { readonly query: Query }

/** Refusals of violated constraints. */
const refusals: Readonly<Record<string, Refusal>> = {
  customers_reference_id_key: referenceTaken('customer'),
  locations_reference_id_key: referenceTaken('location'),
  devices_reference_id_key: referenceTaken('device'),
  locations_customer_fkey: noNamedObject('customer', 'customer_id').refusal,
  locations_import_market_source_fkey: noNamedObject('market source', 'market_sources.import').refusal,
  locations_export_market_source_fkey: noNamedObject('market source', 'market_sources.export').refusal,
  locations_calendar_fkey: noNamedObject('calendar', 'calendar_id').refusal,
  tariffs_location_fkey: noNamedObject('location', 'location_id').refusal,
  tariffs_provider_fkey: noNamedObject('provider', 'provider_id').refusal,
  users_address_key: constraintRefusal(
    'address_taken',
    'Another user of this account has this address: choose another one.',
    'address',
  ),
  tariffs_overlap: constraintRefusal(
    'tariff_overlap',
    'Another tariff of this location, direction and type covers part of this time.',
    'contract_start_date',
  ),
  statements_overlap: constraintRefusal(
    'statement_overlap',
    'Another FINAL statement of this location has days of this statement.',
  ),
  plan_tariffs_provider_fkey: noNamedObject('provider', 'tariffs').refusal,
  plan_versions_start_key: constraintRefusal(
    'version_exists',
    'The plan has a version that starts on this day: change that version, or choose another day.',
    'from',
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

/** Run work in one transaction of a tenant. The transaction is undone if the work throws. */
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
 * Run a change in one transaction of a tenant. The transaction is undone if the change is refused, if a constraint
 * refuses it, or if it throws. The event, recost request and audit entry of the change are written in the same
 * transaction.
 */
export const changeTenant = <T>(
  database: Database,
  tenant: Tenant,
  change: (transaction: TenantTransaction) => Promise<Result<T>>,
): Promise<Result<T>> => runChange(database, tenant, change, result => result.ok)

/** Run a change in one transaction of a tenant and undo it. Returns what the change returns, or its refusal. */
export const rehearseTenant = <T>(
  database: Database,
  tenant: Tenant,
  change: (transaction: TenantTransaction) => Promise<Result<T>>,
): Promise<Result<T>> => runChange(database, tenant, change, () => false)

const runChange = async <T>(
  database: Database,
  tenant: Tenant,
  change: (transaction: TenantTransaction) => Promise<Result<T>>,
  mustCommit: (result: Result<T>) => boolean,
): Promise<Result<T>> => {
  try {
    return await inTransaction(
      database,
      'tenant',
      tenantSettings(tenant),
      query => change({ ...tenant, query }),
      mustCommit,
    )
  } catch (error) {
    const refusal = refusals[brokenConstraint(error) ?? '']
    if (refusal === undefined) throw error
    return { ok: false, refusal }
  }
}

/** Run work over all accounts in one transaction. For a single statement use `database.operator`. */
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

/** Settings of the transaction, sent in the same round trip as `begin`. */
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
      // A statement failed and the work ignored the error: PostgreSQL has undone the whole transaction.
      if (ended.command !== ending.toUpperCase())
        throw new Error('A transaction continued after one of its statements failed.')
      return value
    } catch (error) {
      // If the connection broke, there is nothing to undo, and the first error has the cause.
      await query(raw('rollback')).catch(() => undefined)
      throw error
    }
  })
