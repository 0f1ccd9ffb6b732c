import sql from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import {
  contractYear,
  flatTariff,
  idOf,
  listed,
  make,
  makeAccount,
  makeLocation,
  useService,
} from '../../../support/registry/service.ts'
import { allHours } from '../../../support/tariffs/all-hours.ts'

let at = Date.UTC(2026, 0, 15, 12)
const service = await useService(() => at++)
const { live } = await makeAccount(service)
const earlier = { 'api-version': '2024-08-24' }
const current = { 'api-version': '2025-09-14' }

const orders = () => service.published.splice(0).map(({ payload }) => JSON.parse(payload))

describe('a tariff', () => {
  it('is the same in both API versions, at the path of each version', async () => {
    const location = await makeLocation(live)
    const id = await make(live, '/tariffs', flatTariff(location, contractYear(2024)))
    const second = idOf(await live.call('POST', '/tariffs/elements', flatTariff(location, contractYear(2025))))
    const now = await live.call('GET', `/tariffs/${id}`)
    const before = await live.call('GET', `/tariffs/elements/${id}`)
    // The earlier version leaves out texts that are null, and has no components and plans.
    const { provider_id: provider, display_name: name, plan_id: plan, plan_version: version, ...current } = now.body
    const { component: _, ...others } = current
    expect([plan, version]).toEqual([null, null])
    expect([before.body, before.headers.get('api-version'), provider, name]).toEqual([
      others,
      earlier['api-version'],
      null,
      null,
    ])
    const lists = [
      await live.call('GET', `/tariffs?location_id=${location}`),
      await live.call('GET', `/tariffs/elements?location_id=${location}`),
    ]
    expect(lists.map(({ body }) => body['url'])).toEqual(['/tariffs', '/tariffs/elements'])
    for (const list of lists) expect(listed(list).map(one => one['id'])).toEqual([second, id])
    const schedule = allHours([{ fixed: 0.3, to_kwh: null, surcharge_fixed: 0, surcharge_percentage: 0 }])
    const versions = [{ effective_from: now.body['contract_start_date'], schedule }]
    expect(listed(lists[0] ?? now)[1]).toEqual({ ...now.body, schedule, versions })
  })

  it('answers 404 at the path of the other API version, and the message names the right path', async () => {
    const id = await make(live, '/tariffs', flatTariff(await makeLocation(live)))
    expect(await live.call('GET', `/tariffs/elements/${id}`, undefined, current)).toMatchObject({
      status: 404,
      body: { message: expect.stringContaining(`/tariffs/${id}`) },
    })
    expect(await live.call('GET', `/tariffs/${id}`, undefined, earlier)).toMatchObject({
      status: 404,
      body: { message: expect.stringContaining(`/tariffs/elements/${id}`) },
    })
  })

  it('is refused with 400, and with 409 in the earlier API version', async () => {
    const location = await makeLocation(live)
    const wrong = flatTariff(location, { schedule: allHours([{ fixed: 0.3, surcharge_percentage: 19 }]) })
    const refusal = {
      code: 'value_out_of_range',
      field: 'schedule[0].days_and_hours[0].hours[0].rate[0].surcharge_percentage',
    }
    expect(await live.call('POST', '/tariffs', wrong)).toMatchObject({ status: 400, body: refusal })
    expect(await live.call('POST', '/tariffs/elements', wrong)).toMatchObject({ status: 409, body: refusal })
  })

  it.each([
    [
      'leaves an hour without a price',
      [
        ['00:00:00', '22:00:00'],
        ['23:00:00', '00:00:00'],
      ],
      'schedule_gap',
    ],
    [
      'prices an hour twice',
      [
        ['00:00:00', '00:00:00'],
        ['05:00:00', '06:00:00'],
      ],
      'schedule_overlap',
    ],
    ['has a clock that no day shows', [['00:00:00', '25:00:00']], 'schedule_invalid'],
  ])('whose schedule %s is refused', async (_, bands, code) => {
    const hours = bands.map(([valid_from, valid_to]) => ({ valid_from, valid_to, rate: [{ fixed: 0.3 }] }))
    const schedule = [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }]
    const answer = await live.call('POST', '/tariffs', flatTariff(await makeLocation(live), { schedule }))
    expect(answer).toMatchObject({ status: 400, body: { code, field: expect.stringContaining('schedule') } })
  })

  it('accepts only the time zone of its location and connection_type MANUAL', async () => {
    const location = await makeLocation(live)
    expect(await live.call('POST', '/tariffs', flatTariff(location, { timezone: 'Europe/Paris' }))).toMatchObject({
      status: 400,
      body: { code: 'field_invalid', field: 'timezone', message: expect.stringContaining('Europe/Berlin') },
    })
    await make(live, '/tariffs', flatTariff(location, { timezone: 'Europe/Berlin', connection_type: 'MANUAL' }))
  })

  it('cannot overlap with another tariff of its location, direction and type', async () => {
    const location = await makeLocation(live)
    const first = await make(live, '/tariffs', flatTariff(location, contractYear(2025)))
    const overlap = { status: 400, body: { code: 'tariff_overlap', message: expect.stringContaining(first) } }
    expect(await live.call('POST', '/tariffs', flatTariff(location))).toMatchObject(overlap)
    const next = await make(live, '/tariffs', flatTariff(location, { contract_start_date: '2026-01-01T00:00:00Z' }))
    await make(live, '/tariffs', flatTariff(location, { type: 'NON_COMMODITY' }))
    await make(live, '/tariffs', flatTariff(location, { direction: 'EXPORT' }))
    await make(live, '/tariffs', flatTariff(location, { direction: 'LOCAL' }))
    expect(await live.call('PATCH', `/tariffs/${first}`, { contract_end_date: null })).toMatchObject({
      status: 400,
      body: { code: 'tariff_overlap', message: expect.stringContaining(next) },
    })
  })

  it('has a component that names its lines on statements', async () => {
    const location = await makeLocation(live)
    const create = (body: object) => live.call('POST', '/tariffs', flatTariff(location, body))
    const own = await create({ ...contractYear(2024), component: 'supplier' })
    const others = [
      await create(contractYear(2025)),
      await create({ type: 'NON_COMMODITY' }),
      await create({ direction: 'EXPORT', component: 'ß'.repeat(64) }),
    ]
    expect([own, ...others].map(({ body }) => body['component'])).toEqual([
      ...['supplier', 'energy', 'grid', 'ß'.repeat(64)],
    ])
    expect((await live.call('GET', `/tariffs/${idOf(own)}`)).body).toMatchObject({ component: 'supplier' })
    for (const component of ['', 'x'.repeat(65)])
      expect(await create({ ...contractYear(2026), component })).toMatchObject({
        status: 400,
        body: { field: 'component' },
      })
    const change = await live.call('PATCH', `/tariffs/${idOf(own)}`, { component: 'energy' })
    expect(change).toMatchObject({ status: 400, body: { code: 'field_immutable', field: 'component' } })
    const before = await live.call('POST', '/tariffs/elements', flatTariff(location, { component: 'x' }))
    expect(before).toMatchObject({ status: 409, body: { code: 'unknown_field', field: 'component' } })
  })

  it('can be found by direction and type', async () => {
    const location = await makeLocation(live)
    const id = await make(live, '/tariffs', flatTariff(location, { direction: 'EXPORT' }))
    await make(live, '/tariffs', flatTariff(location))
    expect(
      listed(await live.call('GET', `/tariffs?location_id=${location}&direction=EXPORT&type=COMMODITY`)).map(
        one => one['id'],
      ),
    ).toEqual([id])
    expect(listed(await live.call('GET', `/tariffs?location_id=${location}&type=NON_COMMODITY`))).toEqual([])
    const all = listed(await live.call('GET', '/tariffs?direction=EXPORT'))
    expect(all.map(one => one['id'])).toContain(id)
    expect(new Set(all.map(one => one['direction']))).toEqual(new Set(['EXPORT']))
  })

  it('changes its names and its end, and requests a recost of the time between old and new end', async () => {
    const location = await makeLocation(live)
    const id = await make(live, '/tariffs', flatTariff(location, contractYear(2025)))
    orders()
    expect(await live.call('PATCH', `/tariffs/${id}`, { display_name: 'Night' })).toMatchObject({
      status: 200,
      body: { display_name: 'Night' },
    })
    expect(orders()).toEqual([])
    const end = '2025-07-01T00:00:00Z'
    expect((await live.call('PATCH', `/tariffs/${id}`, { contract_end_date: end })).body).toMatchObject({
      contract_end_date: end,
      display_name: 'Night',
    })
    expect(orders()).toMatchObject([{ locations: [location], from: Date.parse(end), to: null }])
    expect(await live.call('PATCH', `/tariffs/${id}`, { direction: 'EXPORT' })).toMatchObject({
      status: 400,
      body: { code: 'field_immutable', field: 'direction', message: expect.stringContaining('void=true') },
    })
    expect(await live.call('PATCH', `/tariffs/${id}`, { provider_id: 'prv_0' })).toMatchObject({
      status: 400,
      body: { code: 'provider_not_found' },
    })
  })

  it('accepts new prices from a past, the current or a future instant, and returns all of them', async () => {
    const location = await makeLocation(live)
    const start = '2025-01-01T00:00:00Z'
    const id = await make(live, '/tariffs', flatTariff(location, { contract_start_date: start }))
    orders()
    const patch = (fixed: number, effective_from?: string) =>
      live.call('PATCH', `/tariffs/${id}`, {
        schedule: allHours([{ fixed }]),
        ...(effective_from === undefined ? {} : { effective_from }),
      })
    const priceOf = (schedule: unknown) => JSON.stringify(schedule).match(/"fixed":([\d.]+)/)?.[1]
    type Versions = { readonly versions: readonly { readonly effective_from: string; readonly schedule: unknown }[] }
    const versionsIn = (body: unknown) =>
      (body as Versions).versions.map(({ effective_from, schedule }) => [effective_from, priceOf(schedule)])
    const future = '2027-01-01T00:00:00Z'
    expect((await patch(0.6, future)).status).toBe(200)
    expect(orders()).toMatchObject([{ locations: [location], from: Date.parse(future), to: null }])
    const now = at
    const changed = await patch(0.5)
    expect(orders()).toMatchObject([{ locations: [location], from: now, to: null }])
    expect(versionsIn(changed.body)).toEqual([
      [start, '0.3'],
      [new Date(now).toISOString(), '0.5'],
    ])
    await patch(0.6, future)
    const past = '2025-06-01T00:00:00+02:00'
    await patch(0.4, past)
    await patch(0.7, future)
    const read = await live.call('GET', `/tariffs/${id}`)
    expect(versionsIn(read.body)).toEqual([
      [start, '0.3'],
      ['2025-05-31T22:00:00Z', '0.4'],
      [future, '0.7'],
    ])
    // The shown prices apply now, not in the future.
    expect(priceOf(read.body['schedule'])).toBe('0.4')
    expect(versionsIn(listed(await live.call('GET', `/tariffs?location_id=${location}`))[0])).toEqual(
      versionsIn(read.body),
    )
    const { rows } = await service.database.operator<{ action: string; detail: { versions: unknown[] } }>(sql`
      select action, detail from audit_log where object_id = ${id} order by place`)
    expect(rows.map(({ action, detail }) => [action, detail.versions.length])).toEqual([
      ['tariff.create', 1],
      ...[2, 2, 3, 2, 3].map(count => ['tariff.update', count]),
    ])
    expect(
      (await live.call('GET', `/events?event_type=location.update&object_id=${location}`)).body['data'],
    ).toHaveLength(6)
    orders()
  })

  it('does not change if its current prices are sent again', async () => {
    const id = await make(live, '/tariffs', flatTariff(await makeLocation(live)))
    const future = { schedule: allHours([{ fixed: 0.9 }]), effective_from: '2027-01-01T00:00:00Z' }
    const { body } = await live.call('PATCH', `/tariffs/${id}`, future)
    orders()
    const again = await live.call('PATCH', `/tariffs/${id}`, { schedule: body['schedule'], display_name: 'Same' })
    expect(again).toMatchObject({ status: 200, body: { display_name: 'Same', versions: body['versions'] } })
    expect(orders()).toEqual([])
  })

  it('refuses invalid new prices, and an instant without prices', async () => {
    const id = await make(live, '/tariffs', flatTariff(await makeLocation(live)))
    const hours = [{ valid_from: '00:00:00', valid_to: '22:00:00', rate: [{ fixed: 1 }] }]
    for (const [body, code, field] of [
      [{ schedule: [{ days_and_hours: [{ hours }] }] }, 'schedule_gap', 'schedule'],
      [{ schedule: [] }, 'schedule_invalid', 'schedule'],
      [{ schedule: null }, 'field_invalid', 'schedule'],
      [
        { schedule: allHours([{ fixed: 1, surcharge_percentage: 19 }]) },
        'value_out_of_range',
        'schedule[0].days_and_hours[0].hours[0].rate[0].surcharge_percentage',
      ],
      [{ effective_from: '2026-01-01T00:00:00Z' }, 'field_required', 'schedule'],
      [{ versions: [] }, 'field_immutable', 'versions'],
    ] as const) {
      const refused = await live.call('PATCH', `/tariffs/${id}`, body)
      expect(refused).toMatchObject({ status: 400, body: { code, field: expect.stringContaining(field) } })
    }
    const many = (day: number) => ({
      schedule: allHours([{ fixed: day / 100 }]),
      effective_from: new Date(Date.UTC(2027, 0, day)).toISOString(),
    })
    for (let day = 1; day < 100; day += 1)
      expect((await live.call('PATCH', `/tariffs/${id}`, many(day))).status).toBe(200)
    expect(await live.call('PATCH', `/tariffs/${id}`, many(100))).toMatchObject({
      status: 400,
      body: { code: 'schedule_invalid' },
    })
    orders()
  })

  it('ends now if it is deleted, or never applied if it is voided', async () => {
    const location = await makeLocation(live)
    const past = await make(live, '/tariffs', flatTariff(location, contractYear(2024)))
    const voided = await make(live, '/tariffs', flatTariff(location, contractYear(2025)))
    const ended = await make(live, '/tariffs', flatTariff(location, contractYear(2026)))
    orders()
    const now = at
    for (const id of [ended, past]) {
      expect(await live.call('DELETE', `/tariffs/${id}`)).toMatchObject({ status: 202, body: { message: 'Accepted' } })
    }
    expect(await live.call('DELETE', `/tariffs/${voided}?void=True`)).toMatchObject({ status: 202 })
    // Deleting a past tariff that another tariff follows does not change any price.
    expect(orders()).toMatchObject([
      { from: now, to: null },
      { from: Date.UTC(2025, 0, 1), to: null },
    ])
    for (const id of [ended, voided, past]) expect((await live.call('GET', `/tariffs/${id}`)).status).toBe(404)
    expect(listed(await live.call('GET', `/tariffs?location_id=${location}`))).toEqual([])
    expect((await live.call('GET', `/locations/${location}`)).body).toMatchObject({ tariff_elements: [] })
    await make(live, '/tariffs', flatTariff(location))
  })

  it('writes location.update with the location after the change', async () => {
    const location = await makeLocation(live)
    const id = await make(live, '/tariffs', flatTariff(location))
    await live.call('DELETE', `/tariffs/${id}`)
    const events = listed(
      await live.call('GET', `/events?object_id=${location}&event_type=location.update`),
    ).toReversed()
    expect(events).toMatchObject([
      { data: { id: location, tariff_elements: [id], tariff_status: { commodity_import: 'CONNECTED' } } },
      { data: { id: location, tariff_elements: [], tariff_status: { commodity_import: 'NOT_CONNECTED' } } },
    ])
  })

  it('with market rates needs a source in the currency of its location', async () => {
    const market = await make(live, '/markets', { display_name: 'own', currency_code: 'EUR' })
    const market_rates = { market_rates: true, schedule: allHours([{}]) }
    expect(await live.call('POST', '/tariffs', flatTariff(await makeLocation(live), market_rates))).toMatchObject({
      status: 400,
      body: { code: 'currency_mismatch' },
    })
    const dollars = { timezone: 'America/New_York', currency_code: 'USD', market_sources: { import: market } }
    expect(await live.call('POST', '/locations', dollars)).toMatchObject({
      status: 400,
      body: { code: 'currency_mismatch', field: 'market_sources.import' },
    })
    await make(
      live,
      '/tariffs',
      flatTariff(await makeLocation(live, { market_sources: { import: market } }), market_rates),
    )
  })
})

it('causes no internal error in these tests', () => {
  expect(service.errors).toEqual([])
})
