import { trimEnd } from '../domain/trim-end.ts'
import type { BearerTokens } from '../platform/access/bearer-token.ts'
import type { OpenIdProvider } from '../platform/access/openid-provider.ts'
import type { PeerOf } from '../platform/http/peer.ts'
import { appendAudit } from '../platform/postgres/registry/audit-log.ts'
import { withTenant } from '../platform/postgres/transaction.ts'
import { type Html, html } from '../web/ui-kit/html.ts'
import { type Fault, type FetchApi, logIn } from './api.ts'
import type { ConsoleDependencies } from './console-dependencies.ts'
import { isSecure, readOwnForm } from './forms.ts'
import { form, type PageView, pageAnswer, redirect } from './page-frame.ts'
import { errorNotice, field, foreignFormPage, problemPage } from './page-parts.ts'
import { answerLinkForm, endedLink, linkView, openLink } from './people/link-page.ts'
import {
  acceptProviderLogin,
  answerProviderCallback,
  openIdPaths,
  providerLink,
  showProviderAccept,
  startProviderSignIn,
} from './people/provider-sign-in.ts'
import { signInWithPassword, type UserSignInDependencies } from './people/sign-in-user.ts'
import { cookieFor, formToken, newToken, sessionSeconds, signIn, signOut, tokenOf } from './session.ts'

export const signInPath = '/console/sign-in'
/** Path of the form with a password. */
export const passwordPath = '/console/sign-in/password'

type SignInDraft = {
  readonly next: string
  readonly account?: string
  readonly address?: string
  readonly keyFault?: Fault
  readonly userFault?: Fault
}

/** Return the page after the sign-in. Addresses outside the console become the overview. */
const safeNext = (next: string | null): string =>
  next !== null && /^\/console(?:\/[\w/-]*)?$/.test(next) ? next : '/console'

const keyForm = (csrf: string, { account = '', next, keyFault }: SignInDraft): Html =>
  html`<section aria-labelledby="with-key"><h2 id="with-key">Sign in with a key</h2>
<p class="hint">The key determines the mode (live or test) and your permissions.</p>
${keyFault === undefined ? null : errorNotice(keyFault)}
${form(
  csrf,
  signInPath,
  html`<input type="hidden" name="next" value="${next}">
${field('account', 'Account ID', { value: account, required: true, hint: 'acc_ and 24 characters' })}
${field('key', 'API key', { type: 'password', required: true, hint: 'sk_live_… or sk_test_…' })}
<button type="submit">Sign in with key</button>`,
)}</section>`

const passwordForm = (csrf: string, { account = '', address = '', next, userFault }: SignInDraft): Html =>
  html`${userFault === undefined ? null : errorNotice(userFault)}
${form(
  csrf,
  passwordPath,
  html`<input type="hidden" name="next" value="${next}">
${field('address', 'E-mail address', { type: 'email', value: address, required: true })}
${field('password', 'Password', { type: 'password', required: true })}
${field('user_account', 'Account (optional)', { value: account, hint: 'Only if your address belongs to several accounts' })}
<button class="primary" type="submit">Sign in</button>`,
)}`

const signInView = (
  { allowsKeys, provider }: Pick<SignInDependencies, 'allowsKeys' | 'provider'>,
  csrf: string,
  draft: SignInDraft,
  status = 200,
): PageView => ({
  title: 'Sign in',
  status,
  body: html`<h1>Sign in</h1>
${passwordForm(csrf, draft)}${providerLink(provider)}
${allowsKeys ? keyForm(csrf, draft) : null}`,
})

/** `allowsKeys`: visitors may sign in with an API key. */
type SignInDependencies = UserSignInDependencies & {
  readonly fetch: FetchApi
  readonly allowsKeys: boolean
  readonly provider: OpenIdProvider | null
  readonly peerOf: PeerOf
  readonly bearerTokens: Pick<BearerTokens, 'verify'>
}

type Visitor = {
  readonly token: string
  readonly isNew: boolean
  readonly isHttps: boolean
  readonly headers: Headers
  /** Socket of the request, from the HTTP adapter. */
  readonly environment: unknown
}

