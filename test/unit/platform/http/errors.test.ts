import { describe, expect, it } from 'vitest'
import { type ErrorCase, expectError } from '../../../support/http/error-case.ts'
import { send, testApp } from '../../../support/http/http-app.ts'

const cases: readonly ErrorCase[] = [
  {
    title: 'an unknown path',
    request: ['GET', '/nothing', { token: null }],
    status: 404,
    code: 'not_found',
    context: 'api.path_find',
  },
  {
    title: 'a path with two slashes at its end',
    request: ['GET', '/things//', {}],
    status: 404,
    code: 'not_found',
    context: 'api.path_find',
  },
  {
    title: 'a page that is not there',
    request: ['GET', '/docs/none', { token: null }],
    status: 404,
    code: 'not_found',
    context: 'api.path_find',
  },
  {
    title: 'a wrong method',
    request: ['PUT', '/things', { token: null }],
    status: 405,
    code: 'method_not_allowed',
    context: 'api.path_find',
    headers: { allow: 'POST' },
  },
  {
    title: 'a wrong method where GET works',
    request: ['POST', '/things/a', {}],
    status: 405,
    code: 'method_not_allowed',
    context: 'api.path_find',
    headers: { allow: 'DELETE, GET, HEAD' },
  },
  {
    title: 'a wrong method on a page',
    request: ['POST', '/health/live', {}],
    status: 405,
    code: 'method_not_allowed',
    context: 'api.path_find',
    headers: { allow: 'GET, HEAD' },
  },
  {
    title: 'OPTIONS where scripts of other pages may not read',
    request: ['OPTIONS', '/things', {}],
    status: 405,
    code: 'method_not_allowed',
    context: 'api.path_find',
    headers: { 'access-control-allow-origin': null },
  },
  {
    title: 'an unknown version',
    request: ['GET', '/things/a', { headers: { 'api-version': '2023-01-01' } }],
    status: 422,
    code: 'api_version_not_supported',
    context: 'api.path_find',
    message: /2025-09-14 or 2024-08-24/,
  },
  {
    title: 'a path of the current API version requested in the earlier one',
    request: ['POST', '/prices/loc_1', { headers: { 'api-version': '2024-08-24' }, body: {} }],
    status: 404,
    code: 'not_found',
    context: 'api.path_find',
    message: /with 2024-08-24 use GET \/tariffs\/rates\/loc_1\./,
  },
  {
    title: 'a path of the earlier API version requested in the current one',
    request: ['GET', '/tariffs/rates/loc_1', { headers: { 'api-version': '2025-09-14' } }],
    status: 404,
    code: 'not_found',
    context: 'api.path_find',
    message: /with 2025-09-14 use POST \/prices\/loc_1\./,
  },
  {
    title: 'a store that is away',
    request: ['GET', '/trouble/away', {}],
    status: 503,
    code: 'unavailable',
    context: 'api.trouble_make',
    headers: { 'retry-after': '5' },
  },
  {
    title: 'a fault of the program',
    request: ['GET', '/trouble/bug', {}],
    status: 500,
    code: 'internal_error',
    context: 'api.trouble_make',
  },
  {
    title: 'a fault of a page',
    request: ['GET', '/docs/broken', {}],
    status: 500,
    code: 'internal_error',
    context: 'api.path_find',
  },
]

describe('an error', () => {
  it.each(cases)('$title is $status $code', expectError)

  it('contains the mode of a known caller, and the log has the cause', async () => {
    const { app, logged } = testApp()
    expect((await send(app, 'GET', '/trouble/bug', {})).json.live_mode).toBe(false)
    expect((await send(app, 'GET', '/trouble/bug', { token: null })).json).not.toHaveProperty('live_mode')
    expect(logged).toMatchObject([
      { request_id: 'req_1', context: 'api.trouble_make', err: { message: 'SECRET /etc/passwd' } },
    ])
  })

  it('of a Connect flow has its own context, token and API version, and allows CORS', async () => {
    const { app } = testApp()
    const refused = await send(app, 'POST', '/flow', {
      token: null,
      headers: { 'content-type': 'text/plain;charset=UTF-8' },
      body: '',
    })
    expect(refused.status).toBe(409)
    expect(refused.json).toMatchObject({ context: 'connect.session_start', connect_token: 'cot_1' })
    for (const answer of [
      refused,
      await send(app, 'GET', '/flow', { token: null }),
      await send(app, 'OPTIONS', '/flow', { token: null }),
    ]) {
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    }
  })

  it('is returned after a timeout', async () => {
    const { app } = testApp({ requestTimeoutMs: 30 })
    const answer = await send(app, 'GET', '/trouble/slow', {})
    expect(answer).toMatchObject({ status: 503, json: { code: 'unavailable' } })
    expect(answer.headers.get('retry-after')).toBe('5')
  })
})
