import { createPriced, scheduleOf } from '../fixtures.ts'
import { type HostileInput, playCopies, playOf, repeat } from '../input.ts'
import type { Target } from '../target.ts'

const subject = 'console'

type Visitor = { readonly cookie: string; readonly csrf: string }

const cookieOf = (headers: Readonly<Record<string, unknown>>): string => {
  const set = headers['set-cookie']
  return String(Array.isArray(set) ? set[0] : set).split(';')[0] ?? ''
}

const formHeaders = ({ serviceUrl }: Target, cookie: string) => ({
  authorization: '',
  cookie,
  origin: serviceUrl,
  'content-type': 'application/x-www-form-urlencoded',
})

const csrfOf = (text: string): string => /name="csrf" value="(\w+)"/.exec(text)?.[1] ?? ''

/** Open the sign-in page as a new visitor. */
const openEntry = async ({ hostile }: Target): Promise<Visitor> => {
  const page = await hostile.send('GET', '/console/sign-in', undefined, { authorization: '' })
  return { cookie: cookieOf(page.headers), csrf: csrfOf(page.text) }
}

/** Sign in with the key of the hostile account. */
const signIn = async (target: Target): Promise<Visitor> => {
  const { cookie, csrf } = await openEntry(target)
  const { account_id: account, live_key: key } = target.sandbox
  const form = new URLSearchParams({ csrf, account, key, next: '/console' }).toString()
  const answer = await target.hostile.send('POST', '/console/sign-in', form, formHeaders(target, cookie))
  const session = cookieOf(answer.headers)
  const page = await target.hostile.send('GET', '/console/keys', undefined, { authorization: '', cookie: session })
  return { cookie: session, csrf: csrfOf(page.text) }
}

/** Return the `open` of an input that reads a page as a signed-in visitor, `copies` times concurrently. */
const openPageReads =
  (path: (target: Target, size: number) => Promise<string>, copies = 1): HostileInput['open'] =>
  async (target, size) => {
    const [page, { cookie }] = [await path(target, size), await signIn(target)]
    return playCopies(copies, () => target.hostile.send('GET', page, undefined, { authorization: '', cookie }))
  }

/** Return an input: a form with a file, made of equal parts, as a signed-in visitor. */
const formInput = (name: string, part: string): HostileInput => ({
  subject,
  name,
  size: 15 * 2 ** 20,
  unit: 'bytes',
  statuses: [403],
  open: async (target, size) => {
    const { cookie } = await signIn(target)
    const body = `${repeat(Math.floor(size / part.length), part)}--x--\r\n`
    const headers = { ...formHeaders(target, cookie), 'content-type': 'multipart/form-data; boundary=x' }
    return playOf(() => target.hostile.send('POST', '/console/imports', body, headers))
  },
})

/** Pages and forms of the console. */
export const consolePages: readonly HostileInput[] = [
  {
    subject,
    name: 'members of the sign-in form',
    size: 65_000,
    unit: 'bytes',
    statuses: [401, 403, 413, 429],
    open: async (target, size) => {
      const { cookie, csrf } = await openEntry(target)
      const form = `csrf=${csrf}&${repeat(Math.floor(size / 2) - 60, '&a')}`
      return playOf(() => target.hostile.send('POST', '/console/sign-in', form, formHeaders(target, cookie)))
    },
  },
  {
    subject,
    name: 'percent signs of the sign-in form',
    size: 65_000,
    unit: 'bytes',
    statuses: [401, 403, 413, 429],
    open: async (target, size) => {
      const { cookie, csrf } = await openEntry(target)
      const form = `csrf=${csrf}&account=${repeat(Math.floor((size - 200) / 3), '%25')}&key=x`
      return playOf(() => target.hostile.send('POST', '/console/sign-in', form, formHeaders(target, cookie)))
    },
  },
  {
    subject,
    name: 'event types of the webhook form',
    size: 60_000,
    unit: 'bytes',
    statuses: [200, 400, 403, 409, 422],
    open: async (target, size) => {
      const { cookie, csrf } = await signIn(target)
      const types = repeat(Math.floor(size / 8), 'a.b,  ')
      return () => {
        const form = new URLSearchParams({
          csrf,
          form: crypto.randomUUID(),
          url: 'https://1.1.1.1/',
          event_types: types,
        }).toString()
        return playOf(() => target.hostile.send('POST', '/console/webhooks', form, formHeaders(target, cookie)))()
      }
    },
  },
  {
    subject,
    name: 'the page of a location at many bands',
    size: 1_440,
    unit: 'bands',
    statuses: [200],
    open: openPageReads(
      async ({ hostile }, size) => `/console/locations/${await createPriced(hostile, scheduleOf(size))}`,
    ),
  },
  {
    subject,
    name: 'the page of a location, twenty at once',
    size: 1_440,
    unit: 'bands',
    statuses: [200, 503],
    open: openPageReads(
      async ({ hostile }, size) => `/console/locations/${await createPriced(hostile, scheduleOf(size))}`,
      20,
    ),
  },
  {
    subject,
    name: 'the tail of the events, fifty at once',
    size: 50,
    unit: 'reads',
    growsTo: null,
    statuses: [200, 503],
    open: openPageReads(async () => '/console/events/tail', 50),
  },
  {
    subject,
    name: 'slashes after the path of a page, signed in',
    size: 15_000,
    unit: 'slashes',
    statuses: [200, 404, 414],
    open: openPageReads(async (_, size) => `/console/locations${repeat(size, '/')}x`),
  },
  formInput('small fields of a form with a file', '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n'),
  formInput('small files of a form', '--x\r\ncontent-disposition: form-data; name="a"; filename="b"\r\n\r\n\r\n'),
  formInput('headers of a form with a file', `--x\r\n${'a: b\r\n'.repeat(10_000)}\r\n\r\n`),
  formInput('dashes of a form with a file', '\r\n--y'),
]
