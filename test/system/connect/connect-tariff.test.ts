import sql from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import { listTariffReports } from '../../../services/connect/postgres/connect-sessions.ts'
import {
  apiVersions,
  bandsOf,
  completed,
  connectFixture,
  eventsOf,
  goToRate,
  locationOf,
  retrieve,
  routesOf,
  tariffsOf,
} from '../../support/connect/connect-fixture.ts'
import { connectAccount, openFlow } from '../../support/connect/connect-service.ts'
import type { Call } from '../../support/registry/service.ts'

const { begin, saveFixed, service, openSession } = connectFixture()
const dayMs = 86_400_000
const dayOf = (at: number): string => `${new Date(at).toISOString().slice(0, 10)}T00:00:00Z`

describe.each(apiVersions)('a location that has a tariff, in the %s API version', apiVersion => {
  const { fixedSummary, end } = routesOf(apiVersion)

  it('starts at its summary, keeps its buttons at any time, and is complete after another tariff is saved', async () => {
    const { call } = await saveFixed(apiVersion, 0.3)
    const { id } = await locationOf(call)
    const [before] = await tariffsOf(call)
    const flow = await openSession(call, apiVersion, { location_id: id })
    const shown = await flow.submit('session_start')
    expect(shown).toMatchObject({ route: fixedSummary, data: { provider: { display_name: 'Ecotricity' } } })
    expect(shown.actions).toEqual(
      apiVersion === 'current'
        ? ['WRONG_TARIFF_REPORT', 'EDIT', 'DISCONNECT', 'CLOSE', 'BACK']
        : ['SAVE', 'EDIT', 'DISCONNECT'],
    )
    expect(await retrieve(call, apiVersion, flow.token)).toMatchObject({
      status: 422,
      body: { code: 'pending_connect' },
    })
    expect(await completed(call)).toHaveLength(1)
    await flow.act('WRONG_TARIFF_REPORT', shown.route)
    const reports = await listTariffReports(service().database.operator, 1_000)
    expect(reports.filter(one => one.tariffId === before?.['id'])).toMatchObject([{ locationId: id }])
    service().clock.at += 3_600_000
    expect((await flow.act('EDIT', shown.route)).route).toBe('provider_select')
    expect((await flow.act('BACK')).route).toBe(shown.route)
    await flow.act('EDIT', shown.route)
    await flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
    await flow.submit('tariff_structure_select', { options: ['FIXED'] })
    await flow.submit('rate_fixed_capture', { cost: 0.2 })
    if (apiVersion === 'earlier') expect((await flow.act('SAVE')).route).toBe(end)
    expect(await retrieve(call, apiVersion, flow.token)).toMatchObject({ status: 200, body: { location_id: id } })
    expect(await completed(call)).toHaveLength(2)
  })

  it('is found by its reference, with its customer, after a session was abandoned', async () => {
    const references = { customer_reference_id: 'household', location_reference_id: 'the-home', route_options: {} }
    const { call } = await begin(apiVersion, references)
    const again = await openSession(call, apiVersion, references)
    await goToRate(again, 'FIXED')
    const shown = await again.submit('rate_fixed_capture', { cost: 0.3 })
    if (apiVersion === 'earlier') await again.act('SAVE', shown.route)
    const third = await openSession(call, apiVersion, references)
    expect((await third.submit('session_start')).route).toBe(fixedSummary)
    const { body } = await call('GET', '/customers')
    expect((body['data'] as unknown as object[]).length).toBe(1)
    expect(await locationOf(call)).toMatchObject({
      reference_id: 'the-home',
      customer_id: (body['data'] as unknown as { id: string }[])[0]?.id,
    })
  })

  it('starts at the providers with edit_tariff; the new tariff replaces the old one at local midnight', async () => {
    const { call } = await saveFixed(apiVersion, 0.3)
    const flow = await openSession(call, apiVersion, {
      location_id: (await locationOf(call))['id'],
      actions: { edit_tariff: true },
    })
    expect((await flow.submit('session_start')).route).toBe('provider_select')
    await flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
    await flow.submit('tariff_structure_select', { options: ['FIXED'] })
    const shown = await flow.submit('rate_fixed_capture', { cost: 0.2 })
    if (apiVersion === 'earlier') await flow.act('SAVE', shown.route)
    expect(await tariffsOf(call)).toMatchObject([
      { contract_start_date: dayOf(service().clock.at), display_name: 'Corner Shop' },
    ])
  })

  it('starts at the providers with edit_tariff and an incomplete address, and keeps that address', async () => {
    const { call } = await connectAccount(service(), apiVersion)
    const { body: made } = await call('POST', '/locations', { postal_address: { city: 'Dresden', country_code: 'DE' } })
    const more = { location_id: made['id'], postal_address: { country_code: 'DE' } }
    expect((await (await openSession(call, apiVersion, more)).submit('session_start')).route).toBe(
      'postal_address_capture',
    )
    const flow = await openSession(call, apiVersion, { ...more, actions: { edit_tariff: true } })
    expect((await flow.submit('session_start')).route).toBe('provider_select')
    await flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
    await flow.submit('tariff_structure_select', { options: ['FIXED'] })
    const shown = await flow.submit('rate_fixed_capture', { cost: 0.2 })
    if (apiVersion === 'earlier') await flow.act('SAVE', shown.route)
    expect((await tariffsOf(call)).map(tariff => tariff['display_name'])).toEqual(['Corner Shop'])
    expect((await locationOf(call))['postal_address']).toEqual(made['postal_address'])
    if (apiVersion === 'current') return
    const later = await openSession(call, apiVersion, { location_id: made['id'] })
    expect((await later.act('EDIT', (await later.submit('session_start')).route)).route).toBe('provider_select')
  })

  it('starts at the address with edit_tariff if no country is known', async () => {
    const { call } = await connectAccount(service(), apiVersion)
    const { body: made } = await call('POST', '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR' })
    const flow = await openSession(call, apiVersion, { location_id: made['id'], actions: { edit_tariff: true } })
    expect((await flow.submit('session_start')).route).toBe('postal_address_capture')
  })

  it('is renewed with prefilled values', async () => {
    const { call } = await saveFixed(apiVersion, 0.3)
    const [tariff] = await tariffsOf(call)
    const flow = await openSession(call, apiVersion, {
      tariff_id: tariff?.['id'],
      route_options: { tariff_name_capture: true },
    })
    const choice = await flow.submit('session_start')
    expect(choice).toMatchObject({ route: 'provider_select', data: { provider: { display_name: 'Ecotricity' } } })
    await flow.submit('provider_select', { provider: choice.data['provider'] })
    expect(await flow.submit('tariff_structure_select', { options: ['FIXED'] })).toMatchObject({ data: { cost: 0.3 } })
    expect(await flow.submit('rate_fixed_capture', { cost: 0.2 })).toMatchObject({
      data: { tariff: { name: 'Ecotricity' } },
    })
    const shown = await flow.submit('tariff_name_capture', { tariff: { name: 'Renewed' } })
    if (apiVersion === 'earlier') await flow.act('SAVE', shown.route)
    expect(await tariffsOf(call)).toMatchObject([
      { contract_start_date: dayOf(service().clock.at), display_name: 'Renewed' },
    ])
  })

  it('is disconnected without pages, and its history remains', async () => {
    const { call } = await saveFixed(apiVersion, 0.3)
    const location = await locationOf(call)
    const flow = await openSession(call, apiVersion, {
      location_id: location['id'],
      actions: { disconnect_tariff: true },
    })
    expect((await flow.submit('session_start')).route).toBe(end)
    expect((await flow.submit('session_start')).route).toBe(end)
    expect(await tariffsOf(call)).toEqual([])
    const events = await retrieve(call, apiVersion, flow.token)
    expect(events).toMatchObject({ status: 200, body: { location_id: location['id'] } })
    expect(events.body['complete_action']).toBe(apiVersion === 'current' ? undefined : 'DISCONNECT')
    const { rows } = await service().database.operator<{ closed: boolean; voided: boolean }>(sql`
      select closed_at is not null as closed, voided_at is not null as voided from tariffs
      where location_id = ${location['id']}`)
    expect(rows).toEqual([{ closed: true, voided: false }])
  })

  it('is disconnected from its summary by a session with edit_tariff', async () => {
    const { call, flow } = await saveFixed(apiVersion, 0.3, { actions: { edit_tariff: true } })
    expect((await flow.act('DISCONNECT', fixedSummary)).route).toBe(end)
    expect(await tariffsOf(call)).toEqual([])
    expect((await locationOf(call))['tariff_status']).toMatchObject({ commodity_import: 'NOT_CONNECTED' })
  })
})

