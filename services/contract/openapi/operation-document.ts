import type { z } from 'zod'
import { idPrefixes } from '../../domain/identifier.ts'
import { maxReferenceTextLength, type ReferenceKind } from '../../domain/reference.ts'
import { tableMediaTypes } from '../../domain/table-format.ts'
import { type ApiVersion, apiVersions } from '../api-version.ts'
import { dryRunExample, dryRunShape } from '../dry-run.ts'
import { answerToEarlier, type VersionRename } from '../earlier-api-version.ts'
import { statusOf } from '../error.ts'
import { schemaWithoutNullTexts } from '../null-text.ts'
import type { Operation, Route } from '../operation.ts'
import { describeId } from '../reference.ts'
import { documentedCodes } from './documented-codes.ts'
import {
  eachSchemaAt,
  type JsonSchema,
  propertiesOf,
  requiredOf,
  schemaInApiVersion,
  schemaOf,
} from './schema-document.ts'
import { type NameSchema, schemaName } from './schema-name.ts'

/** Part of an OpenAPI document. */
export type DocumentPart = { readonly [key: string]: unknown }

/** Return an object with one member, or an empty object if the value is undefined. */
export const optionalMember = (name: string, value: unknown): DocumentPart =>
  value === undefined ? {} : { [name]: value }

/** Headers of each response, as references into the document's components. */
export const responseHeaders = {
  'X-Request-Id': { $ref: '#/components/headers/RequestId' },
  'Api-Version': { $ref: '#/components/headers/ApiVersion' },
}

/** Headers of the responses of an operation that answers in the API version of its session. */
export const sessionResponseHeaders = {
  ...responseHeaders,
  'Api-Version': { $ref: '#/components/headers/SessionApiVersion' },
}

const errorResponses = (operation: Operation, route: Route, apiVersion: ApiVersion): DocumentPart => {
  const codes = documentedCodes(operation, route)
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

const exampleDigits = '0198c0ffee00112233445566'

/** Id prefixes by the name of a query parameter, or by the path segment before a path parameter. */
const idPrefixOf: Readonly<Record<string, string>> = {
  customers: 'cus',
  customer_id: 'cus',
  locations: 'loc',
  location_id: 'loc',
  devices: 'dev',
  device_id: 'dev',
  tariffs: 'trf',
  elements: 'trf',
  calendars: 'cal',
  charges: 'chg',
  records: 'mre',
  record_id: 'mre',
  batch: 'bat',
  batch_id: 'bat',
  markets: 'mrs',
  plans: 'pln',
  users: 'usr',
  assignments: 'pla',
  schedules: 'sae',
  simulations: 'sim',
  statements: 'stm',
  'statements/batch': 'stb',
  exports: 'exp',
  events: 'evt',
  event_id: 'evt',
  webhooks: 'whe',
  deliveries: 'whd',
  resends: 'whr',
  token: 'fps',
}

const exampleValues: Readonly<Record<string, string>> = {
  session: 'session-17',
  versions: '2',
  connect_token: 'cot_0198c0ffee00112233445566778899aa',
  start_time: '2025-09-14T00:00:00Z',
  end_time: '2025-09-15T00:00:00Z',
}

/**
 * Return an example of a parameter for the requests of the reference page.
 * `path` is the route of a path parameter. An unknown path parameter gets the id of a location.
 * Returns undefined for an unknown query parameter.
 */
const parameterExample = (name: string, path?: string): string | undefined => {
  const before = path?.slice(0, path.indexOf(`{${name}}`)).split('/') ?? []
  const segment = before.at(-2) ?? name
  const prefix =
    idPrefixOf[before.slice(-3, -1).join('/')] ?? idPrefixOf[segment] ?? (path === undefined ? undefined : 'loc')
  return exampleValues[segment] ?? (prefix === undefined ? undefined : `${prefix}_${exampleDigits}`)
}

/** Return the first example that a parameter declares; undefined if there is none. */
const ownExample = ({ examples }: JsonSchema): unknown => (Array.isArray(examples) ? examples[0] : undefined)

const queryParameters = (schema: JsonSchema, examples: DocumentPart = {}): readonly DocumentPart[] =>
  Object.entries(propertiesOf(schema)).map(([name, { description, ...property }]) => ({
    name,
    in: 'query',
    ...optionalMember('description', description),
    required: requiredOf(schema).includes(name),
    schema: property,
    ...optionalMember('example', examples[name] ?? parameterExample(name) ?? ownExample(property)),
  }))

/** Return the id of an example object, if a path accepts own references of one kind. */
const referenceExample = (kinds: readonly ReferenceKind[] = []): string | undefined => {
  const [only, other] = kinds
  return only === undefined || other !== undefined ? undefined : `${idPrefixes[only]}${exampleDigits}`
}

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
    example: referenceExample(references?.id) ?? parameterExample(name, path),
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
    ...repeatedIdParameter(route.bodyInQuery?.repeatedId),
    ...queryParameters(fromBody, bodyExample(operation, route, apiVersion) as DocumentPart | undefined),
  ]
}

