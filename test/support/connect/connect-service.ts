import type { Hono } from 'hono'
import { connectPages, logoUrls } from '../../../services/connect/pages/connect-page.ts'
import { openConnect } from '../../../services/connect/service/open-connect.ts'
import { currentInstant } from '../../../services/platform/clock.ts'
import { createApp } from '../../../services/platform/http/app.ts'
import type { Database } from '../../../services/platform/postgres/database.ts'
import { createAccount } from '../../../services/platform/postgres/registry/accounts.ts'
import { createApiKey } from '../../../services/platform/postgres/registry/api-keys.ts'
import { findProviders } from '../../../services/platform/postgres/registry/providers.ts'
import { pricingCache } from '../../../services/platform/pricing-cache/pricing-cache.ts'
import { timeZone } from '../../../services/platform/time-zone.ts'
import { openWorkThread } from '../../../services/platform/work-thread/work-thread.ts'
import { queryServiceOperations } from '../../../services/query-service/operations.ts'
import { workThreadOptions } from '../../../services/query-service/work-thread/run-work.ts'
import { openHttpAccess, secret } from '../http/http-access.ts'
import { checkAnswersOf } from '../openapi/documented-answers.ts'
import { leasedTurn } from '../partitions/leased-turn.ts'
import { type Answer, type Call, caller } from '../registry/service.ts'

export type ApiVersion = 'current' | 'earlier'

/** The query service with Connect on a real database, called without a port. The test sets its clock. */
export type ConnectService = {
  readonly app: Hono
  readonly database: Database
  readonly clock: { at: number }
  readonly logged: unknown[]
  readonly published: unknown[]
  /** Do the work that is due at the time of the clock. */
  readonly turn: () => Promise<boolean>
}

/** Open the HTTP API over a database. `askProvider` replaces the requests to the apps of providers. */
export const openConnectService = async (
  database: Database,
  askProvider: typeof fetch = fetch,
): Promise<ConnectService> => {
  const clock = { at: currentInstant() }
  const [logged, published]: [unknown[], unknown[]] = [[], []]
  const { dependencies: shared, ports } = openHttpAccess(database)
  const logger = { warn: (fields: unknown) => logged.push(fields), error: (fields: unknown) => logged.push(fields) }
  const dependencies = {
    ...shared,
    thread: openWorkThread(workThreadOptions),
    metering: {
      lastSeen: async () => new Map<string, number>(),
      devicesAt: async () => [],
      wasMeteredAt: async () => false,
      hasRecords: async () => false,
      countRows: async () => 0,
    },
    providersOf: (ids: readonly string[]) => findProviders(database.operator, ids),
    publishRecosts: async (requests: readonly unknown[]) => void published.push(...requests),
    announcePrices: async () => undefined,
    onReferencesChanged: () => undefined,
    validateWebhookUrl: async (url: string) => ({ ok: true as const, value: url }),
  }
  const connect = await openConnect(dependencies, {
    pricing: pricingCache(database, timeZone),
    logger: logger as never,
    fetch: askProvider,
    path: '/flow/here',
    credentialsKey: 'a key for credentials of more than thirty-two characters',
    at: () => clock.at,
  })
  const staticRoutes = ['/connect', '/flow/here'].flatMap(path =>
    connectPages(path, logoUrls({ database, secret, at: () => clock.at })),
  )
  const app = createApp([...queryServiceOperations(dependencies), ...connect.operations], staticRoutes, {
    ...ports,
    now: () => clock.at,
    log: logger,
  })
  return { app: checkAnswersOf(app), database, clock, logged, published, turn: () => connect.work.turn(leasedTurn) }
}

/** Create an account with a test-mode key. Its calls use one API version. */
export const connectAccount = async (
  { app, database, clock }: ConnectService,
  apiVersion: ApiVersion,
): Promise<{ readonly accountId: string; readonly call: Call }> => {
  const account = await createAccount(
    database.operator,
    { displayName: 'Volt Ltd', defaultApiVersion: apiVersion, requestsPerSecond: null },
    clock.at,
  )
  const tenant = { accountId: account.id, liveMode: false }
  const key = await createApiKey(database.operator, tenant, { scope: 'all', description: null }, secret, clock.at)
  const logIn = caller(app, { authorization: `Basic ${btoa(`${account.id}:${key.secret}`)}` })
  // The clock of a test can pass the expiry of a bearer token, so each call gets a new token.
  const call: Call = async (...args) => {
    const { body } = await logIn('GET', '/login')
    return caller(app, { authorization: `Bearer ${body['bearer_token']}` })(...args)
  }
  return { accountId: account.id, call }
}

/** A page as a client of Connect receives it. */
export type FlowPage = Answer & {
  readonly route: string
  readonly data: Readonly<Record<string, never>>
  readonly actions: readonly string[]
  readonly code: string
}

/** One Connect session, called like a browser, without headers of the API. */
export type Flow = {
  readonly token: string
  readonly post: (body: object, headers?: Readonly<Record<string, string>>) => Promise<FlowPage>
  readonly submit: (route: string, data?: object) => Promise<FlowPage>
  readonly act: (action: string, route?: string) => Promise<FlowPage>
}

/** Open a session by its token. Throws if an answer lacks the CORS header for all origins. */
export const openFlow = ({ app }: ConnectService, token: string, contentType = 'text/plain;charset=UTF-8'): Flow => {
  const post: Flow['post'] = async (body, headers = {}) => {
    const answer = await caller(app, { 'content-type': contentType, ...headers })(
      'POST',
      '/connect',
      JSON.stringify(body),
    )
    if (answer.headers.get('access-control-allow-origin') !== '*') throw new Error('The answer has no CORS header.')
    return { ...answer, ...(answer.body as never as Pick<FlowPage, 'route' | 'data' | 'actions' | 'code'>) }
  }
  return {
    token,
    post,
    submit: (route, data) =>
      post({ connect_token: token, route, type: 'submit', ...(data === undefined ? {} : { data }) }),
    act: (action, route) => post({ connect_token: token, action, ...(route === undefined ? {} : { route }) }),
  }
}

export const londonAddress = {
  address_line1: '10 Downing Street',
  city: 'London',
  post_code: 'SW1A 2AA',
  country_code: 'GB',
}

/** Create a Connect token in an API version, with return addresses. */
export const tokenFor = async (call: Call, apiVersion: ApiVersion, more: object = {}): Promise<string> => {
  const [path, addresses] =
    apiVersion === 'current'
      ? [
          '/connect/token',
          { connect_url: 'https://app.example.com/back', callback_url: 'https://app.example.com/done?x=1#end' },
        ]
      : ['/connect/tariff/token', { connect_web_uri: 'https://app.example.com/back', callback_uri: 'myapp://done?x=1' }]
  const answer = await call('POST', path, { ...addresses, ...more })
  if (answer.status !== 200) throw new Error(answer.text)
  return String(answer.body['connect_token'])
}
