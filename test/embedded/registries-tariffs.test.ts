import { afterAll, describe, expect, it } from 'vitest'
import { openTestDatabase } from '../support/postgres.ts'
import { contractYear, flatSchedule, flatTariff, idOf, listed, make, makeAccount, makeLocation, openService } from '../support/service.ts'

const opened = await openTestDatabase()
afterAll(() => opened[Symbol.asyncDispose]())
let at = Date.UTC(2026, 0, 15, 12)
const service = openService(opened.database, () => at++)
const { live } = await makeAccount(service)
const earlier = { 'api-version': '2024-08-24' }
const current = { 'api-version': '2025-09-14' }

const orders = () => service.published.splice(0).map(({ payload }) => JSON.parse(payload))

describe('a tariff', () => {
  it('is the same in both layouts, at the path of each', async () => {
    const location = await makeLocation(live)
    const id = await make(live, '/tariffs', flatTariff(location, contractYear(2024)))
    const second = idOf(await live.call('POST', '/tariffs/elements', flatTariff(location, contractYear(2025))))
    const now = await live.call('GET', `/tariffs/${id}`)
    const before = await live.call('GET', `/tariffs/elements/${id}`)
    expect([before.text, before.headers.get('api-version')]).toEqual([now.text, earlier['api-version']])
    const lists = [
      await live.call('GET', `/tariffs?location_id=${location}`),
      await live.call('GET', `/tariffs/elements?location_id=${location}`),
    ]
    expect(lists.map(({ body }) => body['url'])).toEqual(['/tariffs', '/tariffs/elements'])
    for (const list of lists) expect(listed(list).map(one => one['id'])).toEqual([second, id])
    expect(listed(lists[0] ?? now)[1]).toEqual({
      ...now.body,
      schedule: flatSchedule({ fixed: 0.3, to_kwh: null, surcharge_fixed: 0, surcharge_percentage: 0 }),
    })
  })

  it('at the path of the other layout is 404, and the message names the right one', async () => {
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

  it('is refused with 400, in the earlier layout with 409', async () => {
    const location = await makeLocation(live)
    const wrong = flatTariff(location, { schedule: flatSchedule({ fixed: 0.3, surcharge_percentage: 19 }) })
    const refusal = { code: 'value_out_of_range', field: 'schedule[0].days_and_hours[0].hours[0].rate[0].surcharge_percentage' }
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

  it('takes the zone of its location and connection_type MANUAL, and no other', async () => {
    const location = await makeLocation(live)
    expect(await live.call('POST', '/tariffs', flatTariff(location, { timezone: 'Europe/Paris' }))).toMatchObject({
      status: 400,
      body: { code: 'field_invalid', field: 'timezone', message: expect.stringContaining('Europe/Berlin') },
    })
    await make(live, '/tariffs', flatTariff(location, { timezone: 'Europe/Berlin', connection_type: 'MANUAL' }))
  })

  it('shares no time with another of its location, direction and type', async () => {
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

  it('can be found by direction and type', async () => {
    const location = await makeLocation(live)
    const id = await make(live, '/tariffs', flatTariff(location, { direction: 'EXPORT' }))
    await make(live, '/tariffs', flatTariff(location))
    expect(
      listed(await live.call('GET', `/tariffs?location_id=${location}&direction=EXPORT&type=COMMODITY`)).map(one => one['id']),
    ).toEqual([id])
    expect(listed(await live.call('GET', `/tariffs?location_id=${location}&type=NON_COMMODITY`))).toEqual([])
    expect(await live.call('GET', '/tariffs')).toMatchObject({ status: 400, body: { code: 'field_required', field: 'location_id' } })
  })

  it('changes its names and its end, and owes the lanes an order for the time that the new end moves', async () => {
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
    expect(await live.call('PATCH', `/tariffs/${id}`, { schedule: flatSchedule() })).toMatchObject({
      status: 400,
      body: { code: 'field_immutable', field: 'schedule' },
    })
    expect(await live.call('PATCH', `/tariffs/${id}`, { provider_id: 'prv_0' })).toMatchObject({
      status: 400,
      body: { code: 'provider_not_found' },
    })
  })

  it('is gone once deleted, from now on or as if it never was', async () => {
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
    // What is over, and followed by another tariff, ends without altering any price.
    expect(orders()).toMatchObject([
      { from: now, to: null },
      { from: Date.UTC(2025, 0, 1), to: null },
    ])
    for (const id of [ended, voided, past]) expect((await live.call('GET', `/tariffs/${id}`)).status).toBe(404)
    expect(listed(await live.call('GET', `/tariffs?location_id=${location}`))).toEqual([])
    expect((await live.call('GET', `/locations/${location}`)).body).toMatchObject({ tariff_elements: [] })
    await make(live, '/tariffs', flatTariff(location))
  })

  it('raises location.update, with the location as it is then', async () => {
    const location = await makeLocation(live)
    const id = await make(live, '/tariffs', flatTariff(location))
    await live.call('DELETE', `/tariffs/${id}`)
    const events = listed(await live.call('GET', `/events?object_id=${location}&event_type=location.update`)).toReversed()
    expect(events).toMatchObject([
      { data: { id: location, tariff_elements: [id], tariff_status: { commodity_import: 'CONNECTED' } } },
      { data: { id: location, tariff_elements: [], tariff_status: { commodity_import: 'NOT_CONNECTED' } } },
    ])
  })

  it('that follows the market needs a source in the currency of its location', async () => {
    const market = await make(live, '/markets', { display_name: 'own', currency_code: 'EUR' })
    const market_rates = { market_rates: true, schedule: flatSchedule({}) }
    expect(await live.call('POST', '/tariffs', flatTariff(await makeLocation(live), market_rates))).toMatchObject({
      status: 400,
      body: { code: 'currency_mismatch' },
    })
    const dollars = { timezone: 'America/New_York', currency_code: 'USD', market_sources: { import: market } }
    expect(await live.call('POST', '/locations', dollars)).toMatchObject({
      status: 400,
      body: { code: 'currency_mismatch', field: 'market_sources.import' },
    })
    await make(live, '/tariffs', flatTariff(await makeLocation(live, { market_sources: { import: market } }), market_rates))
  })
})

it('meets no fault of its own in all of this', () => {
  expect(service.errors).toEqual([])
})
