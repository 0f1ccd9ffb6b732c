import type { RefusalCode } from '../domain/refusal.ts'
import { refusalCodes } from '../domain/refusal.ts'
import { answerToEarlier, type Rename } from './earlier.ts'
import { statusOf } from './error.ts'
import { type Layout, layouts, versionOf } from './layout.ts'
import type { Operation, Route } from './operation.ts'
import { parameterExample } from './parameter-example.ts'
import { type JsonSchema, schemaInLayout, schemaOf } from './schema-document.ts'
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
    description: 'The layout of request and answer; absent: the default of the account.',
    schema: { enum: layouts.map(one => versionOf[one]), default: versionOf[layout] },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'The same key gives the same answer for 24 hours, so that a request may be sent again.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
})

const answerHeaders = {
  RequestId: { schema: { type: 'string' }, description: 'Names this request in logs and error objects.' },
  ApiVersion: { schema: { enum: layouts.map(one => versionOf[one]) }, description: 'The layout of this answer.' },
}

const headers = { 'X-Request-Id': { $ref: '#/components/headers/RequestId' }, 'Api-Version': { $ref: '#/components/headers/ApiVersion' } }

const errorResponse = {
  description: 'The request was refused, or it failed; code says why.',
  headers,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
}

/** Codes that an operation can give by what it is. */
const generalCodes = (operation: Operation, route: Route): readonly RefusalCode[] => {
  const codes: RefusalCode[] = ['unknown_parameter', 'field_invalid', 'api_version_not_supported', 'unavailable', 'internal_error']
  if (operation.body !== undefined && route.bodyInQuery === undefined)
    codes.push('body_invalid', 'body_too_large', 'media_type_unsupported', 'request_timeout')
  if (operation.access !== 'open') codes.push('bad_credentials', 'account_disabled', 'rate_limited')
  if (operation.access !== 'open' && operation.access !== 'login') codes.push('token_expired', 'insufficient_scope')
  if (route.path.includes('{')) codes.push('not_found')
  if (operation.idempotent === true) codes.push('idempotency_mismatch', 'idempotency_in_progress')
  return codes
}

const errorResponses = (operation: Operation, route: Route, layout: Layout): Parts => {
  const codes = new Set([...generalCodes(operation, route), ...(operation.refusals ?? [])])
  const byStatus = Map.groupBy(codes, code => statusOf(code, layout))
  const answers = [...byStatus].map(([status, group]) => [
    String(status),
    { $ref: '#/components/responses/Error', description: group.join(', ') },
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

const inPath = (path: string): readonly Parts[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    example: parameterExample(name, path),
  }))

const parametersOf = (operation: Operation, route: Route, layout: Layout): readonly Parts[] => {
  const query = operation.query === undefined ? {} : schemaInLayout(schemaOf(operation.query), operation.renames?.query ?? [], layout)
  const fromBody = route.bodyInQuery === undefined ? {} : bodySchema(operation, route, layout)
  return [
    { $ref: '#/components/parameters/ApiVersion' },
    ...(operation.idempotent === true ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
    ...inPath(route.path),
    ...inQuery(query),
    ...inQuery(fromBody, bodyExample(operation, route, layout) as Parts | undefined),
  ]
}

const bodySchema = (operation: Operation, route: Route, layout: Layout): JsonSchema => {
  const shape = operation.body === 'raw' ? operation.bodyDocument : operation.body
  if (shape === undefined) return {}
  const schema = schemaInLayout(schemaOf(shape), operation.renames?.body ?? [], layout)
  const names = Object.values(route.parametersInBody ?? {})
  const properties = Object.fromEntries(names.map(name => [name, { type: 'string' }]))
  if (names.length === 0) return schema
  return {
    ...schema,
    properties: { ...properties, ...(schema['properties'] as Parts) },
    required: [...names, ...((schema['required'] ?? []) as string[])],
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

const requestBody = (operation: Operation, route: Route, layout: Layout): Parts => {
  if (operation.body === undefined || route.bodyInQuery !== undefined) return {}
  const schema = bodySchema(operation, route, layout)
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

const answerOf = (operation: Operation, layout: Layout): Parts => {
  const schema = { $ref: `#/components/schemas/${operation.answer.name}` }
  const example = inWords(operation.examples?.answer, operation.renames?.answer, layout)
  const content = { 'application/json': { schema, ...present('example', example) } }
  return { [operation.status]: { description: operation.summary, headers, content } }
}

const describe = (operation: Operation, route: Route, index: number, layout: Layout): Parts => ({
  operationId: index === 0 ? operation.id : `${operation.id}_${index + 1}`,
  summary: operation.summary,
  description: operation.description,
  tags: [operation.tag],
  security: securityOf(operation),
  parameters: parametersOf(operation, route, layout),
  ...requestBody(operation, route, layout),
  responses: { ...answerOf(operation, layout), ...errorResponses(operation, route, layout) },
})

/** The same address with a slash at its end is served and not shown. */
const isShown = ({ path }: Route): boolean => !path.endsWith('/')

const pathsOf = (operations: readonly Operation[], layout: Layout): Parts => {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of operations) {
    for (const [index, route] of operation.routes[layout].filter(isShown).entries()) {
      const path = paths[route.path] ?? {}
      path[route.method.toLowerCase()] = describe(operation, route, index, layout)
      paths[route.path] = path
    }
  }
  return paths
}

const schemasOf = (operations: readonly Operation[], layout: Layout): Parts => {
  const schemas: Record<string, unknown> = { Error: errorSchema }
  for (const operation of operations) {
    if (operation.routes[layout].length === 0) continue
    schemas[operation.answer.name] = schemaInLayout(schemaOf(operation.answer.shape), operation.renames?.answer ?? [], layout)
  }
  return schemas
}

/**
 * Describe all operations of a layout as an OpenAPI 3.1 document.
 * `serverUrl` is the base address; operations that the layout does not have are left out.
 */
export const openApiDocument = (operations: readonly Operation[], layout: Layout, serverUrl: string): Parts => {
  const served = operations.filter(operation => operation.routes[layout].length > 0)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Wattledger',
      version: versionOf[layout],
      description: 'Energy cost, metering and tariffs. Send Authorization: Bearer with an API key, or with the token that /login gives.',
    },
    servers: [{ url: serverUrl }],
    tags: [...new Set(served.map(operation => operation.tag))].map(name => ({
      name,
      ...present('description', tagDescriptions[name]),
    })),
    security: [{ bearer: [] }],
    paths: pathsOf(served, layout),
    components: {
      schemas: schemasOf(served, layout),
      securitySchemes,
      parameters: sharedParameters(layout),
      headers: answerHeaders,
      responses: { Error: errorResponse },
    },
  }
}
