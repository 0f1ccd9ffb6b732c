import { describe, expect, it } from 'vitest'
import {
  bandsOf,
  completed,
  connectFixture,
  eventsOf,
  locationOf,
  retrieve,
  tariffsOf,
} from '../../support/connect/connect-fixture.ts'
import { connectAccount, londonAddress, openFlow } from '../../support/connect/connect-service.ts'

const { begin, service, openSession, saveFixed } = connectFixture()
const good = { connect_url: 'https://a.example.com/back', callback_url: 'https://a.example.com/done' }

describe('a token', () => {
  it.each([
    ...[
      ['javascript:alert(1)'],
      ['data:text/html,x'],
      ['file:///etc/passwd'],
      ['blob:https://a/b'],
      ['ftp://a/b'],
      ['nothing'],
    ],
    ...[
      ['jar:https://a.example.com/x.jar!/'],
      ['ws://a.example.com/'],
      ['wss://a.example.com/'],
      ['view-source:https://a.example.com/'],
    ],
    ...[
      ['intent://scan/#Intent;scheme=zxing;end'],
      ['about:blank'],
      ['filesystem:https://a.example.com/x'],
      ['chrome://settings/'],
    ],
    ...[['JAVASCRIPT:alert(1)'], ['Intent:x'], ['android-app://a.b'], ['mailto:a@example.com']],
  ])('is refused for %s, in each URL and API version', async address => {
    const { call } = await connectAccount(service(), 'current')
    const { call: earlier } = await connectAccount(service(), 'earlier')
    for (const name of ['connect_url', 'callback_url'])
      expect(await call('POST', '/connect/token', { ...good, [name]: address })).toMatchObject({
        status: 400,
        body: { field: name },
      })
    for (const name of ['connect_web_url', 'connect_web_uri', 'callback_uri']) {
      const body = { callback_uri: good.callback_url, [name]: address }
      expect((await earlier('POST', '/connect/tariff/token', body)).status, name).toBe(409)
    }
  })

  it.each([
    'http://app.example.com/',
    'http://127.0.0.1.example.com/',
    'http://10.0.0.1/',
    'myapp://done',
    'com.example.app:/done',
  ])('is refused for a connect_url without https that is not on loopback: %s', async address => {
    const { call } = await connectAccount(service(), 'current')
    const refused = await call('POST', '/connect/token', { ...good, connect_url: address })
    expect(refused).toMatchObject({ status: 400, body: { field: 'connect_url' } })
  })

  it.each(['https://app.example.com/', 'http://127.0.0.1:8080/', 'http://localhost/x', 'http://[::1]:1/'])(
    'is created for a connect_url with https, or with http on loopback: %s',
    async address => {
      const { call } = await connectAccount(service(), 'current')
      expect((await call('POST', '/connect/token', { ...good, connect_url: address })).body['connect_url']).toBe(
        address,
      )
    },
  )

  it.each(['https://app.example.com/done', 'http://127.0.0.1:8080/', 'myapp://done', 'com.example.app:/done?x=1'])(
    'is given for %s',
    async address => {
      const { call } = await connectAccount(service(), 'current')
      const { status, body } = await call('POST', '/connect/token', { ...good, callback_url: address })
      expect([status, body['callback_url']]).toEqual([200, address])
      const end = await openFlow(service(), String(body['connect_token'])).act('CLOSE')
      expect(end.data['redirect_url']).toBe(
        `${address}${address.includes('?') ? '&' : '?'}fp_cot=${body['connect_token']}`,
      )
    },
  )

  it('requires its URLs, and refuses an object that is named twice', async () => {
    const { call } = await connectAccount(service(), 'current')
    const fieldOf = async (body: object) => (await call('POST', '/connect/token', body)).body['field']
    expect(await fieldOf({ callback_url: good.callback_url })).toBe('connect_url')
    expect(await fieldOf({ connect_url: good.connect_url })).toBe('callback_url')
    expect(await fieldOf({ ...good, customer_id: 'cus_1', customer_reference_id: 'x' })).toBe('customer_reference_id')
    expect(await fieldOf({ ...good, location_id: 'loc_1', location_reference_id: 'x' })).toBe('location_reference_id')
    expect(await fieldOf({ ...good, location_id: 'loc_1' })).toBe('location_id')
    expect(await fieldOf({ ...good, tariff_id: 'trf_1' })).toBe('tariff_id')
    const { call: earlier } = await connectAccount(service(), 'earlier')
    expect((await earlier('POST', '/connect/tariff/token', { callback_uri: good.callback_url })).status).toBe(200)
    expect((await earlier('POST', '/connect/tariff/token', {})).body['field']).toMatch(/^callback_ur[il]$/)
  })

  it('of the earlier API version accepts both spellings of its URLs', async () => {
    const { call } = await connectAccount(service(), 'earlier')
    for (const spelled of [
      { callback_uri: good.callback_url, connect_web_uri: good.connect_url, direction: 'EXPORT', type: 'COMMODITY' },
      { callback_url: good.callback_url, connect_web_url: good.connect_url, direction: 'EXPORT' },
      { callback_uri: good.callback_url, connect_url: good.connect_url, direction: 'EXPORT' },
    ]) {
      const { status, body, text } = await call('POST', '/connect/tariff/token', spelled)
      expect(status, text).toBe(200)
      expect(body).toMatchObject({
        object: 'connect_token',
        direction: 'EXPORT',
        type: 'COMMODITY',
        id: body['connect_token'],
        is_tariff_processed: false,
        expires_in: 86_400,
        live_mode: false,
      })
      const end = await openFlow(service(), String(body['connect_token'])).act('CLOSE')
      expect(end.data['callback_uri']).toBe(`${good.callback_url}?fp_cot=${body['connect_token']}`)
      expect(end.data['callback_url']).toBe(end.data['callback_uri'])
    }
  })

  it('sets the route of its summary, otherwise the account sets it', async () => {
    const { call } = await connectAccount(service(), 'current')
    const summaryOf = async (route_options: object | undefined) => {
      const flow = await openSession(call, 'current', { postal_address: londonAddress, route_options })
      await flow.submit('session_start')
      await flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
      await flow.submit('tariff_structure_select', { options: ['FIXED'] })
      const shown = await flow.submit('rate_fixed_capture', { cost: 0.3 })
      expect((await flow.act('CLOSE', shown.route)).route).toBe('session_redirect')
      return shown.route
    }
    expect(await summaryOf({})).toBe('tariffs_summary')
    expect(await summaryOf({ summary_route: null })).toBe('tariffs_summary')
    expect(await summaryOf({ summary_route: 'tariff_summary' })).toBe('tariff_summary')
    expect(await summaryOf({ summary_route: 'tariffs_summary' })).toBe('tariffs_summary')
    expect(
      await call('POST', '/connect/token', { ...good, route_options: { summary_route: 'summary' } }),
    ).toMatchObject({
      status: 400,
      body: { code: 'field_invalid', field: 'route_options.summary_route' },
    })
  })

  it('of an existing location has the customer of the location', async () => {
    const { call } = await connectAccount(service(), 'current')
    const made = async (path: string, body: object) => String((await call('POST', path, body)).body['id'])
    const customer = await made('/customers', { reference_id: 'household-3' })
    const other = await made('/customers', {})
    const locationBody = { timezone: 'Europe/Berlin', currency_code: 'EUR' }
    const home = await made('/locations', { ...locationBody, reference_id: 'home-3', customer_id: customer })
    const alone = await made('/locations', locationBody)
    const customerOf = async (more: object) => {
      const { status, body } = await call('POST', '/connect/token', { ...good, ...more })
      return [status, body['customer_id'], body['customer_reference_id']]
    }
    expect(await customerOf({ location_id: home })).toEqual([200, customer, 'household-3'])
    expect(await customerOf({ location_reference_id: 'home-3' })).toEqual([200, customer, 'household-3'])
    expect(await customerOf({ location_id: home, customer_id: other })).toEqual([200, other, null])
    expect(await customerOf({ location_id: alone })).toEqual([200, null, null])
    expect(await customerOf({ location_reference_id: 'home-4' })).toEqual([200, null, null])
  })

  it('shows the dates of a contract in the offset of its location, and names its zone', async () => {
    const { call } = await connectAccount(service(), 'current')
    const berlin = { address_line1: 'Rathausstraße 15', city: 'Berlin', post_code: '10178', country_code: 'DE' }
    const options = { actions: { edit_tariff: true }, route_options: { contract_term_capture: true } }
    const flow = await openSession(call, 'current', { postal_address: berlin, ...options })
    await flow.submit('session_start')
    await flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
    await flow.submit('tariff_structure_select', { options: ['FIXED'] })
    const term = await flow.submit('rate_fixed_capture', { cost: 0.3 })
    expect(term).toMatchObject({
      route: 'contract_term_capture',
      data: { location_timezone: 'Europe/Berlin', contract_start_date: null },
    })
    const dates = {
      contract_start_date: '2026-06-30T22:00:00Z',
      contract_end_date: '2026-12-31T23:00:00Z',
      contract_term_type: 'FIXED',
    }
    const local = { contract_start_date: '2026-07-01T00:00:00+02:00', contract_end_date: '2027-01-01T00:00:00+01:00' }
    const shown = await flow.submit('contract_term_capture', dates)
    expect(shown.data['tariff']).toMatchObject(local)
    expect((await flow.act('BACK')).data).toMatchObject(local)
  })

  it('shows suppliers without a logo with an image of their initials', async () => {
    const { call } = await connectAccount(service(), 'current')
    const flow = await openSession(call, 'current', { postal_address: londonAddress })
    const list = await flow.submit('session_start')
    const providers = list.data['providers'] as unknown as readonly { display_name: string; logo_url: string }[]
    const pictureOf = (name: string) => {
      const { logo_url: logo = '' } = providers.find(one => one.display_name === name) ?? {}
      expect(logo.startsWith('data:image/svg+xml,')).toBe(true)
      return decodeURIComponent(logo.slice(logo.indexOf(',') + 1))
    }
    expect(pictureOf('Ecotricity')).toMatch(/>E<\/text><\/svg>$/)
    for (const { display_name: name } of providers)
      expect(pictureOf(name)).toMatch(/^<svg .*>[\p{L}\p{N}]{1,2}<\/text><\/svg>$/u)
    const named = await flow.submit('provider_name_capture', { provider: { name: 'Ümit & <b>Söhne</b>' } })
    const { logo_url: logo } = named.data['provider'] as unknown as { logo_url: string }
    expect(decodeURIComponent(logo)).toContain('>ÜB</text>')
  })

  it('has at least 128 random bits and belongs to one session', async () => {
    const { call } = await connectAccount(service(), 'current')
    const tokens = await Promise.all(
      [1, 2, 3].map(async () => String((await call('POST', '/connect/token', good)).body['connect_token'])),
    )
    for (const token of tokens) expect(token).toMatch(/^cot_[0-9a-f]{32}$/)
    expect(new Set(tokens.map(token => token.slice(0, 12))).size).toBe(3)
    const [one = '', other = ''] = tokens
    await openFlow(service(), one).submit('postal_address_capture', { postal_address: londonAddress })
    expect((await openFlow(service(), other).submit('session_start')).route).toBe('postal_address_capture')
  })

  it('skips the page of a complete address; a country alone starts at the address', async () => {
    const { call } = await begin('current')
    const whole = await openSession(call, 'current', { postal_address: londonAddress })
    expect((await whole.submit('session_start')).route).toBe('provider_select')
    const country = await openSession(call, 'current', { postal_address: { country_code: 'gb' } })
    expect(await country.submit('session_start')).toMatchObject({
      route: 'postal_address_capture',
      data: { postal_address: { country_code: 'GB' } },
    })
  })

  it('is for the tariff kind that it names', async () => {
    const fees = await begin('current', {
      tariff_type: 'NON_COMMODITY',
      route_options: {},
      postal_address: londonAddress,
    })
    await fees.flow.submit('provider_name_capture', { provider: { name: 'Grid' } })
    expect((await fees.flow.submit('session_start')).body['type']).toBe('NON_COMMODITY')
    expect((await fees.flow.submit('session_start')).data['options']).toEqual(['FIXED', 'TIME_OF_DAY'])
    await fees.flow.submit('tariff_structure_select', { options: ['FIXED'] })
    await fees.flow.submit('rate_fixed_capture', { cost: 0.05 })
    expect(await tariffsOf(fees.call)).toMatchObject([{ type: 'NON_COMMODITY' }])
    const { call } = await connectAccount(service(), 'current')
    const body = { ...good, tariff_type: 'NON_COMMODITY', tariff_direction: 'EXPORT' }
    expect(await call('POST', '/connect/token', body)).toMatchObject({
      status: 400,
      body: { field: 'tariff_direction' },
    })
  })

  it('is reported after it is finished, to its own account only', async () => {
    const { token, call } = await begin('current')
    expect(await retrieve(call, 'current', token)).toMatchObject({
      status: 422,
      body: { code: 'pending_connect', message: expect.stringContaining('The person has not finished') },
    })
    expect((await retrieve(call, 'current', `cot_${'0'.repeat(32)}`)).status).toBe(404)
    const { call: otherAccount } = await connectAccount(service(), 'current')
    expect((await retrieve(otherAccount, 'current', token)).status).toBe(404)
    const saved = await saveFixed('earlier', 0.3)
    const { body } = await retrieve(saved.call, 'earlier', saved.token)
    expect(body).toMatchObject({ object: 'connect_token', is_tariff_processed: true, complete_action: 'SAVE' })
    expect(body).toMatchObject({ id: saved.token, time_created: expect.any(String), time_expiry: expect.any(String) })
  })
})

