import { setTimeout as sleep } from 'node:timers/promises'
import { accountOverviewRetrieve } from '../contract/registry/account-overview.ts'
import type { BearerTokens, TokenGrant } from '../platform/access/bearer-token.ts'
import type { Database } from '../platform/postgres/database.ts'
import { listConsoleTenants } from '../platform/postgres/registry/console-sessions.ts'
import type { Logger } from '../platform/telemetry/logger.ts'
import { apiCallsOf, apiFor, type FetchApi } from './api.ts'
import type { ConsoleRequest } from './console-request.ts'
import { costRoutes, costSumsPath } from './costs/cost-pages.ts'
import { dayOf, zoneOf } from './kit/dates.ts'
import { overviewCostsPath, overviewRoutes } from './overview/overview.ts'

type WarmDependencies = {
  readonly database: Pick<Database, 'operator'>
  readonly bearerTokens: BearerTokens
  /** The API of this service. */
  readonly fetch: FetchApi
  /** Return the current time in ms. */
  readonly at: () => number
  readonly logger: Pick<Logger, 'warn'>
}

/** Time in ms after the start: the service answers requests first. */
const delayMs = 3_000
/** Maximum number of accounts: warming one with a million records takes about a second of CPU time. */
const maxTenants = 5

const routes = [...overviewRoutes, ...costRoutes]

/** Create the pages that people open first, as a request of a session would. They are not sent. */
const warmTenant = async (
  { fetch, bearerTokens, at: now }: WarmDependencies,
  subject: TokenGrant,
  signal: AbortSignal,
): Promise<void> => {
  const at = now()
  const api = apiFor({ fetch, sign: one => bearerTokens.sign(one, at) }, subject, [])
  const calls = apiCallsOf(api)
  const overview = await calls.call(accountOverviewRetrieve, {})
  if (!overview.ok) return
  const day = dayOf(zoneOf(overview.value.timezone), at)
  const session: ConsoleRequest['session'] = { ...subject, scope: 'read', defaultApiVersion: 'current', user: null }
  const noForm = { ids: [], form: new URLSearchParams(), csrf: '', origin: null, peer: '', token: '' }
  const noQuery = new URLSearchParams()
  const days = [day, day - 1].map(start => costSumsPath(noQuery, { start, end: start + 1 }, 'HOUR'))
  const addresses = ['/console', overviewCostsPath(overview.value), '/console/costs', costSumsPath(noQuery), ...days]
  for (const address of addresses) {
    signal.throwIfAborted()
    const [path = '', query = ''] = address.split('?')
    const route = routes.find(one => one.path === path)
    await route?.answer({ ...noForm, session, ...calls, path, query: new URLSearchParams(query), at })
  }
}

/**
 * Warm the pages of the accounts with a session once, some seconds after the start: their first load reads cold stores and
 * adds up all records of two months. Other accounts wait for the sums at their first load. Disposal ends the work.
 */
export const startWarming = (dependencies: WarmDependencies): AsyncDisposable => {
  const stop = new AbortController()
  const work = async (): Promise<void> => {
    await sleep(delayMs, undefined, { ref: false, signal: stop.signal })
    const tenants = await listConsoleTenants(dependencies.database.operator, dependencies.at())
    for (const tenant of tenants.slice(0, maxTenants)) await warmTenant(dependencies, tenant, stop.signal)
  }
  const warming = work().catch((error: unknown) => {
    if (!stop.signal.aborted) dependencies.logger.warn({ err: error }, 'Console pages not warmed')
  })
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      await warming
    },
  }
}
