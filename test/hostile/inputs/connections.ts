import { create } from '../fixtures.ts'
import { type HostileInput, playCopies, repeat } from '../input.ts'
import { keepConnectionsOpen, sendBytes } from '../raw-socket.ts'

const subject = 'connections'
const openMs = 2_000

const lines = (...parts: readonly string[]): string => parts.join('\r\n')

/** Many connections, slow connections, and bytes that are not HTTP. */
export const connections: readonly HostileInput[] = [
  {
    subject,
    name: 'bodies sent byte by byte',
    size: 300,
    unit: 'connections',
    growsTo: null,
    statuses: [200],
    isShort: true,
    open: async ({ serviceUrl, hostile }, size) => {
      const head = lines(
        'PUT /meters/interval HTTP/1.1',
        'Host: wattledger',
        `Authorization: ${hostile.authorization}`,
        'Content-Type: application/json',
        'Content-Length: 1000000',
        '',
        '[',
      )
      return async () => [await keepConnectionsOpen(serviceUrl, size, head, openMs)]
    },
  },
  {
    subject,
    name: 'headers sent byte by byte',
    size: 500,
    unit: 'connections',
    growsTo: null,
    statuses: [200],
    open:
      async ({ serviceUrl }, size) =>
      async () => [await keepConnectionsOpen(serviceUrl, size, 'GET / HTTP/1.1\r\nX-Slow: ', openMs)],
  },
  {
    subject,
    name: 'requests on one connection without waiting',
    size: 2_000,
    unit: 'requests',
    statuses: [200],
    open: async ({ serviceUrl }, size) => {
      const bytes = repeat(size - 1, 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n')
      return async () => [
        await sendBytes(serviceUrl, `${bytes}GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`),
      ]
    },
  },
  {
    subject,
    name: 'invalid request targets',
    size: 300,
    unit: 'requests',
    growsTo: null,
    statuses: [0, 400, 404],
    isShort: true,
    open: async ({ serviceUrl }, size) => {
      const targets = ['http://[', '*', '//', 'http://a:b:c/', '/%', '/\\..\\', 'a:80']
      const request = (at: number): string =>
        `GET ${targets[at % targets.length]} HTTP/1.1\r\nHost: [::x\r\nConnection: close\r\n\r\n`
      return () => Promise.all(Array.from({ length: size }, (_, at) => sendBytes(serviceUrl, request(at))))
    },
  },
  {
    subject,
    name: 'bytes that are not HTTP',
    size: 500,
    unit: 'connections',
    growsTo: null,
    statuses: [0, 400],
    open: async ({ serviceUrl }, size) => {
      const bytes = Buffer.alloc(1_000, 0x16)
      return () => Promise.all(Array.from({ length: size }, () => sendBytes(serviceUrl, bytes)))
    },
  },
  {
    subject,
    name: 'wrong keys at once',
    size: 100,
    unit: 'logins',
    growsTo: null,
    statuses: [401, 429],
    isShort: true,
    open: async ({ hostile }, size) => {
      const key = `sk_live_${repeat(48, '0')}`
      const basic = (at: number) =>
        `Basic ${Buffer.from(`acc_${at.toString(16).padStart(24, '0')}:${key}`).toString('base64')}`
      return playCopies(size, at => hostile.send('GET', '/login', undefined, { authorization: basic(at) }))
    },
  },
  {
    subject,
    name: 'forged tokens at once',
    size: 200,
    unit: 'requests',
    growsTo: null,
    statuses: [401, 429],
    open: async ({ hostile }, size) => {
      const [head = '', claims = ''] = hostile.authorization.split('.')
      const authorization = (at: number) => `${head}.${claims}.${Buffer.from(`signature ${at}`).toString('base64url')}`
      return playCopies(size, at => hostile.send('GET', '/customers', undefined, { authorization: authorization(at) }))
    },
  },
  {
    subject,
    name: 'requests above the rate limit',
    size: 1_500,
    unit: 'requests at once',
    growsTo: null,
    statuses: [200, 429, 503],
    isOnce: true,
    open: async ({ hostile }, size) => playCopies(size, () => hostile.send('GET', '/customers?limit=100')),
  },
  {
    subject,
    name: 'one Idempotency-Key at once',
    size: 100,
    unit: 'requests',
    growsTo: null,
    statuses: [201, 409],
    isOnce: true,
    open: async ({ hostile }, size) => {
      const headers = { 'idempotency-key': `key ${performance.now()}` }
      return playCopies(size, () => hostile.send('POST', '/customers', {}, headers))
    },
  },
  {
    subject,
    name: 'refused writes of existing objects, at once',
    size: 100,
    unit: 'requests',
    growsTo: null,
    statuses: [400],
    open: async ({ hostile }, size) => {
      const reference_id = `taken ${performance.now()}`
      await create(hostile, '/customers', { reference_id })
      return playCopies(size, () => hostile.send('POST', '/customers', { reference_id }))
    },
  },
]
