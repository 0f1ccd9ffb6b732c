import { z } from 'zod'
import { type Refusal, refused } from '../../domain/refusal.ts'
import { maskQuery, type WebhookEndpoint } from '../../domain/webhook/webhook-object.ts'
import { exampleObject, instantOrNull, instantText, objectShape, objectToWire, orNull } from '../answer-field.ts'
import { apiVersionDates } from '../api-version.ts'
import { clearable, fields, listOf, oneOf, optional, text } from '../field.ts'
import { fixedMembers } from '../fixed-member.ts'
import { listing, listParameters } from '../list.ts'
import { defineOperation, deletion, mayCall, retrieval, type Scope, sameRoute } from '../operation.ts'
import { explainUnknownFilter } from './event-type.ts'

const endpointShape = objectShape('whe', 'webhook_endpoint', {
  url: z.string().describe('Callers that may not change endpoints get *** instead of its query.'),
  event_types: z.array(z.string()),
  description: orNull(z.string()),
  api_version: z.string().describe('API version of the events: the version of the request that created the endpoint.'),
  status: z.enum(['ENABLED', 'DISABLED']),
  disabled_reason: orNull(z.enum(['CALLER', 'GONE', 'FAILING'])).describe(
    'CALLER: an update disabled the endpoint. GONE: the endpoint answered 410. FAILING: all deliveries failed for 5 days.',
  ),
  failing_since: orNull(instantText).describe('Time of the first failure without a later success.'),
})

const endpointWithSecretShape = endpointShape.extend({
  secret: z
    .string()
    .describe('Secret of the signatures, by Standard Webhooks 1.0. Only this answer contains the secret.'),
})

export type WebhookEndpointWire = z.output<typeof endpointShape>

/** Write a webhook endpoint. */
export const webhookEndpointToWire = (endpoint: WebhookEndpoint): WebhookEndpointWire =>
  objectToWire('webhook_endpoint', endpoint, {
    url: endpoint.url,
    event_types: [...endpoint.eventTypes],
    description: endpoint.description,
    api_version: apiVersionDates[endpoint.apiVersion],
    status: endpoint.disabledReason === null ? 'ENABLED' : 'DISABLED',
    disabled_reason: endpoint.disabledReason,
    failing_since: instantOrNull(endpoint.failingSince),
  })

const eventTypes = listOf(text().meta({ examples: ['customer.*'] }), { min: 1, max: 50 }).describe(
  'Events for the endpoint: *, a group such as customer.*, or types of the list of events.',
)

/**
 * Refuse unknown filters and suggest the nearest name. Returns null if all filters are known. Filters in `stored` are
 * accepted.
 * Source: docs/rules/events-and-webhooks.md #event-types.
 */
export const refuseFilters = (filters: readonly string[], stored: readonly string[] = []): Refusal | null => {
  for (const [index, filter] of filters.entries()) {
    const message = stored.includes(filter) ? null : explainUnknownFilter(filter)
    if (message !== null) return refused('field_invalid', message, `event_types[${index}]`).refusal
  }
  return null
}

const url = text({ max: 2_048 })
  .describe('Address with a public host and without credentials. Live mode requires https.')
  .meta({ format: 'uri', examples: ['https://example.com/webhooks'] })

const describeVersion =
  'Optional; must equal Api-Version. The endpoint receives events in the API version of this request.'

const example: WebhookEndpointWire = objectToWire('webhook_endpoint', exampleObject('whe'), {
  url: 'https://example.com/webhooks',
  event_types: ['customer.*', 'location.update'],
  description: 'Billing',
  api_version: apiVersionDates.current,
  status: 'ENABLED',
  disabled_reason: null,
  failing_since: null,
})

