import type { z } from 'zod'
import { accepted, type Refusal, type RefusalCode, type Result, refused } from '../domain/refusal.ts'
import type { ApiVersion } from './api-version.ts'
import { type DryRunWire, dryRunShape } from './dry-run.ts'
import { answerToEarlier, refusalToEarlier, requestFromApiVersion, type VersionRename } from './earlier-api-version.ts'
import { exactNumber, isExactDouble, isNumberText } from './json/exact-number.ts'
import { isJsonObject, type JsonObject, mapObjectsAt, pathNames } from './json/json-path.ts'
import { parseJson, parseJsonInTurns } from './json/strict-json.ts'
import { nearestName, type RequestPart, unknownNameMessage } from './message-text.ts'
import { withoutNullTexts } from './null-text.ts'
import type { NextTurn, Operation, RawBody, Route } from './operation.ts'
import { parameters, restorePlus } from './parameter.ts'
import { readQuery, readShape } from './read-shape.ts'
import { type FindIds, type ReferenceFields, resolvePathReference, resolveReferences } from './reference.ts'

/** Received request: path parameters decoded, query as text without `?`, body inflated. */
type WireRequest = {
  readonly route: Route
  readonly apiVersion: ApiVersion
  readonly parameters: Readonly<Record<string, string>>
  readonly search: string
  readonly body: RawBody
}

/** Request in current names, checked by the operation's shapes. */
type ReadRequest = {
  readonly parameters: Readonly<Record<string, string>>
  readonly query: unknown
  readonly body: unknown
}

const inApiVersion = <T>(result: Result<T>, renames: readonly VersionRename[], apiVersion: ApiVersion): Result<T> =>
  result.ok || apiVersion === 'current'
    ? result
    : { ok: false, refusal: withNearestEarlierName(refusalToEarlier(result.refusal, renames), renames) }

/** Suggest a known name for an unknown one of the earlier version. Shapes know current names only. */
const withNearestEarlierName = (refusal: Refusal, renames: readonly VersionRename[]): Refusal => {
  const isUnknown = refusal.code === 'unknown_field' || refusal.code === 'unknown_parameter'
  const name = refusal.field?.split('.').at(-1)
  if (!isUnknown || name === undefined) return refusal
  const names = renames.map(rename => rename.earlier?.split('.').at(-1)).filter(one => one !== undefined)
  const nearest = nearestName(name, names)
  return nearest === undefined ? refusal : { ...refusal, message: unknownNameMessage(name, nearest) }
}

/** Rules for reading a query or a body. */
type PartContext = {
  readonly renames?: readonly VersionRename[] | undefined
  readonly references: ReferenceFields['body']
  readonly findIds: FindIds
  readonly keepsUnknown?: boolean
  readonly apiVersion: ApiVersion
}

const readPart = async (
  shape: z.ZodType,
  value: unknown,
  part: RequestPart,
  { renames = [], findIds, ...rules }: PartContext,
): Promise<Result<unknown>> => {
  const translated = requestFromApiVersion(value, renames, rules.apiVersion, part)
  if (!translated.ok) return translated
  const resolved = await resolveReferences(translated.value, findIds, rules.references, rules.keepsUnknown)
  const read = resolved.ok ? readShape(shape, resolved.value, part) : resolved
  return inApiVersion(read, renames, rules.apiVersion)
}

const noQueryParameters = parameters({})

/** Queries of requests without parameters, by operation. They contain only defaults, so all requests share them. */
const emptyQueries: Readonly<Record<ApiVersion, WeakMap<Operation, Result<unknown>>>> = {
  current: new WeakMap(),
  earlier: new WeakMap(),
}

const isQueryName = (operation: Operation, name: string): boolean =>
  Object.hasOwn(operation.query?.shape ?? {}, name) ||
  (operation.renames?.query ?? []).some(rename => rename.earlier === name)

const parseNumber = (written: string): unknown => {
  if (!isNumberText(written)) return written
  return isExactDouble(written) ? Number(written) : exactNumber(written)
}

