import sql, { raw } from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BearerTokens, bearerTokens, type TokenSubject } from '../../../services/platform/access/bearer-token.ts'
import { newApiKey } from '../../../services/platform/ids/new-id.ts'
import { errorFaults } from '../../support/http/error-object.ts'
import { type RawReply, type RawSender, rawSender } from '../../support/http/raw-http.ts'
import { encoded, signed } from '../../support/http/signed-token.ts'
import { type DocumentedOperation, operationsOf, readDocument } from '../../support/openapi/openapi.ts'
import { createOtherAccount, makeKey, openRecords, secretOf, tokenOf } from '../../support/registry/accounts.ts'
import { startPrepared } from '../../support/system/prepared-folder.ts'
import { dataFolder, type RunningSystem, removeData } from '../../support/system/running-system.ts'

const folder = dataFolder()

type Ready = {
  readonly system: RunningSystem
  readonly records: Awaited<ReturnType<typeof openRecords>>
  readonly sender: RawSender
  readonly signer: BearerTokens
  /** Key of scope `all` in test mode, with its account. */
  readonly key: string
  readonly subject: TokenSubject
}

let ready: Ready | undefined

beforeAll(async () => {
  const system = await startPrepared(folder, { WATTLEDGER_LOG_LEVEL: 'debug' })
  const records = await openRecords(folder)
  const { id, key } = await makeKey(records, folder, system.sandbox, 'all')
  const subject = { accountId: system.sandbox.account_id, liveMode: false, keyId: id }
  ready = {
    system,
    records,
    sender: rawSender(system.sandbox.base_url),
    signer: bearerTokens(secretOf(folder)),
    key,
    subject,
  }
})

afterAll(async () => {
  ready?.sender.close()
  await ready?.records[Symbol.asyncDispose]()
  await ready?.system[Symbol.asyncDispose]()
  removeData(folder)
})

const all = (): Ready => {
  if (ready === undefined) throw new Error('the system is not ready')
  return ready
}

const get = (path: string, authorization: string): Promise<RawReply> =>
  all().sender.send({ method: 'GET', path, headers: { authorization } })

const codeOf = ({ text }: RawReply): unknown => (JSON.parse(text) as { readonly code?: string }).code