describe('an import without pages', () => {
  const hours = (fixed: number | undefined) => [
    {
      valid_from: '00:00:00',
      valid_to: '00:00:00',
      rate: [fixed === undefined ? { surcharge_percentage: 0.185 } : { fixed }],
    },
  ]
  const body = (type: string, fixed: number | undefined, more: object = {}) => ({
    session: {
      customer_reference_id: 'c',
      location_reference_id: 'l',
      direction: 'IMPORT',
      type: 'COMMODITY',
      ...more,
    },
    postal_address: londonAddress,
    tariff: {
      type,
      name: 'Imported',
      contract: { start_date: '2026-01-01T00:00:00Z', end_date: '2031-01-01T00:00:00Z' },
      data: [{ months: ['All'], days_and_hours: [{ days: ['All'], hours: hours(fixed) }] }],
    },
  })

  it('creates customer, location and tariff, completes the session, and reports it', async () => {
    const { call } = await connectAccount(service(), 'earlier')
    const made = await call('POST', '/connect/tariff/batch', body('FIXED', 0.2))
    expect(made, made.text).toMatchObject({ status: 200, body: { object: 'connect_token', direction: 'IMPORT' } })
    const token = String(made.body['connect_token'])
    expect((await retrieve(call, 'earlier', token)).body).toMatchObject({
      is_tariff_processed: true,
      complete_action: 'SAVE',
    })
    expect(await tariffsOf(call)).toMatchObject([
      { display_name: 'Imported', contract_end_date: '2031-01-01T00:00:00Z' },
    ])
    expect(await locationOf(call)).toMatchObject({ reference_id: 'l', customer_id: expect.stringMatching(/^cus_/) })
    expect(await completed(call)).toMatchObject([{ data: { session_id: expect.stringMatching(/^fps_[0-9a-f]{24}$/) } }])
    expect(await eventsOf(call, 'customer.create')).toHaveLength(1)
    expect((await call('POST', '/connect/tariff/batch', body('FIXED', 0.3))).status).toBe(200)
    expect(bandsOf((await tariffsOf(call))[0])).toMatchObject([{ rate: [{ fixed: 0.3 }] }])
    expect(await eventsOf(call, 'customer.create')).toHaveLength(1)
  })

  it('accepts market prices, and refuses what POST /tariffs refuses', async () => {
    const { call } = await connectAccount(service(), 'earlier')
    expect((await call('POST', '/connect/tariff/batch', body('MARKET', undefined))).status).toBe(200)
    expect(await tariffsOf(call)).toMatchObject([{ market_rates: true, connection_type: 'MARKET' }])
    const gap = body('FIXED', 0.2)
    const refused = await call('POST', '/connect/tariff/batch', {
      ...gap,
      tariff: { ...gap.tariff, data: [{ months: ['Jan'], days_and_hours: [{ days: ['All'], hours: hours(0.2) }] }] },
    })
    expect(refused).toMatchObject({
      status: 409,
      body: { code: 'schedule_gap', field: expect.stringMatching(/^tariff\.data/) },
    })
    const { postal_address: _, ...homeless } = body('FIXED', 0.2, { location_reference_id: 'nowhere' })
    expect(await call('POST', '/connect/tariff/batch', homeless)).toMatchObject({
      status: 409,
      body: { field: 'postal_address' },
    })
    const austin = { ...londonAddress, city: 'Austin', country_code: 'US', post_code: '78701' }
    expect(
      await call('POST', '/connect/tariff/batch', {
        ...body('FIXED', 0.2, { location_reference_id: 'austin' }),
        postal_address: austin,
      }),
    ).toMatchObject({
      status: 409,
      body: { code: 'geo_location_not_found', field: 'postal_address.state' },
    })
  })

  it('exists only in the earlier API version', async () => {
    const { call } = await connectAccount(service(), 'current')
    expect(
      (await call('POST', '/connect/tariff/batch', body('FIXED', 0.2), { 'api-version': '2025-09-14' })).status,
    ).toBe(404)
  })
})
