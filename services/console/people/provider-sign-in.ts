import type { OpenIdIdentity, OpenIdProvider, OpenIdRequest } from '../../platform/access/openid-provider.ts'
import { type Seal, sealWith } from '../../platform/access/seal.ts'
import type { Secret } from '../../platform/access/secrets.ts'
import { brokenConstraint } from '../../platform/postgres/postgres-failure.ts'
import { findUserByProvider, setUserProvider } from '../../platform/postgres/users/user-sign-in.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import type { ConsoleDependencies } from '../console-dependencies.ts'
import { continueAnswer, form, type PageView, pageAnswer, redirect } from '../page-frame.ts'
import { problemPage, signInLink } from '../page-parts.ts'
import { cookieFor, formToken, openIdCookie, sessionSeconds } from '../session.ts'
import { endedLink, openLink, useLink } from './link-page.ts'
import { reportFailure, type SignInResult, startUserSession } from './sign-in-user.ts'

export const openIdPaths = {
  start: '/console/oidc/start',
  callback: '/console/oidc/callback',
  accept: '/console/oidc/accept',
} as const

/** Link to the sign-in with the provider; null without a provider. */
export const providerLink = (provider: Pick<OpenIdProvider, 'name'> | null): Html | null =>
  provider === null
    ? null
    : html`<p class="actions"><a class="button" href="${openIdPaths.start}">Continue with ${provider.name}</a></p>`

/** State of a sign-in at the provider, sealed in a cookie. `linkToken`: token of an invitation or reset, or null. */
type OpenIdState = {
  readonly linkToken: string | null
  readonly request?: OpenIdRequest
  readonly identity?: OpenIdIdentity
  readonly expiresAt: number
}

const lifetimeSeconds = 600
const owner = 'browser'

const sealOf = (secret: Secret): Seal => sealWith(secret, 'openid state')

const writeState = (secret: Secret, state: Omit<OpenIdState, 'expiresAt'>, isHttps: boolean, at: number): string => {
  const expiresAt = at + lifetimeSeconds * 1_000
  const sealed = sealOf(secret).seal(JSON.stringify({ ...state, expiresAt }), owner)
  return openIdCookie.write(Buffer.from(sealed, 'base64').toString('base64url'), isHttps, lifetimeSeconds)
}

/** Read the state of the browser; null if the cookie is missing, altered or has expired. */
const readState = (secret: Secret, request: Request, at: number): OpenIdState | null => {
  const sealed = openIdCookie.read(request)
  if (sealed === null) return null
  try {
    const text = sealOf(secret).open(Buffer.from(sealed, 'base64url').toString('base64'), owner)
    const state: OpenIdState = JSON.parse(text)
    return state.expiresAt > at ? state : null
  } catch {
    return null
  }
}

const refusedPage = (name: string): PageView =>
  problemPage(
    'Sign-in refused',
    `The sign-in with ${name} failed or took too long. Start again at the sign-in page.`,
    401,
    signInLink,
  )

const unusablePage = (name: string, problem: string): PageView =>
  problemPage(
    'Login not usable',
    `Your login of ${name} cannot be used: ${problem}. Ask the administrator of ${name} for another login, or use a password.`,
    400,
    signInLink,
  )

const unknownPage = (name: string): PageView =>
  problemPage(
    'Unknown person',
    `No user is connected to this login of ${name}. Open your invitation, or ask an owner for a link.`,
    403,
    signInLink,
  )

const takenPage = (name: string): PageView =>
  problemPage('Login in use', `Another user is connected to this login of ${name}.`, 409, signInLink)

type ProviderDependencies = ConsoleDependencies & { readonly provider: OpenIdProvider }
type ProviderVisit = { readonly request: Request; readonly url: URL; readonly isHttps: boolean; readonly peer: string }

const problemAnswer = (view: PageView, isHttps: boolean): Response =>
  pageAnswer(view, { session: null, csrf: '', cookie: openIdCookie.write('', isHttps, 0) })

/** Report a refused login of the user of an open link. Without a link, the user of a refused login is unknown. */
const reportRefusedLink = async (
  dependencies: ProviderDependencies,
  linkToken: string | null,
  { peer, at }: { readonly peer: string; readonly at: number },
): Promise<void> => {
  const link = linkToken === null ? null : await openLink(dependencies, linkToken, at)
  if (link !== null) reportFailure(dependencies, { ...link, id: link.userId }, 'provider_refused', peer)
}

