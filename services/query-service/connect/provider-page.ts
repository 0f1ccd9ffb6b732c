import { accountOnPage, type ConnectPage } from '../../contract/connect-call.ts'
import { withToken } from '../../contract/connect-url.ts'
import { logoOf } from '../../contract/provider-logo.ts'
import { retrieveAccount } from '../../platform/postgres/accounts.ts'
import type { StoredSession } from '../../platform/postgres/connect-sessions.ts'
import type { StoredProvider } from '../../platform/postgres/providers.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import type { Found } from './change-session.ts'
import type { ConnectDependencies } from './connect-dependencies.ts'

/** One call of a provider's app: the session that it is for, and the provider. */
export type Leg = {
  readonly dependencies: ConnectDependencies
  readonly found: Found
  readonly session: StoredSession
  readonly provider: StoredProvider
}

/** A page of the login, as the app gets it. */
export const page = ({ found, session }: Leg, route: string, data: Readonly<Record<string, unknown>>): ConnectPage => {
  const { config, liveMode } = session
  const needsDirection = config.layout === 'earlier' || config.direction === 'EXPORT'
  const direction = needsDirection ? { direction: config.direction } : {}
  return {
    connect_token: found.token,
    route,
    type: config.type,
    ...direction,
    live_mode: liveMode,
    actions: ['DISMISS_DIRECT', 'DISCONNECT'],
    data,
  }
}

/** Send the browser back from the provider. */
export const redirect = (leg: Leg): ConnectPage => {
  const { connectUrl, callbackUrl } = leg.session.request
  const address = withToken(connectUrl ?? callbackUrl, leg.found.token)
  const data = leg.session.config.layout === 'earlier' ? { redirect_url: address, redirect_uri: address } : { redirect_url: address }
  return { ...page(leg, 'session_redirect', data), actions: [] }
}

/** What the app shows of provider and account. */
export const aboutBoth = async ({ dependencies, found, provider }: Leg): Promise<Readonly<Record<string, unknown>>> => {
  const account = await withTenant(dependencies.database, found.tenant, ({ query }) => retrieveAccount(query, found.tenant.accountId))
  const accent = provider.direct?.accentColor ?? null
  return {
    provider: { display_name: provider.displayName, logo_url: logoOf(provider), ...(accent === null ? {} : { accent_color: accent }) },
    account: accountOnPage(account),
  }
}
