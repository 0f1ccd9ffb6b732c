import { afterAll, describe, expect, it } from 'vitest'
import { createConsole } from '../../../services/console/console-pages.ts'
import { bearerTokens } from '../../../services/platform/access/bearer-token.ts'
import { openIdProvider } from '../../../services/platform/access/openid-provider.ts'
import { passwordHasher } from '../../../services/platform/access/password-hash.ts'
import type { SignInFailure } from '../../../services/platform/access/sign-in-failures.ts'
import { peerFinder } from '../../../services/platform/http/peer.ts'
import { signInThrottle } from '../../../services/platform/http/throttle/sign-in-throttle.ts'
import { secret } from '../../support/http/http-access.ts'
import { idOf, makeAccount, useService } from '../../support/registry/service.ts'
import { clientId, clientSecret, type RunningProvider, startProvider } from '../../support/web/openid-provider.ts'

const origin = 'http://console.example'
const redirectUri = `${origin}/console/oidc/callback`
const clock = { at: 1_760_000_000_000 }
const service = await useService(() => clock.at)
const account = await makeAccount(service)
const [provider, otherProvider] = [await startProvider(redirectUri), await startProvider(redirectUri)]
afterAll(async () => {
  await provider[Symbol.asyncDispose]()
  await otherProvider[Symbol.asyncDispose]()
})

const keepError = (fields: unknown) => void service.errors.push(fields)

const failures: SignInFailure[] = []
const onSignInFailure = (failure: SignInFailure) => void failures.push(failure)

const consoleWith = ({ issuer }: Pick<RunningProvider, 'issuer'>) =>
  createConsole(
    {
      database: service.database,
      secret,
      bearerTokens: bearerTokens(secret),
      publicUrl: origin,
      allowsKeys: true,
      gatewayUrl: null,
      passwords: passwordHasher(),
      throttle: signInThrottle(),
      onSignInFailure,
      peerOf: peerFinder([]),
      at: () => clock.at,
      fetch: (request: Request) => service.app.fetch(request),
      logger: { error: keepError, warn: keepError },
      provider: openIdProvider({ name: 'Works', issuer, clientId, clientSecret, redirectUri }, () => performance.now()),
    },
    [],
  )

const consolePages = consoleWith(provider)
const otherConsole = consoleWith(otherProvider)

/** Browser with forms and cookies for the console. */
const openBrowser = (app = consolePages) => {
  const cookies = new Map<string, string>()
  const send = async (path: string, form?: URLSearchParams) => {
    const headers = {
      cookie: [...cookies].map(pair => pair.join('=')).join('; '),
      ...(form === undefined ? {} : { origin, host: new URL(origin).host }),
    }
    const init = form === undefined ? { headers } : { headers, method: 'POST', body: form }
    const answer = await app.fetch(new Request(new URL(path, origin), init))
    for (const cookie of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = cookie.split(';')[0]?.split('=') ?? []
      cookies.set(name, value)
    }
    return { status: answer.status, text: await answer.text(), to: answer.headers.get('location') ?? '' }
  }
  const start = async (token?: string) =>
    (await send(`/console/oidc/start${token === undefined ? '' : `?token=${token}`}`)).to
  /** Load the page that connects the login. Returns the function that sends its form. */
  const loadForm = async () => {
    const { text } = await send('/console/oidc/accept')
    const hidden = [...text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)]
    const form = new URLSearchParams(hidden.map(([, name = '', value = '']): [string, string] => [name, value]))
    return () => send('/console/oidc/accept', form)
  }
  const accept = async () => (await loadForm())()
  return { cookies, send, start, loadForm, accept }
}

const invite = async (address: string) => {
  const answer = await account.live.call('POST', '/users', { address, role: 'read' })
  return { id: idOf(answer), token: String(answer.body['link']).split('token=')[1] ?? '' }
}

/** Connect a person of the provider with a new user. */
const connect = async (login: string) => {
  const user = await invite(`${login.replaceAll(/[^a-z-]/g, '').slice(0, 30)}@example.com`)
  const browser = openBrowser()
  const callback = await provider.authorize(await browser.start(user.token), login)
  expect((await browser.send(callback)).status).toBe(200)
  const done = await browser.accept()
  expect([done.status, browser.cookies.has('wattledger_console')], done.text).toEqual([200, true])
  return { ...user, browser }
}

const signIn = async (login: string, alter = (address: string) => address) => {
  const browser = openBrowser()
  const callback = await provider.authorize(alter(await browser.start()), login)
  return { browser, callback, answer: await browser.send(callback) }
}

