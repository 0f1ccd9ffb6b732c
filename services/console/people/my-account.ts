import { writeInstant } from '../../domain/instant.ts'
import type { Tenant } from '../../domain/tenant.ts'
import { appendAudit } from '../../platform/postgres/registry/audit-log.ts'
import { listUserSessions } from '../../platform/postgres/registry/console-sessions.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { endUserSessions, retrieveSignInUser, setUserPassword } from '../../platform/postgres/users/user-sign-in.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import type { Fault } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, postRoute } from '../console-request.ts'
import { type Column, dataTable } from '../kit/data-table.ts'
import { form, type PageResult, type PageView } from '../page-frame.ts'
import { errorNotice, facts, field, instant, problemPage } from '../page-parts.ts'
import { type SessionUser, switchMode } from '../session.ts'
import { newPasswordFields, readNewPassword } from './new-password.ts'
import { startUserSession, type UserSignInDependencies } from './sign-in-user.ts'

const path = '/console/me'

const noUser = problemPage('Your account', 'You signed in with an API key. Sign in as a user to see this page.', 404)

const ownTenant = ({ session }: ConsoleRequest, user: SessionUser): Tenant => ({
  accountId: session.accountId,
  liveMode: user.liveMode,
})

const passwordForm = ({ csrf }: ConsoleRequest, hasPassword: boolean, fault: Fault | null): Html =>
  html`<section aria-labelledby="password-heading"><h2 id="password-heading">Password</h2>
<p class="hint">A new password ends all your other sessions, and open reset links.</p>
${fault !== null && fault.field === null ? errorNotice(fault) : null}
${form(
  csrf,
  `${path}/password`,
  html`${hasPassword ? field('current', 'Current password', { type: 'password', required: true, fault }) : null}
${newPasswordFields(fault)}
<button type="submit">Change password</button>`,
)}</section>`

const modeForm = ({ csrf, session }: ConsoleRequest): Html =>
  form(
    csrf,
    `${path}/mode`,
    html`<button class="quiet" type="submit">Switch to ${session.liveMode ? 'test' : 'live'} mode</button>`,
    'inline',
  )

type UserSession = Awaited<ReturnType<typeof listUserSessions>>[number]

const sessionColumns: readonly Column<UserSession>[] = [
  {
    key: 'time_created',
    name: 'Signed in',
    text: one => writeInstant(one.createdAt),
    show: one => instant(writeInstant(one.createdAt)),
  },
  {
    key: 'time_expires',
    name: 'Ends',
    text: one => writeInstant(one.expiresAt),
    show: one => instant(writeInstant(one.expiresAt)),
  },
  { key: 'mode', name: 'Mode', text: one => (one.liveMode ? 'live' : 'test') },
]

const showAccount = async (
  { database }: UserSignInDependencies,
  request: ConsoleRequest,
  fault: Fault | null = null,
  status = 200,
): Promise<PageView> => {
  const { session, at, csrf } = request
  const { user } = session
  if (user === null) return noUser
  const stored = await withTenant(database, ownTenant(request, user), transaction =>
    retrieveSignInUser(transaction, user.id),
  )
  const sessions = await listUserSessions(database.operator, session, at)
  const table = dataTable(
    { path, query: request.query },
    { id: 'sessions', label: 'Sessions', columns: sessionColumns, items: sessions, empty: 'No sessions.' },
  )
  return {
    title: 'Your account',
    status,
    tables: [table],
    body: html`<h1>Your account</h1>
${facts(
  ['Address', user.address],
  ['ID', html`<code>${user.id}</code>`],
  ['Role', session.scope === 'all' ? 'owner' : session.scope],
  ['Mode', session.liveMode ? 'live' : 'test'],
)}
${user.liveMode ? html`<div class="actions">${modeForm(request)}</div>` : null}
${passwordForm(request, stored?.passwordHash !== null, fault)}
<section aria-labelledby="sessions-heading"><h2 id="sessions-heading">Sessions</h2>
${table.markup}
<div class="actions">${form(csrf, `${path}/sign-out`, html`<button class="danger" type="submit">Sign out everywhere</button>`, 'inline')}</div></section>`,
  }
}

