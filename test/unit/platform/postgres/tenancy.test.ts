import pg from 'pg'
import sql from 'sql-template-tag'
import { afterAll, describe, expect, it } from 'vitest'
import { apiKeyMode, hashSecret } from '../../../../services/platform/ids/new-id.ts'
import { migrate } from '../../../../services/platform/postgres/migrate.ts'
import {
  createAccount,
  retrieveAccount,
  updateAccount,
  updateAccountBrand,
} from '../../../../services/platform/postgres/registry/accounts.ts'
import {
  createApiKey,
  findApiKey,
  listApiKeys,
  readKeyState,
  revokeApiKey,
} from '../../../../services/platform/postgres/registry/api-keys.ts'
import { appendAudit, readAudit } from '../../../../services/platform/postgres/registry/audit-log.ts'
import { createDevice } from '../../../../services/platform/postgres/registry/devices.ts'
import { withOperator, withTenant } from '../../../../services/platform/postgres/transaction.ts'
import { makeTenants, openTestDatabase } from '../../../support/stores/postgres.ts'

const at = 1_760_000_000_000
const opened = await openTestDatabase()
const { database } = opened
const mine = await makeTenants(database)
const theirs = await makeTenants(database)
afterAll(() => opened[Symbol.asyncDispose]())

describe('row security between tenants', () => {
  it('shows no row to a query without a tenant, and refuses its writes', async () => {
    await withTenant(database, mine.live, tx =>
      createDevice(tx, { referenceId: 'seen', displayName: null, register: null, metadata: {} }, at),
    )
    expect((await database.tenant(sql`select * from devices`)).rows).toEqual([])
    expect((await database.tenant(sql`select * from accounts`)).rows).toEqual([])
    expect((await database.tenant(sql`delete from devices`)).rowCount).toBe(0)
    expect((await database.operator(sql`select reference_id from devices`)).rows).toEqual([{ reference_id: 'seen' }])
  })

  it('hides the rows of another account and of the other mode from a query that forgets the condition', async () => {
    for (const tenant of [mine.test, theirs.live]) {
      await withTenant(database, tenant, tx =>
        createDevice(
          tx,
          { referenceId: `of ${tenant.accountId} ${tenant.liveMode}`, displayName: null, register: null, metadata: {} },
          at,
        ),
      )
      const { rows } = await withTenant(database, tenant, ({ query }) => query(sql`select reference_id from devices`))
      expect(rows).toEqual([{ reference_id: `of ${tenant.accountId} ${tenant.liveMode}` }])
    }
  })

  it('refuses to write a row of another tenant', async () => {
    const foreign = withTenant(database, mine.live, async tx =>
      createDevice(
        { ...tx, ...theirs.live },
        { referenceId: 'smuggled', displayName: null, register: null, metadata: {} },
        at,
      ),
    )
    await expect(foreign).rejects.toMatchObject({ code: 'postgres_refused' })
  })

  it('lets an account change its own brand, and nothing else of itself or of another', async () => {
    const addresses = { privacyUrl: 'https://a.example/privacy', termsUrl: null, logoUrl: 'https://a.example/logo' }
    const brand = { displayName: 'Mine', brandColor: '#0a5c3e', ...addresses }
    const [own, other] = [mine.live.accountId, theirs.live.accountId]
    const before = await retrieveAccount(database.operator, own)
    await withTenant(database, mine.live, ({ query }) => updateAccountBrand(query, own, brand))
    await withTenant(database, mine.live, ({ query }) => updateAccountBrand(query, other, brand))
    expect(await retrieveAccount(database.operator, own)).toEqual({ ...before, ...brand })
    expect(await retrieveAccount(database.operator, other)).toMatchObject({
      privacyUrl: null,
      logoUrl: null,
      brandColor: null,
    })
    for (const change of [
      { defaultApiVersion: 'earlier' as const },
      { requestsPerSecond: 1_000_000 },
      { disabledAt: null },
    ]) {
      const [column = ''] = Object.keys(change)
      const tried = withTenant(database, mine.live, ({ query }) => updateAccount(query, own, change))
      await expect(tried, column).rejects.toMatchObject({ code: 'postgres_refused' })
    }
  })

  it('does not leak the tenant of one transaction into the next use of its connection', async () => {
    await Promise.all(
      Array.from({ length: 20 }, () =>
        withTenant(database, mine.live, ({ query }) => query(sql`select * from devices`)),
      ),
    )
    const left = await Promise.all(Array.from({ length: 20 }, () => database.tenant(sql`select * from devices`)))
    expect(left.flatMap(({ rows }) => rows)).toEqual([])
  })

  it('covers every table with an account', async () => {
    const { rows } = await withOperator(database, ({ query }) =>
      query<{ name: string; open: boolean }>(sql`
        select c.relname as name, not (c.relrowsecurity and c.relforcerowsecurity) as open
        from pg_class c join pg_attribute a on a.attrelid = c.oid
        where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and a.attname = 'account_id'`),
    )
    expect(rows.length).toBeGreaterThan(9)
    expect(rows.filter(({ open }) => open)).toEqual([])
    const roles = await database.operator(
      sql`select 1 from pg_roles where rolname like 'wattledger%' and (rolsuper or rolbypassrls)`,
    )
    expect(roles.rows).toEqual([])
  })
})