/** Return an answer without the members that identify the request. */
const words = ({ status, headers, text }: RawReply): string => {
  const { 'x-request-id': _, date: __, 'ratelimit-remaining': ___, ...others } = headers
  return JSON.stringify([status, others, text.replace(/"(?:request_id|time_created)":"[^"]*"/g, '')])
}

describe('a bearer token', () => {
  it('that was forged or altered is refused, with the same error as a foreign token', async () => {
    const { signer, subject } = all()
    const now = Date.now()
    const token = await signer.sign(subject, now)
    const [header = '', payload = '', signature = ''] = token.split('.')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>
    const head = JSON.parse(Buffer.from(header, 'base64url').toString()) as Record<string, unknown>
    const altered = (change: object): string => `${header}.${encoded({ ...claims, ...change })}.${signature}`
    const forged: Readonly<Record<string, string>> = {
      'without algorithm': `${encoded({ ...head, alg: 'none' })}.${payload}.`,
      'without algorithm, its signature kept': `${encoded({ ...head, alg: 'none' })}.${payload}.${signature}`,
      'without signature': `${header}.${payload}.`,
      'of another secret': await bearerTokens('another secret of thirty-two characters').sign(subject, now),
      'signed with the raw secret': signed(head, claims, secretOf(folder)),
      'signed with nothing': signed(head, claims, ''),
      'with another algorithm': signed({ ...head, alg: 'HS512' }, claims, secretOf(folder)),
      'with a key of its own': signed({ ...head, jwk: { kty: 'oct', k: encoded('own') } }, claims, 'own'),
      'of the other mode': altered({ live_mode: true }),
      'of another account': altered({ sub: `acc_${'0'.repeat(24)}` }),
      'of another key': altered({ key_id: `key_${'0'.repeat(24)}` }),
      'that never ends': altered({ exp: 9_999_999_999 }),
      'cut short': token.slice(0, -1),
      'with a tail': `${token}A`,
      'with another first letter': `${token[0] === 'e' ? 'f' : 'e'}${token.slice(1)}`,
      'twice in one': `${token}.${token}`,
      'of no parts': 'token',
      'of dots': '..',
      'of 10,000 letters': 'a'.repeat(10_000),
    }
    const wrong = await get('/account', 'Bearer a.b.c')
    expect([wrong.status, codeOf(wrong), errorFaults(wrong)]).toEqual([401, 'bad_credentials', []])
    for (const [name, text] of Object.entries(forged))
      expect(words(await get('/account', `Bearer ${text}`)), name).toBe(words(wrong))
    expect((await get('/account', `Bearer ${token}`)).status).toBe(200)
  })

  it('is valid for 1 h, and is then refused as expired', async () => {
    const { signer, subject } = all()
    const now = Date.now()
    const codeAfter = async (ms: number) =>
      codeOf(await get('/account', `Bearer ${await signer.sign(subject, now - ms)}`))
    expect(await codeAfter(3_590_000)).toBeUndefined()
    expect(await codeAfter(3_601_000)).toBe('token_expired')
    expect(await codeAfter(86_400_000)).toBe('token_expired')
    // A token for a key of another account, or of no account, counts as forged.
    const codeFor = async (change: Partial<TokenSubject>) =>
      codeOf(await get('/account', `Bearer ${await signer.sign({ ...subject, ...change }, now)}`))
    expect(await codeFor({ accountId: `acc_${'0'.repeat(24)}` })).toBe('bad_credentials')
    expect(await codeFor({ keyId: `key_${'0'.repeat(24)}` })).toBe('bad_credentials')
    expect(await codeFor({ liveMode: true })).toBe('bad_credentials')
  })
})

/** Scopes that allow an operation, by its effect. Written here independent of the contract. */
const opensFor = ({ method, path }: DocumentedOperation): readonly string[] => {
  if (path === '/account') return ['read', 'metering', 'all']
  // A key that may import sees the imports, and may undo them.
  if (path === '/meters/imports') return ['read', 'metering', 'all']
  if (path === '/meters/imports/undo') return ['metering', 'all']
  if (path.startsWith('/meters/') && method === 'PUT') return ['metering', 'all']
  if (path === '/costs/instant') return ['metering', 'all']
  // Both modes have one brand. The keys of this test are of test mode, which may not change what live mode shows.
  if (path === '/account/brand' && method === 'PATCH') return []
  // Addresses and roles of people are for those who manage them. Source: docs/rules/users.md #operations.
  if (path === '/users' || path.startsWith('/users/')) return ['all']
  // A plan is sent to all subscribers, which may act on it.
  if (path === '/schedules' || path.startsWith('/schedules/amount/')) return ['all']
  if (path === '/statements/{id}' && method === 'POST') return ['read', 'all']
  const reads = method === 'GET' || /^\/(?:costs|prices|audits|schedules|simulations|exports)\b/.test(path)
  return reads ? ['read', 'all'] : ['all']
}

describe.each(['current', 'earlier'] as const)('the scope of a key in the %s API version', apiVersion => {
  it('allows the operations that it names and no others', async () => {
    const { system, records, sender } = all()
    const document = await readDocument(system.sandbox.base_url, apiVersion)
    const operations = operationsOf(document).filter(({ scopes }) => scopes !== null)
    expect(operations.length).toBeGreaterThan(30)
    for (const scope of ['read', 'metering', 'all'] as const) {
      const { key } = await makeKey(records, folder, system.sandbox, scope)
      const authorization = `Bearer ${await tokenOf(system.sandbox, key)}`
      for (const operation of operations) {
        const path = operation.path.replace(/\{\w+\}/g, 'none')
        const headers = { authorization, 'api-version': document.info.version, 'content-type': 'application/json' }
        const reply = await sender.send({
          method: operation.method,
          path,
          headers,
          body: operation.method === 'GET' ? '' : '{}',
        })
        const isOpen = opensFor(operation).includes(scope)
        expect([operation.id, scope, reply.status === 401 || reply.status === 403], reply.text).toEqual([
          operation.id,
          scope,
          !isOpen,
        ])
        if (!isOpen) expect([codeOf(reply), errorFaults(reply)]).toEqual(['insufficient_scope', []])
        else expect(reply.status).toBeLessThan(500)
      }
    }
  })
})

describe('the login', () => {
  const basic = (account: string, key: string): string => `Basic ${Buffer.from(`${account}:${key}`).toString('base64')}`

  it('answers every error in the same way', async () => {
    const { system, records, key } = all()
    const { account_id: account, live_key: liveKey } = system.sandbox
    const otherAccount = await createOtherAccount(records, folder, system.sandbox)
    const wrong = await get('/login', basic('acc_nobody', key))
    expect([wrong.status, codeOf(wrong), errorFaults(wrong)]).toEqual([401, 'bad_credentials', []])
    expect(wrong.headers['www-authenticate']).toContain('Basic')
    const tries = [
      basic(account, `sk_test_${'0'.repeat(48)}`),
      basic(account, key.replace('sk_test_', 'sk_live_')),
      basic(account, `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`),
      basic(account, otherAccount.test_key),
      basic(otherAccount.account_id, key),
    ]
    for (const one of tries)
      expect(words(await get('/login', one)), Buffer.from(one.slice(6), 'base64').toString()).toBe(words(wrong))
    const none = await Promise.all(
      ['', 'Basic', 'Basic !!!', `Bearer ${key}`, basic('', ''), basic(account, ''), basic(account, `${liveKey}:`)].map(
        one => get('/login', one),
      ),
    )
    for (const reply of none)
      expect([reply.status, codeOf(reply), errorFaults(reply)]).toEqual([401, 'bad_credentials', []])
  })

  it('limits an address to ten wrong keys of an account; the right key and other accounts can log in', async () => {
    const { system, records, key } = all()
    const otherAccount = await createOtherAccount(records, folder, system.sandbox)
    const wrong = basic(otherAccount.account_id, `sk_live_${'0'.repeat(48)}`)
    const answers = await Promise.all(Array.from({ length: 10 }, () => get('/login', wrong)))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 401))
    const refused = await get('/login', wrong)
    expect([refused.status, codeOf(refused), errorFaults(refused)]).toEqual([429, 'rate_limited', []])
    const seconds = Number(refused.headers['retry-after'])
    expect(seconds > 0 && seconds <= 60).toBe(true)
    expect(refused.headers).toMatchObject({ 'ratelimit-limit': '10', 'ratelimit-remaining': '0' })
    for (let index = 0; index < 5; index += 1) {
      expect((await get('/login', basic(otherAccount.account_id, otherAccount.live_key))).status).toBe(200)
      expect((await get('/customers', `Bearer ${otherAccount.live_key}`)).status).toBe(200)
      expect((await get('/customers', basic(otherAccount.account_id, otherAccount.live_key))).status).toBe(200)
    }
    expect((await get('/login', basic(system.sandbox.account_id, key))).status).toBe(200)
  })

  it('with the right key works while the same and other addresses send many wrong keys', async () => {
    const { system, key } = all()
    const flood = Array.from({ length: 300 }, (_, index) => {
      const random = newApiKey(index % 2 === 0)
      return index % 3 === 0
        ? get('/customers', `Bearer ${random}`)
        : get('/login', basic(system.sandbox.account_id, random))
    })
    const right = await Promise.all(
      Array.from({ length: 20 }, () => get('/login', basic(system.sandbox.account_id, key))),
    )
    expect(right.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
    const statuses = new Set((await Promise.all(flood)).map(({ status }) => status))
    expect([...statuses].every(status => status === 401 || status === 429)).toBe(true)
  })
})

describe('a secret', () => {
  /** Return the text of every row of every table. */
  const everyRow = async (): Promise<string> => {
    const { operator } = all().records
    const { rows: tables } = await operator<{ name: string }>(sql`
      select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and has_table_privilege(oid, 'select')`)
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['accounts', 'api_keys', 'audit_log', 'events', 'idempotency_keys']),
    )
    const texts: string[] = []
    for (const { name } of tables) {
      const { rows } = await operator<{ text: string }>(sql`select t::text as text from ${raw(name)} t`)
      texts.push(...rows.map(({ text }) => text))
    }
    return texts.join('\n')
  }

  it('is stored as a keyed hash, and in no table in clear text', async () => {
    const { system, key } = all()
    const { live_key: liveKey, test_key: testKey, account_id: account, operator_key: operatorKey } = system.sandbox
    const rows = await everyRow()
    expect(rows).toContain(account)
    for (const secret of [key, liveKey, testKey, operatorKey, secretOf(folder)]) {
      expect(rows).not.toContain(secret)
      expect(rows).not.toContain(secret.slice(8, -4))
    }
  })

  it('is in no log line after any error of the request that contains it', async () => {
    const { system, sender, signer, subject, key } = all()
    const token = await signer.sign(subject, Date.now())
    const canaries = {
      body: 'canary-in-body-4711',
      query: 'canary-in-query-4711',
      header: 'canary-in-header-4711',
      cookie: 'canary-in-cookie-4711',
    }
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      cookie: canaries.cookie,
      'idempotency-key': canaries.header,
    }
    const requests = [
      { method: 'POST', path: `/devices?x=${canaries.query}`, body: `{"reference_id":"${canaries.body}"` },
      { method: 'PATCH', path: `/devices/${canaries.query}`, body: `{"reference_id":"${canaries.body}"}` },
      {
        method: 'POST',
        path: '/locations',
        body: `{"postal_address":{"city":"${canaries.body}","country_code":"DE"}}`,
      },
      { method: 'PUT', path: '/meters/interval', body: `[{"location_id":"${canaries.body}"}]` },
      { method: 'GET', path: '/account', body: '' },
    ]
    for (const request of requests) await sender.send({ ...request, headers })
    await sender.send({
      method: 'GET',
      path: '/markets',
      headers: { ...headers, 'x-operator-key': system.sandbox.operator_key },
    })
    await get('/login', `Basic ${Buffer.from(`${subject.accountId}:${key}`).toString('base64')}`)
    const lines = system
      .output()
      .split('\n')
      .filter(line => line.startsWith('{'))
    expect(lines.length).toBeGreaterThan(0)
    const { live_key: liveKey, test_key: testKey, operator_key: operatorKey } = system.sandbox
    const secrets = [key, token, liveKey, testKey, operatorKey, secretOf(folder), ...Object.values(canaries)]
    for (const secret of secrets) for (const line of lines) expect(line).not.toContain(secret)
  })
})
