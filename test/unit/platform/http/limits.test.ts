import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { send, testApp } from '../../../support/http/http-app.ts'

const basic = (account: string, key: string) => `Basic ${Buffer.from(`${account}:${key}`).toString('base64')}`
const mebibyte = 2 ** 20

/** A body of an exact length, so that the pair on both sides of a limit differs in one byte. */
const thing = (bytes: number): string => `{"name":"a"${' '.repeat(bytes - '{"name":"a"}'.length)}}`

const streamed = (text: string): ReadableStream<Uint8Array> => new Blob([text]).stream()

describe('the size of a body', () => {
  it.each([
    ['1 MiB for most operations', 'POST', '/things', mebibyte, 201],
    ['16 MiB for submissions', 'PUT', '/meters/interval', 16 * mebibyte, 200],
  ] as const)('is at most %s: n passes, n + 1 is refused', async (_, method, path, limit, status) => {
    const { app } = testApp()
    expect((await send(app, method, path, { body: thing(limit) })).status).toBe(status)
    const above = await send(app, method, path, { body: thing(limit + 1) })
    expect(above).toMatchObject({
      status: 413,
      json: { code: 'body_too_large', message: `Send a body of at most ${limit} bytes.` },
    })
  })

  it('is checked by its announced length before it is read', async () => {
    const { app } = testApp()
    const body = new ReadableStream({
      pull: () => {
        throw new Error('The body must not be read.')
      },
    })
    const init = {
      method: 'POST',
      headers: {
        authorization: 'Bearer all',
        'content-type': 'application/json',
        'content-length': String(mebibyte + 1),
      },
    }
    expect((await app.request('http://test/things', { ...init, body, duplex: 'half' } as RequestInit)).status).toBe(413)
  })

  it('is counted if it is not announced', async () => {
    const { app } = testApp()
    const post = async (text: string) => {
      const init = {
        method: 'POST',
        headers: { authorization: 'Bearer all', 'content-type': 'application/json' },
        body: streamed(text),
        duplex: 'half',
      }
      return (await app.request('http://test/things', init as RequestInit)).status
    }
    expect([await post(thing(mebibyte)), await post(thing(mebibyte + 1))]).toEqual([201, 413])
  })

  it('is the inflated size of compressed bodies, which are inflated up to the limit only', async () => {
    const { app } = testApp()
    const post = (text: string) =>
      send(app, 'POST', '/things', { headers: { 'content-encoding': 'gzip' }, body: new Uint8Array(gzipSync(text)) })
    expect((await post(thing(mebibyte))).status).toBe(201)
    expect((await post(thing(mebibyte + 1))).status).toBe(413)
    const bomb = new Uint8Array(gzipSync(' '.repeat(128 * mebibyte)))
    const before = process.memoryUsage().arrayBuffers
    const refused = await send(app, 'POST', '/things', { headers: { 'content-encoding': 'gzip' }, body: bomb })
    expect([bomb.length < mebibyte, refused.status]).toEqual([true, 413])
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * mebibyte)
  })
})

describe('an id in the path and an Idempotency-Key', () => {
  it('have at most 255 characters', async () => {
    const { app } = testApp()
    expect((await send(app, 'GET', `/things/${encodeURIComponent('é'.repeat(255))}`)).status).toBe(200)
    expect((await send(app, 'GET', `/things/${encodeURIComponent('é'.repeat(256))}`)).status).toBe(404)
    const keyed = (length: number) =>
      send(app, 'POST', '/things', { body: { name: 'a' }, headers: { 'idempotency-key': 'k'.repeat(length) } })
    expect([(await keyed(255)).status, (await keyed(256)).status]).toEqual([201, 400])
  })
})

describe('the rate of an account', () => {
  it('has no limit and no rate headers by default', async () => {
    const { app } = testApp()
    for (let index = 0; index < 50; index += 1) expect((await send(app, 'GET', '/things/a')).status).toBe(200)
    expect((await send(app, 'GET', '/things/a')).headers.get('ratelimit-limit')).toBeNull()
  })

  it('is the configured rate with a burst of five times as many, shared by all tokens of an account', async () => {
    const { app } = testApp({ requestsPerSecond: 3 }, { elapsed: () => 0 })
    const statuses: number[] = []
    for (let index = 0; index < 15; index += 1) {
      statuses.push(
        (await send(app, 'GET', '/things/a', { token: ['all', 'read', 'sk_right'][index % 3] ?? null })).status,
      )
    }
    const refused = await send(app, 'GET', '/things/a')
    expect([...statuses, refused.status]).toEqual([...Array.from({ length: 15 }, () => 200), 429])
    expect(refused.json).toMatchObject({ type: 'rate_limit', code: 'rate_limited' })
    expect(
      Object.fromEntries(
        ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after'].map(name => [
          name,
          refused.headers.get(name),
        ]),
      ),
    ).toEqual({
      'ratelimit-limit': '15',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '5',
      'retry-after': '1',
    })
    expect((await send(app, 'GET', '/things/a', { token: 'live' })).status).toBe(200)
  })

  it('does not count metering and login, which always work', async () => {
    const { app } = testApp({ requestsPerSecond: 1 }, { elapsed: () => 0 })
    for (let index = 0; index < 5; index += 1) await send(app, 'GET', '/things/a')
    expect((await send(app, 'GET', '/things/a')).status).toBe(429)
    for (let index = 0; index < 20; index += 1) {
      expect((await send(app, 'PUT', '/meters/interval', { body: '[]' })).status).toBe(200)
      expect(
        (await send(app, 'GET', '/login', { token: null, headers: { authorization: basic('acc_1', 'right') } })).status,
      ).toBe(200)
    }
  })
})

describe('the own rate limit of an account', () => {
  it.each([null, 1, 9])('replaces the default limit: %s', async requestsPerSecond => {
    const { app } = testApp({ requestsPerSecond }, { elapsed: () => 0 })
    const statuses: number[] = []
    for (let index = 0; index < 11; index += 1)
      statuses.push((await send(app, 'GET', '/things/a', { token: 'all-twice' })).status)
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 429])
    const other = await send(app, 'GET', '/things/a')
    const limit = requestsPerSecond === null ? null : String(requestsPerSecond * 5)
    expect([other.status, other.headers.get('ratelimit-limit')]).toEqual([200, limit])
  })
})
