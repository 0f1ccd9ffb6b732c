import { type ApiVersion, chooseApiVersion, readApiVersionHeader } from '../../contract/api-version.ts'
import { retryAfterSeconds } from '../../contract/error.ts'
import { answerInApiVersion, readPathParameters, readRequest, refusalInApiVersion } from '../../contract/exchange.ts'
import type {
  Caller,
  IdempotencyClaim,
  Operation,
  Outcome,
  RawBody,
  RequestOf,
  SerializedAnswer,
} from '../../contract/operation.ts'
import { isPossibleReference, type OwnReference, readReference, referenceKinds } from '../../domain/reference.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import { startTimeSlices } from '../concurrency/time-slices.ts'
import { anonymousCaller, authenticateCaller, challenge, checkScope } from './access.ts'
import type { Ticket } from './admission.ts'
import { type Answer, acceptsValue } from './answer.ts'
import { arrivalOf } from './arrival.ts'
import type { Limits, Ports, SavedAnswer } from './binding.ts'
import { discardChunks, isChunks, onChunksEnd } from './chunks.ts'
import { emitRefusalEvent } from './emit-refusal-event.ts'
import { claimOf, runOnce } from './idempotency.ts'
import { jsonBody, jsonText } from './object-texts.ts'
import { busy, readRequestBody } from './request-body.ts'
import { checkRate, type RequestLimiters } from './request-limiters.ts'
import { resolveReferences } from './resolve-references.ts'
import { allowedMethods, entriesFor, type PathEntries, type RouteEntry } from './route-table.ts'

/** What is known of a request so far; an error object is written from it wherever the request ends. */
export type Trace = {
  readonly requestId: string
  readonly at: number
  apiVersion: ApiVersion
  operation: Operation | null
  liveMode: boolean | undefined
  context: string
  connectToken: string | undefined
  /** The body is on its way: who sends it is who takes long. */
  isReadingBody: boolean
  /** Headers that the answer gets, whatever it is. */
  readonly headers: Record<string, string>
}

/** What a request is answered with; `environment` is where the HTTP adapter keeps its socket. */
type DispatchDependencies = {
  readonly ports: Ports
  readonly limiters: RequestLimiters
  readonly limits: Limits
  readonly environment: unknown
  readonly signal: AbortSignal
}

/** One request on its way through the operation that answers it. */
type RequestContext = {
  readonly request: Request
  readonly entry: RouteEntry
  readonly operation: Operation
  readonly parameters: Readonly<Record<string, string>>
  readonly caller: Caller
  readonly body: RawBody
  readonly signal: AbortSignal
}

const emptyBody: RawBody = { bytes: new Uint8Array(), mediaType: 'application/json' }

const isPossibleParameter = (parameter: string): boolean =>
  isPossibleReference(readReference(parameter, referenceKinds)?.reference ?? parameter)

const contextOf = ({ id, context }: Operation): string => context ?? `api.${id}`

/** Choose the entry that answers: header and path alone where they suffice, else the account of the caller decides. */
const chooseEntry = async (
  request: Request,
  path: PathEntries,
  parameters: Readonly<Record<string, string>>,
  trace: Trace,
  dependencies: DispatchDependencies,
): Promise<Result<{ readonly entry: RouteEntry; readonly caller: Caller }>> => {
  const header = readApiVersionHeader(request.headers.get('api-version') ?? undefined)
  if (!header.ok) return header
  trace.apiVersion = header.value ?? path.entries[0]?.apiVersion ?? 'current'
  const entries = entriesFor(path, request.method, header.value, parameters)
  if (!entries.ok) {
    if (entries.refusal.code === 'method_not_allowed') trace.headers['Allow'] = allowedMethods(path, header.value)
    return entries
  }
  const [first] = entries.value
  if (first === undefined) return refused('not_found', 'There is nothing at this path')
  const servingVersions = entries.value.map(entry => entry.apiVersion)
  trace.apiVersion = chooseApiVersion(header.value, servingVersions, 'current')
  trace.operation = first.binding.operation
  trace.context = contextOf(first.binding.operation)
  const { environment } = dependencies
  const authentication = { headers: request.headers, environment, at: trace.at, answerHeaders: trace.headers }
  const caller = await authenticateCaller({ ...authentication, operation: first.binding.operation }, dependencies)
  if (!caller.ok) return caller
  if (caller.value !== anonymousCaller) trace.liveMode = caller.value.liveMode
  trace.apiVersion = chooseApiVersion(header.value, servingVersions, caller.value.defaultApiVersion)
  const entry = entries.value.find(one => one.apiVersion === trace.apiVersion) ?? first
  const { operation } = entry.binding
  trace.operation = operation
  trace.context = contextOf(operation)
  // The layouts may have different operations here, each with its own access.
  const allowed = entry === first ? caller : await authenticateCaller({ ...authentication, operation }, dependencies)
  return allowed.ok ? accepted({ entry, caller: allowed.value }) : allowed
}

