import sql from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import { createMarket } from '../../../../services/platform/postgres/pricing/markets.ts'
import { withOperator } from '../../../../services/platform/postgres/transaction.ts'
import {
  contractYear,
  flatTariff,
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

const orders = () => service.published.splice(0).map(({ payload }) => JSON.parse(payload))

describe('a location', () => {
  it('returns the status of each kind of tariff', async () => {
    const market = await make(live, '/markets', { display_name: 'own', currency_code: 'EUR' })
    const location = await makeLocation(live, { market_sources: { import: market } })
    const old = await make(live, '/tariffs', flatTariff(location, { ...contractYear(2024), display_name: 'Old' }))
    const next = await make(live, '/tariffs', flatTariff(location, { ...contractYear(2027), display_name: 'Next' }))
    const exported = await make(
      live,
      '/tariffs',
      flatTariff(location, { direction: 'EXPORT', market_rates: true, schedule: allHours([{}]) }),
    )
    expect((await live.call('GET', `/locations/${location}/status`)).body).toMatchObject({
      id: location,
      object: 'location_status',
      tariff_status: {
        commodity_import: {
          status: 'NOT_CONNECTED',
          connection_type: 'MANUAL',
          tariff: {
            id: next,
            display_name: 'Next',
            structure_type: 'FIXED',
            contract_start_date: '2027-01-01T00:00:00Z',
          },
        },
        commodity_export: {
          status: 'CONNECTED',
          tariff: { id: exported, structure_type: 'MARKET', contract_end_date: null },
        },
        non_commodity_import: { status: 'NOT_CONNECTED' },
        non_commodity_export: { status: 'NOT_SUPPORTED' },
        local: { status: 'NOT_CONNECTED' },
      },
    })
    expect((await live.call('GET', `/locations/${location}`)).body).toMatchObject({
      tariff_elements: [old, next, exported],
      tariff_status: { commodity_import: 'NOT_CONNECTED', commodity_export: 'CONNECTED' },
    })
    const statusNow = async () =>
      ((await live.call('GET', `/locations/${location}/status`)).body['tariff_status'] as { commodity_import: unknown })
        .commodity_import
    await live.call('DELETE', `/tariffs/${next}`)
    expect(await statusNow()).toMatchObject({
      status: 'NOT_CONNECTED',
      tariff: { id: old, contract_end_date: '2025-01-01T00:00:00Z' },
    })
    const now = await make(live, '/tariffs', flatTariff(location, contractYear(2026)))
    expect(await statusNow()).toMatchObject({ status: 'CONNECTED', tariff: { id: now } })
  })

  it('keeps its currency after tariffs or records exist', async () => {
    const [priced, metered, empty] = [await makeLocation(live), await makeLocation(live), await makeLocation(live)]
    await make(live, '/tariffs', flatTariff(priced))
    service.facts.withRecords.add(metered)
    for (const id of [priced, metered]) {
      expect(await live.call('PATCH', `/locations/${id}`, { currency_code: 'CHF' })).toMatchObject({
        status: 400,
        body: { code: 'currency_in_use' },
      })
      expect((await live.call('PATCH', `/locations/${id}`, { currency_code: 'EUR' })).status).toBe(200)
    }
    expect((await live.call('PATCH', `/locations/${empty}`, { currency_code: 'CHF' })).body).toMatchObject({
      currency_code: 'CHF',
    })
  })

  it('is recosted for all time if its zone or source changes', async () => {
    const location = await makeLocation(live)
    const market = await make(live, '/markets', { display_name: 'own', currency_code: 'EUR' })
    orders()
    await live.call('PATCH', `/locations/${location}`, { metadata: { a: 'b' } })
    expect(orders()).toEqual([])
    await live.call('PATCH', `/locations/${location}`, { timezone: 'europe/vienna' })
    await live.call('PATCH', `/locations/${location}`, { market_sources: { import: market } })
    expect(orders()).toMatchObject([
      { locations: [location], from: null, to: null, revision: 1 },
      { locations: [location], from: null, to: null, revision: 2 },
    ])
    expect((await live.call('GET', `/locations/${location}`)).body).toMatchObject({
      timezone: 'Europe/Vienna',
      market_sources: { import: market, export: market },
    })
  })

  it('has a hint instead of a market source if its address fits several market areas', async () => {
    const markets = await Promise.all(
      ['SE3', 'SE4'].map(area =>
        withOperator(service.database, transaction =>
          createMarket(
            transaction,
            { displayName: area, currencyCode: 'SEK', area, resolutionMinutes: 60, importer: null },
            at,
          ),
        ),
      ),
    )
    const create = async (city: string, more: object = {}) =>
      (await live.call('POST', '/locations', { postal_address: { city, country_code: 'SE' }, ...more })).body
    const near = await create('Oskarshamn')
    expect(near).toMatchObject({
      market_sources: { import: null, export: null },
      hint: expect.stringMatching(/SE3, SE4, SE1 and SE2. Set market_sources/),
    })
    const read = (await live.call('GET', `/locations/${near['id']}`)).body
    expect([read['market_sources'], 'hint' in read]).toEqual([{ import: null, export: null }, false])
    const stockholm = await create('Stockholm')
    expect([stockholm['market_sources'], 'hint' in stockholm]).toEqual([
      { import: markets[0]?.id, export: markets[0]?.id },
      false,
    ])
    const chosen = await create('Oskarshamn', { market_sources: { import: markets[1]?.id } })
    expect([chosen['market_sources'], 'hint' in chosen]).toEqual([
      { import: markets[1]?.id, export: markets[1]?.id },
      false,
    ])
    const moved = await live.call('PATCH', `/locations/${stockholm['id']}`, {
      postal_address: { city: 'Oskarshamn', country_code: 'SE' },
    })
    expect(moved.body).toMatchObject({ market_sources: { import: null }, hint: expect.any(String) })
    expect(
      await live.call('POST', '/locations', { postal_address: { city: 'Ingensteds', country_code: 'SE' } }),
    ).toMatchObject({
      status: 400,
      body: { code: 'geo_location_not_found', field: 'postal_address.city' },
    })
  })

  it('uses zone, currency and place of its address; an explicit value wins until it is cleared', async () => {
    const id = await make(live, '/locations', {
      postal_address: { city: 'Zürich', country_code: 'CH' },
      timezone: 'Etc/GMT-5',
      currency_code: 'EUR',
    })
    expect((await live.call('GET', `/locations/${id}`)).body).toMatchObject({
      timezone: 'Etc/GMT-5',
      currency_code: 'EUR',
      geo_location: expect.anything(),
    })
    const cleared = await live.call('PATCH', `/locations/${id}`, { timezone: null, currency_code: null })
    expect(cleared.body).toMatchObject({ timezone: 'Europe/Zurich', currency_code: 'CHF' })
    expect(await live.call('PATCH', `/locations/${id}`, { postal_address: null })).toMatchObject({
      status: 400,
      body: { code: 'field_required', field: 'postal_address' },
    })
  })

  it.each([
    ['nothing', {}, 'field_required', 'postal_address'],
    ['a zone alone', { timezone: 'UTC' }, 'field_required', 'postal_address'],
    ['an unknown zone', { timezone: 'Mars/Olympus', currency_code: 'EUR' }, 'field_invalid', 'timezone'],
    ['an unknown currency', { timezone: 'UTC', currency_code: 'ZZZ' }, 'field_invalid', 'currency_code'],
    [
      'a city of no country',
      { postal_address: { city: 'Xyzzy', state: 'TX', country_code: 'ZZ' } },
      'field_invalid',
      'postal_address.country_code',
    ],
    [
      'a city that cannot be found',
      { postal_address: { city: 'Xyzzyville', country_code: 'BR' } },
      'geo_location_not_found',
      'postal_address.city',
    ],
  ])('needs more than %s', async (_, body, code, field) => {
    expect(await live.call('POST', '/locations', body)).toMatchObject({ status: 400, body: { code, field } })
  })
})

describe('market prices', () => {
  const price = (hour: number, value: number, hours = 1) => ({
    start_time: new Date(Date.UTC(2026, 0, 1, hour)).toISOString(),
    end_time: new Date(Date.UTC(2026, 0, 1, hour + hours)).toISOString(),
    value,
  })

  it('replace earlier prices of the same time, and the answer counts the changes', async () => {
    const path = `/markets/${await make(live, '/markets', { display_name: 'own', currency_code: 'EUR' })}`
    expect((await live.call('PUT', `${path}/prices`, [price(1, 0.2), price(0, -0.123456789)])).body).toEqual({
      stored: 2,
      replaced: 0,
      unchanged: 0,
    })
    const fanOuts = async () =>
      (await service.database.operator(sql`select * from price_fan_outs where source_id = ${path.slice(9)}`)).rows
    expect(await fanOuts()).toMatchObject([
      { revision: 1, from_time: Date.UTC(2026, 0, 1), to_time: Date.UTC(2026, 0, 1, 2) },
    ])
    expect(
      (await live.call('PUT', `${path}/prices`, [price(0, -0.123456789), price(1, 0.25), price(2, 0.3, 2)])).body,
    ).toEqual({
      stored: 1,
      replaced: 1,
      unchanged: 1,
    })
    expect((await fanOuts()).slice(1)).toMatchObject([
      { revision: 2, from_time: Date.UTC(2026, 0, 1, 1), to_time: Date.UTC(2026, 0, 1, 4) },
    ])
    expect((await live.call('PUT', `${path}/prices`, [price(1, 0.25)])).body).toEqual({
      stored: 0,
      replaced: 0,
      unchanged: 1,
    })
    expect(await fanOuts()).toHaveLength(2)
    expect((await live.call('PUT', `${path}/prices`, [price(3, 0.1)])).body).toEqual({
      stored: 0,
      replaced: 1,
      unchanged: 0,
    })
    const read = await live.call(
      'GET',
      `${path}/prices?start_time=2026-01-01T01:30:00+01:00&end_time=2026-01-01T04:30:00+01:00`,
    )
    expect(read.text).toContain('"value":-0.123456789')
    expect(listed(read)).toEqual([
      { start_time: '2026-01-01T01:00:00+01:00', end_time: '2026-01-01T02:00:00+01:00', value: -0.123456789 },
      { start_time: '2026-01-01T02:00:00+01:00', end_time: '2026-01-01T03:00:00+01:00', value: 0.25 },
      { start_time: '2026-01-01T03:00:00+01:00', end_time: '2026-01-01T04:00:00+01:00', value: 0.3 },
      { start_time: '2026-01-01T04:00:00+01:00', end_time: '2026-01-01T05:00:00+01:00', value: 0.1 },
    ])
    expect((await live.call('GET', path)).body).toMatchObject({ price_revision: 3 })
  })

  it.each([
    ['that share time', [price(5, 1), price(0, 1), price(4, 1, 2)], 'field_invalid', '[0].start_time'],
    ['that end before they start', [price(0, 1), price(1, 1, -1)], 'end_before_start', '[1].end_time'],
    ['with 31 decimals', [price(0, 1e-31)], 'field_invalid', '[0].value'],
    ['of an empty list', [], 'value_out_of_range', undefined],
    ['that are not a list', {}, 'field_invalid', undefined],
  ])('%s are refused', async (_, body, code, field) => {
    const id = await make(live, '/markets', { display_name: 'own', currency_code: 'EUR' })
    const answer = await live.call('PUT', `/markets/${id}/prices`, body)
    expect([answer.status, answer.body['code'], answer.body['field']]).toEqual([400, code, field])
  })

  it('are accepted up to 10,000 per request', async () => {
    const id = await make(live, '/markets', { display_name: 'own', currency_code: 'EUR' })
    const prices = Array.from({ length: 10_001 }, (_, hour) => price(hour, 0.1))
    expect((await live.call('PUT', `/markets/${id}/prices`, prices.slice(1))).body).toEqual({
      stored: 10_000,
      replaced: 0,
      unchanged: 0,
    })
    expect((await live.call('PUT', `/markets/${id}/prices`, prices)).status).toBe(400)
  })
})

it('causes no internal error in these tests', () => {
  expect(service.errors).toEqual([])
})