/** Parse numbers that arrived as strings. Another string stays unchanged, and the shape refuses the string. */
const parseNumbers = (body: unknown, paths: readonly string[]): unknown =>
  paths.reduce((read, path) => {
    const names = pathNames(path)
    const last = names.at(-1) ?? ''
    return mapObjectsAt(read, names.slice(0, -1), members => {
      const value = members[last]
      return typeof value === 'string' ? { ...members, [last]: parseNumber(value) } : members
    })
  }, body)

/** Split the parameters of a query into query parameters and members of the body. */
const splitQuery = (
  operation: Operation,
  query: JsonObject,
  numbers: readonly string[],
): { readonly query: JsonObject; readonly body: JsonObject } => {
  // Without a prototype, a parameter with the name __proto__ is an ordinary member.
  const queryMembers: Record<string, unknown> = Object.create(null)
  const body: Record<string, unknown> = Object.create(null)
  for (const [name, value] of Object.entries(query)) {
    if (isQueryName(operation, name)) queryMembers[name] = value
    else body[name] = numbers.includes(name) ? parseNumber(String(value)) : restorePlus(String(value))
  }
  return { query: queryMembers, body }
}

const parseBody = async (
  operation: Operation,
  body: RawBody,
  nextTurn: () => Promise<void>,
): Promise<Result<unknown>> =>
  body.bytes.length === 0 && operation.bodyOptional === true ? accepted({}) : parseJsonInTurns(body.bytes, nextTurn)

/** Take the path parameters out of a body. */
const takePathParameters = (
  body: unknown,
  names: Readonly<Record<string, string>>,
): Result<{ readonly body: unknown; readonly parameters: Readonly<Record<string, string>> }> => {
  let rest = body
  const parameterValues: Record<string, string> = {}
  for (const [parameter, name] of Object.entries(names)) {
    if (!isJsonObject(rest)) return accepted({ body: rest, parameters: parameterValues })
    const { [name]: value, ...others } = rest
    if (value === undefined || value === null) return refused('field_required', `${name} is required`, name)
    if (typeof value !== 'string') return refused('field_invalid', `${name} must be a string`, name)
    parameterValues[parameter] = value
    rest = others
  }
  return accepted({ body: rest, parameters: parameterValues })
}

/** Take a parameter that repeats the id of the path out of a query. Refuses another id. */
const takeRepeatedId = async (
  { references }: Operation,
  body: JsonObject,
  { route, parameters }: Pick<WireRequest, 'route' | 'parameters'>,
  findIds: FindIds,
): Promise<Result<JsonObject>> => {
  const name = route.bodyInQuery?.repeatedId
  if (name === undefined || body[name] === undefined) return accepted(body)
  const { [name]: sent, ...rest } = body
  const resolved = await resolveReferences({ [name]: sent }, findIds, { [name]: references?.id ?? [] })
  if (!resolved.ok) return resolved
  return isJsonObject(resolved.value) && resolved.value[name] === parameters['id']
    ? accepted(rest)
    : refused('field_invalid', `${name} must equal the id in the path; leave ${name} out`, name)
}

/** Replace an own reference in the path with the id of its object. Refuses `not_found` and `reference_ambiguous`. */
export const readPathParameters = (
  { references }: Operation,
  parameters: WireRequest['parameters'],
  findIds: FindIds,
): Promise<Result<WireRequest['parameters']>> => resolvePathReference(parameters, findIds, references?.id)

/** Effects of reading a request. `nextTurn` lets other work run before the body is parsed and before it is validated. */
type ReadEffects = { readonly findIds: FindIds; readonly nextTurn: NextTurn }

/**
 * Read a request of an API version by the shapes of its operation, and replace own references in query and body with
 * ids. The references in `wire.parameters` are resolved before. A raw body stays unread.
 * Refusals use the names of the request's API version.
 */