describe('API keys', () => {
  it('are stored as a hash, found by the hash, and invalid after they were revoked', async () => {
    const made = await createApiKey(
      database.operator,
      mine.live,
      { scope: 'metering', description: 'till' },
      'server secret',
      at,
    )
    expect(apiKeyMode(made.secret)).toEqual({ liveMode: true })
    const hash = hashSecret('server secret', made.secret)
    expect(await findApiKey(database.operator, hash)).toEqual(made.apiKey)
    expect(await findApiKey(database.operator, hashSecret('another secret', made.secret))).toBeNull()
    const stored = await database.operator<{ text: string }>(sql`select api_keys::text as text from api_keys`)
    expect(stored.rows.some(({ text }) => text.includes(made.secret))).toBe(false)

    const subject = { ...mine.live, keyId: made.apiKey.id }
    expect(await readKeyState(database.operator, subject)).toEqual({
      scope: 'metering',
      defaultApiVersion: 'current',
      isDisabled: false,
      requestsPerSecond: null,
      accessGeneration: 0,
    })
    expect(await readKeyState(database.operator, { ...subject, liveMode: false })).toBeNull()
    expect(await revokeApiKey(database.operator, theirs.live, made.apiKey.id, at)).toBeNull()
    expect(await revokeApiKey(database.operator, mine.live, made.apiKey.id, at + 5)).toMatchObject({
      revokedAt: at + 5,
    })
    expect(await readKeyState(database.operator, subject)).toBeNull()
    expect(await findApiKey(database.operator, hash)).toBeNull()
    expect(await listApiKeys(database.operator, mine.live)).toHaveLength(1)
  })

  it('show that their account is disabled', async () => {
    const account = await createAccount(
      database.operator,
      { displayName: 'Off', defaultApiVersion: 'earlier', requestsPerSecond: 5 },
      at,
    )
    const { apiKey } = await createApiKey(
      database.operator,
      { accountId: account.id, liveMode: true },
      { scope: 'all', description: null },
      's',
      at,
    )
    expect(await updateAccount(database.operator, account.id, { disabledAt: at })).toMatchObject({
      disabledAt: at,
      requestsPerSecond: 5,
    })
    expect(await retrieveAccount(database.operator, account.id)).toEqual({ ...account, disabledAt: at })
    const state = await readKeyState(database.operator, { accountId: account.id, liveMode: true, keyId: apiKey.id })
    const limits = { requestsPerSecond: 5, accessGeneration: 1 }
    expect(state).toEqual({ scope: 'all', defaultApiVersion: 'earlier', isDisabled: true, ...limits })
  })
})

describe('the audit log', () => {
  it('has the changes of a transaction, newest first, and none that was undone', async () => {
    const entry = { actor: 'key_1', action: 'tariff.delete', objectId: 'trf_1', detail: { void: true }, at }
    await withTenant(database, mine.live, tx => appendAudit(tx.query, tx, entry))
    const undone = withTenant(database, mine.live, async tx => {
      await appendAudit(tx.query, tx, { ...entry, action: 'undone' })
      throw new Error('undo')
    })
    await expect(undone).rejects.toThrow('undo')
    expect(await withTenant(database, mine.live, tx => readAudit(tx, 10))).toEqual([entry])
    expect(await withTenant(database, mine.test, tx => readAudit(tx, 10))).toEqual([])
  })
})

describe('an error of PostgreSQL', () => {
  it('is a failure that is retriable or not', async () => {
    const wrong = { ...opened.address, database: 'no_such_database' }
    await expect(migrate(wrong)).rejects.toMatchObject({ code: 'postgres_refused', retriable: false })
    await expect(migrate({ ...opened.address, host: '/tmp/no-such-socket' })).rejects.toMatchObject({
      code: 'postgres_away',
      retriable: true,
    })
    await expect(database.operator(sql`set statement_timeout = 20; select pg_sleep(5)`)).rejects.toMatchObject({
      code: 'postgres_timeout',
    })
  })

  it('a broken connection is replaced at its next use', async () => {
    const client = new pg.Client(opened.address)
    await client.connect()
    const cut = database.tenant(sql`select pg_sleep(20)`).catch(error => error)
    await expect
      .poll(
        async () =>
          (
            await client.query(
              `select pg_terminate_backend(pid) from pg_stat_activity where query = 'select pg_sleep(20)'`,
            )
          ).rowCount,
      )
      .toBe(1)
    expect(await cut).toMatchObject({ code: 'postgres_away', retriable: true })
    await client.end()
    expect((await database.tenant(sql`select 1 as one`)).rows).toEqual([{ one: 1 }])
  })
})
