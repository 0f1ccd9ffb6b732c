import { describe, expect, it } from 'vitest'
import { connectFixture, eventsOf, goToRate, locationOf, tariffsOf } from '../../support/connect/connect-fixture.ts'
import type { Flow } from '../../support/connect/connect-service.ts'
import { type Call, listed } from '../../support/registry/service.ts'

const { begin, service, openSession } = connectFixture()
const current = { 'api-version': '2025-09-14' }
const today = (): string => new Date(service().clock.at).toISOString().slice(0, 10)

const chargesOf = async (call: Call) =>
  listed(await call('GET', `/charges?location_id=${(await locationOf(call))['id']}`, undefined, current))

const edit = async (call: Call, more: object = {}): Promise<Flow> => {
  const location = (await locationOf(call))['id']
  const flow = await openSession(call, 'current', {
    location_id: location,
    actions: { edit_tariff: true },
    route_options: {},
    ...more,
  })
  await flow.submit('session_start')
  await flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
  await flow.submit('tariff_structure_select', { options: ['FIXED'] })
  return flow
}

const saved = async (charge: object | null | undefined) => {
  const { flow, call } = await begin('current', { route_options: {} })
  const page = await goToRate(flow, 'FIXED')
  const shown = await flow.submit('rate_fixed_capture', {
    cost: 0.2455,
    ...(charge === undefined ? {} : { standing_charge: charge }),
  })
  return { flow, call, page, shown }
}

