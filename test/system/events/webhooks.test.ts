import sql from 'sql-template-tag'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../../services/platform/postgres/database.ts'
import { goldenText } from '../../support/golden.ts'
import { openRecords } from '../../support/registry/accounts.ts'
import { type Client, login, type Reply } from '../../support/system/client.ts'
import { until } from '../../support/system/until.ts'
import { useSystem } from '../../support/system/use-system.ts'
import { openReceiver, type ReceivedRequest, type Receiver } from '../../support/webhooks/receiver.ts'

const system = useSystem({
  WATTLEDGER_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
  WATTLEDGER_LOG_LEVEL: 'debug',
})
let ready:
  | {
      readonly own: Client
      readonly live: Client
      readonly earlier: Client
      readonly there: Receiver
      readonly records: Database
    }
  | undefined

beforeAll(async () => {
  const sandbox = system.sandbox()
  ready = {
    own: await login(sandbox),
    live: await login(sandbox, 'live'),
    earlier: await login(sandbox, 'test', 'earlier'),
    there: await openReceiver(({ path }) =>
      path.startsWith('/failing') ? { status: 500, body: 'no' } : { status: 204 },
    ),
    records: await openRecords(system.folder),
  }
})

afterAll(async () => {
  await ready?.records[Symbol.asyncDispose]()
  await ready?.there[Symbol.asyncDispose]()
})

const parts = () => {
  if (ready === undefined) throw new Error('the system is not ready')
  return ready
}

type Endpoint = { readonly id: string; readonly secret: string; readonly status: string }
type Delivery = { readonly id: string; readonly event_id: string; readonly status: string; readonly attempts: number }
type List<T> = { readonly data: readonly T[] }

const subscribe = async (client: Client, path: string, more: object = {}): Promise<Endpoint> =>
  (await client.ask('POST', '/webhooks', { url: parts().there.url + path, ...more })) as Endpoint

const receivedAt = (path: string, count: number): Promise<readonly ReceivedRequest[]> =>
  until(
    async () => parts().there.received.filter(one => one.path === path),
    seen => seen.length >= count,
  )

const deliveriesOf = async (client: Client, id: string, query = ''): Promise<readonly Delivery[]> =>
  ((await client.ask('GET', `/webhooks/${id}/deliveries${query}`)) as List<Delivery>).data

const settled = (client: Client, id: string, status: string): Promise<readonly Delivery[]> =>
  until(
    () => deliveriesOf(client, id),
    list => list.length > 0 && list.every(one => one.status === status),
  )

const codeOf = ({ text }: Reply): unknown => (JSON.parse(text) as { readonly code?: string }).code
const headersOf = ({ headers }: ReceivedRequest) => headers as Record<string, string>

