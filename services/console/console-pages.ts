import { readFileSync } from 'node:fs'
import { type Context, Hono } from 'hono'
import { trimEnd } from '../domain/trim-end.ts'
import type { TokenGrant } from '../platform/access/bearer-token.ts'
import { type FairShare, fairShare } from '../platform/concurrency/fair-share.ts'
import { isFailure } from '../platform/failure.ts'
import { icon } from '../web/ui-kit/frame.ts'
import { accountRoutes } from './account.ts'
import { apiCallsOf, apiFor } from './api.ts'
import type { ConsoleDependencies } from './console-dependencies.ts'
import type { ConsoleArea, ConsoleRoute, SignedInRequest } from './console-request.ts'
import { batchRoutes } from './costs/batch-page.ts'
import { correctionRoutes } from './costs/correction-pages.ts'
import { costRoutes } from './costs/cost-pages.ts'
import { recordRoutes } from './costs/record-pages.ts'
import { sessionRoutes } from './costs/session-pages.ts'
import { eventRoutes } from './events/events.ts'
import { webhookRoutes } from './events/webhooks.ts'
import { findRoutes } from './find/find.ts'
import { isSecure, readOwnForm, type SentForms, sentForms } from './forms.ts'
import { keyRoutes } from './keys.ts'
import type { ApiCall } from './kit/api-requests.ts'
import { type LastActions, lastActions } from './kit/last-action.ts'
import { withObjectTexts } from './kit/object-text.ts'
import { type AddedEntry, navigation } from './navigation.ts'
import { objectRoutes } from './objects/object-pages.ts'
import { planKind } from './objects/plan-kind.ts'
import { planRoutes } from './objects/plan-pages.ts'
import { planVersionRoutes } from './objects/plan-versions.ts'
import { calendarKind, chargeKind } from './objects/pricing-kinds.ts'
import { customerKind, deviceKind, locationKind } from './objects/registry-kinds.ts'
import { tariffEditorRoutes } from './objects/tariff-editor.ts'
import { tariffKind } from './objects/tariff-kind.ts'
import { overviewRoutes } from './overview/overview.ts'
import { answerResult, fileAnswer, pageAnswer, redirect, signOutPath } from './page-frame.ts'
import { foreignFormPage, problemPage } from './page-parts.ts'
import { auditLogRoutes } from './people/audit-log.ts'
import { linkPaths } from './people/link-page.ts'
import { myAccountRoutes } from './people/my-account.ts'
import { peopleRoutes } from './people/people.ts'
import { openIdPaths } from './people/provider-sign-in.ts'
import { priceRoutes } from './prices/price-pages.ts'
import { scheduleRoutes } from './prices/schedule-pages.ts'
import { cookieFor, formToken, sessionOf, signOut, tokenOf } from './session.ts'
import { answerLink, answerProvider, answerSignIn, passwordPath, signInPath, type VisitorRequest } from './sign-in.ts'
import { simulationRoutes } from './simulations/simulation-pages.ts'
import { statementRoutes } from './statements/statement-pages.ts'

const pageNotFound = problemPage('Page not found', 'This page does not exist. Choose a page in the menu.', 404)
const alreadySent = problemPage('Form already sent', 'This form was sent before. Load its page again.', 409)
const tooMany = problemPage(
  'Too many pages',
  'Your account opens too many pages at once. Load the page again soon.',
  503,
)

/** Limits of pages in work and of waiting requests. Source: docs/promises.md #i8, #s6. */
const pageLimits = { maxConcurrent: 8, maxConcurrentPerAccount: 2, maxWaitingPerAccount: 62 }
const never = new AbortController().signal

const css = 'text/css; charset=utf-8'
const javascript = 'text/javascript; charset=utf-8'
const readText = (name: string, base = import.meta.url): string => readFileSync(new URL(name, base), 'utf8')
const chartPackage = import.meta.resolve('uplot')

/** Files that the pages load. Each is read once. */
const assetLoaders: Readonly<Record<string, () => readonly [body: string, mediaType: string]>> = {
  'page.css': () => [
    ['../web/ui-kit/base.css', 'assets/page.css', 'assets/charts.css', 'assets/forms.css', 'assets/tables.css']
      .map(name => readText(name))
      .join('\n'),
    css,
  ],
  'page.js': () => [readText('assets/page.js'), javascript],
  'uplot.css': () => [readText('uPlot.min.css', chartPackage), css],
  'uplot.js': () => [readText('uPlot.iife.min.js', chartPackage), javascript],
  'icon.svg': () => [icon, 'image/svg+xml'],
}
const loadedAssets = new Map<string, readonly [body: string, mediaType: string]>()

