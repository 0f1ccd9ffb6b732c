import { type HostileInput, sends, times } from '../input.ts'

const subject = 'paths and headers'
const unsigned = { authorization: '' }
/** Beyond what a path, a query or a header may have: the server takes 16 KiB of headers. */
const long = 15_000

/** An input that is one request without a body. */
const asks = (
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
  size: long,
  unit: 'bytes',
  statuses,
  open: async ({ hostile }, size) => {
    const { path, method = 'GET', headers = {} } = request(size)
    return sends(() => hostile.send(method, path, undefined, headers))
  },
  ...more,
})

/** Repeat a text up to so many bytes. */
const filled = (size: number, text: string): string => times(Math.ceil(size / text.length), text).slice(0, size)

/** Paths, queries and headers as long as the server takes them. */
export const paths: readonly HostileInput[] = [
  asks(
    'slashes behind the console, not signed in',
    [302, 303, 404, 414],
    size => ({ path: `/console${times(size, '/')}x`, headers: unsigned }),
    { isShort: true },
  ),
  asks('slashes alone', [404, 414], size => ({ path: times(size, '/'), headers: unsigned })),
  asks('segments of a path', [404, 414], size => ({ path: filled(size, '/a') })),
  asks('dots of a path', [404, 414], size => ({ path: `/locations${filled(size, '/..')}/x` })),
  asks('percent signs of a path', [400, 404, 414], size => ({
    path: `/locations/${filled(size - 30, '%25').slice(0, -2)}`,
  })),
  asks('parameters of a query', [400, 414], size => ({ path: `/customers?${filled(size - 30, 'a=1&')}limit=1` })),
  asks('one parameter again and again', [400, 414], size => ({ path: `/customers?${filled(size - 30, 'limit=1&')}` })),
  asks('spaces in an instant of a query', [400, 414], size => ({
    path: `/meters/records?location_id=loc_1&start_time=2025-01-01T00:00:00.${filled(size - 100, '0')}+01:0x`,
  })),
  asks('where the sign-in page leads on to', [200, 414], size => ({
    path: `/console/sign-in?next=/console${filled(size - 60, '/a')}!`,
    headers: unsigned,
  })),
  asks('parts of a cookie', [200, 302, 303], size => ({
    path: '/console/sign-in',
    headers: { ...unsigned, cookie: filled(size, 'wattledger_console=a;') },
  })),
  asks('media types that are accepted', [200], size => ({
    path: '/customers',
    headers: { accept: filled(size, 'text/csv;q=0.1,') },
  })),
  asks('codings that are accepted', [200], size => ({
    path: '/customers',
    headers: { 'accept-encoding': filled(size, 'gzip;q=0.0001,') },
  })),
  asks('proxies on the way', [401], size => ({
    path: '/login',
    headers: { authorization: 'Basic eDp5', 'x-forwarded-for': filled(size, '1.1.1.1, ') },
  })),
  asks('dots of a token', [401], size => ({
    path: '/customers',
    headers: { authorization: `Bearer ${filled(size, 'a.')}` },
  })),
  asks('an account and key of Basic', [401, 429], size => ({
    path: '/login',
    headers: { authorization: `Basic ${Buffer.from(filled(Math.floor(size * 0.7), 'a:')).toString('base64')}` },
  })),
  asks('a request id and an API version', [422], size => ({
    path: '/customers',
    headers: { 'x-request-id': filled(size / 2, 'a-'), 'api-version': filled(size / 2, '2025-') },
  })),
]