describe('a webhook endpoint', () => {
  it('receives each event of its types as GET /events/{id} returns it, signed', async () => {
    const { own } = parts()
    const { secret, id } = await subscribe(own, '/typed', { event_types: ['customer.*'] })
    const ids: string[] = []
    for (let count = 0; count < 5; count += 1)
      ids.push(((await own.ask('POST', '/customers', {})) as { id: string }).id)
    await own.ask('POST', '/devices', { reference_id: 'not subscribed' })
    const got = await receivedAt('/typed', 5)
    for (const one of got) {
      const event = new Webhook(secret).verify(one.body, headersOf(one)) as { id: string; type: string }
      expect([event.id, event.type]).toEqual([one.headers['webhook-id'], 'customer.create'])
      expect(one.body).toBe((await own.send('GET', `/events/${event.id}`)).text)
    }
    expect(got.map(({ body }) => (JSON.parse(body) as { data: { id: string } }).data.id).toSorted()).toEqual(
      ids.toSorted(),
    )
    expect(await settled(own, id, 'DELIVERED')).toHaveLength(5)
  })

  it('receives events of its own mode only, in the API version of the request that created it', async () => {
    const { own, earlier, live } = parts()
    const made = (await earlier.ask('POST', '/webhooks', { url: `${parts().there.url}/earlier` })) as {
      readonly api_version: string
    }
    expect(made.api_version).toBe('2024-08-24')
    await live.ask('POST', '/customers', {})
    const { id } = (await own.ask('POST', '/customers', {})) as { readonly id: string }
    const [one] = await receivedAt('/earlier', 1)
    expect(one?.headers['api-version']).toBe('2024-08-24')
    const event = JSON.parse(one?.body ?? '') as { readonly id: string; readonly data: { readonly id: string } }
    expect(event.data.id).toBe(id)
    expect(one?.body).toBe((await earlier.send('GET', `/events/${event.id}`)).text)
  })

  it('is tested with a test event, which only this endpoint receives', async () => {
    const { own } = parts()
    await subscribe(own, '/other')
    const { id, secret } = await subscribe(own, '/tried', { event_types: ['schedule.created'] })
    const { event_id } = (await own.ask('POST', `/webhooks/${id}/test`)) as Delivery
    const [one] = await receivedAt('/tried', 1)
    if (one === undefined) throw new Error('nothing came')
    expect(new Webhook(secret).verify(one.body, headersOf(one))).toMatchObject({
      id: event_id,
      type: 'webhook_endpoint.test',
      data: { id },
    })
    expect(one.body).not.toContain(secret)
    await own.ask('POST', '/customers', {})
    const [other] = await receivedAt('/other', 1)
    expect(other?.body).toContain('customer.create')
  })

  it('signs with both secrets after a rotation', async () => {
    const { own } = parts()
    const { id, secret: old } = await subscribe(own, '/rotated')
    const { secret } = (await own.ask('POST', `/webhooks/${id}/secret`)) as Endpoint
    expect(secret).not.toBe(old)
    await own.ask('POST', '/customers', {})
    const [one] = await receivedAt('/rotated', 1)
    if (one === undefined) throw new Error('nothing came')
    for (const each of [secret, old])
      expect(new Webhook(each).verify(one.body, headersOf(one))).toMatchObject({ type: 'customer.create' })
  })

  it('shows why a delivery failed, and sends the delivery again', async () => {
    const { own } = parts()
    const { id } = await subscribe(own, '/failing', { event_types: ['device.create'] })
    await own.ask('POST', '/devices', { reference_id: 'resent' })
    const [delivery] = await until(
      () => deliveriesOf(own, id),
      ([one]) => one?.attempts === 1,
    )
    expect(delivery).toMatchObject({ status: 'PENDING', endpoint_id: id, event_type: 'device.create' })
    const path = `/webhooks/${id}/deliveries/${delivery?.id}`
    const { data } = (await own.ask('GET', `${path}/attempts`)) as List<object>
    expect(data).toMatchObject([
      { succeeded: false, status_code: 500, error: null, response_body: 'no', delivery_id: delivery?.id },
    ])
    await own.ask('PATCH', `/webhooks/${id}`, { url: `${parts().there.url}/mended` })
    await own.ask('POST', `${path}/resend`)
    await receivedAt('/mended', 1)
    const arrived = await settled(own, id, 'DELIVERED')
    expect(arrived).toHaveLength(1)
    expect(await own.ask('GET', path)).toEqual(arrived[0])
    expect(await deliveriesOf(own, id, '?status=FAILED')).toEqual([])
    expect(await deliveriesOf(own, id, `?event_id=${delivery?.event_id}`)).toHaveLength(1)
  })

  it('resends events that an endpoint missed while it was disabled, with the progress', async () => {
    const { own } = parts()
    const { id } = await subscribe(own, '/missed', { event_types: ['location.create'] })
    const createLocation = () => own.ask('POST', '/locations', { timezone: 'UTC', currency_code: 'EUR' })
    await createLocation()
    await receivedAt('/missed', 1)
    await own.ask('PATCH', `/webhooks/${id}`, { status: 'DISABLED' })
    await subscribe(own, '/witness', { event_types: ['location.create'] })
    for (let count = 0; count < 3; count += 1) await createLocation()
    // After another endpoint has the events, they have passed the disabled endpoint.
    await receivedAt('/witness', 3)
    const span = {
      start_time: new Date(Date.now() - 60_000).toISOString(),
      end_time: new Date(Date.now() + 60_000).toISOString(),
    }
    for (const path of ['resends', 'test']) {
      const refused = await own.send('POST', `/webhooks/${id}/${path}`, path === 'test' ? {} : span)
      expect([refused.status, codeOf(refused)]).toEqual([400, 'webhook_endpoint_disabled'])
    }
    await own.ask('PATCH', `/webhooks/${id}`, { status: 'ENABLED' })
    const { id: resend } = (await own.ask('POST', `/webhooks/${id}/resends`, span)) as { readonly id: string }
    const done = await until(
      async () => (await own.ask('GET', `/webhooks/${id}/resends/${resend}`)) as Readonly<Record<string, unknown>>,
      ({ status }) => status === 'DONE',
    )
    expect(done).toMatchObject({ deliveries_queued: 3, events_done: done['events_total'] })
    const got = await receivedAt('/missed', 4)
    expect(new Set(got.map(({ headers }) => headers['webhook-id'])).size).toBe(4)
    const all = (await own.ask('POST', `/webhooks/${id}/resends`, { ...span, include_delivered: true })) as {
      readonly id: string
    }
    await receivedAt('/missed', 8)
    await until(
      async () => (await own.ask('GET', `/webhooks/${id}/resends/${all.id}`)) as Readonly<Record<string, unknown>>,
      ({ deliveries_queued: queued }) => queued === 4,
    )
  })

  it('is deleted with its pending deliveries', async () => {
    const { own } = parts()
    const { id } = await subscribe(own, '/failing/deleted', { event_types: ['customer.create'] })
    await own.ask('POST', '/customers', {})
    await receivedAt('/failing/deleted', 1)
    expect((await own.send('DELETE', `/webhooks/${id}`)).status).toBe(202)
    expect((await own.send('GET', `/webhooks/${id}`)).status).toBe(404)
    const left = async () => {
      const { rows } = await parts().records.operator(
        sql`select 1 from webhook_deliveries where endpoint_id = ${id} and due_at is not null`,
      )
      return rows.length
    }
    await until(left, count => count === 0)
  })
})