/** `yielded`: refuses the request if its room went to others while its body was on its way. */
type EntryDependencies = DispatchDependencies & {
  readonly ticket: Ticket
  readonly capacityLost: Promise<Result<never>>
}

/** Take a request as far as its body; what is refused to a caller who is within the rate is told. */
const readContext = async (
  request: Request,
  chosen: { readonly entry: RouteEntry; readonly caller: Caller },
  parameters: Readonly<Record<string, string>>,
  trace: Trace,
  dependencies: EntryDependencies,
): Promise<Result<RequestContext>> => {
  const { ports, limiters, signal } = dependencies
  const { entry, caller } = chosen
  const { operation } = entry.binding
  if (isRateLimited(operation, caller)) {
    const decision = limiters.requests(
      `${caller.accountId} ${caller.liveMode}`,
      caller.requestsPerSecond,
      ports.elapsed(),
    )
    const passed = checkRate(
      trace.headers,
      decision,
      'Too many requests came in a short time: send this one again later.',
    )
    if (!passed.ok) return passed
  }
  const hasUsableIds = Object.values(parameters).every(isPossibleParameter)
  const permitted = checkScope(operation, caller)
  const allowed = permitted.ok && !hasUsableIds ? refused('not_found', 'There is no object with this id') : permitted
  const resolved = allowed.ok
    ? await resolveReferences(readPathParameters(operation, parameters), finderOf(caller, ports))
    : allowed
  trace.isReadingBody = resolved.ok
  const body = resolved.ok ? await readBody(request, entry, caller, trace, dependencies) : resolved
  trace.isReadingBody = false
  if (body.ok && resolved.ok)
    return accepted({ request, entry, operation, parameters: resolved.value, caller, body: body.value, signal })
  if (body.ok || body === busy) return busy
  const reportedParameters = resolved.ok ? resolved.value : hasUsableIds ? parameters : {}
  await emitRefusalEvent(
    { operation, caller, parameters: reportedParameters, body: emptyBody },
    body.refusal,
    trace,
    ports,
  )
  return body
}

const finderOf =
  ({ accountId, liveMode }: Caller, { findReferences }: Ports) =>
  (wanted: readonly OwnReference[]) =>
    findReferences({ accountId, liveMode }, wanted)

/** Metering is bounded by shedding, and a login must always be possible. Source: docs/rules/authentication.md #rate-limit. */
const isRateLimited = ({ access }: Operation, caller: Caller): boolean =>
  caller !== anonymousCaller && caller.scope !== 'operator' && access !== 'metering' && access !== 'login'

const readBody = async (
  request: Request,
  { binding: { operation }, route }: RouteEntry,
  { accountId: account }: Caller,
  trace: Trace,
  { ticket: { reportBytes: hasCapacity }, capacityLost }: EntryDependencies,
): Promise<Result<RawBody>> => {
  if (operation.body === undefined || route.bodyInQuery !== undefined) return accepted(emptyBody)
  const onArrival = (): void => {
    trace.isReadingBody = false
  }
  return Promise.race([readRequestBody(request, operation, { account, hasCapacity, onArrival }), capacityLost])
}

const searchOf = (url: string): string => {
  const start = url.indexOf('?')
  return start === -1 ? '' : (url.slice(start + 1).split('#', 1)[0] ?? '')
}

