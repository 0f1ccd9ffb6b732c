import { maxReferenceText } from '../domain/reference.ts'
import type { RefusalCode } from '../domain/refusal.ts'
import { refusalCodes } from '../domain/refusal.ts'
import { answerToEarlier, type Rename } from './earlier.ts'
import { statusOf } from './error.ts'
import { type Layout, layouts, versionOf } from './layout.ts'
import { schemaWithoutNullTexts } from './null-text.ts'
import { type Naming, webhooksOf } from './openapi-webhooks.ts'
import type { Operation, Route } from './operation.ts'
import { parameterExample } from './parameter-example.ts'
import { describeId, referenceCodes } from './reference.ts'
import { eachSchemaAt, type JsonSchema, schemaInLayout, schemaOf } from './schema-document.ts'
import { type NamedSchemas, nameObject, schemaName } from './schema-name.ts'
import { atOnce } from './slices.ts'
import { tagDescriptions } from './tag.ts'

type Parts = { readonly [key: string]: unknown }

const errorSchema: JsonSchema = {
  type: 'object',
  description: 'Every answer that is not a success.',
  properties: {
    object: { const: 'error' },
    type: { enum: ['invalid_request', 'rate_limit', 'api_error', 'connect_error'] },
    code: { type: 'string', enum: refusalCodes },
    message: { type: 'string', description: 'One sentence that says what to change.' },
    field: { type: 'string', description: 'Path of the member at fault.', examples: ['[3].start_time'] },
    live_mode: { type: 'boolean' },
    context: { type: 'string', examples: ['api.customer_create'] },
    request_id: { type: 'string' },
    time_created: { type: 'string', format: 'date-time' },
    connect_token: { type: 'string' },
  },
  required: ['object', 'type', 'code', 'message', 'context', 'request_id', 'time_created'],
}

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API key, or the bearer_token that /login gives for one.' },
  basic: { type: 'http', scheme: 'basic', description: 'Account id and API key.' },
  operator: { type: 'apiKey', in: 'header', name: 'X-Operator-Key', description: "The operator's own key." },
}

const sharedParameters = (layout: Layout): Parts => ({
  ApiVersion: {
    name: 'Api-Version',
    in: 'header',
    description: 'The API version of request and answer that this document describes; absent: the default of the account.',
    schema: { type: 'string', const: versionOf[layout], default: versionOf[layout] },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'The same key gives the same answer for 24 hours, so that a request may be sent again.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
})

const answerHeaders = (layout: Layout): Parts => ({
  SessionApiVersion: {
    schema: { type: 'string', enum: layouts.map(one => versionOf[one]) },
    description: 'The API version of the session; of the request if no session has the token.',
  },
  RequestId: { schema: { type: 'string' }, description: 'Names this request in logs and error objects.' },
  ApiVersion: { schema: { type: 'string', const: versionOf[layout] }, description: 'The API version of this answer.' },
})

const headers = { 'X-Request-Id': { $ref: '#/components/headers/RequestId' }, 'Api-Version': { $ref: '#/components/headers/ApiVersion' } }

const sessionHeaders = { ...headers, 'Api-Version': { $ref: '#/components/headers/SessionApiVersion' } }

const errorResponse = {
  description: 'The request was refused, or it failed; code says why.',
  headers,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
}

/** Codes that any request can meet. */
const anywhere = [
  'header_invalid',
  'api_version_not_supported',
  'target_too_long',
  'headers_too_large',
  'unavailable',
  'internal_error',
] as const satisfies readonly RefusalCode[]

/** Codes that an operation can give by what it is. */
const generalCodes = (operation: Operation, route: Route): readonly RefusalCode[] => {
  const codes: RefusalCode[] = ['unknown_parameter', 'field_invalid', ...anywhere]
  if (operation.body !== undefined && route.bodyInQuery === undefined)
    codes.push('body_invalid', 'body_too_large', 'media_type_unsupported', 'request_timeout')
  if (operation.access !== 'open') codes.push('bad_credentials', 'account_disabled', 'rate_limited')
  if (operation.access !== 'open' && operation.access !== 'login') codes.push('token_expired', 'insufficient_scope')
  if (route.path.includes('{')) codes.push('not_found')
  codes.push(...referenceCodes(operation.references))
  if (operation.idempotent === true) codes.push('idempotency_mismatch', 'idempotency_in_progress')
  return codes
}

const errorResponses = (operation: Operation, route: Route, layout: Layout): Parts => {
  const codes = new Set([...generalCodes(operation, route), ...(operation.refusals ?? [])])
  const inLayouts = operation.anyVersion === true ? layouts : [layout]
  const pairs = inLayouts.flatMap(one => [...codes].map(code => [statusOf(code, one), code] as const))
  const byStatus = Map.groupBy(new Set(pairs), ([status]) => status)
  const answers = [...byStatus].map(([status, group]) => [
    String(status),
    {
      $ref: `#/components/responses/${operation.anyVersion === true ? 'SessionError' : 'Error'}`,
      description: [...new Set(group.map(([, code]) => code))].join(', '),
    },
  ])
  return Object.fromEntries(answers)
}

const propertiesOf = (schema: JsonSchema): readonly (readonly [string, JsonSchema, boolean])[] => {
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>
  return Object.entries(properties).map(([name, property]) => [name, property, required.includes(name)])
}

const present = (name: string, value: unknown): Parts => (value === undefined ? {} : { [name]: value })

const inQuery = (schema: JsonSchema, examples: Parts = {}): readonly Parts[] =>
  propertiesOf(schema).map(([name, { description, ...property }, required]) => ({
    name,
    in: 'query',
    ...present('description', description),
    required,
    schema: property,
    ...present('example', examples[name] ?? parameterExample(name)),
  }))

const inPath = ({ references }: Operation, path: string): readonly Parts[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    ...present('description', name === 'id' ? describeId(references?.id) : undefined),
    required: true,
    schema: { type: 'string', minLength: 1, maxLength: name === 'id' && references?.id !== undefined ? maxReferenceText : 255 },
    example: parameterExample(name, path),
  }))

