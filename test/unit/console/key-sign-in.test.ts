import { describe, expect, it } from 'vitest'
import { createConsole } from '../../../services/console/console-pages.ts'
import { bearerTokens } from '../../../services/platform/access/bearer-token.ts'
import { passwordHasher } from '../../../services/platform/access/password-hash.ts'
import { peerFinder } from '../../../services/platform/http/peer.ts'
import { signInThrottle } from '../../../services/platform/http/throttle/sign-in-throttle.ts'
import { secret } from '../../support/http/http-access.ts'
import { makeAccount, useService } from '../../support/registry/service.ts'

const origin = 'http://console.example'
const clock = { at: 1_760_000_000_000 }
const service = await useService(() => clock.at)
const account = await makeAccount(service)
const keepError = (fields: unknown) => void service.errors.push(fields)
const onSignInFailure = () => undefined

const consoleWith = (allowsKeys: boolean) =>
  createConsole(
    {
      database: service.database,
      secret,
      bearerTokens: bearerTokens(secret),
      publicUrl: origin,
      allowsKeys,
      passwords: passwordHasher(),
      throttle: signInThrottle(),
      onSignInFailure,
      peerOf: peerFinder([]),
      at: () => clock.at,
      fetch: (request: Request) => service.app.fetch(request),
      logger: { error: keepError, warn: keepError },
      provider: null,
      gatewayUrl: null,
    },
    [],
  )
const [withKeys, withoutKeys] = [consoleWith(true), consoleWith(false)]
type Console = typeof withKeys

const cookieIn = (answer: Response): string => answer.headers.getSetCookie()[0]?.split(';')[0] ?? ''
const load = (app: Console, path: string, cookie = '') =>
  app.fetch(new Request(new URL(path, origin), { headers: { cookie } }))

/** Load the sign-in page and send its form with a key. */
const sendKey = async (app: Console): Promise<Response> => {
  const page = await load(app, '/console/sign-in')
  const text = await page.text()
  const hidden = [...text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)]
  const fields = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]))
  const [id = '', key = ''] = atob(account.live.basic.slice('Basic '.length)).split(':')
  const body = new URLSearchParams({ ...fields, account: id, key })
  const headers = { cookie: cookieIn(page), origin, host: new URL(origin).host }
  return app.fetch(new Request(new URL('/console/sign-in', origin), { method: 'POST', body, headers }))
}

describe('the sign-in with an API key', () => {
  it('works until the operator switches it off; then the page has no form for keys', async () => {
    const allowed = await sendKey(withKeys)
    expect([allowed.status, allowed.headers.get('location')]).toEqual([303, '/console'])
    expect(await (await load(withKeys, '/console/sign-in')).text()).toContain('Sign in with a key')
    expect(await (await load(withoutKeys, '/console/sign-in')).text()).not.toContain('Sign in with a key')
    const refused = await sendKey(withoutKeys)
    expect([refused.status, refused.headers.getSetCookie()]).toEqual([403, []])
    expect(await refused.text()).toContain('The operator does not allow API keys here.')
  })

  it('ends the sessions of keys if it is switched off', async () => {
    const session = cookieIn(await sendKey(withKeys))
    expect((await load(withKeys, '/console/me', session)).status).not.toBe(303)
    const ended = await load(withoutKeys, '/console/me', session)
    expect([ended.status, ended.headers.get('location')]).toEqual([303, '/console/sign-in?next=%2Fconsole%2Fme'])
  })
})