const readOperationRequest = async (
  requestContext: RequestContext,
  trace: Trace,
  ports: Ports,
  idempotency: IdempotencyClaim | null,
): Promise<Result<RequestOf<Operation>>> => {
  const { entry, operation, caller, body, signal, parameters } = requestContext
  const wire = {
    route: entry.route,
    apiVersion: trace.apiVersion,
    parameters,
    search: searchOf(requestContext.request.url),
    body,
  }
  const read = await resolveReferences(
    readRequest(operation, wire),
    finderOf(caller, ports),
    startTimeSlices(caller.accountId),
  )
  if (!read.ok) return read
  const { query, body: shaped, parameters: all } = read.value
  const wantsCsv =
    entry.binding.csv !== undefined && acceptsValue(requestContext.request.headers.get('accept'), 'text/csv')
  const common = {
    wantsCsv,
    caller,
    at: trace.at,
    requestId: trace.requestId,
    apiVersion: trace.apiVersion,
    signal,
    idempotency,
  }
  // The operation's own shapes have read query and body; the table of routes does not know their types.
  return accepted({ ...common, parameters: all, id: all['id'] ?? '', query, body: shaped } as RequestOf<Operation>)
}

type RefusedOutcome = Extract<Outcome<unknown>, { readonly ok: false }>
type AcceptedOutcome = Extract<Outcome<unknown>, { readonly ok: true }>

const runOperation = async (
  requestContext: RequestContext,
  trace: Trace,
  read: RequestOf<Operation>,
): Promise<AcceptedOutcome | RefusedOutcome> => {
  const outcome = await requestContext.entry.binding.run(read)
  if (outcome.apiVersion !== undefined) trace.apiVersion = outcome.apiVersion
  if (outcome.ok) return outcome
  if (outcome.context !== undefined) trace.context = outcome.context
  trace.connectToken = outcome.connectToken
  return { ...outcome, refusal: refusalInApiVersion(requestContext.operation, outcome.refusal, trace.apiVersion) }
}

const jsonAnswer = (trace: Trace, body: Answer['body'], status: number): Answer => ({
  status,
  apiVersion: trace.apiVersion,
  mediaType: 'application/json; charset=utf-8',
  body,
  headers: trace.headers,
})

const csvMediaType = 'text/csv; charset=utf-8; header=present'

/** Simulations change nothing, so a key has nothing to keep for them. */
const isSimulation = (query: unknown): boolean =>
  typeof query === 'object' && query !== null && 'non_persistent' in query && query.non_persistent === true

type PerformResult = { readonly ok: true; readonly value: Answer } | RefusedOutcome

const bodyOfWritten = (written: SerializedAnswer): Answer['body'] =>
  'bytes' in written ? written.bytes : written.chunks

const textOf = async (
  { serialized: written, value }: AcceptedOutcome,
  { operation, caller }: RequestContext,
  apiVersion: ApiVersion,
): Promise<string> => {
  if (written === undefined)
    return jsonText(value, whole => answerInApiVersion(operation, whole, apiVersion), caller.accountId)
  if ('bytes' in written) return Buffer.from(written.bytes).toString()
  throw new Error(`an answer of ${operation.id} cannot be kept: it is no text`)
}

const performAndReport = async (requestContext: RequestContext, trace: Trace, ports: Ports): Promise<PerformResult> => {
  const outcome = await readAndPerform(requestContext, trace, ports)
  if (!outcome.ok) await emitRefusalEvent(requestContext, outcome.refusal, trace, ports)
  return outcome
}

