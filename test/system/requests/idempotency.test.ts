import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operationsOf, readDocument } from '../../support/openapi/openapi.ts'
import { createOtherAccount, openRecords } from '../../support/registry/accounts.ts'
import { createLocation, flatSchedule } from '../../support/registry/object-fixture.ts'
import { postStatement } from '../../support/statements/statement-answer.ts'
import { type Client, login, type Reply } from '../../support/system/client.ts'
import { makeHome } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let records: Awaited<ReturnType<typeof openRecords>> | undefined
let ready:
  | { readonly client: Client; readonly live: Client; readonly otherAccount: Client; readonly earlier: Client }
  | undefined

const clients = () => {
  if (ready === undefined) throw new Error('the system is not ready')
  return ready
}

beforeAll(async () => {
  const sandbox = system.sandbox()
  records = await openRecords(system.folder)
  const otherAccount = await createOtherAccount(records, system.folder, sandbox)
  ready = {
    client: await login(sandbox),
    live: await login(sandbox, 'live'),
    otherAccount: await login(otherAccount),
    earlier: await login(sandbox, 'test', 'earlier'),
  }
})

afterAll(async () => {
  await records?.[Symbol.asyncDispose]()
})

const codeOf = ({ text }: Reply): unknown => (JSON.parse(text) as { readonly code?: string }).code
const isReplay = ({ headers }: Reply): boolean => headers.get('idempotent-replayed') === 'true'
const keyed = (key: string) => ({ 'Idempotency-Key': key })

/** Body of every operation that accepts a key, by operation id. A new operation needs an entry here. */
const bodies: Readonly<Record<string, (count: number) => Promise<object>>> = {
  customer_create: async count => ({ reference_id: `customer-${count}` }),
  location_create: async count => ({ reference_id: `location-${count}`, timezone: 'UTC', currency_code: 'EUR' }),
  device_create: async count => ({ reference_id: `device-${count}` }),
  market_create: async count => ({ display_name: `market-${count}`, currency_code: 'EUR' }),
  tariff_create: async () => ({
    location_id: await createLocation(clients().client),
    direction: 'IMPORT',
    type: 'COMMODITY',
    schedule: flatSchedule,
  }),
  calendar_create: async count => ({ name: `calendar-${count}`, add: [{ date: '2026-12-24', name: 'Eve' }] }),
  charge_create: async () => ({
    location_id: await createLocation(clients().client),
    kind: 'FIXED',
    name: 'Standing charge',
    price: 0.4785,
  }),
  connect_token_create: async () => ({
    connect_url: 'https://app.example.com/connect',
    callback_url: 'https://app.example.com/done',
    location_id: await createLocation(clients().client),
    postal_address: { country_code: 'GB' },
  }),
  webhook_create: async count => ({
    url: 'https://1.1.1.1/hooks',
    event_types: ['schedule.created'],
    description: `hook-${count}`,
  }),
  user_create: async count => ({ address: `user-${count}@idempotency.example.com`, role: 'read' }),
  user_link_create: async () => ({}),
  tariff_import: async () => ({ items: [{ label: 'flat', currency: 'EUR', energyratestructure: [[{ rate: 0.11 }]] }] }),
  plan_create: async count => ({ name: `plan-${count}`, currency_code: 'EUR' }),
  plan_version_create: async () => ({ from: '2026-01-01' }),
  plan_assign: async () => [{ location_id: await createLocation(clients().client), start_date: '2026-01-01' }],
  webhook_secret_rotate: async () => ({}),
  webhook_test: async () => ({}),
  webhook_delivery_resend: async () => ({}),
  webhook_resend_create: async () => ({ start_time: '2025-09-14T00:00:00Z', end_time: '2025-09-15T00:00:00Z' }),
  schedule_amount_create: async count => {
    const { id } = (await clients().client.ask('POST', '/devices', { reference_id: `planned-${count}` })) as {
      readonly id: string
    }
    const span = { start_time: '2025-09-14T10:00:00Z', end_time: '2025-09-14T12:00:00Z' }
    return {
      data: [{ device_id: id, ...span, max_power: { units: 'KW', value: 1 }, energy: { units: 'KWH', value: 1 } }],
    }
  },
  statement_finalise: async () => ({ allow_incomplete: true }),
  statement_batch_create: async () => ({
    object_ids: [await createLocation(clients().client)],
    start_date: '2025-09-01',
    end_date: '2025-10-01',
  }),
  export_create: async () => ({
    kind: 'tariffs',
    format: 'ndjson',
    start_time: '2025-09-01T00:00:00Z',
    end_time: '2025-10-01T00:00:00Z',
  }),
  instant_cost_calculate: async () => {
    const location_id = await createLocation(clients().client)
    await clients().client.ask('POST', '/tariffs', {
      location_id,
      direction: 'IMPORT',
      type: 'COMMODITY',
      schedule: flatSchedule,
    })
    return { location_id, units: 'KWH', value: 1, start_time: '2025-09-14T10:00:00Z', end_time: '2025-09-14T11:00:00Z' }
  },
}