export const readRequest = async (
  operation: Operation,
  wire: WireRequest,
  { findIds, nextTurn }: ReadEffects,
): Promise<Result<ReadRequest>> => {
  const { route, apiVersion } = wire
  const { renames = {}, references = {} } = operation
  const query = readQuery(operation.anyQuery === true ? '' : wire.search)
  if (!query.ok) return query
  const bodyInQuery = route.bodyInQuery
  const split =
    bodyInQuery === undefined
      ? { query: query.value, body: {} }
      : splitQuery(operation, query.value, bodyInQuery.numbers)
  const queryRules = { renames: renames.query, references: references.query, findIds, apiVersion }
  const isEmptyQuery = wire.search === '' && bodyInQuery === undefined
  const readQueryPart =
    (isEmptyQuery ? emptyQueries[apiVersion].get(operation) : undefined) ??
    (await readPart(operation.query ?? noQueryParameters, split.query, 'query', queryRules))
  if (!readQueryPart.ok) return readQueryPart
  if (isEmptyQuery && !emptyQueries[apiVersion].has(operation))
    emptyQueries[apiVersion].set(operation, accepted(Object.freeze(readQueryPart.value)))
  const body = operation.body
  if (body === undefined) return accepted({ parameters: wire.parameters, query: readQueryPart.value, body: undefined })
  if (body === 'raw') return accepted({ parameters: wire.parameters, query: readQueryPart.value, body: wire.body })
  await nextTurn()
  const parsed =
    bodyInQuery === undefined
      ? await parseBody(operation, wire.body, nextTurn)
      : await takeRepeatedId(operation, split.body, wire, findIds)
  if (!parsed.ok) return parsed
  await nextTurn()
  const withParameters = takePathParameters(parsed.value, route.parametersInBody ?? {})
  if (!withParameters.ok) return withParameters
  const bodyMembers = parseNumbers(withParameters.value.body, route.numbersAsText ?? [])
  const bodyRules = {
    renames: renames.body,
    references: references.body,
    findIds,
    keepsUnknown: references.keepsUnknown === true,
    apiVersion,
  }
  const readBody = await readPart(body, bodyMembers, bodyInQuery === undefined ? 'body' : 'query', bodyRules)
  if (!readBody.ok) return readBody
  const resolvedParameters = await resolveReferences(
    withParameters.value.parameters,
    findIds,
    references.id === undefined ? {} : { id: references.id },
  )
  if (!resolvedParameters.ok)
    return { ok: false, refusal: { ...resolvedParameters.refusal, field: route.parametersInBody?.['id'] ?? '' } }
  const parameters = { ...wire.parameters, ...(resolvedParameters.value as typeof withParameters.value.parameters) }
  return accepted({ parameters, query: readQueryPart.value, body: readBody.value })
}

/**
 * Parse a body without validation, in the names of the request. Returns undefined if the body is raw or is not JSON.
 */
export const readSentBody = (operation: Operation, body: RawBody): unknown => {
  const parsed = operation.body === undefined || operation.body === 'raw' ? accepted(undefined) : parseJson(body.bytes)
  return parsed.ok ? parsed.value : undefined
}

/** Translate a refusal of an operation to an API version. */
export const refusalInApiVersion = (operation: Operation, refusal: Refusal, apiVersion: ApiVersion): Refusal =>
  apiVersion === 'current'
    ? refusal
    : refusalToEarlier(refusal, [...(operation.renames?.body ?? []), ...(operation.renames?.query ?? [])])

/** Translate the answer of a dry run to an API version: its errors as the refusals of the operation. */
export const dryRunInApiVersion = (operation: Operation, dryRun: DryRunWire, apiVersion: ApiVersion): unknown => {
  if (apiVersion === 'current') return dryRun
  const errors = dryRun.errors.map(({ field, ...error }) => {
    const refusal = { code: error.code as RefusalCode, message: error.message, ...(field === null ? {} : { field }) }
    const { message, field: earlierField = null } = refusalInApiVersion(operation, refusal, apiVersion)
    return { ...error, message, field: earlierField }
  })
  return withoutNullTexts({ ...dryRun, errors }, dryRunShape)
}

/** Translate an answer of an operation to an API version. */
export const answerInApiVersion = (operation: Operation, answer: unknown, apiVersion: ApiVersion): unknown =>
  apiVersion === 'current'
    ? answer
    : answerToEarlier(withoutNullTexts(answer, operation.answer.shape), operation.renames?.answer ?? [])