const readAndPerform = async (requestContext: RequestContext, trace: Trace, ports: Ports): Promise<PerformResult> => {
  const { operation, request, entry } = requestContext
  const claim =
    operation.idempotent === true
      ? claimOf(request, requestContext.caller, trace.apiVersion, requestContext.body)
      : accepted(null)
  if (!claim.ok) return claim
  const read = await readOperationRequest(requestContext, trace, ports, claim.value)
  if (!read.ok) return read
  if (claim.value !== null && !isSimulation(read.value.query))
    return performOnce(requestContext, trace, ports, read.value, claim.value)
  const outcome = await runOperation(requestContext, trace, read.value)
  if (!outcome.ok) return outcome
  if (entry.binding.csv !== undefined) trace.headers['Vary'] = 'Accept'
  if (outcome.serialized !== undefined) {
    const written = jsonAnswer(trace, bodyOfWritten(outcome.serialized), operation.status)
    return accepted(outcome.isTable === true ? { ...written, mediaType: csvMediaType } : written)
  }
  if (entry.binding.csv !== undefined && read.value.wantsCsv === true) {
    return accepted({
      ...jsonAnswer(trace, entry.binding.csv(outcome.value, trace.apiVersion), operation.status),
      mediaType: csvMediaType,
    })
  }
  const translate = (whole: unknown) => answerInApiVersion(operation, whole, trace.apiVersion)
  return accepted(
    jsonAnswer(trace, await jsonBody(outcome.value, translate, requestContext.caller.accountId), operation.status),
  )
}

const performOnce = async (
  requestContext: RequestContext,
  trace: Trace,
  ports: Ports,
  read: RequestOf<Operation>,
  claim: IdempotencyClaim,
): Promise<{ readonly ok: true; readonly value: Answer } | RefusedOutcome> => {
  const { operation } = requestContext
  const run = async (): Promise<{ readonly ok: true; readonly value: SavedAnswer } | RefusedOutcome> => {
    const outcome = await runOperation(requestContext, trace, read)
    if (!outcome.ok) return outcome
    const body = await textOf(outcome, requestContext, trace.apiVersion)
    return { ok: true, value: { status: operation.status, apiVersion: trace.apiVersion, body } }
  }
  const once = await runOnce<RefusedOutcome>(claim, ports, run)
  if (!once.ok) return once
  trace.apiVersion = once.value.saved.apiVersion
  if (once.value.isReplay) trace.headers['Idempotent-Replayed'] = 'true'
  return accepted(jsonAnswer(trace, once.value.saved.body, once.value.saved.status))
}

/** Headers that a refusal brings by its code. */
export const refusalHeaders = (refusal: Refusal, operation: Operation | null): Readonly<Record<string, string>> => {
  const retryAfter = retryAfterSeconds(refusal.code)
  const isUnauthorised = refusal.code === 'bad_credentials' || refusal.code === 'token_expired'
  return {
    ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }),
    ...(isUnauthorised ? { 'WWW-Authenticate': challenge(operation) } : {}),
  }
}

/** Take a request through choice of layout, access, limits, reading, the operation itself, and writing. */
export const dispatch = async (
  request: Request,
  path: PathEntries,
  parameters: Readonly<Record<string, string>>,
  trace: Trace,
  dependencies: DispatchDependencies,
): Promise<{ readonly ok: true; readonly value: Answer } | RefusedOutcome> => {
  const chosen = await chooseEntry(request, path, parameters, trace, dependencies)
  if (!chosen.ok) return chosen
  const { entry, caller } = chosen.value
  const { promise: capacityLost, resolve } = Promise.withResolvers<Result<never>>()
  const arrival = arrivalOf(dependencies.environment)
  const admissionRequest = {
    operation: entry.binding.operation,
    caller,
    headers: request.headers,
    arrival,
    onCapacityLost: () => resolve(busy),
  }
  const ticket = dependencies.limiters.admission.admit(admissionRequest)
  if (ticket === null) return busy
  let mustRelease = true
  try {
    const requestContext = await readContext(request, chosen.value, parameters, trace, {
      ...dependencies,
      ticket,
      capacityLost,
    })
    if (requestContext.ok) ticket.reportArrival()
    const outcome = requestContext.ok
      ? await performAndReport(requestContext.value, trace, dependencies.ports)
      : requestContext
    if (!outcome.ok || !isChunks(outcome.value.body)) return outcome
    mustRelease = false
    const body = onChunksEnd(outcome.value.body, ticket.release)
    // Whoever asked has another answer by now.
    if (dependencies.signal.aborted) await discardChunks(body)
    return accepted({ ...outcome.value, body })
  } finally {
    if (mustRelease) ticket.release()
  }
}
