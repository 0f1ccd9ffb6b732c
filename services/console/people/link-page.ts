import type { LinkPurpose } from '../../domain/user/user.ts'
import type { OpenIdProvider } from '../../platform/access/openid-provider.ts'
import { appendAudit } from '../../platform/postgres/registry/audit-log.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { type FoundLink, findUserLink, spendUserLink } from '../../platform/postgres/users/user-links.ts'
import { type SignInUser, setUserPassword } from '../../platform/postgres/users/user-sign-in.ts'
import { html } from '../../web/ui-kit/html.ts'
import type { Fault } from '../api.ts'
import type { ConsoleDependencies } from '../console-dependencies.ts'
import { form, type PageView } from '../page-frame.ts'
import { problemPage, signInLink } from '../page-parts.ts'
import { newPasswordFields, readNewPassword } from './new-password.ts'
import { type SignInResult, startUserSession } from './sign-in-user.ts'

/** Paths of the pages of links, by purpose. */
export const linkPaths = ['/console/invitation', '/console/reset'] as const

const titles: Readonly<Record<LinkPurpose, string>> = {
  invitation: 'Accept invitation',
  reset: 'Set new password',
}

/** Page of a link that was used, replaced or has expired. */
export const endedLink: PageView = problemPage(
  'Link not valid',
  'This link was used, was replaced by a newer link, or is older than 72 h. Ask an owner of the account for a new link.',
  404,
  signInLink,
)

const tokenPattern = /^[0-9a-f]{32}$/

/** Find the open link of a token. Null if the link has ended. */
export const openLink = (
  { database, secret }: Pick<ConsoleDependencies, 'database' | 'secret'>,
  token: string,
  at: number,
): Promise<FoundLink | null> =>
  tokenPattern.test(token) ? findUserLink(database.operator, secret, token, at) : Promise.resolve(null)

/** Form of a link. Loading the page does not use the link. */
export const linkView = (
  { address, accountId, purpose }: FoundLink,
  {
    csrf,
    token,
    fault = null,
    provider = null,
  }: {
    readonly csrf: string
    readonly token: string
    readonly fault?: Fault | null
    readonly provider?: Pick<OpenIdProvider, 'name'> | null
  },
): PageView => ({
  title: titles[purpose],
  status: fault === null ? 200 : 400,
  body: html`<h1>${titles[purpose]}</h1>
<p class="lead">Choose a password for ${address} in account <code>${accountId}</code>.${
    purpose === 'reset' ? ' It replaces the password and the provider login that you had.' : null
  }</p>
${form(
  csrf,
  `/console/${purpose}`,
  html`<input type="hidden" name="token" value="${token}">
${newPasswordFields(fault)}
<button class="primary" type="submit">${titles[purpose]}</button>`,
)}${
  provider === null
    ? null
    : html`<p class="actions"><a class="button" href="/console/oidc/start?token=${token}">Continue with ${provider.name}</a></p>`
}`,
})

/**
 * Use a link: change the user with `changeUser`, write the audit entry and start a session, in one transaction until
 * the session. Returns null if the link has ended, also for the second of two concurrent forms.
 */
export const useLink = async (
  dependencies: ConsoleDependencies,
  link: FoundLink,
  token: string,
  changeUser: Parameters<typeof withTenant<SignInUser | null>>[2],
  { peer, at }: { readonly peer: string; readonly at: number },
): Promise<SignInResult | null> => {
  const user = await withTenant(dependencies.database, link, async transaction => {
    if (!(await spendUserLink(transaction, dependencies.secret, { userId: link.userId, token }, at))) return null
    const changed = await changeUser(transaction)
    if (changed === null) return null
    const action = link.purpose === 'invitation' ? 'user.accept' : 'user.change_password'
    await appendAudit(transaction.query, transaction, {
      actor: changed.id,
      action,
      objectId: changed.id,
      detail: { purpose: link.purpose },
      at,
    })
    return changed
  })
  return user === null ? null : startUserSession(dependencies, user, { method: 'link', peer }, at)
}

/** Answer the form of a link: set the password and sign in. */
export const answerLinkForm = async (
  dependencies: ConsoleDependencies,
  sent: URLSearchParams,
  { csrf, peer }: { readonly csrf: string; readonly peer: string },
  at: number,
): Promise<PageView | SignInResult> => {
  const token = sent.get('token') ?? ''
  const link = await openLink(dependencies, token, at)
  if (link === null) return endedLink
  const password = readNewPassword(sent, link.address)
  const { provider } = dependencies
  if (!password.ok) return linkView(link, { csrf, token, fault: password.fault, provider })
  const passwordHash = await dependencies.passwords.hash(password.value)
  const setPassword = (transaction: Parameters<typeof setUserPassword>[0]) =>
    setUserPassword(transaction, link.userId, { passwordHash, replacesLogins: true }, at)
  return (await useLink(dependencies, link, token, setPassword, { peer, at })) ?? endedLink
}
