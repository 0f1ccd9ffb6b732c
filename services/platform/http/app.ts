import { type Context, Hono } from 'hono'
import { errorObject, statusOf } from '../../contract/error.ts'
import { type Refusal, refused } from '../../domain/refusal.ts'
import { isFailure } from '../failure.ts'
import { type Answer, takes, toResponse } from './answer.ts'
import { type Arrival, arrivalOf, untilQuiet } from './arrival.ts'
import { type Binding, defaultLimits, type Limits, type Page, type Ports } from './binding.ts'
import { dispatch, refusalHeaders, type Trace } from './dispatch.ts'
import { type Gate, openGate } from './gate.ts'
import { type Entry, type PathEntries, routeTable } from './route-table.ts'

const safeRequestId = /^[A-Za-z0-9._~:+/=@-]{1,128}$/

const beginTrace = (request: Request, ports: Ports): Trace => {
  const given = request.headers.get('x-request-id') ?? ''
  return {
    requestId: safeRequestId.test(given) ? given : ports.mintRequestId(),
    at: ports.at(),
    layout: 'current',
    operation: null,
    liveMode: undefined,
    context: 'api.path_find',
    connectToken: undefined,
    isReadingBody: false,
    headers: {},
  }
}

/** Write a refusal as the error object. */
const refusalAnswer = (refusal: Refusal, trace: Trace): Answer => ({
  status: statusOf(refusal.code, trace.layout),
  layout: trace.layout,
  mediaType: 'application/json; charset=utf-8',
  body: JSON.stringify(errorObject(refusal, trace)),
  headers: { ...refusalHeaders(refusal, trace.operation), ...trace.headers },
})

/** Tell apart what the world failed to give from what is wrong in the program; callers learn neither's inside. */
const refusalOfThrown = (error: unknown, trace: Trace, ports: Ports): Refusal => {
  const fields = { err: error, request_id: trace.requestId, context: trace.context }
  if (isFailure(error) && error.retriable) {
    ports.log.warn({ ...fields, code: error.code }, 'a request failed')
    return refused('unavailable', 'The service cannot do this at the moment; send the request again later').refusal
  }
  ports.log.error(fields, 'a request met a fault of the program')
  return refused('internal_error', 'The service met a fault of its own; tell the operator the request_id').refusal
}

type TimedOut = ReturnType<typeof refused>

const timedOut = refused('unavailable', 'The request took too long; send it again later')
const slowBody = refused('request_timeout', 'The body came too slowly: send the whole request within 30 seconds.')

/**
 * Give work a time limit; at its end, and once its client has gone, the signal is aborted and the caller gets an answer, while the work may
 * go on. `client` is aborted when the client goes; null: the work does not end with it.
 */
const withinTime = async <T>(
  limitMs: number,
  trace: Trace,
  { client, arrival }: { readonly client: AbortSignal | null; readonly arrival: Arrival | null },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | TimedOut> => {
  const controller = new AbortController()
  const { promise, resolve } = Promise.withResolvers<TimedOut>()
  const tell = async (): Promise<void> => {
    // A service that was busy has not looked at what came meanwhile: then the client is not the one that is slow.
    if (trace.isReadingBody && arrival !== null) await untilQuiet(arrival)
    resolve(trace.isReadingBody && arrival?.isComplete() !== true ? slowBody : timedOut)
  }
  const end = (): void => {
    controller.abort()
    void tell()
  }
  const timer = setTimeout(end, limitMs)
  client?.addEventListener('abort', end, { once: true })
  try {
    return await Promise.race([work(controller.signal), promise])
  } finally {
    clearTimeout(timer)
    client?.removeEventListener('abort', end)
  }
}

const endsWithClient = ({ binding: { operation } }: Entry): boolean => operation.access === 'read' || operation.endsWithClient === true

const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'X-Request-Id, Api-Version, Retry-After',
}

const preflight = (trace: Trace): Answer => ({
  status: 204,
  layout: trace.layout,
  mediaType: 'application/json; charset=utf-8',
  body: '',
  headers: {
    ...corsHeaders,
    'Access-Control-Allow-Methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
    'Access-Control-Allow-Headers': 'Authorization, Content-Type, Api-Version, Idempotency-Key, X-Request-Id',
    'Access-Control-Max-Age': '86400',
  },
})

type Means = { readonly ports: Ports; readonly gate: Gate; readonly limits: Limits; readonly environment: unknown }

