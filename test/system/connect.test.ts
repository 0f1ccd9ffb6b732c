import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listProviders } from '../../services/platform/postgres/providers.ts'
import {
  type ConnectService,
  connectAccount,
  type Flow,
  type FlowPage,
  type Layout,
  londonAddress,
  openConnectService,
  tokenFor,
  visit,
} from '../support/connect-service.ts'
import { openTestDatabase, type TestDatabase } from '../support/postgres.ts'
import { type Call, caller, listed } from '../support/service.ts'

let store: TestDatabase | undefined
let held: ConnectService | undefined

beforeAll(async () => {
  store = await openTestDatabase()
  held = await openConnectService(store.database)
})
afterAll(async () => {
  await store?.[Symbol.asyncDispose]()
})

const service = (): ConnectService => {
  if (held === undefined) throw new Error('the service is not open')
  return held
}

const all = { advanced_tariff_capture: true, tariff_name_capture: true, contract_term_capture: true }
let references = 0

/** Begin a session at a new location; the visit speaks in the media type that browsers send without asking. */
const begin = async (
  layout: Layout,
  more: object = {},
): Promise<{ readonly call: Call; readonly flow: Flow; readonly token: string; readonly accountId: string }> => {
  const { call, accountId } = await connectAccount(service(), layout)
  references += 1
  const token = await tokenFor(call, layout, { location_reference_id: `home-${references}`, route_options: all, ...more })
  return { call, token, accountId, flow: visit(service(), token, layout === 'current' ? 'text/plain;charset=UTF-8' : 'application/json') }
}

type Listed = readonly { readonly id: string; readonly display_name: string }[]

const providerNamed = ({ data }: FlowPage, name: string): string =>
  (data['providers'] as unknown as Listed).find(one => one.display_name === name)?.id ?? ''

/** Go to the choice of a structure. */
const toStructure = async (flow: Flow): Promise<FlowPage> => {
  await flow.submit('session_start')
  const providers = await flow.submit('postal_address_capture', { postal_address: londonAddress })
  return flow.submit('provider_select', { provider: { id: providerNamed(providers, 'Ecotricity') } })
}

const toRate = async (flow: Flow, structure: string): Promise<FlowPage> => {
  await toStructure(flow)
  return flow.submit('tariff_structure_select', { options: [structure] })
}

const tariffsOf = async (call: Call) => {
  const [location] = listed(await call('GET', '/locations'))
  return listed(await call('GET', `/tariffs?location_id=${location?.['id']}`, undefined, { 'api-version': '2025-09-14' }))
}

const bandsOf = (tariff: Readonly<Record<string, unknown>> | undefined) =>
  (tariff?.['schedule'] as { days_and_hours: { hours: object[] }[] }[] | undefined)?.[0]?.days_and_hours[0]?.hours

