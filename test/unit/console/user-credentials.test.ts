import { hkdfSync } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ConsoleDependencies } from '../../../services/console/console-dependencies.ts'
import { openLink, useLink } from '../../../services/console/people/link-page.ts'
import { signInWithPassword, startUserSession } from '../../../services/console/people/sign-in-user.ts'
import { sessionOf } from '../../../services/console/session.ts'
import { passwordHasher } from '../../../services/platform/access/password-hash.ts'
import type { SignInFailure } from '../../../services/platform/access/sign-in-failures.ts'
import { signInThrottle } from '../../../services/platform/http/throttle/sign-in-throttle.ts'
import { updateAccount } from '../../../services/platform/postgres/registry/accounts.ts'
import { readAudit } from '../../../services/platform/postgres/registry/audit-log.ts'
import { withTenant } from '../../../services/platform/postgres/transaction.ts'
import {
  endUserSessions,
  findUserByProvider,
  setUserPassword,
  setUserProvider,
} from '../../../services/platform/postgres/users/user-sign-in.ts'
import { secret } from '../../support/http/http-access.ts'
import { type Client, caller, idOf, makeAccount, useService } from '../../support/registry/service.ts'

const clock = { at: 1_760_000_000_000 }
const service = await useService(() => clock.at)

/** Hashes that were derived. A cheap hash replaces Argon2id, so that long histories are quick. */
let derived = 0
const passwords = passwordHasher(async (_, { message, nonce, tagLength }) => {
  derived += 1
  return Buffer.from(hkdfSync('sha256', message as string, nonce as Buffer, '', tagLength))
})
const failures: SignInFailure[] = []
/** Create dependencies of the console with a new throttle. */
const open = () =>
  ({
    database: service.database,
    secret,
    passwords,
    throttle: signInThrottle(),
    onSignInFailure: (failure: SignInFailure) => void failures.push(failure),
  }) as unknown as ConsoleDependencies

let addresses = 0
const newAddress = (): string => `credentials-${++addresses}@example.com`
const tokenOf = (link: unknown): string => String(link).split('token=')[1] ?? ''

const invite = async (client: Client, address: string, role = 'read') => {
  const answer = await client.call('POST', '/users', { address, role })
  expect(answer.status, answer.text).toBe(201)
  return { id: idOf(answer), token: tokenOf(answer.body['link']) }
}

/** Log in again with the key of a client. */
const logInAgain = async (client: Client): Promise<Client> => {
  const { body } = await caller(service.app, { authorization: client.basic })('GET', '/login')
  return { ...client, call: caller(service.app, { authorization: `Bearer ${body['bearer_token']}` }) }
}

/** Set the password by a link. Returns the token of the session; null if the link has ended. */
const acceptByPassword = async (dependencies: ConsoleDependencies, token: string, password: string) => {
  const link = await openLink(dependencies, token, clock.at)
  if (link === null) return null
  const passwordHash = await passwords.hash(password)
  const result = await useLink(
    dependencies,
    link,
    token,
    transaction => setUserPassword(transaction, link.userId, { passwordHash, replacesLogins: true }, clock.at),
    { peer: 'peer', at: clock.at },
  )
  return result?.ok === true ? result.token : null
}

const acceptByLogin = async (dependencies: ConsoleDependencies, token: string, subject: string) => {
  const link = await openLink(dependencies, token, clock.at)
  if (link === null) return null
  const login = { issuer: 'https://issuer.example', subject }
  const result = await useLink(
    dependencies,
    link,
    token,
    transaction => setUserProvider(transaction, link.userId, login, clock.at),
    { peer: 'peer', at: clock.at },
  )
  return result?.ok === true ? result.token : null
}

type Action =
  | { readonly kind: 'link' | 'end_sessions' | 'remove_password' | 'remove_login' | 'disable_and_enable' }
  | { readonly kind: 'reset_password' | 'reset_login'; readonly link: number; readonly value: number }
  | { readonly kind: 'sign_in' | 'login' | 'own_password'; readonly value: number }

const value = fc.nat({ max: 2 })
const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('link', 'link', 'end_sessions', 'remove_password', 'remove_login', 'disable_and_enable'),
  }),
  fc.record({ kind: fc.constantFrom('reset_password', 'reset_login'), link: fc.nat({ max: 1 }), value }),
  fc.record({ kind: fc.constantFrom('sign_in', 'login', 'own_password'), value }),
) as fc.Arbitrary<Action>

/** What a user must be able to do. `links` and `sessions` are all tokens so far; `link` and `active` those that work. */
type Model = {
  password: number | null
  login: number | null
  link: string | null
  active: Set<string>
  readonly links: string[]
  readonly sessions: string[]
}

const passwordAt = (index: number): string => `long password ${index}`

