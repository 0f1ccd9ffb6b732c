import { describe, expect, it } from 'vitest'
import { wrongKeyThrottle } from '../../../../services/platform/http/wrong-keys.ts'
import { send, type TestApp, testApp } from '../../../support/http/http-app.ts'

const basic = (account: string, key: string) => `Basic ${Buffer.from(`${account}:${key}`).toString('base64')}`

type App = TestApp['app']

const login = (app: App, account: string, key: string, peer = '203.0.113.7', headers: Record<string, string> = {}) =>
  send(app, 'GET', '/login', { token: null, headers: { authorization: basic(account, key), ...headers }, peer })

describe('a login', () => {
  it('returns a token for a correct key', async () => {
    expect((await login(testApp().app, 'acc_1', 'right')).json).toEqual({ bearer_token: 'all', key: 'key_1' })
  })

  it('with a wrong key is refused with one text', async () => {
    expect((await login(testApp().app, 'acc_1', 'wrong')).json).toMatchObject({
      code: 'bad_credentials',
      message: 'The account id or the API key is wrong.',
    })
  })

  it.each([
    'Basic',
    'Basic !',
    `Basic ${btoa('only')}`,
    `Basic ${btoa(':key')}`,
    `Basic ${btoa('acc:')}`,
    `Basic ${btoa('a:b:c')}`,
  ])('with %s is refused', async authorization => {
    expect((await send(testApp().app, 'GET', '/login', { token: null, headers: { authorization } })).status).toBe(401)
  })

  it('accepts no bearer token', async () => {
    for (const token of ['all', 'sk_right'])
      expect((await send(testApp().app, 'GET', '/login', { token })).status).toBe(401)
  })
})

