import { accepted, type Result } from '../../domain/refusal.ts'
import type { Seal } from '../../platform/access/seal.ts'
import type { PostalAddress } from '../../platform/geocoding/geo-place.ts'
import type { EventDraft } from '../../platform/postgres/events/events.ts'
import type { OutboxMessage } from '../../platform/postgres/events/outbox.ts'
import type { PricingCache } from '../../platform/pricing-cache/pricing-cache.ts'
import type { Logger } from '../../platform/telemetry/logger.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'

/** What Connect is made from, beside what all operations of this role are. */
export type ConnectDependencies = QueryServiceDependencies & {
  readonly pricing: Pick<PricingCache, 'gatherNewest'>
  /** Seals what people give the apps of providers. */
  readonly credentialsSeal: Seal
  /** The market areas that fit an address that can be placed; none where no market is mapped. */
  readonly areasOf: (address: PostalAddress) => readonly string[]
  readonly fetch: typeof fetch
  readonly logger: Pick<Logger, 'warn' | 'error'>
  /** Where the flow is mounted. */
  readonly connectPaths: readonly string[]
}

/** What a step has done besides moving the session: written with it, or owed after it. */
export type Effects = {
  readonly events: readonly EventDraft[]
  readonly audit: readonly { readonly action: string; readonly objectId: string | null; readonly detail: unknown }[]
  readonly recostRequests: readonly (OutboxMessage | null)[]
}

export const noEffects: Effects = { events: [], audit: [], recostRequests: [] }

/** A location that changes twice in one step has changed once: its last state is told. */
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

/** What a part of a step gives on, and what it has done. */
export type WithEffects<T> = { readonly value: T; readonly effects: Effects }

export const withEffects = <T>(value: T, effects: Effects = noEffects): Result<WithEffects<T>> =>
  accepted({ value, effects })
