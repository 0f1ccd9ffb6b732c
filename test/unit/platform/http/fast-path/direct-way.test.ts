import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { currentInstant } from '../../../../../services/platform/clock.ts'
import { createApiKey, revokeApiKey } from '../../../../../services/platform/postgres/registry/api-keys.ts'
import { type Delivery, deliver, serveBothWays, withoutIdentity } from '../../../../support/http/both-ways.ts'
import { exchange, openExchange } from '../../../../support/http/exchange.ts'
import { secret } from '../../../../support/http/http-access.ts'
import { testApp } from '../../../../support/http/http-app.ts'
import { headersOf, partsOf, readPartitions } from '../../../../support/metering/gateway.ts'
import { deviceId, gateway, live, record, useGateway } from '../../../../support/metering/submissions.ts'
import { type Random, seededRandom } from '../../../../support/random.ts'
import { runSeed } from '../../../../support/test-run/run-seed.ts'

useGateway()

const silent = {
  now: currentInstant,
  newRequestId: () => `req_${crypto.randomUUID()}`,
  log: { warn: () => 0, error: () => 0 },
}
const requests = Number(process.env['DIRECT_REQUESTS'] ?? 150)

/** Authorization headers: keys of each scope, a revoked key, tokens, and wrong ones. */
const authorizations: (string | null)[] = [null, 'Bearer', 'Basic YTpi', 'Bearer sk_live_wrong']
let ways: Awaited<ReturnType<typeof serveBothWays>>

beforeAll(async () => {
  const { operator } = gateway.database
  const at = currentInstant()
  for (const scope of ['metering', 'read', 'all'] as const) {
    const key = await createApiKey(operator, live, { scope, description: null }, secret, at)
    authorizations.push(`Bearer ${key.secret}`, `bearer ${key.secret}`)
    if (scope === 'all') await revokeApiKey(operator, live, key.apiKey.id, at)
  }
  authorizations.push(`Bearer ${live.accountId}/test`)
  ways = await serveBothWays(gateway.makeApp, silent)
})
afterAll(() => ways[Symbol.asyncDispose]())

const plainBodies = (random: Random, index: number): readonly string[] => [
  JSON.stringify([record(index, { value: random.below(1_000) / 8, device_id: deviceId })]),
  JSON.stringify([record(index), record(index), record(index + 1, { location_id: 'loc_0198c0ffee00112233445566' })]),
  JSON.stringify([{ ...record(index), unknown: 1 }, record(index + 1, { units: 'KWH', value: 1e-3 })]),
  JSON.stringify(Array.from({ length: 300 }, (_, offset) => record(offset))),
  `${JSON.stringify(record(index))}\n${JSON.stringify(record(index + 1))}`,
]
const oddBodies = ['', '[]', '[{', '{}', '[1,null]', '\u00ff', 'x'.repeat(70_000)]

