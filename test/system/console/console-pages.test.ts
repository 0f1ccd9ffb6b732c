import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeKey, openRecords } from '../../support/registry/accounts.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { useSystem } from '../../support/system/use-system.ts'
import { paths, type SeenPage, signIn as signInAt, type Visitor } from '../../support/web/console-visitor.ts'

const system = useSystem()
let records: Awaited<ReturnType<typeof openRecords>> | undefined

beforeAll(async () => {
  records = await openRecords(system.folder)
})

afterAll(async () => {
  await records?.[Symbol.asyncDispose]()
})

const sandbox = () => system.sandbox()
const database = () => records ?? expect.fail('no system runs')

const signIn = (account: string, key: string): Promise<Visitor> => signInAt(sandbox().base_url, account, key)
const testVisitor = () => signIn(sandbox().account_id, sandbox().test_key)

it('creates two pages of an account at once, queues 62 requests, and answers more with 503', async () => {
  const one = await testVisitor()
  const seen = await Promise.all(Array.from({ length: 200 }, () => one.get('/console/locations')))
  const refused = seen.filter(({ status }) => status !== 200)
  expect(refused.length).toBeGreaterThan(0)
  expect(refused.length).toBeLessThan(200 - 62)
  for (const { status, text } of refused)
    expect([status, text.includes('<h1>Too many pages</h1>')]).toEqual([503, true])
})

describe('the page of the account', () => {
  const page = '/console/account'
  const addresses = {
    privacy_url: 'https://volt.example/privacy',
    terms_url: '',
    logo_url: 'https://cdn.volt.example/logo.svg',
    brand_color: '#0a5c3e',
  }
  const brandOf = (name: string) => ({ display_name: name, ...addresses })
  const liveVisitor = () => signIn(sandbox().account_id, sandbox().live_key)

  it('saves and removes the brand with audit entries, and allows only the host of the logo', async () => {
    const one = await liveVisitor()
    const saved = await one.send(page, page, brandOf('Volt'))
    expect([saved.status, saved.text.includes('Brand saved.')]).toEqual([200, true])
    expect(saved.headers.get('content-security-policy')).toContain("img-src 'self' data: https://cdn.volt.example;")
    const { text, headers } = await one.get(page)
    for (const value of Object.values(brandOf('Volt'))) expect(text).toContain(`value="${value}"`)
    expect(headers.get('content-security-policy')?.match(/https?:[^ ;]+/g)).toEqual(['https://cdn.volt.example'])
    expect(text).toMatch(
      /<img class="logo" src="data:image\/svg[^"]+"[^>]* data-picture="https:\/\/cdn\.volt\.example\/logo\.svg">/,
    )
    for (const path of paths.filter(one => one !== page)) {
      expect((await one.get(path)).headers.get('content-security-policy')).not.toMatch(/https?:/)
    }
    expect(
      (
        await one.send(page, page, {
          display_name: 'Sandbox',
          privacy_url: '',
          terms_url: ' ',
          logo_url: '',
          brand_color: '',
        })
      ).status,
    ).toBe(200)
    const { out } = await runCommand(['audit-log', 'list', sandbox().account_id, '--mode', 'live', '--json'], {
      WATTLEDGER_DATA_DIR: system.folder,
    })
    const entries = (JSON.parse(out) as { action: string; actor: string; detail: unknown }[]).filter(
      one => one.action === 'account.update',
    )
    const account = { object: 'account_brand', account_id: sandbox().account_id }
    const empty = { privacy_url: null, terms_url: null, logo_url: null, brand_color: null }
    const none = { ...account, display_name: 'Sandbox', ...empty }
    const all = { ...account, ...brandOf('Volt'), terms_url: null }
    expect(entries.map(({ detail }) => detail)).toEqual([
      { before: all, after: none },
      { before: none, after: all },
    ])
    for (const { actor } of entries) expect(actor).toMatch(/^key_/)
  })

  it('shows the error at the field with the entered values, and saves nothing', async () => {
    const one = await liveVisitor()
    const wrong = await one.send(page, page, { ...brandOf('Sandbox'), terms_url: 'http://volt.example/terms' })
    expect(wrong.status).toBe(400)
    expect(wrong.text).toContain(
      'id="terms_url-fault">Terms of use must begin with https://, or with http:// and a loopback host.<',
    )
    expect(wrong.text).toContain('value="http://volt.example/terms"')
    expect((await one.get(page)).text).not.toContain('volt.example')
    const pale = await one.send(page, page, { ...brandOf('Sandbox'), brand_color: '#7ac943' })
    expect([
      pale.status,
      /id="brand_color-fault">Colour must be darker: [^<]+ Use #[0-9a-f]{6}\.</.test(pale.text),
    ]).toEqual([400, true])
  })

  it('is read-only for test keys and other scopes, and refuses forms of other sites', async () => {
    const { key } = await makeKey(database(), system.folder, sandbox(), 'read')
    for (const [one, advice] of [
      [await testVisitor(), 'Sign in to live mode'],
      [await signIn(sandbox().account_id, key), 'Sign in with a live key'],
    ] as const) {
      const { status, text } = await one.get(page)
      expect([status, text.includes(advice), text.includes(`action="${page}"`)]).toEqual([200, true, false])
      const { text: overview } = await one.get('/console')
      const csrf = /name="csrf" value="(\w+)"/.exec(overview)?.[1] ?? ''
      expect((await one.send(page, page, { ...brandOf('Volt'), csrf, form: crypto.randomUUID() })).status).toBe(403)
    }
    const owner = await liveVisitor()
    expect((await owner.send(page, page, brandOf('Volt'), { origin: 'https://example.com' })).status).toBe(403)
    expect((await owner.send(page, page, { ...brandOf('Volt'), csrf: 'other' })).status).toBe(403)
    expect((await owner.get(page)).text).not.toContain('volt.example')
  })
})

