import type { ApiVersion } from '../../contract/api-version.ts'
import { answerInApiVersion, dryRunInApiVersion, readRequest, refusalInApiVersion } from '../../contract/exchange.ts'
import type {
  Caller,
  IdempotencyClaim,
  Operation,
  Outcome,
  RawBody,
  RequestOf,
  SerializedAnswer,
} from '../../contract/operation.ts'
import type { OwnReference } from '../../domain/reference.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import { type TableFormat, tableMediaTypes } from '../../domain/table-format.ts'
import { type Answer, fileAnswer } from './answer.ts'
import type { Ports, SavedAnswer } from './binding.ts'
import { emitRefusalEvent } from './emit-refusal-event.ts'
import { claimOf, runOnce } from './idempotency.ts'
import { negotiateFormat } from './negotiate.ts'
import { nextTurnFor, type ReceivedRequest } from './request-body.ts'
import type { RouteEntry } from './route-table.ts'
import type { Trace } from './trace.ts'

/** A request with its operation, caller and body. */
export type RequestContext = {
  readonly request: ReceivedRequest
  readonly entry: RouteEntry
  readonly operation: Operation
  readonly parameters: Readonly<Record<string, string>>
  readonly caller: Caller
  readonly body: RawBody
  readonly signal: AbortSignal
}

export type RefusedOutcome = Extract<Outcome<unknown>, { readonly ok: false }>
type AcceptedOutcome = Extract<Outcome<unknown>, { readonly ok: true }>

/** Answer of an operation, or its refusal. */
export type PerformResult = { readonly ok: true; readonly value: Answer } | RefusedOutcome

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
  const { apiVersion } = trace
  const format = negotiateFormat(operation, requestContext.request.headers.get('accept'))
  if (!format.ok) return format
  const search = searchOf(requestContext.request.url)
  const nextTurn = () => nextTurnFor(body, caller.accountId)
  const wire = { route: entry.route, apiVersion, parameters, search, body }
  const findIds = (references: readonly OwnReference[]) => ports.findReferences(caller, references)
  const read = await readRequest(operation, wire, { findIds, nextTurn })
  if (!read.ok) return read
  if (operation.body !== 'raw') await nextTurn()
  const { query, body: shaped, parameters: all } = read.value
  // The schemas of the operation have read query and body. The route table does not know their types.
  return accepted({
    ...format.value,
    caller,
    at: trace.at,
    requestId: trace.requestId,
    apiVersion,
    signal,
    idempotency,
    parameters: all,
    id: all['id'] ?? '',
    query,
    body: shaped,
  } as RequestOf<Operation>)
}

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

/** Media types of whole tables. Binary formats are compressed inside. */
const tableAnswers: Readonly<Record<TableFormat, Pick<Answer, 'mediaType' | 'isLong' | 'isBinary'>>> = {
  csv: { mediaType: csvMediaType, isLong: true },
  ndjson: { mediaType: tableMediaTypes.ndjson, isLong: true },
  parquet: { mediaType: tableMediaTypes.parquet, isLong: true, isBinary: true },
  arrow: { mediaType: tableMediaTypes.arrow, isLong: true, isBinary: true },
}

/** Return whether a page of a list has a next one; null for another answer. */
const hasMore = (value: unknown): boolean | null => {
  const { has_more: more } = Object(value) as { readonly has_more?: unknown }
  return typeof more === 'boolean' ? more : null
}

