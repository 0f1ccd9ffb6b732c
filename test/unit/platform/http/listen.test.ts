import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Listener, listen } from '../../../../services/platform/http/listen.ts'
import { leastCpuTimeMs } from '../../../support/cpu/cpu-time.ts'
import { exchange, openExchange, startTestApp } from '../../../support/http/exchange.ts'
import { testApp } from '../../../support/http/http-app.ts'
import { until } from '../../../support/system/until.ts'

/** Concurrent connections that a busy process must not lose, and a thread that opens and counts them. */
const burst = 1_000
const makesBurst = `
  const { connect } = require('node:net')
  const { port, count, stood } = require('node:worker_threads').workerData
  for (let index = 0; index < count; index += 1)
    connect(port, '127.0.0.1', () => Atomics.add(stood, 0, 1) === count - 1 && Atomics.notify(stood, 1)).on('error', () => undefined)
`

const maxBacklog = (): string => readFileSync('/proc/sys/net/core/somaxconn', 'utf8').trim()
/** Reason why a burst cannot be tested here. Null if it can. */
const noBurst = ((): string | null => {
  if (process.platform !== 'linux') return 'the limit of waiting connections is read from /proc'
  return Number(maxBacklog()) < burst ? `this system lets ${maxBacklog()} connections wait` : null
})()

const errorOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))

