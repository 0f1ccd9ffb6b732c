import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operationsOf, readDocument } from '../../support/openapi/openapi.ts'
import { makeKey, openRecords } from '../../support/registry/accounts.ts'
import { type Client, login } from '../../support/system/client.ts'
import { startPrepared } from '../../support/system/prepared-folder.ts'
import { dataFolder, type RunningSystem, removeData } from '../../support/system/running-system.ts'

const root = join(import.meta.dirname, '../../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** Rows of the table in deploy/README.md: secret, where it is shown, access that it grants, end of its validity. */
const table = (): readonly (readonly string[])[] => {
  const section = read('deploy/README.md').split('## Tokens, keys and links')[1]?.split('\n## ')[0] ?? ''
  const rows = section.split('\n').filter(line => line.startsWith('| ') && !line.startsWith('| ---'))
  return rows.slice(1).map(row =>
    row
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim()),
  )
}

/** Patterns of all secrets. */
const secretShapes =
  /sk_(?:live|test)_[0-9a-f]{48}|cot_[0-9a-f]{32}|whsec_[A-Za-z0-9+/=]{20,}|eyJ[\w-]+\.[\w-]+\.[\w-]+/

const folder = dataFolder()
let system: RunningSystem | undefined
let owner: Client | undefined
beforeAll(async () => {
  system = await startPrepared(folder)
  owner = await login(system.sandbox)
})
afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  removeData(folder)
})

const ready = () => {
  if (system === undefined || owner === undefined) throw new Error('the system is not ready')
  return { system, owner }
}

describe('the table of tokens, keys and links', () => {
  it('contains where each secret is shown, its access, and its end', () => {
    const rows = table()
    expect(rows.length).toBeGreaterThan(7)
    for (const row of rows) expect([row[0], row.length, row.every(cell => cell.length > 3)]).toEqual([row[0], 4, true])
  })

  it('contains every secret that the program creates: a new kind needs a row', () => {
    const services = join(root, 'services')
    const sources = readdirSync(services, { recursive: true, encoding: 'utf8' }).filter(path => path.endsWith('.ts'))
    const makers = sources
      .filter(path => /\brandomBytes\(/.test(readFileSync(join(services, path), 'utf8')))
      .map(path => basename(path))
    // Files that create random bytes, and the table rows of the created secrets; empty: no secret that gives access.
    const known: Readonly<Record<string, readonly string[]>> = {
      'batch-id.ts': [],
      'bearer-token.ts': ['bearer token'],
      'chunk-writer.ts': [],
      'doctor-command.ts': [],
      'idempotency.ts': [],
      'new-id.ts': ['API key', 'Connect token', 'invitation', 'password reset'],
      // The salt of a stored hash.
      'password-hash.ts': [],
      'provider-login.ts': [],
      'reading-writer.ts': [],
      'seal.ts': [],
      'secrets.ts': ['WATTLEDGER_SECRET', 'operator key'],
      'session.ts': ['console session'],
      // Its salt spreads the names over counters.
      'sign-in-throttle.ts': [],
      'webhook-secret.ts': ['webhook secret'],
      'wrong-keys.ts': [],
    }
    const names = table().map(([name = '']) => name)
    const missing = makers.filter(file => !known[file]?.every(secret => names.some(name => name.includes(secret))))
    expect(missing).toEqual([])
    for (const shape of ['sk_live_', 'cot_', 'whsec_']) expect(names.some(name => name.includes(shape))).toBe(true)
  })
})

describe('a key of scope read', () => {
  it('receives no secret in any answer of any read', async () => {
    const { system: running, owner: all } = ready()
    await all.ask('POST', '/webhooks', { url: 'https://1.1.1.1/hooks', event_types: ['*'] })
    const hours = [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 0.3 }] }]
    const imported = await all.ask(
      'POST',
      '/connect/tariff/batch',
      {
        session: {
          customer_reference_id: 'c',
          location_reference_id: 'l',
          direction: 'IMPORT',
          type: 'COMMODITY',
          callback_uri: 'https://a.example.com',
        },
        postal_address: {
          address_line1: '10 Downing Street',
          city: 'London',
          post_code: 'SW1A 2AA',
          country_code: 'GB',
        },
        tariff: {
          type: 'FIXED',
          name: 'Imported',
          data: [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }],
        },
      },
      { 'Api-Version': '2024-08-24' },
    )
    const sessionId = String((imported as { session_id: string }).session_id)
    await using records = await openRecords(folder)
    const { key } = await makeKey(records, folder, running.sandbox, 'read')
    const headers = { authorization: `Bearer ${key}` }
    const get = async (path: string): Promise<string> =>
      (await fetch(`${running.sandbox.base_url}${path}`, { headers })).text()
    const events = await get('/events?event_type=connect_session.complete')
    expect(events).toContain(sessionId)
    const ids: Readonly<Record<string, string>> = { '/connect/token/{id}': sessionId }
    let requestCount = 0
    for (const apiVersion of ['current', 'earlier'] as const) {
      for (const { method, path } of operationsOf(await readDocument(running.sandbox.base_url, apiVersion))) {
        if (method !== 'GET' || path === '/login') continue
        const list = path.split('/{')[0] ?? path
        const [first = ''] = /"id":"([a-z]{3}_[0-9a-f]+)"/.exec(await get(`${list}?limit=1`))?.slice(1) ?? []
        const text = await get(path.replace(/\{\w+\}/, ids[path] ?? first))
        expect([path, secretShapes.exec(text)?.[0]]).toEqual([path, undefined])
        requestCount += 1
      }
    }
    expect(requestCount).toBeGreaterThan(20)
    // The same search finds a secret that its owner may see.
    expect(secretShapes.test(JSON.stringify(imported))).toBe(true)
  }, 60_000)
})
