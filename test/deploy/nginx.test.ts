import { createConnection } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorFaults, versions } from '../support/http/error-object.ts'
import { type LocalServer, startLocalServer } from '../support/http/local-server.ts'
import { type Nginx, skippedWithoutNginx, startNginx } from '../support/http/nginx.ts'
import { type RawReply, rawSender } from '../support/http/raw-http.ts'
import { until } from '../support/system/until.ts'
import { read, readCompose } from './deploy-files.ts'
import { formsOf, gatewayOperations, pathsOf } from './gateway-paths.ts'

/** Role that answers a request by writing what it has received. The path /hang has no answer. */
const startRole = (role: string): Promise<LocalServer> =>
  startLocalServer((request, response) => {
    if (request.url?.startsWith('/hang') === true) return
    request.resume()
    request.on('end', () => {
      response.writeHead(200, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify({ role, path: request.url, headers: request.headers }))
    })
  })

type Received = { readonly role: string; readonly headers: Readonly<Record<string, string>> }

/** Send bytes as they are, and return the answer. */
const sendBytes = async (port: number, bytes: string): Promise<RawReply> => {
  const socket = createConnection(port, '127.0.0.1')
  socket.write(bytes)
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
  const [first = '', ...fields] = head.split('\r\n')
  const headers = Object.fromEntries(
    fields.map(field => [field.slice(0, field.indexOf(':')).toLowerCase(), field.slice(field.indexOf(':') + 2)]),
  )
  return { status: Number(first.split(' ')[1]), headers, text: body }
}

