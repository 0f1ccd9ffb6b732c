import { retryAfterSeconds } from '../../contract/error.ts'
import { answerInLayout, readPathParameters, readRequest, refusalInLayout } from '../../contract/exchange.ts'
import { chooseLayout, type Layout, layoutFromHeader } from '../../contract/layout.ts'
import type { Caller, IdempotencyClaim, Operation, Outcome, RawBody, RequestOf, WrittenAnswer } from '../../contract/operation.ts'
import { beginSlices } from '../../contract/slices.ts'
import { isPossibleReference, type OwnReference, readReference, referenceKinds } from '../../domain/reference.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import { callerOf, challenge, nobody, permit } from './access.ts'
import type { Ticket } from './admission.ts'
import { type Answer, takes } from './answer.ts'
import { arrivalOf } from './arrival.ts'
import type { KeptAnswer, Limits, Ports } from './binding.ts'
import { isChunks, leaveChunks, whenOver } from './chunks.ts'
import { findingReferences } from './find-references.ts'
import { type Gate, passRate } from './gate.ts'
import { claimOf, runOnce } from './idempotency.ts'
import { jsonBody, jsonText } from './object-texts.ts'
import { busy, readRequestBody } from './request-body.ts'
import { allowedMethods, type Entry, entriesFor, type PathEntries } from './route-table.ts'
import { tellRefusal } from './tell-refusal.ts'

