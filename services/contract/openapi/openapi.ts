import { maxReferenceTextLength } from '../../domain/reference.ts'
import type { RefusalCode } from '../../domain/refusal.ts'
import { refusalCodes } from '../../domain/refusal.ts'
import { runToEnd } from '../../domain/run-to-end.ts'
import { type ApiVersion, apiVersionDates, apiVersions } from '../api-version.ts'
import { answerToEarlier, type VersionRename } from '../earlier-api-version.ts'
import { statusOf } from '../error.ts'
import { describeWebhooks, type NameSchema } from '../events/openapi-webhooks.ts'
import { schemaWithoutNullTexts } from '../json/null-text.ts'
import type { Operation, Route } from '../operation.ts'
import { describeId, referenceCodes } from '../reference.ts'
import { parameterExample } from './parameter-example.ts'
import { eachSchemaAt, type JsonSchema, schemaInApiVersion, schemaOf } from './schema-document.ts'
import { type NamedSchemas, nameObject, schemaName } from './schema-name.ts'
import { tagDescriptions } from './tag.ts'

type DocumentPart = { readonly [key: string]: unknown }

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

const sharedParameters = (apiVersion: ApiVersion): DocumentPart => ({
  ApiVersion: {
    name: 'Api-Version',
    in: 'header',
    description:
      'The API version of request and answer that this document describes; absent: the default of the account.',
    schema: { type: 'string', const: apiVersionDates[apiVersion], default: apiVersionDates[apiVersion] },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'The same key gives the same answer for 24 hours, so that a request may be sent again.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
})

const answerHeaders = (apiVersion: ApiVersion): DocumentPart => ({
  SessionApiVersion: {
    schema: { type: 'string', enum: apiVersions.map(one => apiVersionDates[one]) },
    description: 'The API version of the session; of the request if no session has the token.',
  },
  RequestId: { schema: { type: 'string' }, description: 'Names this request in logs and error objects.' },
  ApiVersion: {
    schema: { type: 'string', const: apiVersionDates[apiVersion] },
    description: 'The API version of this answer.',
  },
})

const headers = {
  'X-Request-Id': { $ref: '#/components/headers/RequestId' },
  'Api-Version': { $ref: '#/components/headers/ApiVersion' },
}

const sessionHeaders = { ...headers, 'Api-Version': { $ref: '#/components/headers/SessionApiVersion' } }

const errorResponse = {
  description: 'The request was refused, or it failed; code says why.',
  headers,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
}

/** Codes that any request can meet. */
const commonCodes = [
  'header_invalid',
  'api_version_not_supported',
  'target_too_long',
  'headers_too_large',
  'unavailable',
  'internal_error',
] as const satisfies readonly RefusalCode[]

/** Codes that an operation can give by what it is. */
const codesOf = (operation: Operation, route: Route): readonly RefusalCode[] => {
  const codes: RefusalCode[] = ['unknown_parameter', 'field_invalid', ...commonCodes]
  if (operation.body !== undefined && route.bodyInQuery === undefined)
    codes.push('body_invalid', 'body_too_large', 'media_type_unsupported', 'request_timeout')
  if (operation.access !== 'open') codes.push('bad_credentials', 'account_disabled', 'rate_limited')
  if (operation.access !== 'open' && operation.access !== 'login') codes.push('token_expired', 'insufficient_scope')
  if (route.path.includes('{')) codes.push('not_found')
  codes.push(...referenceCodes(operation.references))
  if (operation.idempotent === true) codes.push('idempotency_mismatch', 'idempotency_in_progress')
  return codes
}

const errorResponses = (operation: Operation, route: Route, apiVersion: ApiVersion): DocumentPart => {
  const codes = new Set([...codesOf(operation, route), ...(operation.refusals ?? [])])
  const apiVersionsShown = operation.anyVersion === true ? apiVersions : [apiVersion]
  const pairs = apiVersionsShown.flatMap(one => [...codes].map(code => [statusOf(code, one), code] as const))
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

const optionalMember = (name: string, value: unknown): DocumentPart => (value === undefined ? {} : { [name]: value })

const queryParameters = (schema: JsonSchema, examples: DocumentPart = {}): readonly DocumentPart[] =>
  propertiesOf(schema).map(([name, { description, ...property }, required]) => ({
    name,
    in: 'query',
    ...optionalMember('description', description),
    required,
    schema: property,
    ...optionalMember('example', examples[name] ?? parameterExample(name)),
  }))

const pathParameters = ({ references }: Operation, path: string): readonly DocumentPart[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    ...optionalMember('description', name === 'id' ? describeId(references?.id) : undefined),
    required: true,
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: name === 'id' && references?.id !== undefined ? maxReferenceTextLength : 255,
    },
    example: parameterExample(name, path),
  }))