/** Return the response for a file, or null if there is no such file. */
const assetAnswer = (name: string): Response | null => {
  const asset = loadedAssets.get(name) ?? (Object.hasOwn(assetLoaders, name) ? assetLoaders[name]?.() : undefined)
  if (asset === undefined) return null
  loadedAssets.set(name, asset)
  return fileAnswer(...asset)
}

/** State that all requests share. */
type ConsoleState = { readonly forms: SentForms; readonly share: FairShare; readonly actions: LastActions }

/** The console with the entries of pages that other parts add. */
type WholeConsole = { readonly dependencies: ConsoleDependencies; readonly entries: readonly AddedEntry[] }

/** Answer with a page or run the action of a form. A form that was already sent is refused. */
const answerRoute = async (
  dependencies: ConsoleDependencies,
  { forms, share, actions }: ConsoleState,
  route: ConsoleRoute,
  request: SignedInRequest,
  ids: readonly string[],
): Promise<Response> => {
  const { form, session, at } = request
  const release = await share.acquire(session.accountId, never)
  if (release === null) return pageAnswer(tooMany, request)
  const formId = form.get('form') ?? ''
  try {
    if (route.method === 'POST' && !forms.begin(formId)) return pageAnswer(alreadySent, request)
    const calls: ApiCall[] = []
    const sign = (subject: TokenGrant) => dependencies.bearerTokens.sign(subject, at)
    const api = apiFor({ fetch: dependencies.fetch, sign }, session, calls)
    const [query, sent] = [withObjectTexts(request.query), withObjectTexts(form)]
    const result = await route.answer({ ...request, query, form: sent, ...apiCallsOf(api), ids })
    if ('status' in result && (result.status ?? 200) >= 400) forms.forget(formId)
    if (route.method === 'POST' && 'to' in result)
      actions.keep(request.token, {
        calls: calls.filter(({ method }) => method !== 'GET'),
        undo: result.undo ?? null,
      })
    const last = request.query.has('done') ? actions.take(request.token) : null
    const isHttps = request.origin?.startsWith('https:') === true
    return answerResult(result, { ...request, calls, last, isHttps })
  } catch (error) {
    forms.forget(formId)
    throw error
  } finally {
    release()
  }
}

/**
 * Run `answer` for a request with a session and, for a POST, a form of this console.
 * Other visitors are redirected to the sign-in page, and other forms are refused.
 */
const withSession = async (
  { dependencies, entries }: WholeConsole,
  { req, env }: Context,
  answer: (request: SignedInRequest) => Promise<Response> | Response,
  readForm = readOwnForm,
): Promise<Response> => {
  const at = dependencies.at()
  const path = trimEnd(req.path, '/')
  const token = tokenOf(req.raw, 'session')
  const session = token === null ? null : await sessionOf(dependencies, token, at)
  if (token === null || session === null) return redirect(`${signInPath}?${new URLSearchParams({ next: path })}`)
  const csrf = formToken(dependencies.secret, token)
  const audience = { session, csrf, navigation: () => navigation(entries, path, session) }
  const form = req.method === 'POST' ? await readForm(req.raw, dependencies.secret, token) : new URLSearchParams()
  if (form === null) return pageAnswer(foreignFormPage, audience)
  const origin = dependencies.publicUrl ?? req.header('origin') ?? null
  const peer = dependencies.peerOf(env, req.raw.headers)
  return answer({ ...audience, path, query: new URL(req.url).searchParams, form, at, origin, peer, token })
}

const visitOf = ({ req, env }: Pick<Context, 'req' | 'env'>): VisitorRequest => ({
  request: req.raw,
  environment: env,
  url: new URL(req.url),
})

const showSignIn = async (dependencies: ConsoleDependencies, { req, env }: Context): Promise<Response> => {
  const at = dependencies.at()
  const token = req.method === 'POST' ? null : tokenOf(req.raw, 'session')
  if (token !== null && (await sessionOf(dependencies, token, at)) !== null) return redirect('/console')
  return answerSignIn(dependencies, visitOf({ req, env }), at)
}

const endSession = async (dependencies: ConsoleDependencies, request: Request, token: string): Promise<Response> => {
  await signOut(dependencies, token)
  const isHttps = isSecure(request, new URL(request.url))
  return redirect(signInPath, { cookie: cookieFor('session', '', { isHttps, maxAgeSeconds: 0 }) })
}

