import { describe, expect, it } from 'vitest'
import { createMarket } from '../../../../services/platform/postgres/pricing/markets.ts'
import { readAudit } from '../../../../services/platform/postgres/registry/audit-log.ts'
import { withOperator, withTenant } from '../../../../services/platform/postgres/transaction.ts'
import { operatorKey } from '../../../support/http/http-access.ts'
import {
  type Answer,
  type Client,
  caller,
  contractYear,
  flatTariff,
  idOf,
  listed,
  make,
  makeAccount,
  makeLocation,
  useService,
} from '../../../support/registry/service.ts'

const service = await useService()
const { live, test } = await makeAccount(service)
const stranger = (await makeAccount(service)).live
const earlier = { 'api-version': '2024-08-24' }

/** Return the body of an answer without the members that identify the request. */
const said = ({ status, body }: Answer) => ({ status, ...body, request_id: '', time_created: '' })

const eventsOf = async (client: Client, objectId: string) =>
  listed(await client.call('GET', `/events?object_id=${objectId}&limit=100`))
    .map(({ type }) => type)
    .toReversed()

describe.each([
  ['customers', { reference_id: 'first', metadata: { note: 'a' } }, 202],
  ['locations', { reference_id: 'first', timezone: 'Etc/UTC', currency_code: 'eur', metadata: { note: 'a' } }, 200],
  ['devices', { reference_id: 'first', metadata: { note: 'a' } }, 200],
])('%s', (path, body, updated) => {
  const kind = path.slice(0, -1)

  it.each([
    ['current', {}],
    ['earlier', earlier],
  ] as const)('are created, read, changed and deleted in the %s API version', async (_, apiVersion) => {
    const client = (await makeAccount(service)).live
    const created = await client.call('POST', `/${path}`, body, apiVersion)
    expect(created).toMatchObject({
      status: 201,
      body: { object: kind, live_mode: true, reference_id: 'first', metadata: { note: 'a' } },
    })
    const id = idOf(created)
    expect((await client.call('GET', `/${path}/${id}`, undefined, apiVersion)).body).toEqual(created.body)
    expect((await client.call('GET', `/${path}?reference_id=first`, undefined, apiVersion)).body).toEqual({
      object: 'list',
      url: `/${path}`,
      has_more: false,
      data: [created.body],
    })
    const changed = await client.call('PATCH', `/${path}/${id}`, { reference_id: 'second', metadata: null }, apiVersion)
    expect(changed).toMatchObject({ status: updated, body: { ...created.body, reference_id: 'second', metadata: {} } })
    const unchanged = await client.call('PATCH', `/${path}/${id}`, {}, apiVersion)
    expect(unchanged.body).toEqual(changed.body)
    expect(await client.call('DELETE', `/${path}/${id}`, undefined, apiVersion)).toMatchObject({
      status: 202,
      body: { message: 'Accepted' },
    })
    expect(await client.call('GET', `/${path}/${id}`, undefined, apiVersion)).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    })
    expect(await eventsOf(client, id)).toEqual([`${kind}.create`, `${kind}.update`, `${kind}.update`, `${kind}.delete`])
  })

  it('allow a reference for one active object of an account and mode', async () => {
    const { live: client, test: other } = await makeAccount(service)
    const id = await make(client, `/${path}`, body)
    await make(other, `/${path}`, body)
    const taken = { code: 'reference_id_taken', field: 'reference_id' }
    expect(await client.call('POST', `/${path}`, body)).toMatchObject({ status: 400, body: taken })
    expect(await client.call('POST', `/${path}`, body, earlier)).toMatchObject({ status: 409, body: taken })
    const second = await make(client, `/${path}`, { ...body, reference_id: 'second' })
    expect(await client.call('PATCH', `/${path}/${second}`, { reference_id: 'first' })).toMatchObject({
      status: 400,
      body: taken,
    })
    await client.call('DELETE', `/${path}/${id}`)
    await make(client, `/${path}`, body)
  })

  it('write an event for each refusal during the change', async () => {
    const client = (await makeAccount(service)).live
    const id = await make(client, `/${path}`, body)
    const refused = await client.call('POST', `/${path}`, body)
    const [failed] = listed(await client.call('GET', `/events?event_type=${kind}.create.failed`))
    expect(failed).toMatchObject({
      data: {
        reference_id: 'first',
        error: { code: 'reference_id_taken', message: refused.body['message'] },
        request_id: refused.body['request_id'],
      },
    })
    const unknown = `${id.slice(0, 4)}${'0'.repeat(24)}`
    await client.call('PATCH', `/${path}/${unknown}`, {})
    await client.call('DELETE', `/${path}/${unknown}`)
    expect(await eventsOf(client, unknown)).toEqual([`${kind}.update.failed`, `${kind}.delete.failed`])
  })

  it('write an event for a refusal before the change', async () => {
    const client = (await makeAccount(service)).live
    const refused = await client.call('POST', `/${path}`, { ...body, colour: 'green' })
    const [failed] = listed(await client.call('GET', `/events?event_type=${kind}.create.failed`))
    expect(failed).toMatchObject({
      data: { reference_id: 'first', error: { code: 'unknown_field' }, request_id: refused.body['request_id'] },
    })
  })
})

