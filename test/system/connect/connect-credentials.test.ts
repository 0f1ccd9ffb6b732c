import sql from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import {
  createConnectSession,
  retrieveConnectSession,
  type StoredSession,
} from '../../../services/connect/postgres/connect-sessions.ts'
import { putCredentials, type TariffCredentials } from '../../../services/connect/postgres/tariff-credentials.ts'
import { withTenant } from '../../../services/platform/postgres/transaction.ts'
import {
  completed,
  directId,
  locationOf,
  loginFixture,
  otherDirectId,
  tariffsOf,
} from '../../support/connect/connect-fixture.ts'
import { providerPlan } from '../../support/connect/provider-app.ts'

const { openAtLogin, logIn, post, provider, service, startAtLogin, openSession: visitAs } = loginFixture()
const hourMs = 3_600_000

const edit = { actions: { edit_tariff: true } }
const choice = { status: 200, body: { accounts: [{ id: 'a', name: 'Home' }] } }
const savedCredentials = async (accountId: string): Promise<readonly TariffCredentials[]> => {
  const { rows } = await service().database.operator<TariffCredentials>(sql`
    select account_id as "accountId", live_mode as "liveMode", id, session_id as "sessionId", sealed, fetched_at as "fetchedAt"
    from tariff_credentials where account_id = ${accountId} order by time_created`)
  return rows
}

describe('the data that a person enters in the app of a provider', () => {
  it('is sent only to the provider that it was entered for', async () => {
    const { token, flow } = await startAtLogin()
    const asks = await post({ connect_token: token, route: 'auth_metadata_capture', data: { user: 'ann' } })
    await flow.submit('provider_select', { provider: { id: otherDirectId } })
    const requestCount = provider().requests.length
    const data = { auth_metadata_id: asks.data['auth_metadata_id'], consent_given: true }
    const answer = await post({ connect_token: token, route: 'consent_capture', data })
    expect(answer.text).toContain('auth_metadata_invalid')
    expect(provider().requests).toHaveLength(requestCount)
  })

  it('replaces the earlier data of the session, and may be long', async () => {
    const { token, accountId } = await startAtLogin()
    const form = { connect_token: token, route: 'auth_metadata_capture', data: { user: 'x'.repeat(300_000) } }
    for (let again = 0; again < 3; again += 1) expect((await post(form)).route).toBe('consent_capture')
    expect(await savedCredentials(accountId)).toHaveLength(1)
  })

  it('does not end working credentials before it works', async () => {
    const { call, accountId, token } = await startAtLogin()
    await logIn(token)
    const [working] = await savedCredentials(accountId)
    const again = await openAtLogin(call, edit)
    provider().reply = 'never'
    await logIn(again.token)
    expect((await again.flow.submit('session_start')).route).toBe('tariff_connection_pending')
    expect((await savedCredentials(accountId)).map(({ id }) => id)).toContain(working?.id)
    const visited = await visitAs(call, 'current', { location_id: (await locationOf(call))['id'] })
    expect((await visited.submit('session_start')).route).toBe('tariffs_summary')
    provider().reply = { status: 200, body: providerPlan(0.31) }
    service().clock.at += hourMs
    await service().turn()
    expect(await savedCredentials(accountId)).toMatchObject([
      { sessionId: expect.not.stringMatching(`^${working?.sessionId}$`) },
    ])
  })

  it.each([{ action: 'DISCONNECT' }, { action: 'DISMISS_DIRECT', route: 'multiple_available_tariffs' }])(
    'is deleted by $action before an account is chosen; the earlier tariff remains',
    async action => {
      const { call, token, accountId } = await startAtLogin()
      await logIn(token)
      const before = [await tariffsOf(call), await savedCredentials(accountId)]
      const again = await openAtLogin(call, edit)
      provider().reply = choice
      expect((await logIn(again.token)).route).toBe('multiple_available_tariffs')
      expect((await post({ connect_token: again.token, ...action })).route).toBe('session_redirect')
      expect([await tariffsOf(call), await savedCredentials(accountId)]).toEqual(before)
    },
  )
})

