import { z } from 'zod'
import { type StoredEvent, testEventType } from '../../domain/event-types.ts'
import { writeInstant } from '../../domain/instant.ts'
import { maxReferenceTextLength, referenceKinds } from '../../domain/reference.ts'
import type { Refusal } from '../../domain/refusal.ts'
import type { Tenant } from '../../domain/tenant.ts'
import { idText, instantText } from '../answer-field.ts'
import type { ApiVersion } from '../api-version.ts'
import { answerToEarlier } from '../earlier-api-version.ts'
import { text } from '../field.ts'
import { parseExactJson } from '../json/exact-json.ts'
import { isJsonObject } from '../json/json-path.ts'
import { listing, listParameters } from '../list.ts'
import { withoutNullTexts } from '../null-text.ts'
import { defineOperation, retrieval, type Scope, sameRoute } from '../operation.ts'
import { instantParameter } from '../parameter.ts'
import { eventDataOf } from './event-type.ts'
import { endpointFor } from './webhook-endpoint.ts'

const eventShape = z.object({
  id: idText('evt'),
  object: z.literal('event'),
  type: z.string().describe('resource.event. New types can be added at any time.'),
  live_mode: z.boolean(),
  data: z.record(z.string(), z.unknown()).describe('The object after the change; after a deletion its last state.'),
  time_created: instantText,
  account_id: idText('acc'),
})

export type EventWire = z.output<typeof eventShape>

/** Event in an answer. */
export type Event = Omit<StoredEvent, 'objectId'>

/** Return an event as a scope may read it. The data of a test event is a webhook endpoint. */
export const eventFor = (scope: Scope, event: Event): Event =>
  event.type === testEventType ? { ...event, data: JSON.stringify(endpointFor(scope)(JSON.parse(event.data))) } : event

/** Parse the data of an event with all digits of its numbers. Throws if the stored text is not an object. */
const dataOf = ({ id, data }: Event): EventWire['data'] => {
  const parsed = parseExactJson(data)
  if (!parsed.ok || !isJsonObject(parsed.value)) throw new TypeError(`The data of event ${id} is not a JSON object.`)
  return parsed.value
}

const dataToEarlier = (type: string, data: EventWire['data']): EventWire['data'] => {
  const known = eventDataOf(type)
  if (known === undefined) return data
  return answerToEarlier(withoutNullTexts(data, known.shape), known.renames ?? []) as EventWire['data']
}

/** Write an event in an API version. */
export const eventToWire = (event: Event, apiVersion: ApiVersion = 'current'): EventWire => {
  const data = dataOf(event)
  return {
    id: event.id,
    object: 'event',
    type: event.type,
    live_mode: event.liveMode,
    data: apiVersion === 'current' ? data : dataToEarlier(event.type, data),
    time_created: writeInstant(event.createdAt),
    account_id: event.accountId,
  }
}

/**
 * Return the data of a `*.failed` event: the object of the request and the refusal.
 * Source: docs/rules/events-and-webhooks.md #failed-requests.
 */
export const failedEventData = (
  requested: { readonly referenceId: string | null; readonly id: string | null },
  refusal: Refusal,
  requestId: string,
): Readonly<Record<string, unknown>> => ({
  ...(requested.referenceId === null ? {} : { reference_id: requested.referenceId }),
  ...(requested.id === null ? {} : { id: requested.id }),
  error: { code: refusal.code, message: refusal.message },
  request_id: requestId,
})

/** Return a `tariff.*` event. Source: docs/rules/events-and-webhooks.md #events. */
export const tariffEvent = (
  type: 'tariff.expiring' | 'tariff.expired' | 'tariff.fetch.failed',
  { liveMode, tariffId, locationId, accountId }: Tenant & Readonly<Record<'tariffId' | 'locationId', string | null>>,
) => ({
  type,
  objectId: tariffId ?? locationId,
  data: { live_mode: liveMode, tariff_id: tariffId, location_id: locationId, account_id: accountId },
})

const example: EventWire = {
  id: 'evt_0198c0ffee00112233445566',
  object: 'event',
  type: 'device.create',
  live_mode: false,
  data: {
    id: 'dev_0198c0ffee00112233445566',
    object: 'device',
    live_mode: false,
    reference_id: 'charger-4711',
    last_seen: null,
    metadata: {},
    time_created: '2025-09-14T10:00:00Z',
    account_id: 'acc_0198c0ffee00112233445566',
  },
  time_created: '2025-09-14T10:00:00Z',
  account_id: 'acc_0198c0ffee00112233445566',
}

export const eventList = defineOperation({
  id: 'event_list',
  summary: 'List events',
  description: 'Newest first. Events are stored for 90 days.',
  tag: 'Events',
  ...listing('Event', eventShape, '/events', example),
  routes: sameRoute('GET', '/events'),
  references: { query: { object_id: referenceKinds } },
  query: listParameters({
    event_type: text()
      .optional()
      .describe('Only events of this type, such as device.create, or of a group such as device.*.'),
    object_id: text({ max: maxReferenceTextLength })
      .optional()
      .describe('Only events about the object with this id, or with this own reference if it exists.'),
    start_time: instantParameter.optional().describe('Only events at or after this time.'),
    end_time: instantParameter.optional().describe('Only events before this time.'),
  }),
})

export const eventRetrieve = defineOperation({
  id: 'event_retrieve',
  summary: 'Retrieve an event',
  description: 'Returns one event with its data at the time of the event. Events are stored for 90 days.',
  tag: 'Events',
  ...retrieval({ name: 'Event', shape: eventShape }, example),
  routes: sameRoute('GET', '/events/{id}'),
})