const answerOperation = async (
  request: Request,
  path: PathEntries,
  parameters: Readonly<Record<string, string>>,
  trace: Trace,
  means: Means,
): Promise<Answer> => {
  const isCors = path.entries.some(entry => entry.binding.operation.cors === true)
  if (isCors) Object.assign(trace.headers, corsHeaders)
  if (isCors && request.method === 'OPTIONS') return preflight(trace)
  try {
    const client = path.entries.some(endsWithClient) ? request.signal : null
    const ends = { client, arrival: arrivalOf(means.environment) }
    const outcome = await withinTime(means.limits.requestTimeoutMs, trace, ends, signal =>
      dispatch(request, path, parameters, trace, { ...means, signal }),
    )
    return outcome.ok ? outcome.value : refusalAnswer(outcome.refusal, trace)
  } catch (error) {
    return refusalAnswer(refusalOfThrown(error, trace, means.ports), trace)
  }
}

const nothingHere = refused('not_found', 'There is nothing at this path').refusal

/** Answer an unknown path: with a page if a browser asks for HTML and there is one, else with the error object. */
const answerNothing = (request: Request, trace: Trace, { notFoundPage }: Ports): Answer => {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (!isRead || notFoundPage === undefined || !takes(request.headers.get('accept'), 'text/html')) return refusalAnswer(nothingHere, trace)
  const { headers = {}, ...page } = notFoundPage()
  return { ...page, layout: trace.layout, headers: { ...headers, Vary: 'Accept' } }
}

const answerPage = async (request: Request, page: Page, trace: Trace, ports: Ports): Promise<Answer> => {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    trace.headers['Allow'] = 'GET, HEAD'
    return refusalAnswer(refused('method_not_allowed', 'Use GET on this path').refusal, trace)
  }
  try {
    const { pathname, searchParams } = new URL(request.url)
    const content = await page.read(pathname, searchParams)
    if (content === null) return answerNothing(request, trace, ports)
    return { ...content, layout: trace.layout, headers: content.headers ?? {} }
  } catch (error) {
    return refusalAnswer(refusalOfThrown(error, trace, ports), trace)
  }
}

const honoPath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1')

/**
 * Build the interface out of operations and pages. Everything that reaches callers is decided here and in the contract:
 * request ids, versions, access, limits, idempotency, errors.
 * Throws when two operations claim one route.
 */
export const createApp = (bindings: readonly Binding[], pages: readonly Page[], ports: Ports, limits: Limits = defaultLimits): Hono => {
  const app = new Hono()
  const gate = openGate(limits)
  const answer = async (request: Request, work: (trace: Trace) => Promise<Answer> | Answer): Promise<Response> => {
    const started = ports.elapsed()
    const trace = beginTrace(request, ports)
    const written = await work(trace)
    const { status, layout } = written
    ports.observe({ operation: trace.operation?.id ?? 'none', status, layout, durationMs: ports.elapsed() - started })
    return toResponse(written, trace.requestId, { method: request.method, acceptEncoding: request.headers.get('accept-encoding') })
  }
  const paths = routeTable(bindings, pages)
  const show = (page: Page) => (context: Context) => answer(context.req.raw, trace => answerPage(context.req.raw, page, trace, ports))
  const shared = new Set(paths.filter(({ hasPage }) => hasPage).map(({ path }) => path))
  // A page may stand at the path of operations; what is no reading goes on to them.
  for (const page of pages.filter(({ path }) => shared.has(path))) app.get(page.path, show(page))
  const run = (path: PathEntries) => (context: Context) =>
    answer(context.req.raw, trace =>
      answerOperation(context.req.raw, path, context.req.param(), trace, { ports, gate, limits, environment: context.env }),
    )
  for (const path of paths) app.all(honoPath(path.path), run(path))
  for (const page of pages) {
    app.all(page.path, show(page))
    if (page.path !== '/') app.all(`${page.path}/`, show(page))
  }
  // A slash at the end names the same path, unless another route or page has it.
  for (const path of paths) if (!path.path.endsWith('/')) app.all(`${honoPath(path.path)}/`, run(path))
  app.notFound(context => answer(context.req.raw, trace => answerNothing(context.req.raw, trace, ports)))
  app.onError((error, context) => answer(context.req.raw, trace => refusalAnswer(refusalOfThrown(error, trace, ports), trace)))
  return app
}