describe('a sign-in with an OpenID provider', () => {
  it('connects the login by the form of an invitation, and then signs in without a password', async () => {
    const { id, token, browser } = await connect('ada')
    expect((await browser.send('/console/me')).text).toContain(id)
    const { answer, browser: later } = await signIn('ada')
    expect([answer.status, answer.text.includes('url=/console"')]).toEqual([200, true])
    expect((await later.send('/console/me')).text).toContain(id)
    expect((await openBrowser().send(`/console/invitation?token=${token}`)).status).toBe(404)
    expect((await account.live.call('GET', `/users/${id}`)).body).toMatchObject({
      status: 'ACTIVE',
      has_password: false,
      has_provider_login: true,
    })
  })

  it('asks for the code with PKCE, state, nonce and the exact redirect', async () => {
    const { searchParams, origin: at } = new URL(await openBrowser().start())
    expect(at).toBe(provider.issuer)
    expect(Object.fromEntries(searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      redirect_uri: redirectUri,
      scope: 'openid',
      state: expect.stringMatching(/^.{43}$/),
      nonce: expect.stringMatching(/^.{43}$/),
    })
  })

  it('stays a choice after a refused password, and leads unknown people back to the sign-in page', async () => {
    const { token } = await invite('choice@example.com')
    const browser = openBrowser()
    const { text } = await browser.send(`/console/invitation?token=${token}`)
    const hidden = [...text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)]
    const form = new URLSearchParams(hidden.map(([, name = '', value = '']): [string, string] => [name, value]))
    form.set('password', 'too short')
    form.set('repeated', 'too short')
    const refusedForm = await browser.send('/console/invitation', form)
    const link = `href="/console/oidc/start?token=${token}"`
    expect([refusedForm.status, text.includes(link), refusedForm.text.includes(link)]).toEqual([400, true, true])
    const { answer } = await signIn('nobody')
    expect([answer.status, answer.text.includes('href="/console/sign-in"')]).toEqual([403, true])
  })

  it('uses no link before the form, and the link once', async () => {
    const user = await invite('form@example.com')
    const [a, b] = [openBrowser(), openBrowser()]
    for (const [browser, login] of [
      [a, 'form-a'],
      [b, 'form-b'],
    ] as const)
      await browser.send(await provider.authorize(await browser.start(user.token), login))
    expect((await account.live.call('GET', `/users/${user.id}`)).body['status']).toBe('INVITED')
    const forms = await Promise.all([a.loadForm(), b.loadForm()])
    const both = await Promise.all(forms.map(sendForm => sendForm()))
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 404])
  })

  it('connects a login with one user only', async () => {
    await connect('single')
    const user = await invite('second@example.com')
    const browser = openBrowser()
    await browser.send(await provider.authorize(await browser.start(user.token), 'single'))
    failures.length = 0
    expect((await browser.accept()).status).toBe(409)
    const { accountId } = account.live
    const failure = { accountId, liveMode: true, action: 'user.sign_in_failed', objectId: user.id, peer: 'unknown' }
    expect(failures).toEqual([{ ...failure, reason: 'login_in_use' }])
    expect((await openBrowser().send(`/console/invitation?token=${user.token}`)).status).toBe(200)
  })
})

describe('a subject of the provider', () => {
  it.each([
    ['of 256 characters', 'x'.repeat(256), 'its subject has more than 255 characters'],
    ['of 3,000 characters', 'x'.repeat(3_000), 'its subject has more than 255 characters'],
    ['with NUL', 'ada\0ada', 'its subject contains the character NUL'],
  ])('%s is refused with the reason, with and without a link', async (_, login, reason) => {
    const { answer } = await signIn(login)
    expect([answer.status, answer.text.includes(reason)], answer.text).toEqual([400, true])
    const { id, token } = await invite(`subject-${login.length}@example.com`)
    const browser = openBrowser()
    failures.length = 0
    const { status, text } = await browser.send(await provider.authorize(await browser.start(token), login))
    expect([status, text.includes(reason)], text).toEqual([400, true])
    expect((await account.live.call('GET', `/users/${id}`)).body['status']).toBe('INVITED')
    expect(failures).toMatchObject([{ objectId: id, reason: 'provider_refused' }])
  })

  it('of 255 characters signs in', async () => {
    const login = '\u{1f600}'.repeat(200).padEnd(455, 'x')
    await connect(login)
    expect((await signIn(login)).answer.status).toBe(200)
  })
})

describe('an attack on the sign-in with a provider', () => {
  const refused = (answer: { status: number }, browser: ReturnType<typeof openBrowser>) =>
    expect([answer.status, browser.cookies.get('wattledger_console') ?? '']).toEqual([401, ''])

  it('fails with another state, without the cookie and with an expired cookie', async () => {
    await connect('state')
    const browser = openBrowser()
    const callback = await provider.authorize(await browser.start(), 'state')
    const altered = callback.replace(/state=[^&]*/, `state=${'x'.repeat(43)}`)
    const kept = new Map(browser.cookies)
    refused(await browser.send(altered), browser)
    const stranger = openBrowser()
    refused(await stranger.send(callback), stranger)
    for (const [name, value] of kept) browser.cookies.set(name, value)
    clock.at += 600_000
    refused(await browser.send(callback), browser)
  })

  it('fails with another nonce, and with the code of another browser', async () => {
    await connect('nonce')
    const { answer, browser } = await signIn('nonce', address => address.replace(/nonce=[^&]*/, 'nonce=another'))
    refused(answer, browser)
    const [mine, theirs] = [openBrowser(), openBrowser()]
    const ownState = new URL(await mine.start()).searchParams.get('state') ?? ''
    const stolen = await provider.authorize(await theirs.start(), 'nonce')
    refused(await mine.send(stolen.replace(/state=[^&]*/, `state=${ownState}`)), mine)
  })

  it('fails with a code that was used before', async () => {
    await connect('replay')
    const browser = openBrowser()
    const callback = await provider.authorize(await browser.start(), 'replay')
    const kept = new Map(browser.cookies)
    expect((await browser.send(callback)).status).toBe(200)
    const again = openBrowser()
    for (const [name, value] of kept) again.cookies.set(name, value)
    refused(await again.send(callback), again)
  })

  it('fails for the same subject and address at another issuer', async () => {
    await connect('twin')
    const browser = openBrowser(otherConsole)
    const callback = await otherProvider.authorize(await browser.start(), 'twin')
    const answer = await browser.send(callback)
    expect([answer.status, browser.cookies.get('wattledger_console')]).toEqual([403, undefined])
    const mixed = openBrowser()
    await mixed.start()
    refused(await mixed.send(callback), mixed)
  })
})