/** Requests that nginx itself refuses, as bytes. */
const refused: readonly (readonly [name: string, code: string, bytes: string])[] = [
  [
    'a body over its limit',
    'body_too_large',
    'PUT /meters/interval HTTP/1.1\r\nHost: a\r\nContent-Length: 30000000\r\n',
  ],
  ['a long target', 'target_too_long', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n`],
  ['long headers', 'headers_too_large', `GET / HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(20_000)}\r\n`],
  ['two hosts', 'header_invalid', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n'],
  ['a missing host', 'header_invalid', 'GET / HTTP/1.1\r\n'],
  ['a wrong escape', 'header_invalid', 'GET /%zz HTTP/1.1\r\nHost: a\r\n'],
  ['a wrong length', 'header_invalid', 'PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n'],
  ['an unknown transfer encoding', 'header_invalid', 'PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\n'],
  ['an unknown HTTP version', 'header_invalid', 'GET / HTTP/3.0\r\nHost: a\r\n'],
  ['the method TRACE', 'method_not_allowed', 'TRACE / HTTP/1.1\r\nHost: a\r\n'],
  ['its own error page', 'not_found', 'GET /answer-of-nginx HTTP/1.1\r\nHost: a\r\n'],
  ['a role that does not answer in time', 'unavailable', 'GET /hang HTTP/1.1\r\nHost: a\r\n'],
]

describe.skipIf(skippedWithoutNginx() !== null)('the front server, run by nginx', () => {
  let roles: readonly [LocalServer, LocalServer]
  let nginx: Nginx
  beforeAll(async () => {
    roles = await Promise.all([startRole('ingest-gateway'), startRole('query-service')])
    nginx = await startNginx({ gateway: roles[0].port, queryService: roles[1].port })
  })
  afterAll(async () => {
    await nginx?.[Symbol.asyncDispose]()
    for (const role of roles ?? []) await role[Symbol.asyncDispose]()
  })

  const receive = async (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Received> =>
    (await (await fetch(nginx.url + path, { method: 'PUT', headers, body: '[]' })).json()) as Received

  it.each(formsOf(pathsOf(gatewayOperations())))(
    'sends %s to the gateways, and its parents and children to the query services',
    async path => {
      expect((await receive(path)).role).toBe('ingest-gateway')
      expect((await receive(`${path}?a=1`)).role).toBe('ingest-gateway')
      for (const other of [`${path}/x`.replace('//', '/'), path.split('/').slice(0, 2).join('/')])
        expect((await receive(other)).role, other).toBe('query-service')
    },
  )

  it.each(refused)('answers %s with an error object: %s', async (_, code, head) => {
    const id = `test-${code}`
    const named = await sendBytes(nginx.port, `${head}X-Request-Id: ${id}\r\nConnection: close\r\n\r\n`)
    expect(errorFaults(named)).toEqual([])
    expect(JSON.parse(named.text).code).toBe(code)
    // A head that is too long or wrong can end before the id.
    const isRead = !['target_too_long', 'headers_too_large', 'header_invalid'].includes(code)
    if (isRead) expect(named.headers['x-request-id']).toBe(id)
    const version = `Api-Version: ${versions.earlier}\r\nX-Request-Id: <script>\r\n`
    const earlier = await sendBytes(nginx.port, `${head}${version}Connection: close\r\n\r\n`)
    expect(errorFaults(earlier)).toEqual([])
    expect(earlier.headers['x-request-id']).toMatch(/^req_[0-9a-f]{24}$/)
    if (isRead) expect(earlier.headers['api-version']).toBe(versions.earlier)
  })

  it('answers a body without a length that becomes too large, and a role that has ended', async () => {
    const gone = await startLocalServer(() => undefined)
    await gone[Symbol.asyncDispose]()
    await using alone = await startNginx({ gateway: gone.port, queryService: gone.port })
    const sender = rawSender(alone.url)
    const away = await sender.send({ method: 'GET', path: '/account', headers: {} })
    expect([away.status, errorFaults(away)]).toEqual([503, []])
    sender.close()
    const chunk = `${(1_000_000).toString(16)}\r\n${'a'.repeat(1_000_000)}\r\n`
    const head = 'PUT /meters/interval HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n'
    const large = await sendBytes(nginx.port, head + chunk.repeat(21))
    expect([large.status, errorFaults(large)]).toEqual([413, []])
  })

  it('logs its own answers as JSON lines with the time format of the services, and no other request', async () => {
    const before = nginx.lines().length
    await receive('/meters/interval')
    await sendBytes(
      nginx.port,
      'GET /hang?token=secret HTTP/1.1\r\nHost: a\r\nX-Request-Id: log-1\r\nConnection: close\r\n\r\n',
    )
    await sendBytes(nginx.port, 'GET /%zz HTTP/1.1\r\nHost: a\r\nX-Request-Id: log-"2\r\nConnection: close\r\n\r\n')
    // nginx writes the line of an answer after it has sent the answer.
    const lines = await until(
      () => nginx.lines().slice(before),
      found => found.length >= 2,
    )
    expect(lines.map(line => JSON.parse(line))).toMatchObject([
      { level: 'warn', request_id: 'log-1', method: 'GET', status: 503, code: 'unavailable' },
      { level: 'info', method: 'GET', status: 400, code: 'header_invalid' },
    ])
    for (const line of lines) {
      const { time } = JSON.parse(line) as { time: string }
      expect(new Date(time).toISOString()).toBe(time)
    }
    expect(lines.join('')).not.toContain('secret')
  })

  it('writes exact times in other time zones too', async () => {
    const environment = { TZ: 'Asia/Kolkata' }
    await using other = await startNginx({ gateway: roles[0].port, queryService: roles[1].port }, environment)
    const { text: body } = await sendBytes(other.port, 'GET /%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    const { time_created: time } = JSON.parse(body) as { time_created: string }
    expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|\+05:30)$/)
    expect(Math.abs(Date.parse(time) - Date.now())).toBeLessThan(60_000)
  })

  it.each([
    ['without a proxy on the host', undefined, '127.0.0.1'],
    ['with a proxy on the host that names the client', '203.0.113.7', '203.0.113.7'],
    ['with a proxy that adds the client to what the client wrote', '198.51.100.1, 203.0.113.7', '203.0.113.7'],
    ['with a client in a private network', '10.1.1.1, 192.168.1.7', '192.168.1.7'],
    ['with a word in place of an address', 'unknown', '127.0.0.1'],
  ])('names one client to the services, %s', async (_, forwarded, client) => {
    const headers = forwarded === undefined ? {} : { 'X-Forwarded-For': forwarded }
    expect((await receive('/account', headers)).headers['x-forwarded-for']).toBe(client)
  })

  it('passes the host and a request id on, and nothing of a connection', async () => {
    const { headers } = await receive('/account', { 'X-Request-Id': 'mine' })
    expect(headers).toMatchObject({ host: `127.0.0.1:${nginx.port}`, 'x-request-id': 'mine' })
    expect((await receive('/account')).headers['x-request-id']).toMatch(/^req_[0-9a-f]{24}$/)
  })
})

describe('the front server', () => {
  it('trusts the networks that the services trust', () => {
    const networks = [...read('deploy/nginx/nginx.conf').matchAll(/set_real_ip_from (\S+);/g)].map(([, one]) => one)
    const { WATTLEDGER_TRUSTED_PROXIES: trusted } = readCompose().services['query-service']?.environment ?? {}
    expect(networks.join()).toBe(trusted)
  })

  it('answers each status that nginx can write', () => {
    const answered = [...read('deploy/nginx/nginx.conf').matchAll(/error_page ([\d ]+?)(?: =\d+)? \//g)].flatMap(
      ([, codes = '']) => codes.split(' '),
    )
    // Statuses of nginx without TLS, authentication and limits of rates. nginx closes the connection for 408.
    const possible = [400, 404, 405, 408, 413, 414, 494, 500, 501, 502, 503, 504, 505]
    expect(answered.map(Number).toSorted((a, b) => a - b)).toEqual(possible)
  })
})