const cookieOf = ({ token, isNew, isHttps }: Visitor) =>
  isNew ? { cookie: cookieFor('entry', token, { isHttps, maxAgeSeconds: null }) } : {}

/** Show the form. A visitor without a token receives one, because a form needs a token against other sites. */
const showSignIn = (dependencies: SignInDependencies, visitor: Visitor, query: URLSearchParams): Response => {
  const csrf = formToken(dependencies.secret, visitor.token)
  const signInDraft = { next: safeNext(query.get('next')) }
  return pageAnswer(signInView(dependencies, csrf, signInDraft), {
    session: null,
    csrf,
    ...cookieOf(visitor),
  })
}

const statusOfRefusal = (status: number): number => (status === 429 || status === 503 ? status : 401)

/** Create a session with the account and key of the form, or show the form with the error. */
const signInVisitor = async (
  dependencies: SignInDependencies,
  visitor: Visitor,
  postedForm: URLSearchParams,
  at: number,
): Promise<Response> => {
  const [account, key, next] = [
    postedForm.get('account')?.trim() ?? '',
    postedForm.get('key')?.trim() ?? '',
    safeNext(postedForm.get('next')),
  ]
  const csrf = formToken(dependencies.secret, visitor.token)
  const showAgain = (fault: Fault, status: number) =>
    pageAnswer(signInView(dependencies, csrf, { account, next, keyFault: fault }, status), {
      session: null,
      csrf,
    })
  const badCredentials: Fault = {
    code: 'bad_credentials',
    message: 'The account ID or the API key is wrong.',
    field: null,
  }
  const loginResult = await logIn(dependencies, { accountId: account, key }, visitor)
  if (!loginResult.ok)
    return showAgain(
      loginResult.fault.code === 'bad_credentials' ? badCredentials : loginResult.fault,
      statusOfRefusal(loginResult.status),
    )
  const claims = await dependencies.bearerTokens.verify(loginResult.value.bearer_token, at)
  if (!claims.ok) return showAgain(badCredentials, 401)
  const { expiresAt: _, ...grant } = claims.value
  const token = await signIn(dependencies, { ...grant, userGeneration: null }, at)
  await withTenant(dependencies.database, grant, transaction =>
    appendAudit(transaction.query, transaction, {
      actor: grant.keyId,
      action: 'api_key.sign_in',
      objectId: grant.keyId,
      detail: {},
      at,
    }),
  )
  return redirect(next, { cookie: sessionCookie(token, visitor) })
}

/** Create a session with the address and password of the form, or show the form with the error. */
const signInUser = async (
  dependencies: SignInDependencies,
  visitor: Visitor,
  sent: URLSearchParams,
  at: number,
): Promise<Response> => {
  const [address = '', password = '', account = ''] = ['address', 'password', 'user_account'].map(
    name => sent.get(name) ?? '',
  )
  const next = safeNext(sent.get('next'))
  const peer = dependencies.peerOf(visitor.environment, visitor.headers)
  const result = await signInWithPassword(dependencies, { address, password, account }, peer, at)
  if (result.ok) return redirect(next, { cookie: sessionCookie(result.token, visitor) })
  const csrf = formToken(dependencies.secret, visitor.token)
  const view = signInView(dependencies, csrf, { address, account, next, userFault: result.fault }, result.status)
  return pageAnswer(view, { session: null, csrf })
}

const sessionCookie = (token: string, { isHttps }: Pick<Visitor, 'isHttps'>): string =>
  cookieFor('session', token, { isHttps, maxAgeSeconds: sessionSeconds })

/** A request without a session, from the HTTP adapter. */
export type VisitorRequest = { readonly request: Request; readonly environment: unknown; readonly url: URL }

const visitorOf = ({ request, environment, url }: VisitorRequest): Visitor => {
  const token = tokenOf(request, 'entry')
  const isHttps = isSecure(request, url)
  return { token: token ?? newToken(), isNew: token === null, isHttps, headers: request.headers, environment }
}

