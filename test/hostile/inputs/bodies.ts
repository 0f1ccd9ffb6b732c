import { gzipSync } from 'node:zlib'
import { createLocation } from '../fixtures.ts'
import { type HostileInput, playOf, repeat } from '../input.ts'
import { sendChunks } from '../raw-socket.ts'

const subject = 'bodies'
const mebibyte = 2 ** 20
const gzip = { 'content-encoding': 'gzip' }
const ndjson = { 'content-type': 'application/x-ndjson' }

const membersOf = (count: number, value: string, name = (at: number): string => `m${at}`): string =>
  Array.from({ length: count }, (_, at) => `"${name(at)}":${value}`).join(',')

/** Return the text as JSON escapes. */
const escaped = (text: string): string =>
  [...text].map(letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')

const submission = 16 * mebibyte

type Body = string | Uint8Array

/** Return an input with one body. The default path accepts 16 MiB. */
const bodyInput = (
  name: string,
  size: number,
  unit: string,
  body: (size: number) => Body,
  more: Partial<HostileInput> & {
    readonly path?: string
    readonly method?: string
    readonly headers?: Readonly<Record<string, string>>
  } = {},
): HostileInput => {
  const { path = '/meters/interval', method = 'PUT', headers = {}, ...rest } = more
  const open: HostileInput['open'] = async ({ hostile }, requestedSize) => {
    const bytes = body(requestedSize)
    return playOf(() => hostile.send(method, path, bytes, headers))
  }
  return { subject, name, size, unit, statuses: [400], open, ...rest }
}

const emptyGzip = gzipSync(Buffer.alloc(0))

/** Bodies with unexpected content, and bodies at the limits of size, depth and encoding. */
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
      return playOf(() => hostile.send('POST', '/customers', body))
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
      return playOf(() => hostile.send('POST', '/customers', body))
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
      return playOf(() => hostile.send('POST', '/customers', body))
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
      return playOf(() => hostile.send('PUT', '/meters/interval', body, gzip))
    },
  },
  {
    subject,
    name: 'empty lines of NDJSON, gzipped',
    size: 16 * mebibyte,
    unit: 'bytes',
    statuses: [400],
    isShort: true,
    open: async ({ hostile }, size) => {
      const body = gzipSync(Buffer.alloc(size, '\n'))
      return playOf(() => hostile.send('PUT', '/meters/interval', body, { ...gzip, ...ndjson }))
    },
  },
  {
    subject,
    name: 'one request to Connect without a token',
    size: mebibyte - 100,
    unit: 'bytes',
    statuses: [400, 413],
    isShort: true,
    open: async ({ hostile }, size) => {
      const body = `{"route":"session_start","data":{${membersOf(Math.floor(size / 12), '[]')}}}`.slice(0, size)
      return playOf(() => hostile.send('POST', '/connect', body, { authorization: '' }))
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
      const chunks = repeat(size, '1\r\n \r\n')
      return async () => [await sendChunks(target, 'PUT /meters/interval', chunks)]
    },
  },
  bodyInput('nested lists', submission, 'bytes', size => repeat(size, '[')),
  bodyInput(
    'escapes in one text',
    submission,
    'bytes',
    size => `["${repeat(Math.floor((size - 4) / 6), '\\u0061')}"]`,
    {
      statuses: [200],
    },
  ),
  bodyInput('escaped quotes', submission, 'bytes', size => `["${repeat(Math.floor((size - 4) / 2), '\\"')}"]`, {
    statuses: [200],
  }),
  bodyInput('bytes that are not UTF-8', submission, 'bytes', size => Buffer.alloc(size, 0xff)),
  bodyInput(
    'characters of four bytes',
    submission,
    'bytes',
    size => `["${repeat(Math.floor((size - 4) / 4), '😀')}"]`,
    {
      statuses: [200],
    },
  ),
  bodyInput('lone surrogates', submission, 'bytes', size => `["${repeat(Math.floor((size - 4) / 6), '\\ud800')}"]`, {
    statuses: [200],
  }),
  bodyInput('elements that are not records', submission / 2 - 1, 'elements', size => `[${repeat(size - 1, '0,')}0]`),
  bodyInput('records without members', 10_000, 'records', size => `[${repeat(size - 1, '{},')}{}]`, {
    statuses: [200],
  }),
  bodyInput('lines that are not records', 10_000, 'lines', size => repeat(size, `{"a":"${repeat(1_600, 'x')}"}\n`), {
    headers: ndjson,
    statuses: [200],
  }),
  bodyInput('one member many times', 100_000, 'members', size => `{${repeat(size - 1, '"a":1,')}"a":1}`, {
    path: '/customers',
    method: 'POST',
  }),
  bodyInput(
    'the name of an unknown member',
    mebibyte - 100,
    'bytes',
    size => `{"${repeat(size, 'reference')}"}`.slice(0, size).concat('":1}'),
    {
      path: '/customers',
      method: 'POST',
    },
  ),
  bodyInput(
    'the reference of a customer',
    mebibyte - 100,
    'bytes',
    size => `{"reference_id":"${repeat(Math.floor(size / 4) - 10, '😀')}"}`,
    {
      path: '/customers',
      method: 'POST',
    },
  ),
  bodyInput(
    'a country code of spaces',
    mebibyte - 100,
    'bytes',
    size => `{"postal_address":{"city":"Berlin","country_code":"${repeat(size - 60, ' ')}"}}`,
    {
      path: '/locations',
      method: 'POST',
    },
  ),
  bodyInput(
    'a webhook address',
    mebibyte - 100,
    'bytes',
    size => `{"url":"https://${repeat(Math.floor((size - 60) / 2), 'a.')}","event_types":["*"]}`,
    {
      path: '/webhooks',
      method: 'POST',
    },
  ),
  bodyInput(
    'event types of an endpoint',
    58_000,
    'types',
    size => `{"url":"https://1.1.1.1/","event_types":[${repeat(size - 1, '"customer.craete",')}"a"]}`,
    {
      path: '/webhooks',
      method: 'POST',
    },
  ),
  bodyInput(
    'parts of an event type',
    mebibyte - 100,
    'bytes',
    size => `{"url":"https://1.1.1.1/","event_types":["${repeat(Math.floor((size - 60) / 2), 'a.')}!"]}`,
    {
      path: '/webhooks',
      method: 'POST',
    },
  ),
  bodyInput(
    'gzip members without content',
    50_000,
    'members',
    size => Buffer.concat(Array.from({ length: size }, () => emptyGzip)),
    {
      headers: gzip,
    },
  ),
  {
    ...bodyInput(
      'gzip that inflates to a thousand times its size',
      64,
      'MiB inflated',
      size => Buffer.concat(Array.from({ length: size }, () => gzipSync(Buffer.alloc(mebibyte, ' ')))),
      { headers: gzip, statuses: [413], growsTo: 14 },
    ),
    isShort: true,
  },
  {
    ...bodyInput('parameters of a media type', 15_000, 'bytes', () => '[]', { statuses: [400, 415] }),
    open: async ({ hostile }, size) => {
      const headers = { 'content-type': `application/json${repeat(Math.floor(size / 4), ';a=b')}` }
      return playOf(() => hostile.send('PUT', '/meters/interval', '[]', headers))
    },
  },
  {
    subject,
    name: 'chunks of one byte with extensions',
    size: 10_000,
    unit: 'chunks',
    statuses: [0, 400, 413],
    open: async (target, size) => {
      const chunks = repeat(size, `1;${repeat(100, 'a')}\r\n \r\n`)
      return async () => [await sendChunks(target, 'PUT /meters/interval', chunks)]
    },
  },
  {
    subject,
    name: 'records of locations that do not exist',
    size: 10_000,
    unit: 'records',
    statuses: [200],
    open: async ({ hostile }, size) => {
      const ids = Array.from({ length: size }, (_, at) => `loc_${at.toString(16).padStart(24, '0')}`)
      const times = { start_time: '2025-01-01T00:00:00Z', end_time: '2025-01-01T01:00:00Z' }
      const body = JSON.stringify(ids.map(location_id => ({ location_id, units: 'KWH', value: 1, ...times })))
      return playOf(() => hostile.send('PUT', '/meters/interval', body))
    },
  },
  {
    subject,
    name: 'one record many times in a submission',
    size: 10_000,
    unit: 'records',
    statuses: [200],
    open: async ({ hostile }, size) => {
      const location = await createLocation(hostile)
      const times = { start_time: '2025-01-01T00:00:00Z', end_time: '2025-01-01T01:00:00Z' }
      const one = { location_id: location, units: 'KWH', value: 1, ...times }
      const body = JSON.stringify(Array.from({ length: size }, () => one))
      return playOf(() => hostile.send('PUT', '/meters/interval', body))
    },
  },
]
