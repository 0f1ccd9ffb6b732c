import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createSession, retrieveSession, type StoredSession } from '../../services/platform/postgres/connect-sessions.ts'
import { putProviders } from '../../services/platform/postgres/providers.ts'
import { putCredentials, type TariffCredentials } from '../../services/platform/postgres/tariff-credentials.ts'
import { withTenant } from '../../services/platform/postgres/transaction.ts'
import { type ConnectService, connectAccount, londonAddress, openConnectService, tokenFor, visit } from '../support/connect-service.ts'
import { openTestDatabase, type TestDatabase } from '../support/postgres.ts'
import { type ProviderApp, type ProviderPage, providerPlan, startProviderApp } from '../support/provider-app.ts'
import { type Call, listed } from '../support/service.ts'

let store: TestDatabase | undefined
let held: ConnectService | undefined
let app: ProviderApp | undefined

const [firstId, otherId] = [`prv_${'d'.repeat(24)}`, `prv_${'e'.repeat(24)}`]
const hour = 3_600_000

const service = (): ConnectService => {
  if (held === undefined) throw new Error('the service is not open')
  return held
}
const provider = (): ProviderApp => {
  if (app === undefined) throw new Error('the app has not started')
  return app
}

const postInside = async (_: string, body: object): Promise<ProviderPage> => {
  const answer = await service().app.request('/connect', { method: 'POST', body: JSON.stringify(body) })
  const text = await answer.text()
  const page = JSON.parse(text)
  return { status: answer.status, text, route: page.route ?? '', data: page.data ?? {} }
}

beforeAll(async () => {
  store = await openTestDatabase()
  held = await openConnectService(store.database)
  app = await startProviderApp(postInside)
  const direct = { loginUrl: app.loginUrl, appUrl: app.url, accentColor: null }
  const base = { logoUrl: null, countries: ['GB'], addressTypes: [], direct }
  const both = [firstId, otherId].map(id => ({ ...base, id, displayName: `Direct ${id.slice(-1)}` }))
  await putProviders(store.database.operator, both, 0)
})
afterAll(async () => {
  await app?.[Symbol.asyncDispose]()
  await store?.[Symbol.asyncDispose]()
})
beforeEach(() => {
  provider().reply = { status: 200, body: providerPlan(0.2455) }
})

/** A further session of a location, at the login of the first provider. */
const atLogin = async (call: Call, more: object = {}) => {
  const token = await tokenFor(call, 'current', { location_reference_id: 'home', postal_address: londonAddress, ...more })
  const flow = visit(service(), token)
  await flow.submit('session_start')
  await flow.submit('provider_select', { provider: { id: firstId } })
  return { token, flow }
}

const begin = async () => {
  const { call, accountId } = await connectAccount(service(), 'current')
  return { call, accountId, ...(await atLogin(call)) }
}

const edit = { actions: { edit_tariff: true } }
const choice = { status: 200, body: { accounts: [{ id: 'a', name: 'Home' }] } }
const logIn = (token: string) => provider().logIn('', token, { user: 'ann' })
const tariffsOf = async (call: Call) =>
  listed(await call('GET', `/tariffs?location_id=${listed(await call('GET', '/locations'))[0]?.['id']}`))
const completed = async (call: Call) => listed(await call('GET', '/events?event_type=connect_session.complete'))
const kept = async (accountId: string): Promise<readonly TariffCredentials[]> => {
  const { rows } = await sql<TariffCredentials>`
    select account_id as "accountId", live_mode as "liveMode", id, session_id as "sessionId", sealed, fetched_at as "fetchedAt"
    from tariff_credentials where account_id = ${accountId} order by time_created`.execute(service().database.operator)
  return rows
}

