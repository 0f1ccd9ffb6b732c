import { expect } from 'vitest'

/** Response of the console; `to` is the target of a redirect. */
export type SeenPage = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly to: string | null
}

/** Browser with forms and cookies only. */
export type Visitor = {
  readonly cookies: Map<string, string>
  readonly get: (path: string) => Promise<SeenPage>
  /**
   * Load a page and send its form with this action and its hidden fields; `more` adds or replaces fields. In a form with a
   * file, the member `file` is the content of the file.
   */
  readonly send: (
    page: string,
    action: string,
    more?: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<SeenPage>
}

const formWithFile = ({ file = '', ...members }: Readonly<Record<string, string>>): FormData => {
  const body = new FormData()
  for (const [name, value] of Object.entries(members)) body.append(name, value)
  body.append('file', new Blob([file]), 'file.csv')
  return body
}

/** Create a visitor without cookies for the service at `base`. */
export const openVisitor = (base: string): Visitor => {
  const seen = async (response: Response): Promise<SeenPage> => {
    const [name = '', value = ''] = response.headers.get('set-cookie')?.split(';')[0]?.split('=') ?? []
    if (name !== '') cookies.set(name, value)
    return {
      status: response.status,
      headers: response.headers,
      text: await response.text(),
      to: response.headers.get('location'),
    }
  }
  const cookies = new Map<string, string>()
  const cookie = () => [...cookies].map(pair => pair.join('=')).join('; ')
  const self: Visitor = {
    cookies,
    get: async path => seen(await fetch(base + path, { redirect: 'manual', headers: { cookie: cookie() } })),
    send: async (page, action, more = {}, headers = {}) => {
      const { text } = await self.get(page)
      const [, form = ''] = text.split(`action="${action}"`)
      const [tag = '', inner = ''] = form.split(/>([\s\S]*)/)
      const hidden = [
        ...(inner.split('</form>')[0] ?? '').matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g),
      ]
      const members = { ...Object.fromEntries(hidden.map(([, name, value]) => [name, value])), ...more }
      const body = tag.includes('multipart/form-data')
        ? formWithFile(members as Record<string, string>)
        : new URLSearchParams(members as Record<string, string>)
      return seen(
        await fetch(base + action, {
          method: 'POST',
          redirect: 'manual',
          body,
          headers: { cookie: cookie(), origin: base, ...headers },
        }),
      )
    },
  }
  return self
}

/** Paths of all pages that require a session. */
export const paths = [
  '/console',
  '/console/locations',
  '/console/devices',
  '/console/customers',
  '/console/tariffs',
  '/console/plans',
  '/console/charges',
  '/console/calendars',
  '/console/costs',
  '/console/records',
  '/console/sessions',
  '/console/statements',
  '/console/simulations',
  '/console/prices',
  '/console/schedules',
  '/console/unpriced',
  '/console/failed',
  '/console/ending',
  '/console/find',
  '/console/events',
  '/console/webhooks',
  '/console/keys',
  '/console/account',
]
export const signInPath = '/console/sign-in'
export const sessionCookie = 'wattledger_console'

/** Sign in with a key. Throws if the console refuses the key. */
export const signIn = async (base: string, account: string, key: string): Promise<Visitor> => {
  const one = openVisitor(base)
  const done = await one.send(signInPath, signInPath, { account, key })
  expect([done.status, done.to]).toEqual([303, '/console'])
  return one
}
