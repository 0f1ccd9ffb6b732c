import { describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import {
  openVisitor,
  type SeenPage,
  signInPath,
  signIn as signInWithKey,
  type Visitor,
} from '../../support/web/console-visitor.ts'

const system = useSharedSystem()
const base = () => system.sandbox().base_url
const passwordPath = `${signInPath}/password`
const password = 'correct horse battery'

type Invited = { readonly id: string; readonly link: string; readonly address: string }

let count = 0
const invite = async (client: Client, role: string): Promise<Invited> => {
  count += 1
  const address = `person-${count}-${system.sandbox().account_id}@example.com`
  return (await client.ask('POST', '/users', { address, role })) as Invited
}

const sendPasswords = (visitor: Visitor, link: string, value: string, repeated = value): Promise<SeenPage> => {
  const { pathname, search, searchParams } = new URL(link, base())
  const fields = { token: searchParams.get('token') ?? '', password: value, repeated }
  return visitor.send(pathname + search, pathname, fields)
}

const signIn = (visitor: Visitor, address: string, value = password): Promise<SeenPage> =>
  visitor.send(signInPath, passwordPath, { address, password: value })

/** Invite a person who accepts. Return the visitor with a session. */
const accepted = async (role: string, mode: 'live' | 'test' = 'live') => {
  const user = await invite(await system.login(mode), role)
  const visitor = openVisitor(base())
  const done = await sendPasswords(visitor, user.link, password)
  expect([done.status, done.to], done.text).toEqual([303, '/console'])
  return { user, visitor }
}

describe('an invitation', () => {
  it('is accepted once, by the form of its page and not by loading the page', async () => {
    const { link } = await invite(await system.login('live'), 'read')
    const page = await openVisitor(base()).get(link)
    expect([page.status, page.text.includes('Accept invitation')]).toEqual([200, true])
    const short = await sendPasswords(openVisitor(base()), link, 'too short')
    expect([short.status, short.text.includes('at least 12 characters')]).toEqual([400, true])
    const differing = await sendPasswords(openVisitor(base()), link, password, `${password}!`)
    expect([differing.status, differing.text.includes('The two passwords differ')]).toEqual([400, true])
    const [a, b] = [openVisitor(base()), openVisitor(base())]
    const both = await Promise.all([a, b].map(visitor => sendPasswords(visitor, link, password)))
    expect(both.map(({ status }) => status).toSorted()).toEqual([303, 404])
    expect((await openVisitor(base()).get(link)).status).toBe(404)
    expect((await openVisitor(base()).get('/console/reset?token=x')).status).toBe(404)
  })
})

describe('a sign-in with a password', () => {
  it('has one answer for a wrong password, an unknown address and an invalid address', async () => {
    const { user } = await accepted('read')
    const texts = await Promise.all(
      [user.address, 'nobody@example.com', 'no address'].map(async address => {
        const { status, text } = await signIn(openVisitor(base()), address, 'wrong password')
        expect(status).toBe(401)
        return text.replaceAll(/value="[^"]*"/g, '')
      }),
    )
    expect(new Set(texts).size).toBe(1)
    expect(texts[0]).toContain('The address or the password is wrong')
    const done = await signIn(openVisitor(base()), user.address.toUpperCase())
    expect([done.status, done.to]).toEqual([303, '/console'])
  })

  it('gives each session a new token', async () => {
    const { user, visitor } = await accepted('read')
    const first = visitor.cookies.get('wattledger_console') ?? ''
    const fresh = openVisitor(base())
    await signIn(fresh, user.address)
    expect(fresh.cookies.get('wattledger_console')).not.toBe(first)
  })

  it('is refused with 429 after 10 wrong passwords in a minute', async () => {
    const { user } = await accepted('read')
    const visitor = openVisitor(base())
    const statuses: number[] = []
    for (let attempt = 0; attempt < 12; attempt += 1)
      statuses.push((await signIn(visitor, user.address, 'wrong password')).status)
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429])
  })
})

