import { gzipSync } from 'node:zlib'
import { createLocation } from '../fixtures.ts'
import { type HostileInput, sends, times } from '../input.ts'
import { sendChunks } from '../raw-socket.ts'

const subject = 'bodies'
const mebibyte = 2 ** 20
const submission = 16 * mebibyte
const gzip = { 'content-encoding': 'gzip' }
const ndjson = { 'content-type': 'application/x-ndjson' }

type Body = string | Uint8Array

/** An input that is one body; the path takes 16 MiB where none is named. */
const sendsBody = (
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
  const open: HostileInput['open'] = async ({ hostile }, of) => {
    const bytes = body(of)
    return sends(() => hostile.send(method, path, bytes, headers))
  }
  return { subject, name, size, unit, statuses: [400], open, ...rest }
}

const emptyGzip = gzipSync(Buffer.alloc(0))

/** Bodies at the limits of size, depth and coding. */
export const moreBodies: readonly HostileInput[] = [
  sendsBody('levels of lists', submission, 'bytes', size => times(size, '[')),
  sendsBody('escapes of one text', submission, 'bytes', size => `["${times(Math.floor((size - 4) / 6), '\\u0061')}"]`, {
    statuses: [200],
  }),
  sendsBody('quotes that are escaped', submission, 'bytes', size => `["${times(Math.floor((size - 4) / 2), '\\"')}"]`, {
    statuses: [200],
  }),
  sendsBody('bytes that are no UTF-8', submission, 'bytes', size => Buffer.alloc(size, 0xff)),
  sendsBody('characters of four bytes', submission, 'bytes', size => `["${times(Math.floor((size - 4) / 4), '😀')}"]`, {
    statuses: [200],
  }),
  sendsBody('lone surrogates', submission, 'bytes', size => `["${times(Math.floor((size - 4) / 6), '\\ud800')}"]`),
  sendsBody('elements that are no records', submission / 2 - 1, 'elements', size => `[${times(size - 1, '0,')}0]`),
  sendsBody('records without members', 10_000, 'records', size => `[${times(size - 1, '{},')}{}]`, { statuses: [200] }),
  sendsBody('lines that are no records', 10_000, 'lines', size => times(size, `{"a":"${times(1_600, 'x')}"}\n`), {
    headers: ndjson,
    statuses: [200],
  }),
  sendsBody('one member again and again', 100_000, 'members', size => `{${times(size - 1, '"a":1,')}"a":1}`, {
    path: '/customers',
    method: 'POST',
  }),
  sendsBody(
    'the name of an unknown member',
    mebibyte - 100,
    'bytes',
    size => `{"${times(size, 'reference')}"}`.slice(0, size).concat('":1}'),
    {
      path: '/customers',
      method: 'POST',
    },
  ),
  sendsBody(
    'the reference of a customer',
    mebibyte - 100,
    'bytes',
    size => `{"reference_id":"${times(Math.floor(size / 4) - 10, '😀')}"}`,
    {
      path: '/customers',
      method: 'POST',
    },
  ),
  sendsBody(
    'values of a country code',
    mebibyte - 100,
    'bytes',
    size => `{"postal_address":{"city":"Berlin","country_code":"${times(size - 60, ' ')}"}}`,
    {
      path: '/locations',
      method: 'POST',
    },
  ),
  sendsBody(
    'a webhook address',
    mebibyte - 100,
    'bytes',
    size => `{"url":"https://${times(Math.floor((size - 60) / 2), 'a.')}","event_types":["*"]}`,
    {
      path: '/webhooks',
      method: 'POST',
    },
  ),
  sendsBody(
    'event types of an endpoint',
    58_000,
    'types',
    size => `{"url":"https://1.1.1.1/","event_types":[${times(size - 1, '"customer.craete",')}"a"]}`,
    {
      path: '/webhooks',
      method: 'POST',
    },
  ),
  sendsBody(
    'parts of an event type',
    mebibyte - 100,
    'bytes',
    size => `{"url":"https://1.1.1.1/","event_types":["${times(Math.floor((size - 60) / 2), 'a.')}!"]}`,
    {
      path: '/webhooks',
      method: 'POST',
    },
  ),
  sendsBody(
    'gzip members without content',
    50_000,
    'members',
    size => Buffer.concat(Array.from({ length: size }, () => emptyGzip)),
    {
      headers: gzip,
    },
  ),
  {
    ...sendsBody(
      'a gzip of a thousand times its size',
      64,
      'MiB inflated',
      size => Buffer.concat(Array.from({ length: size }, () => gzipSync(Buffer.alloc(mebibyte, ' ')))),
      { headers: gzip, statuses: [413], growsTo: 14 },
    ),
    isShort: true,
  },
  {
    ...sendsBody('parameters of a media type', 15_000, 'bytes', () => '[]', { statuses: [400, 415] }),
    open: async ({ hostile }, size) => {
      const headers = { 'content-type': `application/json${times(Math.floor(size / 4), ';a=b')}` }
      return sends(() => hostile.send('PUT', '/meters/interval', '[]', headers))
    },
  },
  {
    subject,
    name: 'chunks of one byte with extensions',
    size: 10_000,
    unit: 'chunks',
    statuses: [0, 400, 413],
    open: async (target, size) => {
      const chunks = times(size, `1;${times(100, 'a')}\r\n \r\n`)
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
      return sends(() => hostile.send('PUT', '/meters/interval', body))
    },
  },
  {
    subject,
    name: 'one record again and again in a submission',
    size: 10_000,
    unit: 'records',
    statuses: [200],
    open: async ({ hostile }, size) => {
      const location = await createLocation(hostile)
      const times = { start_time: '2025-01-01T00:00:00Z', end_time: '2025-01-01T01:00:00Z' }
      const one = { location_id: location, units: 'KWH', value: 1, ...times }
      const body = JSON.stringify(Array.from({ length: size }, () => one))
      return sends(() => hostile.send('PUT', '/meters/interval', body))
    },
  },
]