const writeAnswer = async (
  outcome: AcceptedOutcome,
  { operation, entry, request }: RequestContext,
  trace: Trace,
  wantsCsv: boolean,
): Promise<Result<Answer>> => {
  const { csv } = entry.binding
  if (csv !== undefined || operation.tables !== undefined) trace.headers['Vary'] = 'Accept'
  if (outcome.file !== undefined) {
    const answer = {
      ...jsonAnswer(trace, '', operation.status),
      ...tableAnswers[outcome.table],
      headers: trace.headers,
    }
    return fileAnswer(outcome.file, request, answer)
  }
  if (outcome.serialized !== undefined) {
    const answer = jsonAnswer(trace, bodyOf(outcome.serialized), operation.status)
    if (outcome.table !== undefined) return accepted({ ...answer, ...tableAnswers[outcome.table] })
    if (outcome.isTable === true) return accepted({ ...answer, mediaType: csvMediaType })
    return accepted(operation.ndjson === true ? { ...answer, mediaType: tableMediaTypes.ndjson } : answer)
  }
  if (outcome.dryRun !== undefined) {
    const dryRun = dryRunInApiVersion(operation, outcome.dryRun, trace.apiVersion)
    return accepted(jsonAnswer(trace, JSON.stringify(dryRun), 200))
  }
  if (csv !== undefined && wantsCsv) {
    // A table has no member for it.
    if (hasMore(outcome.value) !== null) trace.headers['X-Has-More'] = String(hasMore(outcome.value))
    const table = jsonAnswer(trace, csv(outcome.value, trace.apiVersion), operation.status)
    return accepted({ ...table, mediaType: csvMediaType })
  }
  const status = outcome.isPending === true ? 202 : operation.status
  return accepted(
    jsonAnswer(trace, JSON.stringify(answerInApiVersion(operation, outcome.value, trace.apiVersion)), status),
  )
}

const bodyOf = (serialized: SerializedAnswer): Answer['body'] =>
  'bytes' in serialized ? serialized.bytes : serialized.chunks

const textOf = (
  { serialized, value }: AcceptedOutcome,
  { operation }: RequestContext,
  apiVersion: ApiVersion,
): string => {
  if (serialized === undefined) return JSON.stringify(answerInApiVersion(operation, value, apiVersion))
  if ('bytes' in serialized) return Buffer.from(serialized.bytes).toString()
  throw new Error(`The answer of ${operation.id} cannot be saved, because it is a stream`)
}

const hasFlag = (part: unknown, name: string): boolean =>
  typeof part === 'object' && part !== null && (part as Readonly<Record<string, unknown>>)[name] === true

/** A dry run and a simulation change nothing, so their answers are not saved under an Idempotency-Key. */
const changesNothing = (
  { dryRun }: Operation,
  { query, body }: Pick<RequestOf<Operation>, 'query' | 'body'>,
): boolean =>
  hasFlag(query, 'non_persistent') || (dryRun === true && (hasFlag(query, 'dry_run') || hasFlag(body, 'dry_run')))

/** Read the query and body of a request, run its operation and write the answer. A refusal emits an event. */
export const performOperation = async (
  requestContext: RequestContext,
  trace: Trace,
  ports: Ports,
): Promise<PerformResult> => {
  const outcome = await readAndPerform(requestContext, trace, ports)
  if (!outcome.ok) await emitRefusalEvent(requestContext, outcome.refusal, trace, ports)
  return outcome
}

const readAndPerform = async (requestContext: RequestContext, trace: Trace, ports: Ports): Promise<PerformResult> => {
  const { operation, request } = requestContext
  const claim = operation.idempotent === true ? claimOf(request, requestContext, trace.apiVersion) : accepted(null)
  if (!claim.ok) return claim
  const read = await readOperationRequest(requestContext, trace, ports, claim.value)
  if (!read.ok) return read
  if (claim.value !== null && !changesNothing(operation, read.value))
    return performOnce(requestContext, trace, ports, read.value, claim.value)
  const outcome = await runOperation(requestContext, trace, read.value)
  if (!outcome.ok) return outcome
  return writeAnswer(outcome, requestContext, trace, read.value.wantsCsv === true)
}

const performOnce = async (
  requestContext: RequestContext,
  trace: Trace,
  ports: Ports,
  read: RequestOf<Operation>,
  claim: IdempotencyClaim,
): Promise<PerformResult> => {
  const { operation } = requestContext
  const run = async (): Promise<{ readonly ok: true; readonly value: SavedAnswer } | RefusedOutcome> => {
    const outcome = await runOperation(requestContext, trace, read)
    if (!outcome.ok) return outcome
    const body = textOf(outcome, requestContext, trace.apiVersion)
    return { ok: true, value: { status: operation.status, apiVersion: trace.apiVersion, body } }
  }
  const once = await runOnce<RefusedOutcome>(claim, ports, run)
  if (!once.ok) return once
  trace.apiVersion = once.value.saved.apiVersion
  if (once.value.isReplay) trace.headers['Idempotent-Replayed'] = 'true'
  return accepted(jsonAnswer(trace, once.value.saved.body, once.value.saved.status))
}