const describeParameters = (operation: Operation, route: Route, apiVersion: ApiVersion): readonly DocumentPart[] => {
  const query =
    operation.query === undefined
      ? {}
      : schemaInApiVersion(schemaOf(operation.query), operation.renames?.query ?? [], apiVersion)
  const fromBody = route.bodyInQuery === undefined ? {} : bodySchema(operation, route, apiVersion)
  return [
    { $ref: '#/components/parameters/ApiVersion' },
    ...(operation.idempotent === true ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
    ...pathParameters(operation, route.path),
    ...queryParameters(query),
    ...queryParameters(fromBody, bodyExample(operation, route, apiVersion) as DocumentPart | undefined),
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
      const numberOrText = {
        anyOf: [number, { type: 'string', pattern: numberPattern }],
        ...optionalMember('description', description),
      }
      return { ...one, properties: { ...properties, [last]: numberOrText } }
    })
  }, schema)

const numberPattern = '^(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?$'

const bodySchema = (operation: Operation, route: Route, apiVersion: ApiVersion): JsonSchema => {
  const shape = operation.body === 'raw' ? operation.bodyDocument : operation.body
  if (shape === undefined) return {}
  const schema = schemaInApiVersion(schemaOf(shape), operation.renames?.body ?? [], apiVersion)
  const bodyWithTexts = withNumbersAsText(schema, route.numbersAsText ?? [])
  const names = Object.values(route.parametersInBody ?? {})
  const properties = Object.fromEntries(names.map(name => [name, { type: 'string' }]))
  if (names.length === 0) return bodyWithTexts
  return {
    ...bodyWithTexts,
    properties: { ...properties, ...(bodyWithTexts['properties'] as DocumentPart) },
    required: [...names, ...((bodyWithTexts['required'] ?? []) as string[])],
  }
}

/** The example of a body in the words of a layout, with the parameters that this route takes in the body. */
const bodyExample = (operation: Operation, route: Route, apiVersion: ApiVersion): unknown => {
  const example = exampleInVersion(operation.examples?.body, operation.renames?.body, apiVersion)
  const pathMembers = Object.entries(route.parametersInBody ?? {})
  if (example === undefined || pathMembers.length === 0) return example
  const [current] = operation.routes.current
  return {
    ...Object.fromEntries(
      pathMembers.map(([pathParameters, name]) => [name, parameterExample(pathParameters, current?.path)]),
    ),
    ...(example as DocumentPart),
  }
}

const exampleInVersion = (
  example: unknown,
  renames: readonly VersionRename[] | undefined,
  apiVersion: ApiVersion,
): unknown => (example === undefined || apiVersion === 'current' ? example : answerToEarlier(example, renames ?? []))

const requestBody = (operation: Operation, route: Route, apiVersion: ApiVersion, name: NameSchema): DocumentPart => {
  if (operation.body === undefined || route.bodyInQuery !== undefined) return {}
  const schema = name(bodySchema(operation, route, apiVersion), `${schemaName(operation.id)}Request`)
  const content = { schema, ...optionalMember('example', bodyExample(operation, route, apiVersion)) }
  const others = (operation.mediaTypes ?? []).map(type => [type, { schema: { type: 'string' } }] as const)
  return {
    requestBody: {
      required: operation.bodyOptional !== true,
      content: { 'application/json': content, ...Object.fromEntries(others) },
    },
  }
}

/** Who may call; the word beside `bearer` is the scope that the key needs, and `all` opens everything. */
const describeSecurity = (operation: Operation): readonly DocumentPart[] => {
  const { access } = operation
  if (access === 'open') return [{}]
  const ownHeaders =
    access === 'login' ? [{ basic: [] }] : [{ bearer: access === 'any' ? [] : [access] }, { basic: [] }]
  return operation.operator === true ? [...ownHeaders, { operator: [] }] : ownHeaders
}

/** The schema of an answer in the words of a layout. */
const answerSchema = ({ answer, renames }: Operation, apiVersion: ApiVersion): JsonSchema => {
  const schema = schemaOf(answer.shape)
  return schemaInApiVersion(
    apiVersion === 'current' ? schema : schemaWithoutNullTexts(schema),
    renames?.answer ?? [],
    apiVersion,
  )
}

