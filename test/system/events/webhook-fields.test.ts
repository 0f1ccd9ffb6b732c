import { beforeAll, describe, expect, it } from 'vitest'
import { matchesAnyFilter, testEventType } from '../../../services/domain/event-types.ts'
import type { Client, Reply } from '../../support/system/client.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let live: Client

beforeAll(async () => {
  live = await system.login('live')
})

type Endpoint = { readonly id: string }
type List<T> = { readonly data: readonly T[] }

const codeOf = ({ text }: Reply): unknown => (JSON.parse(text) as { readonly code?: string }).code

describe('the event types of an endpoint', () => {
  const url = 'https://1.1.1.1/'

  it.each([
    ['custmer.create', '"custmer.create" is not an event type; did you mean customer.create?'],
    ['Customer.*', '"Customer.*" is not an event type; did you mean customer.*?'],
    ['price_update', '"price_update" is not an event type; did you mean price.update?'],
    [
      'order.paid',
      '"order.paid" is not an event type; use *, a group such as customer.*, or a type such as customer.create.',
    ],
  ])('are a closed list: %s is refused with the nearest type', async (type, message) => {
    const refusal = { code: 'field_invalid', field: 'event_types[1]', message }
    expect((await live.send('POST', '/webhooks', { url, event_types: ['*', type] })).json).toMatchObject(refusal)
    const { id } = (await live.ask('POST', '/webhooks', { url })) as { id: string }
    expect((await live.send('PATCH', `/webhooks/${id}`, { event_types: ['*', type] })).json).toMatchObject(refusal)
    expect((await live.send('DELETE', `/webhooks/${id}`)).status).toBe(202)
  })

  it('select the same events in lists and for endpoints', async () => {
    await live.ask('POST', '/customers', { reference_id: 'listed by a group' })
    const types = async (filter: string): Promise<readonly string[]> => {
      const { data } = (await live.ask('GET', `/events?limit=100&event_type=${filter}`)) as {
        data: readonly { type: string }[]
      }
      return data.map(({ type }) => type)
    }
    const all = await types('*')
    expect(all).toEqual(await types(''))
    for (const filter of ['customer.*', 'customer.create', 'device.create.*', 'webhook_endpoint.*']) {
      expect(await types(filter), filter).toEqual(
        all.filter(type => matchesAnyFilter([filter], type) && type !== testEventType),
      )
    }
    expect((await types('customer.*')).length).toBeGreaterThan(0)
  })
})

describe('a limit', () => {
  const target = 'https://1.1.1.1/'
  const create = (body: object): Promise<Reply> =>
    live.send('POST', '/webhooks', { url: target, event_types: ['schedule.created'], ...body })

  it('allows n and refuses n + 1', async () => {
    const types = (count: number) => Array.from({ length: count }, () => 'customer.create')
    const bodies: readonly (readonly [object, number])[] = [
      [{ event_types: types(50) }, 201],
      [{ event_types: types(51) }, 400],
      [{ event_types: [] }, 400],
      [{ url: target.padEnd(2_048, 'a') }, 201],
      [{ url: target.padEnd(2_049, 'a') }, 400],
      [{ description: 'a'.repeat(255) }, 201],
      [{ description: 'a'.repeat(256) }, 400],
    ]
    for (const [body, status] of bodies)
      expect([JSON.stringify(body).slice(0, 40), (await create(body)).status]).toEqual([expect.anything(), status])
    const { data } = (await live.ask('GET', '/webhooks?limit=100')) as List<Endpoint>
    for (let count = data.length; count < 98; count += 1) expect((await create({})).status).toBe(201)
    const made = await Promise.all(Array.from({ length: 5 }, () => create({})))
    expect(made.filter(({ status }) => status === 201)).toHaveLength(2)
    expect(made.filter(({ status }) => status !== 201).map(codeOf)).toEqual(
      Array.from({ length: 3 }, () => 'too_many_webhook_endpoints'),
    )
    await live.ask('DELETE', `/webhooks/${data[0]?.id}`)
    expect((await create({})).status).toBe(201)
  })
})