describe('the URL of an endpoint', () => {
  it.each([
    'http://10.0.0.1/',
    'http://[::ffff:a9fe:a9fe]/',
    'http://2852039166/',
    'ftp://example.com/',
    'http://user@example.com/',
    'hooks',
  ])('is refused with the required change: %s', async url => {
    const { own } = parts()
    const reply = await own.send('POST', '/webhooks', { url })
    expect([reply.status, reply.json]).toMatchObject([400, { code: 'webhook_url_refused', field: 'url' }])
  })

  it('requires https in live mode', async () => {
    const { live, there } = parts()
    expect(codeOf(await live.send('POST', '/webhooks', { url: there.url }))).toBe('webhook_url_refused')
  })
})

describe('the stored data', () => {
  it('contains no signing secret in clear text, and neither does the log', async () => {
    const { own, records } = parts()
    const { secret, id } = await subscribe(own, '/kept')
    const { rows } = await records.operator<{ text: string }>(sql`
      select t::text as text from webhook_endpoints t union all select a::text from audit_log a union all select e::text from events e`)
    const logText = rows.map(({ text }) => text).join('\n')
    expect(logText).toContain(id)
    expect(logText).not.toContain(secret.slice(6))
    expect(system.running().output()).not.toContain(secret.slice(6))
    expect((await own.send('GET', `/webhooks/${id}`)).text).not.toContain('secret')
  })

  it('contains who changed an endpoint', async () => {
    const { own, records } = parts()
    const { id } = await subscribe(own, '/audited')
    await own.ask('PATCH', `/webhooks/${id}`, { description: 'Billing' })
    await own.ask('POST', `/webhooks/${id}/secret`)
    await own.ask('DELETE', `/webhooks/${id}`)
    const { rows } = await records.operator<{
      action: string
    }>(sql`select action from audit_log where object_id = ${id} order by id`)
    expect(rows.map(({ action }) => action)).toEqual(
      ['create', 'update', 'rotate_secret', 'delete'].map(verb => `webhook_endpoint.${verb}`),
    )
  })
})

describe.each(['current', 'earlier'] as const)('the %s API version', apiVersion => {
  it('writes endpoints, deliveries, attempts and resends as published', async () => {
    const client = parts()[apiVersion === 'current' ? 'own' : 'earlier']
    const made = await client.send('POST', '/webhooks', {
      url: `${parts().there.url}/golden`,
      event_types: ['customer.*'],
      description: 'Billing',
    })
    const { id } = made.json as Endpoint
    const tested = await client.send('POST', `/webhooks/${id}/test`)
    await settled(client, id, 'DELIVERED')
    const { id: delivery } = tested.json as Delivery
    const span = { start_time: '2025-09-14T00:00:00Z', end_time: '2025-09-15T00:00:00Z' }
    const answers: Readonly<Record<string, Reply>> = {
      webhook_endpoint_with_secret: made,
      webhook_endpoint: await client.send('GET', `/webhooks/${id}`),
      webhook_delivery: tested,
      webhook_delivery_list: await client.send('GET', `/webhooks/${id}/deliveries`),
      webhook_attempt_list: await client.send('GET', `/webhooks/${id}/deliveries/${delivery}/attempts`),
      webhook_resend: await client.send('POST', `/webhooks/${id}/resends`, span),
      webhook_event: await client.send('GET', `/events/${(tested.json as Delivery).event_id}`),
    }
    for (const [name, { text }] of Object.entries(answers)) {
      const masked = goldenText(text)
        .replace(/whsec_[A-Za-z0-9+/=]+/g, 'whsec_…')
        .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:…')
        .replace(/("(?:next_attempt|last_attempt)": )"[^"]+"/g, '$1"…"')
        .replace(/("duration_ms": )\d+/, '$1…')
      await expect(masked).toMatchFileSnapshot(`../../golden/${apiVersion}/${name}.json`)
    }
  })
})