const describeAnswer = (operation: Operation, apiVersion: ApiVersion, name: NameSchema): DocumentPart => {
  const schema = name(answerSchema(operation, apiVersion), operation.answer.name)
  const example = exampleInVersion(operation.examples?.answer, operation.renames?.answer, apiVersion)
  const content = { 'application/json': { schema, ...optionalMember('example', example) } }
  const csvContent = operation.csv === true ? { 'text/csv': { schema: { type: 'string' } } } : {}
  const ownHeaders = operation.anyVersion === true ? sessionHeaders : headers
  return {
    [operation.status]: { description: operation.summary, headers: ownHeaders, content: { ...content, ...csvContent } },
  }
}

const describeOperation = (
  operation: Operation,
  route: Route,
  apiVersion: ApiVersion,
  name: NameSchema,
): DocumentPart => ({
  operationId: route.id ?? operation.id,
  summary: operation.summary,
  description: operation.description,
  tags: [operation.tag],
  security: describeSecurity(operation),
  parameters: describeParameters(operation, route, apiVersion),
  ...requestBody(operation, route, apiVersion, name),
  responses: { ...describeAnswer(operation, apiVersion, name), ...errorResponses(operation, route, apiVersion) },
})

/** The same address with a slash at its end is served and not shown. */
const isDocumented = ({ path }: Route): boolean => !path.endsWith('/')

function* describePaths(
  operations: readonly Operation[],
  apiVersion: ApiVersion,
  name: NameSchema,
): Generator<void, DocumentPart> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of operations) {
    for (const route of operation.routes[apiVersion].filter(isDocumented)) {
      const path = paths[route.path] ?? {}
      path[route.method.toLowerCase()] = describeOperation(operation, route, apiVersion, name)
      paths[route.path] = path
      yield
    }
  }
  return paths
}

function* buildDocument(
  operations: readonly Operation[],
  apiVersion: ApiVersion,
  serverUrl: string,
  name: NameSchema,
  namedSchemas: () => DocumentPart,
): Generator<void, DocumentPart> {
  const availableOperations = operations.filter(operation => operation.routes[apiVersion].length > 0)
  const paths = yield* describePaths(availableOperations, apiVersion, name)
  const webhooks = yield* describeWebhooks(apiVersion, name)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Wattledger',
      version: apiVersionDates[apiVersion],
      description:
        'Energy cost, metering and tariffs. Send Authorization: Bearer with the token that /login gives. Where the id of a location, device or customer is taken, reference: before its own reference_id works too, such as /locations/reference:depot-7.',
    },
    servers: [{ url: serverUrl }],
    tags: [...new Set(availableOperations.map(operation => operation.tag))].map(tag => ({
      name: tag,
      ...optionalMember('description', tagDescriptions[tag]),
    })),
    security: [{ bearer: [] }],
    paths,
    webhooks,
    components: {
      schemas: { Error: errorSchema, ...namedSchemas() },
      securitySchemes,
      parameters: sharedParameters(apiVersion),
      headers: answerHeaders(apiVersion),
      responses: { Error: errorResponse, SessionError: { ...errorResponse, headers: sessionHeaders } },
    },
  }
}

/**
 * Describe all operations of a layout as an OpenAPI 3.1 document: every object is a schema with a name of its own.
 * `serverUrl` is the base address; operations that the layout does not have are left out. Pauses after each operation.
 */
export const openApiSteps = (
  operations: readonly Operation[],
  apiVersion: ApiVersion,
  serverUrl: string,
): Generator<void, DocumentPart> => {
  const namedSchemas: NamedSchemas = new Map()
  return buildDocument(
    operations,
    apiVersion,
    serverUrl,
    (schema, name) => nameObject(schema, name, namedSchemas),
    () => Object.fromEntries([...namedSchemas].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  )
}

/** Describe the same at once. */
export const openApiDocument = (
  operations: readonly Operation[],
  apiVersion: ApiVersion,
  serverUrl: string,
): DocumentPart => runToEnd(openApiSteps(operations, apiVersion, serverUrl))

/** Describe the same with every schema where it is used, for readers that show it; answers keep the names of their schemas as `component`. */
export const inlineDocument = (
  operations: readonly Operation[],
  apiVersion: ApiVersion,
): Generator<void, DocumentPart> =>
  buildDocument(
    operations,
    apiVersion,
    '/',
    (schema, component) => ({ component, ...schema }),
    () => ({}),
  )