const parametersOf = (operation: Operation, route: Route, layout: Layout): readonly Parts[] => {
  const query = operation.query === undefined ? {} : schemaInLayout(schemaOf(operation.query), operation.renames?.query ?? [], layout)
  const fromBody = route.bodyInQuery === undefined ? {} : bodySchema(operation, route, layout)
  return [
    { $ref: '#/components/parameters/ApiVersion' },
    ...(operation.idempotent === true ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
    ...inPath(operation, route.path),
    ...inQuery(query),
    ...inQuery(fromBody, bodyExample(operation, route, layout) as Parts | undefined),
  ]
}

/** Numbers that may arrive as strings, by their paths. */
const withNumbersAsText = (schema: JsonSchema, paths: readonly string[]): JsonSchema =>
  paths.reduce((changed, path) => {
    const names = path.split('.')
    const last = names.at(-1) ?? ''
    return eachSchemaAt(changed, names.slice(0, -1), one => {
      const properties = one['properties'] as Readonly<Record<string, JsonSchema>>
      const { description, ...number } = properties[last] ?? {}
      const either = { anyOf: [number, { type: 'string', pattern: numberPattern }], ...present('description', description) }
      return { ...one, properties: { ...properties, [last]: either } }
    })
  }, schema)

const numberPattern = '^(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?$'

const bodySchema = (operation: Operation, route: Route, layout: Layout): JsonSchema => {
  const shape = operation.body === 'raw' ? operation.bodyDocument : operation.body
  if (shape === undefined) return {}
  const schema = schemaInLayout(schemaOf(shape), operation.renames?.body ?? [], layout)
  const taking = withNumbersAsText(schema, route.numbersAsText ?? [])
  const names = Object.values(route.parametersInBody ?? {})
  const properties = Object.fromEntries(names.map(name => [name, { type: 'string' }]))
  if (names.length === 0) return taking
  return {
    ...taking,
    properties: { ...properties, ...(taking['properties'] as Parts) },
    required: [...names, ...((taking['required'] ?? []) as string[])],
  }
}

/** The example of a body in the words of a layout, with the parameters that this route takes in the body. */
const bodyExample = (operation: Operation, route: Route, layout: Layout): unknown => {
  const example = inWords(operation.examples?.body, operation.renames?.body, layout)
  const moved = Object.entries(route.parametersInBody ?? {})
  if (example === undefined || moved.length === 0) return example
  const [current] = operation.routes.current
  return { ...Object.fromEntries(moved.map(([inPath, name]) => [name, parameterExample(inPath, current?.path)])), ...(example as Parts) }
}

const inWords = (example: unknown, renames: readonly Rename[] | undefined, layout: Layout): unknown =>
  example === undefined || layout === 'current' ? example : answerToEarlier(example, renames ?? [])

const requestBody = (operation: Operation, route: Route, layout: Layout, name: Naming): Parts => {
  if (operation.body === undefined || route.bodyInQuery !== undefined) return {}
  const schema = name(bodySchema(operation, route, layout), `${schemaName(operation.id)}Request`)
  const content = { schema, ...present('example', bodyExample(operation, route, layout)) }
  const others = (operation.mediaTypes ?? []).map(type => [type, { schema: { type: 'string' } }] as const)
  return {
    requestBody: { required: operation.bodyOptional !== true, content: { 'application/json': content, ...Object.fromEntries(others) } },
  }
}

/** Who may call; the word beside `bearer` is the scope that the key needs, and `all` opens everything. */
const securityOf = (operation: Operation): readonly Parts[] => {
  const { access } = operation
  if (access === 'open') return [{}]
  const own = access === 'login' ? [{ basic: [] }] : [{ bearer: access === 'any' ? [] : [access] }, { basic: [] }]
  return operation.operator === true ? [...own, { operator: [] }] : own
}

/** The schema of an answer in the words of a layout. */
const answerSchema = ({ answer, renames }: Operation, layout: Layout): JsonSchema => {
  const schema = schemaOf(answer.shape)
  return schemaInLayout(layout === 'current' ? schema : schemaWithoutNullTexts(schema), renames?.answer ?? [], layout)
}

const answerOf = (operation: Operation, layout: Layout, name: Naming): Parts => {
  const schema = name(answerSchema(operation, layout), operation.answer.name)
  const example = inWords(operation.examples?.answer, operation.renames?.answer, layout)
  const content = { 'application/json': { schema, ...present('example', example) } }
  const table = operation.csv === true ? { 'text/csv': { schema: { type: 'string' } } } : {}
  const own = operation.anyVersion === true ? sessionHeaders : headers
  return { [operation.status]: { description: operation.summary, headers: own, content: { ...content, ...table } } }
}

const describe = (operation: Operation, route: Route, layout: Layout, name: Naming): Parts => ({
  operationId: route.id ?? operation.id,
  summary: operation.summary,
  description: operation.description,
  tags: [operation.tag],
  security: securityOf(operation),
  parameters: parametersOf(operation, route, layout),
  ...requestBody(operation, route, layout, name),
  responses: { ...answerOf(operation, layout, name), ...errorResponses(operation, route, layout) },
})

/** The same address with a slash at its end is served and not shown. */
const isShown = ({ path }: Route): boolean => !path.endsWith('/')

function* pathsOf(operations: readonly Operation[], layout: Layout, name: Naming): Generator<void, Parts> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of operations) {
    for (const route of operation.routes[layout].filter(isShown)) {
      const path = paths[route.path] ?? {}
      path[route.method.toLowerCase()] = describe(operation, route, layout, name)
      paths[route.path] = path
      yield
    }
  }
  return paths
}