/** Load all tariffs of the only location that are not voided, as the pricing does. */
const pricedBy = async (call: Call) => {
  const { rows } = await service().database.operator<{
    from: string | null
    to: string | null
    closed: string | null
  }>(sql`
    select to_char(contract_start at time zone 'UTC', 'YYYY-MM-DD') as from, to_char(contract_end at time zone 'UTC', 'YYYY-MM-DD') as to,
      to_char(closed_at at time zone 'UTC', 'YYYY-MM-DD') as closed
    from tariffs where location_id = ${(await locationOf(call))['id']} and voided_at is null
    order by contract_start nulls first`)
  return rows
}

describe('a session that saves a second tariff', () => {
  const termFrom = (start: string | null) => ({
    contract_start_date: start,
    contract_end_date: null,
    contract_term_type: '',
  })

  const edited = async () => {
    const { call } = await saveFixed('current', 0.3)
    const options = { actions: { edit_tariff: true }, route_options: { contract_term_capture: true } }
    const flow = await openSession(call, 'current', { location_id: (await locationOf(call))['id'], ...options })
    await flow.submit('session_start')
    await flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
    await flow.submit('tariff_structure_select', { options: ['FIXED'] })
    await flow.submit('rate_fixed_capture', { cost: 0.2 })
    return { call, flow }
  }

  it('restores the tariffs that the first one had ended: no time is left without a price', async () => {
    const { call, flow } = await edited()
    await flow.submit('contract_term_capture', termFrom('2026-03-01T00:00:00Z'))
    expect(await pricedBy(call)).toEqual([
      { from: null, to: null, closed: '2026-03-01' },
      { from: '2026-03-01', to: null, closed: null },
    ])
    await flow.submit('contract_term_capture', termFrom('2026-06-01T00:00:00Z'))
    expect(await pricedBy(call)).toEqual([
      { from: null, to: null, closed: '2026-06-01' },
      { from: '2026-06-01', to: null, closed: null },
    ])
    const ahead = new Date(service().clock.at + 30 * dayMs).toISOString().slice(0, 10)
    await flow.submit('contract_term_capture', termFrom(`${ahead}T00:00:00Z`))
    expect(await pricedBy(call)).toEqual([
      { from: null, to: ahead, closed: null },
      { from: ahead, to: null, closed: null },
    ])
    const back = await flow.act('BACK')
    expect(back).toMatchObject({
      route: 'contract_term_capture',
      data: { contract_start_date: expect.stringMatching(/T\d\d:00:00\+\d\d:00$/) },
    })
    expect(Date.parse(String(back.data['contract_start_date']))).toBe(Date.parse(`${ahead}T00:00:00Z`))
    await flow.submit('contract_term_capture', termFrom('2026-06-01T00:00:00Z'))
    expect(await pricedBy(call)).toMatchObject([{ from: null, to: null, closed: '2026-06-01' }, { from: '2026-06-01' }])
  })

  it('requests a recost of all time that it has changed', async () => {
    const { flow } = await edited()
    await flow.submit('contract_term_capture', termFrom('2026-03-01T00:00:00Z'))
    service().published.length = 0
    await flow.submit('contract_term_capture', termFrom('2026-06-01T00:00:00Z'))
    const spans = (service().published as { payload: string }[]).map(({ payload }) => JSON.parse(payload))
    expect(spans).toContainEqual(expect.objectContaining({ from: Date.UTC(2026, 2, 1), to: null }))
  })

  it('does not restore a tariff that another caller has ended in the meantime', async () => {
    const { call, flow } = await edited()
    const ahead = new Date(service().clock.at + 30 * dayMs).toISOString().slice(0, 10)
    await flow.submit('contract_term_capture', termFrom(`${ahead}T00:00:00Z`))
    const old = (await tariffsOf(call)).find(one => one['contract_start_date'] === null)
    expect((await call('DELETE', `/tariffs/${old?.['id']}`)).status).toBe(202)
    await flow.submit('contract_term_capture', termFrom('2026-06-01T00:00:00Z'))
    expect((await tariffsOf(call)).map(one => one['contract_start_date'])).toEqual(['2026-06-01T00:00:00Z'])
  })
})

