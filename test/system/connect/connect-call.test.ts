import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import {
  apiVersions,
  connectFixture,
  goToRate,
  goToStructure,
  retrieve,
  routesOf,
} from '../../support/connect/connect-fixture.ts'
import { caller } from '../../support/registry/service.ts'

const { begin, service } = connectFixture()
const unknown = `cot_${'0'.repeat(32)}`
const mediaTypes = ['application/json', 'text/plain;charset=UTF-8', 'application/x-www-form-urlencoded']

describe('the Connect call', () => {
  const raw = (body: string, headers: Readonly<Record<string, string>> = {}) =>
    caller(service().app, headers)('POST', '/connect', body)

  it('answers every error as JSON that pages of any origin can read', async () => {
    for (const [body, code, status] of [
      ['', 'body_invalid', 400],
      ['[]', 'body_invalid', 400],
      ['{"route":"session_start"}', 'connect_token_missing', 400],
      ['{"connect_token":"x","route":"session_start"}', 'connect_token_invalid', 400],
      [`{"connect_token":"${unknown}","route":"session_start"}`, 'connect_token_invalid', 400],
      [`{"connect_token":"${unknown}","route":"session_restore"}`, 'connect_token_invalid', 409],
    ] as const) {
      for (const type of mediaTypes) {
        const answer = await raw(body, { 'content-type': type, authorization: 'Bearer nonsense' })
        expect([answer.status, answer.body['code'], answer.headers.get('access-control-allow-origin')], body).toEqual([
          status,
          code,
          '*',
        ])
        expect(answer.headers.get('content-type')).toContain('application/json')
        expect(answer.body).toMatchObject({
          object: 'error',
          message: expect.stringMatching(/.+/),
          request_id: expect.any(String),
        })
      }
    }
  })

  it('has CORS headers also if it is refused before the call is read', async () => {
    for (const answer of [
      await raw(`{"a":"${'x'.repeat(1_100_000)}"}`),
      await service().app.request('/connect', {
        method: 'POST',
        body: gzipSync('{}'),
        headers: { 'content-encoding': 'br' },
      }),
      await service().app.request('/connect', { method: 'DELETE' }),
      await caller(service().app, { 'api-version': 'tomorrow' })('POST', '/connect', {}),
    ]) {
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    }
    expect((await raw(`{"a":"${'x'.repeat(1_100_000)}"}`)).body).toMatchObject({
      context: 'connect.session',
      code: 'body_too_large',
    })
  })

  it.each(apiVersions)(
    'accepts any media type, unknown members and an Authorization header, in the %s API version',
    async apiVersion => {
      const { token } = await begin(apiVersion)
      for (const type of mediaTypes) {
        const body = { connect_token: token, route: 'session_start', type: 'submit', more: { of: ['it'] } }
        const answer = await raw(JSON.stringify(body), { 'content-type': type, authorization: 'Bearer nonsense' })
        expect(answer).toMatchObject({ status: 200, body: { connect_token: token, route: 'postal_address_capture' } })
      }
    },
  )

  it('ignores a query, such as the query of the redirect from a provider', async () => {
    const { token } = await begin('current')
    const start = caller(service().app, {})
    for (const query of [`?fp_cot=${token}`, '?a=1&a=2', '?connect_token=x&%', '?']) {
      const answer = await start('POST', `/connect${query}`, { connect_token: token, route: 'session_start' })
      expect(answer, query).toMatchObject({
        status: 200,
        body: { connect_token: token, route: 'postal_address_capture' },
      })
      expect((await start('POST', `/connect${query}`, '{')).body, query).toMatchObject({ code: 'body_invalid' })
    }
  })

  it('answers a preflight at every configured path, with and without a slash at the end', async () => {
    const { token } = await begin('current')
    for (const path of ['/connect', '/connect/', '/flow/here', '/flow/here/']) {
      const reply = await service().app.request(path, {
        method: 'OPTIONS',
        headers: {
          origin: 'https://page.example.com',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type',
        },
      })
      expect([reply.status, reply.headers.get('access-control-allow-origin')], path).toEqual([204, '*'])
      expect(reply.headers.get('access-control-allow-methods')).toContain('POST')
      expect(reply.headers.get('access-control-allow-headers')).toContain('Content-Type')
      const answer = await caller(service().app, {})('POST', path, { connect_token: token, route: 'session_start' })
      expect([answer.body['route'], answer.headers.get('access-control-allow-origin')], path).toEqual([
        'postal_address_capture',
        '*',
      ])
    }
  })

  it('lists the methods of its page and of the call if another method is used', async () => {
    for (const path of ['/connect', '/flow/here']) {
      const answer = await service().app.request(path, { method: 'DELETE' })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST'])
      for (const method of ['GET', 'HEAD']) expect((await service().app.request(path, { method })).status).toBe(200)
    }
  })

  it('serves pages without resources of other hosts, at every configured path', async () => {
    for (const [path, files] of [
      ['/connect', '"connect/page/'],
      ['/connect/', '"page/'],
      ['/flow/here', '"here/page/'],
    ] as const) {
      // The page of a session, and the page for people who open the address without a link.
      for (const [query, ownFiles] of [
        ['?fp_cot=x', ['connect.css', 'start.js']],
        ['', ['connect.css']],
      ] as const) {
        const page = await service().app.request(path + query)
        const text = await page.text()
        expect(page.headers.get('content-security-policy')).toMatch(
          /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'/,
        )
        expect(page.headers.get('referrer-policy')).toBe('no-referrer')
        expect(text).not.toMatch(/https?:\/\/|<script>|style=/)
        const resources = [...text.matchAll(/(?:src|href)="([^"?]+\.\w+)"/g)].map(([, address = '']) => address)
        expect(resources, path + query).toEqual(ownFiles.map(file => `${files}${file}`.slice(1)))
        for (const address of resources) {
          const file = await service().app.request(new URL(address, `http://host${path}${query}`).pathname)
          expect(file.headers.get('content-type')).toContain(address.endsWith('.js') ? 'text/javascript' : 'text/css')
        }
      }
    }
  })

  it('uses the API version of the token for every call', async () => {
    const { flow } = await begin('earlier')
    const page = await flow.post({ connect_token: flow.token, route: 'session_start' }, { 'api-version': '2025-09-14' })
    expect(page.body['direction']).toBe('IMPORT')
    expect(page.headers.get('api-version')).toBe('2024-08-24')
    const { flow: current } = await begin('current')
    const restored = await current.post(
      { connect_token: current.token, route: 'session_restore' },
      { 'api-version': '2024-08-24' },
    )
    expect(restored.body['direction']).toBeUndefined()
  })

  it.each(apiVersions)(
    'accepts page names of both API versions and answers in the version of the session, in the %s API version',
    async apiVersion => {
      const { surcharge, summary } = routesOf(apiVersion)
      for (const route of ['surcharge_capture', 'market_surcharge_capture']) {
        // In the current API version the surcharge completes the session, whose token is then read-only. Each name has
        // its own session.
        const { flow } = await begin(apiVersion, { route_options: {} })
        expect((await goToRate(flow, 'MARKET')).route).toBe(surcharge)
        expect((await flow.submit(route, { surcharge: { fixed: 0.01, percentage: 0 } })).route).toBe(summary)
        for (const shown of ['tariffs_summary', 'tariff_summary', 'summary_tou_confirm', 'summary_fixed_confirm'])
          expect(await flow.submit(shown, {})).toMatchObject({ code: 'action_missing' })
      }
    },
  )

  it('is refused after 24 h, for the person and for the caller', async () => {
    const { flow, call, token } = await begin('current')
    await goToStructure(flow)
    const { clock } = service()
    const made = clock.at
    try {
      clock.at = made + 86_400_000 - 1
      expect(await flow.submit('session_start')).toMatchObject({ status: 200 })
      expect((await retrieve(call, 'current', token)).body['code']).toBe('pending_connect')
      clock.at = made + 86_400_000
      expect(await flow.submit('session_start')).toMatchObject({
        status: 400,
        code: 'connect_token_invalid',
        body: { connect_token: token },
      })
      expect((await retrieve(call, 'current', token)).status).toBe(404)
    } finally {
      clock.at = made
    }
  })
})