describe.each(['current', 'earlier'] as const)('a session in the %s layout', layout => {
  const summary = layout === 'current' ? 'tariffs_summary' : 'summary_tou_confirm'
  const surchargePage = layout === 'current' ? 'surcharge_capture' : 'market_surcharge_capture'

  it('leads through a time-of-day tariff to its end, kept as it was typed', async () => {
    const { call, flow, token } = await begin(layout, { customer_reference_id: 'household' })
    const rate = await toRate(flow, 'TIME_OF_DAY')
    expect(rate).toMatchObject({ route: 'rate_tod_capture', data: { currency_code: 'GBP', hours: [{ cost: 0 }, { cost: 0 }] } })
    const hours = [
      { cost: 0.0999, valid_from: '23:30:00', valid_to: '07:00:00' },
      { cost: 0.2455, valid_from: '07:00:00', valid_to: '23:30:00' },
    ]
    expect((await flow.submit('rate_tod_capture', { hours })).route).toBe('tariff_name_capture')
    expect((await flow.submit('tariff_name_capture', { tariff: { name: 'Night owl' } })).route).toBe('contract_term_capture')
    const term = { contract_start_date: '2026-01-01T00:00:00.000Z', contract_end_date: null, contract_term_type: 'UNTIL_TERMINATED' }
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
          contract_term_type: 'UNTIL_TERMINATED',
        },
      },
    })
    const { today } = shown.data['rates'] as unknown as { today: { valid_from: string; tariff: object }[] }
    expect(today.map(({ tariff }) => tariff)).toEqual([0.0999, 0.2455, 0.0999].map(cost => ({ cost, confidence: 1 })))
    expect(new Set(today.map(({ valid_from }) => valid_from)).size).toBe(3)
    const waits = await call(
      'GET',
      layout === 'current' ? `/connect/token?connect_token=${token}` : `/connect/tariff/token?connect_token=${token}`,
    )
    expect(waits.status).toBe(layout === 'current' ? 200 : 422)
    const end = await (layout === 'current' ? flow.act('CLOSE') : flow.act('SAVE', summary))
    if (layout === 'current') {
      const address = `https://app.example.com/done?x=1&fp_cot=${token}#end`
      expect(end).toMatchObject({ route: 'session_redirect', data: { redirect_url: address, callback_url: address } })
    } else {
      const address = `myapp://done?x=1&fp_cot=${token}`
      expect(end).toMatchObject({ route: 'session_complete', data: { callback_uri: address, callback_url: address } })
    }
    const [tariff] = await tariffsOf(call)
    expect(tariff).toMatchObject({
      display_name: 'Night owl',
      connection_type: 'MANUAL',
      is_linked: false,
      contract_start_date: '2026-01-01T00:00:00Z',
    })
    expect(bandsOf(tariff)).toEqual([
      {
        valid_from: '23:30:00',
        valid_to: '07:00:00',
        rate: [{ fixed: 0.0999, to_kwh: null, surcharge_fixed: 0, surcharge_percentage: 0 }],
      },
      {
        valid_from: '07:00:00',
        valid_to: '23:30:00',
        rate: [{ fixed: 0.2455, to_kwh: null, surcharge_fixed: 0, surcharge_percentage: 0 }],
      },
    ])
    const events = listed(await call('GET', '/events?event_type=connect_session.complete'))
    const object =
      layout === 'current' ? { object: 'connect_session', price_available: true } : { object: 'connect_token', is_tariff_processed: true }
    expect(events).toMatchObject([{ data: { id: token, ...object } }])
  })

  it('takes market prices with a surcharge of 18.5 percent', async () => {
    const { call, flow } = await begin(layout, { route_options: {} })
    expect((await toRate(flow, 'MARKET')).route).toBe(surchargePage)
    const shown = await flow.submit(surchargePage, { surcharge: { fixed: 0.02, percentage: 18.5 } })
    expect(shown).toMatchObject({ route: summary, data: { market_rates_source: true, rates: { yesterday: [], today: [], tomorrow: [] } } })
    if (layout === 'earlier') await flow.act('SAVE')
    const [tariff] = await tariffsOf(call)
    expect(tariff).toMatchObject({ connection_type: 'MARKET', is_linked: true, market_rates: true })
    expect(bandsOf(tariff)).toMatchObject([{ rate: [{ surcharge_fixed: 0.02, surcharge_percentage: 0.185 }] }])
  })

  it('takes advanced prices by the rules of POST /tariffs', async () => {
    const { call, flow } = await begin(layout)
    expect(await toRate(flow, 'ADVANCED')).toMatchObject({ route: 'rate_advanced_capture', data: { tariff: { market_rates: false } } })
    const band = (valid_to: string) => [{ valid_from: '00:00:00', valid_to, rate: [{ fixed: 0.3, to_kwh: 100 }, { fixed: 0.25 }] }]
    const scheduled = (valid_to: string) => ({
      tariff: { market_rates: false, schedule: [{ months: ['All'], days_and_hours: [{ days: ['All'], hours: band(valid_to) }] }] },
    })
    expect(await flow.submit('rate_advanced_capture', scheduled('12:00:00'))).toMatchObject({ code: 'schedule_gap' })
    expect(await flow.submit('rate_advanced_capture', { tariff: { schedule: 1 } })).toMatchObject({ code: 'data_json_invalid' })
    expect((await flow.submit('rate_advanced_capture', scheduled('00:00:00'))).route).toBe('tariff_name_capture')
    await flow.submit('tariff_name_capture', { tariff: { name: 'Tiers' } })
    const shown = await flow.submit('contract_term_capture')
    expect(shown.data['tariff']).toMatchObject({ tiered: true })
    if (layout === 'earlier') await flow.act('SAVE')
    expect((await tariffsOf(call)).length).toBe(1)
  })

  it('refuses what its pages refuse, and stays where it was', async () => {
    const { flow, token } = await begin(layout)
    const status = layout === 'current' ? 400 : 409
    const refuses = async (route: string, data: object, code: string): Promise<void> => {
      const page = await flow.submit(route, data)
      expect(page, `${route} ${JSON.stringify(data)}`).toMatchObject({
        status,
        code,
        body: {
          object: 'error',
          connect_token: token,
          context: `connect.${route}`,
          message: expect.stringMatching(/.+/),
          request_id: expect.any(String),
        },
      })
    }
    await flow.submit('session_start')
    await refuses('postal_address_capture', { postal_address: { ...londonAddress, city: '' } }, 'city_missing')
    await refuses('postal_address_capture', { postal_address: { ...londonAddress, country_code: 'QQ' } }, 'country_code_invalid')
    const nowhere = { ...londonAddress, city: 'Nowhereville', country_code: 'US', post_code: '' }
    await refuses('postal_address_capture', { postal_address: nowhere }, 'post_code_missing')
    await refuses('postal_address_capture', { postal_address: { ...nowhere, post_code: 'x' } }, 'geo_location_not_found')
    await refuses('provider_select', { provider: { id: 'prv_1' } }, 'provider_not_found')
    const providers = await flow.submit('postal_address_capture', { postal_address: londonAddress })
    await refuses('provider_select', {}, 'provider_id_missing')
    await refuses('provider_select', { provider: { id: 'prv_000000000000000000000000' } }, 'provider_not_found')
    const [french] = await listProviders(service().database.operator, { country: 'FR', addressType: null })
    await refuses('provider_select', { provider: { id: french?.id } }, 'provider_id_invalid')
    await refuses('provider_name_capture', { provider: { name: ' ' } }, 'provider_name_missing')
    await flow.submit('provider_select', { provider: { id: providerNamed(providers, 'Ecotricity') } })
    await refuses('tariff_select', {}, 'tariff_id_missing')
    await refuses('tariff_select', { tariff: { id: 'trt_1' } }, 'tariff_not_found')
    await refuses('tariff_structure_select', { options: [] }, 'option_invalid')
    await refuses('rate_fixed_capture', { cost: 1 }, 'route_invalid')
    await flow.submit('tariff_structure_select', { options: ['FIXED'] })
    await refuses('rate_fixed_capture', { cost: 0 }, 'cost_value_zero')
    await refuses('rate_fixed_capture', { cost: -1 }, 'cost_value_negative')
    await refuses('rate_fixed_capture', { cost: {} }, 'data_json_invalid')
    await refuses('tariff_name_capture', { tariff: { name: 'x' } }, 'route_invalid')
    expect((await flow.submit('session_restore')).route).toBe('rate_fixed_capture')
    await flow.submit('rate_fixed_capture', { cost: 0.3 })
    await refuses('tariff_name_capture', {}, 'tariff_name_missing')
    await flow.submit('tariff_name_capture', { tariff: { name: 'x' } })
    await refuses('contract_term_capture', { contract_start_date: 'yesterday' }, 'date_format_invalid')
    await flow.submit('contract_term_capture')
    await refuses(summary, {}, 'action_missing')
    expect(await flow.act('JUMP')).toMatchObject({ status, code: 'action_invalid' })
  })

  it('goes back page by page, and out at the first', async () => {
    const { flow } = await begin(layout)
    await toRate(flow, 'FIXED')
    const routes = []
    for (let page = await flow.act('BACK'); !['session_redirect', 'session_complete'].includes(page.route); page = await flow.act('BACK'))
      routes.push(page.route)
    expect(routes).toEqual(['tariff_structure_select', 'provider_select', 'postal_address_capture'])
    expect((await flow.submit('session_start')).route).toBe('postal_address_capture')
  })

  it('takes an older page as if the person were there, and pages that were skipped', async () => {
    const { flow, call } = await begin(layout, { route_options: {}, postal_address: londonAddress })
    expect((await flow.submit('session_restore')).route).toBe('provider_select')
    const providers = await flow.submit('postal_address_capture', { postal_address: { ...londonAddress, address_line2: 'Flat 1' } })
    await flow.submit('provider_select', { provider: { id: providerNamed(providers, 'British Gas') } })
    await flow.submit('tariff_structure_select', { options: ['FIXED'] })
    const isFixed = layout === 'earlier' ? 'summary_fixed_confirm' : summary
    expect((await flow.submit('rate_fixed_capture', { cost: 0.3 })).route).toBe(isFixed)
    expect((await flow.submit('rate_fixed_capture', { cost: 0.2455 })).route).toBe(isFixed)
    expect((await flow.submit('tariff_name_capture', { tariff: { name: 'Cheap' } })).route).toBe(isFixed)
    expect((await flow.submit('contract_term_capture')).route).toBe(isFixed)
    if (layout === 'earlier') await flow.act('SAVE', 'summary_fixed_confirm')
    const tariffs = await tariffsOf(call)
    expect(tariffs).toMatchObject([{ display_name: 'Cheap' }])
    expect(bandsOf(tariffs[0])).toMatchObject([{ rate: [{ fixed: 0.2455 }] }])
    expect(listed(await call('GET', '/events?event_type=connect_session.complete'))).toHaveLength(1)
  })

  it('disconnects a tariff, whose history stays, and says so', async () => {
    const { call, flow, token } = await begin(layout, { route_options: {} })
    await toRate(flow, 'FIXED')
    await flow.submit('rate_fixed_capture', { cost: 0.3 })
    if (layout === 'earlier') await flow.act('SAVE')
    const [location] = listed(await call('GET', '/locations'))
    const again = await tokenFor(call, layout, { location_id: location?.['id'], actions: { disconnect_tariff: true } })
    const end = await visit(service(), again).submit('session_start')
    expect(end.route).toBe(layout === 'current' ? 'session_redirect' : 'session_complete')
    expect(await tariffsOf(call)).toEqual([])
    const path = layout === 'current' ? '/connect/token' : '/connect/tariff/token'
    const told = await call('GET', `${path}?connect_token=${again}`)
    expect(told.status).toBe(200)
    expect(told.body['complete_action']).toBe(layout === 'current' ? undefined : 'DISCONNECT')
    expect(await flow.submit('session_start')).toMatchObject({ status: 200 })
    expect(token).not.toBe(again)
  })

  it('opens at the summary of a connected location, and edits and renews there', async () => {
    const { call, flow } = await begin(layout, { route_options: {} })
    await toRate(flow, 'FIXED')
    await flow.submit('rate_fixed_capture', { cost: 0.3 })
    if (layout === 'earlier') await flow.act('SAVE')
    const [location] = listed(await call('GET', '/locations'))
    const [tariff] = await tariffsOf(call)
    const known = visit(service(), await tokenFor(call, layout, { location_id: location?.['id'] }))
    const shown = await known.submit('session_start')
    expect(shown.route).toBe(layout === 'current' ? summary : 'summary_fixed_confirm')
    expect(shown.data['provider']).toMatchObject({ display_name: 'Ecotricity' })
    expect((await known.act('EDIT')).route).toBe('provider_select')
    expect((await known.act('BACK')).route).toBe(shown.route)
    const renewing = visit(service(), await tokenFor(call, layout, { tariff_id: tariff?.['id'] }))
    expect((await renewing.submit('session_start')).route).toBe('provider_select')
    await renewing.submit('provider_select', { provider: shown.data['provider'] })
    expect(await renewing.submit('tariff_structure_select', { options: ['FIXED'] })).toMatchObject({ data: { cost: 0.3 } })
    await renewing.submit('rate_fixed_capture', { cost: 0.2 })
    if (layout === 'earlier') await renewing.act('SAVE')
    const tariffs = await tariffsOf(call)
    const today = new Date(service().clock.at)
    expect(tariffs).toMatchObject([{ contract_start_date: `${today.toISOString().slice(0, 10)}T00:00:00Z` }])
  })
})

