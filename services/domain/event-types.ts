import type { OwnedObject } from './tenant.ts'

/** Stored event. `data` is JSON text, with the names of the current API version; `createdAt` in ms. */
export type StoredEvent = OwnedObject & {
  readonly type: string
  readonly objectId: string | null
  readonly data: string
}

/**
 * Every type of event that the service sends, grouped by resource, in the order of the reference page.
 * The list is closed: no other type can be sent.
 * Source: docs/rules/events-and-webhooks.md #event-types.
 */
export const eventTypes = [
  'customer.create',
  'customer.create.failed',
  'customer.update',
  'customer.update.failed',
  'customer.delete',
  'customer.delete.failed',
  'location.create',
  'location.create.failed',
  'location.update',
  'location.update.failed',
  'location.delete',
  'location.delete.failed',
  'device.create',
  'device.create.failed',
  'device.update',
  'device.update.failed',
  'device.delete',
  'device.delete.failed',
  'charge.create',
  'charge.update',
  'charge.delete',
  'calendar.create',
  'calendar.update',
  'calendar.delete',
  'plan.create',
  'plan.update',
  'plan.delete',
  'price.update',
  'schedule.created',
  'statement.finalised',
  'statement.voided',
  'tariff.expiring',
  'tariff.expired',
  'tariff.fetch.failed',
  'connect_session.complete',
] as const

/** Type of an event, such as `customer.create`. */
export type EventType = (typeof eventTypes)[number]

/** Type of the event that tests one webhook endpoint. Only this endpoint receives the event, for any filters. */
export const testEventType = 'webhook_endpoint.test'

/** Check if a filter matches an event type. `customer.*` matches `customer.create` and `customer.create.failed`. */
const matchesFilter = (filter: string, type: string): boolean =>
  filter === '*' || filter === type || (filter.endsWith('.*') && type.startsWith(filter.slice(0, -1)))

/** Check if at least one filter matches an event type. A filter is `*`, a group such as `customer.*`, or one type. */
export const matchesAnyFilter = (filters: readonly string[], type: string): boolean =>
  filters.some(filter => matchesFilter(filter, type))

/** List the event types that a filter matches, in the order of `eventTypes`; empty for an unknown filter. */
export const typesOfFilter = (filter: string): readonly EventType[] =>
  eventTypes.filter(type => matchesFilter(filter, type))

/** List the groups of event types, such as `customer.*` and `customer.create.*`, each once. */
const eventGroups = (): readonly string[] => {
  const groups = eventTypes.flatMap(type => {
    const names = type.split('.')
    return names.slice(1).map((_, index) => `${names.slice(0, index + 1).join('.')}.*`)
  })
  return [...new Set(groups)]
}

/** Every filter that matches at least one event type: `*`, the groups, the types. */
export const eventFilters: readonly string[] = ['*', ...eventGroups(), ...eventTypes]