describe('objects of other accounts, of the other mode, deleted and unknown', () => {
  const kinds = {
    customers: (client: Client) => make(client, '/customers', {}),
    locations: (client: Client) => makeLocation(client),
    devices: (client: Client) => make(client, '/devices', { reference_id: crypto.randomUUID() }),
    markets: (client: Client) => make(client, '/markets', { display_name: 'own', currency_code: 'EUR' }),
    tariffs: async (client: Client) => make(client, '/tariffs', flatTariff(await makeLocation(client))),
  }

  it.each(Object.entries(kinds))('answer the same 404 at %s', async (path, makeOne) => {
    const [foreign, otherMode, deleted] = [await makeOne(stranger), await makeOne(test), await makeOne(live)]
    await live.call('DELETE', `/${path}/${deleted}`)
    const ids = [`${foreign.slice(0, 4)}${'0'.repeat(24)}`, foreign, otherMode, deleted, 'nothing-like-an-id']
    for (const [method, body] of [
      ['GET', undefined],
      ['PATCH', {}],
      ['DELETE', undefined],
    ] as const) {
      const answers = await Promise.all(ids.map(id => live.call(method, `/${path}/${id}`, body)))
      expect(answers.map(said)).toEqual(
        answers.map(() => ({ ...said(answers[0] as Answer), status: 404, code: 'not_found' })),
      )
    }
    expect((await stranger.call('GET', `/${path}/${foreign}`)).status).toBe(200)
    expect((await test.call('GET', `/${path}/${otherMode}`)).status).toBe(200)
  })

  it('are also unknown in bodies and queries', async () => {
    const [location, customer, market] = [
      await kinds.locations(stranger),
      await kinds.customers(stranger),
      await kinds.markets(stranger),
    ]
    const own = await makeLocation(live)
    const cases = [
      await live.call('POST', '/tariffs', flatTariff(location)),
      await live.call('GET', `/tariffs?location_id=${location}`),
      await live.call('GET', `/locations?customer_id=${customer}`),
      await live.call('POST', '/locations', { timezone: 'UTC', currency_code: 'EUR', customer_id: customer }),
      await live.call('PATCH', `/locations/${own}`, { customer_id: customer }),
      await live.call('PATCH', `/locations/${own}`, { market_sources: { import: market } }),
    ]
    expect(cases.map(({ status, body }) => [status, body['code'], body['field']])).toEqual([
      [400, 'location_not_found', 'location_id'],
      [400, 'location_not_found', 'location_id'],
      [400, 'customer_not_found', 'customer_id'],
      [400, 'customer_not_found', 'customer_id'],
      [400, 'customer_not_found', 'customer_id'],
      [400, 'market_source_not_found', 'market_sources.import'],
    ])
  })
})