describe('the Connect call', () => {
  const raw = (body: string, headers: Readonly<Record<string, string>> = {}) => caller(service().app, headers)('POST', '/connect', body)

  it('answers every fault as JSON that any page may read', async () => {
    const unknown = `cot_${'0'.repeat(32)}`
    for (const [body, code, status] of [
      ['', 'body_invalid', 400],
      ['[]', 'body_invalid', 400],
      ['{"route":"session_start"}', 'connect_token_missing', 400],
      ['{"connect_token":"x","route":"session_start"}', 'connect_token_invalid', 400],
      [`{"connect_token":"${unknown}","route":"session_start"}`, 'connect_token_invalid', 400],
      [`{"connect_token":"${unknown}","route":"session_restore"}`, 'connect_token_invalid', 409],
    ] as const) {
      for (const type of ['application/json', 'text/plain;charset=UTF-8', 'application/x-www-form-urlencoded']) {
        const answer = await raw(body, { 'content-type': type, authorization: 'Bearer nonsense' })
        expect([answer.status, answer.body['code'], answer.headers.get('access-control-allow-origin')], body).toEqual([status, code, '*'])
      }
    }
  })

  it('answers a preflight, and where the operator has mounted it', async () => {
    for (const path of ['/connect', '/flow/here']) {
      const asked = await service().app.request(path, {
        method: 'OPTIONS',
        headers: { origin: 'https://page.example.com', 'access-control-request-method': 'POST' },
      })
      expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([204, '*'])
    }
    const { token } = await begin('current')
    const answer = await caller(service().app, {})('POST', '/flow/here', { connect_token: token, route: 'session_start' })
    expect(answer.body['route']).toBe('postal_address_capture')
  })

  it('keeps the layout of the token, whatever a call says', async () => {
    const { flow } = await begin('earlier')
    const page = await flow.post({ connect_token: flow.token, route: 'session_start' }, { 'api-version': '2025-09-14' })
    expect(page.body['direction']).toBe('IMPORT')
    expect(page.headers.get('api-version')).toBe('2024-08-24')
  })

  it('ends with its 24 hours', async () => {
    const { flow, call, token } = await begin('current')
    await flow.submit('session_start')
    service().clock.at += 86_400_000
    try {
      expect(await flow.submit('session_start')).toMatchObject({ status: 400, code: 'connect_token_invalid' })
    } finally {
      service().clock.at -= 86_400_000
    }
    expect((await call('GET', `/connect/token?connect_token=${token}`)).status).toBe(422)
  })

  it('saves once, however often and at once it is told', async () => {
    const { flow, call } = await begin('earlier', { route_options: {} })
    await toRate(flow, 'FIXED')
    await flow.submit('rate_fixed_capture', { cost: 0.3 })
    const saves = await Promise.all([1, 2, 3, 4].map(() => flow.act('SAVE', 'summary_fixed_confirm')))
    expect(saves.map(({ route }) => route)).toEqual(Array(4).fill('session_complete'))
    expect(await tariffsOf(call)).toHaveLength(1)
    expect(listed(await call('GET', '/events?event_type=connect_session.complete'))).toHaveLength(1)
  })
})