describe('the server', () => {
  let listener: Listener
  beforeAll(async () => {
    listener = await startTestApp()
  })
  afterAll(() => listener[Symbol.asyncDispose]())

  const get = (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${listener.port}${path}`, init)

  it('serves the API', async () => {
    const headers = { authorization: 'Bearer all', 'content-type': 'application/json' }
    const answer = await get('/things', { method: 'POST', headers, body: '{"name":"a"}' })
    expect([answer.status, ((await answer.json()) as { name: string }).name]).toEqual([201, 'a'])
    const head = await get('/things/a', { method: 'HEAD', headers: { ...headers, 'accept-encoding': 'identity' } })
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect(Number(head.headers.get('content-length'))).toBeGreaterThan(2_000)
  })

  it('answers a body above the limit before its end, and serves the next request', async () => {
    const head =
      'POST /things HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer all\r\nContent-Type: application/json\r\nContent-Length: 1048577\r\n\r\n{'
    const answer = await exchange(listener.port, head)
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
    expect((await get('/health/live')).status).toBe(200)
  })

  it.skipIf(noBurst !== null)(
    `keeps ${burst} connections waiting while it is busy${noBurst === null ? '' : `: ${noBurst}`}`,
    async () => {
      const stood = new Int32Array(new SharedArrayBuffer(8))
      const worker = new Worker(makesBurst, { eval: true, workerData: { port: listener.port, count: burst, stood } })
      try {
        // This thread accepts no connection until all are open.
        Atomics.wait(stood, 1, 0, 20_000)
        expect(stood[0]).toBe(burst)
      } finally {
        await worker.terminate()
      }
      expect((await get('/health/live')).status).toBe(200)
    },
  )

  it('reads the slow rest of a body after the answer, and then the next request', async () => {
    const length = 2 ** 20 + 1
    const head = `POST /things HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer all\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
    const socket = connect(listener.port, '127.0.0.1', () => socket.write(head))
    let [received, ended] = ['', '']
    socket.on('data', chunk => {
      received += chunk.toString()
    })
    socket.on('close', hadError => {
      ended = hadError ? 'reset' : 'closed'
    })
    socket.on('error', () => undefined)
    const parts = 16
    for (let part = 0; part < parts; part += 1) {
      await sleep(100)
      socket.write(
        Buffer.alloc(part === 0 ? (length % parts) + Math.floor(length / parts) : Math.floor(length / parts), ' '),
      )
    }
    socket.write('GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    await until(
      () => ended,
      how => how !== '',
    )
    expect(ended).toBe('closed')
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200'])
  })

  it('accepts headers of 16 KiB and refuses longer ones with an error object', async () => {
    const request = (bytes: number) => {
      const frame = 'GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: \r\n\r\n'
      return frame.replace('X: ', `X: ${'x'.repeat(bytes - frame.length)}`)
    }
    expect(await exchange(listener.port, request(15 * 2 ** 10))).toMatch(/^HTTP\/1\.1 200 /)
    const refused = await exchange(listener.port, request(16 * 2 ** 10 + 512))
    expect(refused).toMatch(/^HTTP\/1\.1 431 /)
    expect(errorOf(refused)).toMatchObject({ object: 'error', code: 'headers_too_large', context: 'api.request_read' })
  })

  it('accepts paths of 4 KiB and targets of 8 KiB, and refuses longer ones with an error object before routing', async () => {
    const request = (path: number, target: number, method = 'GET') => {
      const query = target === path ? '' : `?${'q'.repeat(target - path - 1)}`
      return `${method} /${'/'.repeat(path - 1)}${query} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`
    }
    for (const [path, target] of [
      [4_096, 4_096],
      [4_096, 8_192],
      [1, 8_192],
    ] as const)
      expect(await exchange(listener.port, request(path, target))).toMatch(/^HTTP\/1\.1 404 /)
    for (const [path, target] of [
      [4_097, 4_097],
      [4_097, 4_200],
      [1, 8_193],
      [15_000, 15_000],
    ] as const) {
      const refused = await exchange(listener.port, request(path, target))
      expect(refused).toMatch(/^HTTP\/1\.1 414 /)
      expect(errorOf(refused)).toMatchObject({ object: 'error', code: 'target_too_long', context: 'api.request_read' })
    }
    expect((await exchange(listener.port, request(4_097, 4_097, 'HEAD'))).endsWith('\r\n\r\n')).toBe(true)
  })

  const begin =
    'PUT /meters/interval HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer all\r\nContent-Type: application/json\r\n'

  it('accepts a body of few or large chunks, and refuses a body of very many tiny chunks', async () => {
    const send = (count: number, bytes: number) => {
      const chunk = `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`
      return exchange(
        listener.port,
        `${begin}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(count)}0\r\n\r\n`,
      )
    }
    expect(await send(1_000, 1)).toMatch(/^HTTP\/1\.1 200 /)
    expect(await send(20_000, 64)).toMatch(/^HTTP\/1\.1 200 /)
    const refused = await send(100_000, 1)
    expect(refused).toMatch(/^HTTP\/1\.1 400 /)
    expect(errorOf(refused)).toMatchObject({ code: 'body_invalid', message: expect.stringContaining('larger chunks') })
  })

  it('takes a few microseconds for each chunk after a body is refused', async () => {
    const refuse = async (count: number): Promise<void> => {
      const text = `${begin}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(count)}0\r\n\r\n`
      expect(errorOf(await exchange(listener.port, text))).toMatchObject({ code: 'body_invalid' })
    }
    const bound = 25 + (await leastCpuTimeMs(0, () => refuse(1_100)))
    expect(await leastCpuTimeMs(bound, () => refuse(100_000))).toBeLessThan(bound)
  })

  it.each([
    'NONSENSE\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    'GET / HTTP/1.1\r\n\r\n',
  ])('answers %j with the error object', async text => {
    const answer = await exchange(listener.port, text)
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /)
    if (answer.includes('{')) expect(errorOf(answer)).toMatchObject({ object: 'error', type: 'invalid_request' })
  })

  it('refuses two Host headers with any values', async () => {
    for (const second of ['a', 'b']) {
      const answer = await exchange(listener.port, `GET /health/live HTTP/1.1\r\nHost: a\r\nhost: ${second}\r\n\r\n`)
      expect(answer).toMatch(/^HTTP\/1\.1 400 /)
      expect(errorOf(answer)).toMatchObject({ object: 'error', code: 'header_invalid' })
    }
    expect((await get('/health/live')).status).toBe(200)
  })

  it('refuses an invalid host', async () => {
    const answer = await exchange(listener.port, 'GET /things/a HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(errorOf(answer)).toMatchObject({ object: 'error', code: 'header_invalid' })
    expect(answer).toMatch(/^x-request-id: req_\d+\r$/im)
  })
})

describe('unreadable requests', () => {
  it('are logged without a stack, at most one line per second', async () => {
    const { app, ports, logged } = testApp()
    await using listener = await listen(app, { host: '127.0.0.1', port: 0 }, ports)
    const text = 'GET /things/a HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n'
    const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(listener.port, text)))
    expect(answers.every(answer => answer.startsWith('HTTP/1.1 400 '))).toBe(true)
    expect(logged).toHaveLength(1)
    expect(JSON.stringify(logged)).not.toMatch(/stack|at \w+/)
  })
})

