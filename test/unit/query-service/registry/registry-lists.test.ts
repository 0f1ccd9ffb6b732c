import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { changeTenant } from '../../../../services/platform/postgres/transaction.ts'
import { createEndpoint } from '../../../../services/platform/postgres/webhooks/webhook-endpoints.ts'
import { endpointDraft } from '../../../support/registry/drafts.ts'
import {
  type Client,
  flatTariff,
  idOf,
  listed,
  make,
  makeAccount,
  makeLocation,
  useService,
} from '../../../support/registry/service.ts'

const service = await useService()

/** Change between two pages: objects are created, and the object at this index (newest first) is deleted. */
const changes = fc.array(
  fc.oneof(
    fc.constant({ kind: 'create' as const }),
    fc.nat(50).map(place => ({ kind: 'delete' as const, place })),
  ),
  { maxLength: 4 },
)
const walks = fc.record({
  before: fc.integer({ min: 0, max: 9 }),
  limit: fc.integer({ min: 1, max: 4 }),
  between: fc.array(changes, { minLength: 1, maxLength: 8 }),
  towards: fc.constantFrom('older' as const, 'newer' as const),
})

/** Model of the devices of an account as a plain list, newest first, next to the stored devices. */
const openModel = async (client: Client) => {
  let activeIds: string[] = []
  const create = async () => {
    activeIds = [idOf(await client.call('POST', '/devices', { reference_id: crypto.randomUUID() })), ...activeIds]
  }
  const remove = async (place: number) => {
    const id = activeIds[place % activeIds.length]
    if (id === undefined) return
    await client.call('DELETE', `/devices/${id}`)
    activeIds = activeIds.filter(one => one !== id)
  }
  return { create, remove, list: () => activeIds }
}

describe('a list', () => {
  it('contains exactly the active objects, in order, while objects are created and deleted between pages', async () => {
    await fc.assert(
      fc.asyncProperty(walks, async ({ before, limit, between, towards }) => {
        const client = (await makeAccount(service)).live
        const model = await openModel(client)
        let cursor = towards === 'older' ? undefined : await anOldObject(client)
        for (let i = 0; i < before; i++) await model.create()
        const atStart = model.list()
        const seen: string[] = []
        for (let step = 0; ; step += 1) {
          const query =
            cursor === undefined ? '' : towards === 'older' ? `&starting_after=${cursor}` : `&ending_before=${cursor}`
          const page = await client.call('GET', `/devices?limit=${limit}${query}`)
          const rest = model
            .list()
            .filter(id => cursor === undefined || (towards === 'older' ? id < cursor : id > cursor))
          const expected = towards === 'older' ? rest.slice(0, limit) : rest.slice(-limit)
          expect(listed(page).map(({ id }) => id)).toEqual(expected)
          expect(page.body['has_more']).toBe(rest.length > limit)
          seen.push(...(towards === 'older' ? expected : expected.toReversed()))
          cursor = (towards === 'older' ? expected.at(-1) : expected[0]) ?? cursor
          if (rest.length <= limit) break
          for (const change of between[step] ?? [])
            await (change.kind === 'create' ? model.create() : model.remove(change.place))
        }
        expect(new Set(seen).size).toBe(seen.length)
        for (const id of model.list()) if (atStart.includes(id)) expect(seen).toContain(id)
      }),
      { numRuns: 30 },
    )
  })

  it('returns 30 objects without a limit, and at most 100', async () => {
    const client = (await makeAccount(service)).live
    for (let i = 0; i < 32; i++) await make(client, '/customers', {})
    expect(listed(await client.call('GET', '/customers'))).toHaveLength(30)
    expect(listed(await client.call('GET', '/customers?limit=100'))).toHaveLength(32)
    for (const limit of ['0', '101', '1.5', 'x']) {
      expect(await client.call('GET', `/customers?limit=${limit}`), limit).toMatchObject({
        status: 400,
        body: { field: 'limit' },
      })
    }
  })

  it.each(['/customers', '/locations', '/devices', '/markets', '/events', '/tariffs'])(
    '%s refuses cursors that it never held',
    async path => {
      const { live, test } = await makeAccount(service)
      const location = await makeLocation(live)
      const filter = path === '/tariffs' ? `location_id=${location}&` : ''
      const foreign = {
        '/customers': () => make(test, path, {}),
        '/locations': () => makeLocation(test),
        '/devices': () => make(test, path, { reference_id: 'x' }),
        '/markets': () => make(test, path, { display_name: 'x', currency_code: 'EUR' }),
        '/events': async () => (await makeLocation(test)).replace('loc_', 'evt_'),
        '/tariffs': async () => make(test, path, flatTariff(await makeLocation(test))),
      }[path]
      for (const cursor of ['nothing', await foreign?.()]) {
        for (const name of ['starting_after', 'ending_before']) {
          expect(await live.call('GET', `${path}?${filter}${name}=${cursor}`)).toMatchObject({
            status: 400,
            body: { code: 'cursor_not_found', field: name },
          })
        }
      }
      expect(await live.call('GET', `${path}?${filter}starting_after=a&ending_before=b`)).toMatchObject({
        status: 400,
        body: { field: 'ending_before' },
      })
      expect(await live.call('GET', `${path}?${filter}page=2`)).toMatchObject({
        status: 400,
        body: { code: 'unknown_parameter', field: 'page' },
      })
    },
  )
})