const exampleWithSecret = { ...example, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' }

const tag = 'Webhooks'
const answer = { name: 'WebhookEndpoint', shape: endpointShape }
const answerWithSecret = { name: 'WebhookEndpointWithSecret', shape: endpointWithSecretShape }

export const webhookCreate = defineOperation({
  id: 'webhook_create',
  auditAction: 'webhook_endpoint.create',
  summary: 'Create a webhook endpoint',
  description:
    'Events of the endpoint are sent as POST requests, signed by Standard Webhooks 1.0 with the secret of this answer. Without a 2xx status within 15 s the delivery is retried. The pauses are 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h. An event can arrive more than once and in another order. The header webhook-id is the id of the event.',
  tag,
  access: 'owner',
  routes: sameRoute('POST', '/webhooks'),
  body: fields({
    url,
    event_types: optional(eventTypes),
    description: optional(text()),
    api_version: optional(text()).describe(describeVersion),
  }),
  answer: answerWithSecret,
  status: 201,
  idempotent: true,
  secretAnswer: true,
  refusals: ['webhook_url_refused', 'too_many_webhook_endpoints'],
  examples: {
    body: {
      url: 'https://example.com/webhooks',
      event_types: ['customer.*', 'location.update'],
      description: 'Billing',
    },
    answer: exampleWithSecret,
  },
})

export const webhookList = defineOperation({
  id: 'webhook_list',
  summary: 'List webhook endpoints',
  description: 'Newest first.',
  tag,
  ...listing('WebhookEndpoint', endpointShape, '/webhooks', example),
  routes: sameRoute('GET', '/webhooks'),
  query: listParameters({}),
})

export const webhookRetrieve = defineOperation({
  id: 'webhook_retrieve',
  summary: 'Retrieve a webhook endpoint',
  description: 'Returns the endpoint without its secret.',
  tag,
  ...retrieval(answer, example),
  routes: sameRoute('GET', '/webhooks/{id}'),
})

/** Members of a webhook endpoint that a PATCH changes. */
export const webhookPatch = {
  url: url.optional(),
  event_types: eventTypes.optional(),
  description: clearable(text()),
  status: oneOf('ENABLED', 'DISABLED').optional(),
}

export const webhookUpdate = defineOperation({
  id: 'webhook_update',
  auditAction: 'webhook_endpoint.update',
  summary: 'Update a webhook endpoint',
  description:
    'Absent members do not change; null clears a member. DISABLED cancels pending deliveries. ENABLED delivers new events; use a resend for the missed events.',
  tag,
  access: 'owner',
  routes: sameRoute('PATCH', '/webhooks/{id}'),
  body: fields({ ...fixedMembers(endpointShape), ...webhookPatch }),
  answer,
  status: 200,
  refusals: ['webhook_url_refused', 'field_immutable'],
  examples: { body: { event_types: ['*'] }, answer: { ...example, event_types: ['*'] } },
})

/**
 * Return a written endpoint as a scope may read it. Only scopes that may change endpoints read the query of the URL.
 * Source: docs/rules/events-and-webhooks.md #addresses.
 */
export const endpointFor =
  (scope: Scope) =>
  <Wire>(endpoint: Wire): Wire => {
    const { url: address } = Object(endpoint) as { readonly url?: unknown }
    return typeof address !== 'string' || mayCall(webhookUpdate, scope)
      ? endpoint
      : { ...endpoint, url: maskQuery(address) }
  }

export const webhookDelete = defineOperation({
  id: 'webhook_delete',
  auditAction: 'webhook_endpoint.delete',
  summary: 'Delete a webhook endpoint',
  description: 'Deletes the endpoint and cancels its pending deliveries.',
  tag,
  ...deletion,
  access: 'owner',
  routes: sameRoute('DELETE', '/webhooks/{id}'),
})

export const webhookSecretRotate = defineOperation({
  id: 'webhook_secret_rotate',
  auditAction: 'webhook_endpoint.rotate_secret',
  summary: 'Rotate the secret of a webhook endpoint',
  description:
    'Returns a new secret. For 24 h all events are signed with both secrets, so that receivers can change the secret without interruption.',
  tag,
  access: 'owner',
  routes: sameRoute('POST', '/webhooks/{id}/secret'),
  body: fields({}),
  bodyOptional: true,
  answer: answerWithSecret,
  status: 200,
  idempotent: true,
  secretAnswer: true,
  examples: { body: {}, answer: exampleWithSecret },
})