describe('a session', () => {
  it('ends with the role, the password and the removal of its user', async () => {
    const live = await system.login('live')
    const changed = await accepted('read')
    await live.ask('PATCH', `/users/${changed.user.id}`, { role: 'support' })
    expect((await changed.visitor.get('/console')).to).toContain(signInPath)

    const removed = await accepted('read')
    await live.ask('DELETE', `/users/${removed.user.id}`)
    expect((await removed.visitor.get('/console')).to).toContain(signInPath)
    expect((await signIn(openVisitor(base()), removed.user.address)).status).toBe(401)

    const { user, visitor } = await accepted('read')
    const other = openVisitor(base())
    await signIn(other, user.address)
    const next = 'another long password'
    const wrong = await visitor.send('/console/me', '/console/me/password', {
      current: 'wrong password',
      password: next,
      repeated: next,
    })
    expect([wrong.status, wrong.text.includes('The current password is wrong')]).toEqual([400, true])
    const done = await visitor.send('/console/me', '/console/me/password', {
      current: password,
      password: next,
      repeated: next,
    })
    expect([done.status, done.to]).toEqual([303, '/console/me?done=saved'])
    expect((await visitor.get('/console/me')).status).toBe(200)
    expect((await other.get('/console')).to).toContain(signInPath)
    await visitor.send('/console/me', '/console/me/sign-out')
    expect((await visitor.get('/console')).to).toContain(signInPath)
  })

  it('of a user of live mode moves to test mode and back with a new token', async () => {
    const { visitor } = await accepted('owner')
    const token = visitor.cookies.get('wattledger_console')
    await visitor.send('/console/me', '/console/me/mode')
    expect(visitor.cookies.get('wattledger_console')).not.toBe(token)
    expect((await visitor.get('/console')).text).toContain('Test mode')
    expect((await visitor.get('/console/audit-log')).text).toContain('user.switch_mode')
    await visitor.send('/console/me', '/console/me/mode')
    expect((await visitor.get('/console')).text).toContain('Live mode')
    const tester = await accepted('owner', 'test')
    expect((await tester.visitor.get('/console/me')).text).not.toContain('/console/me/mode')
  })
})

