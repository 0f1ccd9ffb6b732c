import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { measureCpuTime } from '../../support/cpu/measure-cpu-time.ts'
import { errorFaults } from '../../support/http/error-object.ts'
import { type RawReply, rawSender } from '../../support/http/raw-http.ts'
import { type SlowEnd, slowClient } from '../../support/http/slow-client.ts'
import { tokenOf } from '../../support/registry/accounts.ts'
import { startPrepared } from '../../support/system/prepared-folder.ts'
import { dataFolder, type RunningSystem, removeData } from '../../support/system/running-system.ts'

const folder = dataFolder()
const mebibyte = 2 ** 20
const slowClients = 50

let system: RunningSystem | undefined
let headers: Readonly<Record<string, string>> = {}
/** Clients that send a header or a body one byte at a time. They start first and are checked last. */
let slow: { readonly inHeaders: Promise<readonly SlowEnd[]>; readonly inBody: Promise<readonly SlowEnd[]> } | undefined

const running = (): RunningSystem => {
  if (system === undefined) throw new Error('the system does not run')
  return system
}

beforeAll(async () => {
  system = await startPrepared(folder)
  const { sandbox } = system
  headers = { authorization: `Bearer ${await tokenOf(sandbox, sandbox.test_key)}`, 'content-type': 'application/json' }
  const begin = 'PUT /meters/interval HTTP/1.1\r\nHost: wattledger\r\n'
  const many = (part: string) =>
    Promise.all(Array.from({ length: slowClients }, () => slowClient(sandbox.base_url, part, 500)))
  const withBody = `${begin}Authorization: ${headers['authorization']}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n[`
  slow = { inHeaders: many(`${begin}X-Slow: `), inBody: many(withBody) }
})

afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  removeData(folder)
})

/** Return the memory of the running process in bytes, from the kernel. */
const residentBytes = (): number => {
  const [, kibibyte] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${running().process.pid}/status`, 'utf8')) ?? []
  return Number(kibibyte) * 1_024
}

/** Send bodies, 32 at a time. Returns the answers and the maximum increase of memory during the requests. */
const watchMemory = async (bodies: readonly (string | Uint8Array)[], more: Readonly<Record<string, string>>) => {
  const sender = rawSender(running().sandbox.base_url, 32)
  const before = residentBytes()
  let maxBytes = before
  const watch = setInterval(() => (maxBytes = Math.max(maxBytes, residentBytes())), 5)
  const send = (body: string | Uint8Array) =>
    sender.send({ method: 'PUT', path: '/meters/interval', headers: { ...headers, ...more }, body })
  const replies = await Promise.all(bodies.map(send))
  clearInterval(watch)
  sender.close()
  return { replies, grownBytes: maxBytes - before }
}

const statusAndCode = (reply: RawReply) => {
  expect(errorFaults(reply)).toEqual([])
  return [reply.status, (JSON.parse(reply.text) as { readonly code: string }).code]
}

describe('a body that expands to a very large size', () => {
  it('is decompressed only up to the limit, and memory does not grow', { timeout: 120_000 }, async () => {
    const member = gzipSync(Buffer.alloc(16 * mebibyte, ' '))
    // Many members in one body: 1 GiB in 1 MiB.
    const bomb = Buffer.concat(Array.from({ length: 64 }, () => member))
    expect(bomb.length).toBeLessThan(2 * mebibyte)
    const gzip = { 'content-encoding': 'gzip' }
    await watchMemory([bomb, bomb], gzip)
    const { replies, grownBytes } = await watchMemory(
      Array.from({ length: 64 }, () => bomb),
      gzip,
    )
    // The service does not read bodies without free capacity.
    const answers = new Set(replies.map(reply => statusAndCode(reply).join(' ')))
    expect([...answers].filter(answer => answer !== '503 unavailable')).toEqual(['413 body_too_large'])
    // All bodies decompressed at once would take 1 GiB. The limit leaves space for garbage on a busy machine.
    expect(grownBytes / mebibyte).toBeLessThan(256)
  })

  it('with a hundred thousand levels or a million members is refused quickly', {
    timeout: 120_000,
  }, async () => {
    const deep = '['.repeat(4 * mebibyte)
    const wide = `[{${Array.from({ length: 500_000 }, (_, at) => `"m${at}":1`).join(',')}}]`
    const long = `[{"value":${'9'.repeat(8 * mebibyte)}}]`
    const quotes = `["${'\\u0061'.repeat(2 * mebibyte)}`
    // One at a time: together they exceed the capacity of an account in test mode.
    const sendInTurn = async (): Promise<readonly RawReply[]> => {
      const replies: RawReply[] = []
      for (const body of [deep, quotes, wide, long]) replies.push(...(await watchMemory([body], {})).replies)
      return replies
    }
    const { value: replies, ms } = await measureCpuTime(sendInTurn)
    expect(ms).toBeLessThan(10_000)
    expect(replies.slice(0, 3).map(statusAndCode)).toEqual(Array.from({ length: 3 }, () => [400, 'body_invalid']))
    // A member of a submission that is too long fails alone.
    for (const { status, text } of replies.slice(3))
      expect([status, text]).toEqual([200, expect.stringContaining('"records_accepted":0')])
  })
})

describe('slow clients', () => {
  it('do not delay others', { timeout: 60_000 }, async () => {
    const sender = rawSender(running().sandbox.base_url, 4)
    const ask = () =>
      Promise.all(Array.from({ length: 20 }, () => sender.send({ method: 'GET', path: '/account', headers })))
    const { value: replies, ms } = await measureCpuTime(ask)
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
    expect(ms).toBeLessThan(3_000)
    sender.close()
  })

  it('are disconnected: after 15 s for the headers, after 30 s for the whole request', {
    timeout: 90_000,
  }, async () => {
    const [inHeaders = [], inBody = []] = await Promise.all([slow?.inHeaders, slow?.inBody])
    expect([inHeaders.length, inBody.length]).toEqual([slowClients, slowClients])
    for (const { text, afterMs } of inHeaders) {
      expect(text).toContain('"code":"request_timeout"')
      expect(afterMs).toBeLessThan(28_000)
    }
    for (const { text, afterMs } of inBody) {
      expect(text).toMatch(/^HTTP\/1\.1 (?:408|503) /)
      expect(text).toContain('"object":"error"')
      expect(afterMs).toBeLessThan(55_000)
    }
  })
})