describe('credentials', () => {
  it('are stored encrypted, are in no answer, and are deleted with their tariff', async () => {
    const { call, token, accountId } = await startAtLogin()
    const answers = [await logIn(token)]
    const sealed = await savedCredentials(accountId)
    expect(sealed).toHaveLength(1)
    expect(answers.map(({ text }) => text).join()).not.toContain('canary-secret')
    expect(JSON.stringify(service().logged)).not.toContain('canary-secret')
    const [tariff] = await tariffsOf(call)
    await call('DELETE', `/tariffs/${tariff?.['id']}`)
    expect(await savedCredentials(accountId)).toEqual([])
  })

  it('are deleted by DISCONNECT, and if prices are entered manually', async () => {
    const one = await startAtLogin('current', edit)
    await logIn(one.token)
    await one.flow.submit('session_start')
    await one.flow.act('DISCONNECT')
    expect(await savedCredentials(one.accountId)).toEqual([])
    const two = await startAtLogin('current', edit)
    await logIn(two.token)
    await two.flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
    await two.flow.submit('tariff_structure_select', { options: ['FIXED'] })
    await two.flow.submit('rate_fixed_capture', { cost: 0.2 })
    expect(await savedCredentials(two.accountId)).toEqual([])
    expect(await tariffsOf(two.call)).toMatchObject([{ connection_type: 'MANUAL' }])
  })

  it('contain the latest code after any number of requests for a code', async () => {
    const { token, accountId } = await startAtLogin()
    provider().reply = 'never'
    const asks = await post({
      connect_token: token,
      route: 'auth_metadata_capture',
      data: { user: 'ann', pin: 12345678901234567890n.toString() },
    })
    const id = asks.data['auth_metadata_id']
    await post({ connect_token: token, route: 'consent_capture', data: { auth_metadata_id: id, consent_given: true } })
    for (const code of ['1', '2', '3'])
      await post({
        connect_token: token,
        route: 'mfa_capture',
        data: { auth_metadata_id: id, code: code.repeat(1_000) },
      })
    expect(provider().requests.at(-1)).toEqual({
      auth_metadata: { data: { user: 'ann', pin: '12345678901234567890', code: '3'.repeat(1_000) } },
    })
    const [one] = await savedCredentials(accountId)
    expect(one?.sealed.length).toBeLessThan(2_000)
    const much = (name: string) => ({ auth_metadata_id: id, [name]: 'x'.repeat(900_000) })
    await post({ connect_token: token, route: 'mfa_capture', data: much('a') })
    expect(await post({ connect_token: token, route: 'mfa_capture', data: much('b') })).toMatchObject({
      status: 400,
      text: expect.stringContaining('auth_metadata_invalid'),
    })
  })
})

describe('a tariff that a provider delivered', () => {
  it('is saved, and replaced if the person enters another tariff in the same session', async () => {
    const { call, accountId, flow, token } = await startAtLogin('current', edit)
    const typed = async (cost: number) => {
      await flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
      await flow.submit('tariff_structure_select', { options: ['FIXED'] })
      expect((await flow.submit('rate_fixed_capture', { cost })).route).toBe('tariffs_summary')
    }
    await typed(0.2)
    await flow.submit('provider_select', { provider: { id: directId } })
    await logIn(token)
    const [fetched] = await tariffsOf(call)
    expect(fetched).toMatchObject({ connection_type: 'DIRECT' })
    service().clock.at += hourMs
    await typed(0.3)
    const { rows } = await service().database.operator<{ voided: boolean }>(sql`
      select voided_at is not null as voided from tariffs where account_id = ${accountId} and id = ${fetched?.['id']}`)
    expect(rows).toEqual([{ voided: true }])
    expect(await tariffsOf(call)).toMatchObject([{ connection_type: 'MANUAL' }])
  })

  it('completes its session, even after a long time', async () => {
    const { call, token } = await startAtLogin()
    provider().reply = 'never'
    await logIn(token)
    for (let day = 0; day < 3; day += 1) {
      service().clock.at += 24 * hourMs
      await service().turn()
    }
    provider().reply = { status: 200, body: providerPlan(0.2455) }
    service().clock.at += 24 * hourMs
    while (await service().turn());
    expect(await completed(call)).toHaveLength(1)
  })
})

describe('work that cannot be done', () => {
  it('does not delay other work', async () => {
    const { call, accountId, token } = await startAtLogin()
    provider().reply = 'never'
    await logIn(token)
    const [waiting] = await savedCredentials(accountId)
    if (waiting === undefined) throw new Error('nothing is kept')
    const tenant = { accountId, liveMode: false }
    await withTenant(service().database, tenant, async transaction => {
      const session = await retrieveConnectSession(transaction, waiting.sessionId)
      if (session === null) throw new Error('there is no session')
      for (let number = 0; number < 20; number += 1) {
        const done: Partial<StoredSession> = {
          completeAction: 'SAVE',
          completedAt: service().clock.at,
          expiresAt: service().clock.at + 1e9,
        }
        await createConnectSession(transaction, {
          ...session,
          ...done,
          id: `unpriced-${number}`,
          sessionId: `fps_${number}`,
        })
        const nothing = {
          referenceId: null,
          tariffId: null,
          fetchedAt: null,
          failingSince: null,
          failureReportedAt: null,
          locationId: null,
        }
        const broken = { ...waiting, ...nothing, providerId: directId, direction: 'IMPORT', type: 'COMMODITY' } as const
        await putCredentials(transaction, {
          ...broken,
          id: `aut_${number}`,
          sealed: 'broken',
          consentedAt: 1,
          dueAt: 1,
          createdAt: 1,
        })
      }
    })
    provider().reply = { status: 200, body: providerPlan(0.2455) }
    service().clock.at += hourMs
    expect(await service().turn()).toBe(true)
    expect(await tariffsOf(call)).toEqual([])
    await service().turn()
    expect(await tariffsOf(call)).toMatchObject([{ connection_type: 'DIRECT' }])
    expect(await completed(call)).toHaveLength(1)
    const { operator } = service().database
    await operator(
      sql`update connect_sessions set announced_at = null, completed_at = completed_at + interval '1 hour' where id = ${waiting.sessionId}`,
    )
    await service().turn()
    expect(await completed(call)).toHaveLength(2)
  })
})