describe('the pages of people', () => {
  it('let an owner invite, change, reset and remove a person', async () => {
    const { visitor } = await accepted('owner')
    const address = `page-${system.sandbox().account_id}@example.com`
    const invited = await visitor.send('/console/people', '/console/people', { address, role: 'read' })
    const token = /token=([0-9a-f]{32})/.exec(invited.text)?.[1] ?? ''
    expect(invited.text).toContain(`${base()}/console/invitation?token=${token}`)
    expect((await visitor.get('/console/people')).text).not.toContain(token)
    const again = await visitor.send('/console/people', '/console/people', { address, role: 'read' })
    expect([again.status, again.text.includes('Another user of this account has this address')]).toEqual([400, true])
    const id = new RegExp(`/console/people/(usr_[0-9a-f]{24})">${address}`).exec(invited.text)?.[1] ?? ''
    const page = `/console/people/${id}`
    expect((await visitor.send(page, `${page}/role`, { role: 'support' })).to).toBe(`${page}?done=saved`)
    expect((await visitor.send(page, `${page}/link`)).text).toMatch(/invitation\?token=[0-9a-f]{32}/)
    const wrong = await visitor.send(`${page}/remove`, `${page}/remove`, { confirm: 'another' })
    expect(wrong.status).toBe(400)
    const removed = await visitor.send(`${page}/remove`, `${page}/remove`, { confirm: address })
    expect(removed.to).toBe('/console/people?done=deleted')
    const log = await visitor.get(`/console/audit-log?object=${id}`)
    for (const verb of ['create', 'update', 'create_link', 'delete']) expect(log.text).toContain(`user.${verb}`)
    expect(log.text).not.toContain(token)
    const csv = await visitor.get(`/console/audit-log?object=${id}&action=user.*&csv=audit-log`)
    expect(csv.headers.get('content-type')).toContain('text/csv')
    expect(csv.text.trim().split('\n')).toHaveLength(5)
  })

  it('show the audit log to each role, and to keys that may read', async () => {
    const { account_id: account, test_key: key } = system.sandbox()
    const owner = await signInWithKey(base(), account, key)
    const keyOf = async (scope: string): Promise<string> =>
      /sk_test_\w+/.exec(
        (await owner.send('/console/keys', '/console/keys', { scope, description: scope })).text,
      )?.[0] ?? ''
    const people = await Promise.all(['read', 'support'].map(async role => (await accepted(role)).visitor))
    expect((await owner.get('/console/audit-log')).text).toContain('api_key.sign_in')
    const reader = await signInWithKey(base(), account, await keyOf('read'))
    for (const one of [...people, reader]) {
      expect((await one.get('/console')).text).toContain('href="/console/audit-log"')
      const { status, text } = await one.get('/console/audit-log')
      expect([status, text.includes('newest first')]).toEqual([200, true])
    }
    const sender = await signInWithKey(base(), account, await keyOf('metering'))
    expect((await sender.get('/console')).text).not.toContain('href="/console/audit-log"')
    expect((await sender.get('/console/audit-log')).status).toBe(403)
  })

  it('refuse the forms that a role forbids, also if a person sends them without a page', async () => {
    const live = await system.login('live')
    const victim = await invite(live, 'read')
    const endpoint = (await live.ask('POST', '/webhooks', { url: 'https://example.com/' })) as Invited
    const forbidden: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
      ['/console/people', { address: 'friend@example.com', role: 'owner' }],
      [`/console/people/${victim.id}/role`, { role: 'owner' }],
      [`/console/people/${victim.id}/link`, {}],
      [`/console/people/${victim.id}/remove`, { confirm: victim.address }],
      ['/console/keys', { scope: 'all', description: 'stolen' }],
      ['/console/webhooks', { url: 'https://example.com/stolen', event_types: '*' }],
      [`/console/webhooks/${endpoint.id}/delete`, { confirm: 'example.com' }],
      [`/console/webhooks/${endpoint.id}/rotate`, {}],
      [`/console/webhooks/${endpoint.id}/disable`, {}],
    ]
    const state = async () => [await live.ask('GET', '/users'), await live.ask('GET', '/webhooks')]
    const before = await state()
    for (const role of ['read', 'support']) {
      const { user, visitor } = await accepted(role)
      const { text } = await visitor.get('/console/me')
      const csrf = /name="csrf" value="(\w+)"/.exec(text)?.[1] ?? ''
      for (const [path, fields] of [...forbidden, [`/console/people/${user.id}/role`, { role: 'owner' }] as const]) {
        const { status, text: answer } = await visitor.send('/console/me', path, {
          ...fields,
          csrf,
          form: crypto.randomUUID(),
        })
        // The answer is a page without the effect. A redirect would be a success, and 404 a path that does not exist.
        expect([role, path, status], answer).not.toEqual([role, path, 303])
        expect([role, path, status], answer).not.toEqual([role, path, 404])
        expect(answer).not.toMatch(/sk_(?:live|test)_|whsec_|token=[0-9a-f]{32}/)
      }
      await live.ask('DELETE', `/users/${user.id}`)
    }
    expect(await state()).toEqual(before)
  })

  it('show no button to a person whom the API would refuse', async () => {
    const live = await system.login('live')
    const location = (await live.ask('POST', '/locations', {
      timezone: 'Europe/Berlin',
      currency_code: 'EUR',
    })) as Invited
    const endpoint = (await live.ask('POST', '/webhooks', { url: 'https://example.com/' })) as Invited
    const plan = (await live.ask('POST', '/plans', { name: 'Plan A', currency_code: 'EUR', tariffs: [] })) as Invited
    const statement = `/console/statements?location_id=${location.id}&start=2026-03-01&end=2026-04-01`
    const pages = ['/console', '/console/locations', `/console/locations/${location.id}`, '/console/events']
    pages.push(`/console/plans/${plan.id}`, statement, '/console/schedules')
    await live.submit([bought(location.id, 1, '2026-03-10T11:00:00Z', '2026-03-10T12:00:00Z')])
    const records = (await live.ask('GET', `/meters/records?location_id=${location.id}`)) as { data: [{ id: string }] }
    pages.push(`/console/records/${records.data[0].id}`)
    const endpoints = ['/console/webhooks', `/console/webhooks/${endpoint.id}`, '/console/account']
    const formsOf = async (visitor: Visitor, path: string) => {
      const { status, text } = await visitor.get(path)
      expect([path, status]).toEqual([path, 200])
      const content = text.split('<main').at(1) ?? ''
      return {
        actions: [...content.matchAll(/method="post" action="([^"]*)"/g)].map(([, action = '']) => action),
        links: [...content.matchAll(/<a [^>]*href="(\/console[^"]*)"/g)].map(([, href = '']) =>
          href.replaceAll('&amp;', '&'),
        ),
      }
    }
    const reader = (await accepted('read')).visitor
    const linked = new Set<string>()
    for (const path of [...pages, ...endpoints]) {
      const { actions, links } = await formsOf(reader, path)
      expect([path, actions]).toEqual([path, []])
      expect((await reader.get(path)).text).not.toMatch(/href="\/console\/(people|keys)"/)
      for (const link of links) linked.add(link)
    }
    expect(linked).toContain(`/console/costs?object=${location.id}`)
    for (const path of linked) expect([path, (await formsOf(reader, path)).actions]).toEqual([path, []])
    const owner = (await accepted('owner')).visitor
    const ownLinks = (await formsOf(owner, `/console/locations/${location.id}`)).links
    for (const path of ownLinks.filter(link => !linked.has(link)))
      expect([path, (await formsOf(owner, path)).actions]).toEqual([path, [expect.any(String)]])
    expect(ownLinks).toContain(`/console/tariffs/new?location_id=${location.id}`)
    const support = (await accepted('support')).visitor
    expect((await formsOf(support, '/console/webhooks')).actions).toEqual([])
    const path = `/console/webhooks/${endpoint.id}`
    const actions = (await formsOf(support, path)).actions.filter(action => !action.includes('/deliveries/'))
    expect(actions).toEqual([`${path}/test`, `${path}/resend`])
    for (const one of [reader, support]) expect((await one.get('/console/people')).status).toBe(403)
  })
})
