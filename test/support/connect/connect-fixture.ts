import { afterAll, beforeAll, beforeEach } from 'vitest'
import { putProviders } from '../../../services/platform/postgres/registry/providers.ts'
import { type Call, listed } from '../registry/service.ts'
import { openTestDatabase, type TestDatabase } from '../stores/postgres.ts'
import {
  type ApiVersion,
  type ConnectService,
  connectAccount,
  type Flow,
  type FlowPage,
  londonAddress,
  openConnectService,
  openFlow,
  tokenFor,
} from './connect-service.ts'
import { type ProviderApp, type ProviderPage, providerPlan, startProviderApp } from './provider-app.ts'

export const apiVersions = ['current', 'earlier'] as const

/** Options that show all optional pages. */
export const allRoutes = { advanced_tariff_capture: true, tariff_name_capture: true, contract_term_capture: true }

/** Names of some pages in an API version. */
export const routesOf = (apiVersion: ApiVersion) =>
  apiVersion === 'current'
    ? {
        summary: 'tariffs_summary',
        fixedSummary: 'tariffs_summary',
        surcharge: 'surcharge_capture',
        end: 'session_redirect',
      }
    : {
        summary: 'summary_tou_confirm',
        fixedSummary: 'summary_fixed_confirm',
        surcharge: 'market_surcharge_capture',
        end: 'session_complete',
      }

type ProviderList = readonly { readonly id: string; readonly display_name: string }[]

/** Return the id of the provider with a name. Empty if there is none. */
export const providerNamed = ({ data }: FlowPage, name: string): string =>
  (data['providers'] as unknown as ProviderList).find(one => one.display_name === name)?.id ?? ''

/** Return the only location of an account. */
export const locationOf = async (call: Call): Promise<Readonly<Record<string, unknown>>> =>
  listed(await call('GET', '/locations'))[0] ?? {}

/** Return the active tariffs of the only location of an account, in the current API version. */
export const tariffsOf = async (call: Call) =>
  listed(
    await call('GET', `/tariffs?location_id=${(await locationOf(call))['id']}`, undefined, {
      'api-version': '2025-09-14',
    }),
  )

/** Return the time bands of the first schedule entry of a tariff. */
export const bandsOf = (tariff: Readonly<Record<string, unknown>> | undefined) =>
  (tariff?.['schedule'] as { days_and_hours: { hours: object[] }[] }[] | undefined)?.[0]?.days_and_hours[0]?.hours

export const eventsOf = async (call: Call, type: string) => listed(await call('GET', `/events?event_type=${type}`))
export const completed = (call: Call) => eventsOf(call, 'connect_session.complete')

/** Retrieve a session as the account that created its token. */
export const retrieve = (call: Call, apiVersion: ApiVersion, token: string) =>
  call('GET', `${apiVersion === 'current' ? '/connect/token' : '/connect/tariff/token'}?connect_token=${token}`)

/** Go to the page that asks for the tariff structure. The supplier has a name only. */
export const goToStructure = async (flow: Flow): Promise<FlowPage> => {
  await flow.submit('session_start')
  const providers = await flow.submit('postal_address_capture', { postal_address: londonAddress })
  return flow.submit('provider_select', { provider: { id: providerNamed(providers, 'Ecotricity') } })
}

/** Go to the page that asks for the prices of a structure. */
export const goToRate = async (flow: Flow, structure: string): Promise<FlowPage> => {
  await goToStructure(flow)
  return flow.submit('tariff_structure_select', { options: [structure] })
}

type Session = { readonly call: Call; readonly flow: Flow; readonly token: string; readonly accountId: string }

export type ConnectFixture = {
  readonly service: () => ConnectService
  /** Start a session of a new account at a new location, with all pages. Each API version has its own media type. */
  readonly begin: (apiVersion: ApiVersion, more?: object) => Promise<Session>
  /** Start another session of an account. */
  readonly openSession: (call: Call, apiVersion: ApiVersion, more?: object) => Promise<Flow>
  /** Save a fixed price in a new session of a new account. */
  readonly saveFixed: (apiVersion: ApiVersion, cost: number, more?: object) => Promise<Session>
}

let references = 0

