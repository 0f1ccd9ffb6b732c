import { describe, expect, it } from 'vitest'
import { send, testApp } from '../support/http-app.ts'

type Case = {
  readonly what: string
  readonly request: Parameters<typeof send> extends [unknown, ...infer Rest] ? Rest : never
  readonly status: number
  readonly code: string
  readonly context: string
  readonly headers?: Readonly<Record<string, string | null>>
  readonly message?: RegExp
}

const cases: readonly Case[] = [
  { what: 'an unknown path', request: ['GET', '/nothing', { token: null }], status: 404, code: 'not_found', context: 'api.path_find' },
  { what: 'a path with a slash too many', request: ['GET', '/things/', {}], status: 404, code: 'not_found', context: 'api.path_find' },
  {
    what: 'a page that is not there',
    request: ['GET', '/docs/none', { token: null }],
    status: 404,
    code: 'not_found',
    context: 'api.path_find',
  },
  {
    what: 'a wrong method',
    request: ['PUT', '/things', { token: null }],
    status: 405,
    code: 'method_not_allowed',
    context: 'api.path_find',
    headers: { allow: 'POST' },
  },
  {
    what: 'a wrong method where GET works',
    request: ['POST', '/things/a', {}],
    status: 405,
    code: 'method_not_allowed',
    context: 'api.path_find',
    headers: { allow: 'DELETE, GET, HEAD' },
  },
  {
    what: 'a wrong method on a page',
    request: ['POST', '/health/live', {}],
    status: 405,
    code: 'method_not_allowed',
    context: 'api.path_find',
    headers: { allow: 'GET, HEAD' },
  },
  {
    what: 'OPTIONS where scripts of other pages may not read',
    request: ['OPTIONS', '/things', {}],
    status: 405,
    code: 'method_not_allowed',
    context: 'api.path_find',
    headers: { 'access-control-allow-origin': null },
  },
  {
    what: 'no token',
    request: ['GET', '/things/a', { token: null }],
    status: 401,
    code: 'bad_credentials',
    context: 'api.thing_retrieve',
    headers: { 'www-authenticate': 'Bearer realm="wattledger"' },
  },
  {
    what: 'a wrong token',
    request: ['GET', '/things/a', { token: 'wrong' }],
    status: 401,
    code: 'bad_credentials',
    context: 'api.thing_retrieve',
    headers: { 'www-authenticate': 'Bearer realm="wattledger"' },
  },
  {
    what: 'an expired token',
    request: ['GET', '/things/a', { token: 'old' }],
    status: 401,
    code: 'token_expired',
    context: 'api.thing_retrieve',
    headers: { 'www-authenticate': 'Bearer realm="wattledger"' },
  },
  {
    what: 'Basic credentials where a token is due',
    request: ['GET', '/things/a', { token: null, headers: { authorization: 'Basic YTpi' } }],
    status: 401,
    code: 'bad_credentials',
    context: 'api.thing_retrieve',
  },
  {
    what: 'a token where Basic credentials are due',
    request: ['GET', '/login', {}],
    status: 401,
    code: 'bad_credentials',
    context: 'api.account_login',
    headers: { 'www-authenticate': 'Basic realm="wattledger", charset="UTF-8"' },
  },
  {
    what: 'a reading key that deletes',
    request: ['DELETE', '/things/a', { token: 'read' }],
    status: 403,
    code: 'insufficient_scope',
    context: 'api.thing_delete',
  },
  {
    what: 'a metering key that reads',
    request: ['GET', '/things/a', { token: 'metering' }],
    status: 403,
    code: 'insufficient_scope',
    context: 'api.thing_retrieve',
  },
  {
    what: 'a wrong operator key',
    request: ['DELETE', '/sources/a', { headers: { 'x-operator-key': 'wrong' } }],
    status: 401,
    code: 'bad_credentials',
    context: 'api.source_delete',
  },
  { what: 'an unknown id', request: ['GET', '/things/none', {}], status: 404, code: 'not_found', context: 'api.thing_retrieve' },
  { what: 'an id with NUL', request: ['GET', '/things/a%00', {}], status: 404, code: 'not_found', context: 'api.thing_retrieve' },
  {
    what: 'an id of 256 characters',
    request: ['GET', `/things/${'x'.repeat(256)}`, {}],
    status: 404,
    code: 'not_found',
    context: 'api.thing_retrieve',
  },
  {
    what: 'an unknown version',
    request: ['GET', '/things/a', { headers: { 'api-version': '2023-01-01' } }],
    status: 422,
    code: 'api_version_not_supported',
    context: 'api.path_find',
    message: /2025-09-14 or 2024-08-24/,
  },
  {
    what: 'a path of the current layout asked in the earlier one',
    request: ['POST', '/prices/loc_1', { headers: { 'api-version': '2024-08-24' }, body: {} }],
    status: 404,
    code: 'not_found',
    context: 'api.path_find',
    message: /with 2024-08-24 use GET \/tariffs\/rates\/loc_1\./,
  },
  {
    what: 'a path of the earlier layout asked in the current one',
    request: ['GET', '/tariffs/rates/loc_1', { headers: { 'api-version': '2025-09-14' } }],
    status: 404,
    code: 'not_found',
    context: 'api.path_find',
    message: /with 2025-09-14 use POST \/prices\/loc_1\./,
  },
  {
    what: 'no Content-Type',
    request: ['POST', '/things', { body: '{"name":"a"}', headers: { 'content-type': '' } }],
    status: 415,
    code: 'media_type_unsupported',
    context: 'api.thing_create',
  },
  {
    what: 'a form',
    request: ['POST', '/things', { body: 'name=a', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
    status: 415,
    code: 'media_type_unsupported',
    context: 'api.thing_create',
  },
  {
    what: 'a coding other than gzip',
    request: ['POST', '/things', { body: '{"name":"a"}', headers: { 'content-encoding': 'br' } }],
    status: 415,
    code: 'media_type_unsupported',
    context: 'api.thing_create',
  },
  {
    what: 'a body that is not gzip',
    request: ['POST', '/things', { body: '{"name":"a"}', headers: { 'content-encoding': 'gzip' } }],
    status: 400,
    code: 'body_invalid',
    context: 'api.thing_create',
  },
  {
    what: 'a body that is no JSON',
    request: ['POST', '/things', { body: '{"name":' }],
    status: 400,
    code: 'body_invalid',
    context: 'api.thing_create',
  },
  {
    what: 'a member twice',
    request: ['POST', '/things', { body: '{"name":"a","name":"b"}' }],
    status: 400,
    code: 'body_invalid',
    context: 'api.thing_create',
    message: /"name" twice/,
  },
  {
    what: 'an unknown field',
    request: ['POST', '/things', { body: { nam: 'a' } }],
    status: 400,
    code: 'unknown_field',
    context: 'api.thing_create',
    message: /did you mean name\?/,
  },
  {
    what: 'an unknown parameter',
    request: ['POST', '/things?lod=1', { body: { name: 'a' } }],
    status: 400,
    code: 'unknown_parameter',
    context: 'api.thing_create',
    message: /did you mean loud\?/,
  },
  {
    what: 'a parameter where none is known',
    request: ['GET', '/things/a?x=1', {}],
    status: 400,
    code: 'unknown_parameter',
    context: 'api.thing_retrieve',
  },
  {
    what: 'a parameter twice',
    request: ['POST', '/things?loud=1&loud=0', { body: { name: 'a' } }],
    status: 400,
    code: 'field_invalid',
    context: 'api.thing_create',
  },
  {
    what: 'a number out of range',
    request: ['POST', '/things', { body: '{"name":"a","count":1e400}' }],
    status: 400,
    code: 'value_out_of_range',
    context: 'api.thing_create',
  },
  {
    what: 'a validation error in the earlier layout',
    request: ['POST', '/things', { body: { name: 'refuse' }, headers: { 'api-version': '2024-08-24' } }],
    status: 409,
    code: 'reference_id_taken',
    context: 'api.thing_create',
    message: /^direction is taken\.$/,
  },
  {
    what: 'an Idempotency-Key of 256 characters',
    request: ['POST', '/things', { body: { name: 'a' }, headers: { 'idempotency-key': 'k'.repeat(256) } }],
    status: 400,
    code: 'header_invalid',
    context: 'api.thing_create',
  },
  {
    what: 'a store that is away',
    request: ['GET', '/trouble/away', {}],
    status: 503,
    code: 'unavailable',
    context: 'api.trouble_make',
    headers: { 'retry-after': '5' },
  },
  {
    what: 'a fault of the program',
    request: ['GET', '/trouble/bug', {}],
    status: 500,
    code: 'internal_error',
    context: 'api.trouble_make',
  },
  { what: 'a fault of a page', request: ['GET', '/docs/broken', {}], status: 500, code: 'internal_error', context: 'api.path_find' },
]

const members = ['object', 'type', 'code', 'message', 'field', 'live_mode', 'context', 'request_id', 'time_created', 'connect_token']

describe('an error', () => {
  it.each(cases)('$what is $status $code', async ({ request: [method, path, options], status, code, context, headers = {}, message }) => {
    const { app } = testApp()
    const answer = await send(app, method, path, options)
    expect(answer.json).toMatchObject({ object: 'error', code, context, request_id: 'req_1', time_created: '2025-09-14T10:00:00.000Z' })
    expect(answer.status).toBe(status)
    expect(Object.keys(answer.json).filter(name => !members.includes(name))).toEqual([])
    expect(answer.json.type).toBe(status >= 500 ? 'api_error' : 'invalid_request')
    expect(answer.text).not.toContain('SECRET')
    expect(answer.json.message).toMatch(message ?? /^[A-Z"a-z].*[.?]$/)
    expect(answer.headers.get('x-request-id')).toBe('req_1')
    expect(answer.headers.get('api-version')).toMatch(/^20/)
    for (const [name, value] of Object.entries(headers)) expect(answer.headers.get(name), name).toBe(value)
  })

  it('tells the mode once the caller is known, and the log what happened', async () => {
    const { app, logged } = testApp()
    expect((await send(app, 'GET', '/trouble/bug', {})).json.live_mode).toBe(false)
    expect((await send(app, 'GET', '/trouble/bug', { token: null })).json).not.toHaveProperty('live_mode')
    expect(logged).toMatchObject([{ request_id: 'req_1', context: 'api.trouble_make', err: { message: 'SECRET /etc/passwd' } }])
  })

  it('of a flow has its own context, token and layout, and is open to scripts of every page', async () => {
    const { app } = testApp()
    const refused = await send(app, 'POST', '/flow', { token: null, headers: { 'content-type': 'text/plain;charset=UTF-8' }, body: '' })
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

  it('is the answer when a request takes too long', async () => {
    const { app } = testApp({ requestTimeoutMs: 30 })
    const answer = await send(app, 'GET', '/trouble/slow', {})
    expect(answer).toMatchObject({ status: 503, json: { code: 'unavailable' } })
    expect(answer.headers.get('retry-after')).toBe('5')
  })

  it('comes while the service sheds load', async () => {
    const { app } = testApp({}, { shed: operation => operation.access === 'read' })
    expect((await send(app, 'GET', '/things/a', {})).status).toBe(503)
    expect((await send(app, 'DELETE', '/things/a', {})).status).toBe(202)
  })
})