describe('the standing charge of a Connect session', () => {
  it('becomes a fixed charge of the location, and is in the summary', async () => {
    const { call, page, shown } = await saved({ amount: 0.6097, per: 'DAY' })
    expect(page.data['standing_charge']).toEqual({ amount: 0, per: 'DAY' })
    expect(shown).toMatchObject({ route: 'tariffs_summary', data: { standing_charge: { amount: 0.6097, per: 'DAY' } } })
    const charges = await chargesOf(call)
    expect(charges).toMatchObject([
      {
        kind: 'FIXED',
        name: 'Standing charge',
        component: 'fixed',
        price: 0.6097,
        per: 'DAY',
        quantity: 1,
        prorate: 'DAYS',
        start_date: null,
        end_date: null,
        plan_id: null,
      },
    ])
    expect(await eventsOf(call, 'charge.create')).toMatchObject([{ data: { id: charges[0]?.['id'] } }])
  })

  it.each([
    ['an absent member', undefined],
    ['null', null],
    ['an amount of zero', { amount: 0 }],
    ['an empty object', {}],
  ])('is optional: %s creates none', async (_, charge) => {
    const { call, shown } = await saved(charge)
    expect(shown.route).toBe('tariffs_summary')
    expect(shown.data).not.toHaveProperty('standing_charge')
    expect(await chargesOf(call)).toEqual([])
  })

  it.each([
    [{ amount: -1 }, 'data.standing_charge.amount'],
    [{ amount: 'a lot' }, 'data.standing_charge.amount'],
    [{ amount: 1_000_001 }, 'data.standing_charge.amount'],
    [{ amount: 1, per: 'WEEK' }, 'data.standing_charge.per'],
    ['none', 'data.standing_charge'],
    [[1], 'data.standing_charge'],
  ])('%j is refused at its field, and nothing is saved', async (charge, field) => {
    const { flow, call } = await begin('current', { route_options: {} })
    await goToRate(flow, 'FIXED')
    const refused = await flow.submit('rate_fixed_capture', { cost: 0.3, standing_charge: charge })
    expect(refused).toMatchObject({ status: 400, code: 'data_json_invalid', body: { field } })
    expect((await flow.submit('session_start')).route).toBe('rate_fixed_capture')
    expect(await tariffsOf(call).catch(() => [])).toEqual([])
  })

  it('ends with its tariff when another tariff replaces it, and the new one begins on the same day', async () => {
    const { call } = await saved({ amount: 0.5 })
    const flow = await edit(call)
    await flow.submit('rate_fixed_capture', { cost: 0.2, standing_charge: { amount: 0.4, per: 'DAY' } })
    expect(await chargesOf(call)).toMatchObject([
      { price: 0.4, start_date: today(), end_date: null },
      { price: 0.5, start_date: null, end_date: today() },
    ])
  })

  it('is changed and removed in the session that saved it, without a trace of the first amount', async () => {
    const { call } = await saved({ amount: 0.5 })
    const flow = await edit(call)
    await flow.submit('rate_fixed_capture', { cost: 0.2, standing_charge: { amount: 0.4 } })
    await flow.submit('rate_fixed_capture', { cost: 0.2, standing_charge: { amount: 12, per: 'MONTH' } })
    expect(await chargesOf(call)).toMatchObject([{ price: 12, per: 'MONTH' }, { price: 0.5 }])
    const shown = await flow.submit('rate_fixed_capture', { cost: 0.2, standing_charge: { amount: 0 } })
    expect(shown.data).not.toHaveProperty('standing_charge')
    expect(await chargesOf(call)).toMatchObject([{ price: 0.5, end_date: today() }])
    // An absent member leaves what the session has.
    await flow.submit('rate_fixed_capture', { cost: 0.2, standing_charge: { amount: 0.7 } })
    await flow.submit('rate_fixed_capture', { cost: 0.21 })
    expect(await chargesOf(call)).toMatchObject([{ price: 0.7 }, { price: 0.5 }])
  })

  it('returns with the tariff of an earlier session, also if that one had no day left', async () => {
    const { call } = await saved({ amount: 0.5 })
    const second = await edit(call)
    await second.submit('rate_fixed_capture', { cost: 0.2, standing_charge: { amount: 0.4 } })
    // The third session replaces the tariff of the second one from the same midnight on: it has no day left.
    const third = await edit(call, { route_options: { contract_term_capture: true } })
    await third.submit('rate_fixed_capture', { cost: 0.3, standing_charge: { amount: 0.9 } })
    await third.submit('contract_term_capture')
    expect(await chargesOf(call)).toMatchObject([{ price: 0.9 }, { price: 0.5 }])
    const later = '2026-12-01T00:00:00Z'
    await third.submit('contract_term_capture', { contract_start_date: later, contract_end_date: null })
    expect(await chargesOf(call)).toMatchObject([
      { price: 0.9, start_date: '2026-12-01' },
      { price: 0.4, start_date: today(), end_date: '2026-12-01' },
      { price: 0.5, end_date: today() },
    ])
  })

  it('ends with DISCONNECT, with DELETE of the tariff, and is deleted with a void', async () => {
    const disconnected = await saved({ amount: 0.5 })
    const flow = await openSession(disconnected.call, 'current', {
      location_id: (await locationOf(disconnected.call))['id'],
      actions: { disconnect_tariff: true },
    })
    await flow.submit('session_start')
    const tomorrow = new Date(service().clock.at + 86_400_000).toISOString().slice(0, 10)
    expect(await chargesOf(disconnected.call)).toMatchObject([{ price: 0.5, end_date: tomorrow }])

    const ended = await saved({ amount: 0.5 })
    const [tariff] = await tariffsOf(ended.call)
    await ended.call('DELETE', `/tariffs/${tariff?.['id']}`, undefined, current)
    expect(await chargesOf(ended.call)).toMatchObject([{ price: 0.5, end_date: tomorrow }])
    expect(await eventsOf(ended.call, 'charge.update')).toHaveLength(1)

    const voided = await saved({ amount: 0.5 })
    const [wrong] = await tariffsOf(voided.call)
    await voided.call('DELETE', `/tariffs/${wrong?.['id']}?void=true`, undefined, current)
    expect(await chargesOf(voided.call)).toEqual([])
    expect(await eventsOf(voided.call, 'charge.delete')).toHaveLength(1)
  })

  it('follows the end of its tariff after PATCH, and leaves other charges alone', async () => {
    const { call } = await saved({ amount: 0.5 })
    const location = (await locationOf(call))['id']
    const own = { location_id: location, kind: 'FIXED', name: 'Meter rent', price: 1, per: 'MONTH' }
    await call('POST', '/charges', own, current)
    const [tariff] = await tariffsOf(call)
    await call('PATCH', `/tariffs/${tariff?.['id']}`, { contract_end_date: '2027-01-01T00:00:00Z' }, current)
    expect(await chargesOf(call)).toMatchObject([
      { name: 'Meter rent', end_date: null },
      { name: 'Standing charge', end_date: '2027-01-01' },
    ])
    await call('PATCH', `/tariffs/${tariff?.['id']}`, { contract_end_date: null }, current)
    expect((await chargesOf(call))[1]).toMatchObject({ name: 'Standing charge', end_date: null })
  })

  it('is filled in if its tariff is renewed', async () => {
    const { call } = await saved({ amount: 0.5, per: 'DAY' })
    const [tariff] = await tariffsOf(call)
    const renewal = await openSession(call, 'current', {
      tariff_id: tariff?.['id'],
      location_id: (await locationOf(call))['id'],
    })
    await renewal.submit('session_start')
    await renewal.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
    const page = await renewal.submit('tariff_structure_select', { options: ['FIXED'] })
    expect(page.data['standing_charge']).toEqual({ amount: 0.5, per: 'DAY' })
  })

  it('is not part of the earlier API version and of sold energy', async () => {
    for (const [version, more] of [
      ['earlier', {}],
      ['current', { tariff_direction: 'EXPORT' }],
    ] as const) {
      const { flow, call } = await begin(version, { route_options: {}, ...more })
      const page = await goToRate(flow, 'FIXED')
      expect(page.data).not.toHaveProperty('standing_charge')
      const shown = await flow.submit('rate_fixed_capture', { cost: 0.3, standing_charge: { amount: 'ignored' } })
      if (version === 'earlier') await flow.act('SAVE', shown.route)
      expect(await chargesOf(call)).toEqual([])
    }
  })
})