/** Redirect to the provider. The cookie binds the answer of the provider to this browser. */
export const startProviderSignIn = async (
  { provider, secret }: ProviderDependencies,
  { url, isHttps }: ProviderVisit,
  at: number,
): Promise<Response> => {
  const { address, request } = await provider.begin()
  const state = { linkToken: url.searchParams.get('token'), request }
  return redirect(address, { cookie: writeState(secret, state, isHttps, at) })
}

const sessionAnswer = (result: SignInResult, isHttps: boolean): Response => {
  if (!result.ok) return problemAnswer(problemPage('Sign in', result.fault.message, result.status), isHttps)
  const session = cookieFor('session', result.token, { isHttps, maxAgeSeconds: sessionSeconds })
  return continueAnswer('/console', [session, openIdCookie.write('', isHttps, 0)])
}

/**
 * Answer the redirect of the provider. Issuer and subject identify the user. With a link, the next page asks to use the
 * link, because only a form may use it.
 */
export const answerProviderCallback = async (
  dependencies: ProviderDependencies,
  { request, url, isHttps, peer }: ProviderVisit,
  at: number,
): Promise<Response> => {
  const { provider, secret, database } = dependencies
  const state = readState(secret, request, at)
  const identity = state?.request === undefined ? null : await provider.complete(url.search, state.request)
  if (identity === null || 'problem' in identity)
    await reportRefusedLink(dependencies, state?.linkToken ?? null, { peer, at })
  if (state === null || identity === null) return problemAnswer(refusedPage(provider.name), isHttps)
  if ('problem' in identity) return problemAnswer(unusablePage(provider.name, identity.problem), isHttps)
  if (state.linkToken !== null) {
    const next = { linkToken: state.linkToken, identity }
    return continueAnswer(openIdPaths.accept, [writeState(secret, next, isHttps, at)])
  }
  const user = await findUserByProvider(database.operator, identity)
  if (user === null) return problemAnswer(unknownPage(provider.name), isHttps)
  return sessionAnswer(await startUserSession(dependencies, user, { method: 'provider', peer }, at), isHttps)
}

/** Show the form that uses a link with the identity of the browser's cookie. */
export const showProviderAccept = async (
  dependencies: ProviderDependencies,
  { request, isHttps }: ProviderVisit,
  audience: { readonly token: string; readonly cookie?: string },
  at: number,
): Promise<Response> => {
  const { provider, secret } = dependencies
  const state = readState(secret, request, at)
  if (state?.identity === undefined || state.linkToken === null)
    return problemAnswer(refusedPage(provider.name), isHttps)
  const link = await openLink(dependencies, state.linkToken, at)
  if (link === null) return problemAnswer(endedLink, isHttps)
  const csrf = formToken(secret, audience.token)
  const view = {
    title: `Continue with ${provider.name}`,
    body: html`<h1>Continue with ${provider.name}</h1>
<p class="lead">From now on, ${link.address} signs in to account <code>${link.accountId}</code> with your login of ${provider.name}, and no longer with a password.</p>
${form(csrf, openIdPaths.accept, html`<button class="primary" type="submit">Connect login</button>`)}`,
  }
  const { cookie } = audience
  return pageAnswer(view, { session: null, csrf, ...(cookie === undefined ? {} : { cookie }) })
}

/** Use a link: connect the login of the provider with the user, and sign in. */
export const acceptProviderLogin = async (
  dependencies: ProviderDependencies,
  { request, isHttps, peer }: ProviderVisit,
  at: number,
): Promise<Response> => {
  const { provider, secret } = dependencies
  const { linkToken = null, identity } = readState(secret, request, at) ?? {}
  if (identity === undefined || linkToken === null) return problemAnswer(refusedPage(provider.name), isHttps)
  const link = await openLink(dependencies, linkToken, at)
  if (link === null) return problemAnswer(endedLink, isHttps)
  try {
    const connect = (transaction: Parameters<typeof setUserProvider>[0]) =>
      setUserProvider(transaction, link.userId, identity, at)
    const result = await useLink(dependencies, link, linkToken, connect, { peer, at })
    return result === null ? problemAnswer(endedLink, isHttps) : sessionAnswer(result, isHttps)
  } catch (error) {
    if (brokenConstraint(error) !== 'users_provider_key') throw error
    reportFailure(dependencies, { ...link, id: link.userId }, 'login_in_use', peer)
    return problemAnswer(takenPage(provider.name), isHttps)
  }
}