describe('deleting', () => {
  it('a customer deletes its locations and ends their tariffs, and keeps their rows', async () => {
    const customer = await make(live, '/customers', {})
    const location = await makeLocation(live, { customer_id: customer })
    const id = await make(live, '/tariffs', flatTariff(location))
    expect((await live.call('GET', `/customers/${customer}`)).body).toMatchObject({ locations: [location] })
    service.published.length = 0
    await live.call('DELETE', `/customers/${customer}`)
    for (const path of [
      `/customers/${customer}`,
      `/locations/${location}`,
      `/locations/${location}/status`,
      `/tariffs/${id}`,
    ]) {
      expect((await live.call('GET', path)).status).toBe(404)
    }
    expect(await eventsOf(live, location)).toEqual([
      'location.create',
      'price.update',
      'location.update',
      'location.delete',
    ])
    expect(await eventsOf(live, customer)).toEqual(['customer.create', 'customer.delete'])
    expect(service.published).toEqual([])
    const last = listed(await live.call('GET', `/events?object_id=${location}&event_type=location.delete`))[0]
    expect(last).toMatchObject({ data: { id: location, customer_id: customer, tariff_elements: [id] } })
  })
})

describe('the audit log', () => {
  it('contains who created, changed and deleted objects', async () => {
    const client = (await makeAccount(service)).live
    const customer = await make(client, '/customers', {})
    const location = await makeLocation(client, { customer_id: customer })
    const device = await make(client, '/devices', { reference_id: 'a' })
    const market = await make(client, '/markets', { display_name: 'own', currency_code: 'EUR' })
    const [first, second] = [
      await make(client, '/tariffs', flatTariff(location, contractYear(2024))),
      await make(client, '/tariffs', flatTariff(location, contractYear(2025))),
    ]
    await client.call('PATCH', `/tariffs/${first}`, { display_name: 'Night' })
    for (const path of [
      `/tariffs/${first}`,
      `/tariffs/${second}?void=true`,
      `/locations/${location}`,
      `/customers/${customer}`,
      `/devices/${device}`,
      `/markets/${market}`,
    ]) {
      expect((await client.call('DELETE', path)).status).toBe(202)
    }
    await client.call('DELETE', `/devices/${device}`)
    const tenant = { accountId: client.accountId, liveMode: true }
    const entries = await withTenant(service.database, tenant, transaction => readAudit(transaction, 100))
    expect(entries.map(({ action, objectId, actor }) => [action, objectId, actor]).toReversed()).toEqual(
      [
        ['customer.create', customer],
        ['location.create', location],
        ['device.create', device],
        ['market.create', market],
        ['tariff.create', first],
        ['tariff.create', second],
        ['tariff.update', first],
        ['tariff.delete', first],
        ['tariff.void', second],
        ['location.delete', location],
        ['customer.delete', customer],
        ['device.delete', device],
        ['market.delete', market],
      ].map(entry => [...entry, client.keyId]),
    )
  })
})

describe('an upload of prices', () => {
  it('has an audit entry, and none if each price was stored already', async () => {
    const client = (await makeAccount(service)).live
    const market = await make(client, '/markets', { display_name: 'own', currency_code: 'EUR' })
    const price = { start_time: '2025-09-14T10:00:00Z', end_time: '2025-09-14T11:00:00Z', value: 0.08 }
    for (const value of [0.08, 0.08, 0.09])
      expect((await client.call('PUT', `/markets/${market}/prices`, [{ ...price, value }])).status).toBe(200)
    const tenant = { accountId: client.accountId, liveMode: true }
    const entries = await withTenant(service.database, tenant, transaction => readAudit(transaction, 100, market))
    expect(entries.map(({ action, detail }) => [action, detail]).slice(0, -1)).toEqual([
      ['market_price.put', { stored: 0, replaced: 1, unchanged: 0 }],
      ['market_price.put', { stored: 1, replaced: 0, unchanged: 0 }],
    ])
  })
})

describe('a request that changes something', () => {
  it('answers a repeat under its Idempotency-Key with the first answer and changes nothing again', async () => {
    const client = (await makeAccount(service)).live
    const key = { 'idempotency-key': 'once' }
    const first = await client.call('POST', '/customers', { reference_id: 'a' }, key)
    const again = await client.call('POST', '/customers', { reference_id: 'a' }, key)
    expect([again.text, again.status, again.headers.get('idempotent-replayed')]).toEqual([first.text, 201, 'true'])
    expect(await eventsOf(client, idOf(first))).toEqual(['customer.create'])
    expect((await client.call('POST', '/customers', { reference_id: 'b' }, key)).body).toMatchObject({
      code: 'idempotency_mismatch',
    })
  })
})

