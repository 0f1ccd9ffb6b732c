import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Client } from '../support/system/client.ts'
import { until } from '../support/system/until.ts'
import { useSharedSystem } from '../support/system/use-system.ts'
import { openReceiver, type ReceivedRequest, type Receiver } from '../support/webhooks/receiver.ts'

/**
 * A webhook endpoint receives an event for each change. The worker delivers each event at least once, so the receiver
 * uses `webhook-id` to find duplicates. Each test continues the last one.
 */
const system = useSharedSystem()
let client: Client
let receiver: Receiver | undefined
let isFailing = false
let failedId = ''
let endpoint: { readonly id: string; readonly secret: string }

beforeAll(async () => {
  client = await system.login()
  receiver = await openReceiver(() => ({ status: isFailing ? 500 : 204 }))
})
afterAll(() => receiver?.[Symbol.asyncDispose]())

type Delivery = { readonly id: string; readonly status: string; readonly attempts: number }

/** Wait until the receiver has a number of requests, and return them. */
const received = (count: number): Promise<readonly ReceivedRequest[]> =>
  until(
    () => receiver?.received ?? [],
    requests => requests.length >= count,
  )

const deliveries = async (): Promise<readonly Delivery[]> =>
  ((await client.ask('GET', `/webhooks/${endpoint.id}/deliveries`)) as { data: readonly Delivery[] }).data

it('1 An endpoint has a URL, event types and a secret that is shown once', async () => {
  endpoint = (await client.ask('POST', '/webhooks', { url: receiver?.url, event_types: ['customer.*'] })) as never
  expect(endpoint.secret).toMatch(/^whsec_/)
  expect(await client.ask('GET', `/webhooks/${endpoint.id}`)).not.toHaveProperty('secret')
})

it('2 A change sends an event to the endpoints of its type', async () => {
  const customer = (await client.ask('POST', '/customers', { reference_id: 'customer-1' })) as { readonly id: string }
  await client.ask('POST', '/devices', { reference_id: 'no endpoint has this event type' })
  const [request] = await received(1)
  expect(JSON.parse(request?.body ?? '')).toMatchObject({
    object: 'event',
    type: 'customer.create',
    data: { id: customer.id, reference_id: 'customer-1' },
  })
})

it('3 The signature proves who sent the event', async () => {
  const [request] = await received(1)
  const headers = (request?.headers ?? {}) as Record<string, string>
  const verifier = new Webhook(endpoint.secret)
  expect(verifier.verify(request?.body ?? '', headers)).toMatchObject({ type: 'customer.create' })
  expect(() => verifier.verify(`${request?.body} `, headers)).toThrow('No matching signature')
})

it('4 A failed delivery is stored with its reason and is repeated', async () => {
  isFailing = true
  await client.ask('POST', '/customers', { reference_id: 'customer-2' })
  const isFailed = ({ status, attempts }: Delivery): boolean => status === 'PENDING' && attempts === 1
  failedId = (await until(deliveries, all => all.some(isFailed))).find(isFailed)?.id ?? ''
  const attempts = await client.ask('GET', `/webhooks/${endpoint.id}/deliveries/${failedId}/attempts`)
  expect(attempts).toMatchObject({ data: [{ status_code: 500 }] })
})

it('5 The caller can resend it after the mistake is mended', async () => {
  isFailing = false
  await client.ask('POST', `/webhooks/${endpoint.id}/deliveries/${failedId}/resend`)
  await until(deliveries, all => all.every(({ status }) => status === 'DELIVERED'))
  // Both attempts have the id of one event.
  const requests = await received(3)
  expect(requests[2]?.headers['webhook-id']).toBe(requests[1]?.headers['webhook-id'])
})