describe('wrong keys', () => {
  it('of one peer for one account: ten per minute get 401, the eleventh gets 429; a correct key always works', async () => {
    const { app } = testApp()
    for (let index = 0; index < 10; index += 1) expect((await login(app, 'acc_1', 'wrong')).status).toBe(401)
    const refused = await login(app, 'acc_1', 'wrong')
    expect(refused).toMatchObject({ status: 429, json: { type: 'rate_limit', code: 'rate_limited' } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50)
    expect(refused.headers.get('ratelimit-remaining')).toBe('0')
    for (let index = 0; index < 20; index += 1) expect((await login(app, 'acc_1', 'right')).status).toBe(200)
    expect((await login(app, 'acc_1', 'wrong', '203.0.113.8')).status).toBe(401)
    expect((await login(app, 'acc_2', 'wrong')).status).toBe(401)
  })

  it('of one peer over many accounts: sixty per minute get 401, the next gets 429, for each kind of credentials', async () => {
    const { app } = testApp()
    const statuses: number[] = []
    const ways = [
      (index: number) => login(app, `acc_${index}`, 'wrong'),
      (index: number) => send(app, 'GET', '/things/a', { token: `sk_${index}`, peer: '203.0.113.7' }),
      (index: number) =>
        send(app, 'GET', '/things/a', {
          token: null,
          headers: { authorization: basic(`acc_${index}`, 'w') },
          peer: '203.0.113.7',
        }),
      () => send(app, 'DELETE', '/sources/a', { headers: { 'x-operator-key': 'wrong' }, peer: '203.0.113.7' }),
    ]
    for (let index = 0; index < 60; index += 1)
      statuses.push((await (ways[index % ways.length] ?? ways[0])?.(index))?.status ?? 0)
    expect(new Set(statuses)).toEqual(new Set([401]))
    for (const way of ways) expect((await way(99)).status).toBe(429)
    expect((await login(app, 'acc_1', 'right')).status).toBe(200)
    expect((await send(app, 'GET', '/things/a', { token: 'sk_right', peer: '203.0.113.7' })).status).toBe(200)
    expect(
      (
        await send(app, 'DELETE', '/sources/a', {
          headers: { 'x-operator-key': 'operator-secret' },
          peer: '203.0.113.7',
        })
      ).status,
    ).toBe(200)
    expect((await login(app, 'acc_1', 'wrong', '203.0.113.8')).status).toBe(401)
  })

  it('are counted by the address that a trusted proxy names, and by no other', async () => {
    const { app } = testApp({ trustedProxies: ['10.0.0.0/8'] })
    const from = (address: string, proxy = '10.0.0.1') =>
      login(app, 'acc_1', 'wrong', proxy, { 'x-forwarded-for': address })
    for (let index = 0; index < 10; index += 1) expect((await from('198.51.100.1', `10.0.0.${index}`)).status).toBe(401)
    expect([(await from('198.51.100.1')).status, (await from('198.51.100.2')).status]).toEqual([429, 401])
    for (let index = 0; index < 10; index += 1) await from(`198.51.100.${index + 10}`, '203.0.113.9')
    expect((await from('198.51.100.99', '203.0.113.9')).status).toBe(429)
  })

  it('of many peers and accounts use a fixed number of counters', async () => {
    const note = wrongKeyThrottle({ perPeer: 1, perAccountAndPeer: 1 })
    let answered = 0
    for (let index = 0; index < 40_000; index += 1) answered += (await note(`peer ${index}`, null)).isAllowed ? 1 : 0
    // Each counter lets one through, so no more counters were made than that.
    expect(answered).toBeGreaterThan(10_000)
    expect(answered).toBeLessThanOrEqual(16_384)
  })
})

describe('an API key sent directly', () => {
  it.each([
    ['as bearer', (key: string) => `Bearer ${key}`],
    ['with its account as Basic', (key: string) => basic('acc_1', key)],
  ])('%s has its scope and mode, and no more', async (_, authorization) => {
    const { app } = testApp()
    const status = async (key: string, method: string, path: string, body?: unknown) =>
      (await send(app, method, path, { token: null, headers: { authorization: authorization(key) }, body })).status
    expect(await status('sk_right', 'DELETE', '/things/a')).toBe(202)
    expect(await status('sk_read', 'GET', '/things/a')).toBe(200)
    expect(await status('sk_read', 'DELETE', '/things/a')).toBe(403)
    expect(await status('sk_metering', 'GET', '/things/a')).toBe(403)
    expect(await status('sk_metering', 'PUT', '/meters/interval', '[]')).toBe(200)
    expect(await status('sk_none', 'GET', '/things/a')).toBe(401)
  })

  it('as Basic needs the account of the key', async () => {
    const { app } = testApp()
    expect(
      (await send(app, 'GET', '/things/a', { token: null, headers: { authorization: basic('acc_1', 'sk_other') } }))
        .status,
    ).toBe(401)
    expect(
      (await send(app, 'GET', '/things/a', { token: null, headers: { authorization: basic('acc_2', 'sk_other') } }))
        .status,
    ).toBe(200)
  })

  it('that is wrong is never answered with a Basic challenge, except by the login', async () => {
    const { app } = testApp()
    for (const authorization of [undefined, 'Bearer wrong', 'Bearer sk_wrong', basic('acc_1', 'wrong'), 'Basic !']) {
      const headers = authorization === undefined ? {} : { authorization }
      const api = await send(app, 'GET', '/things/a', { token: null, headers })
      expect([api.status, api.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="wattledger"'])
      const own = await send(app, 'GET', '/login', { token: null, headers })
      expect([own.status, own.headers.get('www-authenticate')]).toEqual([
        401,
        'Basic realm="wattledger", charset="UTF-8"',
      ])
    }
  })

  it('is ignored by operations that need no key', async () => {
    const { app } = testApp()
    expect((await send(app, 'POST', '/flow', { token: 'sk_wrong', body: '{}' })).status).toBe(200)
  })
})

describe('every answer', () => {
  it('has X-Content-Type-Options: nosniff', async () => {
    const { app } = testApp()
    for (const [method, path] of [
      ['GET', '/things/a'],
      ['GET', '/things/none'],
      ['GET', '/nowhere'],
      ['GET', '/login'],
      ['GET', '/health/live'],
      ['GET', '/docs/a'],
      ['OPTIONS', '/flow'],
      ['GET', '/trouble/fault'],
    ] as const) {
      expect([path, (await send(app, method, path)).headers.get('x-content-type-options')]).toEqual([path, 'nosniff'])
    }
  })
})