/** Restrict each id of a path to characters that are safe in the path of an API request. */
const honoPath = (path: string): string => path.replace(/:\w+/g, '$&{[\\w-]{1,64}}')

/** Create the routes of all pages. */
const routesOf = (dependencies: ConsoleDependencies): readonly ConsoleRoute[] => [
  ...overviewRoutes,
  ...findRoutes,
  ...costRoutes,
  ...recordRoutes,
  ...correctionRoutes,
  ...batchRoutes,
  ...sessionRoutes,
  ...statementRoutes,
  ...simulationRoutes,
  ...priceRoutes,
  ...scheduleRoutes,
  ...objectRoutes(locationKind),
  ...objectRoutes(deviceKind),
  ...objectRoutes(customerKind),
  ...tariffEditorRoutes,
  ...objectRoutes(tariffKind),
  ...planVersionRoutes,
  ...planRoutes,
  ...objectRoutes(planKind),
  ...objectRoutes(chargeKind),
  ...objectRoutes(calendarKind),
  ...eventRoutes,
  ...webhookRoutes,
  ...keyRoutes(dependencies),
  ...accountRoutes,
  ...peopleRoutes,
  ...myAccountRoutes(dependencies),
  ...auditLogRoutes(dependencies),
]

/**
 * Create the console: pages for users with an API key. Each page calls the API with the key's permissions.
 * Only API keys and account settings are read and written without the API. Areas add pages of other parts.
 * Source: docs/rules/authentication.md #console.
 */
export const createConsole = (dependencies: ConsoleDependencies, areas: readonly ConsoleArea[]): Hono => {
  const whole = { dependencies, entries: areas.map(({ entry }) => entry) }
  const state: ConsoleState = { forms: sentForms(), share: fairShare(pageLimits), actions: lastActions() }
  const app = new Hono({ strict: false })
  app.use(async ({ req }, next) => {
    if (['GET', 'HEAD', 'POST'].includes(req.method)) return next()
    const headers = { Allow: 'GET, HEAD, POST', 'X-Content-Type-Options': 'nosniff' }
    return new Response(null, { status: 405, headers })
  })
  app.get('/console/assets/:name', ({ req }, next) => {
    const answer = assetAnswer(req.param('name'))
    return answer === null ? next() : Promise.resolve(answer)
  })
  app.on(['GET', 'POST'], signInPath, context => showSignIn(dependencies, context))
  app.post(passwordPath, context => answerSignIn(dependencies, visitOf(context), dependencies.at()))
  for (const path of linkPaths)
    app.on(['GET', 'POST'], path, context => answerLink(dependencies, visitOf(context), dependencies.at()))
  app.on(['GET', 'POST'], Object.values(openIdPaths), context =>
    answerProvider(dependencies, visitOf(context), dependencies.at()),
  )
  app.post(signOutPath, context =>
    withSession(whole, context, ({ token }) => endSession(dependencies, context.req.raw, token)),
  )
  const idsOf = ({ req }: Context): readonly string[] => Object.values(req.param())
  const opened = areas.map(area => area.open(dependencies))
  for (const { methods, path, readsForm, answer } of opened.flatMap(({ ownAnswers }) => ownAnswers))
    app.on([...methods], honoPath(path), context =>
      withSession(
        whole,
        context,
        request => answer(request, context.req.raw, idsOf(context)),
        readsForm ? async () => new URLSearchParams() : readOwnForm,
      ),
    )
  for (const route of [...routesOf(dependencies), ...opened.flatMap(({ routes }) => routes)])
    app.on(route.method, honoPath(route.path), context =>
      withSession(whole, context, request => answerRoute(dependencies, state, route, request, idsOf(context))),
    )
  app.notFound(context => withSession(whole, context, request => pageAnswer(pageNotFound, request)))
  app.onError((error, { req }) => answerError(error, req.path, dependencies.logger))
  return app
}

const answerError = (error: unknown, path: string, logger: ConsoleDependencies['logger']): Response => {
  const noAudience = { session: null, csrf: '' }
  if (isFailure(error) && error.retriable) {
    logger.warn({ err: error, path }, 'Console page failed, a store is unavailable')
    const page = problemPage(
      'Temporarily unavailable',
      'The service cannot show this page now. Load it again soon.',
      503,
    )
    return pageAnswer(page, noAudience)
  }
  logger.error({ err: error, path }, 'Console page failed')
  const page = problemPage('Internal error', 'The service could not create this page. Contact the operator.', 500)
  return pageAnswer(page, noAudience)
}
