import { chooseApiVersion, readApiVersionHeader } from '../../contract/api-version.ts'
import { readPathParameters } from '../../contract/exchange.ts'
import type { Caller, Operation, RawBody } from '../../contract/operation.ts'
import { isPossibleReference, readReference, referenceKinds } from '../../domain/reference.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { anonymousCaller, authenticateCaller, checkScope } from './access.ts'
import type { Ticket } from './admission.ts'
import { arrivalOf } from './arrival.ts'
import type { Limits, Ports } from './binding.ts'
import { discardChunks, isChunks, onChunksEnd } from './chunks.ts'
import { emitRefusalEvent } from './emit-refusal-event.ts'
import { type PerformResult, performOperation, type RequestContext } from './perform-operation.ts'
import { busy, type ReceivedRequest, readRequestBody } from './request-body.ts'
import { checkRate, type RequestLimiters } from './request-limiters.ts'
import { allowedMethods, entriesFor, type PathEntries, type RouteEntry } from './route-table.ts'
import { setOperation, type Trace } from './trace.ts'

/** Dependencies of a request. `environment` is the object in which the HTTP adapter stores the socket. */
export type DispatchDependencies = {
  readonly ports: Ports
  readonly limiters: RequestLimiters
  readonly limits: Limits
  readonly environment: unknown
  readonly signal: AbortSignal
}

/** Route entry that answers a request, and its authenticated caller. */
type ChosenEntry = { readonly entry: RouteEntry; readonly caller: Caller }

/**
 * Choose the entry by header and path. If they allow both API versions, the default of the caller's account decides.
 */
const chooseEntry = async (
  request: ReceivedRequest,
  path: PathEntries,
  parameters: Readonly<Record<string, string>>,
  trace: Trace,
  dependencies: DispatchDependencies,
): Promise<Result<ChosenEntry>> => {
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
  setOperation(trace, first.binding.operation)
  const { environment } = dependencies
  const authentication = { headers: request.headers, environment, at: trace.at, answerHeaders: trace.headers }
  const caller = await authenticateCaller({ ...authentication, operation: first.binding.operation }, dependencies)
  if (!caller.ok) return caller
  if (caller.value !== anonymousCaller) trace.liveMode = caller.value.liveMode
  trace.apiVersion = chooseApiVersion(header.value, servingVersions, caller.value.defaultApiVersion)
  const entry = entries.value.find(one => one.apiVersion === trace.apiVersion) ?? first
  const { operation } = entry.binding
  setOperation(trace, operation)
  // The API versions can have different operations here. Each operation has its own access rule.
  const allowed = entry === first ? caller : await authenticateCaller({ ...authentication, operation }, dependencies)
  return allowed.ok ? accepted({ entry, caller: allowed.value }) : allowed
}

/**
 * Requests of metering are limited by admission, and a login must always be possible.
 * Source: docs/rules/authentication.md #rate-limit.
 */
const isRateLimited = ({ access }: Operation, caller: Caller): boolean =>
  caller !== anonymousCaller && caller.scope !== 'operator' && access !== 'metering' && access !== 'login'

const checkRequestRate = (
  { entry, caller }: ChosenEntry,
  trace: Trace,
  { ports, limiters }: DispatchDependencies,
): Result<null> => {
  if (!isRateLimited(entry.binding.operation, caller)) return accepted(null)
  const account = `${caller.accountId} ${caller.liveMode}`
  const decision = limiters.requests(account, caller.requestsPerSecond, ports.elapsed())
  return checkRate(trace.headers, decision, 'Too many requests came in a short time: send this one again later.')
}

const isPossibleParameter = (parameter: string): boolean =>
  isPossibleReference(readReference(parameter, referenceKinds)?.reference ?? parameter)

const emptyBody: RawBody = { bytes: new Uint8Array(), mediaType: 'application/json' }

/** Capacity of a request. Other requests can take it while the body arrives. Then `onLost` is called. */
type Capacity = { isLost: boolean; onLost: () => void }

type EntryDependencies = DispatchDependencies & { readonly ticket: Ticket; readonly capacity: Capacity }

