import {
  assertDefined,
  callers,
  createSpare,
  documents,
  fixtures,
  type Ids,
  newReference,
} from '../registry/isolation-fixture.ts'
import type { ApiVersion, Reply } from '../system/client.ts'
import { until } from '../system/until.ts'
import { type IdPath, idPathsOf } from './id-paths.ts'
import type { DocumentedOperation } from './openapi.ts'

/** Additional id prefixes of operations that accept several kinds of objects. */
const otherPrefixes: Readonly<Record<string, readonly string[]>> = { interval_cost_calculate: ['dev', 'cus', 'acc'] }

const replaceAt = (value: unknown, [step, ...rest]: readonly (string | number)[], id: string): unknown => {
  if (step === undefined) return id
  if (typeof step === 'number')
    return Array.isArray(value)
      ? value.map((one, index) => (index === step ? replaceAt(one, rest, id) : one))
      : [replaceAt(undefined, rest, id)]
  const members = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
  return { ...members, [step]: replaceAt(members[step], rest, id) }
}

const ownIds = (value: unknown, own: Ids): unknown =>
  JSON.parse(JSON.stringify(value), (_, member) => {
    const prefix = typeof member === 'string' ? /^([a-z]{3})_0198c0ffee00112233445566$/.exec(member)?.[1] : undefined
    return prefix === undefined ? member : own[prefix]
  })

let days = 0

/** Return a new date. */
const newDay = (): string => new Date(Date.UTC(2026, 0, 1 + days++)).toISOString().slice(0, 10)

/** Members of a body that exclude each other: each of them selects the locations. */
const selections = ['object_ids', 'customer_id', 'plan_id', 'all']

/**
 * Return a body without the other selections of locations, with a charge if the id is in a charge, and without tariffs
 * if the id is a plan of a candidate.
 */
const bodyWithSelection = (example: object, path: readonly (string | number)[]): unknown => {
  const [first] = path
  const isSelection = selections.includes(String(first))
  const kept = Object.entries(example).filter(([name]) => !isSelection || !selections.includes(name))
  const charges = [{ kind: 'USAGE', name: 'Levy', price: 0.01 }]
  return {
    ...Object.fromEntries(kept),
    ...(path.includes('charges') ? { candidates: [{ name: 'Levy', charges }] } : {}),
    ...(path[0] === 'candidates' && path.includes('plan_id') ? { candidates: [{ name: 'Plan' }] } : {}),
  }
}

/** Return a valid body for an id at a position, with ids of the caller's own objects and with a new reference. */
const bodyOf = ({ body, id }: DocumentedOperation, own: Ids, idPath: IdPath): unknown => {
  if (body === null) return undefined
  const example = ownIds(body.example ?? {}, own)
  if (id === 'statement_batch_create' || id === 'simulation_create')
    return bodyWithSelection(Object(example), idPath.in === 'body' ? idPath.path : [])
  if (id === 'market_price_put' || Array.isArray(example) || typeof example !== 'object' || example === null)
    return example
  // An id and a reference of the same kind exclude each other.
  if (id.startsWith('connect_'))
    return JSON.parse(JSON.stringify(example), (name, one) => (name.endsWith('_reference_id') ? undefined : one))
  // A plan has one version of each day.
  if (id === 'plan_version_create') return { ...example, from: newDay() }
  return 'reference_id' in example ? { ...example, reference_id: newReference() } : example
}

/** Return the required query parameters of an operation. */
export const queryOf = ({ parameters, id }: DocumentedOperation, own: Ids): ReadonlyMap<string, string> => {
  const required = parameters.filter(one => one.in === 'query' && one.required)
  const query = new Map(
    required.map(one => [one.name, one.name.endsWith('_time') ? '' : String(ownIds(one.example ?? '', own))]),
  )
  if (parameters.some(({ name }) => name === 'absolute')) query.set('absolute', '1')
  if (id === 'meter_record_list') query.set('location_id', assertDefined(own['loc']))
  if (query.has('start_time') || query.has('end_time')) query.set('start_time', '2025-09-14T00:00:00Z')
  if (query.has('end_time')) query.set('end_time', '2025-09-15T00:00:00Z')
  return query
}

