import {
  type FindReferences,
  type OwnReference,
  type ReferenceIds,
  type ReferenceKind,
  referenceKinds,
} from '../domain/reference.ts'
import { withTimeout } from '../platform/concurrency/timeout.ts'
import { isFailure } from '../platform/failure.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'

/** Own references of records, with the ids found for them. */
export type KnownReferences = {
  /** Find the objects that references name, from memory if it can; asks for the rest in one statement. Throws `Failure` if it cannot. */
  readonly find: FindReferences
  /** Forget the references of a tenant: call after a change of them. */
  readonly forget: (tenant: Tenant) => void
}

/** What was found for a reference, and when, on the clock of `elapsed`. */
type FoundReference = { readonly id: string; readonly foundAt: number }

/** The references of one tenant. A change of them makes another book, so that a search of before writes into none that is read. */
type ReferenceCache = Readonly<Record<ReferenceKind, Map<string, FoundReference>>>

/** How long an id is used without asking again. In the process that makes a change it counts at once, in others after this time. */
const validityMs = 5_000
/** How long an id is used while PostgreSQL is away. */
const maxStaleMs = 3_600_000
/** A store that has not answered by then is away. */
const timeoutMs = 5_000
/** How long a request waits to learn again of references that were found before. */
const refreshTimeoutMs = 1_000
/** After a failed search the store is left alone for a while. */
const retryDelayMs = 1_000

/**
 * Make the memory of own references. What was not found is asked for each time, so a new object may be used at once. While the store is
 * away, references found in the last hour go on. Above `most` references the memory begins again.
 */
export const knownReferences = (
  find: FindReferences,
  {
    maxReferences = 200_000,
    elapsed = () => performance.now(),
  }: { readonly maxReferences?: number; readonly elapsed?: () => number } = {},
): KnownReferences => {
  const caches = new Map<string, ReferenceCache>()
  let count = 0
  /** Until when the store is not asked about references that were found before. */
  let quietUntil = Number.NEGATIVE_INFINITY

  const tenantKey = ({ accountId, liveMode }: Tenant): string => `${accountId}/${liveMode}`

  const sizeOf = (cache: ReferenceCache): number => cache.location.size + cache.device.size + cache.customer.size

  const drop = (tenantName: string): void => {
    const cache = caches.get(tenantName)
    if (cache !== undefined) count -= sizeOf(cache)
    caches.delete(tenantName)
  }

  const cacheOf = (tenantName: string): ReferenceCache => {
    const cache = caches.get(tenantName) ?? { location: new Map(), device: new Map(), customer: new Map() }
    caches.set(tenantName, cache)
    return cache
  }

  const remember = (
    tenantName: string,
    cache: ReferenceCache,
    missing: readonly OwnReference[],
    found: ReferenceIds,
    foundAt: number,
  ): void => {
    if (caches.get(tenantName) !== cache) return
    const before = sizeOf(cache)
    for (const { kinds, reference } of missing) {
      for (const kind of kinds) {
        const id = found[kind].get(reference)
        if (id === undefined) cache[kind].delete(reference)
        else cache[kind].set(reference, { id, foundAt })
      }
    }
    count += sizeOf(cache) - before
    for (const oldest of caches.keys()) {
      if (count <= maxReferences) return
      drop(oldest)
    }
  }

  const search = async (
    tenant: Tenant,
    cache: ReferenceCache,
    missing: readonly OwnReference[],
    searchTimeoutMs: number,
  ): Promise<ReferenceIds> => {
    const foundAt = elapsed()
    try {
      const found = await withTimeout(searchTimeoutMs, () => find(tenant, missing))
      quietUntil = Number.NEGATIVE_INFINITY
      remember(tenantKey(tenant), cache, missing, found, foundAt)
      return found
    } catch (error) {
      if (isFailure(error) && error.retriable) quietUntil = elapsed() + retryDelayMs
      throw error
    }
  }

  /** Take what is in memory of some references into `found`; gives those that were not found at `since` or later. */
  const recall = (
    cache: ReferenceCache,
    wanted: readonly OwnReference[],
    since: number,
    found: ReferenceMaps,
  ): readonly OwnReference[] =>
    wanted.filter(({ kinds, reference }) => {
      for (const kind of kinds) {
        const known = cache[kind].get(reference)
        if (known === undefined || known.foundAt < since) return true
        found[kind].set(reference, known.id)
      }
      return false
    })

  return {
    find: async (tenant, wanted) => {
      const cache = cacheOf(tenantKey(tenant))
      const now = elapsed()
      const found = emptyReferences()
      const missing = recall(cache, wanted, now - validityMs, found)
      if (missing.length === 0) return found
      const stale = emptyReferences()
      const hasAllStale = recall(cache, missing, now - maxStaleMs, stale).length === 0
      if (hasAllStale && now < quietUntil) return mergeReferences(found, stale)
      try {
        return mergeReferences(found, await search(tenant, cache, missing, hasAllStale ? refreshTimeoutMs : timeoutMs))
      } catch (error) {
        if (!hasAllStale || !isFailure(error) || !error.retriable) throw error
        return mergeReferences(found, stale)
      }
    },
    forget: tenant => drop(tenantKey(tenant)),
  }
}

type ReferenceMaps = Readonly<Record<ReferenceKind, Map<string, string>>>

const emptyReferences = (): ReferenceMaps => ({ location: new Map(), device: new Map(), customer: new Map() })

const mergeReferences = (into: ReferenceMaps, more: ReferenceIds): ReferenceIds => {
  for (const kind of referenceKinds) for (const [reference, id] of more[kind]) into[kind].set(reference, id)
  return into
}
