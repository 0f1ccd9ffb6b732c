import { z } from 'zod'
import { writeInstant } from '../../domain/instant.ts'
import type { WebhookResend } from '../../domain/webhook/webhook-object.ts'
import { count, exampleObject, idText, instantText, objectShape, objectToWire } from '../answer-field.ts'
import { fields, instant, optional, refuseField } from '../field.ts'
import { defineOperation, retrieval, sameRoute } from '../operation.ts'

const resendShape = objectShape('whr', 'webhook_resend', {
  endpoint_id: idText('whe'),
  start_time: instantText,
  end_time: instantText,
  include_delivered: z.boolean(),
  status: z.enum(['RUNNING', 'DONE', 'STOPPED']).describe('STOPPED: the endpoint was disabled or deleted.'),
  events_total: count.describe('Events of the account in this period.'),
  events_done: count.describe('Number of these events that were checked.'),
  deliveries_queued: count.describe('Number of these events that are sent again.'),
})

export type WebhookResendWire = z.output<typeof resendShape>

/** Write a resend. */
export const webhookResendToWire = (resend: WebhookResend): WebhookResendWire =>
  objectToWire('webhook_resend', resend, {
    endpoint_id: resend.endpointId,
    start_time: writeInstant(resend.from),
    end_time: writeInstant(resend.to),
    include_delivered: resend.includeDelivered,
    status: resend.status,
    events_total: resend.eventsTotal,
    events_done: resend.eventsDone,
    deliveries_queued: resend.deliveriesQueued,
  })

const example: WebhookResendWire = objectToWire('webhook_resend', exampleObject('whr'), {
  endpoint_id: 'whe_0198c0ffee00112233445566',
  start_time: '2025-09-14T00:00:00Z',
  end_time: '2025-09-15T00:00:00Z',
  include_delivered: false,
  status: 'RUNNING',
  events_total: 1_200,
  events_done: 500,
  deliveries_queued: 37,
})

const answer = { name: 'WebhookResend', shape: resendShape }

export const webhookResendCreate = defineOperation({
  id: 'webhook_resend_create',
  summary: 'Resend the events of a period',
  description:
    'Sends the undelivered events of a period to the endpoint; with include_delivered all events. New events are delivered at the same time. Read the progress at /webhooks/{id}/resends/{resend_id}.',
  tag: 'Webhooks',
  access: 'all',
  routes: sameRoute('POST', '/webhooks/{id}/resends'),
  body: fields({
    start_time: instant.describe('Inclusive. Events are stored for 90 days.'),
    end_time: instant,
    include_delivered: optional(z.boolean()),
  }).superRefine(({ start_time: start, end_time: end }, context) => {
    if (end.at <= start.at) refuseField(context, 'end_before_start', 'must be after start_time', ['end_time'])
  }),
  answer,
  status: 202,
  idempotent: true,
  refusals: ['webhook_endpoint_disabled', 'end_before_start'],
  examples: {
    body: { start_time: '2025-09-14T00:00:00Z', end_time: '2025-09-15T00:00:00Z' },
    answer: { ...example, events_done: 0, deliveries_queued: 0 },
  },
})

export const webhookResendRetrieve = defineOperation({
  id: 'webhook_resend_retrieve',
  summary: 'Retrieve the progress of a resend',
  description: 'Returns the number of checked events of the period, and the number of events that are sent again.',
  tag: 'Webhooks',
  ...retrieval(answer, example),
  routes: sameRoute('GET', '/webhooks/{id}/resends/{resend_id}'),
})