/** What is known of a request so far; an error object is written from it wherever the request ends. */
export type Trace = {
  readonly requestId: string
  readonly at: number
  layout: Layout
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
type DispatchMeans = {
  readonly ports: Ports
  readonly gate: Gate
  readonly limits: Limits
  readonly environment: unknown
  readonly signal: AbortSignal
}

/** One request on its way through the operation that answers it. */
type Passage = {
  readonly request: Request
  readonly entry: Entry
  readonly operation: Operation
  readonly parameters: Readonly<Record<string, string>>
  readonly caller: Caller
  readonly body: RawBody
  readonly signal: AbortSignal
}

const emptyBody: RawBody = { bytes: new Uint8Array(), mediaType: 'application/json' }

const isUsable = (parameter: string): boolean => isPossibleReference(readReference(parameter, referenceKinds)?.reference ?? parameter)

const contextOf = ({ id, context }: Operation): string => context ?? `api.${id}`

/** Choose the entry that answers: header and path alone where they suffice, else the account of the caller decides. */
const choose = async (
  request: Request,
  path: PathEntries,
  parameters: Readonly<Record<string, string>>,
  trace: Trace,
  means: DispatchMeans,
): Promise<Result<{ readonly entry: Entry; readonly caller: Caller }>> => {
  const header = layoutFromHeader(request.headers.get('api-version') ?? undefined)
  if (!header.ok) return header
  trace.layout = header.value ?? path.entries[0]?.layout ?? 'current'
  const entries = entriesFor(path, request.method, header.value, parameters)
  if (!entries.ok) {
    if (entries.refusal.code === 'method_not_allowed') trace.headers['Allow'] = allowedMethods(path, header.value)
    return entries
  }
  const [first] = entries.value
  if (first === undefined) return refused('not_found', 'There is nothing at this path')
  const serving = entries.value.map(entry => entry.layout)
  trace.layout = chooseLayout(header.value, serving, 'current')
  trace.operation = first.binding.operation
  trace.context = contextOf(first.binding.operation)
  const { environment } = means
  const seeking = { headers: request.headers, environment, at: trace.at, answerHeaders: trace.headers }
  const caller = await callerOf({ ...seeking, operation: first.binding.operation }, means)
  if (!caller.ok) return caller
  if (caller.value !== nobody) trace.liveMode = caller.value.liveMode
  trace.layout = chooseLayout(header.value, serving, caller.value.defaultLayout)
  const entry = entries.value.find(one => one.layout === trace.layout) ?? first
  const { operation } = entry.binding
  trace.operation = operation
  trace.context = contextOf(operation)
  // The layouts may have different operations here, each with its own access.
  const allowed = entry === first ? caller : await callerOf({ ...seeking, operation }, means)
  return allowed.ok ? accepted({ entry, caller: allowed.value }) : allowed
}

/** `yielded`: refuses the request if its room went to others while its body was on its way. */
type EnterMeans = DispatchMeans & { readonly ticket: Ticket; readonly yielded: Promise<Result<never>> }

/** Take a request as far as its body; what is refused to a caller who is within the rate is told. */
const enter = async (
  request: Request,
  chosen: { readonly entry: Entry; readonly caller: Caller },
  parameters: Readonly<Record<string, string>>,
  trace: Trace,
  means: EnterMeans,
): Promise<Result<Passage>> => {
  const { ports, gate, signal } = means
  const { entry, caller } = chosen
  const { operation } = entry.binding
  if (isRateLimited(operation, caller)) {
    const verdict = gate.requests(`${caller.accountId} ${caller.liveMode}`, caller.requestsPerSecond, ports.elapsed())
    const passed = passRate(trace.headers, verdict, 'Too many requests came in a short time: send this one again later.')
    if (!passed.ok) return passed
  }
  const hasUsableIds = Object.values(parameters).every(isUsable)
  const permitted = permit(operation, caller)
  const allowed = permitted.ok && !hasUsableIds ? refused('not_found', 'There is no object with this id') : permitted
  const named = allowed.ok ? await findingReferences(readPathParameters(operation, parameters), finderOf(caller, ports)) : allowed
  trace.isReadingBody = named.ok
  const body = named.ok ? await bodyOf(request, entry, caller, trace, means) : named
  trace.isReadingBody = false
  if (body.ok && named.ok) return accepted({ request, entry, operation, parameters: named.value, caller, body: body.value, signal })
  if (body.ok || body === busy) return busy
  const told = named.ok ? named.value : hasUsableIds ? parameters : {}
  await tellRefusal({ operation, caller, parameters: told, body: emptyBody }, body.refusal, trace, ports)
  return body
}

const finderOf =
  ({ accountId, liveMode }: Caller, { findReferences }: Ports) =>
  (wanted: readonly OwnReference[]) =>
    findReferences({ accountId, liveMode }, wanted)

/** Metering is bounded by shedding, and a login must always be possible. Source: docs/rules/authentication.md #rate-limit. */
const isRateLimited = ({ access }: Operation, caller: Caller): boolean =>
  caller !== nobody && caller.scope !== 'operator' && access !== 'metering' && access !== 'login'

const bodyOf = async (
  request: Request,
  { binding: { operation }, route }: Entry,
  { accountId: account }: Caller,
  trace: Trace,
  { ticket: { weigh: hasRoom }, yielded }: EnterMeans,
): Promise<Result<RawBody>> => {
  if (operation.body === undefined || route.bodyInQuery !== undefined) return accepted(emptyBody)
  const onArrival = (): void => {
    trace.isReadingBody = false
  }
  return Promise.race([readRequestBody(request, operation, { account, hasRoom, onArrival }), yielded])
}

const searchOf = (url: string): string => {
  const start = url.indexOf('?')
  return start === -1 ? '' : (url.slice(start + 1).split('#', 1)[0] ?? '')
}

const readFor = async (
  passage: Passage,
  trace: Trace,
  ports: Ports,
  idempotency: IdempotencyClaim | null,
): Promise<Result<RequestOf<Operation>>> => {
  const { entry, operation, caller, body, signal, parameters } = passage
  const wire = { route: entry.route, layout: trace.layout, parameters, search: searchOf(passage.request.url), body }
  const read = await findingReferences(readRequest(operation, wire), finderOf(caller, ports), beginSlices(caller.accountId))
  if (!read.ok) return read
  const { query, body: shaped, parameters: all } = read.value
  const wantsCsv = entry.binding.csv !== undefined && takes(passage.request.headers.get('accept'), 'text/csv')
  const common = { wantsCsv, caller, at: trace.at, requestId: trace.requestId, layout: trace.layout, signal, idempotency }
  // The operation's own shapes have read query and body; the table of routes does not know their types.
  return accepted({ ...common, parameters: all, id: all['id'] ?? '', query, body: shaped } as RequestOf<Operation>)
}

type Fault = Extract<Outcome<unknown>, { readonly ok: false }>
type Answered = Extract<Outcome<unknown>, { readonly ok: true }>

const answerWith = async (passage: Passage, trace: Trace, read: RequestOf<Operation>): Promise<Answered | Fault> => {
  const outcome = await passage.entry.binding.run(read)
  if (outcome.layout !== undefined) trace.layout = outcome.layout
  if (outcome.ok) return outcome
  if (outcome.context !== undefined) trace.context = outcome.context
  trace.connectToken = outcome.connectToken
  return { ...outcome, refusal: refusalInLayout(passage.operation, outcome.refusal, trace.layout) }
}

const jsonAnswer = (trace: Trace, body: Answer['body'], status: number): Answer => ({
  status,
  layout: trace.layout,
  mediaType: 'application/json; charset=utf-8',
  body,
  headers: trace.headers,
})

const csvMediaType = 'text/csv; charset=utf-8; header=present'

/** Simulations change nothing, so a key has nothing to keep for them. */
const changesNothing = (query: unknown): boolean =>
  typeof query === 'object' && query !== null && 'non_persistent' in query && query.non_persistent === true

type Performed = { readonly ok: true; readonly value: Answer } | Fault

const bodyWritten = (written: WrittenAnswer): Answer['body'] => ('bytes' in written ? written.bytes : written.chunks)

const textOf = async ({ written, value }: Answered, { operation, caller }: Passage, layout: Layout): Promise<string> => {
  if (written === undefined) return jsonText(value, whole => answerInLayout(operation, whole, layout), caller.accountId)
  if ('bytes' in written) return Buffer.from(written.bytes).toString()
  throw new Error(`an answer of ${operation.id} cannot be kept: it is no text`)
}

const perform = async (passage: Passage, trace: Trace, ports: Ports): Promise<Performed> => {
  const outcome = await performRead(passage, trace, ports)
  if (!outcome.ok) await tellRefusal(passage, outcome.refusal, trace, ports)
  return outcome
}

const performRead = async (passage: Passage, trace: Trace, ports: Ports): Promise<Performed> => {
  const { operation, request, entry } = passage
  const claim = operation.idempotent === true ? claimOf(request, passage.caller, trace.layout, passage.body) : accepted(null)
  if (!claim.ok) return claim
  const read = await readFor(passage, trace, ports, claim.value)
  if (!read.ok) return read
  if (claim.value !== null && !changesNothing(read.value.query)) return performOnce(passage, trace, ports, read.value, claim.value)
  const outcome = await answerWith(passage, trace, read.value)
  if (!outcome.ok) return outcome
  if (entry.binding.csv !== undefined) trace.headers['Vary'] = 'Accept'
  if (outcome.written !== undefined) {
    const written = jsonAnswer(trace, bodyWritten(outcome.written), operation.status)
    return accepted(outcome.isTable === true ? { ...written, mediaType: csvMediaType } : written)
  }
  if (entry.binding.csv !== undefined && read.value.wantsCsv === true) {
    return accepted({
      ...jsonAnswer(trace, entry.binding.csv(outcome.value, trace.layout), operation.status),
      mediaType: csvMediaType,
    })
  }
  const translate = (whole: unknown) => answerInLayout(operation, whole, trace.layout)
  return accepted(jsonAnswer(trace, await jsonBody(outcome.value, translate, passage.caller.accountId), operation.status))
}

const performOnce = async (
  passage: Passage,
  trace: Trace,
  ports: Ports,
  read: RequestOf<Operation>,
  claim: IdempotencyClaim,
): Promise<{ readonly ok: true; readonly value: Answer } | Fault> => {
  const { operation } = passage
  const run = async (): Promise<{ readonly ok: true; readonly value: KeptAnswer } | Fault> => {
    const outcome = await answerWith(passage, trace, read)
    if (!outcome.ok) return outcome
    const body = await textOf(outcome, passage, trace.layout)
    return { ok: true, value: { status: operation.status, layout: trace.layout, body } }
  }
  const once = await runOnce<Fault>(claim, ports, run)
  if (!once.ok) return once
  trace.layout = once.value.kept.layout
  if (once.value.isReplay) trace.headers['Idempotent-Replayed'] = 'true'
  return accepted(jsonAnswer(trace, once.value.kept.body, once.value.kept.status))
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
  means: DispatchMeans,
): Promise<{ readonly ok: true; readonly value: Answer } | Fault> => {
  const chosen = await choose(request, path, parameters, trace, means)
  if (!chosen.ok) return chosen
  const { entry, caller } = chosen.value
  const { promise: yielded, resolve } = Promise.withResolvers<Result<never>>()
  const arrival = arrivalOf(means.environment)
  const asked = { operation: entry.binding.operation, caller, headers: request.headers, arrival, yieldRoom: () => resolve(busy) }
  const ticket = means.gate.admission.enter(asked)
  if (ticket === null) return busy
  let isLeft = true
  try {
    const passage = await enter(request, chosen.value, parameters, trace, { ...means, ticket, yielded })
    if (passage.ok) ticket.arrive()
    const outcome = passage.ok ? await perform(passage.value, trace, means.ports) : passage
    if (!outcome.ok || !isChunks(outcome.value.body)) return outcome
    isLeft = false
    const body = whenOver(outcome.value.body, ticket.leave)
    // Whoever asked has another answer by now.
    if (means.signal.aborted) await leaveChunks(body)
    return accepted({ ...outcome.value, body })
  } finally {
    if (isLeft) ticket.leave()
  }
}
