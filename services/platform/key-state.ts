import type { Caller } from '../contract/operation.ts'
import { accepted, type Result, refused } from '../domain/refusal.ts'
import type { TokenSubject } from './bearer-token.ts'
import { isFailure } from './failure.ts'
import { answerWithin, isDoneWithin } from './patience.ts'

/** What a key that is not revoked may do, read from the store of keys. `disabled`: its account is. */
export type KeyState = Pick<Caller, 'scope' | 'defaultLayout' | 'requestsPerSecond'> & { readonly disabled: boolean }

/** Read a key's state; null if it was revoked or never existed. Throws `Failure` while the store is away. */
export type ReadKeyState = (subject: TokenSubject) => Promise<KeyState | null>

/** A cached key state. `readAt` is the instant of the last read in ms; `refreshing` resolves when requests wait no longer for the next one. */
export type CachedKeyState = {
  readonly subject: TokenSubject
  state: KeyState | null
  readAt: number
  readAgainAt: number
  refreshing: Promise<unknown> | null
}

/** How long a cached state is used; with `answerMs` for the next read it stays well below the 60 s in which a revocation must hold. */
const keyStateMs = 30_000
/** A store that has not answered by then is away. */
const answerMs = 5_000
/** How long requests wait for the next read before they use the cached state. */
const patienceMs = 1_000
const pauseAfterFailureMs = 1_000
const maxCached = 20_000

/** Ask the store of keys. Rejects with `store_silent` (retriable) if it has not answered after 5 s. */
export const askKeyStore = <T>(ask: () => Promise<T>): Promise<T> => answerWithin(answerMs, ask)

/** Cache a state that was read at `at` (ms). */
export const cacheKeyState = (subject: TokenSubject, state: KeyState | null, at: number): CachedKeyState => ({
  subject,
  state,
  readAt: at,
  readAgainAt: at + keyStateMs,
  refreshing: null,
})

/** Add an entry to a cache of at most 20,000; the oldest one makes place. */
export const remember = <T>(cache: Map<string, T>, name: string, entry: T): void => {
  if (cache.size >= maxCached) {
    for (const oldest of cache.keys()) {
      cache.delete(oldest)
      break
    }
  }
  cache.set(name, entry)
}

/**
 * Read a cached state again if it is older than 30 s. No request waits for the store longer than a second; a store that failed is asked
 * again a second later, and the cached state stays as it is.
 */
export const freshen = async (entry: CachedKeyState, readKeyState: ReadKeyState, at: number): Promise<void> => {
  if (at < entry.readAgainAt) return
  entry.refreshing ??= isDoneWithin(patienceMs, refresh(entry, readKeyState, at))
  await entry.refreshing
}

const refresh = async (entry: CachedKeyState, readKeyState: ReadKeyState, at: number): Promise<void> => {
  const begun = performance.now()
  try {
    entry.state = await askKeyStore(() => readKeyState(entry.subject))
    entry.readAt = at
    entry.readAgainAt = at + keyStateMs
  } catch (error) {
    if (!isFailure(error) || !error.retriable) throw error
    entry.readAgainAt = at + (performance.now() - begun) + pauseAfterFailureMs
  } finally {
    entry.refreshing = null
  }
}

const disabled = refused('account_disabled', 'This account is disabled: ask the operator to enable it.')

/** Name the caller of a key, or refuse with `account_disabled`. */
export const callerOfKey = ({ accountId, liveMode, keyId }: TokenSubject, state: KeyState): Result<Caller> => {
  if (state.disabled) return disabled
  const { scope, defaultLayout, requestsPerSecond = null } = state
  return accepted({ accountId, liveMode, keyId, scope, defaultLayout, requestsPerSecond })
}