describe('a save', () => {
  it('happens once, for any number of repeated and concurrent requests', async () => {
    const { flow, call } = await begin('earlier', { route_options: {} })
    await goToRate(flow, 'FIXED')
    await flow.submit('rate_fixed_capture', { cost: 0.3 })
    const saves = await Promise.all([1, 2, 3, 4].map(() => flow.act('SAVE', 'summary_fixed_confirm')))
    expect(saves.map(({ route }) => route)).toEqual(Array(4).fill('session_complete'))
    expect(await tariffsOf(call)).toHaveLength(1)
    expect(await completed(call)).toHaveLength(1)
  })

  it('reports its location once if both address and tariff have changed', async () => {
    const { call } = await saveFixed('current', 0.3)
    const before = (await eventsOf(call, 'location.update')).length
    const flow = await openSession(call, 'current', {
      location_id: (await locationOf(call))['id'],
      actions: { edit_tariff: true },
    })
    const address = { address_line1: '11 Downing Street', city: 'London', post_code: 'SW1A 2AB', country_code: 'GB' }
    await flow.submit('postal_address_capture', { postal_address: address })
    await flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
    await flow.submit('tariff_structure_select', { options: ['FIXED'] })
    await flow.submit('rate_fixed_capture', { cost: 0.2 })
    const events = await eventsOf(call, 'location.update')
    expect(events).toHaveLength(before + 1)
    expect(events[0]).toMatchObject({
      data: { postal_address: address, tariff_status: { commodity_import: 'CONNECTED' } },
    })
  })

  it('uses the token of its session, independent of other sessions at the location', async () => {
    const { call, token } = await saveFixed('current', 0.3)
    const other = await openSession(call, 'current', {
      location_id: (await locationOf(call))['id'],
      actions: { edit_tariff: true },
    })
    await other.submit('session_start')
    expect((await openFlow(service(), token).submit('session_start')).route).toBe('tariffs_summary')
    expect(bandsOf((await tariffsOf(call))[0])).toMatchObject([{ rate: [{ fixed: 0.3 }] }])
  })
})
