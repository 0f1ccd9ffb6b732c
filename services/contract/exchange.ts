import type { z } from 'zod'
import type { ReferenceResolver } from '../domain/reference.ts'
import { accepted, type Refusal, type RefusalCode, type Result, refused } from '../domain/refusal.ts'
import type { ApiVersion } from './api-version.ts'
import { type DryRunWire, dryRunShape } from './dry-run.ts'
import { answerToEarlier, refusalToEarlier, requestFromApiVersion, type VersionRename } from './earlier-api-version.ts'
import { exactNumber, isExactDouble, isNumberText } from './json/exact-number.ts'
import { isJsonObject, type JsonObject, mapObjectsAt, pathNames } from './json/json-path.ts'
import { readJson } from './json/strict-json.ts'
import { nearestName, type RequestPart, unknownNameMessage } from './message-text.ts'
import { withoutNullTexts } from './null-text.ts'
import type { Operation, RawBody, Route } from './operation.ts'
import { parameters, restorePlus } from './parameter.ts'
import { readQuery, readShapeInSteps } from './read-shape.ts'
import { type ReferenceFields, resolvePathReference, resolveReferences } from './reference.ts'

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
  readonly keepsUnknown?: boolean
  readonly apiVersion: ApiVersion
}

function* readPart(
  shape: z.ZodType,
  value: unknown,
  part: RequestPart,
  { renames = [], ...rules }: PartContext,
): ReferenceResolver<Result<unknown>> {
  const translated = requestFromApiVersion(value, renames, rules.apiVersion, part)
  if (!translated.ok) return translated
  const translatedValue = yield* resolveReferences(translated.value, rules.references, rules.keepsUnknown)
  const read = translatedValue.ok
    ? yield* withoutReferences(readShapeInSteps(shape, translatedValue.value, part))
    : translatedValue
  return inApiVersion(read, renames, rules.apiVersion)
}

const noQueryParameters = parameters({})

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

function* parseBody(operation: Operation, body: RawBody): Generator<void, Result<unknown>> {
  if (body.bytes.length === 0 && operation.bodyOptional === true) return accepted({})
  return yield* readJson(body.bytes)
}

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
function* takeRepeatedId(
  { references }: Operation,
  body: JsonObject,
  { route, parameters }: Pick<WireRequest, 'route' | 'parameters'>,
): ReferenceResolver<Result<JsonObject>> {
  const name = route.bodyInQuery?.repeatedId
  if (name === undefined || body[name] === undefined) return accepted(body)
  const { [name]: sent, ...rest } = body
  const resolved = yield* resolveReferences({ [name]: sent }, { [name]: references?.id ?? [] })
  if (!resolved.ok) return resolved
  return isJsonObject(resolved.value) && resolved.value[name] === parameters['id']
    ? accepted(rest)
    : refused('field_invalid', `${name} must equal the id in the path; leave ${name} out`, name)
}

/** Run steps that yield no references, inside a reference resolver. */
function* withoutReferences<T>(work: Generator<void, T>): ReferenceResolver<T> {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
    yield undefined
  }
}

/** Replace an own reference in the path with the id of its object. Refuses `not_found` and `reference_ambiguous`. */
export const readPathParameters = (
  { references }: Operation,
  parameters: WireRequest['parameters'],
): ReferenceResolver<Result<WireRequest['parameters']>> => resolvePathReference(parameters, references?.id)

/**
 * Read a request of an API version by the shapes of its operation, in steps. The generator yields the own references in
 * query and body, and receives their ids. The references in `wire.parameters` are resolved before. A raw body stays
 * unread. Refusals use the names of the request's API version.
 */
export function* readRequest(operation: Operation, wire: WireRequest): ReferenceResolver<Result<ReadRequest>> {
  const { route, apiVersion } = wire
  const { renames = {}, references = {} } = operation
  const query = readQuery(operation.anyQuery === true ? '' : wire.search)
  if (!query.ok) return query
  const bodyInQuery = route.bodyInQuery
  const split =
    bodyInQuery === undefined
      ? { query: query.value, body: {} }
      : splitQuery(operation, query.value, bodyInQuery.numbers)
  const queryRules = { renames: renames.query, references: references.query, apiVersion }
  const readQueryPart = yield* readPart(operation.query ?? noQueryParameters, split.query, 'query', queryRules)
  if (!readQueryPart.ok) return readQueryPart
  const body = operation.body
  if (body === undefined) return accepted({ parameters: wire.parameters, query: readQueryPart.value, body: undefined })
  if (body === 'raw') return accepted({ parameters: wire.parameters, query: readQueryPart.value, body: wire.body })
  const parsed =
    bodyInQuery === undefined
      ? yield* withoutReferences(parseBody(operation, wire.body))
      : yield* takeRepeatedId(operation, split.body, wire)
  if (!parsed.ok) return parsed
  yield undefined
  const withParameters = takePathParameters(parsed.value, route.parametersInBody ?? {})
  if (!withParameters.ok) return withParameters
  const bodyMembers = parseNumbers(withParameters.value.body, route.numbersAsText ?? [])
  const bodyRules = {
    renames: renames.body,
    references: references.body,
    keepsUnknown: references.keepsUnknown === true,
    apiVersion,
  }
  const readBody = yield* readPart(body, bodyMembers, bodyInQuery === undefined ? 'body' : 'query', bodyRules)
  if (!readBody.ok) return readBody
  const resolvedParameters = yield* resolveReferences(
    withParameters.value.parameters,
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
export function* readSentBody(operation: Operation, body: RawBody): Generator<void, unknown> {
  const parsed =
    operation.body === undefined || operation.body === 'raw' ? accepted(undefined) : yield* readJson(body.bytes)
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
