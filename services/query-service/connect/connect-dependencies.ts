import type { PostalAddress } from '../../domain/geocoding/geo-place.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import type { Seal } from '../../platform/access/seal.ts'
import type { EventDraft } from '../../platform/postgres/events/events.ts'
import type { OutboxMessage } from '../../platform/postgres/events/outbox.ts'
import type { PricingCache } from '../../platform/pricing-cache/pricing-cache.ts'
import type { Logger } from '../../platform/telemetry/logger.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'

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

/**
 * Effects of a step. The events and audit entries are written in its transaction, the recost requests are sent after
 * it.
 */
export type Effects = {
  readonly events: readonly EventDraft[]
  readonly audit: readonly { readonly action: string; readonly objectId: string | null; readonly detail: unknown }[]
  readonly recostRequests: readonly (OutboxMessage | null)[]
}

export const noEffects: Effects = { events: [], audit: [], recostRequests: [] }

/** Keep only the last of several updates of a location in one step. */
const withoutRepeatedUpdates = (events: readonly EventDraft[]): readonly EventDraft[] =>
  events.filter(
    ({ type, objectId }, index) =>
      type !== 'location.update' ||
      !events.slice(index + 1).some(later => later.type === type && later.objectId === objectId),
  )

export const mergeEffects = (a: Effects, b: Effects): Effects => ({
  events: withoutRepeatedUpdates([...a.events, ...b.events]),
  audit: [...a.audit, ...b.audit],
  recostRequests: [...a.recostRequests, ...b.recostRequests],
})

/** Value of a part of a step, with its effects. */
export type WithEffects<T> = { readonly value: T; readonly effects: Effects }

export const withEffects = <T>(value: T, effects: Effects = noEffects): Result<WithEffects<T>> =>
  accepted({ value, effects })
