import {
  type FindReferences,
  type OwnReference,
  type ReferenceIds,
  type ReferenceKind,
  referenceKinds,
} from '../domain/reference.ts'
import { type Tenant, tenantKey } from '../domain/tenant.ts'
import { withTimeout } from '../platform/concurrency/timeout.ts'
import { isFailure } from '../platform/failure.ts'

/** Cache of own references and their ids. */
export type KnownReferences = {
  /**
   * Find the objects of references. References that are not cached are read in one statement. Throws `Failure` if the
   * store is unavailable.
   */
  readonly find: FindReferences
  /** Drop the references of a tenant. Call it after each change of a reference. */
  readonly forget: (tenant: Tenant) => void
}

/** Id of a reference, and the time of the search, on the clock `elapsed`. */
type FoundReference = { readonly id: string; readonly foundAt: number }

/**
 * References of one tenant. `forget` replaces the object, so that an earlier search does not write into the new one.
 */
type ReferenceCache = Readonly<Record<ReferenceKind, Map<string, FoundReference>>>

/**
 * Time in which an id is used without a search. The process that makes a change sees it at once, other processes after
 * this time.
 */
const validityMs = 5_000
/** Time in which an id is used while PostgreSQL is unavailable. */
const maxStaleMs = 3_600_000
const timeoutMs = 5_000
/** Timeout of a search for references that are cached. */
const refreshTimeoutMs = 1_000
/** After a failed search, the store is not asked about cached references for this time. */
const retryDelayMs = 1_000

type CacheState = {
  readonly search: FindReferences
  readonly elapsed: () => number
  readonly maxReferences: number
  readonly caches: Map<string, ReferenceCache>
  /** Number of references in all caches. */
  count: number
  /** Until this time, the store is not asked about cached references. */
  quietUntil: number
}

const sizeOf = (cache: ReferenceCache): number => cache.location.size + cache.device.size + cache.customer.size

const drop = (state: CacheState, key: string): void => {
  const cache = state.caches.get(key)
  if (cache !== undefined) state.count -= sizeOf(cache)
  state.caches.delete(key)
}

const cacheOf = ({ caches }: CacheState, key: string): ReferenceCache => {
  const cache = caches.get(key) ?? { location: new Map(), device: new Map(), customer: new Map() }
  caches.set(key, cache)
  return cache
}

/** Store the result of a search, unless the cache was replaced meanwhile. */
const remember = (
  state: CacheState,
  tenant: Tenant,
  cache: ReferenceCache,
  missing: readonly OwnReference[],
  found: ReferenceIds,
  foundAt: number,
): void => {
  if (state.caches.get(tenantKey(tenant)) !== cache) return
  const before = sizeOf(cache)
  for (const { kinds, reference } of missing) {
    for (const kind of kinds) {
      const id = found[kind].get(reference)
      if (id === undefined) cache[kind].delete(reference)
      else cache[kind].set(reference, { id, foundAt })
    }
  }
  state.count += sizeOf(cache) - before
  for (const oldest of state.caches.keys()) {
    if (state.count <= state.maxReferences) return
    drop(state, oldest)
  }
}

const searchAndRemember = async (
  state: CacheState,
  tenant: Tenant,
  cache: ReferenceCache,
  missing: readonly OwnReference[],
  searchTimeoutMs: number,
): Promise<ReferenceIds> => {
  const foundAt = state.elapsed()
  try {
    const found = await withTimeout(searchTimeoutMs, () => state.search(tenant, missing))
    state.quietUntil = Number.NEGATIVE_INFINITY
    remember(state, tenant, cache, missing, found, foundAt)
    return found
  } catch (error) {
    if (isFailure(error) && error.retriable) state.quietUntil = state.elapsed() + retryDelayMs
    throw error
  }
}

/** Copy cached ids into `found`. Return the references that were not found at `since` or later. */
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

const find = async (state: CacheState, tenant: Tenant, wanted: readonly OwnReference[]): Promise<ReferenceIds> => {
  const cache = cacheOf(state, tenantKey(tenant))
  const now = state.elapsed()
  const found = emptyReferences()
  const missing = recall(cache, wanted, now - validityMs, found)
  if (missing.length === 0) return found
  const stale = emptyReferences()
  const hasAllStale = recall(cache, missing, now - maxStaleMs, stale).length === 0
  if (hasAllStale && now < state.quietUntil) return mergeReferences(found, stale)
  try {
    const searchTimeoutMs = hasAllStale ? refreshTimeoutMs : timeoutMs
    return mergeReferences(found, await searchAndRemember(state, tenant, cache, missing, searchTimeoutMs))
  } catch (error) {
    if (!hasAllStale || !isFailure(error) || !error.retriable) throw error
    return mergeReferences(found, stale)
  }
}

/**
 * Create the cache of own references. Unknown references are searched each time, so a new object can be used at once.
 * While the store is unavailable, references found in the last hour stay valid. Above `maxReferences`, the oldest
 * tenants are dropped.
 */
export const knownReferences = (
  search: FindReferences,
  {
    maxReferences = 200_000,
    elapsed = () => performance.now(),
  }: { readonly maxReferences?: number; readonly elapsed?: () => number } = {},
): KnownReferences => {
  const state: CacheState = {
    search,
    elapsed,
    maxReferences,
    caches: new Map(),
    count: 0,
    quietUntil: Number.NEGATIVE_INFINITY,
  }
  return {
    find: (tenant, wanted) => find(state, tenant, wanted),
    forget: tenant => drop(state, tenantKey(tenant)),
  }
}

type ReferenceMaps = Readonly<Record<ReferenceKind, Map<string, string>>>

const emptyReferences = (): ReferenceMaps => ({ location: new Map(), device: new Map(), customer: new Map() })

const mergeReferences = (into: ReferenceMaps, more: ReferenceIds): ReferenceIds => {
  for (const kind of referenceKinds) for (const [reference, id] of more[kind]) into[kind].set(reference, id)
  return into
}
