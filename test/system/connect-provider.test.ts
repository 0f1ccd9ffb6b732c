import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readProviderFile } from '../../services/contract/provider-file.ts'
import { putLibraryTariffs } from '../../services/platform/postgres/library-tariffs.ts'
import { putProviders } from '../../services/platform/postgres/providers.ts'
import { dueCredentials } from '../../services/platform/postgres/tariff-credentials.ts'
import { type ConnectService, connectAccount, londonAddress, openConnectService, tokenFor, visit } from '../support/connect-service.ts'
import { openTestDatabase, type TestDatabase } from '../support/postgres.ts'
import { type ProviderApp, type ProviderPage, providerPlan, startProviderApp } from '../support/provider-app.ts'
import { type Call, listed } from '../support/service.ts'

let store: TestDatabase | undefined
let held: ConnectService | undefined
let app: ProviderApp | undefined

const directId = `prv_${'d'.repeat(24)}`
const libraryId = `prv_${'1'.repeat(24)}`
const hour = 3_600_000

const service = (): ConnectService => {
  if (held === undefined) throw new Error('the service is not open')
  return held
}
const provider = (): ProviderApp => {
  if (app === undefined) throw new Error('the app has not started')
  return app
}

/** The app's calls reach the service without a port; its own door is real. */
const postInside = async (_: string, body: object): Promise<ProviderPage> => {
  const answer = await service().app.request('/connect', { method: 'POST', body: JSON.stringify(body) })
  const text = await answer.text()
  const page = JSON.parse(text)
  return { status: answer.status, text, route: page.route ?? '', data: page.data ?? {} }
}

const library = {
  providers: [
    {
      display_name: 'Shelf Energy',
      countries: ['GB'],
      library_tariffs: [
        {
          name: 'Standard',
          description: 'One price',
          currency_code: 'GBP',
          schedule: [{ days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 0.2712 }] }] }] }],
        },
      ],
    },
  ],
}

beforeAll(async () => {
  store = await openTestDatabase()
  held = await openConnectService(store.database)
  app = await startProviderApp(postInside)
  const { operator } = store.database
  const direct = { loginUrl: app.loginUrl, appUrl: app.url, accentColor: '#112233' }
  const base = { logoUrl: null, countries: ['GB'], addressTypes: [] }
  await putProviders(
    operator,
    [
      { ...base, id: directId, displayName: 'Direct Energy', direct },
      { ...base, id: libraryId, displayName: 'Shelf Energy', direct: null },
      { ...base, id: `prv_${'c'.repeat(24)}`, displayName: 'Offices Only', addressTypes: ['COMMERCIAL'], direct: null },
    ],
    0,
  )
  const file = readProviderFile(new TextEncoder().encode(JSON.stringify(library)))
  if (!file.ok) throw new Error(file.refusal.message)
  const [tariff] = file.value.providers[0]?.library_tariffs ?? []
  if (tariff === undefined) throw new Error('the file holds a tariff')
  const { direction, type, marketRates, schedule } = tariff.terms
  const kept = { id: `trt_${'1'.repeat(24)}`, providerId: libraryId, name: tariff.name, description: tariff.description ?? null }
  await putLibraryTariffs(operator, [{ ...kept, countries: [], currencyCode: 'GBP', direction, type, marketRates, schedule }], 0)
})
afterAll(async () => {
  await app?.[Symbol.asyncDispose]()
  await store?.[Symbol.asyncDispose]()
})
beforeEach(() => {
  provider().reply = { status: 200, body: providerPlan(0.2455) }
})

let references = 0

const toLogin = async (layout: 'current' | 'earlier' = 'current', more: object = {}) => {
  const { call, accountId } = await connectAccount(service(), layout)
  references += 1
  const token = await tokenFor(call, layout, { location_reference_id: `direct-${references}`, postal_address: londonAddress, ...more })
  const flow = visit(service(), token)
  await flow.submit('session_start')
  const page = await flow.submit('provider_select', { provider: { id: directId } })
  return { call, accountId, token, flow, page }
}

const logIn = (token: string, form: object = { user: 'ann', password: 'canary-secret' }, consent = true) =>
  provider().logIn('', token, form, consent)

const locationOf = async (call: Call): Promise<Readonly<Record<string, unknown>>> => listed(await call('GET', '/locations'))[0] ?? {}
const tariffsOf = async (call: Call) => listed(await call('GET', `/tariffs?location_id=${(await locationOf(call))['id']}`))
const credentials = async (accountId: string) => {
  const due = await dueCredentials(service().database.operator, Number.MAX_SAFE_INTEGER / 4_000, 1_000)
  return due.filter(one => one.accountId === accountId)
}

