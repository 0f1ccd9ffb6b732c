import { type HostileInput, playOf, repeat } from '../input.ts'

const subject = 'paths and headers'
const unsigned = { authorization: '' }
/** Just below the limit of the server, which accepts 16 KiB of headers. */
const headerBytes = 15_000

/** Return an input with one request without a body. */
const requestInput = (
  name: string,
  statuses: readonly number[],
  request: (size: number) => {
    readonly path: string
    readonly method?: string
    readonly headers?: Readonly<Record<string, string>>
  },
  more: Partial<HostileInput> = {},
): HostileInput => ({
  subject,
  name,
  size: headerBytes,
  unit: 'bytes',
  statuses,
  open: async ({ hostile }, size) => {
    const { path, method = 'GET', headers = {} } = request(size)
    return playOf(() => hostile.send(method, path, undefined, headers))
  },
  ...more,
})

/** Repeat a text up to a number of bytes. */
const filled = (size: number, text: string): string => repeat(Math.ceil(size / text.length), text).slice(0, size)

/** Paths, queries and headers of the maximum length that the server accepts. */
export const paths: readonly HostileInput[] = [
  requestInput(
    'slashes after the path of the console, not signed in',
    [302, 303, 404, 414],
    size => ({ path: `/console${repeat(size, '/')}x`, headers: unsigned }),
    { isShort: true },
  ),
  requestInput('only slashes', [404, 414], size => ({ path: repeat(size, '/'), headers: unsigned })),
  requestInput('segments of a path', [404, 414], size => ({ path: filled(size, '/a') })),
  requestInput('dots of a path', [404, 414], size => ({ path: `/locations${filled(size, '/..')}/x` })),
  requestInput('percent signs of a path', [400, 404, 414], size => ({
    path: `/locations/${filled(size - 30, '%25').slice(0, -2)}`,
  })),
  requestInput('parameters of a query', [400, 414], size => ({
    path: `/customers?${filled(size - 30, 'a=1&')}limit=1`,
  })),
  requestInput('one parameter many times', [400, 414], size => ({
    path: `/customers?${filled(size - 30, 'limit=1&')}`,
  })),
  requestInput('spaces in an instant of a query', [400, 414], size => ({
    path: `/meters/records?location_id=loc_1&start_time=2025-01-01T00:00:00.${filled(size - 100, '0')}+01:0x`,
  })),
  requestInput('the next page after the sign-in', [200, 414], size => ({
    path: `/console/sign-in?next=/console${filled(size - 60, '/a')}!`,
    headers: unsigned,
  })),
  requestInput('parts of a cookie', [200, 302, 303], size => ({
    path: '/console/sign-in',
    headers: { ...unsigned, cookie: filled(size, 'wattledger_console=a;') },
  })),
  requestInput('accepted media types', [406], size => ({
    path: '/customers',
    headers: { accept: filled(size, 'text/csv;q=0.1,') },
  })),
  requestInput('accepted encodings', [200], size => ({
    path: '/customers',
    headers: { 'accept-encoding': filled(size, 'gzip;q=0.0001,') },
  })),
  requestInput('proxies in X-Forwarded-For', [401], size => ({
    path: '/login',
    headers: { authorization: 'Basic eDp5', 'x-forwarded-for': filled(size, '1.1.1.1, ') },
  })),
  requestInput('dots of a token', [401], size => ({
    path: '/customers',
    headers: { authorization: `Bearer ${filled(size, 'a.')}` },
  })),
  requestInput('account and key of a Basic header', [401, 429], size => ({
    path: '/login',
    headers: { authorization: `Basic ${Buffer.from(filled(Math.floor(size * 0.7), 'a:')).toString('base64')}` },
  })),
  requestInput('a request id and an API version', [422], size => ({
    path: '/customers',
    headers: { 'x-request-id': filled(size / 2, 'a-'), 'api-version': filled(size / 2, '2025-') },
  })),
]