const wrongCurrent: Fault = { code: 'bad_credentials', message: 'The current password is wrong.', field: 'current' }
const tooMany: Fault = { code: 'rate_limited', message: 'Too many passwords were wrong. Wait a minute.', field: null }

/** Verify the current password of a user. Null if it is right. */
const checkCurrent = async (
  { throttle, passwords }: UserSignInDependencies,
  { form: sent, peer }: ConsoleRequest,
  { address }: SessionUser,
  passwordHash: string | null,
): Promise<Fault | null> => {
  if (passwordHash === null) return null
  const attempt = await throttle.begin(peer, address)
  if (attempt === null) return tooMany
  if (!(await passwords.verify(sent.get('current') ?? '', passwordHash))) return wrongCurrent
  await attempt.succeed()
  return null
}

/** Change the password. All sessions end, and the browser gets a new one. */
const changePassword = async (dependencies: UserSignInDependencies, request: ConsoleRequest): Promise<PageResult> => {
  const { session, at } = request
  const { user } = session
  if (user === null) return noUser
  const tenant = ownTenant(request, user)
  const before = await withTenant(dependencies.database, tenant, transaction =>
    retrieveSignInUser(transaction, user.id),
  )
  if (before === null) return noUser
  const password = readNewPassword(request.form, user.address)
  if (!password.ok) return showAccount(dependencies, request, password.fault, 400)
  const fault = await checkCurrent(dependencies, request, user, before.passwordHash)
  if (fault !== null) return showAccount(dependencies, request, fault, fault === tooMany ? 429 : 400)
  const passwordHash = await dependencies.passwords.hash(password.value)
  const changed = await withTenant(dependencies.database, tenant, async transaction => {
    const updated = await setUserPassword(transaction, user.id, { passwordHash, replacesLogins: false }, at)
    await appendAudit(transaction.query, transaction, {
      actor: user.id,
      action: 'user.change_password',
      objectId: user.id,
      detail: {},
      at,
    })
    return updated
  })
  const proof = { method: 'password', peer: request.peer } as const
  const started = changed === null ? null : await startUserSession(dependencies, changed, proof, at)
  return { to: `${path}?done=saved`, sessionToken: started?.ok === true ? started.token : null }
}

const signOutEverywhere = async (
  { database }: UserSignInDependencies,
  request: ConsoleRequest,
): Promise<PageResult> => {
  const { session, at } = request
  const { user } = session
  if (user === null) return noUser
  await withTenant(database, ownTenant(request, user), async transaction => {
    await endUserSessions(transaction, user.id)
    await appendAudit(transaction.query, transaction, {
      actor: user.id,
      action: 'user.end_sessions',
      objectId: user.id,
      detail: {},
      at,
    })
  })
  return { to: '/console/sign-in', sessionToken: null }
}

/** Move the session to the other mode. The audit entry is in the mode that the user enters. */
const changeMode = async (
  dependencies: UserSignInDependencies,
  { session, token, at }: ConsoleRequest,
): Promise<PageResult> => {
  const { accountId, keyId, liveMode } = session
  const sessionToken = await switchMode(dependencies, token, at)
  if (sessionToken === null) return { to: path }
  const entered = { accountId, liveMode: !liveMode }
  const detail = { from: liveMode ? 'live' : 'test', to: liveMode ? 'test' : 'live' }
  await withTenant(dependencies.database, entered, transaction =>
    appendAudit(transaction.query, transaction, {
      actor: keyId,
      action: 'user.switch_mode',
      objectId: keyId,
      detail,
      at,
    }),
  )
  return { to: '/console', sessionToken }
}

/**
 * Page of the user who signed in: password, mode and sessions.
 * Source: docs/rules/users.md #sessions.
 */
export const myAccountRoutes = (dependencies: UserSignInDependencies): readonly ConsoleRoute[] => [
  getRoute(path, request => showAccount(dependencies, request)),
  postRoute(`${path}/password`, request => changePassword(dependencies, request)),
  postRoute(`${path}/mode`, request => changeMode(dependencies, request)),
  postRoute(`${path}/sign-out`, request => signOutEverywhere(dependencies, request)),
]