/** Read a form of the visitor. End the session that the browser had before, so that each sign-in has a new token. */
const readVisitorForm = async (
  dependencies: SignInDependencies,
  { request }: VisitorRequest,
  visitor: Visitor,
): Promise<URLSearchParams | null> => {
  const sent = visitor.isNew ? null : await readOwnForm(request, dependencies.secret, visitor.token)
  const former = sent === null ? null : tokenOf(request, 'session')
  if (former !== null) await signOut(dependencies, former)
  return sent
}

const foreignForm = (visitor: Visitor): Response =>
  pageAnswer(foreignFormPage, { session: null, csrf: '', ...cookieOf(visitor) })

/** Answer a request of the sign-in page. */
export const answerSignIn = async (
  dependencies: SignInDependencies,
  visit: VisitorRequest,
  at: number,
): Promise<Response> => {
  const visitor = visitorOf(visit)
  if (visit.request.method !== 'POST') return showSignIn(dependencies, visitor, visit.url.searchParams)
  const sent = await readVisitorForm(dependencies, visit, visitor)
  if (sent === null) return foreignForm(visitor)
  if (trimEnd(visit.url.pathname, '/') === passwordPath) return signInUser(dependencies, visitor, sent, at)
  return dependencies.allowsKeys
    ? signInVisitor(dependencies, visitor, sent, at)
    : pageAnswer(keysNotAllowed, { session: null, csrf: '' })
}

const keysNotAllowed = problemPage('Sign in', 'The operator does not allow API keys here. Sign in as a user.', 403)

/** Answer a request of the page of an invitation or reset. */
export const answerLink = async (
  dependencies: ConsoleDependencies,
  visit: VisitorRequest,
  at: number,
): Promise<Response> => {
  const visitor = visitorOf(visit)
  const csrf = formToken(dependencies.secret, visitor.token)
  const audience = { session: null, csrf, ...cookieOf(visitor) }
  if (visit.request.method !== 'POST') {
    const token = visit.url.searchParams.get('token') ?? ''
    const link = await openLink(dependencies, token, at)
    return pageAnswer(
      link === null ? endedLink : linkView(link, { csrf, token, provider: dependencies.provider }),
      audience,
    )
  }
  const sent = await readVisitorForm(dependencies, visit, visitor)
  if (sent === null) return foreignForm(visitor)
  const answer = await answerLinkForm(dependencies, sent, { csrf, peer: peerOf(dependencies, visit) }, at)
  if ('title' in answer) return pageAnswer(answer, audience)
  if (answer.ok) return redirect('/console', { cookie: sessionCookie(answer.token, visitor) })
  return pageAnswer(problemPage('Sign in', answer.fault.message, answer.status), audience)
}

/** Return the address of the client. */
const peerOf = (
  { peerOf: find }: Pick<SignInDependencies, 'peerOf'>,
  { request, environment }: VisitorRequest,
): string => find(environment, request.headers)

/** Answer a request of the sign-in with an OpenID provider. */
export const answerProvider = async (
  dependencies: ConsoleDependencies,
  visit: VisitorRequest,
  at: number,
): Promise<Response> => {
  const { provider } = dependencies
  const visitor = visitorOf(visit)
  if (provider === null) return pageAnswer(noProvider, { session: null, csrf: '' })
  const known = { ...dependencies, provider }
  const isHttps = visitor.isHttps || isPublicHttps(dependencies)
  const request = { request: visit.request, url: visit.url, isHttps, peer: peerOf(dependencies, visit) }
  const path = trimEnd(visit.url.pathname, '/')
  if (visit.request.method === 'POST') {
    const sent = await readVisitorForm(dependencies, visit, visitor)
    return sent === null ? foreignForm(visitor) : acceptProviderLogin(known, request, at)
  }
  if (path === openIdPaths.start) return startProviderSignIn(known, request, at)
  if (path === openIdPaths.callback) return answerProviderCallback(known, request, at)
  return showProviderAccept(known, request, { token: visitor.token, ...cookieOf(visitor) }, at)
}

/** A GET has no Origin header, so the configured address shows whether browsers use HTTPS. */
const isPublicHttps = ({ publicUrl }: Pick<ConsoleDependencies, 'publicUrl'>): boolean =>
  publicUrl?.startsWith('https:') === true

const noProvider = problemPage('Sign in', 'The operator has not configured an OpenID provider.', 404)