/** Return a path with ids of new objects. */
const pathOf = async (path: string): Promise<string> => {
  const { client } = clients()
  if (path === '/tariffs/import') return `${path}?location_id=${await createLocation(client)}`
  if (path.startsWith('/schedules/')) return path.replace('{id}', await makeHome(client, { import: 0.3 }))
  if (path.startsWith('/statements/{id}')) {
    const days = { start_date: '2025-09-01', end_date: '2025-10-01' }
    const { id } = await postStatement(client, await makeHome(client, { import: 0.3 }), days)
    return path.replace('{id}', id)
  }
  const made = async (at: string, body: object) => ((await client.ask('POST', at, body)) as { readonly id: string }).id
  if (path.startsWith('/users/'))
    return path.replace('{id}', await made('/users', { address: 'linked@idempotency.example.com', role: 'read' }))
  if (path.startsWith('/plans/{id}/'))
    return path.replace('{id}', await made('/plans', { name: 'Plan', currency_code: 'EUR' }))
  if (!path.startsWith('/webhooks/{id}/')) return path
  const endpoint = await made('/webhooks', { url: 'https://1.1.1.1/hooks', event_types: ['schedule.created'] })
  const delivery = path.includes('{delivery_id}') ? await made(`/webhooks/${endpoint}/test`, {}) : ''
  return path.replace('{id}', endpoint).replace('{delivery_id}', delivery)
}

const copies = 12

