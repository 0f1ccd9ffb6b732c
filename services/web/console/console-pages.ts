import { trimEnd } from '../../domain/trim-end.ts'
import type { BearerTokens } from '../../platform/access/bearer-token.ts'
import type { Secret } from '../../platform/access/secrets.ts'
import { type FairShare, fairShare } from '../../platform/concurrency/fair-share.ts'
import { isFailure } from '../../platform/failure.ts'
import type { Database } from '../../platform/postgres/database.ts'
import type { Logger } from '../../platform/telemetry/logger.ts'
import { accountRoutes } from './account.ts'
import { apiFor, type FetchApi } from './api.ts'
import { assetOf, assetPath } from './assets.ts'
import type { ConsoleRequest, ConsoleRoute } from './console-request.ts'
import { eventRoutes } from './events.ts'
import { isSecure, readOwnForm, type SentForms, sentForms } from './forms.ts'
import { keyRoutes } from './keys.ts'
import { locationRoutes } from './locations.ts'
import { overviewRoutes } from './overview.ts'
import { answerResult, fileAnswer, pageAnswer, redirect } from './page-answer.ts'
import { signOutPath } from './page-frame.ts'
import { foreignFormPage, problemPage } from './page-parts.ts'
import { cookieFor, formToken, sessionOf, signOut, tokenOf } from './session.ts'
import { answerSignIn, signInPath } from './sign-in.ts'
import { webhookRoutes } from './webhooks.ts'

export type ConsoleDependencies = {
  readonly database: Database
  readonly bearerTokens: BearerTokens
  /** Secret under which sessions and keys are hashed. */
  readonly secret: Secret
  /** The interface of this service. */
  readonly fetch: FetchApi
  /** The present instant in ms. */
  readonly at: () => number
  readonly logger: Pick<Logger, 'error' | 'warn'>
}

const pageNotFound = problemPage('Nothing here', 'There is no such page. Choose one of the places of the console.', 404)
const alreadySent = problemPage(
  'Sent before',
  'This form was sent before. Go back to its page to see how things stand.',
  409,
)

const tooMany = problemPage('Too many pages', 'Your account opens many pages at once. Load the page again soon.', 503)

/** Pages that are made at once, in all and for one account; so many of an account may wait. Source: docs/promises.md #i8, #s6. */
const pageLimits = { maxConcurrent: 8, maxConcurrentPerAccount: 2, maxWaitingPerAccount: 62 }
const never = new AbortController().signal

/** Find the route of a path, and the ids that stand in it. */
const findRoute = (routes: readonly ConsoleRoute[], method: string, path: string) => {
  for (const route of routes) {
    const match =
      route.method === method ? new RegExp(`^${route.path.replaceAll('{}', '([\\w-]{1,64})')}$`).exec(path) : null
    if (match !== null) return { route, ids: match.slice(1) }
  }
  return null
}

/** A request as it came, and what the HTTP adapter says of its socket. */
type IncomingRequest = { readonly request: Request; readonly environment: unknown }

/** A request of somebody who is signed in. */
type SignedInRequest = Omit<ConsoleRequest, 'ids' | 'api'> & { readonly method: 'GET' | 'POST' }

/** What a console keeps between visits: its pages, the forms that were sent, and the accounts' turns. */
type Desk = { readonly routes: readonly ConsoleRoute[]; readonly forms: SentForms; readonly share: FairShare }

/** Show the page of a path, or do what its form asks for; a form that was sent before is not done again. */
const showPage = async (
  dependencies: ConsoleDependencies,
  { routes, forms, share }: Desk,
  signedInRequest: SignedInRequest,
): Promise<Response> => {
  const { method, path, form, session, at } = signedInRequest
  const found = findRoute(routes, method, path)
  if (found === null) return pageAnswer(pageNotFound, path, signedInRequest)
  const leave = await share.acquire(session.accountId, never)
  if (leave === null) return pageAnswer(tooMany, path, signedInRequest)
  const formId = form.get('form') ?? ''
  try {
    if (method === 'POST' && !forms.begin(formId)) return pageAnswer(alreadySent, path, signedInRequest)
    const api = apiFor(
      { fetch: dependencies.fetch, sign: subject => dependencies.bearerTokens.sign(subject, at) },
      session,
    )
    const result = await found.route.answer({ ...signedInRequest, api, ids: found.ids })
    if ('status' in result && (result.status ?? 200) >= 400) forms.forget(formId)
    return answerResult(result, path, signedInRequest)
  } catch (error) {
    forms.forget(formId)
    throw error
  } finally {
    leave()
  }
}