describe('histories of links, resets, sign-ins and removals', () => {
  it('leave exactly the credentials, sessions and links of the last change', async () => {
    let { live } = await makeAccount(service)
    const tenant = { accountId: live.accountId, liveMode: true }
    const run = async (actions: readonly Action[]): Promise<void> => {
      const dependencies = open()
      const address = newAddress()
      const { id, token } = await invite(live, address)
      const subjectAt = (index: number): string => `${id} ${index}`
      const model: Model = { password: null, login: null, link: token, active: new Set(), links: [token], sessions: [] }
      const begin = (session: string | null): void => {
        if (session === null) return
        model.active.add(session)
        model.sessions.push(session)
        model.link = null
      }
      const end = (): void => {
        model.active = new Set()
        model.link = null
      }
      const perform = async (one: Action): Promise<void> => {
        switch (one.kind) {
          case 'link': {
            const created = await live.call('POST', `/users/${id}/link`)
            model.link = tokenOf(created.body['link'])
            model.links.push(model.link)
            return
          }
          case 'reset_password':
          case 'reset_login': {
            const used = model.links.at(-1 - one.link) ?? ''
            const isOpen = used === model.link
            const session =
              one.kind === 'reset_password'
                ? await acceptByPassword(dependencies, used, passwordAt(one.value))
                : await acceptByLogin(dependencies, used, subjectAt(one.value))
            expect(session !== null).toBe(isOpen)
            if (!isOpen) return
            end()
            model.password = one.kind === 'reset_password' ? one.value : null
            model.login = one.kind === 'reset_login' ? one.value : null
            return begin(session)
          }
          case 'sign_in': {
            const sent = { address, password: passwordAt(one.value), account: '' }
            const result = await signInWithPassword(dependencies, sent, 'peer', clock.at)
            expect(result.ok).toBe(model.password === one.value)
            return begin(result.ok ? result.token : null)
          }
          case 'login': {
            const login = { issuer: 'https://issuer.example', subject: subjectAt(one.value) }
            const user = await findUserByProvider(service.database.operator, login)
            expect(user !== null).toBe(model.login === one.value)
            if (user === null) return
            const result = await startUserSession(dependencies, user, { method: 'provider', peer: 'peer' }, clock.at)
            return begin(result.ok ? result.token : null)
          }
          case 'own_password': {
            if (model.active.size === 0) return
            const passwordHash = await passwords.hash(passwordAt(one.value))
            await withTenant(service.database, tenant, transaction =>
              setUserPassword(transaction, id, { passwordHash, replacesLogins: false }, clock.at),
            )
            model.password = one.value
            return end()
          }
          case 'disable_and_enable': {
            await updateAccount(service.database.operator, live.accountId, { disabledAt: clock.at })
            for (const session of model.active)
              expect(await sessionOf({ ...dependencies, allowsKeys: true }, session, clock.at)).toBeNull()
            if (model.password !== null) {
              const sent = { address, password: passwordAt(model.password), account: '' }
              const result = await signInWithPassword(dependencies, sent, 'peer', clock.at)
              expect(result).toMatchObject({ ok: false, status: 403 })
            }
            await updateAccount(service.database.operator, live.accountId, { disabledAt: null })
            // The token of the account has ended too. A process notices it within 60 s.
            clock.at += 60_000
            expect((await live.call('GET', '/users')).status).toBe(401)
            live = await logInAgain(live)
            model.active = new Set()
            return
          }
          case 'end_sessions':
            await withTenant(service.database, tenant, transaction => endUserSessions(transaction, id))
            return end()
          case 'remove_password':
          case 'remove_login': {
            const isPassword = one.kind === 'remove_password'
            const removed = await live.call('DELETE', `/users/${id}/${isPassword ? 'password' : 'provider-login'}`)
            const has = (isPassword ? model.password : model.login) !== null
            expect(removed.status, removed.text).toBe(202)
            if (!has) return
            if (isPassword) model.password = null
            else model.login = null
            return end()
          }
        }
      }
      for (const one of actions) {
        await perform(one)
        const { body } = await live.call('GET', `/users/${id}`)
        expect(body).toMatchObject({ has_password: model.password !== null, has_provider_login: model.login !== null })
        for (const link of model.links)
          expect((await openLink(dependencies, link, clock.at)) !== null, one.kind).toBe(link === model.link)
        for (const session of model.sessions) {
          const found = await sessionOf({ ...dependencies, allowsKeys: true }, session, clock.at)
          expect(found !== null, one.kind).toBe(model.active.has(session))
        }
      }
    }
    const minutely = fc.asyncProperty(fc.array(action, { minLength: 3, maxLength: 14 }), async actions => {
      // The throttle counts by minute; each history has a throttle of its own.
      clock.at += 1_000
      await run(actions)
    })
    await fc.assert(minutely, { numRuns: 60 })
  }, 120_000)

  it('let one of many concurrent resets and one of two kinds succeed', async () => {
    const { live } = await makeAccount(service)
    const dependencies = open()
    for (let round = 0; round < 5; round += 1) {
      const { id, token } = await invite(live, newAddress())
      await acceptByPassword(dependencies, token, passwordAt(0))
      const reset = tokenOf((await live.call('POST', `/users/${id}/link`)).body['link'])
      const results = await Promise.all([
        acceptByPassword(dependencies, reset, passwordAt(1)),
        acceptByLogin(dependencies, reset, `concurrent ${id}`),
        acceptByPassword(dependencies, reset, passwordAt(2)),
        live.call('DELETE', `/users/${id}/password`).then(() => null),
        signInWithPassword(dependencies, { address: newAddress(), password: 'x', account: '' }, 'peer', clock.at).then(
          () => null,
        ),
      ])
      expect(results.filter(session => session !== null).length).toBeLessThanOrEqual(1)
      const { body } = await live.call('GET', `/users/${id}`)
      expect([body['has_password'], body['has_provider_login']]).not.toEqual([true, true])
      expect(await openLink(dependencies, reset, clock.at)).toBeNull()
    }
    expect(service.errors).toEqual([])
  })
})

