import type { z } from 'zod'
import type { Referencing } from '../domain/reference.ts'
import { accepted, type Refusal, type Result, refused } from '../domain/refusal.ts'
import { answerToEarlier, type Rename, refusalToEarlier, requestFromLayout } from './earlier.ts'
import { exactNumber, isCarriedExactly, isNumberText } from './exact-number.ts'
import type { Layout } from './layout.ts'
import { eachAt, isMembers, type Members, namesOf } from './member-path.ts'
import { nearestName, unknownName } from './nearest-name.ts'
import { withoutNullTexts } from './null-text.ts'
import type { Operation, RawBody, Route } from './operation.ts'
import { parameters, restorePlus } from './parameter.ts'
import { readQuery, type ShapePart } from './read-shape.ts'
import { readShapeInSteps } from './read-shape-in-steps.ts'
import { pathWithId, type ReferencePlaces, withIds } from './reference.ts'
import { readJson } from './strict-json.ts'

/** A request as it came: path parameters decoded, query as text without `?`, body inflated. */
type WireRequest = {
  readonly route: Route
  readonly layout: Layout
  readonly parameters: Readonly<Record<string, string>>
  readonly search: string
  readonly body: RawBody
}

/** A request in the names of the current layout, checked by the operation's shapes. */
type ReadRequest = { readonly parameters: Readonly<Record<string, string>>; readonly query: unknown; readonly body: unknown }

const inLayout = <T>(result: Result<T>, renames: readonly Rename[], layout: Layout): Result<T> =>
  result.ok || layout === 'current'
    ? result
    : { ok: false, refusal: withNearestEarlier(refusalToEarlier(result.refusal, renames), renames) }

/** Shapes know current names alone, so an unknown earlier one is compared with the renames. */
const withNearestEarlier = (refusal: Refusal, renames: readonly Rename[]): Refusal => {
  const isUnknown = refusal.code === 'unknown_field' || refusal.code === 'unknown_parameter'
  const name = refusal.field?.split('.').at(-1)
  if (!isUnknown || name === undefined) return refusal
  const names = renames.map(rename => rename.earlier?.split('.').at(-1)).filter(one => one !== undefined)
  const nearest = nearestName(name, names)
  return nearest === undefined ? refusal : { ...refusal, message: unknownName(name, nearest) }
}

/** What a part of a request is read by. */
type PartRules = { readonly renames?: readonly Rename[] | undefined; readonly references: ReferencePlaces['body']; readonly layout: Layout }

function* readPart(shape: z.ZodType, value: unknown, part: ShapePart, { renames = [], ...rules }: PartRules): Referencing<Result<unknown>> {
  const translated = requestFromLayout(value, renames, rules.layout)
  if (!translated.ok) return translated
  const withoutReferences = yield* withIds(translated.value, rules.references)
  const read = withoutReferences.ok ? yield* inSteps(readShapeInSteps(shape, withoutReferences.value, part)) : withoutReferences
  return inLayout(read, renames, rules.layout)
}

const noParameters = parameters({})

const isQueryName = (operation: Operation, name: string): boolean =>
  Object.hasOwn(operation.query?.shape ?? {}, name) || (operation.renames?.query ?? []).some(rename => rename.earlier === name)

const numberFrom = (written: string): unknown => {
  if (!isNumberText(written)) return written
  return isCarriedExactly(written) ? Number(written) : exactNumber(written)
}

/** Read numbers that arrived as strings; a string that is no number stays for the shape to refuse. */
const numbersFromText = (body: unknown, paths: readonly string[]): unknown =>
  paths.reduce((read, path) => {
    const names = namesOf(path)
    const last = names.at(-1) ?? ''
    return eachAt(read, names.slice(0, -1), members => {
      const value = members[last]
      return typeof value === 'string' ? { ...members, [last]: numberFrom(value) } : members
    })
  }, body)

/** Sort the parameters of a query into those of the query proper and those that are members of the body. */
const splitQuery = (
  operation: Operation,
  query: Members,
  numbers: readonly string[],
): { readonly query: Members; readonly body: Members } => {
  // Without a prototype, so that a parameter called __proto__ is one like any other.
  const own: Record<string, unknown> = Object.create(null)
  const body: Record<string, unknown> = Object.create(null)
  for (const [name, value] of Object.entries(query)) {
    if (isQueryName(operation, name)) own[name] = value
    else body[name] = numbers.includes(name) ? numberFrom(String(value)) : restorePlus(String(value))
  }
  return { query: own, body }
}

