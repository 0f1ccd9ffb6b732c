import { describe, expect, it } from 'vitest'
import {
  apiVersions,
  bandsOf,
  completed,
  connectFixture,
  goToRate,
  goToStructure,
  providerNamed,
  routesOf,
  tariffsOf,
} from '../../support/connect/connect-fixture.ts'
import { londonAddress, openFlow } from '../../support/connect/connect-service.ts'

const { begin, service } = connectFixture()

describe.each(apiVersions)('a person who navigates in the %s API version', apiVersion => {
  const { fixedSummary, summary, surcharge, end } = routesOf(apiVersion)

  it('goes back page by page, leaves at the first page, and returns to the current page', async () => {
    const { flow, token } = await begin(apiVersion)
    await goToRate(flow, 'FIXED')
    const routes = []
    let page = await flow.act('BACK')
    for (; page.route !== end; page = await flow.act('BACK', page.route)) routes.push(page.route)
    expect(routes).toEqual(['tariff_structure_select', 'provider_select', 'postal_address_capture'])
    expect(Object.values(page.data)).toEqual(expect.arrayContaining([expect.stringContaining(`fp_cot=${token}`)]))
    for (const route of ['session_start', 'session_restore'])
      expect((await flow.submit(route)).route).toBe('postal_address_capture')
  })

  it('goes back from an older page as if the page were current', async () => {
    const { flow } = await begin(apiVersion)
    await goToRate(flow, 'FIXED')
    expect((await flow.act('BACK', 'tariff_structure_select')).route).toBe('provider_select')
    await goToRate(flow, 'FIXED')
    expect((await flow.act('BACK', 'provider_select')).route).toBe('postal_address_capture')
    await goToRate(flow, 'FIXED')
    expect((await flow.act('BACK', 'postal_address_capture')).route).toBe(end)
  })

  it('leaves with CLOSE, with any route or without a route', async () => {
    const { flow } = await begin(apiVersion)
    await goToRate(flow, 'FIXED')
    for (const route of [undefined, 'rate_fixed_capture', 'provider_select', 'anything']) {
      expect((await flow.act('CLOSE', route)).route).toBe(end)
      expect((await flow.submit('session_start')).route).toBe('rate_fixed_capture')
    }
  })

  it('submits an older page as if the page were current', async () => {
    const actions = { edit_tariff: true }
    const { flow, call } = await begin(apiVersion, { route_options: {}, postal_address: londonAddress, actions })
    expect((await flow.submit('session_restore')).route).toBe('provider_select')
    const providers = await flow.submit('postal_address_capture', {
      postal_address: { ...londonAddress, address_line2: 'Flat 1' },
    })
    await flow.submit('provider_select', { provider: { id: providerNamed(providers, 'British Gas') } })
    await flow.submit('tariff_structure_select', { options: ['FIXED'] })
    expect((await flow.submit('rate_fixed_capture', { cost: 0.3 })).route).toBe(fixedSummary)
    expect((await flow.submit('rate_fixed_capture', { cost: 0.2455 })).route).toBe(fixedSummary)
    if (apiVersion === 'earlier') await flow.act('SAVE', fixedSummary)
    const tariffs = await tariffsOf(call)
    expect(tariffs).toHaveLength(1)
    expect(bandsOf(tariffs[0])).toMatchObject([{ rate: [{ fixed: 0.2455 }] }])
    expect(await completed(call)).toHaveLength(1)
  })

  it('saves the latest entry of two open tabs', async () => {
    const { flow: one, call, token } = await begin(apiVersion, { route_options: {} })
    await goToStructure(one)
    const other = openFlow(service(), token)
    expect((await other.submit('session_start')).route).toBe('tariff_structure_select')
    expect((await one.submit('tariff_structure_select', { options: ['FIXED'] })).route).toBe('rate_fixed_capture')
    expect((await other.submit('tariff_structure_select', { options: ['MARKET'] })).route).toBe(surcharge)
    expect((await one.submit('session_start')).route).toBe(surcharge)
    expect(await one.submit('rate_fixed_capture', { cost: 0.3 })).toMatchObject({ code: 'route_invalid' })
    expect((await other.submit(surcharge, { surcharge: { fixed: 0.01, percentage: 0 } })).route).toBe(summary)
    if (apiVersion === 'earlier') await one.act('SAVE')
    expect(await tariffsOf(call)).toMatchObject([{ market_rates: true }])
  })

  it('posts skipped pages in the fixed order without reading them', async () => {
    const { flow, call } = await begin(apiVersion, { route_options: {} })
    await goToRate(flow, 'MARKET')
    expect((await flow.submit(surcharge, { surcharge: { fixed: 0, percentage: 0 } })).route).toBe(summary)
    expect((await flow.submit('tariff_name_capture', { tariff: { name: 'Cheap' } })).route).toBe(summary)
    expect((await flow.submit('contract_term_capture')).route).toBe(summary)
    const term = { contract_start_date: null, contract_end_date: '2031-01-01T00:00:00Z', contract_term_type: 'FIXED' }
    expect((await flow.submit('contract_term_capture', term)).route).toBe(summary)
    if (apiVersion === 'earlier') expect((await flow.act('SAVE', 'summary_tou_confirm')).route).toBe(end)
    expect(await tariffsOf(call)).toMatchObject([{ display_name: 'Cheap', contract_end_date: '2031-01-01T00:00:00Z' }])
  })

  it('skips optional pages without data and action, and a surcharge of zeros', async () => {
    const { flow, call } = await begin(apiVersion)
    await goToRate(flow, 'MARKET')
    expect((await flow.submit(surcharge)).route).toBe('tariff_name_capture')
    await flow.submit('tariff_name_capture', { tariff: { name: 'Mine' } })
    expect((await flow.submit('contract_term_capture')).route).toBe(summary)
    if (apiVersion === 'earlier') await flow.act('SAVE')
    expect(bandsOf((await tariffsOf(call))[0])).toMatchObject([
      { rate: [{ surcharge_fixed: 0, surcharge_percentage: 0 }] },
    ])
  })

  it('sees the entered data after a failed submit and can post it again', async () => {
    const { flow } = await begin(apiVersion)
    await goToRate(flow, 'FIXED')
    for (let again = 0; again < 2; again += 1)
      expect(await flow.submit('rate_fixed_capture', { cost: 0 })).toMatchObject({ code: 'cost_value_zero' })
    expect((await flow.submit('rate_fixed_capture', { cost: 0.3 })).route).toBe('tariff_name_capture')
    expect(await flow.act('BACK')).toMatchObject({ route: 'rate_fixed_capture', data: { cost: 0.3 } })
  })

  it('presses buttons that are not listed: each works or is refused', async () => {
    const { flow } = await begin(apiVersion)
    await goToStructure(flow)
    expect((await flow.act('PROVIDER_MISSING')).route).toBe('provider_name_capture')
    expect((await flow.act('ADDRESS_CHANGE', 'provider_name_capture')).route).toBe('postal_address_capture')
    expect((await flow.act('TARIFF_MISSING', 'tariff_select')).route).toBe('tariff_structure_select')
    expect((await flow.act('EDIT')).route).toBe('provider_select')
    expect(await flow.act('WRONG_TARIFF')).toMatchObject({ code: 'action_invalid' })
    expect((await flow.act('DISCONNECT')).route).toBe(end)
  })
})