/** Open a service with Connect before the tests of a file. Close it after the tests. */
export const connectFixture = (askProvider?: typeof fetch): ConnectFixture => {
  let store: TestDatabase | undefined
  let openedService: ConnectService | undefined
  beforeAll(async () => {
    store = await openTestDatabase()
    openedService = await openConnectService(store.database, askProvider)
  })
  afterAll(async () => {
    await store?.[Symbol.asyncDispose]()
  })
  const service = (): ConnectService => {
    if (openedService === undefined) throw new Error('The service is not open.')
    return openedService
  }
  const contentTypes = { current: 'text/plain;charset=UTF-8', earlier: 'application/json' }
  const begin: ConnectFixture['begin'] = async (apiVersion, more = {}) => {
    const { call, accountId } = await connectAccount(service(), apiVersion)
    references += 1
    const token = await tokenFor(call, apiVersion, {
      location_reference_id: `home-${references}`,
      route_options: allRoutes,
      ...more,
    })
    return { call, token, accountId, flow: openFlow(service(), token, contentTypes[apiVersion]) }
  }
  return {
    service,
    begin,
    openSession: async (call, apiVersion, more = {}) =>
      openFlow(service(), await tokenFor(call, apiVersion, more), contentTypes[apiVersion]),
    saveFixed: async (apiVersion, cost, more = {}) => {
      const session = await begin(apiVersion, { route_options: {}, ...more })
      await goToRate(session.flow, 'FIXED')
      const shown = await session.flow.submit('rate_fixed_capture', { cost })
      if (apiVersion === 'earlier') await session.flow.act('SAVE', shown.route)
      return session
    },
  }
}

/** A supplier whose tariff is fetched after a login. */
export const directId = `prv_${'d'.repeat(24)}`
/** Another supplier of the same app. */
export const otherDirectId = `prv_${'e'.repeat(24)}`

export type LoginFixture = ConnectFixture & {
  /** The app of both suppliers, over real HTTP. */
  readonly provider: () => ProviderApp
  /** Post as the app does. */
  readonly post: (body: object) => Promise<ProviderPage>
  /** Log a person in through the app. */
  readonly logIn: (token: string, form?: object, consent?: boolean) => Promise<ProviderPage>
  /** Start a session of a new account and go to the login page. */
  readonly startAtLogin: (apiVersion?: ApiVersion, more?: object) => Promise<Session & { readonly page: FlowPage }>
  /** Start another session of an account and go to the login page. */
  readonly openAtLogin: (call: Call, more?: object) => Promise<{ readonly token: string; readonly flow: Flow }>
}

/**
 * Open a fixture with two suppliers that require a login. Before each test, their app is set to answer with a tariff.
 */
export const loginFixture = (): LoginFixture => {
  const fixture = connectFixture()
  let app: ProviderApp | undefined
  const provider = (): ProviderApp => {
    if (app === undefined) throw new Error('The app has not started.')
    return app
  }
  // The app calls the service without a port. The app itself listens on a real port.
  const postInside = async (_: string, body: object): Promise<ProviderPage> => {
    const answer = await fixture.service().app.request('/connect', { method: 'POST', body: JSON.stringify(body) })
    const text = await answer.text()
    const page = JSON.parse(text)
    return { status: answer.status, text, route: page.route ?? '', data: page.data ?? {} }
  }
  beforeAll(async () => {
    app = await startProviderApp(postInside)
    const direct = { loginUrl: app.loginUrl, appUrl: app.url, accentColor: '#112233' }
    const base = { logoUrl: null, countries: ['GB'], addressTypes: [], direct }
    const providers = [
      { ...base, id: directId, displayName: 'Direct Energy' },
      { ...base, id: otherDirectId, displayName: 'Other Energy' },
    ]
    await putProviders(fixture.service().database.operator, providers, 0)
  })
  afterAll(async () => {
    await app?.[Symbol.asyncDispose]()
  })
  beforeEach(() => {
    provider().reply = { status: 200, body: providerPlan(0.2455) }
  })
  const choose = async (flow: Flow): Promise<FlowPage> => {
    await flow.submit('session_start')
    return flow.submit('provider_select', { provider: { id: directId } })
  }
  return {
    ...fixture,
    provider,
    post: body => postInside('', body),
    logIn: (token, form = { user: 'ann', password: 'canary-secret' }, consent = true) =>
      provider().logIn('', token, form, consent),
    startAtLogin: async (apiVersion = 'current', more = {}) => {
      const session = await fixture.begin(apiVersion, { route_options: {}, postal_address: londonAddress, ...more })
      return { ...session, page: await choose(session.flow) }
    },
    openAtLogin: async (call, more = {}) => {
      const location = await locationOf(call)
      const flow = await fixture.openSession(call, 'current', { location_id: location['id'], ...more })
      await choose(flow)
      return { token: flow.token, flow }
    },
  }
}
