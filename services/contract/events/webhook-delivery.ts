import { z } from 'zod'
import type { WebhookAttempt, WebhookDelivery } from '../../domain/webhook/webhook-object.ts'
import { count, idText, instantOrNull, instantText, objectShape, objectToWire, orNull } from '../answer-field.ts'
import { fields, identifier, oneOf } from '../field.ts'
import { listing, listParameters } from '../list.ts'
import { defineOperation, retrieval, sameRoute } from '../operation.ts'

const statuses = ['PENDING', 'DELIVERED', 'FAILED'] as const

const deliveryShape = objectShape('whd', 'webhook_delivery', {
  endpoint_id: idText('whe'),
  event_id: idText('evt'),
  event_type: z.string(),
  status: z.enum(statuses),
  attempts: count.describe('Attempts since the delivery was created or last resent.'),
  next_attempt: orNull(instantText).describe('Time of the next attempt; null after success or after the last attempt.'),
  last_attempt: orNull(instantText),
})

export type WebhookDeliveryWire = z.output<typeof deliveryShape>

/** Write a delivery. */
export const webhookDeliveryToWire = (delivery: WebhookDelivery): WebhookDeliveryWire =>
  objectToWire('webhook_delivery', delivery, {
    endpoint_id: delivery.endpointId,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    status: delivery.status,
    attempts: delivery.attempts,
    next_attempt: instantOrNull(delivery.dueAt),
    last_attempt: instantOrNull(delivery.lastAttemptAt),
  })

const attemptShape = objectShape('wha', 'webhook_attempt', {
  endpoint_id: idText('whe'),
  delivery_id: idText('whd'),
  succeeded: z.boolean(),
  status_code: orNull(count).describe('Null without a response.'),
  error: orNull(z.string()).describe(
    'Reason for a missing response: address_forbidden, host_unknown, connection_failed, tls_failed, timed_out, answer_invalid, event_expired.',
  ),
  duration_ms: count,
  response_body: z.string().describe('The first 16 KiB of the response.'),
})

export type WebhookAttemptWire = z.output<typeof attemptShape>

/** Write an attempt. */
export const webhookAttemptToWire = (attempt: WebhookAttempt): WebhookAttemptWire =>
  objectToWire('webhook_attempt', attempt, {
    endpoint_id: attempt.endpointId,
    delivery_id: attempt.deliveryId,
    succeeded: attempt.statusCode !== null && attempt.statusCode >= 200 && attempt.statusCode < 300,
    status_code: attempt.statusCode,
    error: attempt.error,
    duration_ms: attempt.durationMs,
    response_body: attempt.responseBody,
  })

const exampleIds = { live_mode: false, endpoint_id: 'whe_0198c0ffee00112233445566' } as const
const exampleOwner = { time_created: '2025-09-14T10:00:00Z', account_id: 'acc_0198c0ffee00112233445566' } as const

const example: WebhookDeliveryWire = {
  id: 'whd_0198c0ffee00112233445566',
  object: 'webhook_delivery',
  ...exampleIds,
  event_id: 'evt_0198c0ffee00112233445566',
  event_type: 'customer.create',
  status: 'DELIVERED',
  attempts: 1,
  next_attempt: null,
  last_attempt: '2025-09-14T10:00:00.120Z',
  ...exampleOwner,
}

const attemptExample: WebhookAttemptWire = {
  id: 'wha_0198c0ffee00112233445566',
  object: 'webhook_attempt',
  ...exampleIds,
  delivery_id: example.id,
  succeeded: true,
  status_code: 204,
  error: null,
  duration_ms: 48,
  response_body: '',
  ...exampleOwner,
}

const tag = 'Webhooks'
const answer = { name: 'WebhookDelivery', shape: deliveryShape }
const pendingExample = {
  ...example,
  status: 'PENDING',
  attempts: 0,
  next_attempt: '2025-09-14T10:00:00Z',
  last_attempt: null,
} as const

export const webhookTest = defineOperation({
  id: 'webhook_test',
  auditAction: 'webhook_endpoint.test',
  summary: 'Send a test event',
  description:
    'Sends a webhook_endpoint.test event to this endpoint only, also if its event_types do not include the type. The data of the event is the endpoint.',
  tag,
  access: 'all',
  routes: sameRoute('POST', '/webhooks/{id}/test'),
  body: fields({}),
  bodyOptional: true,
  answer,
  status: 201,
  idempotent: true,
  refusals: ['webhook_endpoint_disabled'],
  examples: { body: {}, answer: { ...pendingExample, event_type: 'webhook_endpoint.test' } },
})

export const webhookDeliveryList = defineOperation({
  id: 'webhook_delivery_list',
  summary: 'List deliveries',
  description: 'Complete and pending deliveries of an endpoint, newest first.',
  tag,
  ...listing('WebhookDelivery', deliveryShape, `/webhooks/${exampleIds.endpoint_id}/deliveries`, example),
  routes: sameRoute('GET', '/webhooks/{id}/deliveries'),
  query: listParameters({
    status: oneOf(...statuses)
      .optional()
      .describe('Only deliveries of this status.'),
    event_id: identifier('evt').optional().describe('Only the delivery of this event.'),
  }),
})

export const webhookDeliveryRetrieve = defineOperation({
  id: 'webhook_delivery_retrieve',
  summary: 'Retrieve a delivery',
  description: 'Returns the state of the delivery of one event to one endpoint.',
  tag,
  ...retrieval(answer, example),
  routes: sameRoute('GET', '/webhooks/{id}/deliveries/{delivery_id}'),
  refusals: [],
})

export const webhookAttemptList = defineOperation({
  id: 'webhook_attempt_list',
  summary: 'List attempts',
  description:
    'Attempts of a delivery with the response of the endpoint, newest first. Attempts are stored for 30 days.',
  tag,
  ...listing(
    'WebhookAttempt',
    attemptShape,
    `/webhooks/${exampleIds.endpoint_id}/deliveries/${example.id}/attempts`,
    attemptExample,
  ),
  routes: sameRoute('GET', '/webhooks/{id}/deliveries/{delivery_id}/attempts'),
  query: listParameters({}),
})

export const webhookDeliveryResend = defineOperation({
  id: 'webhook_delivery_resend',
  summary: 'Resend a delivery',
  description: 'Sends a delivery immediately, also after success or failure, and restarts its retry schedule.',
  tag,
  access: 'all',
  routes: sameRoute('POST', '/webhooks/{id}/deliveries/{delivery_id}/resend'),
  body: fields({}),
  bodyOptional: true,
  answer,
  status: 200,
  idempotent: true,
  refusals: ['webhook_endpoint_disabled'],
  examples: { body: {}, answer: pendingExample },
})
