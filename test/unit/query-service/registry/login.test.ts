import sql from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import { updateAccount } from '../../../../services/platform/postgres/registry/accounts.ts'
import { revokeApiKey } from '../../../../services/platform/postgres/registry/api-keys.ts'
import { operatorKey } from '../../../support/http/http-access.ts'
import {
  type Answer,
  type Client,
  caller,
  idOf,
  makeAccount,
  openService,
  useService,
} from '../../../support/registry/service.ts'

const service = await useService()
const { live, test } = await makeAccount(service)
const stranger = (await makeAccount(service)).live

/** Return the body of an answer without the members that identify the request. */
const said = ({ status, body }: Answer) => ({ status, ...body, request_id: '', time_created: '' })

describe('login', () => {
  it('returns a token for 1 h by GET and POST, in the mode of the key', async () => {
    for (const [client, liveMode] of [
      [live, true],
      [test, false],
    ] as const) {
      for (const method of ['GET', 'POST']) {
        const { status, body, headers } = await caller(service.app, { authorization: client.basic })(method, '/login')
        expect({ status, body }).toMatchObject({ status: 200, body: { expires_in: 3_600, live_mode: liveMode } })
        expect(headers.get('cache-control')).toBe('no-store')
      }
    }
  })

  it('uses the default version of the account if Api-Version is absent', async () => {
    const { live: early } = await makeAccount(service)
    await updateAccount(service.database.operator, early.accountId, { defaultApiVersion: 'earlier' })
    for (const [client, version] of [
      [live, '2025-09-14'],
      [early, '2024-08-24'],
    ] as const) {
      const send = async (more: Readonly<Record<string, string>>) =>
        (await caller(service.app, { authorization: client.basic, ...more })('GET', '/login')).headers.get(
          'api-version',
        )
      expect(await send({})).toBe(version)
      expect(await send({ 'api-version': '2024-08-24' })).toBe('2024-08-24')
    }
  })

  it('answers a wrong key, an unknown account and a key of another account with the same error', async () => {
    const [account, key = ''] = atob(live.basic.slice(6)).split(':')
    const wrong = [
      `${account}:sk_live_${'0'.repeat(48)}`,
      `acc_unknown:${key}`,
      `${stranger.accountId}:${key}`,
      `${account}:${key}x`,
    ]
    const answers = await Promise.all(
      wrong.map(text => caller(service.app, { authorization: `Basic ${btoa(text)}` })('GET', '/login')),
    )
    for (const answer of answers) {
      expect(said(answer)).toEqual({ ...said(answers[0] ?? answer), status: 401, code: 'bad_credentials' })
      expect(answer.headers.get('www-authenticate')).toContain('Basic')
    }
  })
})

describe('an API key', () => {
  it('authenticates API requests in its mode, as bearer and as Basic with its account', async () => {
    for (const [client, liveMode] of [
      [live, true],
      [test, false],
    ] as const) {
      const key = atob(client.basic.slice(6)).split(':')[1]
      for (const authorization of [`Bearer ${key}`, client.basic]) {
        const { body } = await caller(service.app, { authorization })('GET', '/account')
        expect(body).toMatchObject({ id: client.accountId, live_mode: liveMode })
      }
    }
  })

  it('appears in the audit log with its changes', async () => {
    const { body } = await caller(service.app, { authorization: live.basic })('POST', '/webhooks', {
      url: 'https://1.1.1.1/hooks',
      event_types: ['*'],
    })
    const { rows } = await service.database.operator<{ actor: string }>(
      sql`select actor from audit_log where object_id = ${body['id']}`,
    )
    expect(rows).toEqual([{ actor: live.keyId }])
  })

  it('is refused within 60 s of its revocation, and with a clear error if its account is disabled', async () => {
    let clock = Date.UTC(2026, 0, 1)
    const timed = openService(service.database, () => clock)
    const { live: ending, test: waiting } = await makeAccount(timed)
    const ask = async (client: Client) => {
      const { status, body } = await caller(timed.app, { authorization: client.basic })('GET', '/account')
      return [status, body['code']]
    }
    expect([await ask(ending), await ask(waiting)]).toEqual([
      [200, undefined],
      [200, undefined],
    ])
    await revokeApiKey(service.database.operator, { accountId: ending.accountId, liveMode: true }, ending.keyId, clock)
    await updateAccount(service.database.operator, ending.accountId, { disabledAt: clock })
    clock += 60_000
    expect([await ask(ending), await ask(waiting)]).toEqual([
      [401, 'bad_credentials'],
      [403, 'account_disabled'],
    ])
  })
})

describe('a token', () => {
  it('is refused within 60 s after its key, and does not work again after its account is enabled', async () => {
    let clock = Date.UTC(2026, 0, 1)
    const timed = openService(service.database, () => clock)
    const { live: ending, test: waiting } = await makeAccount(timed)
    const codeOf = async (client: Client) => (await client.call('GET', '/account')).body['code']
    expect([await codeOf(ending), await codeOf(waiting)]).toEqual([undefined, undefined])
    await revokeApiKey(service.database.operator, { accountId: ending.accountId, liveMode: true }, ending.keyId, clock)
    await updateAccount(service.database.operator, ending.accountId, { disabledAt: clock })
    clock += 60_000
    expect([await codeOf(ending), await codeOf(waiting)]).toEqual(['bad_credentials', 'account_disabled'])
    const logIn = (client: Client) => caller(timed.app, { authorization: client.basic })('GET', '/login')
    expect([(await logIn(ending)).body['code'], (await logIn(waiting)).body['code']]).toEqual([
      'bad_credentials',
      'account_disabled',
    ])
    await updateAccount(service.database.operator, ending.accountId, { disabledAt: null })
    clock += 60_000
    expect(await codeOf(waiting)).toBe('bad_credentials')
    const { body } = await logIn(waiting)
    const again = caller(timed.app, { authorization: `Bearer ${body['bearer_token']}` })
    expect((await again('GET', '/account')).status).toBe(200)
    expect((await caller(timed.app, { authorization: waiting.basic })('GET', '/account')).status).toBe(200)
  })
})

describe('the operator', () => {
  it('owns market sources that each account can use and no account can change', async () => {
    const operator = caller(service.app, { 'x-operator-key': operatorKey })
    const shared = await idOf(
      await operator('POST', '/markets', { display_name: 'EPEX AT', currency_code: 'EUR', area: 'AT' }),
    )
    expect((await live.call('GET', `/markets/${shared}`)).body).toMatchObject({
      id: shared,
      account_id: null,
      area: 'AT',
      live_mode: true,
    })
    expect((await test.call('GET', `/markets/${shared}`)).body).toMatchObject({ live_mode: false })
    expect((await live.call('DELETE', `/markets/${shared}`)).status).toBe(404)
    const vienna = { postal_address: { city: 'Wien', country_code: 'AT' } }
    const location = (await live.call('POST', '/locations', vienna)).body
    expect(location).toMatchObject({
      timezone: 'Europe/Vienna',
      currency_code: 'EUR',
      market_sources: { import: shared, export: shared },
    })
    expect(await operator('DELETE', `/markets/${shared}`)).toMatchObject({
      status: 400,
      body: { code: 'market_in_use' },
    })
    expect((await caller(service.app, { 'x-operator-key': `${operatorKey}x` })('GET', '/markets')).status).toBe(401)
  })
})
