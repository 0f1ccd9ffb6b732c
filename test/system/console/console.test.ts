import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { revokeApiKey } from '../../../services/platform/postgres/registry/api-keys.ts'
import { createOtherAccount, makeKey, openRecords } from '../../support/registry/accounts.ts'
import { createLocation } from '../../support/registry/object-fixture.ts'
import { login } from '../../support/system/client.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import {
  openVisitor,
  paths,
  type SeenPage,
  sessionCookie,
  signIn as signInAt,
  signInPath,
  type Visitor,
} from '../../support/web/console-visitor.ts'

const system = useSharedSystem()
let records: Awaited<ReturnType<typeof openRecords>> | undefined

beforeAll(async () => {
  records = await openRecords(system.folder)
})

afterAll(async () => {
  await records?.[Symbol.asyncDispose]()
})

const sandbox = () => system.sandbox()
const database = () => records ?? expect.fail('no system runs')

const visitor = (): Visitor => openVisitor(sandbox().base_url)
const signIn = (account: string, key: string): Promise<Visitor> => signInAt(sandbox().base_url, account, key)
const testVisitor = () => signIn(sandbox().account_id, sandbox().test_key)

describe('the console', () => {
  it('redirects visitors to the sign-in page, and back to the requested page', async () => {
    const one = visitor()
    for (const path of [...paths.slice(1), '/console/nothing', '/console/events/tail']) {
      const { status, to, text } = await one.get(path)
      expect([status, to, text]).toEqual([303, `${signInPath}?next=${encodeURIComponent(path)}`, ''])
    }
    const page = await one.get(`${signInPath}?next=/console/keys`)
    expect(page.text).toContain('name="next" value="/console/keys"')
    for (const next of ['https://example.com/', '//example.com', '/docs', '/console/../docs', '/console\\..'])
      expect((await one.get(`${signInPath}?next=${encodeURIComponent(next)}`)).text).toContain(
        'name="next" value="/console"',
      )
  })

  it('serves pages whose policy refuses outside and inline content', async () => {
    const one = await testVisitor()
    for (const path of [signInPath, ...paths, '/console/nothing']) {
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

  it('stores the session in a cookie that scripts and other sites cannot read', async () => {
    const attempt = async (origin: string) => {
      const one = visitor()
      const { account_id: account, test_key: key } = sandbox()
      const page = await one.get(signInPath)
      // The sign-in page does not change the session: with a link from another site the browser sends no cookie.
      expect(page.headers.get('set-cookie')).toMatch(
        /^wattledger_console_entry=[\w-]{43}; Path=\/console; HttpOnly; SameSite=Strict$/,
      )
      const { host } = new URL(sandbox().base_url)
      const done = await one.send(signInPath, signInPath, { account, key }, { origin: `${origin}//${host}` })
      return done.headers.get('set-cookie')
    }
    expect(await attempt('http:')).toMatch(
      /^wattledger_console=[\w-]{43}; Path=\/console; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    )
    expect(await attempt('https:')).toMatch(/; SameSite=Strict; Secure; Max-Age=43200$/)
  })

  it('shows the mode on every page', async () => {
    const live = await signIn(sandbox().account_id, sandbox().live_key)
    const test = await testVisitor()
    for (const path of [...paths, '/console/nothing']) {
      expect((await live.get(path)).text).toContain('>Live mode<')
      expect((await test.get(path)).text).toContain('>Test mode<')
    }
  })

  it('shows only objects of the account and mode, and escapes every text', async () => {
    const { sandbox: own } = { sandbox: sandbox() }
    const evil = '<script>alert(1)</script>"\'&'
    const client = await login(own)
    const mine = await createLocation(client, { reference_id: evil })
    const otherAccount = await createOtherAccount(database(), system.folder, own)
    const foreign = [await createLocation(await login(otherAccount)), await createLocation(await login(own, 'live'))]
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
      expect((await one.get(`/console/events?object_id=${id}`)).text).toContain('No events yet')
    }
    expect((await one.get('/console/events?starting_after=evt_none')).text).toContain('role="alert"')
  })

  it('names the source of costs: records of devices, or of the location if it has its own', async () => {
    const client = await login(sandbox())
    const place = await createLocation(client, {})
    const whole = [
      { days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 0.3 }] }] }] },
    ]
    await client.ask('POST', '/tariffs', {
      location_id: place,
      direction: 'IMPORT',
      type: 'COMMODITY',
      schedule: whole,
    })
    const { id: device } = (await client.ask('POST', '/devices', { reference_id: 'counted' })) as {
      readonly id: string
    }
    const [end, start] = [0, 3_600_000].map(back => new Date(Date.now() - 86_400_000 - back).toISOString())
    const record = { location_id: place, units: 'KWH', value: 1, start_time: start, end_time: end }
    const one = await testVisitor()
    const shown = async () => (await one.get(`/console/locations/${place}`)).text
    await client.submit([{ ...record, device_id: device }])
    await expect.poll(shown, { timeout: 20_000 }).toMatch(/Costs of the records of the location(?:'|&#39;)s devices\./)
    await client.submit([record])
    await expect
      .poll(shown, { timeout: 20_000 })
      .toMatch(/Costs of the records of the location itself\. .*not included/)
  })

  it('links the pages of long lists in both directions', async () => {
    const client = await login(sandbox(), 'live')
    for (let n = 0; n < 65; n += 1)
      await client.ask('POST', '/locations', { reference_id: `page ${n}`, timezone: 'UTC', currency_code: 'EUR' })
    const one = await signIn(sandbox().account_id, sandbox().live_key)
    const shown = ({ text }: SeenPage) => [...text.matchAll(/>page (\d+)</g)].map(([, n]) => Number(n))
    const link = ({ text }: SeenPage, rel: string) =>
      new RegExp(`rel="${rel}" href="([^"]*)"`).exec(text)?.[1]?.replaceAll('&amp;', '&')
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
  it('answers ten wrong keys with 401, then 429; the correct key always works', async () => {
    const otherAccount = await createOtherAccount(database(), system.folder, sandbox())
    const one = visitor()
    for (let n = 0; n < 10; n += 1) {
      const failed = await one.send(signInPath, signInPath, { account: otherAccount.account_id, key: 'sk_test_wrong' })
      expect([failed.status, failed.text.includes('The account ID or the API key is wrong.')]).toEqual([401, true])
      expect(failed.text).not.toContain('sk_test_wrong')
    }
    const over = await one.send(signInPath, signInPath, { account: otherAccount.account_id, key: 'sk_test_wrong' })
    expect([over.status, over.headers.get('set-cookie')]).toEqual([429, null])
    const right = await one.send(signInPath, signInPath, {
      account: otherAccount.account_id,
      key: otherAccount.test_key,
    })
    expect([right.status, right.to]).toEqual([303, '/console'])
  })

  it('is required: an Authorization header opens no page', async () => {
    const { account_id: account, live_key: key } = sandbox()
    for (const authorization of [`Bearer ${key}`, `Basic ${btoa(`${account}:${key}`)}`]) {
      for (const path of ['/console', '/console/keys', '/console/locations']) {
        const answer = await fetch(`${sandbox().base_url}${path}`, { headers: { authorization }, redirect: 'manual' })
        expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([303, null])
        expect(answer.headers.get('location')).toMatch(/^\/console\/sign-in/)
      }
    }
  })

  it('ends with the sign-out: the cookie is invalid afterwards', async () => {
    const one = await testVisitor()
    const session = one.cookies.get(sessionCookie) ?? expect.fail('no session')
    const out = await one.send('/console', '/console/sign-out')
    expect([out.status, out.to, out.headers.get('set-cookie')?.includes('Max-Age=0')]).toEqual([303, signInPath, true])
    one.cookies.set(sessionCookie, session)
    expect((await one.get('/console')).status).toBe(303)
  })

  it('ends if the key is revoked or the account is disabled', async () => {
    const { id, key } = await makeKey(database(), system.folder, sandbox(), 'all')
    const one = await signIn(sandbox().account_id, key)
    expect((await one.get('/console')).status).toBe(200)
    await revokeApiKey(database().operator, { accountId: sandbox().account_id, liveMode: false }, id, Date.now())
    expect((await one.get('/console')).status).toBe(303)
    const otherAccount = await createOtherAccount(database(), system.folder, sandbox())
    const other = await signIn(otherAccount.account_id, otherAccount.test_key)
    await database().operator(sql`update accounts set disabled_at = now() where id = ${otherAccount.account_id}`)
    expect((await other.get('/console')).status).toBe(303)
  })

  it('stores only a hash of the cookie', async () => {
    const one = await testVisitor()
    const { rows } = await database().operator<{ text: string }>(sql`select t::text as text from console_sessions t`)
    expect(rows.length).toBeGreaterThan(0)
    for (const { text } of rows) expect(text).not.toContain(one.cookies.get(sessionCookie))
  })
})

describe('a form', () => {
  it('of another site, without its token, with a foreign token, or sent twice changes nothing', async () => {
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
