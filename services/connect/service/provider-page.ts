import { logoUrlOf } from '../../contract/registry/provider.ts'
import { retrieveAccount } from '../../platform/postgres/registry/accounts.ts'
import type { StoredProvider } from '../../platform/postgres/registry/providers.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { accountOnPage, type ConnectPage } from '../contract/connect-call.ts'
import type { StoredSession } from '../postgres/connect-sessions.ts'
import type { FoundSession } from './change-session.ts'
import type { ConnectDependencies } from './connect-dependencies.ts'
import { createPage, redirectData } from './draw-page.ts'

/** Call of a provider's app, with its session and provider. */
export type ProviderLoginContext = {
  readonly dependencies: ConnectDependencies
  readonly found: FoundSession
  readonly session: StoredSession
  readonly provider: StoredProvider
}

/** Create a page of the login for the app. */
export const providerPage = (
  { found, session }: ProviderLoginContext,
  route: string,
  data: Readonly<Record<string, unknown>>,
): ConnectPage => createPage(session, found.token, { route, actions: ['DISMISS_DIRECT', 'DISCONNECT'], data })

/** Create the page that sends the browser back from the provider. */
export const redirectPage = (context: ProviderLoginContext): ConnectPage => {
  const { session, found } = context
  const { connectUrl, callbackUrl } = session.request
  const data = redirectData(connectUrl ?? callbackUrl, session, found.token)
  return { ...providerPage(context, 'session_redirect', data), actions: [] }
}

/** Return the provider and the account that the app displays. */
export const providerAndAccount = async ({
  dependencies,
  found,
  provider,
}: ProviderLoginContext): Promise<Readonly<Record<string, unknown>>> => {
  const account = await withTenant(dependencies.database, found.tenant, ({ query }) =>
    retrieveAccount(query, found.tenant.accountId),
  )
  const accentColor = provider.direct?.accentColor ?? null
  return {
    provider: {
      display_name: provider.displayName,
      logo_url: logoUrlOf(provider),
      ...(accentColor === null ? {} : { accent_color: accentColor }),
    },
    account: accountOnPage(account),
  }
}