/**
 * Check rate and scope, resolve the path parameters and read the body. A refusal emits an event, except a rate limit.
 */
const readContext = async (
  request: ReceivedRequest,
  chosen: ChosenEntry,
  parameters: Readonly<Record<string, string>>,
  trace: Trace,
  dependencies: EntryDependencies,
): Promise<Result<RequestContext>> => {
  const { ports, signal } = dependencies
  const { entry, caller } = chosen
  const { operation } = entry.binding
  const passed = checkRequestRate(chosen, trace, dependencies)
  if (!passed.ok) return passed
  const hasUsableIds = Object.values(parameters).every(isPossibleParameter)
  const permitted = checkScope(operation, caller)
  const allowed = permitted.ok && !hasUsableIds ? refused('not_found', 'There is no object with this id') : permitted
  const resolved = allowed.ok
    ? await readPathParameters(operation, parameters, references => ports.findReferences(caller, references))
    : allowed
  trace.isReadingBody = resolved.ok
  const body = resolved.ok ? await readBody(request, chosen, trace, dependencies) : resolved
  trace.isReadingBody = false
  if (body.ok && resolved.ok)
    return accepted({ request, entry, operation, parameters: resolved.value, caller, body: body.value, signal })
  if (body.ok || body === busy) return busy
  const reported = resolved.ok ? resolved.value : hasUsableIds ? parameters : {}
  await emitRefusalEvent({ operation, caller, parameters: reported, body: emptyBody }, body.refusal, trace, ports)
  return body
}

const readBody = async (
  request: ReceivedRequest,
  { entry, caller }: ChosenEntry,
  trace: Trace,
  { ticket, capacity }: EntryDependencies,
): Promise<Result<RawBody>> => {
  const { operation } = entry.binding
  if (operation.body === undefined || entry.route.bodyInQuery !== undefined) return accepted(emptyBody)
  const reader = {
    account: caller.accountId,
    hasCapacity: ticket.reportBytes,
    onArrival: () => {
      trace.isReadingBody = false
    },
  }
  if (capacity.isLost) return busy
  return new Promise((resolve, reject) => {
    capacity.onLost = () => resolve(busy)
    readRequestBody(request, operation, reader).then(resolve, reject)
  })
}

/**
 * Answer a request: choose the API version, authenticate, admit, read, run the operation and write the answer.
 * The admission ticket is released after the last byte of a streamed answer, otherwise at the end of this call.
 */
export const dispatch = async (
  request: ReceivedRequest,
  path: PathEntries,
  parameters: Readonly<Record<string, string>>,
  trace: Trace,
  dependencies: DispatchDependencies,
): Promise<PerformResult> => {
  const chosen = await chooseEntry(request, path, parameters, trace, dependencies)
  if (!chosen.ok) return chosen
  const { entry, caller } = chosen.value
  const capacity: Capacity = { isLost: false, onLost: () => undefined }
  const ticket = dependencies.limiters.admission.admit({
    operation: entry.binding.operation,
    caller,
    headers: request.headers,
    arrival: arrivalOf(dependencies.environment),
    onCapacityLost: () => {
      capacity.isLost = true
      capacity.onLost()
    },
  })
  if (ticket === null) return busy
  let mustRelease = true
  try {
    const entryDependencies = { ...dependencies, ticket, capacity }
    const requestContext = await readContext(request, chosen.value, parameters, trace, entryDependencies)
    if (!requestContext.ok) return requestContext
    ticket.reportArrival()
    const outcome = await performOperation(requestContext.value, trace, dependencies.ports)
    if (outcome.ok || outcome.refusal.code !== 'unavailable') ticket.reportAnswer()
    if (!outcome.ok || !isChunks(outcome.value.body)) return outcome
    mustRelease = false
    const body = onChunksEnd(outcome.value.body, ticket.release)
    // The client has already received a timeout answer.
    if (dependencies.signal.aborted) await discardChunks(body)
    return accepted({ ...outcome.value, body })
  } finally {
    if (mustRelease) ticket.release()
  }
}