function* parseBody(operation: Operation, body: RawBody): Generator<void, Result<unknown>> {
  if (body.bytes.length === 0 && operation.bodyOptional === true) return accepted({})
  return yield* readJson(body.bytes)
}

/** Take the path parameters out of a body that carries them. */
const takeParameters = (
  body: unknown,
  places: Readonly<Record<string, string>>,
): Result<{ readonly body: unknown; readonly parameters: Readonly<Record<string, string>> }> => {
  let rest = body
  const found: Record<string, string> = {}
  for (const [parameter, name] of Object.entries(places)) {
    if (!isMembers(rest)) return accepted({ body: rest, parameters: found })
    const { [name]: value, ...others } = rest
    if (value === undefined || value === null) return refused('field_required', `${name} is required`, name)
    if (typeof value !== 'string') return refused('field_invalid', `${name} must be a string`, name)
    found[parameter] = value
    rest = others
  }
  return accepted({ body: rest, parameters: found })
}

/** Do work that needs no references, in its own steps. */
function* inSteps<T>(work: Generator<void, T>): Referencing<T> {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
    yield undefined
  }
}

/** Put the id of the object in place of an own reference in the path. Refuses `not_found` and `reference_ambiguous`. */
export const readPathParameters = (
  { references }: Operation,
  parameters: WireRequest['parameters'],
): Referencing<Result<WireRequest['parameters']>> => pathWithId(parameters, references?.id)

/**
 * Read a request by the shapes of its operation, whatever the layout, in steps between which others can have a turn. It yields the own
 * references of query and body, to be looked up; those of `wire.parameters` are looked up before.
 * Refuses in the words of the request's layout. A raw body is handed on as it is.
 */
export function* readRequest(operation: Operation, wire: WireRequest): Referencing<Result<ReadRequest>> {
  const { route, layout } = wire
  const { renames = {}, references = {} } = operation
  const query = readQuery(operation.anyQuery === true ? '' : wire.search)
  if (!query.ok) return query
  const inQuery = route.bodyInQuery
  const split = inQuery === undefined ? { query: query.value, body: {} } : splitQuery(operation, query.value, inQuery.numbers)
  const queryRules = { renames: renames.query, references: references.query, layout }
  const readOwn = yield* readPart(operation.query ?? noParameters, split.query, 'query', queryRules)
  if (!readOwn.ok) return readOwn
  const body = operation.body
  if (body === undefined) return accepted({ parameters: wire.parameters, query: readOwn.value, body: undefined })
  if (body === 'raw') return accepted({ parameters: wire.parameters, query: readOwn.value, body: wire.body })
  const parsed = inQuery === undefined ? yield* inSteps(parseBody(operation, wire.body)) : accepted(split.body)
  if (!parsed.ok) return parsed
  yield undefined
  const taken = takeParameters(parsed.value, route.parametersInBody ?? {})
  if (!taken.ok) return taken
  const sent = numbersFromText(taken.value.body, route.numbersAsText ?? [])
  const bodyRules = { renames: renames.body, references: references.body, layout }
  const readBody = yield* readPart(body, sent, inQuery === undefined ? 'body' : 'query', bodyRules)
  if (!readBody.ok) return readBody
  const inBody = yield* withIds(taken.value.parameters, references.id === undefined ? {} : { id: references.id })
  if (!inBody.ok) return { ok: false, refusal: { ...inBody.refusal, field: route.parametersInBody?.['id'] ?? '' } }
  const parameters = { ...wire.parameters, ...(inBody.value as typeof taken.value.parameters) }
  return accepted({ parameters, query: readOwn.value, body: readBody.value })
}

/** Give what a body says, whether or not its operation takes it, in the words it was sent in; undefined when it cannot be read. */
export function* sentBody(operation: Operation, body: RawBody): Generator<void, unknown> {
  const parsed = operation.body === undefined || operation.body === 'raw' ? accepted(undefined) : yield* readJson(body.bytes)
  return parsed.ok ? parsed.value : undefined
}

/** Put a refusal of an operation into the words of a layout. */
export const refusalInLayout = (operation: Operation, refusal: Refusal, layout: Layout): Refusal =>
  layout === 'current' ? refusal : refusalToEarlier(refusal, [...(operation.renames?.body ?? []), ...(operation.renames?.query ?? [])])

/** Put an answer into the words of a layout. */
export const answerInLayout = (operation: Operation, answer: unknown, layout: Layout): unknown =>
  layout === 'current' ? answer : answerToEarlier(withoutNullTexts(answer, operation.answer.shape), operation.renames?.answer ?? [])
