import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it, test as property } from 'vitest'
import { send, testApp } from '../../../support/http/http-app.ts'

describe('an answer', () => {
  it('has the status of its operation, exact numbers, and the names of its API version', async () => {
    const { app, observed } = testApp()
    const answer = await send(app, 'POST', '/things', { body: { name: 'a', tariff_direction: 'EXPORT' } })
    expect(answer.status).toBe(201)
    expect(answer.text).toBe(
      '{"number":1,"apiVersion":"current","name":"a","tariff_direction":"EXPORT","exact":0.000000001}',
    )
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(Number(answer.headers.get('content-length'))).toBe(answer.text.length)
    const earlier = await send(app, 'POST', '/things', {
      body: { name: 'a', direction: 'EXPORT' },
      headers: { 'api-version': '2024-08-24' },
    })
    expect(earlier.json).toMatchObject({ apiVersion: 'earlier', direction: 'EXPORT' })
    expect(observed).toMatchObject([
      { operation: 'thing_create', status: 201 },
      { operation: 'thing_create', apiVersion: 'earlier' },
    ])
  })

  it('to HEAD equals the answer to GET without its body', async () => {
    const { app } = testApp()
    const [get, head] = [await send(app, 'GET', '/things/a'), await send(app, 'HEAD', '/things/a')]
    expect(head).toMatchObject({ status: 200, text: '' })
    expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'))
    expect((await send(app, 'HEAD', '/things/none')).status).toBe(404)
    expect((await send(app, 'HEAD', '/health/live', { token: null })).status).toBe(200)
  })

  it.each([
    ['gzip', true],
    ['br, GZIP;q=0.5', true],
    ['gzip;q=0', false],
    ['br', false],
    ['', false],
  ])('to Accept-Encoding %s is compressed: %s', async (accepted, isCompressed) => {
    const { app } = testApp()
    const response = await app.request('http://test/things/a', {
      headers: { authorization: 'Bearer all', 'accept-encoding': accepted },
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    expect(response.headers.get('content-encoding')).toBe(isCompressed ? 'gzip' : null)
    expect(JSON.parse((isCompressed ? gunzipSync(bytes) : bytes).toString()).id).toBe('a')
    expect(response.headers.get('vary')).toBe('Accept, Accept-Encoding')
  })

  it('is CSV if the operation supports it and the caller requests it', async () => {
    const { app } = testApp()
    const table = await send(app, 'GET', '/things/a', { headers: { accept: 'text/csv' } })
    expect(table.text).toBe('id\n1\n')
    const earlier = await send(app, 'GET', '/things/a', {
      headers: { accept: 'text/csv', 'api-version': '2024-08-24' },
    })
    expect(earlier.text).toBe('earlier_id\n1\n')
    expect(table.headers.get('content-type')).toContain('text/csv')
    expect((await send(app, 'GET', '/things/none', { headers: { accept: 'text/csv' } })).json.code).toBe('not_found')
    const { status, json } = await send(app, 'DELETE', '/things/a', { headers: { accept: 'text/csv' } })
    expect([status, json]).toMatchObject([406, { object: 'error', code: 'not_acceptable' }])
  })

  it('keeps a safe request id of the caller and creates one otherwise', async () => {
    const { app } = testApp()
    for (const [given, kept] of [
      ['a-B_1.~:+/=@', true],
      ['x'.repeat(128), true],
      ['x'.repeat(129), false],
      ['a b', false],
      ['<a>', false],
    ] as const) {
      const answer = await send(app, 'GET', '/nothing', { headers: { 'x-request-id': given } })
      expect(answer.json.request_id === given).toBe(kept)
      expect(answer.headers.get('x-request-id')).toBe(answer.json.request_id)
    }
  })

  it('of a static route is the answer of the route', async () => {
    const page = await send(testApp().app, 'GET', '/docs/a', { token: null })
    expect(page).toMatchObject({ status: 200, text: '<p>' })
    expect(page.headers.get('cache-control')).toBe('max-age=60')
  })
})

describe('the API version', () => {
  it.each([
    ['all', undefined, '/things', '2025-09-14'],
    ['all', '2024-08-24', '/things', '2024-08-24'],
    ['all-earlier', undefined, '/things', '2024-08-24'],
    ['all-earlier', '2025-09-14', '/things', '2025-09-14'],
    ['all-earlier', undefined, '/prices/a', '2025-09-14'],
  ])('of %s with version %s at %s is %s', async (token, version, path, used) => {
    const { app } = testApp()
    const headers = version === undefined ? {} : { 'api-version': version }
    const answer = await send(app, 'POST', path, { token, headers, body: path === '/things' ? { name: 'a' } : {} })
    expect(answer.status).toBeLessThan(300)
    expect(answer.headers.get('api-version')).toBe(used)
  })

  it('of a path in the earlier API version only is the earlier one, with its body in the query', async () => {
    const answer = await send(testApp().app, 'GET', '/tariffs/rates/loc_1?end_time=2025-01-01T00:00:00%2B01:00')
    expect(answer.json).toEqual({ id: 'loc_1', layout: 'earlier', end_time: '2025-01-01T00:00:00+01:00' })
  })
})

describe('a request', () => {
  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON', 'application/cloudevents+json'])(
    'may be %s',
    async type => {
      const answer = await send(testApp().app, 'POST', '/things', {
        body: { name: 'a' },
        headers: { 'content-type': type },
      })
      expect(answer.status).toBe(201)
    },
  )

  it.each([
    ['true', true],
    ['True', true],
    ['1', true],
    ['FALSE', false],
    ['0', false],
  ])('may say %s for %s', async (written, value) => {
    expect((await send(testApp().app, 'POST', `/things?loud=${written}`, { body: { name: 'a' } })).json.loud).toBe(
      value,
    )
  })

  it('may contain the + of an offset without encoding', async () => {
    for (const offset of ['+01:00', '%2B01:00', '%2b01:00']) {
      const answer = await send(testApp().app, 'POST', `/things?at=2025-01-01T01:00:00.5${offset}`, {
        body: { name: 'a' },
      })
      expect(answer.json.at).toEqual({ at: 1_735_689_600_500, offsetMinutes: 60 })
    }
    expect(
      (await send(testApp().app, 'POST', '/things?at=2025-01-01T01:00:00', { body: { name: 'a' } })).json.field,
    ).toBe('at')
  })

  it('may be compressed, in lines, or raw if the operation reads the bytes', async () => {
    const { app } = testApp()
    const lines = await send(app, 'PUT', '/meters/interval', {
      token: 'metering',
      headers: { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' },
      body: new Uint8Array(gzipSync('{}\n{}\n')),
    })
    expect(lines.json).toEqual({ length: 6, mediaType: 'application/x-ndjson' })
  })

  it('of the operator needs no token', async () => {
    const answer = await send(testApp().app, 'DELETE', '/sources/a', {
      token: null,
      headers: { 'x-operator-key': 'operator-secret' },
    })
    expect(answer.json).toEqual({ by: 'operator' })
    expect(
      (await send(testApp().app, 'GET', '/things/a', { token: null, headers: { 'x-operator-key': 'operator-secret' } }))
        .status,
    ).toBe(401)
  })

  property('never gets a 5xx for any query, headers and body', async () => {
    const { app } = testApp()
    const headers = fc.record({
      'content-type': fc.constantFrom('application/json', 'text/plain', 'application/json;charset=latin1', '+json'),
      'content-encoding': fc.constantFrom('identity', 'gzip', 'deflate'),
      'api-version': fc.constantFrom('2025-09-14', '2024-08-24', '0'),
      'idempotency-key': fc.stringMatching(/^[!-~]{0,20}$/),
      authorization: fc.constantFrom('Bearer all', 'Bearer', 'Basic', 'Basic Og==', 'Bearer read'),
    })
    const body = fc.oneof(fc.json(), fc.string(), fc.uint8Array(), fc.constant('{"name":"a"}'))
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('POST', 'PUT', 'PATCH'),
        fc.constantFrom('/things', '/things/%', '/things/%ff', '/prices/a', '/meters/interval', '/flow', '/%2e%2e/x'),
        fc.webQueryParameters(),
        headers,
        body,
        async (method, path, query, sent, body_) => {
          const answer = await send(app, method, `${path}?${query}`, { token: null, headers: sent, body: body_ })
          expect(answer.status).toBeLessThan(500)
          if (answer.status >= 400)
            expect(answer.json).toMatchObject({ object: 'error', message: expect.stringMatching(/.+/) })
        },
      ),
      { numRuns: 500 },
    )
  })
})