describe('the last owner', () => {
  it('keeps one credential', async () => {
    const { live } = await makeAccount(service)
    const dependencies = open()
    const { id, token } = await invite(live, newAddress(), 'owner')
    await acceptByPassword(dependencies, token, passwordAt(0))
    const refused = await live.call('DELETE', `/users/${id}/password`)
    expect([refused.status, refused.body['code']]).toEqual([400, 'last_owner'])
    const other = await invite(live, newAddress(), 'owner')
    await acceptByLogin(dependencies, other.token, `owner ${other.id}`)
    expect((await live.call('DELETE', `/users/${id}/password`)).status).toBe(202)
    expect((await live.call('DELETE', `/users/${other.id}/provider-login`)).body['code']).toBe('last_owner')
    const entries = await withTenant(service.database, { accountId: live.accountId, liveMode: true }, transaction =>
      readAudit(transaction, 1, id),
    )
    expect(entries.map(({ action }) => action)).toEqual(['user.delete_password'])
    // The other owner cannot sign in any more, so this one is the last.
    expect((await live.call('DELETE', `/users/${other.id}`)).body['code']).toBe('last_owner')
  })
})

describe('a sign-in with an address that several accounts have', () => {
  const accept = async (client: Client, address: string, password: string): Promise<string> => {
    const { id, token } = await invite(client, address)
    clock.at += 1
    expect(await acceptByPassword(open(), token, password)).not.toBeNull()
    return id
  }
  const signIn = (address: string, password: string, account = '') =>
    signInWithPassword(open(), { address, password, account }, 'peer', clock.at)
  const userOf = async (result: Awaited<ReturnType<typeof signIn>>): Promise<string | null> =>
    result.ok ? ((await sessionOf({ ...open(), allowsKeys: true }, result.token, clock.at))?.user?.id ?? null) : null

  it('succeeds though another account or mode invited the address and accepted its own link', async () => {
    const [victim, attacker] = [await makeAccount(service), await makeAccount(service)]
    const address = newAddress()
    failures.length = 0
    const id = await accept(victim.test, address, 'password of the victim')
    await accept(attacker.live, address, 'password of the attacker')
    await accept(attacker.test, address, 'password of the attacker')
    await accept(victim.live, address, 'password of a colleague')
    expect(await userOf(await signIn(address, 'password of the victim'))).toBe(id)
    expect(await userOf(await signIn(address, 'password of the victim', victim.live.accountId))).toBe(id)
    expect(failures).toEqual([])
    expect((await signIn(address, 'password of the victim', attacker.live.accountId)).ok).toBe(false)
    const { accountId } = attacker.live
    const failure = { accountId, action: 'user.sign_in_failed', reason: 'wrong_password', peer: 'peer' }
    expect(failures).toMatchObject([
      { ...failure, liveMode: true },
      { ...failure, liveMode: false },
    ])
  })

  it('needs the account id if the person has one password in several accounts', async () => {
    const [one, two] = [await makeAccount(service), await makeAccount(service)]
    const address = newAddress()
    const password = 'one password for all'
    const ids = [await accept(one.live, address, password), await accept(two.live, address, password)]
    expect(await signIn(address, password)).toMatchObject({ ok: false, status: 401 })
    for (const [index, { live }] of [one, two].entries())
      expect(await userOf(await signIn(address, password, live.accountId))).toBe(ids[index])
  })

  it('costs the same number of hashes in each case', async () => {
    const accounts = await Promise.all(Array.from({ length: 5 }, () => makeAccount(service)))
    const address = newAddress()
    const counts: number[] = []
    const count = async (sentAddress: string, password: string, account = '') => {
      const before = derived
      await signIn(sentAddress, password, account)
      counts.push(derived - before)
    }
    await count(address, 'unknown')
    await count('no address', 'unknown')
    for (const [index, { live }] of accounts.entries()) {
      await accept(live, address, passwordAt(index))
      await count(address, passwordAt(index))
      await count(address, 'wrong password')
      await count(address, passwordAt(index), live.accountId)
      await count(address, passwordAt(index), 'acc_unknown')
    }
    expect(new Set(counts)).toEqual(new Set([3]))
  })
})
