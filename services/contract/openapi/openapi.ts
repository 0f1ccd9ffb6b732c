import { refusalCodes } from '../../domain/refusal.ts'
import { type ApiVersion, apiVersionDates, apiVersions } from '../api-version.ts'
import { eventTypes } from '../events/event-type.ts'
import type { NextTurn, Operation, Route } from '../operation.ts'
import {
  answerSchema,
  type DocumentPart,
  describeOperation,
  optionalMember,
  responseHeaders,
  sessionResponseHeaders,
} from './operation-document.ts'
import type { JsonSchema } from './schema-document.ts'
import { type NamedSchemas, type NameSchema, nameObject, schemaName } from './schema-name.ts'

/** Description of each group of operations on the reference page. */
export const tagDescriptions: Readonly<Record<string, string>> = {
  Account: 'Log in, and read the account and the limits of a token.',
  Metering: 'Send energy records and follow each record from the receipt to the stored cost.',
  Costs: 'Calculate the cost of one record, or the sum over a period or a session.',
  Customers: 'Group locations by the person or company that owns them.',
  Locations: 'Places with one grid connection. A location has a time zone, a currency and tariffs.',
  Devices: 'Meters, chargers and batteries with records of their own.',
  Plans: 'Tariffs and charges that are defined once for many locations, with versions by date.',
  Tariffs: 'Prices of energy and grid fees, by season, day and hour, with tiers and surcharges.',
  Charges: 'Prices in addition to the tariffs: standing charges, demand, sessions, limits and taxes.',
  Prices: 'Read the price of a kWh at a location, and the parts of the price.',
  Schedules: 'Find cheap and expensive times, and plan devices at the lowest cost.',
  Statements: 'Calculate the bill of a location, line by line, and make it final.',
  Simulations: 'Compare the stored costs of locations with other tariffs and charges.',
  Exports: 'Write records, costs and objects of a period into a file, and download the file.',
  Calendars: 'Public holidays and special days that tariffs and charges name.',
  Markets: 'Sources of market prices, and your own price series.',
  Connect: 'Let people connect the tariff of a location themselves, page by page.',
  Events: 'Changes in the account, newest first.',
  Users: 'People who sign in to the console, with their roles. Keys are for machines.',
  Webhooks: 'Receive signed events at your endpoint, and see the result of each delivery.',
}

const errorSchema: JsonSchema = {
  type: 'object',
  description: 'Body of every response that is not a success.',
  properties: {
    object: { const: 'error' },
    type: { enum: ['invalid_request', 'rate_limit', 'api_error', 'connect_error'] },
    code: { type: 'string', enum: refusalCodes },
    message: { type: 'string', description: 'One sentence that says what to change.' },
    field: { type: 'string', description: 'Path of the wrong member.', examples: ['[3].start_time'] },
    live_mode: { type: 'boolean' },
    context: { type: 'string', examples: ['api.customer_create'] },
    request_id: { type: 'string' },
    time_created: { type: 'string', format: 'date-time' },
    connect_token: { type: 'string' },
  },
  required: ['object', 'type', 'code', 'message', 'context', 'request_id', 'time_created'],
}

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API key, or the bearer_token of /login.' },
  basic: { type: 'http', scheme: 'basic', description: 'Account id and API key.' },
  operator: { type: 'apiKey', in: 'header', name: 'X-Operator-Key', description: "The operator's own key." },
}

