import { auditActionOf, type Operation } from '../../contract/operation.ts'
import type { PostalAddress } from '../../domain/geocoding/geo-place.ts'
import type { Seal } from '../../platform/access/seal.ts'
import type { EventDraft } from '../../platform/postgres/events/events.ts'
import type { OutboxMessage } from '../../platform/postgres/events/outbox.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import type { PricingCache } from '../../platform/pricing-cache/pricing-cache.ts'
import type { Logger } from '../../platform/telemetry/logger.ts'
import type { QueryServiceDependencies } from '../../query-service/dependencies.ts'
import type { StoredSession } from '../postgres/connect-sessions.ts'

/** Dependencies of Connect, in addition to the dependencies of all operations of this role. */
export type ConnectDependencies = QueryServiceDependencies & {
  readonly pricing: Pick<PricingCache, 'gatherNewest'>
  /** Encrypts the credentials that people enter in the apps of providers. */
  readonly credentialsSeal: Seal
  /** List the market areas of an address; empty if no market area is known for its country. */
  readonly areasOf: (address: PostalAddress) => readonly string[]
  readonly fetch: typeof fetch
  readonly logger: Pick<Logger, 'warn' | 'error'>
  /** Paths at which the flow answers. */
  readonly connectPaths: readonly string[]
}

type Effects = {
  readonly events: EventDraft[]
  readonly audit: { readonly action: string; readonly objectId: string | null; readonly detail: unknown }[]
  readonly recostRequests: (OutboxMessage | null)[]
}

/**
 * Transaction of a step, at `at` (ms). Its work adds `effects`: events and audit entries are written at its end, recost
 * requests are sent after its commit.
 */
export type ConnectTransaction = TenantTransaction & {
  readonly dependencies: ConnectDependencies
  readonly at: number
  readonly effects: Effects
}

/** Audit entry of a new session. It names the session, never its token. */
export const sessionNote = (
  operation: Operation,
  { sessionId, customerId, locationId }: Pick<StoredSession, 'sessionId' | 'customerId' | 'locationId'>,
): Effects['audit'][number] => ({
  action: auditActionOf(operation),
  objectId: sessionId,
  detail: { customer_id: customerId, location_id: locationId },
})

/** Add an event of a customer or location to the effects of a step, with its audit entry. */
export const addOwnerEvent = ({ events, audit }: Effects, event: EventDraft): void => {
  events.push(event)
  audit.push({ action: event.type, objectId: event.objectId, detail: event.data })
}

/** Begin the work of a step. */
export const connectTransaction = (
  transaction: TenantTransaction,
  dependencies: ConnectDependencies,
  at: number,
): ConnectTransaction => ({ ...transaction, dependencies, at, effects: { events: [], audit: [], recostRequests: [] } })

/** Return the events of a step. Of several updates of a location, only the last one is an event. */
export const eventsOf = ({ effects: { events } }: ConnectTransaction): readonly EventDraft[] =>
  events.filter(
    ({ type, objectId }, index) =>
      type !== 'location.update' ||
      !events.slice(index + 1).some(later => later.type === type && later.objectId === objectId),
  )