describe('the login at a provider', () => {
  it.each(['current', 'earlier'] as const)('connects what the provider tells, in the %s layout', async layout => {
    const { call, token, flow, page } = await toLogin(layout)
    const loginUrl = `${provider().loginUrl}&fp_cot=${token}`
    expect(page).toMatchObject({
      route: 'session_redirect',
      data: { redirect_url: loginUrl, ...(layout === 'earlier' ? { redirect_uri: loginUrl } : {}) },
    })
    const about = await postInside('', { connect_token: token, route: 'start_tariff_integration' })
    expect(about).toMatchObject({
      route: 'auth_metadata_capture',
      data: { provider: { display_name: 'Direct Energy', logo_url: null, accent_color: '#112233' }, account: { display_name: 'Volt Ltd' } },
    })
    const back = await logIn(token)
    const address = `https://app.example.com/back?fp_cot=${token}`
    expect(back).toMatchObject({ route: 'session_redirect', data: { redirect_url: address } })
    expect(back.data['redirect_uri']).toBe(layout === 'earlier' ? address : undefined)
    expect(provider().asked.at(-1)).toEqual({ auth_metadata: { data: { user: 'ann', password: 'canary-secret' } } })
    const summary = await flow.submit('session_start')
    expect(summary.route).toBe(layout === 'current' ? 'tariffs_summary' : 'summary_fixed_confirm')
    if (layout === 'earlier') expect((await flow.act('SAVE')).route).toBe('session_complete')
    expect(await tariffsOf(call)).toMatchObject([
      { connection_type: 'DIRECT', is_linked: true, display_name: 'Direct Green', provider_id: directId },
    ])
    expect(listed(await call('GET', '/events?event_type=connect_session.complete'))).toHaveLength(1)
  })

  it('asks for consent, and for credentials of this session', async () => {
    const { token, accountId } = await toLogin()
    expect(await logIn(token, { user: 'ann' }, false)).toMatchObject({ status: 400, text: expect.stringContaining('consent_missing') })
    const post = (data: object) => postInside('', { connect_token: token, route: 'consent_capture', data })
    expect((await post({ auth_metadata_id: 'aut_1', consent_given: true })).text).toContain('auth_metadata_invalid')
    expect((await logIn(token, {})).text).toContain('auth_metadata_invalid')
    expect(await credentials(accountId)).toEqual([])
  })

  it('shows a wrong password in the app, which may try again', async () => {
    const { token, flow } = await toLogin()
    provider().reply = { status: 422, body: { message: 'Wrong password' } }
    expect(await logIn(token)).toMatchObject({ route: 'failed_login', data: { message: 'Wrong password' } })
    provider().reply = { status: 200, body: providerPlan(0.2) }
    expect((await logIn(token)).route).toBe('session_redirect')
    expect((await flow.submit('session_start')).route).toBe('tariffs_summary')
  })

  it('leads on by hand where it is skipped, left or refused: never a dead end', async () => {
    const skipped = await toLogin()
    expect((await skipped.flow.submit('session_start')).route).toBe('tariff_structure_select')
    const dismissed = await toLogin()
    const left = await postInside('', { connect_token: dismissed.token, route: 'auth_metadata_capture', action: 'DISMISS_DIRECT' })
    expect(left.route).toBe('session_redirect')
    expect((await dismissed.flow.submit('session_start')).route).toBe('tariff_structure_select')
    const another = await toLogin()
    await postInside('', { connect_token: another.token, route: 'consent_capture', action: 'DISCONNECT' })
    expect((await another.flow.submit('session_start')).route).toBe('provider_select')
    const refused = await toLogin()
    provider().reply = { status: 400, body: {} }
    expect((await logIn(refused.token)).route).toBe('session_redirect')
    expect((await refused.flow.submit('session_start')).route).toBe('tariff_structure_select')
    expect(await credentials(refused.accountId)).toEqual([])
  })

  it('lets the person choose between accounts', async () => {
    const { token, flow } = await toLogin()
    provider().reply = {
      status: 200,
      body: {
        accounts: [
          { id: 'a', name: 'Home', description: 'Here' },
          { id: 'b', name: 'Shop' },
        ],
      },
    }
    const choice = await logIn(token)
    expect(choice).toMatchObject({ route: 'multiple_available_tariffs', data: { accounts: [{ id: 'a' }, { id: 'b' }] } })
    provider().reply = { status: 200, body: providerPlan(0.3) }
    const data = { auth_metadata_id: choice.data['auth_metadata_id'], account: { id: 'b' } }
    await postInside('', { connect_token: token, route: 'multiple_available_tariffs', data })
    expect(provider().asked.at(-1)).toMatchObject({ auth_metadata: { reference_id: 'b' } })
    expect((await flow.submit('session_start')).route).toBe('tariffs_summary')
  })
})

