import {
  type AccountPageName,
  accountPageNames,
  accountPagesToWire,
  readAccountPage,
} from '../../contract/registry/account-pages.ts'
import { logoUrlOf } from '../../contract/registry/provider.ts'
import type { Refusal } from '../../domain/refusal.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { retrieveAccount, type StoredAccount, updateAccountPages } from '../../platform/postgres/registry/accounts.ts'
import { appendAudit } from '../../platform/postgres/registry/audit-log.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { type Content, type Html, html } from '../ui-kit/html.ts'
import type { Fault } from './api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, postRoute } from './console-request.ts'
import { form, type PageView } from './page-frame.ts'
import { errorNotice, facts, field, successNotice } from './page-parts.ts'

type AccountPageDependencies = { readonly database: Database }

type Addresses = Readonly<Record<AccountPageName, string | null>>

const labels: Readonly<Record<AccountPageName, string>> = {
  privacy_url: 'Privacy notice',
  terms_url: 'Terms of use',
  logo_url: 'Logo',
}

const notAllowed: Fault = {
  code: 'insufficient_scope',
  message: 'Sign in with a live key with scope all to change these addresses. They apply to both modes.',
  field: null,
}

const mayChange = ({ session }: ConsoleRequest): boolean => session.scope === 'all' && session.liveMode

/** Show the logo, or initials if the logo cannot be loaded. */
const logo = ({ displayName, logoUrl }: StoredAccount): Html => {
  const source = logoUrl === null ? null : html` data-picture="${logoUrl}"`
  const initials = logoUrlOf({ displayName, logoUrl: null })
  return html`<img class="logo" src="${initials}" alt="" width="64" height="64"${source}>`
}

const addressText = (address: string | null): Content =>
  address === null ? html`<span class="none">none</span>` : html`<code>${address}</code>`

const readOnlyAddresses = (addresses: Addresses, fault: Fault | null): Html =>
  html`${facts(...accountPageNames.map(name => [labels[name], addressText(addresses[name])] as const))}
${fault === null ? html`<p class="hint">${notAllowed.message}</p>` : errorNotice(fault)}`

const editForm = ({ csrf }: ConsoleRequest, addresses: Addresses, fault: Fault | null): Html =>
  form(
    csrf,
    '/console/account',
    html`${accountPageNames.map(name =>
      field(name, labels[name], {
        value: addresses[name] ?? '',
        type: 'url',
        hint: 'https://… Leave empty to remove.',
        fault,
      }),
    )}<button type="submit">Save addresses</button>`,
  )

const accountPage = (
  request: ConsoleRequest,
  account: StoredAccount,
  {
    notice = null,
    draft,
    fault = null,
  }: { readonly notice?: Content; readonly draft?: Addresses; readonly fault?: Fault | null } = {},
): PageView => {
  const stored = accountPagesToWire(account)
  return {
    title: 'Account',
    status: fault === null ? 200 : fault.code === notAllowed.code ? 403 : 400,
    images: [account.logoUrl],
    body: html`<h1>Account</h1>${notice}
${facts(['Name', account.displayName], ['ID', html`<code>${account.id}</code>`])}
<section aria-labelledby="pages"><h2 id="pages">Connect branding</h2>
<p class="lead">Connect shows your logo and links to these pages when customers log in to their supplier.</p>
${logo(account)}
${mayChange(request) ? editForm(request, draft ?? stored, fault) : readOnlyAddresses(stored, fault)}</section>`,
  }
}

const accountOf = async (
  { database }: AccountPageDependencies,
  { session }: ConsoleRequest,
): Promise<StoredAccount> => {
  const account = await withTenant(database, session, ({ query }) => retrieveAccount(query, session.accountId))
  if (account === null) throw new RangeError('The account of the session does not exist.')
  return account
}

const saveAddresses = async (dependencies: AccountPageDependencies, request: ConsoleRequest): Promise<PageView> => {
  const { session, at } = request
  const before = await accountOf(dependencies, request)
  if (!mayChange(request)) return accountPage(request, before, { fault: notAllowed })
  const [privacy = '', terms = '', logo = ''] = accountPageNames.map(name => request.form.get(name) ?? '')
  // The message must contain the label of the field instead of its API name.
  const refuse = (name: AccountPageName, { code, message }: Refusal): PageView => {
    const fault = { code, message: `${message.replace(name, labels[name])}.`, field: name }
    return accountPage(request, before, { draft: { privacy_url: privacy, terms_url: terms, logo_url: logo }, fault })
  }
  const privacyUrl = readAccountPage('privacy_url', privacy)
  if (!privacyUrl.ok) return refuse('privacy_url', privacyUrl.refusal)
  const termsUrl = readAccountPage('terms_url', terms)
  if (!termsUrl.ok) return refuse('terms_url', termsUrl.refusal)
  const logoUrl = readAccountPage('logo_url', logo)
  if (!logoUrl.ok) return refuse('logo_url', logoUrl.refusal)
  const pages = { privacyUrl: privacyUrl.value, termsUrl: termsUrl.value, logoUrl: logoUrl.value }
  const detail = { before: accountPagesToWire(before), after: accountPagesToWire(pages) }
  if (JSON.stringify(detail.before) !== JSON.stringify(detail.after)) {
    await withTenant(dependencies.database, session, async transaction => {
      await updateAccountPages(transaction.query, session.accountId, pages)
      await appendAudit(transaction.query, transaction, {
        ...{ actor: session.keyId, action: 'account.update', objectId: session.accountId, detail, at },
      })
    })
  }
  return accountPage(request, { ...before, ...pages }, { notice: successNotice('Addresses saved.') })
}

/**
 * Page of the account with the addresses that Connect shows. A live key with scope `all` can change them.
 * Source: docs/rules/connect.md #provider-login.
 */
export const accountRoutes = (dependencies: AccountPageDependencies): readonly ConsoleRoute[] => [
  getRoute('/console/account', async request => accountPage(request, await accountOf(dependencies, request))),
  postRoute('/console/account', request => saveAddresses(dependencies, request)),
]