describe('the overview', () => {
  it('says that some failed records were accepted before they failed', async () => {
    const { text } = await (await testVisitor()).get('/console')
    expect(text).toContain(' of them after they were accepted, last 30 days')
  })
})

describe('the page of keys', () => {
  const secretIn = ({ text }: SeenPage) => /<code class="secret">(sk_test_[0-9a-f]{48})<\/code>/.exec(text)?.[1]

  const canLogIn = async (key: string): Promise<boolean> => {
    const basic = Buffer.from(`${sandbox().account_id}:${key}`).toString('base64')
    return (await fetch(`${sandbox().base_url}/login`, { headers: { authorization: `Basic ${basic}` } })).ok
  }

  it('creates a key, shows it once, revokes it, and writes an audit entry for each', async () => {
    const one = await testVisitor()
    const made = await one.send('/console/keys', '/console/keys', { scope: 'metering', description: 'till 4' })
    const key = secretIn(made) ?? expect.fail(made.text)
    expect(await canLogIn(key)).toBe(true)
    const listed = await one.get('/console/keys')
    expect(listed.text).toContain('till 4')
    expect(listed.text).not.toContain(key)
    const [, id] = new RegExp(`(key_\\w+)</code>(?:(?!</tr>).)*…${key.slice(-4)}<`).exec(listed.text) ?? []
    const revokePath = `/console/keys/${id}/revoke`
    const refused = await one.send(revokePath, revokePath, { confirm: 'none' })
    expect([refused.status, await canLogIn(key)]).toEqual([400, true])
    const revoked = await one.send(revokePath, revokePath, { confirm: key.slice(-4) })
    expect(revoked.text).toContain(`ending in ${key.slice(-4)} is revoked`)
    expect(await canLogIn(key)).toBe(false)
    const { out } = await runCommand(['audit-log', 'list', sandbox().account_id, '--mode', 'test', '--json'], {
      WATTLEDGER_DATA_DIR: system.folder,
    })
    const entries = (JSON.parse(out) as { action: string; object_id: string; actor: string }[]).filter(
      entry => entry.object_id === id,
    )
    expect(entries.map(({ action, actor }) => [action, /^key_/.test(actor)])).toEqual([
      ['api_key.revoke', true],
      ['api_key.create', true],
    ])
    expect(out).not.toContain(key.slice(8, 40))
  })

  it('requires a key with scope all', async () => {
    for (const scope of ['read', 'metering'] as const) {
      const { key } = await makeKey(database(), system.folder, sandbox(), scope)
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
  it('shows the error at the field with the entered values', async () => {
    const one = await testVisitor()
    const refused = await one.send('/console/webhooks', '/console/webhooks', {
      url: 'http://10.0.0.1/hook',
      event_types: 'customer.*, device.create',
      description: 'Billing',
    })
    expect(refused.status).toBe(400)
    expect(refused.text).toMatch(
      /value="http:\/\/10\.0\.0\.1\/hook"[^>]*aria-invalid="true"[^>]*aria-describedby="url-hint url-fault"/,
    )
    expect(refused.text).toContain('value="customer.*, device.create"')
    expect(refused.text).toContain('id="url-fault"')
  })

  it('offers the API version of the events, first the default of the account, and shows the chosen one', async () => {
    const account = sandbox().account_id
    const setDefault = (version: string) =>
      runCommand(['account', 'set', account, '--version', version], { WATTLEDGER_DATA_DIR: system.folder })
    const one = await testVisitor()
    const selected = async () =>
      /<option value="(\w+)" selected>/.exec(
        /name="api_version">.*?<\/select>/.exec((await one.get(page)).text)?.[0] ?? '',
      )?.[1]
    const page = '/console/webhooks'
    expect(await selected()).toBe('current')
    await setDefault('2024-08-24')
    expect(await selected()).toBe('earlier')
    await setDefault('2025-09-14')
    const dates = { current: '2025-09-14', earlier: '2024-08-24' }
    for (const [version, date] of Object.entries(dates)) {
      const created = await one.send(page, page, {
        url: `https://example.com/${version}`,
        event_types: '*',
        description: '',
        api_version: version,
      })
      expect(created.text).toContain(`${date} (${version})</td>`)
      const own = new RegExp(`href="(/console/webhooks/whe_[0-9a-f]{24})">https://example.com/${version}<`).exec(
        created.text,
      )
      const details = await one.get(own?.[1] ?? '')
      expect(details.text).toContain(`<dt>API version</dt><dd>${date} (${version})</dd>`)
      expect(created.text).toContain(`&#39;Api-Version: ${date}&#39;`)
    }
    const client = await system.login()
    const list = (await client.ask('GET', '/webhooks')) as { data: { url: string; api_version: string }[] }
    const versions = new Map(list.data.map(({ url, api_version: version }) => [url, version]))
    for (const [version, date] of Object.entries(dates))
      expect([version, versions.get(`https://example.com/${version}`)]).toEqual([version, date])
  })

  it('has the links of its table also in the answer of an action', async () => {
    const one = await testVisitor()
    const created = await one.send('/console/webhooks', '/console/webhooks', {
      url: 'https://example.com/hook',
      event_types: '*',
      description: '',
    })
    const page = /\/console\/webhooks\/whe_[0-9a-f]{24}/.exec(created.text)?.[0] ?? ''
    expect((await one.send(page, `${page}/test`)).status).toBe(303)
    const rotated = await one.send(page, `${page}/rotate`)
    expect([rotated.status, rotated.text.includes('Signing secret created')]).toEqual([200, true])
    const links = [...rotated.text.matchAll(/href="([^"]*(?:sort-deliveries|csv=deliveries)[^"]*)"/g)].map(
      ([, href = '']) => href.replaceAll('&amp;', '&'),
    )
    expect(links).toContain(`${page}?csv=deliveries`)
    expect(links).toContain(`${page}?sort-deliveries=status`)
    for (const link of links) expect([link, (await one.get(link)).status]).toEqual([link, 200])
  })
})