/** Id of a deleted device that is older than all others: a cursor before the whole list. */
const anOldObject = async (client: Client): Promise<string> => {
  const id = idOf(await client.call('POST', '/devices', { reference_id: 'oldest' }))
  await client.call('DELETE', `/devices/${id}`)
  return id
}

it('tariffs are listed across locations, markets by area', async () => {
  const { live: own } = await makeAccount(service)
  const ids: string[] = []
  for (const location of [await makeLocation(own), await makeLocation(own)])
    ids.unshift(await make(own, '/tariffs', flatTariff(location)))
  expect(listed(await own.call('GET', '/tariffs')).map(({ id }) => id)).toEqual(ids)
  expect(listed(await own.call('GET', '/tariffs?direction=EXPORT'))).toEqual([])
  const draft = { display_name: 'Own', currency_code: 'EUR' }
  const market = await make(own, '/markets', { ...draft, area: 'AT' })
  await make(own, '/markets', { ...draft, area: 'DE-LU' })
  expect(listed(await own.call('GET', '/markets?area=AT')).map(({ id }) => id)).toEqual([market])
})

it('events are listed from a start to before an end', async () => {
  const { live: own } = await makeAccount(service)
  for (const name of ['first', 'second', 'third']) {
    await make(own, '/customers', { reference_id: name })
    await new Promise(resolve => setTimeout(resolve, 3))
  }
  const [third, second, first] = listed(await own.call('GET', '/events?event_type=customer.create'))
  const instants = [first, second, third].map(one => String(one?.['time_created']))
  const between = async (query: string) =>
    listed(await own.call('GET', `/events?event_type=customer.create&${query}`)).map(({ id }) => id)
  expect(await between(`start_time=${instants[1]}`)).toEqual([third?.id, second?.id])
  expect(await between(`end_time=${instants[1]}`)).toEqual([first?.id])
  expect(await between(`start_time=${instants[1]}&end_time=${instants[2]}`)).toEqual([second?.id])
  expect(await between(`start_time=${instants[2]}&limit=1`)).toEqual([third?.id])
})

it('an endpoint that was stored with a former event type remains unchanged', async () => {
  const { live: own } = await makeAccount(service)
  const { body: account } = await own.call('GET', '/account')
  const stored = await changeTenant(
    service.database,
    { accountId: String(account['id']), liveMode: true },
    transaction =>
      createEndpoint(transaction, endpointDraft({ eventTypes: ['custmer.create', 'customer.*'] }), 1_757_844_000_000),
  )
  const { id } = stored.ok ? stored.value : expect.fail()
  const types = { event_types: ['custmer.create', 'customer.*'] }
  expect((await own.call('GET', `/webhooks/${id}`)).body).toMatchObject(types)
  expect((await own.call('PATCH', `/webhooks/${id}`, { description: 'kept' })).body).toMatchObject({
    ...types,
    description: 'kept',
  })
})
