import { type Context, Hono } from 'hono'
import { errorObject, retryAfterSeconds, statusOf } from '../../contract/error.ts'
import type { Operation } from '../../contract/operation.ts'
import { type Refusal, refused } from '../../domain/refusal.ts'
import { type Deadlines, deadlines } from '../concurrency/deadlines.ts'
import { isFailure } from '../failure.ts'
import { challenge } from './access.ts'
import { type Answer, type WrittenAnswer, writtenAnswer } from './answer.ts'
import { type Arrival, arrivalOf, waitUntilQuiet } from './arrival.ts'
import { type Binding, defaultLimits, type Limits, type Ports, type StaticRoute } from './binding.ts'
import type { DispatchDependencies } from './dispatch.ts'
import { dispatch } from './dispatch.ts'
import { type DirectWay, directWay } from './fast-path/direct-way.ts'
import { acceptsValue } from './negotiate.ts'
import type { ReceivedRequest } from './request-body.ts'
import { createLimiters } from './request-limiters.ts'
import { type PathEntries, type RouteEntry, routeTable } from './route-table.ts'
import { createTrace, type Trace } from './trace.ts'

/** Return the headers that belong to the code of a refusal. */
const refusalHeaders = (refusal: Refusal, operation: Operation | null): Readonly<Record<string, string>> => {
  const retryAfter = retryAfterSeconds(refusal.code)
  const isUnauthorised = refusal.code === 'bad_credentials' || refusal.code === 'token_expired'
  return {
    ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }),
    ...(isUnauthorised ? { 'WWW-Authenticate': challenge(operation) } : {}),
  }
}

/** Write a refusal as an error object. */
const refusalAnswer = (refusal: Refusal, trace: Trace): Answer => ({
  status: statusOf(refusal.code, trace.apiVersion),
  apiVersion: trace.apiVersion,
  mediaType: 'application/json; charset=utf-8',
  body: JSON.stringify(errorObject(refusal, trace)),
  headers: { ...refusalHeaders(refusal, trace.operation), ...trace.headers },
})

const sendLater = 'The service cannot do this at the moment; send the request again later'
const maybeStored =
  'The service cannot confirm the records at the moment, and some may be stored; send the whole request again later: each record counts once'

const isMetering = ({ operation }: Trace): boolean => operation?.access === 'metering'

/**
 * Translate an error into a refusal without internal details: a retriable failure of a store, or a defect of the
 * service.
 */
const refusalOfError = (error: unknown, trace: Trace, ports: Ports): Refusal => {
  const fields = { err: error, request_id: trace.requestId, context: trace.context }
  if (isFailure(error) && error.retriable) {
    ports.log.warn({ ...fields, code: error.code }, 'Request failed')
    return refused('unavailable', isMetering(trace) ? maybeStored : sendLater).refusal
  }
  ports.log.error(fields, 'Request failed with an unexpected error')
  return refused('internal_error', 'The service failed with an unexpected error; send the request_id to the operator')
    .refusal
}

type TimeoutRefusal = ReturnType<typeof refused>

const timedOut = 'The request took too long; send it again later'
const slowBody = refused('request_timeout', 'The body came too slowly: send the whole request within 30 seconds.')

/** Return the refusal of a request whose time limit is over. */
const timeoutRefusal = async (trace: Trace, arrival: Arrival | null): Promise<TimeoutRefusal> => {
  // A busy process may not have read bytes that arrived in time. Read them before blaming the client.
  if (trace.isReadingBody && arrival !== null) await waitUntilQuiet(arrival)
  return trace.isReadingBody && arrival?.isComplete() !== true ? slowBody : tooLate(trace)
}

const tooLate = (trace: Trace): TimeoutRefusal => refused('unavailable', isMetering(trace) ? maybeStored : timedOut)

/**
 * Run work with a time limit.
 * At the limit, or if the client disconnects, `signal` is aborted and the caller gets a refusal.
 * The work itself may continue. `client` is aborted if the client disconnects.
 * A null `client` means that the work continues.
 */
const withTimeLimit = <T>(
  limits: Deadlines,
  trace: Trace,
  { client, arrival }: { readonly client: AbortSignal | null; readonly arrival: Arrival | null },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | TimeoutRefusal> =>
  new Promise((resolve, reject) => {
    const controller = new AbortController()
    const end = (): void => {
      controller.abort()
      timeoutRefusal(trace, arrival).then(resolve, reject)
    }
    const deadline = limits.start(end)
    client?.addEventListener('abort', end, { once: true })
    const settle =
      <Settled>(finish: (result: Settled) => void) =>
      (result: Settled): void => {
        limits.end(deadline)
        client?.removeEventListener('abort', end)
        finish(result)
      }
    work(controller.signal).then(settle(resolve), settle(reject))
  })

const endsWithClient = ({ binding: { operation } }: RouteEntry): boolean =>
  operation.access === 'read' || operation.endsWithClient === true

const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'X-Request-Id, Api-Version, Retry-After',
}

const preflight = (trace: Trace): Answer => ({
  status: 204,
  apiVersion: trace.apiVersion,
  mediaType: 'application/json; charset=utf-8',
  body: '',
  headers: {
    ...corsHeaders,
    'Access-Control-Allow-Methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
    'Access-Control-Allow-Headers': 'Authorization, Content-Type, Api-Version, Idempotency-Key, X-Request-Id',
    'Access-Control-Max-Age': '86400',
  },
})

type AppDependencies = Omit<DispatchDependencies, 'signal'> & { readonly timeLimits: Deadlines }