describe('what a person gives the app of a provider', () => {
  it('goes to no provider but the one that it was typed for', async () => {
    const { token, flow } = await begin()
    const asks = await postInside('', { connect_token: token, route: 'auth_metadata_capture', data: { user: 'ann' } })
    await flow.submit('provider_select', { provider: { id: otherId } })
    const asked = provider().asked.length
    const data = { auth_metadata_id: asks.data['auth_metadata_id'], consent_given: true }
    const answer = await postInside('', { connect_token: token, route: 'consent_capture', data })
    expect(answer.text).toContain('auth_metadata_invalid')
    expect(provider().asked).toHaveLength(asked)
  })

  it('takes the place of what was given before in the session, and may be long', async () => {
    const { token, accountId } = await begin()
    const form = { connect_token: token, route: 'auth_metadata_capture', data: { user: 'x'.repeat(300_000) } }
    for (let again = 0; again < 3; again += 1) expect((await postInside('', form)).route).toBe('consent_capture')
    expect(await kept(accountId)).toHaveLength(1)
  })

  it('ends nothing that works before it has worked itself', async () => {
    const { call, accountId, token } = await begin()
    await logIn(token)
    const [working] = await kept(accountId)
    const again = await atLogin(call, edit)
    provider().reply = 'never'
    await logIn(again.token)
    expect((await again.flow.submit('session_start')).route).toBe('tariff_connection_pending')
    expect((await kept(accountId)).map(({ id }) => id)).toContain(working?.id)
    const visited = visit(service(), await tokenFor(call, 'current', { location_reference_id: 'home' }))
    expect((await visited.submit('session_start')).route).toBe('tariffs_summary')
    provider().reply = { status: 200, body: providerPlan(0.31) }
    service().clock.at += hour
    await service().turn()
    expect(await kept(accountId)).toMatchObject([{ sessionId: expect.not.stringMatching(`^${working?.sessionId}$`) }])
  })

  it.each([{ action: 'DISCONNECT' }, { action: 'DISMISS_DIRECT', route: 'multiple_available_tariffs' }])(
    'is forgotten with $action before an account was chosen; the tariff from before stays',
    async action => {
      const { call, token, accountId } = await begin()
      await logIn(token)
      const before = [await tariffsOf(call), await kept(accountId)]
      const again = await atLogin(call, edit)
      provider().reply = choice
      expect((await logIn(again.token)).route).toBe('multiple_available_tariffs')
      expect((await postInside('', { connect_token: again.token, ...action })).route).toBe('session_redirect')
      expect([await tariffsOf(call), await kept(accountId)]).toEqual(before)
    },
  )
})

describe('a tariff that a provider gave', () => {
  it('was there, also where the same session goes on by hand', async () => {
    const { call, accountId, flow, token } = await begin()
    const typed = async (cost: number) => {
      await flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
      await flow.submit('tariff_structure_select', { options: ['FIXED'] })
      expect((await flow.submit('rate_fixed_capture', { cost })).route).toBe('tariffs_summary')
    }
    await typed(0.2)
    await flow.submit('provider_select', { provider: { id: firstId } })
    await logIn(token)
    const [fetched] = await tariffsOf(call)
    expect(fetched).toMatchObject({ connection_type: 'DIRECT' })
    service().clock.at += hour
    await typed(0.3)
    const { rows } = await sql<{ voided: boolean }>`
      select voided_at is not null as voided from tariffs where account_id = ${accountId} and id = ${fetched?.['id']}`.execute(
      service().database.operator,
    )
    expect(rows).toEqual([{ voided: false }])
  })

  it('completes its session, however late it comes', async () => {
    const { call, token } = await begin()
    provider().reply = 'never'
    await logIn(token)
    for (let day = 0; day < 3; day += 1) {
      service().clock.at += 24 * hour
      await service().turn()
    }
    provider().reply = { status: 200, body: providerPlan(0.2455) }
    service().clock.at += 24 * hour
    while (await service().turn());
    expect(await completed(call)).toHaveLength(1)
  })
})

describe('work that cannot be done', () => {
  it('keeps no other waiting', async () => {
    const { call, accountId, token } = await begin()
    provider().reply = 'never'
    await logIn(token)
    const [waiting] = await kept(accountId)
    if (waiting === undefined) throw new Error('nothing is kept')
    const tenant = { accountId, liveMode: false }
    await withTenant(service().database, tenant, async transaction => {
      const session = await retrieveSession(transaction, waiting.sessionId)
      if (session === null) throw new Error('there is no session')
      for (let number = 0; number < 20; number += 1) {
        const done: Partial<StoredSession> = {
          completeAction: 'SAVE',
          completedAt: service().clock.at,
          expiresAt: service().clock.at + 1e9,
        }
        await createSession(transaction, { ...session, ...done, id: `unpriced-${number}` })
        const nothing = { referenceId: null, tariffId: null, fetchedAt: null, failingSince: null, failureToldAt: null, locationId: null }
        const broken = { ...waiting, ...nothing, providerId: firstId, direction: 'IMPORT', type: 'COMMODITY' } as const
        await putCredentials(transaction, { ...broken, id: `aut_${number}`, sealed: 'broken', consentedAt: 1, dueAt: 1, createdAt: 1 })
      }
    })
    provider().reply = { status: 200, body: providerPlan(0.2455) }
    service().clock.at += hour
    expect(await service().turn()).toBe(true)
    expect(await tariffsOf(call)).toEqual([])
    await service().turn()
    expect(await tariffsOf(call)).toMatchObject([{ connection_type: 'DIRECT' }])
    expect(await completed(call)).toHaveLength(1)
    const { operator } = service().database
    await sql`update connect_sessions set announced_at = null, completed_at = completed_at + interval '1 hour' where id = ${waiting.sessionId}`.execute(
      operator,
    )
    await service().turn()
    expect(await completed(call)).toHaveLength(2)
  })
})
