import sql from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import { bearerTokens } from '../../../../services/platform/access/bearer-token.ts'
import { readAudit } from '../../../../services/platform/postgres/registry/audit-log.ts'
import { withTenant } from '../../../../services/platform/postgres/transaction.ts'
import { findUserLink, spendUserLink } from '../../../../services/platform/postgres/users/user-links.ts'
import { setUserPassword } from '../../../../services/platform/postgres/users/user-sign-in.ts'
import { secret } from '../../../support/http/http-access.ts'
import {
  type Call,
  type Client,
  caller,
  idOf,
  listed,
  makeAccount,
  useService,
} from '../../../support/registry/service.ts'

const clock = { at: 1_760_000_000_000 }
const service = await useService(() => clock.at)
const { database } = service
const withId = ({ live, test }: Awaited<ReturnType<typeof makeAccount>>) => ({ live, test, accountId: live.accountId })
const mine = withId(await makeAccount(service))
const theirs = withId(await makeAccount(service))

const tokenOf = (link: unknown): string => new URL(String(link), 'http://local').searchParams.get('token') ?? ''

const invite = async (client: Client, address: string, role: string) => {
  const answer = await client.call('POST', '/users', { address, role })
  expect(answer.status, answer.text).toBe(201)
  return { id: idOf(answer), token: tokenOf(answer.body['link']) }
}

/** Accept the invitation of a user with any password hash. */
const accept = (client: Client, liveMode: boolean, id: string) =>
  withTenant(database, { accountId: client.accountId, liveMode }, transaction =>
    setUserPassword(transaction, id, { passwordHash: 'hash', replacesLogins: true }, clock.at),
  )

const callAs = async (accountId: string, liveMode: boolean, keyId: string): Promise<Call> =>
  caller(service.app, {
    authorization: `Bearer ${await bearerTokens(secret).sign({ accountId, liveMode, keyId }, clock.at)}`,
  })

describe('users over the API', () => {
  it('are invited with a link that is shown once and stored as a hash', async () => {
    const { id, token } = await invite(mine.live, ' Ada@Example.com', 'support')
    expect(token).toMatch(/^[0-9a-f]{32}$/)
    const read = await mine.live.call('GET', `/users/${id}`)
    expect(read.body).toMatchObject({ address: 'ada@example.com', role: 'support', status: 'INVITED' })
    expect(read.text).not.toContain(token)
    const stored = await database.operator<{ text: string }>(
      sql`select user_links::text as text from user_links union all select detail::text from audit_log`,
    )
    expect(stored.rows.filter(({ text }) => text.includes(token))).toEqual([])
    expect(await findUserLink(database.operator, secret, token, clock.at)).toMatchObject({ userId: id })
    expect(await findUserLink(database.operator, secret, token, clock.at + 72 * 3_600_000)).toBeNull()
    expect(await findUserLink(database.operator, secret, token, clock.at + 72 * 3_600_000 - 1)).not.toBeNull()
  })

  it('and other objects with a secret are stored without it under an Idempotency-Key, and a repeat shows it again', async () => {
    const { id } = await invite(mine.live, 'secret@example.com', 'read')
    const endpoint = await mine.live.call('POST', '/webhooks', { url: 'https://1.1.1.1/hooks' })
    const requests = [
      ['/users', { address: 'sealed@example.com', role: 'read' }, 'link'],
      [`/users/${id}/link`, {}, 'link'],
      ['/webhooks', { url: 'https://1.1.1.1/other' }, 'secret'],
      [`/webhooks/${idOf(endpoint)}/secret`, {}, 'secret'],
    ] as const
    for (const [path, body, member] of requests) {
      const headers = { 'idempotency-key': `secret of ${path}` }
      const first = await mine.live.call('POST', path, body, headers)
      const again = await mine.live.call('POST', path, body, headers)
      expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
      const [, text = ''] = /(?:token=|whsec_)(.+)/.exec(String(first.body[member])) ?? []
      expect(text.length, first.text).toBeGreaterThan(30)
      const { rows } = await database.operator<{ answer: string }>(
        sql`select answer::text from idempotency_keys where key = ${headers['idempotency-key']}`,
      )
      expect(rows).toHaveLength(1)
      expect(rows[0]?.answer).not.toContain(text)
    }
  })

  it('have one address each in an account and mode', async () => {
    await invite(mine.test, 'twice@example.com', 'read')
    await invite(mine.live, 'twice@example.com', 'read')
    await invite(theirs.test, 'twice@example.com', 'read')
    const again = await mine.test.call('POST', '/users', { address: 'TWICE@example.com', role: 'read' })
    expect([again.status, again.body['code'], again.body['field']]).toEqual([400, 'address_taken', 'address'])
  })

  it('are unknown in the other mode and in other accounts', async () => {
    const { id } = await invite(mine.live, 'mine@example.com', 'read')
    for (const client of [mine.test, theirs.live]) {
      expect((await client.call('GET', `/users/${id}`)).status).toBe(404)
      expect((await client.call('PATCH', `/users/${id}`, { role: 'owner' })).status).toBe(404)
      expect((await client.call('DELETE', `/users/${id}`)).status).toBe(404)
      expect((await client.call('POST', `/users/${id}/link`)).status).toBe(404)
      expect(listed(await client.call('GET', '/users?limit=100')).map(user => user['id'])).not.toContain(id)
    }
  })

  it('have audit entries that name the user who changed them', async () => {
    const owner = await invite(theirs.live, 'owner@example.com', 'owner')
    await accept(theirs.live, true, owner.id)
    const call = await callAs(theirs.accountId, true, owner.id)
    const created = await call('POST', '/users', { address: 'new@example.com', role: 'read' })
    await call('PATCH', `/users/${idOf(created)}`, { role: 'support' })
    await call('POST', `/users/${idOf(created)}/link`)
    await call('DELETE', `/users/${idOf(created)}`)
    const entries = await withTenant(database, { accountId: theirs.accountId, liveMode: true }, transaction =>
      readAudit(transaction, 4),
    )
    expect(entries.map(({ actor, action, objectId }) => [actor, action, objectId])).toEqual(
      ['delete', 'create_link', 'update', 'create'].map(verb => [owner.id, `user.${verb}`, idOf(created)]),
    )
  })
})