/** Request with a test id at one position and the caller's own ids at all other positions. */
export type PlannedIdRequest = {
  readonly operation: DocumentedOperation
  readonly idPath: IdPath
  readonly body: unknown
  readonly apiVersion: ApiVersion
}

/** Submission of one record as a table. */
const table = 'start,end,value\n2025-09-16T10:00:00Z,2025-09-16T11:00:00Z,1\n'

/** Send a planned request with an id at its position. An account has few unfinished exports, so they wait for others. */
export const sendWith = (planned: PlannedIdRequest, own: Ids, id: string): Promise<Reply> =>
  planned.operation.id === 'export_create'
    ? until(
        () => sendOnce(planned, own, id),
        ({ status }) => status !== 429,
      )
    : sendOnce(planned, own, id)

const sendOnce = ({ operation, idPath, body, apiVersion }: PlannedIdRequest, own: Ids, id: string): Promise<Reply> => {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (idPath.in === 'path' && idPath.name === name) return encodeURIComponent(id)
    const example = operation.parameters.find(one => one.in === 'path' && one.name === name)?.example
    return String(example).startsWith('session') ? assertDefined(own['session']) : String(ownIds(example, own))
  })
  const query = new Map(queryOf(operation, own))
  // Parameters of a submission describe the rows of a CSV body.
  const isTable = operation.id === 'meter_submit' && idPath.in === 'query'
  if (isTable) query.set('unit', 'KWH').set('location_id', assertDefined(own['loc']))
  if (idPath.in === 'query') query.set(idPath.name, id)
  const search = query.size === 0 ? '' : `?${new URLSearchParams([...query])}`
  return assertDefined(callers[apiVersion]).send(
    operation.method,
    path + search,
    isTable ? table : idPath.in === 'body' ? replaceAt(body, idPath.path, id) : body,
    isTable ? { 'Content-Type': 'text/csv' } : {},
  )
}

/** Return the status, headers and body of an answer without the ids and times of the request itself. */
export const visibleText = ({ status, headers, text }: Reply): string => {
  // The length follows the time: an instant of a whole second has no milliseconds.
  const shown = [...headers].filter(([name]) => !['date', 'x-request-id', 'content-length'].includes(name))
  const body = text
    .replace(/"request_id":"[^"]*"/, '')
    .replace(/"time_created":"[^"]*"/, '')
    .replace(/"id":"(?:bat|ecs)_\w+"/, '')
  return JSON.stringify([status, shown.toSorted(), body])
}

/** Return the name of a planned request for reports. */
export const nameOf = ({ operation, idPath, apiVersion }: PlannedIdRequest): string =>
  `${apiVersion} ${operation.method} ${operation.path} ${idPath.in} ${idPath.in === 'body' ? idPath.path.join('.') : idPath.name} ${idPath.prefix}`

/** Plan one request for each id position of an API version. */
export const planRequests = (apiVersion: ApiVersion): readonly PlannedIdRequest[] =>
  assertDefined(documents[apiVersion]).flatMap(operation =>
    idPathsOf(operation)
      .flatMap(idPath => [
        idPath,
        ...(idPath.in === 'path' ? (otherPrefixes[operation.id] ?? []).map(prefix => ({ ...idPath, prefix })) : []),
      ])
      .map(idPath => ({ operation, idPath, body: bodyOf(operation, assertDefined(fixtures).own, idPath), apiVersion })),
  )

/** True if a request deletes its object or needs a new object. */
export const needsNew = ({ operation }: PlannedIdRequest): boolean =>
  operation.method === 'DELETE' || ['tariff_create', 'connect_batch_import'].includes(operation.id)

/** Return the caller's own id for a request; a new object if the request needs one. */
export const ownIdFor = async (planned: PlannedIdRequest): Promise<string> => {
  const { idPath, operation } = planned
  // A deleted assignment belongs to the plan of the fixtures.
  const isOwner = idPath.in === 'path' && idPath.name === 'id' && operation.path.includes('{assignment_id}')
  return needsNew(planned) && !isOwner
    ? createSpare(assertDefined(callers.current), idPath.prefix)
    : assertDefined(assertDefined(fixtures).own[idPath.prefix])
}
