import { gzipSync } from 'node:zlib'
import { type HostileInput, sends, times } from '../input.ts'
import { sendChunks } from '../raw-socket.ts'

const subject = 'bodies'
const mebibyte = 2 ** 20
const gzip = { 'content-encoding': 'gzip' }
const ndjson = { 'content-type': 'application/x-ndjson' }

const membersOf = (count: number, value: string, name = (at: number): string => `m${at}`): string =>
  Array.from({ length: count }, (_, at) => `"${name(at)}":${value}`).join(',')

/** The text as JSON escapes. */
const escaped = (text: string): string =>
  [...text].map(letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')

/** Bodies with more in them than a reader expects. */
export const bodies: readonly HostileInput[] = [
  {
    subject,
    name: 'members of metadata',
    size: 70_000,
    unit: 'members',
    statuses: [400],
    isShort: true,
    open: async ({ hostile }, size) => {
      const body = `{"metadata":{${membersOf(size, '"v"')}}}`
      return sends(() => hostile.send('POST', '/customers', body))
    },
  },
  {
    subject,
    name: 'unknown members',
    size: 80_000,
    unit: 'members',
    statuses: [400],
    isShort: true,
    open: async ({ hostile }, size) => {
      const body = `{${membersOf(size, '0')}}`
      return sends(() => hostile.send('POST', '/customers', body))
    },
  },
  {
    subject,
    name: 'escaped member names',
    size: 24_000,
    unit: 'members',
    statuses: [400],
    open: async ({ hostile }, size) => {
      const body = `{${membersOf(size, '0', at => escaped(`m${at}`))}}`
      return sends(() => hostile.send('POST', '/customers', body))
    },
  },
  {
    subject,
    name: 'spaces, gzipped',
    size: 16 * mebibyte,
    unit: 'bytes',
    statuses: [400],
    isShort: true,
    open: async ({ hostile }, size) => {
      const body = gzipSync(Buffer.alloc(size, ' '))
      return sends(() => hostile.send('PUT', '/meters/interval', body, gzip))
    },
  },
  {
    subject,
    name: 'line ends of NDJSON, gzipped',
    size: 16 * mebibyte,
    unit: 'bytes',
    statuses: [400],
    isShort: true,
    open: async ({ hostile }, size) => {
      const body = gzipSync(Buffer.alloc(size, '\n'))
      return sends(() => hostile.send('PUT', '/meters/interval', body, { ...gzip, ...ndjson }))
    },
  },
  {
    subject,
    name: 'one call of Connect, not signed in',
    size: mebibyte - 100,
    unit: 'bytes',
    statuses: [400, 413],
    isShort: true,
    open: async ({ hostile }, size) => {
      const body = `{"route":"session_start","data":{${membersOf(Math.floor(size / 12), '[]')}}}`.slice(0, size)
      return sends(() => hostile.send('POST', '/connect', body, { authorization: '' }))
    },
  },
  {
    subject,
    name: 'chunks of one byte',
    size: 100_000,
    unit: 'chunks',
    statuses: [400, 413],
    isShort: true,
    open: async (target, size) => {
      const chunks = times(size, '1\r\n \r\n')
      return async () => [await sendChunks(target, 'PUT /meters/interval', chunks)]
    },
  },
]