const sharedParameters = (apiVersion: ApiVersion): DocumentPart => ({
  ApiVersion: {
    name: 'Api-Version',
    in: 'header',
    description:
      'API version of the request and the response that this document describes. Default: the version of the account.',
    schema: { type: 'string', const: apiVersionDates[apiVersion], default: apiVersionDates[apiVersion] },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Requests with the same key get the same answer for 24 hours. Use the key to send a request again safely.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
})

const answerHeaders = (apiVersion: ApiVersion): DocumentPart => ({
  SessionApiVersion: {
    schema: { type: 'string', enum: apiVersions.map(one => apiVersionDates[one]) },
    description: 'API version of the session. If no session has the token: API version of the request.',
  },
  RequestId: { schema: { type: 'string' }, description: 'Id of this request in logs and error objects.' },
  ApiVersion: {
    schema: { type: 'string', const: apiVersionDates[apiVersion] },
    description: 'API version of this answer.',
  },
  HasMore: {
    schema: { type: 'string', enum: ['true', 'false'] },
    description: 'Of a CSV page: true if more elements follow. The cursor of the next page is the id of the last row.',
  },
})

const errorResponse = {
  description: 'The request was refused or it failed. The member code gives the reason.',
  headers: responseHeaders,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
}

/** Describe the events as the requests that webhook endpoints receive. */
const describeWebhooks = async (
  apiVersion: ApiVersion,
  name: NameSchema,
  nextTurn: NextTurn,
): Promise<DocumentPart> => {
  const webhooks: Record<string, unknown> = {}
  for (const { type, description: summary, data } of eventTypes) {
    const event: JsonSchema = {
      type: 'object',
      properties: {
        id: { type: 'string', examples: ['evt_0198c0ffee00112233445566'] },
        object: { const: 'event' },
        type: { const: type },
        live_mode: { type: 'boolean' },
        data: { ...answerSchema(data.shape, data.renames, apiVersion), component: data.name },
        time_created: { type: 'string', format: 'date-time' },
        account_id: { type: 'string', examples: ['acc_0198c0ffee00112233445566'] },
      },
      required: ['id', 'object', 'type', 'live_mode', 'data', 'time_created', 'account_id'],
    }
    const schema = name(event, `${schemaName(type)}Event`)
    const post = {
      operationId: `event_${type.replaceAll('.', '_')}`,
      summary,
      tags: ['Webhooks'],
      security: [],
      requestBody: { required: true, content: { 'application/json': { schema } } },
      responses: { '2XX': { description: 'The event was received. After any other status the delivery is retried.' } },
    }
    webhooks[type] = { post }
    await nextTurn()
  }
  return webhooks
}

/** A route that ends with a slash is an alias of the route without the slash. The document leaves the alias out. */
const isDocumented = ({ path }: Route): boolean => !path.endsWith('/')

const describePaths = async (
  operations: readonly Operation[],
  apiVersion: ApiVersion,
  name: NameSchema,
  nextTurn: NextTurn,
): Promise<DocumentPart> => {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of operations) {
    for (const route of operation.routes[apiVersion].filter(isDocumented)) {
      const path = paths[route.path] ?? {}
      path[route.method.toLowerCase()] = describeOperation(operation, route, apiVersion, name)
      paths[route.path] = path
      await nextTurn()
    }
  }
  return paths
}

/** Names of the schemas of a document, and the schemas that have a name. */
type DocumentNames = { readonly name: NameSchema; readonly namedSchemas: () => DocumentPart }

const buildDocument = async (
  operations: readonly Operation[],
  apiVersion: ApiVersion,
  serverUrl: string,
  { name, namedSchemas }: DocumentNames,
  nextTurn: NextTurn,
): Promise<DocumentPart> => {
  const availableOperations = operations.filter(operation => operation.routes[apiVersion].length > 0)
  const paths = await describePaths(availableOperations, apiVersion, name, nextTurn)
  const webhooks = await describeWebhooks(apiVersion, name, nextTurn)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Wattledger',
      version: apiVersionDates[apiVersion],
      description:
        'Energy cost, metering and tariffs. Send an API key with each request, as Authorization: Bearer. Instead of the id of a location, device or customer you can send reference: and its reference_id, such as /locations/reference:depot-7.',
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
      responses: { Error: errorResponse, SessionError: { ...errorResponse, headers: sessionResponseHeaders } },
    },
  }
}

/**
 * Describe all operations of an API version as an OpenAPI 3.1 document. Each object is a schema with its own name.
 * `serverUrl` is the base address. The document leaves out operations that the API version does not have.
 * Other work can run after each operation.
 */
export const openApiDocument = (
  operations: readonly Operation[],
  apiVersion: ApiVersion,
  serverUrl: string,
  nextTurn: NextTurn,
): Promise<DocumentPart> => {
  const namedSchemas: NamedSchemas = new Map()
  const names: DocumentNames = {
    name: (schema, name) => nameObject(schema, name, namedSchemas),
    namedSchemas: () => Object.fromEntries([...namedSchemas].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  }
  return buildDocument(operations, apiVersion, serverUrl, names, nextTurn)
}

/**
 * Describe all operations of an API version with each schema in place, for the reference page.
 * The member `component` of a schema is its name. Other work can run after each operation.
 */
export const inlineDocument = (
  operations: readonly Operation[],
  apiVersion: ApiVersion,
  nextTurn: NextTurn,
): Promise<DocumentPart> => {
  const names: DocumentNames = {
    name: (schema, component) => ({ component, ...schema }),
    namedSchemas: () => ({}),
  }
  return buildDocument(operations, apiVersion, '/', names, nextTurn)
}