describe('a link', () => {
  it('is used once, by one of two concurrent requests', async () => {
    const { id, token } = await invite(mine.live, 'race@example.com', 'read')
    const spend = () =>
      withTenant(database, { accountId: mine.accountId, liveMode: true }, transaction =>
        spendUserLink(transaction, secret, { userId: id, token }, clock.at),
      )
    const spent = await Promise.all(Array.from({ length: 6 }, spend))
    expect(spent.filter(Boolean)).toHaveLength(1)
    expect(await findUserLink(database.operator, secret, token, clock.at)).toBeNull()
  })

  it('ends with the next link of its user, and with the user', async () => {
    const { id, token } = await invite(mine.live, 'next@example.com', 'read')
    const next = tokenOf((await mine.live.call('POST', `/users/${id}/link`)).body['link'])
    expect(await findUserLink(database.operator, secret, token, clock.at)).toBeNull()
    expect(await findUserLink(database.operator, secret, next, clock.at)).toMatchObject({ purpose: 'invitation' })
    await mine.live.call('DELETE', `/users/${id}`)
    expect(await findUserLink(database.operator, secret, next, clock.at)).toBeNull()
  })
})

describe('rights of a user', () => {
  it('are those of the role, in the modes of the user', async () => {
    const { id } = await invite(mine.live, 'support@example.com', 'support')
    const live = await callAs(mine.accountId, true, id)
    expect((await live('GET', '/customers')).status).toBe(401)
    await accept(mine.live, true, id)
    const support = await callAs(mine.accountId, true, id)
    expect((await support('POST', '/customers', {})).status).toBe(201)
    expect((await (await callAs(mine.accountId, false, id))('POST', '/customers', {})).status).toBe(201)
    expect((await (await callAs(theirs.accountId, true, id))('GET', '/customers')).status).toBe(401)
    for (const [method, path, body] of [
      ['POST', '/users', { address: 'x@example.com', role: 'owner' }],
      ['PATCH', `/users/${id}`, { role: 'owner' }],
      ['POST', '/webhooks', { url: 'https://example.com/' }],
      ['POST', '/webhooks/whe_0198c0ffee00112233445566/secret', {}],
    ] as const)
      expect((await support(method, path, body)).body['code'], path).toBe('insufficient_scope')
    const test = await invite(mine.test, 'tester@example.com', 'owner')
    await accept(mine.test, false, test.id)
    expect((await (await callAs(mine.accountId, false, test.id))('GET', '/users')).status).toBe(200)
    expect((await (await callAs(mine.accountId, true, test.id))('GET', '/users')).status).toBe(401)
  })

  it('end within 60 s in a process that has cached them', async () => {
    const { id } = await invite(mine.live, 'leaver@example.com', 'read')
    await accept(mine.live, true, id)
    const call = await callAs(mine.accountId, true, id)
    expect((await call('GET', '/customers')).status).toBe(200)
    await mine.live.call('DELETE', `/users/${id}`)
    clock.at += 60_000
    expect((await call('GET', '/customers')).status).toBe(401)
  })
})

describe('the last owner', () => {
  it('stays, also if two owners remove each other at once', async () => {
    const account = await makeAccount(service)
    const owners = await Promise.all(
      ['a', 'b'].map(async name => {
        const { id } = await invite(account.live, `${name}@example.com`, 'owner')
        await accept(account.live, true, id)
        return id
      }),
    )
    const removed = await Promise.all(owners.map(id => account.live.call('DELETE', `/users/${id}`)))
    expect(removed.map(({ status }) => status).toSorted()).toEqual([202, 400])
    const [left] = listed(await account.live.call('GET', '/users'))
    const demoted = await account.live.call('PATCH', `/users/${left?.['id']}`, { role: 'read' })
    expect([demoted.status, demoted.body['code']]).toEqual([400, 'last_owner'])
    expect((await account.live.call('PATCH', `/users/${left?.['id']}`, { role: 'owner' })).status).toBe(200)
  })
})