describe('a token', () => {
  it.each([['javascript:alert(1)'], ['data:text/html,x'], ['file:///etc/passwd'], ['blob:https://a/b'], ['ftp://a/b'], ['nothing']])(
    'is refused for %s',
    async address => {
      const { call } = await connectAccount(service(), 'current')
      const good = 'https://app.example.com'
      for (const body of [
        { connect_url: address, callback_url: good },
        { connect_url: good, callback_url: address },
      ]) {
        expect((await call('POST', '/connect/token', body)).status).toBe(400)
      }
    },
  )

  it('needs its addresses, and names nothing twice', async () => {
    const { call } = await connectAccount(service(), 'current')
    const good = { connect_url: 'https://a.example.com', callback_url: 'https://a.example.com' }
    const fieldOf = async (body: object) => (await call('POST', '/connect/token', body)).body['field']
    expect(await fieldOf({ callback_url: good.callback_url })).toBe('connect_url')
    expect(await fieldOf({ connect_url: good.connect_url })).toBe('callback_url')
    expect(await fieldOf({ ...good, customer_id: 'cus_1', customer_reference_id: 'x' })).toBe('customer_reference_id')
    expect(await fieldOf({ ...good, location_id: 'loc_1', location_reference_id: 'x' })).toBe('location_reference_id')
    expect(await fieldOf({ ...good, location_id: 'loc_1' })).toBe('location_id')
    expect(await fieldOf({ ...good, tariff_id: 'trf_1' })).toBe('tariff_id')
  })

  it('of another account is none', async () => {
    const { token } = await begin('current')
    const { call } = await connectAccount(service(), 'current')
    expect((await call('GET', `/connect/token?connect_token=${token}`)).status).toBe(404)
  })

  it('imports a tariff without pages in the earlier layout', async () => {
    const { call } = await connectAccount(service(), 'earlier')
    const body = {
      session: { customer_reference_id: 'c', location_reference_id: 'l', direction: 'IMPORT', type: 'COMMODITY' },
      postal_address: londonAddress,
      tariff: {
        type: 'FIXED',
        name: 'Imported',
        contract: { start_date: '2026-01-01T00:00:00Z', end_date: '2027-01-01T00:00:00Z' },
        data: [
          {
            months: ['All'],
            days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 0.2 }] }] }],
          },
        ],
      },
    }
    const made = await call('POST', '/connect/tariff/batch', body)
    expect(made, made.text).toMatchObject({ status: 200, body: { object: 'connect_token', direction: 'IMPORT' } })
    const told = await call('GET', `/connect/tariff/token?connect_token=${made.body['connect_token']}`)
    expect(told.body).toMatchObject({ object: 'connect_token', is_tariff_processed: true, complete_action: 'SAVE' })
    expect(await tariffsOf(call)).toMatchObject([{ display_name: 'Imported', contract_end_date: '2027-01-01T00:00:00Z' }])
  })
})
