import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { apiVersionDates, apiVersions } from '../../../../services/contract/api-version.ts'
import { defaultLimits, type Limits } from '../../../../services/platform/http/binding.ts'
import { type Listener, listen } from '../../../../services/platform/http/listen.ts'
import { exchange } from '../../../support/http/exchange.ts'
import { testApp } from '../../../support/http/http-app.ts'

const authorized = 'Authorization: Bearer all\r\nContent-Type: application/json\r\n'
const jsonBody = (body: string, length = body.length): string => `Content-Length: ${length}\r\n\r\n${body}`

/** An answer that the service gives before an operation runs: status, first line, further headers, end of the head. */
const earlyAnswers: readonly (readonly [
  status: number | 'validation',
  name: string,
  request: string,
  headers?: string,
  rest?: string,
])[] = [
  ['validation', 'bytes that are not HTTP after the header', 'GET / HTTP/1.1', 'Bad header\u0001\r\n'],
  ['validation', 'two Host headers', 'GET /things/a HTTP/1.1', 'Host: b\r\n'],
  ['validation', 'a Host that is no host', 'GET /things/a HTTP/1.1', ''],
  ['validation', 'an unknown transfer coding', 'POST /things HTTP/1.1', 'Transfer-Encoding: odd\r\n'],
  ['validation', 'a body that is not JSON', 'POST /things HTTP/1.1', authorized, jsonBody('{')],
  ['validation', 'an unknown parameter', 'POST /things?odd=1 HTTP/1.1', authorized, jsonBody('{"name":"a"}')],
  [401, 'no credentials', 'GET /things/a HTTP/1.1'],
  [401, 'wrong credentials', 'GET /things/a HTTP/1.1', 'Authorization: Bearer none\r\n'],
  [401, 'a login without a key', 'GET /login HTTP/1.1'],
  [403, 'a key without the right', 'DELETE /things/a HTTP/1.1', 'Authorization: Bearer read\r\n'],
  [404, 'an unknown path', 'GET /nothing HTTP/1.1'],
  [404, 'an unknown page', 'GET /docs/none HTTP/1.1'],
  [404, 'an id that no object can have', 'DELETE /things/%00 HTTP/1.1', authorized],
  [405, 'a method that the path does not have', 'PATCH /things HTTP/1.1', authorized],
  [405, 'a method that a page does not have', 'POST /health/live HTTP/1.1', 'Content-Length: 0\r\n'],
  [406, 'a format that the operation does not have', 'DELETE /things/a HTTP/1.1', `${authorized}Accept: text/csv\r\n`],
  [408, 'a slow body', 'POST /things HTTP/1.1', authorized, jsonBody('{', 9)],
  [413, 'a long body', 'POST /things HTTP/1.1', authorized, jsonBody('{', 2 ** 20 + 1)],
  [414, 'a long path', `GET /${'p'.repeat(5_000)} HTTP/1.1`],
  [414, 'a long query', `GET /?${'q'.repeat(9_000)} HTTP/1.1`],
  [
    415,
    'a media type',
    'POST /things HTTP/1.1',
    'Authorization: Bearer all\r\nContent-Type: text/csv\r\n',
    jsonBody('{}'),
  ],
  [431, 'long headers', 'GET /nothing HTTP/1.1', `X: ${'x'.repeat(20_000)}\r\n`],
  [503, 'more reads than the service admits', 'GET /things/a HTTP/1.1', authorized],
]

const limits: Partial<Limits> = {
  requestTimeoutMs: 300,
  admission: { ...defaultLimits.admission, maxConcurrentReads: 0 },
}

describe.each([...apiVersions, null])('an answer before its operation runs, to Api-Version %s', apiVersion => {
  let listener: Listener
  beforeAll(async () => {
    const { app, ports } = testApp(limits)
    listener = await listen(app, { host: '127.0.0.1', port: 0 }, ports)
  })
  afterAll(() => listener[Symbol.asyncDispose]())

  it.each(earlyAnswers)('%s to %s has the version of the request', async (status, name, request, headers, rest) => {
    const host = name === 'a Host that is no host' ? 'Host: a b\r\n' : 'Host: a\r\n'
    const version = apiVersion === null ? '' : `Api-Version: ${apiVersionDates[apiVersion]}\r\n`
    const answer = await exchange(
      listener.port,
      `${request}\r\n${host}Connection: close\r\n${version}${headers ?? ''}${rest ?? '\r\n'}`,
    )
    const expected = status === 'validation' ? (apiVersion === 'earlier' ? 409 : 400) : status
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${expected} `))
    expect(/^api-version: (.*)$/im.exec(answer)?.[1]?.trim()).toBe(apiVersionDates[apiVersion ?? 'current'])
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ object: 'error' })
  })
})
