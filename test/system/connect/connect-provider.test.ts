import { describe, expect, it } from 'vitest'
import { dueCredentials } from '../../../services/connect/postgres/tariff-credentials.ts'
import { updateAccountBrand } from '../../../services/platform/postgres/registry/accounts.ts'
import { withTenant } from '../../../services/platform/postgres/transaction.ts'
import { bandsOf, completed, directId, loginFixture, tariffsOf } from '../../support/connect/connect-fixture.ts'
import { providerPlan } from '../../support/connect/provider-app.ts'

const { begin, logIn, post, provider, service, startAtLogin } = loginFixture()

const credentials = async (accountId: string) => {
  const due = await dueCredentials(service().database.operator, Number.MAX_SAFE_INTEGER / 4_000, 1_000)
  return due.filter(one => one.accountId === accountId)
}

describe('the login at a provider', () => {
  it.each(['current', 'earlier'] as const)(
    'connects the tariff that the provider delivers, in the %s API version',
    async apiVersion => {
      const { call, token, flow, page } = await startAtLogin(apiVersion)
      const loginUrl = `${provider().loginUrl}&fp_cot=${token}`
      expect(page).toMatchObject({
        route: 'session_redirect',
        data: { redirect_url: loginUrl, ...(apiVersion === 'earlier' ? { redirect_uri: loginUrl } : {}) },
      })
      const about = await post({ connect_token: token, route: 'start_tariff_integration' })
      expect(about).toMatchObject({
        route: 'auth_metadata_capture',
        data: {
          provider: {
            display_name: 'Direct Energy',
            logo_url: expect.stringMatching(/^data:image/),
            accent_color: '#112233',
          },
          account: { display_name: 'Volt Ltd', privacy_url: null, terms_url: null },
        },
      })
      const back = await logIn(token)
      const address = `https://app.example.com/back?fp_cot=${token}`
      expect(back).toMatchObject({ route: 'session_redirect', data: { redirect_url: address } })
      expect(back.data['redirect_uri']).toBe(apiVersion === 'earlier' ? address : undefined)
      expect(provider().requests.at(-1)).toEqual({
        auth_metadata: { data: { user: 'ann', password: 'canary-secret' } },
      })
      const summary = await flow.submit('session_start')
      expect(summary.route).toBe(apiVersion === 'current' ? 'tariffs_summary' : 'summary_fixed_confirm')
      if (apiVersion === 'earlier') expect((await flow.act('SAVE')).route).toBe('session_complete')
      expect(await tariffsOf(call)).toMatchObject([
        { connection_type: 'DIRECT', is_linked: true, display_name: 'Direct Green', provider_id: directId },
      ])
      expect(await completed(call)).toHaveLength(1)
      // The tariff that the session captures next replaces the delivered one.
      const [delivered] = await tariffsOf(call)
      await flow.act('EDIT')
      await flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
      await flow.submit('tariff_structure_select', { options: ['FIXED'] })
      await flow.submit('rate_fixed_capture', { cost: 0.2 })
      if (apiVersion === 'earlier') await flow.act('SAVE')
      expect(await tariffsOf(call)).toMatchObject([
        { display_name: 'Corner Shop', contract_start_date: delivered?.['contract_start_date'] },
      ])
    },
  )

  it('shows the brand of the account and its links for privacy and terms', async () => {
    const { token, accountId } = await startAtLogin()
    const pages = {
      privacyUrl: 'https://volt.example/privacy',
      termsUrl: 'https://volt.example/terms',
      logoUrl: 'https://cdn.volt.example/logo.svg',
      brandColor: '#0a5c3e',
    }
    const tenant = { accountId, liveMode: false }
    await withTenant(service().database, tenant, ({ query }) =>
      updateAccountBrand(query, accountId, { displayName: 'Volt Ltd', ...pages }),
    )
    const about = await post({ connect_token: token, route: 'start_tariff_integration' })
    expect(about.data['account']).toEqual({
      display_name: 'Volt Ltd',
      privacy_url: pages.privacyUrl,
      terms_url: pages.termsUrl,
      logo_url: pages.logoUrl,
      brand_color: { light: '#0a5c3e', dark: expect.stringMatching(/^#[0-9a-f]{6}$/) },
    })
  })

  it('requires consent, and credentials of this session', async () => {
    const { token, accountId } = await startAtLogin()
    expect(await logIn(token, { user: 'ann' }, false)).toMatchObject({
      status: 400,
      text: expect.stringContaining('consent_missing'),
    })
    const consent = (data: object) => post({ connect_token: token, route: 'consent_capture', data })
    expect((await consent({ auth_metadata_id: 'aut_1', consent_given: true })).text).toContain('auth_metadata_invalid')
    expect((await logIn(token, {})).text).toContain('auth_metadata_invalid')
    expect(await credentials(accountId)).toEqual([])
  })

  it('reports a wrong password in the app, which can retry', async () => {
    const { token, flow } = await startAtLogin()
    provider().reply = { status: 422, body: { message: 'Wrong password' } }
    expect(await logIn(token)).toMatchObject({ route: 'failed_login', data: { message: 'Wrong password' } })
    provider().reply = { status: 200, body: providerPlan(0.2) }
    expect((await logIn(token)).route).toBe('session_redirect')
    expect((await flow.submit('session_start')).route).toBe('tariffs_summary')
  })

  it('always continues manually after it is skipped, left or refused', async () => {
    const skipped = await startAtLogin()
    expect((await skipped.flow.submit('session_start')).route).toBe('tariff_structure_select')
    const dismissed = await startAtLogin()
    const left = await post({
      connect_token: dismissed.token,
      route: 'auth_metadata_capture',
      action: 'DISMISS_DIRECT',
    })
    expect(left.route).toBe('session_redirect')
    expect((await dismissed.flow.submit('session_start')).route).toBe('tariff_structure_select')
    const another = await startAtLogin()
    await post({ connect_token: another.token, route: 'consent_capture', action: 'DISCONNECT' })
    expect((await another.flow.submit('session_start')).route).toBe('provider_select')
    const refused = await startAtLogin()
    provider().reply = { status: 400, body: {} }
    expect((await logIn(refused.token)).route).toBe('session_redirect')
    expect((await refused.flow.submit('session_start')).route).toBe('tariff_structure_select')
    expect(await credentials(refused.accountId)).toEqual([])
  })

  it('lets the person choose between accounts', async () => {
    const { token, flow } = await startAtLogin()
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
    expect(choice).toMatchObject({
      route: 'multiple_available_tariffs',
      data: { accounts: [{ id: 'a' }, { id: 'b' }] },
    })
    provider().reply = { status: 200, body: providerPlan(0.3) }
    const data = { auth_metadata_id: choice.data['auth_metadata_id'], account: { id: 'b' } }
    await post({ connect_token: token, route: 'multiple_available_tariffs', data })
    expect(provider().requests.at(-1)).toMatchObject({ auth_metadata: { reference_id: 'b' } })
    expect((await flow.submit('session_start')).route).toBe('tariffs_summary')
  })

  it('reports that there is no account to choose, and continues manually', async () => {
    const { token, flow } = await startAtLogin()
    provider().reply = { status: 200, body: { accounts: [] } }
    expect(await logIn(token)).toMatchObject({
      route: 'no_available_tariffs',
      data: { provider: { display_name: 'Direct Energy' } },
    })
    expect((await post({ connect_token: token, route: 'no_available_tariffs', action: 'DISMISS_DIRECT' })).route).toBe(
      'session_redirect',
    )
    expect((await flow.submit('session_start')).route).toBe('tariff_structure_select')
  })

  it('accepts a tariff as the body or as its member, with unknown members', async () => {
    const { token, call } = await startAtLogin()
    const more = {
      timezone: 'Europe/London',
      provider_tariff_reference: 'X1',
      provider_tariff_expiry_date: '2031-01-01T00:00:00Z',
    }
    const rate = [{ value: 0.3, to_kwh: 100 }, { value: 0.2 }]
    const data = [
      {
        months: ['All'],
        days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate }] }],
      },
    ]
    const tariff = providerPlan(0, { ...more, contract_end_date: '2031-01-01T00:00:00Z', data })
    provider().reply = { status: 200, body: { tariff } }
    expect((await logIn(token)).route).toBe('session_redirect')
    const [kept] = await tariffsOf(call)
    expect(kept).toMatchObject({ connection_type: 'DIRECT', contract_end_date: '2031-01-01T00:00:00Z' })
    expect(bandsOf(kept)).toMatchObject([{ rate: [{ fixed: 0.3, to_kwh: 100 }, { fixed: 0.2 }] }])
  })

  it('refuses with a text that an app can show, and with the token', async () => {
    const { token } = await startAtLogin('earlier')
    const refused = await post({ connect_token: token, route: 'auth_metadata_capture', data: {} })
    expect(refused.status).toBe(409)
    expect(JSON.parse(refused.text)).toMatchObject({
      code: 'auth_metadata_invalid',
      connect_token: token,
      context: 'connect.auth_metadata_capture',
      message: expect.stringMatching(/.+/),
      request_id: expect.any(String),
    })
    const { token: early } = await begin('current')
    expect((await post({ connect_token: early, route: 'start_tariff_integration' })).text).toContain('route_invalid')
  })
})
