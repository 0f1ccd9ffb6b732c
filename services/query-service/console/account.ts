import { type AccountPageName, accountPageNames, accountPagesToWire, readAccountPage } from '../../contract/account-pages.ts'
import { logoOf } from '../../contract/provider-logo.ts'
import type { Refusal } from '../../domain/refusal.ts'
import { retrieveAccount, type StoredAccount, updateAccountPages } from '../../platform/postgres/accounts.ts'
import { appendAudit } from '../../platform/postgres/audit-log.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { type Content, type Html, html } from '../reference/html.ts'
import type { Fault } from './api.ts'
import { form, type View } from './frame.ts'
import { facts, faultNotice, field, goodNotice } from './parts.ts'
import { get, post, type Route, type Visit } from './visit.ts'

type AccountMeans = { readonly database: Database }

type Addresses = Readonly<Record<AccountPageName, string | null>>

const labels: Readonly<Record<AccountPageName, string>> = {
  privacy_url: 'Privacy notice',
  terms_url: 'Terms of use',
  logo_url: 'Logo',
}

const noRight: Fault = {
  code: 'insufficient_scope',
  message: 'Sign in with a live key of scope all to change these addresses: both modes share them.',
  field: null,
}

const mayChange = ({ signedIn }: Visit): boolean => signedIn.scope === 'all' && signedIn.liveMode

/** The logo over initials, which stay if the logo cannot be loaded. */
const picture = ({ displayName, logoUrl }: StoredAccount): Html =>
  html`<img class="logo" src="${logoOf({ displayName, logoUrl: null })}" alt="" width="64" height="64"${logoUrl === null ? null : html` data-picture="${logoUrl}"`}>`

const addressOf = (address: string | null): Content =>
  address === null ? html`<span class="none">none</span>` : html`<code>${address}</code>`

const editForm = ({ csrf }: Visit, addresses: Addresses, fault: Fault | null): Html =>
  form(
    csrf,
    '/console/account',
    html`${accountPageNames.map(name =>
      field(name, labels[name], {
        value: addresses[name] ?? '',
        type: 'url',
        hint: 'https://… Leave this empty to show none.',
        fault,
      }),
    )}<button type="submit">Save addresses</button>`,
  )

const page = (
  visit: Visit,
  account: StoredAccount,
  { above = null, draft, fault = null }: { readonly above?: Content; readonly draft?: Addresses; readonly fault?: Fault | null } = {},
): View => {
  const stored = accountPagesToWire(account)
  return {
    title: 'Account',
    status: fault === null ? 200 : fault.code === noRight.code ? 403 : 400,
    images: [account.logoUrl],
    body: html`<h1>Account</h1>${above}
${facts(['Name', account.displayName], ['Account', html`<code>${account.id}</code>`])}
<section aria-labelledby="pages"><h2 id="pages">Shown in Connect</h2>
<p class="lead">The login of a supplier shows your logo and links to these pages before people hand over their tariff.</p>
${picture(account)}
${mayChange(visit) ? editForm(visit, draft ?? stored, fault) : html`${facts(...accountPageNames.map(name => [labels[name], addressOf(stored[name])] as const))}${fault === null ? html`<p class="hint">${noRight.message}</p>` : faultNotice(fault)}`}</section>`,
  }
}

const accountOf = async ({ database }: AccountMeans, { signedIn }: Visit): Promise<StoredAccount> => {
  const account = await withTenant(database, signedIn, ({ query }) => retrieveAccount(query, signedIn.accountId))
  if (account === null) throw new RangeError('an account that is signed in does not exist')
  return account
}

const save = async (means: AccountMeans, visit: Visit): Promise<View> => {
  const { signedIn, at } = visit
  const before = await accountOf(means, visit)
  if (!mayChange(visit)) return page(visit, before, { fault: noRight })
  const [privacy = '', terms = '', logo = ''] = accountPageNames.map(name => visit.form.get(name) ?? '')
  // People know the label of a field, and not the name of its member.
  const refuse = (name: AccountPageName, { code, message }: Refusal): View => {
    const fault = { code, message: `${message.replace(name, labels[name])}.`, field: name }
    return page(visit, before, { draft: { privacy_url: privacy, terms_url: terms, logo_url: logo }, fault })
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
    await withTenant(means.database, signedIn, async transaction => {
      await updateAccountPages(transaction.query, signedIn.accountId, pages)
      await appendAudit(transaction.query, transaction, {
        ...{ actor: signedIn.keyId, action: 'account.update', objectId: signedIn.accountId, detail, at },
      })
    })
  }
  return page(visit, { ...before, ...pages }, { above: goodNotice('The addresses are saved.') })
}

/**
 * The page of the account: addresses that Connect shows, changed with a live key of scope `all`.
 * Source: docs/rules/connect.md #provider-login.
 */
export const accountRoutes = (means: AccountMeans): readonly Route[] => [
  get('/console/account', async visit => page(visit, await accountOf(means, visit))),
  post('/console/account', visit => save(means, visit)),
]