const answerOperation = async (
  request: ReceivedRequest,
  path: PathEntries,
  parameters: Readonly<Record<string, string>>,
  trace: Trace,
  dependencies: AppDependencies,
): Promise<Answer> => {
  const isCors = path.entries.some(entry => entry.binding.operation.cors === true)
  if (isCors) Object.assign(trace.headers, corsHeaders)
  if (isCors && request.method === 'OPTIONS') return preflight(trace)
  try {
    const client = path.entries.some(endsWithClient) ? (request.signal ?? null) : null
    const endSignals = { client, arrival: arrivalOf(dependencies.environment) }
    const outcome = await withTimeLimit(dependencies.timeLimits, trace, endSignals, signal =>
      dispatch(request, path, parameters, trace, { ...dependencies, signal }),
    )
    return outcome.ok ? outcome.value : refusalAnswer(outcome.refusal, trace)
  } catch (error) {
    return refusalAnswer(refusalOfError(error, trace, dependencies.ports), trace)
  }
}

const pathNotFound = refused('not_found', 'There is nothing at this path').refusal

/** Answer an unknown path with a page if the client accepts HTML, otherwise with an error object. */
const answerNotFound = (request: Request, trace: Trace, { notFoundPage }: Ports): Answer => {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (!isRead || notFoundPage === undefined || !acceptsValue(request.headers.get('accept'), 'text/html'))
    return refusalAnswer(pathNotFound, trace)
  const { headers = {}, ...content } = notFoundPage()
  return { ...content, apiVersion: trace.apiVersion, headers: { ...headers, Vary: 'Accept' } }
}

const answerStaticRoute = async (
  request: Request,
  staticRoute: StaticRoute,
  trace: Trace,
  ports: Ports,
): Promise<Answer> => {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    trace.headers['Allow'] = 'GET, HEAD'
    return refusalAnswer(refused('method_not_allowed', 'Use GET on this path').refusal, trace)
  }
  try {
    const { pathname, searchParams } = new URL(request.url)
    const content = await staticRoute.read(pathname, searchParams, request.headers.get('accept-language'))
    if (content === null) return answerNotFound(request, trace, ports)
    return { ...content, apiVersion: trace.apiVersion, headers: content.headers ?? {} }
  } catch (error) {
    return refusalAnswer(refusalOfError(error, trace, ports), trace)
  }
}

type AnswerWork = (trace: Trace) => Promise<Answer> | Answer

/** The HTTP API. `serveDirectly` serves usual submissions without the router. */
export type App = Hono & { readonly serveDirectly: DirectWay }

const honoPath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1')

/**
 * Create the HTTP API from operations and static routes.
 * This folder and the contract decide everything that callers see:
 * request ids, API versions, access, limits, idempotency and errors.
 * Throws if two operations have the same route.
 */
export const createApp = (
  bindings: readonly Binding[],
  staticRoutes: readonly StaticRoute[],
  ports: Ports,
  limits: Limits = defaultLimits,
): App => {
  const app = new Hono()
  const limiters = createLimiters(limits)
  const timeLimits = deadlines(limits.requestTimeoutMs)
  const answer = async (request: ReceivedRequest, work: AnswerWork): Promise<WrittenAnswer> => {
    const started = ports.elapsed()
    const trace = createTrace(request, ports)
    const written = await work(trace)
    const { status, apiVersion } = written
    ports.observe({
      operation: trace.operation?.id ?? 'none',
      status,
      apiVersion,
      durationMs: ports.elapsed() - started,
    })
    return writtenAnswer(written, trace.requestId, {
      method: request.method,
      acceptEncoding: request.headers.get('accept-encoding'),
    })
  }
  const respond = async (request: Request, work: AnswerWork): Promise<Response> => {
    const { body, ...head } = await answer(request, work)
    return new Response(body, head)
  }
  const answerError = (error: unknown) => (trace: Trace) => refusalAnswer(refusalOfError(error, trace, ports), trace)
  const dependencies = { ports, limiters, limits, timeLimits }
  const paths = routeTable(bindings, staticRoutes)
  const serveStaticRoute = (staticRoute: StaticRoute) => (context: Context) =>
    respond(context.req.raw, trace => answerStaticRoute(context.req.raw, staticRoute, trace, ports))
  const sharedPaths = new Set(paths.filter(({ hasStaticRoute }) => hasStaticRoute).map(({ path }) => path))
  // A static route can have the path of an operation. It answers GET, the operation answers the other methods.
  for (const staticRoute of staticRoutes.filter(({ path }) => sharedPaths.has(path)))
    app.get(staticRoute.path, serveStaticRoute(staticRoute))
  const serveOperation = (path: PathEntries) => (context: Context) =>
    respond(context.req.raw, trace =>
      answerOperation(context.req.raw, path, context.req.param(), trace, { ...dependencies, environment: context.env }),
    )
  for (const path of paths) app.all(honoPath(path.path), serveOperation(path))
  for (const staticRoute of staticRoutes) {
    app.all(staticRoute.path, serveStaticRoute(staticRoute))
    if (staticRoute.path !== '/') app.all(`${staticRoute.path}/`, serveStaticRoute(staticRoute))
  }
  // A trailing slash means the same path, unless another route has the path with the slash.
  for (const path of paths) if (!path.path.endsWith('/')) app.all(`${honoPath(path.path)}/`, serveOperation(path))
  app.notFound(context => respond(context.req.raw, trace => answerNotFound(context.req.raw, trace, ports)))
  app.onError((error, context) => respond(context.req.raw, answerError(error)))
  const serveDirectly = directWay(paths, (request, path, environment) =>
    answer(request, trace => answerOperation(request, path, {}, trace, { ...dependencies, environment })).catch(error =>
      answer(request, answerError(error)),
    ),
  )
  return Object.assign(app, { serveDirectly })
}
