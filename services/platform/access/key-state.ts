import type { Caller } from '../../contract/operation.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { isDoneWithin, withTimeout } from '../concurrency/timeout.ts'
import { isFailure } from '../failure.ts'
import type { TokenSubject } from './bearer-token.ts'

/**
 * Rights of an active key from the key store. `isDisabled`: its account is disabled. Tokens of another access generation
 * have ended.
 */
export type KeyState = Pick<Caller, 'scope' | 'defaultApiVersion' | 'requestsPerSecond' | 'accessGeneration'> & {
  readonly isDisabled: boolean
}

/** Read the state of a key. Null if the key is revoked or unknown. Throws `Failure` if the store is unavailable. */
export type ReadKeyState = (subject: TokenSubject) => Promise<KeyState | null>

/**
 * A cached key state. `readAt` is the instant of the last read in ms.
 * `refreshing` resolves after the next read or its time limit.
 */
export type CachedKeyState = {
  readonly subject: TokenSubject
  state: KeyState | null
  readAt: number
  refreshAt: number
  refreshing: Promise<unknown> | null
}

/**
 * Validity of a cached state in ms.
 * With `storeTimeoutMs` it stays below the 60 s in which a revocation must take effect.
 */
const cacheLifetimeMs = 30_000
/** Time limit of the key store in ms. */
const storeTimeoutMs = 5_000
/** Max time in ms that a request waits for a refresh before it uses the cached state. */
const refreshWaitMs = 1_000
const retryDelayMs = 1_000
const maxEntries = 20_000

/** Query the key store. Rejects with `store_silent` (retriable) if it has not answered after 5 s. */
export const queryKeyStore = <T>(query: () => Promise<T>): Promise<T> => withTimeout(storeTimeoutMs, query)

/** Create the cache entry of a state that was read at `at` (ms). */
export const cacheKeyState = (subject: TokenSubject, state: KeyState | null, at: number): CachedKeyState => ({
  subject,
  state,
  readAt: at,
  refreshAt: at + cacheLifetimeMs,
  refreshing: null,
})

/** Add an entry to a cache of at most 20,000 entries. A full cache removes its oldest entry. */
export const addToCache = <T>(cache: Map<string, T>, name: string, entry: T): void => {
  if (cache.size >= maxEntries) {
    for (const oldest of cache.keys()) {
      cache.delete(oldest)
      break
    }
  }
  cache.set(name, entry)
}

/**
 * Refresh a cached state that is older than 30 s. A request waits at most a second for the store.
 * After a failure the cached state stays, and the next read is a second later.
 */
export const refreshIfStale = async (entry: CachedKeyState, readKeyState: ReadKeyState, at: number): Promise<void> => {
  if (at < entry.refreshAt) return
  entry.refreshing ??= isDoneWithin(refreshWaitMs, refresh(entry, readKeyState, at))
  await entry.refreshing
}

const refresh = async (entry: CachedKeyState, readKeyState: ReadKeyState, at: number): Promise<void> => {
  const startedAt = performance.now()
  try {
    entry.state = await queryKeyStore(() => readKeyState(entry.subject))
    entry.readAt = at
    entry.refreshAt = at + cacheLifetimeMs
  } catch (error) {
    if (!isFailure(error) || !error.retriable) throw error
    entry.refreshAt = at + (performance.now() - startedAt) + retryDelayMs
  } finally {
    entry.refreshing = null
  }
}

const disabled = refused('account_disabled', 'This account is disabled: ask the operator to enable it.')

/** Return the caller of a key, or refuse with `account_disabled`. */
export const callerOfKey = ({ accountId, liveMode, keyId }: TokenSubject, state: KeyState): Result<Caller> => {
  if (state.isDisabled) return disabled
  const { scope, defaultApiVersion, requestsPerSecond = null, accessGeneration = 0 } = state
  return accepted({ accountId, liveMode, keyId, scope, defaultApiVersion, requestsPerSecond, accessGeneration })
}
