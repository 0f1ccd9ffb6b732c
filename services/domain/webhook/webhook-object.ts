import type { OwnedObject } from '../tenant.ts'

/** Reason of a disabled endpoint: its owner disabled it, it answered 410, or all attempts failed for days. */
export type DisabledReason = 'CALLER' | 'GONE' | 'FAILING'

/** Webhook endpoint without its secrets. `failingSince`: time (ms) of the first failure without a later success. */
export type WebhookEndpoint = OwnedObject & {
  readonly url: string
  readonly eventTypes: readonly string[]
  readonly description: string | null
  readonly apiVersion: 'current' | 'earlier'
  readonly failingSince: number | null
  readonly disabledReason: DisabledReason | null
}

/** Return a URL without its query. A query of a webhook endpoint can contain a secret. */
export const maskQuery = (url: string): string => {
  const start = url.indexOf('?')
  return start < 0 ? url : `${url.slice(0, start)}?***`
}

export type DeliveryStatus = 'PENDING' | 'DELIVERED' | 'FAILED'

/**
 * Delivery of one event to one endpoint. `attempts` of the present round; times in ms; `dueAt` null after the last
 * attempt.
 */
export type WebhookDelivery = OwnedObject & {
  readonly endpointId: string
  readonly eventId: string
  readonly eventType: string
  readonly status: DeliveryStatus
  readonly attempts: number
  readonly dueAt: number | null
  readonly lastAttemptAt: number | null
}

/**
 * Attempt of a delivery. `statusCode` null if there was no response, then with `error`; `responseBody`: its first 16
 * KiB.
 */
export type WebhookAttempt = OwnedObject & {
  readonly endpointId: string
  readonly deliveryId: string
  readonly statusCode: number | null
  readonly error: string | null
  readonly durationMs: number
  readonly responseBody: string
}

/** Events of an interval that are sent again to an endpoint, page by page; times in ms, `to` exclusive. */
export type WebhookResend = OwnedObject & {
  readonly endpointId: string
  readonly from: number
  readonly to: number
  readonly includeDelivered: boolean
  readonly status: 'RUNNING' | 'DONE' | 'STOPPED'
  readonly eventsTotal: number
  readonly eventsDone: number
  readonly deliveriesQueued: number
}
