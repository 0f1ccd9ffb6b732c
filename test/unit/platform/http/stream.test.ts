import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createApp } from '../../../../services/platform/http/app.ts'
import { bind, defaultLimits } from '../../../../services/platform/http/binding.ts'
import { streamOf } from '../../../../services/platform/http/chunks.ts'
import { listen } from '../../../../services/platform/http/listen.ts'
import { retrieve, testApp } from '../../../support/http/http-app.ts'
import { until } from '../../../support/system/until.ts'

const { ports } = testApp()

const chunkBytes = 65_536

/** Counts of the chunks of one answer. */
type StreamCounts = { made: number; left: number }

/** Create counted chunks with a pause of `waitMs` before each. `left` counts discarded answers. */
const chunksOf = (count: number, counts: StreamCounts, waitMs = 0): AsyncIterableIterator<Uint8Array<ArrayBuffer>> => {
  const chunks: AsyncIterableIterator<Uint8Array<ArrayBuffer>> = {
    [Symbol.asyncIterator]: () => chunks,
    next: async () => {
      if (waitMs > 0) await sleep(waitMs)
      if (counts.made === count) return { done: true, value: undefined }
      counts.made += 1
      return { done: false, value: new Uint8Array(chunkBytes).fill(97 + (counts.made % 26)) }
    },
    return: async () => {
      counts.left += 1
      return { done: true, value: undefined }
    },
  }
  return chunks
}

const appOf = (
  count: number,
  counts: StreamCounts,
  more: { readonly headMs?: number; readonly reads?: number; readonly timeoutMs?: number } = {},
) => {
  const { headMs = 0, reads = 128, timeoutMs = 30_000 } = more
  const binding = bind(retrieve, async () => {
    await sleep(headMs)
    return { ok: true, serialized: { chunks: chunksOf(count, counts) } }
  })
  const limits = {
    ...defaultLimits,
    requestTimeoutMs: timeoutMs,
    admission: { ...defaultLimits.admission, maxConcurrentReads: reads },
  }
  return createApp([binding], [], ports, limits)
}

const get = (headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
  ['http://test/things/a', { method, headers: { authorization: 'Bearer all', ...headers } }] as const

const whole = (count: number): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, index) => new Uint8Array(chunkBytes).fill(97 + ((index + 1) % 26))))

describe('a streamed answer', () => {
  it('is sent whole, plain or as gzip', async () => {
    const plain = await appOf(20, { made: 0, left: 0 }).request(...get())
    expect([plain.status, plain.headers.get('content-length'), plain.headers.get('vary')]).toEqual([
      200,
      null,
      'Accept-Encoding',
    ])
    expect(Buffer.from(await plain.arrayBuffer()).equals(whole(20))).toBe(true)
    const coded = await appOf(20, { made: 0, left: 0 }).request(...get({ 'accept-encoding': 'gzip' }))
    expect(coded.headers.get('content-encoding')).toBe('gzip')
    expect(gunzipSync(Buffer.from(await coded.arrayBuffer())).equals(whole(20))).toBe(true)
  })

  it('is discarded for HEAD and after a timeout', async () => {
    const head = { made: 0, left: 0 }
    const answer = await appOf(20, head).request(...get({}, 'HEAD'))
    expect([answer.status, await answer.text(), head]).toEqual([200, '', { made: 0, left: 1 }])
    const late = { made: 0, left: 0 }
    const refused = await appOf(20, late, { headMs: 100, timeoutMs: 20 }).request(...get())
    expect(refused.status).toBe(503)
    await until(
      () => late.left,
      left => left === 1,
    )
  })

  it('counts as a concurrent read until its end', async () => {
    const counts = { made: 0, left: 0 }
    const app = appOf(3, counts, { reads: 2 })
    const first = await app.request(...get())
    expect((await app.request(...get())).status).toBe(503)
    await first.arrayBuffer()
    expect((await app.request(...get())).status).toBe(200)
  })

  it('waits for a client that reads nothing, with few chunks in memory, and is discarded at its disconnect', async () => {
    const counts = { made: 0, left: 0 }
    const dependencies = { now: ports.now, newRequestId: ports.newRequestId, log: ports.log }
    await using listener = await listen(appOf(10_000, counts), { host: '127.0.0.1', port: 0 }, dependencies)
    const socket = connect(listener.port, '127.0.0.1')
    socket.pause()
    socket.on('error', () => undefined)
    socket.write('GET /things/a HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer all\r\n\r\n')
    await until(
      () => counts.made,
      made => made > 0,
    )
    await sleep(500)
    // The buffers of the system take some MB of the 640 MB.
    expect(counts.made).toBeLessThan(400)
    const made = counts.made
    await sleep(200)
    expect(counts.made).toBe(made)
    socket.destroy()
    await until(
      () => counts.left,
      left => left === 1,
    )
  })

  it('ends the work of a client that disconnects before the answer', async () => {
    let signal: AbortSignal | null = null
    const binding = bind(retrieve, async request => {
      signal = request.signal
      await sleep(60_000, undefined, { signal: request.signal })
      return { ok: true, serialized: { bytes: new Uint8Array() } }
    })
    const dependencies = { now: ports.now, newRequestId: ports.newRequestId, log: ports.log }
    await using listener = await listen(createApp([binding], [], ports), { host: '127.0.0.1', port: 0 }, dependencies)
    const socket = connect(listener.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write('GET /things/a HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer all\r\n\r\n')
    await until(
      () => signal,
      one => one !== null,
    )
    socket.destroy()
    await until(
      () => signal?.aborted,
      aborted => aborted === true,
    )
  })

  it('resets the connection if its work fails, so that a client never takes a part for the whole', async () => {
    const chunks = async function* (): AsyncGenerator<Uint8Array<ArrayBuffer>> {
      yield new Uint8Array(10)
      throw new Error('The engine stopped.')
    }
    const binding = bind(retrieve, async () => ({ ok: true, serialized: { chunks: chunks() } }))
    const dependencies = { now: ports.now, newRequestId: ports.newRequestId, log: ports.log }
    await using listener = await listen(createApp([binding], [], ports), { host: '127.0.0.1', port: 0 }, dependencies)
    const read = async (): Promise<number> => {
      const answer = await fetch(`http://127.0.0.1:${listener.port}/things/a`, {
        headers: { Authorization: 'Bearer all' },
      })
      return (await answer.arrayBuffer()).byteLength
    }
    await expect(read()).rejects.toThrow()
  })

  it('is cut off if the client is too slow', async () => {
    for (const limits of [
      { stallTimeoutMs: 30, totalTimeoutMs: 60_000 },
      { stallTimeoutMs: 60_000, totalTimeoutMs: 30 },
    ]) {
      const counts = { made: 0, left: 0 }
      const reader = streamOf(chunksOf(100, counts), limits).getReader()
      await reader.read()
      await sleep(100)
      await expect(reader.read()).rejects.toThrow('The client')
      expect(counts).toEqual({ made: 1, left: 1 })
    }
  })
})
