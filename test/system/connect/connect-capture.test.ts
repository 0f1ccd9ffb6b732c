import { describe, expect, it } from 'vitest'
import {
  apiVersions,
  bandsOf,
  completed,
  connectFixture,
  goToRate,
  goToStructure,
  locationOf,
  retrieve,
  routesOf,
  tariffsOf,
} from '../../support/connect/connect-fixture.ts'
import { londonAddress } from '../../support/connect/connect-service.ts'

const { begin } = connectFixture()

const night = [
  { cost: 0.0999, valid_from: '23:30:00', valid_to: '07:00:00' },
  { cost: 0.2455, valid_from: '07:00:00', valid_to: '23:30:00' },
]
const rateOf = (fixed: number) => [{ fixed, to_kwh: null, surcharge_fixed: 0, surcharge_percentage: 0 }]

describe.each(apiVersions)('the entered data in the %s API version', apiVersion => {
  const { summary, fixedSummary, surcharge: surchargePage, end: endPage } = routesOf(apiVersion)

  it('is saved as a tariff by time of day, with a time band over midnight', async () => {
    const { call, flow, token } = await begin(apiVersion, { customer_reference_id: 'household' })
    const rate = await goToRate(flow, 'TIME_OF_DAY')
    const untouched = { cost: 0, valid_from: '00:00:00', valid_to: '00:00:00' }
    expect(rate).toMatchObject({
      route: 'rate_tod_capture',
      data: { currency_code: 'GBP', hours: [untouched, untouched] },
    })
    expect((await flow.submit('rate_tod_capture', { hours: night })).route).toBe('tariff_name_capture')
    expect((await flow.submit('tariff_name_capture', { tariff: { name: 'Night owl' } })).route).toBe(
      'contract_term_capture',
    )
    const term = {
      contract_start_date: '2026-01-01T00:00:00.000Z',
      contract_end_date: null,
      contract_term_type: 'UNTIL_TERMINATED',
    }
    const shown = await flow.submit('contract_term_capture', term)
    expect(shown).toMatchObject({
      route: summary,
      data: {
        connection_type: 'MANUAL',
        currency_code: 'GBP',
        market_rates_source: false,
        provider: { display_name: 'Ecotricity' },
        tariff: {
          status: 'CONNECTED',
          name: 'Night owl',
          structure_type: 'TIME_OF_DAY',
          tiered: false,
          contract_end_date: null,
        },
      },
    })
    expect(shown.data['tariff']).toMatchObject({
      contract_term_type: 'UNTIL_TERMINATED',
      contract_start_date: '2026-01-01T00:00:00+00:00',
    })
    const { today } = shown.data['rates'] as unknown as {
      today: { valid_from: string; valid_to: string; tariff: object }[]
    }
    expect(today.map(({ tariff }) => tariff)).toEqual([0.0999, 0.2455, 0.0999].map(cost => ({ cost, confidence: 1 })))
    const starts = today.map(({ valid_from }) => Date.parse(valid_from))
    expect(starts).toEqual([...new Set(starts)].toSorted((a, b) => a - b))
    for (const { valid_from, valid_to } of today)
      expect(`${valid_from} ${valid_to}`).toMatch(/^\S+[+-]\d\d:\d\d \S+[+-]\d\d:\d\d$/)
    expect((await retrieve(call, apiVersion, token)).status).toBe(apiVersion === 'current' ? 200 : 422)
    const end = await (apiVersion === 'current' ? flow.act('CLOSE') : flow.act('SAVE', summary))
    const address =
      apiVersion === 'current'
        ? `https://app.example.com/done?x=1&fp_cot=${token}#end`
        : `myapp://done?x=1&fp_cot=${token}`
    const data =
      apiVersion === 'current'
        ? { redirect_url: address, callback_url: address }
        : { callback_uri: address, callback_url: address }
    expect(end.route).toBe(endPage)
    expect(end.data).toEqual(data)
    const [tariff] = await tariffsOf(call)
    expect(tariff).toMatchObject({ display_name: 'Night owl', connection_type: 'MANUAL', is_linked: false })
    expect(bandsOf(tariff)).toEqual(night.map(({ cost, ...hours }) => ({ ...hours, rate: rateOf(cost) })))
    const object =
      apiVersion === 'current'
        ? { object: 'connect_session', price_available: true }
        : { object: 'connect_token', is_tariff_processed: true }
    const [eventTypes] = await completed(call)
    expect(eventTypes).toMatchObject({ data: { session_id: expect.stringMatching(/^fps_[0-9a-f]{24}$/), ...object } })
    expect(JSON.stringify(eventTypes)).not.toContain('cot_')
    const { id, customer_id: customerId } = await locationOf(call)
    expect(await retrieve(call, apiVersion, token)).toMatchObject({
      status: 200,
      body: {
        ...object,
        id: token,
        live_mode: false,
        location_id: id,
        customer_id: customerId,
        customer_reference_id: 'household',
      },
    })
  })

  it('is saved as one price, which the summary shows', async () => {
    const { call, flow } = await begin(apiVersion, { route_options: {} })
    expect(await goToRate(flow, 'FIXED')).toMatchObject({
      route: 'rate_fixed_capture',
      data: { currency_code: 'GBP', cost: 0 },
    })
    const shown = await flow.submit('rate_fixed_capture', { cost: 0.2455 })
    expect(shown.route).toBe(fixedSummary)
    if (apiVersion === 'earlier') {
      expect(shown.data).toMatchObject({ currency_code: 'GBP', cost: 0.2455, tariff: { structure_type: 'FIXED' } })
      expect(shown.actions).toEqual(['SAVE', 'EDIT', 'DISCONNECT'])
      expect(await locationOf(call)).toEqual({})
      await flow.act('SAVE', shown.route)
    } else expect(shown.actions).toEqual(['WRONG_TARIFF_REPORT', 'EDIT', 'DISCONNECT', 'CLOSE', 'BACK'])
    const [tariff] = await tariffsOf(call)
    // The first tariff of its kind has an open start.
    expect(tariff).toMatchObject({ contract_start_date: null, display_name: 'Ecotricity' })
    expect(bandsOf(tariff)).toMatchObject([{ rate: rateOf(0.2455) }])
  })

  it('is saved as a market tariff with a surcharge of 18.5 percent; days without prices are empty', async () => {
    const { call, flow } = await begin(apiVersion, { route_options: {} })
    expect(await goToRate(flow, 'MARKET')).toMatchObject({
      route: surchargePage,
      data: { currency_code: 'GBP', surcharge: { fixed: 0, percentage: 0 } },
    })
    const shown = await flow.submit(surchargePage, { surcharge: { fixed: 0.02, percentage: 18.5 } })
    expect(shown).toMatchObject({
      route: summary,
      data: { market_rates_source: true, rates: { yesterday: [], today: [], tomorrow: [] } },
    })
    if (apiVersion === 'earlier') await flow.act('SAVE')
    const [tariff] = await tariffsOf(call)
    expect(tariff).toMatchObject({ connection_type: 'MARKET', is_linked: true, market_rates: true })
    expect(bandsOf(tariff)).toMatchObject([{ rate: [{ surcharge_fixed: 0.02, surcharge_percentage: 0.185 }] }])
  })

  it('is validated as by POST /tariffs on the advanced page; the summary shows the lowest tier', async () => {
    const { call, flow } = await begin(apiVersion)
    expect(await goToRate(flow, 'ADVANCED')).toMatchObject({
      route: 'rate_advanced_capture',
      data: {
        currency_code: 'GBP',
        tariff: { market_rates: false, contract_start_date: null, contract_end_date: null },
      },
    })
    const band = (valid_to: string) => [
      { valid_from: '00:00:00', valid_to, rate: [{ fixed: 0.3, to_kwh: 100 }, { fixed: 0.25 }] },
    ]
    const scheduled = (valid_to: string) => ({
      tariff: {
        market_rates: false,
        schedule: [{ months: ['All'], days_and_hours: [{ days: ['All'], hours: band(valid_to) }] }],
      },
    })
    expect(await flow.submit('rate_advanced_capture', scheduled('12:00:00'))).toMatchObject({ code: 'schedule_gap' })
    expect(await flow.submit('rate_advanced_capture', { tariff: { schedule: 1 } })).toMatchObject({
      code: 'data_json_invalid',
    })
    expect((await flow.submit('rate_advanced_capture', scheduled('00:00:00'))).route).toBe('tariff_name_capture')
    await flow.submit('tariff_name_capture', { tariff: { name: 'Tiers' } })
    const shown = await flow.submit('contract_term_capture')
    expect(shown.data['tariff']).toMatchObject({ tiered: true, name: 'Tiers' })
    if (apiVersion === 'earlier') expect(shown).toMatchObject({ route: fixedSummary, data: { cost: 0.3 } })
    else expect(shown.data['rates']).toMatchObject({ today: [{ tariff: { cost: 0.3, confidence: 1 } }] })
    if (apiVersion === 'earlier') await flow.act('SAVE')
    expect(bandsOf((await tariffsOf(call))[0])).toMatchObject([
      {
        rate: [
          { fixed: 0.3, to_kwh: 100 },
          { fixed: 0.25, to_kwh: null },
        ],
      },
    ])
  })

  it('of an address is merged with the known address, with the country in any case', async () => {
    const known = { country_code: 'gb', address_line2: 'Flat 7', state: 'Greater London' }
    const { call, flow } = await begin(apiVersion, { route_options: {}, postal_address: known })
    const shownPage = await flow.submit('session_start')
    expect(shownPage).toMatchObject({
      route: 'postal_address_capture',
      data: { postal_address: { address_line2: 'Flat 7' } },
    })
    await flow.submit('postal_address_capture', { postal_address: { ...londonAddress, country_code: 'gb' } })
    await flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
    await flow.submit('tariff_structure_select', { options: ['FIXED'] })
    await flow.submit('rate_fixed_capture', { cost: 0.3 })
    if (apiVersion === 'earlier') await flow.act('SAVE')
    expect((await locationOf(call))['postal_address']).toEqual({
      ...londonAddress,
      address_line2: 'Flat 7',
      state: 'Greater London',
    })
    expect(await tariffsOf(call)).toMatchObject([{ display_name: 'Corner Shop', provider_id: null }])
  })

  it('is requested on pages that contain all fields that clients need', async () => {
    const { flow, token } = await begin(apiVersion)
    const direction = apiVersion === 'earlier' ? 'IMPORT' : undefined
    const first = await flow.submit('session_start')
    expect(first.body).toMatchObject({
      connect_token: token,
      type: 'COMMODITY',
      live_mode: false,
      actions: ['BACK', 'CLOSE'],
    })
    expect([first.body['direction'], first.data['postal_address']]).toEqual([direction, { country_code: '' }])
    const providers = await flow.submit('postal_address_capture', { postal_address: londonAddress })
    expect(providers.actions).toEqual(['ADDRESS_CHANGE', 'PROVIDER_MISSING', 'BACK', 'CLOSE'])
    expect(providers.data['postal_address']).toEqual(londonAddress)
    expect((providers.data['providers'] as unknown as object[]).length).toBeGreaterThan(10)
    const named = await flow.act('PROVIDER_MISSING')
    expect(named).toMatchObject({
      route: 'provider_name_capture',
      data: { provider: { name: '' }, postal_address: londonAddress },
    })
    const structure = await goToStructure(flow)
    expect(structure.data).toMatchObject({
      provider: { display_name: 'Ecotricity', logo_url: expect.stringMatching(/^data:image/) },
      options: ['FIXED', 'TIME_OF_DAY', 'MARKET', 'ADVANCED'],
    })
    await flow.submit('tariff_structure_select', { options: ['FIXED'] })
    const name = await flow.submit('rate_fixed_capture', { cost: 0.3 })
    expect(name.data).toMatchObject({ provider: { display_name: 'Ecotricity' }, tariff: { name: '' } })
    const term = await flow.submit('tariff_name_capture', { tariff: { name: 'Mine' } })
    expect(term.data).toMatchObject({
      provider: { display_name: 'Ecotricity' },
      contract_start_date: null,
      contract_end_date: null,
      contract_term_type: '',
    })
    for (const page of [named, structure, name, term]) expect(page.actions.slice(-2)).toEqual(['BACK', 'CLOSE'])
  })
})

describe('the offered structures', () => {
  it('exclude the structures that the session does not capture', async () => {
    const { flow } = await begin('current', { route_options: {} })
    expect((await goToStructure(flow)).data['options']).toEqual(['FIXED', 'TIME_OF_DAY', 'MARKET'])
    const refused = await flow.submit('tariff_structure_select', { options: ['ADVANCED'] })
    expect(refused).toMatchObject({ code: 'option_not_supported' })
  })
})