describe('an Idempotency-Key', () => {
  it('makes concurrent duplicates one request, at every operation that accepts a key', async () => {
    const { client } = clients()
    const document = await readDocument(system.sandbox().base_url, 'current')
    const operations = operationsOf(document).filter(one => one.takesIdempotencyKey)
    expect(operations.map(({ id }) => id).toSorted()).toEqual(Object.keys(bodies).toSorted())
    for (const [index, { id, method, path: documented, success }] of operations.entries()) {
      const body = await bodies[id]?.(index)
      const path = await pathOf(documented)
      const send = () => client.send(method, path, body, keyed(`twins-${id}`))
      const replies = await Promise.all(Array.from({ length: copies }, send))
      const made = replies.filter(({ status }) => status === success.status)
      const others = replies.filter(({ status }) => status !== success.status)
      // One request does the work. The others get its answer, or an error while it is in progress.
      expect([id, made.filter(one => !isReplay(one)).length]).toEqual([id, 1])
      expect([id, new Set(made.map(({ text }) => text)).size]).toEqual([id, 1])
      for (const one of others) expect([id, one.status, codeOf(one)]).toEqual([id, 409, 'idempotency_in_progress'])
      const later = await send()
      expect([id, later.status, isReplay(later), later.text]).toEqual([id, success.status, true, made[0]?.text])
    }
    const { data } = (await client.ask('GET', '/customers')) as { readonly data: readonly unknown[] }
    expect(data).toHaveLength(1)
  })

  it('returns a secret that is shown once only to repeats of its request, and stores it encrypted', async () => {
    const { client } = clients()
    const body = { url: 'https://1.1.1.1/sealed', event_types: ['schedule.created'] }
    const send = () => client.send('POST', '/webhooks', body, keyed('sealed'))
    const [first, again] = [await send(), await send()]
    expect([first.status, again.text, isReplay(again)]).toEqual([201, first.text, true])
    const { secret } = first.json as { readonly secret: string }
    const { rows } = await (records ?? expect.fail('no system runs')).operator<{ text: string }>(
      sql`select k::text as text from idempotency_keys k`,
    )
    expect(rows.some(({ text }) => text.includes('sealed'))).toBe(true)
    for (const { text } of rows) for (const part of [secret, secret.slice(6, 30)]) expect(text).not.toContain(part)
  })

  it('belongs to one request, including query, API version and path', async () => {
    const { client, earlier } = clients()
    const first = await client.send('POST', '/devices', { reference_id: 'one' }, keyed('belongs'))
    expect(first.status).toBe(201)
    for (const reply of [
      await client.send('POST', '/devices', { reference_id: 'two' }, keyed('belongs')),
      await client.send('POST', '/devices', ' {"reference_id":"one"}', keyed('belongs')),
      await client.send('POST', '/customers', { reference_id: 'one' }, keyed('belongs')),
      await earlier.send('POST', '/devices', { reference_id: 'one' }, keyed('belongs')),
    ]) {
      expect([reply.status, codeOf(reply), isReplay(reply)]).toEqual([422, 'idempotency_mismatch', false])
    }
    const again = await client.send('POST', '/devices', { reference_id: 'one' }, keyed('belongs'))
    expect([again.status, again.text, isReplay(again)]).toEqual([201, first.text, true])
  })

  it('has no effect for another account or mode', async () => {
    const { client, live, otherAccount } = clients()
    const body = { reference_id: 'same' }
    const replies = await Promise.all(
      [client, live, otherAccount].map(one => one.send('POST', '/customers', body, keyed('shared'))),
    )
    expect(replies.map(reply => [reply.status, isReplay(reply)])).toEqual(replies.map(() => [201, false]))
    expect(new Set(replies.map(({ json }) => (json as { readonly id: string }).id)).size).toBe(3)
  })

  it('remains usable after a refused request', async () => {
    const { client } = clients()
    await client.ask('POST', '/customers', { reference_id: 'taken' })
    const refused = await client.send('POST', '/customers', { reference_id: 'taken' }, keyed('refused'))
    expect([refused.status, codeOf(refused)]).toEqual([400, 'reference_id_taken'])
    const other = await client.send('POST', '/customers', { reference_id: 'free' }, keyed('refused'))
    expect([other.status, isReplay(other)]).toEqual([201, false])
  })

  it('is ignored by requests that only read or simulate', async () => {
    const { client } = clients()
    const record = await bodies['instant_cost_calculate']?.(0)
    for (const value of [1, 2]) {
      const reply = await client.send(
        'POST',
        '/costs/instant?non_persistent=true',
        { ...record, value },
        keyed('simulated'),
      )
      expect([reply.status, isReplay(reply)]).toEqual([200, false])
    }
    const location = (record as { readonly location_id: string }).location_id
    for (const end_time of ['2025-09-15T00:00:00Z', '2025-09-16T00:00:00Z']) {
      const reply = await client.send(
        'POST',
        `/costs/interval/${location}`,
        { start_time: '2025-09-14T00:00:00Z', end_time },
        keyed('read'),
      )
      expect([reply.status, isReplay(reply)]).toEqual([200, false])
    }
  })
})
