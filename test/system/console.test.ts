import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { revokeApiKey } from '../../services/platform/postgres/api-keys.ts'
import { makeKey, makeStranger, openRecords } from '../support/accounts.ts'
import { login } from '../support/client.ts'
import { runCommand } from '../support/run-command.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../support/running-system.ts'
import { makePlace } from '../support/small-world.ts'

const folder = dataFolder()
let system: RunningSystem | undefined
let records: Awaited<ReturnType<typeof openRecords>> | undefined

beforeAll(async () => {
  system = await startSystem(folder)
  records = await openRecords(folder)
})

afterAll(async () => {
  await records?.[Symbol.asyncDispose]()
  await system?.[Symbol.asyncDispose]()
  removeData(folder)
})

const sandbox = () => system?.sandbox ?? expect.fail('no system runs')
const database = () => records ?? expect.fail('no system runs')

type Seen = { readonly status: number; readonly headers: Headers; readonly text: string; readonly to: string | null }

/** A browser as far as forms and cookies go. */
type Visitor = {
  readonly cookies: Map<string, string>
  readonly get: (path: string) => Promise<Seen>
  /** Load a page and send its form with this action, its hidden members included; `more` are what a person types, or a forger. */
  readonly send: (
    page: string,
    action: string,
    more?: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Seen>
}

const visitor = (): Visitor => {
  const base = sandbox().base_url
  const seen = async (response: Response): Promise<Seen> => {
    const [name = '', value = ''] = response.headers.get('set-cookie')?.split(';')[0]?.split('=') ?? []
    if (name !== '') cookies.set(name, value)
    return { status: response.status, headers: response.headers, text: await response.text(), to: response.headers.get('location') }
  }
  const cookies = new Map<string, string>()
  const cookie = () => [...cookies].map(pair => pair.join('=')).join('; ')
  const self: Visitor = {
    cookies,
    get: async path => seen(await fetch(base + path, { redirect: 'manual', headers: { cookie: cookie() } })),
    send: async (page, action, more = {}, headers = {}) => {
      const { text } = await self.get(page)
      const [, inner = ''] = text.split(`action="${action}">`)
      const hidden = [...(inner.split('</form>')[0] ?? '').matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)]
      const members = { ...Object.fromEntries(hidden.map(([, name, value]) => [name, value])), ...more }
      const body = new URLSearchParams(members as Record<string, string>)
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

const signInPath = '/console/sign-in'
const sessionCookie = 'wattledger_console'
const signIn = async (account: string, key: string): Promise<Visitor> => {
  const one = visitor()
  const done = await one.send(signInPath, signInPath, { account, key })
  expect([done.status, done.to]).toEqual([303, '/console'])
  return one
}

const testVisitor = () => signIn(sandbox().account_id, sandbox().test_key)
const places = ['/console', '/console/locations', '/console/events', '/console/webhooks', '/console/keys', '/console/account']

describe('the console', () => {
  it('shows nobody anything but the way in, and leads back to where they wanted to go', async () => {
    const one = visitor()
    for (const path of [...places.slice(1), '/console/nothing', '/console/events/tail']) {
      const { status, to, text } = await one.get(path)
      expect([status, to, text]).toEqual([303, `${signInPath}?next=${encodeURIComponent(path)}`, ''])
    }
    const page = await one.get(`${signInPath}?next=/console/keys`)
    expect(page.text).toContain('name="next" value="/console/keys"')
    for (const next of ['https://example.com/', '//example.com', '/docs', '/console/../docs', '/console\\..'])
      expect((await one.get(`${signInPath}?next=${encodeURIComponent(next)}`)).text).toContain('name="next" value="/console"')
  })

  it('serves pages whose policy lets nothing in from outside and nothing inline run', async () => {
    const one = await testVisitor()
    for (const path of [signInPath, ...places, '/console/nothing']) {
      const { headers, text } = await one.get(path)
      const policy = headers.get('content-security-policy') ?? ''
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("script-src 'self'")
      expect(policy).not.toMatch(/unsafe|\*|https?:/)
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(text).not.toMatch(/<script(?![^>]* src=")[^>]*>|<style|\sstyle="|\son\w+="|undefined|\[object/)
      for (const [, address = ''] of text.matchAll(/\s(?:src|href|action)="([^"]*)"/g))
        expect(address).toMatch(/^(#|\/(?!\/)|data:image\/svg\+xml,)/)
    }
    for (const [name, type] of [
      ['page.css', 'text/css'],
      ['page.js', 'text/javascript'],
      ['uplot.css', 'text/css'],
      ['uplot.js', 'text/javascript'],
      ['icon.svg', 'image/svg+xml'],
    ] as const) {
      const file = await one.get(`/console/assets/${name}`)
      expect([file.status, file.headers.get('content-type')?.startsWith(type)], name).toEqual([200, true])
      expect(file.text).not.toMatch(/(?:src=|url\(|import )['"]?https?:/)
    }
    expect((await one.get('/console/assets/..%2fmount.ts')).status).toBe(404)
  })

  it('keeps its session in a cookie that scripts and other sites do not get', async () => {
    const attempt = async (origin: string) => {
      const one = visitor()
      const { account_id: account, test_key: key } = sandbox()
      const page = await one.get(signInPath)
      // The way in leaves the session alone: a browser that comes from elsewhere does not send that cookie.
      expect(page.headers.get('set-cookie')).toMatch(/^wattledger_console_entry=[\w-]{43}; Path=\/console; HttpOnly; SameSite=Strict$/)
      const { host } = new URL(sandbox().base_url)
      const done = await one.send(signInPath, signInPath, { account, key }, { origin: `${origin}//${host}` })
      return done.headers.get('set-cookie')
    }
    expect(await attempt('http:')).toMatch(/^wattledger_console=[\w-]{43}; Path=\/console; HttpOnly; SameSite=Strict; Max-Age=43200$/)
    expect(await attempt('https:')).toMatch(/; SameSite=Strict; Secure; Max-Age=43200$/)
  })

  it('says in which mode it is, on every page', async () => {
    const live = await signIn(sandbox().account_id, sandbox().live_key)
    const test = await testVisitor()
    for (const path of [...places, '/console/nothing']) {
      expect((await live.get(path)).text).toContain('>Live mode<')
      expect((await test.get(path)).text).toContain('>Test mode<')
    }
  })

  it('shows what the account has in this mode and nothing of others, every text as text', async () => {
    const { sandbox: own } = { sandbox: sandbox() }
    const evil = '<script>alert(1)</script>"\'&'
    const client = await login(own)
    const mine = await makePlace(client, { reference_id: evil })
    const stranger = await makeStranger(database(), folder, own)
    const foreign = [await makePlace(await login(stranger)), await makePlace(await login(own, 'live'))]
    const one = await testVisitor()
    const list = await one.get('/console/locations')
    expect(list.text).toContain(mine)
    expect(list.text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;')
    for (const path of [
      `/console/locations/${mine}`,
      `/console/events?object_id=${mine}`,
      `/console/locations?reference_id=${encodeURIComponent(evil)}`,
    ])
      expect((await one.get(path)).text).not.toContain('<script>alert')
    for (const id of foreign) {
      expect(list.text).not.toContain(id)
      expect((await one.get(`/console/locations/${id}`)).status).toBe(404)
      expect((await one.get(`/console/events?object_id=${id}`)).text).toContain('There is no such event yet')
    }
    expect((await one.get('/console/events?starting_after=evt_none')).text).toContain('role="alert"')
  })

  it('leads through long lists page by page, both ways', async () => {
    const client = await login(sandbox(), 'live')
    for (let n = 0; n < 65; n += 1)
      await client.ask('POST', '/locations', { reference_id: `page ${n}`, timezone: 'UTC', currency_code: 'EUR' })
    const one = await signIn(sandbox().account_id, sandbox().live_key)
    const shown = ({ text }: Seen) => [...text.matchAll(/>page (\d+)</g)].map(([, n]) => Number(n))
    const link = ({ text }: Seen, rel: string) => new RegExp(`rel="${rel}" href="([^"]*)"`).exec(text)?.[1]?.replaceAll('&amp;', '&')
    const first = await one.get('/console/locations')
    expect([shown(first).length, shown(first)[0], link(first, 'prev')]).toEqual([30, 64, undefined])
    const second = await one.get(link(first, 'next') ?? '')
    expect([shown(second)[0], shown(second).at(-1)]).toEqual([34, 5])
    const third = await one.get(link(second, 'next') ?? '')
    expect([shown(third)[0], link(third, 'next')]).toEqual([4, undefined])
    expect(shown(await one.get(link(third, 'prev') ?? ''))).toEqual(shown(second))
    const back = await one.get(link(second, 'prev') ?? '')
    expect([shown(back), link(back, 'prev')]).toEqual([shown(first), undefined])
  })
})

describe('signing in', () => {
  it('answers ten wrong keys of a peer for an account, then asks to wait; the right key always gets in', async () => {
    const stranger = await makeStranger(database(), folder, sandbox())
    const one = visitor()
    for (let n = 0; n < 10; n += 1) {
      const failed = await one.send(signInPath, signInPath, { account: stranger.account_id, key: 'sk_test_wrong' })
      expect([failed.status, failed.text.includes('The account id or the API key is wrong.')]).toEqual([401, true])
      expect(failed.text).not.toContain('sk_test_wrong')
    }
    const over = await one.send(signInPath, signInPath, { account: stranger.account_id, key: 'sk_test_wrong' })
    expect([over.status, over.headers.get('set-cookie')]).toEqual([429, null])
    const right = await one.send(signInPath, signInPath, { account: stranger.account_id, key: stranger.test_key })
    expect([right.status, right.to]).toEqual([303, '/console'])
  })

  it('is the only way in: an Authorization header opens no page, and none asks for one', async () => {
    const { account_id: account, live_key: key } = sandbox()
    for (const authorization of [`Bearer ${key}`, `Basic ${btoa(`${account}:${key}`)}`]) {
      for (const path of ['/console', '/console/keys', '/console/locations']) {
        const answer = await fetch(`${sandbox().base_url}${path}`, { headers: { authorization }, redirect: 'manual' })
        expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([303, null])
        expect(answer.headers.get('location')).toMatch(/^\/console\/sign-in/)
      }
    }
  })

  it('ends with signing out: the cookie is worth nothing after that', async () => {
    const one = await testVisitor()
    const session = one.cookies.get(sessionCookie) ?? expect.fail('no session')
    const out = await one.send('/console', '/console/sign-out')
    expect([out.status, out.to, out.headers.get('set-cookie')?.includes('Max-Age=0')]).toEqual([303, signInPath, true])
    one.cookies.set(sessionCookie, session)
    expect((await one.get('/console')).status).toBe(303)
  })

  it('ends with the key, and with the account', async () => {
    const { id, key } = await makeKey(database(), folder, sandbox(), 'all')
    const one = await signIn(sandbox().account_id, key)
    expect((await one.get('/console')).status).toBe(200)
    await revokeApiKey(database().operator, { accountId: sandbox().account_id, liveMode: false }, id, Date.now())
    expect((await one.get('/console')).status).toBe(303)
    const stranger = await makeStranger(database(), folder, sandbox())
    const other = await signIn(stranger.account_id, stranger.test_key)
    await sql`update accounts set disabled_at = now() where id = ${stranger.account_id}`.execute(database().operator)
    expect((await other.get('/console')).status).toBe(303)
  })

  it('keeps nothing of the cookie in the database but a hash', async () => {
    const one = await testVisitor()
    const { rows } = await sql<{ text: string }>`select t::text as text from console_sessions t`.execute(database().operator)
    expect(rows.length).toBeGreaterThan(0)
    for (const { text } of rows) expect(text).not.toContain(one.cookies.get(sessionCookie))
  })
})

describe('a form', () => {
  it('of another site, without its token, with that of another visitor, or sent twice changes nothing', async () => {
    const [one, other] = [await testVisitor(), await testVisitor()]
    const count = async () => (await one.get('/console/keys')).text.match(/…\w{4}</g)?.length ?? 0
    const before = await count()
    const { text } = await other.get('/console/keys')
    const theirs = /name="csrf" value="(\w+)"/.exec(text)?.[1] ?? ''
    const form = crypto.randomUUID()
    const make = (more: Readonly<Record<string, string>>, headers = {}) =>
      one.send('/console/keys', '/console/keys', { scope: 'read', ...more }, headers)
    expect((await make({ csrf: '' })).status).toBe(403)
    expect((await make({ csrf: theirs })).status).toBe(403)
    expect((await make({}, { origin: 'https://example.com' })).status).toBe(403)
    expect((await make({}, { origin: 'null' })).status).toBe(403)
    expect((await make({}, { 'content-type': 'text/plain' })).status).toBe(403)
    expect((await make({ description: 'x'.repeat(70_000) })).status).toBe(403)
    expect(await count()).toBe(before)
    expect((await make({ form })).status).toBe(200)
    expect((await make({ form })).status).toBe(409)
    const refused = crypto.randomUUID()
    const long = () => make({ form: refused, description: 'x'.repeat(256) })
    expect([(await long()).status, (await long()).status]).toEqual([400, 400])
    expect(await count()).toBe(before + 1)
  })
})

describe('the page of the account', () => {
  const page = '/console/account'
  const addresses = { privacy_url: 'https://volt.example/privacy', terms_url: '', logo_url: 'https://cdn.volt.example/logo.svg' }
  const liveVisitor = () => signIn(sandbox().account_id, sandbox().live_key)

  it('saves addresses with an audit entry, lets the host of the logo in and no other, and removes them again', async () => {
    const one = await liveVisitor()
    const saved = await one.send(page, page, addresses)
    expect([saved.status, saved.text.includes('The addresses are saved.')]).toEqual([200, true])
    expect(saved.headers.get('content-security-policy')).toContain("img-src 'self' data: https://cdn.volt.example;")
    const { text, headers } = await one.get(page)
    for (const address of Object.values(addresses)) expect(text).toContain(`value="${address}"`)
    expect(headers.get('content-security-policy')?.match(/https?:[^ ;]+/g)).toEqual(['https://cdn.volt.example'])
    expect(text).toMatch(/<img class="logo" src="data:image\/svg[^"]+"[^>]* data-picture="https:\/\/cdn\.volt\.example\/logo\.svg">/)
    for (const path of places.filter(one => one !== page)) {
      expect((await one.get(path)).headers.get('content-security-policy')).not.toMatch(/https?:/)
    }
    expect((await one.send(page, page, { privacy_url: '', terms_url: ' ', logo_url: '' })).status).toBe(200)
    const { out } = await runCommand(['audit-log', 'list', sandbox().account_id, '--mode', 'live', '--json'], {
      WATTLEDGER_DATA_DIR: folder,
    })
    const entries = (JSON.parse(out) as { action: string; actor: string; detail: unknown }[]).filter(one => one.action === 'account.update')
    const none = { privacy_url: null, terms_url: null, logo_url: null }
    const all = { ...addresses, terms_url: null }
    expect(entries.map(({ detail }) => detail)).toEqual([
      { before: all, after: none },
      { before: none, after: all },
    ])
    for (const { actor } of entries) expect(actor).toMatch(/^key_/)
  })

  it('says what is wrong beside the field, keeps what was typed, and saves nothing', async () => {
    const one = await liveVisitor()
    const wrong = await one.send(page, page, { ...addresses, terms_url: 'http://volt.example/terms' })
    expect(wrong.status).toBe(400)
    expect(wrong.text).toContain('id="terms_url-fault">Terms of use must begin with https://, or with http:// and a loopback host.<')
    expect(wrong.text).toContain('value="http://volt.example/terms"')
    expect((await one.get(page)).text).not.toContain('volt.example')
  })

  it('is only shown to test keys, to keys of other scopes, and takes no form of another site', async () => {
    const { key } = await makeKey(database(), folder, sandbox(), 'read')
    for (const one of [await testVisitor(), await signIn(sandbox().account_id, key)]) {
      const { status, text } = await one.get(page)
      expect([status, text.includes('Sign in with a live key'), text.includes(`action="${page}"`)]).toEqual([200, true, false])
      const { text: places } = await one.get('/console')
      const csrf = /name="csrf" value="(\w+)"/.exec(places)?.[1] ?? ''
      expect((await one.send(page, page, { ...addresses, csrf, form: crypto.randomUUID() })).status).toBe(403)
    }
    const owner = await liveVisitor()
    expect((await owner.send(page, page, addresses, { origin: 'https://example.com' })).status).toBe(403)
    expect((await owner.send(page, page, { ...addresses, csrf: 'other' })).status).toBe(403)
    expect((await owner.get(page)).text).not.toContain('volt.example')
  })
})

describe('the page of keys', () => {
  const secretIn = ({ text }: Seen) => /<code class="secret">(sk_test_[0-9a-f]{48})<\/code>/.exec(text)?.[1]

  const canLogIn = async (key: string): Promise<boolean> => {
    const basic = Buffer.from(`${sandbox().account_id}:${key}`).toString('base64')
    return (await fetch(`${sandbox().base_url}/login`, { headers: { authorization: `Basic ${basic}` } })).ok
  }

  it('makes a key, shows it once, revokes it, and leaves an audit entry of each', async () => {
    const one = await testVisitor()
    const made = await one.send('/console/keys', '/console/keys', { scope: 'metering', description: 'till 4' })
    const key = secretIn(made) ?? expect.fail(made.text)
    expect(await canLogIn(key)).toBe(true)
    const listed = await one.get('/console/keys')
    expect(listed.text).toContain('till 4')
    expect(listed.text).not.toContain(key)
    const [, id] = new RegExp(`(key_\\w+)</code>(?:(?!</tr>).)*…${key.slice(-4)}<`).exec(listed.text) ?? []
    const revoked = await one.send('/console/keys', `/console/keys/${id}/revoke`)
    expect(revoked.text).toContain(`ends in ${key.slice(-4)} is revoked`)
    expect(await canLogIn(key)).toBe(false)
    const { out } = await runCommand(['audit-log', 'list', sandbox().account_id, '--mode', 'test', '--json'], {
      WATTLEDGER_DATA_DIR: folder,
    })
    const entries = (JSON.parse(out) as { action: string; object_id: string; actor: string }[]).filter(entry => entry.object_id === id)
    expect(entries.map(({ action, actor }) => [action, /^key_/.test(actor)])).toEqual([
      ['api_key.revoke', true],
      ['api_key.create', true],
    ])
    expect(out).not.toContain(key.slice(8, 40))
  })

  it('is closed to keys that may not do everything', async () => {
    for (const scope of ['read', 'metering'] as const) {
      const { key } = await makeKey(database(), folder, sandbox(), scope)
      const one = await signIn(sandbox().account_id, key)
      const page = await one.get('/console/keys')
      expect([page.status, page.text.includes('…')]).toEqual([403, false])
      const all = await testVisitor()
      const csrf = /name="csrf" value="(\w+)"/.exec((await one.get('/console')).text)?.[1] ?? ''
      expect((await all.get('/console/keys')).status).toBe(200)
      const tried = await one.send('/console/keys', '/console/keys', { csrf, form: crypto.randomUUID(), scope: 'all' })
      expect([tried.status, secretIn(tried)]).toEqual([403, undefined])
    }
  })
})

describe('the page of webhook endpoints', () => {
  it('tells beside the field what is wrong with it, and keeps what was typed', async () => {
    const one = await testVisitor()
    const refused = await one.send('/console/webhooks', '/console/webhooks', {
      url: 'http://127.0.0.1/hook',
      event_types: 'customer.*, device.create',
      description: 'Billing',
    })
    expect(refused.status).toBe(400)
    expect(refused.text).toMatch(/value="http:\/\/127\.0\.0\.1\/hook"[^>]*aria-invalid="true"[^>]*aria-describedby="url-hint url-fault"/)
    expect(refused.text).toContain('value="customer.*, device.create"')
    expect(refused.text).toContain('id="url-fault"')
  })
})