describe('a slow body', () => {
  it.each([
    ['of known length', 'Content-Length: 100\r\n\r\n{'],
    ['of unknown length', 'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n'],
  ])('is answered with 408 and the error object: %s', async (_, rest) => {
    const { app, ports } = testApp({ requestTimeoutMs: 300 })
    await using listener = await listen(app, { host: '127.0.0.1', port: 0 }, ports)
    const head = `POST /things HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer all\r\nContent-Type: application/json\r\n${rest}`
    const { socket, received } = openExchange(listener.port, head)
    const answer = await until(received, text => text.includes('}'))
    socket.destroy()
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(errorOf(answer)).toMatchObject({ object: 'error', code: 'request_timeout', type: 'invalid_request' })
  })
})

describe('a service that is too busy for a request', () => {
  it('never answers 408 if the body arrived in time', async () => {
    const { app, ports } = testApp({ requestTimeoutMs: 200 })
    await using listener = await listen(app, { host: '127.0.0.1', port: 0 }, ports)
    const body = JSON.stringify({ name: 'a'.repeat(250), tariff_direction: 'IMPORT' }).padEnd(700_000)
    const head = 'POST /things HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer all\r\nContent-Type: application/json\r\n'
    const { socket, received } = openExchange(listener.port, `${head}Content-Length: ${body.length}\r\n\r\n`)
    await new Promise(resolve => setTimeout(resolve, 50))
    socket.write(body)
    const busyUntil = performance.now() + 300
    while (performance.now() < busyUntil);
    const answer = await until(received, text => text.includes('}'))
    socket.destroy()
    // The service may still answer requests that it finds in its last turn.
    expect(answer).toMatch(/^HTTP\/1\.1 (?:201|503) /)
  })

  it('answers 503 and not 408 while the body waits for inflation', async () => {
    const { app, ports } = testApp({ requestTimeoutMs: 100 })
    await using listener = await listen(app, { host: '127.0.0.1', port: 0 }, ports)
    const headers = { authorization: 'Bearer all', 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const body = new Uint8Array(gzipSync(JSON.stringify({ name: 'a' }).padEnd(2 ** 20)))
    const post = async () =>
      (await fetch(`http://127.0.0.1:${listener.port}/things`, { method: 'POST', headers, body })).status
    const statuses = new Set(await Promise.all(Array.from({ length: 400 }, post)))
    expect(statuses).toContain(503)
    expect(statuses).not.toContain(408)
  })
})

describe('announced bodies that never arrive', () => {
  /** Open submissions of a token that announce the most they may and send one byte. */
  const open = (port: number, token: string, count: number) =>
    Array.from({ length: count }, () =>
      openExchange(
        port,
        `PUT /meters/interval HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 16000000\r\n\r\n[`,
      ),
    )
  const submit = async (port: number, token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    return (
      await fetch(`http://127.0.0.1:${port}/meters/interval`, { method: 'PUT', headers, body: '[]'.padEnd(300_000) })
    ).status
  }

  it('do not block submissions of other accounts or their own', async () => {
    const { app, ports } = testApp({ admission: { maxSubmissionBytes: 64_000_000, maxConcurrentReads: 8 } })
    await using listener = await listen(app, { host: '127.0.0.1', port: 0 }, ports)
    const connections = ['live', 'live-other', 'all', 'all-twice'].flatMap(token => open(listener.port, token, 10))
    await new Promise(resolve => setTimeout(resolve, 200))
    const statuses = await Promise.all(
      ['live', 'live-other', 'all', 'all-twice'].map(token => submit(listener.port, token)),
    )
    for (const { socket } of connections) socket.destroy()
    expect(statuses).toEqual([200, 200, 200, 200])
  })

  it('are admitted again up to the capacity for their bytes', async () => {
    const { app, ports } = testApp({ admission: { maxSubmissionBytes: 32_000_000, maxConcurrentReads: 8 } })
    await using listener = await listen(app, { host: '127.0.0.1', port: 0 }, ports)
    const connections = [...open(listener.port, 'live', 1), ...open(listener.port, 'live-other', 1)]
    await new Promise(resolve => setTimeout(resolve, 100))
    expect(await submit(listener.port, 'live')).toBe(200)
    for (const { socket } of connections) socket.write(']'.padEnd(15_999_999))
    const answers = await Promise.all(connections.map(({ received }) => until(received, text => text.includes('}'))))
    for (const { socket } of connections) socket.destroy()
    expect(answers.map(answer => answer.slice(0, 12))).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200'])
  })
})
