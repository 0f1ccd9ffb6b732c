import sql, { raw } from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import type { Database } from '../../../../services/platform/postgres/database.ts'
import { withTenant } from '../../../../services/platform/postgres/transaction.ts'
import { useTestDatabase } from '../../../support/registry/use-database.ts'
import { makeTenants } from '../../../support/stores/postgres.ts'

const { database } = await useTestDatabase()

const pools = ['tenant', 'operator'] as const

/** Run statements on one connection of a pool. Returns the rows of the last one. */
const onOne = (database: Database, pool: (typeof pools)[number], ...statements: readonly string[]) =>
  database.withConnection(pool, async query => {
    let rows: readonly unknown[] = []
    for (const statement of statements) rows = (await query(raw(statement))).rows
    await query(raw('reset session authorization; reset role'))
    return rows
  })

describe.each(pools)('a connection of the %s pool', pool => {
  it('keeps its role after reset role and reset session authorization', async () => {
    const who = `select session_user::text as session, current_user::text as current,
      (select rolsuper or rolcreaterole or rolcreatedb or rolbypassrls or rolreplication from pg_roles where rolname = session_user) as powerful`
    for (const back of [
      'reset role',
      'reset session authorization',
      'set role none',
      "select set_config('role', 'none', false)",
    ]) {
      const [row] = await onOne(database, pool, back, who)
      expect([back, row]).toEqual([
        back,
        { session: `wattledger_${pool}`, current: `wattledger_${pool}`, powerful: false },
      ])
    }
  })

  it.each([
    'create role intruder',
    'create role intruder superuser login',
    'set role postgres',
    'set session authorization postgres',
    'alter role wattledger_tenant bypassrls',
    'alter table customers no force row level security',
    'alter table customers disable row level security',
    'drop policy tenant on customers',
    "copy (select 1) to program 'true'",
    "select pg_read_file('/etc/passwd')",
    'create table intruder (id integer)',
  ])('may not: %s', async statement => {
    await expect(onOne(database, pool, 'reset role', statement)).rejects.toMatchObject({ code: 'postgres_refused' })
  })
})

describe('a connection of the tenant pool', () => {
  it('sees no rows outside its tenant after any change of the role, and cannot become the operator', async () => {
    const { live } = await makeTenants(database)
    await withTenant(database, live, ({ query }) =>
      query(
        sql`insert into customers (account_id, live_mode, id, time_created)
        values (${live.accountId}, true, 'cus_1', now())`,
      ),
    )
    const count = 'select count(*)::integer as count from customers'
    expect(await onOne(database, 'operator', count)).toEqual([{ count: 1 }])
    for (const back of ['select 1', 'reset role', 'reset session authorization', 'set row_security = off']) {
      const seen = await onOne(database, 'tenant', back, count).catch((error: Error) => error.message)
      expect([back, seen]).toEqual([
        back,
        back.includes('row_security') ? expect.stringContaining('lacks a required right') : [{ count: 0 }],
      ])
    }
    await expect(onOne(database, 'tenant', 'set role wattledger_operator')).rejects.toMatchObject({
      code: 'postgres_refused',
    })
  })
})