it('keeps the time zone of a market source, and refuses an unknown one', async () => {
  const source = { display_name: 'own', currency_code: 'EUR' }
  const made = await live.call('POST', '/markets', { ...source, timezone: 'Europe/Lisbon' })
  const { id } = made.body as { id: string }
  expect(made).toMatchObject({ status: 201, body: { timezone: 'Europe/Lisbon', area: null } })
  expect(await live.call('GET', `/markets/${id}`)).toMatchObject({ body: { timezone: 'Europe/Lisbon' } })
  expect(await live.call('POST', '/markets', { ...source, timezone: 'Lisbon' })).toMatchObject({
    status: 400,
    body: { code: 'field_invalid', field: 'timezone' },
  })
})

describe('a market source', () => {
  it('gets another name and time zone by PATCH, with one audit entry each, in both API versions', async () => {
    const client = (await makeAccount(service)).live
    const source = { display_name: 'own', currency_code: 'EUR', area: 'My street' }
    const id = await make(client, '/markets', source)
    const patch = async (body: object, apiVersion = '2025-09-14') =>
      client.call('PATCH', `/markets/${id}`, body, { 'api-version': apiVersion })
    const read = (await client.call('GET', `/markets/${id}`)).body
    expect(await patch({ ...read, timezone: 'Europe/Lisbon' })).toMatchObject({
      status: 200,
      body: { ...read, timezone: 'Europe/Lisbon' },
    })
    expect((await patch({ display_name: 'Home' }, '2024-08-24')).body).toMatchObject({
      display_name: 'Home',
      timezone: 'Europe/Lisbon',
    })
    expect((await patch({ timezone: null })).body).toEqual({ ...read, display_name: 'Home' })
    expect((await client.call('GET', `/markets/${id}`)).body).toEqual({ ...read, display_name: 'Home' })
    const tenant = { accountId: client.accountId, liveMode: true }
    const entries = await withTenant(service.database, tenant, transaction => readAudit(transaction, 3, id))
    expect(entries.map(({ action, detail }) => [action, detail])).toMatchObject([
      ['market.update', { display_name: 'Home', timezone: null }],
      ['market.update', { display_name: 'Home', timezone: 'Europe/Lisbon' }],
      ['market.update', { display_name: 'own', timezone: 'Europe/Lisbon' }],
    ])
  })

  it('refuses an unknown time zone, and other members with another value', async () => {
    const id = await make(live, '/markets', { display_name: 'own', currency_code: 'EUR' })
    for (const [body, code, field] of [
      [{ timezone: 'Lisbon' }, 'field_invalid', 'timezone'],
      [{ currency_code: 'GBP' }, 'field_immutable', 'currency_code'],
      [{ area: 'DE-LU' }, 'field_immutable', 'area'],
      [{ display_name: '' }, 'field_invalid', 'display_name'],
      [{ zone: 'UTC' }, 'unknown_field', 'zone'],
    ] as const)
      expect(await live.call('PATCH', `/markets/${id}`, body)).toMatchObject({ status: 400, body: { code, field } })
    expect((await live.call('GET', `/markets/${id}`)).body).toMatchObject({ timezone: null, area: null })
  })

  it('that all accounts share is changed by the operator alone', async () => {
    const shared = await withOperator(service.database, transaction =>
      createMarket(
        transaction,
        { displayName: 'Shared', currencyCode: 'EUR', area: 'XX', resolutionMinutes: 60, importer: null },
        Date.now(),
      ),
    )
    expect((await live.call('PATCH', `/markets/${shared.id}`, { timezone: 'UTC' })).status).toBe(404)
    const operator = caller(service.app, { 'x-operator-key': operatorKey })
    expect((await operator('PATCH', `/markets/${shared.id}`, { timezone: 'Europe/Oslo' })).body).toMatchObject({
      account_id: null,
      timezone: 'Europe/Oslo',
    })
    expect((await live.call('GET', `/markets/${shared.id}`)).body['timezone']).toBe('Europe/Oslo')
  })
})

it('causes no internal error in these tests', () => {
  expect(service.errors).toEqual([])
})