const repeatedIdParameter = (name: string | undefined): readonly DocumentPart[] =>
  name === undefined
    ? []
    : [
        {
          name,
          in: 'query',
          description: 'Not needed. If you send it, it must equal the id in the path.',
          required: false,
          schema: { type: 'string', minLength: 1, maxLength: maxReferenceTextLength },
          example: parameterExample(name),
        },
      ]

/** Schema of a body or query whose numbers at `paths` may also be strings. */
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

/** Return the example of a body in an API version, with the path parameters that this route takes in the body. */
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

/**
 * List the accepted credentials. The value of `bearer` is the scope that the key needs; a key of scope `all` may call
 * everything.
 */
const describeSecurity = (operation: Operation): readonly DocumentPart[] => {
  const { access } = operation
  if (access === 'open') return [{}]
  const scopes = access === 'any' ? [] : [access === 'owner' ? 'all' : access]
  const ownHeaders = access === 'login' ? [{ basic: [] }] : [{ bearer: scopes }, { basic: [] }]
  return operation.operator === true ? [...ownHeaders, { operator: [] }] : ownHeaders
}

/** Describe the data of an answer or event in an API version. */
export const answerSchema = (
  shape: z.ZodType,
  renames: readonly VersionRename[] | undefined,
  apiVersion: ApiVersion,
): JsonSchema => {
  const schema = schemaOf(shape)
  return schemaInApiVersion(
    apiVersion === 'current' ? schema : schemaWithoutNullTexts(schema),
    renames ?? [],
    apiVersion,
  )
}

const describeAnswer = (operation: Operation, apiVersion: ApiVersion, name: NameSchema): DocumentPart => {
  const schema = name(
    answerSchema(operation.answer.shape, operation.renames?.answer, apiVersion),
    operation.answer.name,
  )
  const example = exampleInVersion(operation.examples?.answer, operation.renames?.answer, apiVersion)
  const mediaType = operation.ndjson === true ? 'application/x-ndjson' : 'application/json'
  const content =
    operation.tablesOnly === true ? {} : { [mediaType]: { schema, ...optionalMember('example', example) } }
  const csvContent = operation.csv === true ? { 'text/csv': { schema: { type: 'string' } } } : {}
  const tableContent = Object.fromEntries(
    (operation.tables ?? []).map(format => [tableMediaTypes[format], { schema: { type: 'string' } }]),
  )
  const members = schemaOf(operation.answer.shape)['properties'] ?? {}
  const isTableOfPages = operation.csv === true && Object.hasOwn(members, 'has_more')
  const ownHeaders = {
    ...(operation.anyVersion === true ? sessionResponseHeaders : responseHeaders),
    ...(isTableOfPages ? { 'X-Has-More': { $ref: '#/components/headers/HasMore' } } : {}),
  }
  const described = {
    description: operation.summary,
    headers: ownHeaders,
    content: { ...content, ...csvContent, ...tableContent },
  }
  if (operation.canBePending === true)
    return { 200: described, 202: { ...described, description: 'Accepted, not calculated yet' } }
  if (operation.dryRun !== true) return { [operation.status]: described }
  const dryRun = name(answerSchema(dryRunShape, undefined, apiVersion), 'DryRun')
  if (operation.status !== 200)
    return {
      200: { ...described, description: 'Dry run', content: jsonContent(dryRun, dryRunExample) },
      [operation.status]: described,
    }
  return { 200: { ...described, content: jsonContent({ anyOf: [schema, dryRun] }, example) } }
}

const jsonContent = (schema: DocumentPart, example: unknown): DocumentPart => ({
  'application/json': { schema, ...optionalMember('example', example) },
})

/** Describe one route of an operation as an OpenAPI operation. */
export const describeOperation = (
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