describe('a provider that does not answer', () => {
  it('is waited for: pending, then connected, and told once', async () => {
    const { call, token, flow } = await toLogin()
    provider().reply = 'never'
    expect((await logIn(token)).route).toBe('session_redirect')
    expect(await flow.submit('session_start')).toMatchObject({
      route: 'tariff_connection_pending',
      actions: ['EDIT', 'DISCONNECT', 'BACK', 'CLOSE'],
      data: { connection_type: 'DIRECT', provider: { display_name: 'Direct Energy' } },
    })
    expect((await locationOf(call))['tariff_status']).toMatchObject({ commodity_import: 'PENDING' })
    expect((await call('GET', `/connect/token?connect_token=${token}`)).body['code']).toBe('pending_connect')
    provider().reply = { status: 200, body: providerPlan(0.2455) }
    service().clock.at += hour
    await service().turn()
    expect((await flow.submit('session_start')).route).toBe('tariffs_summary')
    expect((await locationOf(call))['tariff_status']).toMatchObject({ commodity_import: 'CONNECTED' })
    expect(listed(await call('GET', '/events?event_type=connect_session.complete'))).toHaveLength(1)
  })

  it('counts as failed after 48 hours, and as well once it answers', async () => {
    const { call, token } = await toLogin()
    await logIn(token)
    provider().reply = 'never'
    const failed = async () => listed(await call('GET', '/events?event_type=tariff.fetch.failed'))
    for (let day = 0; day < 3; day += 1) {
      service().clock.at += 24 * hour
      await service().turn()
    }
    expect(await failed()).toHaveLength(1)
    expect((await locationOf(call))['tariff_status']).toMatchObject({ commodity_import: 'ERROR' })
    const [tariff] = await tariffsOf(call)
    expect((await failed())[0]).toMatchObject({ data: { tariff_id: tariff?.['id'], live_mode: false } })
    service().clock.at += 24 * hour
    await service().turn()
    expect(await failed()).toHaveLength(1)
    provider().reply = { status: 200, body: providerPlan(0.2455) }
    service().clock.at += 24 * hour
    await service().turn()
    expect(await tariffsOf(call)).toMatchObject([{ id: tariff?.['id'], status: 'CONNECTED' }])
  })

  it('brings new prices from the local day on, and the same ones as no change', async () => {
    const { call, token } = await toLogin()
    await logIn(token)
    const [first] = await tariffsOf(call)
    service().clock.at += 24 * hour
    await service().turn()
    expect(await tariffsOf(call)).toMatchObject([{ id: first?.['id'] }])
    provider().reply = { status: 200, body: providerPlan(0.31) }
    service().clock.at += 24 * hour
    await service().turn()
    const day = new Date(service().clock.at).toISOString().slice(0, 10)
    expect(await tariffsOf(call)).toMatchObject([{ contract_start_date: `${day}T00:00:00Z`, connection_type: 'DIRECT' }])
  })
})

describe('credentials', () => {
  it('are sealed where they are kept, stand in no answer, and go with their tariff', async () => {
    const { call, token, accountId } = await toLogin()
    const answers = [await logIn(token)]
    const kept = await credentials(accountId)
    expect(kept).toHaveLength(1)
    expect(answers.map(({ text }) => text).join()).not.toContain('canary-secret')
    expect(JSON.stringify(service().logged)).not.toContain('canary-secret')
    const [tariff] = await tariffsOf(call)
    await call('DELETE', `/tariffs/${tariff?.['id']}`)
    expect(await credentials(accountId)).toEqual([])
  })

  it('go with DISCONNECT, and where prices are typed instead', async () => {
    const one = await toLogin()
    await logIn(one.token)
    await one.flow.submit('session_start')
    await one.flow.act('DISCONNECT')
    expect(await credentials(one.accountId)).toEqual([])
    const two = await toLogin()
    await logIn(two.token)
    await two.flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
    await two.flow.submit('tariff_structure_select', { options: ['FIXED'] })
    await two.flow.submit('rate_fixed_capture', { cost: 0.2 })
    expect(await credentials(two.accountId)).toEqual([])
    expect(await tariffsOf(two.call)).toMatchObject([{ connection_type: 'MANUAL' }])
  })
})

describe('the catalogue', () => {
  it('offers library tariffs of a provider, or the way past them', async () => {
    const { call, flow } = await toLogin()
    const page = await flow.submit('provider_select', { provider: { id: libraryId } })
    expect(page).toMatchObject({ route: 'tariff_select', data: { tariffs: [{ name: 'Standard', description: 'One price' }] } })
    expect((await flow.act('TARIFF_MISSING')).route).toBe('tariff_structure_select')
    const [tariff] = page.data['tariffs'] as unknown as { id: string }[]
    expect((await flow.submit('tariff_select', { tariff: { id: tariff?.id } })).route).toBe('tariffs_summary')
    expect(await tariffsOf(call)).toMatchObject([{ connection_type: 'LIBRARY', is_linked: true, display_name: 'Standard' }])
  })

  it('shows the providers of a country and a type of address', async () => {
    const namesFor = async (type: string) => {
      const { flow } = await toLogin('current', { postal_address_type: type })
      const { data } = await flow.act('BACK')
      return (data['providers'] as unknown as { display_name: string }[]).map(one => one.display_name)
    }
    expect(await namesFor('RESIDENTIAL')).not.toContain('Offices Only')
    expect(await namesFor('COMMERCIAL')).toContain('Offices Only')
    expect(await namesFor('COMMERCIAL')).toContain('Ecotricity')
  })
})