/** Answer a request: the way in where nobody is signed in, else its page. Forms are taken from pages of this console alone. */
const answerRequest = async (
  dependencies: ConsoleDependencies,
  desk: Desk,
  incoming: IncomingRequest,
): Promise<Response> => {
  const { request } = incoming
  const [url, at] = [new URL(request.url), dependencies.at()]
  const path = trimEnd(url.pathname, '/')
  const method = request.method === 'POST' ? 'POST' : 'GET'
  const token = tokenOf(request, 'session')
  const session = token === null ? null : await sessionOf(dependencies, token, at)
  if (path === signInPath)
    return session !== null && method === 'GET' ? redirect('/console') : answerSignIn(dependencies, incoming, url, at)
  if (token === null || session === null) return redirect(`${signInPath}?${new URLSearchParams({ next: path })}`)
  const pageAudience = { session, csrf: formToken(dependencies.secret, token) }
  const form = method === 'POST' ? await readOwnForm(request, dependencies.secret, token) : new URLSearchParams()
  if (form === null) return pageAnswer(foreignFormPage, path, pageAudience)
  if (method === 'POST' && path === signOutPath) {
    await signOut(dependencies, token)
    return redirect(signInPath, {
      cookie: cookieFor('session', '', { isHttps: isSecure(request, url), maxAgeSeconds: 0 }),
    })
  }
  return showPage(dependencies, desk, { ...pageAudience, method, path, query: url.searchParams, form, at })
}

/**
 * Make the console: pages over the interface of this service for people with a key. Everything they do goes through the interface under
 * their key, but for the keys themselves, which the interface has no operations for.
 * Source: docs/rules/authentication.md #console.
 */
export const createConsole = (
  dependencies: ConsoleDependencies,
): ((request: Request, environment: unknown) => Promise<Response>) => {
  const routes = [
    ...overviewRoutes,
    ...locationRoutes,
    ...eventRoutes,
    ...webhookRoutes,
    ...keyRoutes(dependencies),
    ...accountRoutes(dependencies),
  ]
  const desk: Desk = { routes, forms: sentForms(), share: fairShare(pageLimits) }
  return async (request, environment) => {
    const { pathname } = new URL(request.url)
    if (!['GET', 'HEAD', 'POST'].includes(request.method))
      return new Response(null, {
        status: 405,
        headers: { Allow: 'GET, HEAD, POST', 'X-Content-Type-Options': 'nosniff' },
      })
    const asset = pathname.startsWith(assetPath) ? assetOf(pathname.slice(assetPath.length)) : null
    if (asset !== null) return fileAnswer(asset.body, asset.mediaType)
    try {
      return await answerRequest(dependencies, desk, { request, environment })
    } catch (error) {
      return answerError(error, pathname, dependencies.logger)
    }
  }
}

const answerError = (error: unknown, path: string, logger: ConsoleDependencies['logger']): Response => {
  const noAudience = { session: null, csrf: '' }
  if (isFailure(error) && error.retriable) {
    logger.warn({ err: error, path }, 'a page of the console could not be shown')
    return pageAnswer(
      problemPage('Not now', 'The service cannot show this at the moment. Load the page again soon.', 503),
      path,
      noAudience,
    )
  }
  logger.error({ err: error, path }, 'a page of the console met a fault of the program')
  return pageAnswer(
    problemPage('A fault', 'The service met a fault of its own. Tell the operator.', 500),
    path,
    noAudience,
  )
}
