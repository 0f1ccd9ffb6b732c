import type { Caller } from '../../contract/operation.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { isDoneWithin, withTimeout } from '../concurrency/timeout.ts'
import { isFailure } from '../failure.ts'
import type { TokenSubject } from './bearer-token.ts'

/** What a key that is not revoked may do, read from the store of keys. `disabled`: its account is. */
export type KeyState = Pick<Caller, 'scope' | 'defaultApiVersion' | 'requestsPerSecond'> & {
  readonly isDisabled: boolean
}

/** Read a key's state; null if it was revoked or never existed. Throws `Failure` while the store is away. */
export type ReadKeyState = (subject: TokenSubject) => Promise<KeyState | null>

/**
 * A cached key state.
 * `readAt` is the instant of the last read in ms; `refreshing` resolves when requests wait no longer for the next one.
 */
export type CachedKeyState = {
  readonly subject: TokenSubject
  state: KeyState | null
  readAt: number
  refreshAt: number
  refreshing: Promise<unknown> | null
}

/**
 * How long a cached state is used; with `answerMs` for the next read it stays well below the 60 s in which a revocation
 * must hold.
 */
const cacheLifetimeMs = 30_000
/** A store that has not answered by then is away. */
const storeTimeoutMs = 5_000
/** How long requests wait for the next read before they use the cached state. */
const refreshWaitMs = 1_000
const retryDelayMs = 1_000
const maxEntries = 20_000

/** Ask the store of keys. Rejects with `store_silent` (retriable) if it has not answered after 5 s. */
export const queryKeyStore = <T>(query: () => Promise<T>): Promise<T> => withTimeout(storeTimeoutMs, query)

/** Cache a state that was read at `at` (ms). */
export const cacheKeyState = (subject: TokenSubject, state: KeyState | null, at: number): CachedKeyState => ({
  subject,
  state,
  readAt: at,
  refreshAt: at + cacheLifetimeMs,
  refreshing: null,
})

/** Add an entry to a cache of at most 20,000; the oldest one makes place. */
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
 * Read a cached state again if it is older than 30 s.
 * No request waits for the store longer than a second; a store that failed is asked
 * again a second later, and the cached state stays as it is.
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

/** Name the caller of a key, or refuse with `account_disabled`. */
export const callerOfKey = ({ accountId, liveMode, keyId }: TokenSubject, state: KeyState): Result<Caller> => {
  if (state.isDisabled) return disabled
  const { scope, defaultApiVersion, requestsPerSecond = null } = state
  return accepted({ accountId, liveMode, keyId, scope, defaultApiVersion, requestsPerSecond })
}