/** Return a random head and body. Most of them are those of a usual client. */
const randomRequest = (random: Random, index: number): { readonly head: string; readonly body: string } => {
  const isUsual = random.oneIn(2)
  const valid = `Bearer ${live.accountId}/live`
  const oneOf = <T>(usual: T, others: readonly T[]): T => (isUsual || random.oneIn(2) ? usual : random.pick(others))
  const usualBody = plainBodies(random, index)[0] ?? ''
  const text = oneOf(usualBody, [...plainBodies(random, index), ...oddBodies])
  const coding = oneOf(null, [null, 'identity', 'gzip', 'br'])
  const body = coding === 'gzip' ? gzipSync(text).toString('latin1') : Buffer.from(text).toString('latin1')
  const contentType = oneOf('application/json', [
    null,
    'application/json; charset=utf-8',
    'text/csv',
    'application/x-ndjson',
    'text/plain',
  ])
  const authorization = isUsual ? random.pick([valid, valid, ...authorizations]) : oneOf(valid, authorizations)
  const extras = [
    'Accept: */*',
    'Accept: text/csv',
    'Accept: application/json\r\nAccept: text/html',
    'Accept-Encoding: gzip, deflate',
    'Api-Version: 2024-08-24',
    'Api-Version:  2025-09-14 \t',
    'Api-Version: 1999-01-01',
    'X-Request-Id: call/1 2',
    `X-Request-Id: call-${index}`,
    'X-Forwarded-For: 10.0.0.1, 10.0.0.2',
    'Idempotency-Key: a',
    'User-Agent: meter/1',
    'Cookie: a=b; c=d',
    '__proto__: a',
    'Expect: 100-continue',
    'Authorization: Bearer second',
    'Content-Type: text/plain',
    'X-Odd: \u00e9',
  ].filter(() => random.oneIn(isUsual ? 8 : 6))
  const isChunked = oneOf(false, [false, true])
  const length = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`
  const path = oneOf('/meters/interval', [
    '/meters/interval/',
    '/meters/interval?import_id=a',
    '/meters/interval?x=1',
    '/meters/%69nterval',
    '/costs/instant',
    '/meters',
  ])
  const lines = [
    `${oneOf('PUT', ['PUT', 'POST', 'GET', 'DELETE', 'OPTIONS'])} ${path} HTTP/1.1`,
    `Host: ${oneOf('127.0.0.1:8080', ['localhost', 'A.example', '[::1]:80', 'a:99999', 'a b', ''])}`,
    ...(authorization === null ? [] : [`Authorization: ${authorization}`]),
    ...(contentType === null ? [] : [`Content-Type: ${contentType}`]),
    ...(coding === null ? [] : [`Content-Encoding: ${coding}`]),
    length,
    ...extras,
  ]
  return {
    head: `${lines.join('\r\n')}\r\n\r\n`,
    body: isChunked ? `${body.length === 0 ? '' : `${body.length.toString(16)}\r\n${body}\r\n`}0\r\n\r\n` : body,
  }
}

const lastRequest = 'GET /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

/** Return a delivery of one or more pipelined requests: at once, in parts, or aborted. */
const randomDelivery = (random: Random, index: number): Delivery => {
  const sent = Array.from({ length: random.pick([1, 1, 1, 2, 5]) }, (_, offset) =>
    randomRequest(random, index + offset),
  )
  const text = `${sent.map(({ head, body }) => head + body).join('')}${lastRequest}`
  if (random.oneIn(12)) {
    const [{ head, body } = { head: '', body: '' }] = sent
    // A wrong key that is counted or not, depending on the time of the abort, would change later answers.
    const countless = head.replace(/Authorization: .*/, `Authorization: Bearer ${live.accountId}/live`)
    return { parts: [countless + body.slice(0, random.below(body.length + 1))], pauseMs: 5, isAborted: true }
  }
  const cuts = random.oneIn(3) ? [random.below(text.length), random.below(text.length)].toSorted((a, b) => a - b) : []
  const parts = [0, ...cuts].map((from, part) => text.slice(from, cuts[part]))
  return { parts, pauseMs: random.pick([0, 3, 10]), isAborted: false }
}

const batchesIn = (answer: string): readonly string[] => answer.match(/bat_[0-9a-f]{24}/g) ?? []

describe('the direct way and the long way', () => {
  it('give the same answers and the same records', async () => {
    const random = seededRandom(runSeed())
    const batches: { readonly direct: string; readonly long: string }[] = []
    for (let index = 0; index < requests; index += 1) {
      const delivery = randomDelivery(random, index)
      const direct = await deliver(ways.direct.port, delivery)
      const long = await deliver(ways.long.port, delivery)
      // An aborted request may or may not get its answer before the end. The next requests show its effects.
      if (delivery.isAborted) continue
      expect(withoutIdentity(direct), JSON.stringify(delivery)).toBe(withoutIdentity(long))
      const longBatches = batchesIn(long)
      for (const [place, id] of batchesIn(direct).entries())
        batches.push({ direct: id, long: longBatches[place] ?? '' })
    }
    expect(ways.directRequests()).toBeGreaterThan(requests / 10)
    expect(batches.length).toBeGreaterThan(requests / 10)
    const appended = await readPartitions(gateway)
    const storedOf = (id: string) =>
      [...partsOf(appended, id), ...headersOf(appended, id)].map(part => ({ ...part, batchId: '', receivedAt: 0 }))
    for (const { direct, long } of batches) expect(storedOf(direct)).toEqual(storedOf(long))
  })
})

const head = (length: number, token = 'all', other = ''): string =>
  `PUT /meters/interval HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${other}Content-Length: ${length}\r\n\r\n`

/** Run an exchange with each way of an app of its own, and return both results. */
const eachWay = async (
  limits: Parameters<typeof testApp>[0],
  run: (port: number, app: ReturnType<typeof testApp>, close: () => Promise<void>) => Promise<unknown>,
): Promise<readonly [unknown, unknown]> => {
  const results: unknown[] = []
  for (const way of ['direct', 'long'] as const) {
    const opened = testApp(limits)
    await using both = await serveBothWays(() => opened.app, opened.ports)
    results.push(await run(both[way].port, opened, () => both[way].close(5_000)))
    expect(both.directRequests() > 0).toBe(way === 'direct')
  }
  return [results[0], results[1]]
}

const statusesIn = (text: string): readonly string[] => text.match(/HTTP\/1\.1 \d{3}/g) ?? []

describe('both ways', () => {
  it('refuse a slow body at the time limit', async () => {
    const [direct, long] = await eachWay({ requestTimeoutMs: 200 }, async (port, { observed, logged }) => {
      const slow = openExchange(port, `${head(10)}[1`)
      await sleep(600)
      slow.socket.end()
      return [withoutIdentity(await slow.ended), observed.map(({ status }) => status), logged]
    })
    expect(direct).toEqual(long)
    expect(JSON.stringify(direct)).toContain('HTTP/1.1 408')
  })

  it('refuse a submission above the capacity, and accept the next one', async () => {
    const limits = { admission: { maxSubmissionBytes: 40_000, maxConcurrentReads: 2 } }
    const [direct, long] = await eachWay(limits, async port => {
      const first = openExchange(port, `${head(3)}[`)
      await sleep(50)
      const second = await exchange(port, `${head(2, 'metering', 'Connection: close\r\n')}[]`)
      first.socket.write(`1]${head(2, 'metering', 'Connection: close\r\n')}[]`)
      return [second, await first.ended].map(withoutIdentity)
    })
    expect(direct).toEqual(long)
    expect((direct as string[]).map(statusesIn)).toEqual([['HTTP/1.1 503'], ['HTTP/1.1 200', 'HTTP/1.1 200']])
  })

  it('answer a running request while the server stops', async () => {
    const [direct, long] = await eachWay({}, async (port, _, close) => {
      const running = openExchange(port, `${head(3)}[`)
      await sleep(50)
      const closing = close()
      await sleep(50)
      running.socket.write('1]')
      const answer = withoutIdentity(await running.ended)
      await closing
      return answer
    })
    expect(direct).toBe(long)
    expect(direct).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('count and log an aborted body in the same way', async () => {
    const [direct, long] = await eachWay({}, async (port, { observed, logged }) => {
      const aborted = openExchange(port, `${head(100)}[1,`)
      await sleep(50)
      aborted.socket.destroy()
      await sleep(100)
      return [observed.map(({ status }) => status), logged.map(fields => Object.keys(fields))]
    })
    expect(direct).toEqual(long)
  })
})
