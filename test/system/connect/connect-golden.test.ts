import { beforeAll, describe, expect, it } from 'vitest'
import { putProviders } from '../../../services/platform/postgres/registry/providers.ts'
import { allRoutes, apiVersions, connectFixture } from '../../support/connect/connect-fixture.ts'
import {
  type ApiVersion,
  connectAccount,
  type Flow,
  type FlowPage,
  londonAddress,
  openFlow,
  tokenFor,
} from '../../support/connect/connect-service.ts'
import { goldenText } from '../../support/golden.ts'
import type { Call } from '../../support/registry/service.ts'

const { service } = connectFixture(async () => {
  throw new TypeError('fetch failed')
})

const provider = {
  id: 'prv_0198c0ffee00112233445566',
  displayName: 'Golden Power',
  logoUrl: 'https://logos.example.com/golden.svg',
  countries: ['IS'],
  addressTypes: [],
  direct: null,
}
const direct = {
  ...provider,
  id: 'prv_0198c0ffee00112233445577',
  displayName: 'Login Power',
  direct: { loginUrl: 'https://login.example.com/in', appUrl: 'https://login.example.com', accentColor: null },
}

beforeAll(async () => {
  service().clock.at = Date.UTC(2026, 6, 15, 12)
  await putProviders(service().database.operator, [provider, direct], 0)
})

const reykjavik = { address_line1: 'Austurvöllur 1', city: 'Reykjavík', post_code: '101', country_code: 'IS' }

const written = ({ text }: FlowPage): string =>
  goldenText(text)
    .replace(/cot_[0-9a-f]{32}/g, 'cot_…')
    .replace(/"request_id": "[^"]+"/g, '"request_id": "…"')

const openSession = async (call: Call, apiVersion: ApiVersion, more: object = {}): Promise<Flow> =>
  openFlow(
    service(),
    await tokenFor(call, apiVersion, { location_reference_id: 'golden', route_options: allRoutes, ...more }),
  )

const begin = async (apiVersion: ApiVersion, more: object = {}): Promise<Flow> =>
  openSession((await connectAccount(service(), apiVersion)).call, apiVersion, more)

const choose = (flow: Flow): Promise<FlowPage> => flow.submit('provider_select', { provider: { id: provider.id } })

/** Visit every page once. Returns each page by the name of its content. */
const visitPages = async (apiVersion: ApiVersion): Promise<ReadonlyMap<string, FlowPage>> => {
  const pages = new Map<string, FlowPage>()
  const keep = async (name: string, page: Promise<FlowPage>): Promise<void> => void pages.set(name, await page)
  // The session leaves this summary for another summary, which needs edit_tariff.
  const flow = await begin(apiVersion, { postal_address: { country_code: 'IS' }, actions: { edit_tariff: true } })
  await keep('address', flow.submit('session_start'))
  await keep('refusal', flow.submit('postal_address_capture', { postal_address: { ...reykjavik, city: ' ' } }))
  await keep('provider', flow.submit('postal_address_capture', { postal_address: reykjavik }))
  await keep('provider_name', flow.act('PROVIDER_MISSING'))
  await keep('structure', choose(flow))
  await keep('advanced', flow.submit('tariff_structure_select', { options: ['ADVANCED'] }))
  await keep('time_of_day', flow.submit('tariff_structure_select', { options: ['TIME_OF_DAY'] }))
  await keep('fixed', flow.submit('tariff_structure_select', { options: ['FIXED'] }))
  await keep('name', flow.submit('rate_fixed_capture', { cost: 0.2455 }))
  await keep('term', flow.submit('tariff_name_capture', { tariff: { name: 'Gold' } }))
  await keep('summary_fixed', flow.submit('contract_term_capture'))
  await flow.submit('rate_tod_capture')
  await flow.submit('tariff_structure_select', { options: ['TIME_OF_DAY'] })
  const hours = [
    { cost: 0.1, valid_from: '23:30:00', valid_to: '07:00:00' },
    { cost: 0.3, valid_from: '07:00:00', valid_to: '23:30:00' },
  ]
  await flow.submit('rate_tod_capture', { hours })
  await keep('summary', flow.submit('contract_term_capture'))
  await keep('end', apiVersion === 'current' ? flow.act('CLOSE') : flow.act('SAVE'))
  const market = await begin(apiVersion, { postal_address: londonAddress })
  await market.submit('session_start')
  await market.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
  await keep('surcharge', market.submit('tariff_structure_select', { options: ['MARKET'] }))
  const { call } = await connectAccount(service(), apiVersion)
  const loginFlow = await openSession(call, apiVersion, { postal_address: reykjavik })
  await loginFlow.submit('session_start')
  await keep('login', loginFlow.submit('provider_select', { provider: { id: direct.id } }))
  await keep('login_start', loginFlow.submit('start_tariff_integration'))
  const asks = await loginFlow.submit('auth_metadata_capture', { user: 'ann' })
  await loginFlow.submit('consent_capture', { auth_metadata_id: asks.data['auth_metadata_id'], consent_given: true })
  await keep('pending', loginFlow.submit('session_restore'))
  service().clock.at += 3_600_000
  await service().turn()
  service().clock.at += 48 * 3_600_000
  await service().turn()
  const later = await openSession(call, apiVersion)
  await keep('failed', later.submit('session_restore'))
  service().clock.at -= 49 * 3_600_000
  return pages
}

describe.each(apiVersions)('the pages of the %s API version', apiVersion => {
  it('equal the published pages', async () => {
    for (const [name, page] of await visitPages(apiVersion)) {
      await expect(written(page)).toMatchFileSnapshot(`../../golden/${apiVersion}/connect_${name}.json`)
    }
  })

  it('and the token equals the published token', async () => {
    const { call } = await connectAccount(service(), apiVersion)
    const [path, addresses] =
      apiVersion === 'current'
        ? ['/connect/token', { connect_url: 'https://a.example.com', callback_url: 'https://a.example.com/done' }]
        : ['/connect/tariff/token', { callback_uri: 'https://a.example.com/done' }]
    const { text } = await call('POST', path, { ...addresses, location_reference_id: 'golden' })
    await expect(goldenText(text).replace(/cot_[0-9a-f]{32}/g, 'cot_…')).toMatchFileSnapshot(
      `../../golden/${apiVersion}/connect_token.json`,
    )
  })
})