function* build(
  operations: readonly Operation[],
  layout: Layout,
  serverUrl: string,
  name: Naming,
  named: () => Parts,
): Generator<void, Parts> {
  const served = operations.filter(operation => operation.routes[layout].length > 0)
  const paths = yield* pathsOf(served, layout, name)
  const webhooks = yield* webhooksOf(layout, name)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Wattledger',
      version: versionOf[layout],
      description:
        'Energy cost, metering and tariffs. Send Authorization: Bearer with the token that /login gives. Where the id of a location, device or customer is taken, reference: before its own reference_id works too, such as /locations/reference:depot-7.',
    },
    servers: [{ url: serverUrl }],
    tags: [...new Set(served.map(operation => operation.tag))].map(tag => ({
      name: tag,
      ...present('description', tagDescriptions[tag]),
    })),
    security: [{ bearer: [] }],
    paths,
    webhooks,
    components: {
      schemas: { Error: errorSchema, ...named() },
      securitySchemes,
      parameters: sharedParameters(layout),
      headers: answerHeaders(layout),
      responses: { Error: errorResponse, SessionError: { ...errorResponse, headers: sessionHeaders } },
    },
  }
}

/**
 * Describe all operations of a layout as an OpenAPI 3.1 document: every object is a schema with a name of its own.
 * `serverUrl` is the base address; operations that the layout does not have are left out. Pauses after each operation.
 */
export const openApiSteps = (operations: readonly Operation[], layout: Layout, serverUrl: string): Generator<void, Parts> => {
  const named: NamedSchemas = new Map()
  return build(
    operations,
    layout,
    serverUrl,
    (schema, name) => nameObject(schema, name, named),
    () => Object.fromEntries([...named].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  )
}

/** Describe the same at once. */
export const openApiDocument = (operations: readonly Operation[], layout: Layout, serverUrl: string): Parts =>
  atOnce(openApiSteps(operations, layout, serverUrl))

/** Describe the same with every schema where it is used, for readers that show it; answers keep the names of their schemas as `component`. */
export const inlineDocument = (operations: readonly Operation[], layout: Layout): Generator<void, Parts> =>
  build(
    operations,
    layout,
    '/',
    (schema, component) => ({ component, ...schema }),
    () => ({}),
  )
