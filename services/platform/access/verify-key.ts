import type { Caller } from '../../contract/operation.ts'
import { type Refused, type Result, refused } from '../../domain/refusal.ts'
import { Failure } from '../failure.ts'
import { apiKeyMode, secretHashes } from '../ids/new-id.ts'
import type { TokenSubject } from './bearer-token.ts'
import {
  addToCache,
  type CachedKeyState,
  cacheKeyState,
  callerOfKey,
  type KeyState,
  queryKeyStore,
  type ReadKeyState,
  refreshIfStale,
} from './key-state.ts'
import type { Secret } from './secrets.ts'

/** API key of a request. `accountId` is null if the request has none. */
export type SentKey = { readonly accountId: string | null; readonly apiKey: string }

/** Use of a key. A login always queries the store. Without the store, metering accepts cached keys longest. */
export type KeyUse = 'login' | 'metering' | 'other'

/** Refusal of a key. `known` is a key of the store that was revoked, or that belongs to another account. */
type KeyRefusal = Refused & {
  readonly known?: TokenSubject & { readonly reason: 'revoked_key' | 'wrong_account' }
}

/**
 * Return the caller of an API key at `at` (ms). Refuses with `bad_credentials` or `account_disabled`.
 * Throws `Failure` without the store.
 */
export type VerifyKey = (
  sent: SentKey,
  request: { readonly at: number; readonly use: KeyUse },
) => Promise<Exclude<Result<Caller>, Refused> | KeyRefusal>

/** A key of the key store. The state is null if the key was revoked. */
export type FoundKey = { readonly subject: TokenSubject; readonly state: KeyState | null }

/** The key store. */
export type KeyStore = {
  /** Find keys by their hashes. The result omits unknown keys. */
  readonly find: (hashes: readonly string[]) => Promise<ReadonlyMap<string, FoundKey>>
  readonly readState: ReadKeyState
  /** Replace the hash of a former secret by the first of these hashes. */
  readonly rehash: (hashes: readonly [string, ...string[]]) => Promise<void>
}

/** Validity of a cached key in ms while the store is unavailable: for metering, and for other uses. */
const unavailableGraceMs = { metering: 3_600_000, other: 60_000 } as const

/** Max hashes of a query, and max concurrent queries. They limit the load of many wrong keys on the store. */
const maxHashes = 500
const maxQueries = 2

/**
 * Refusal of a wrong key. It has one text for all reasons, so that a caller cannot learn which accounts and keys exist.
 * Source: docs/rules/authentication.md #wrong-keys.
 */
export const wrongKey = refused('bad_credentials', 'The account id or the API key is wrong.')

const keyStoreUnavailable = (): Failure =>
  new Failure('store_silent', 'The key store does not answer.', { retriable: true })

/**
 * Create the check of API keys. A key with a wrong checksum needs no query. Concurrent look-ups share queries.
 * A verified key is cached. Its state is read every 30 s, so that a revocation takes effect within 60 s.
 * Without the store, a cached key is valid for 60 s after its last read, and for an hour in metering.
 * Source: docs/rules/authentication.md #revocation, #wrong-keys.
 */
export const keyVerifier = (secret: Secret, store: KeyStore): VerifyKey => {
  const cache = new Map<string, CachedKeyState>()
  const find = groupLookUps(store.find)

  const lookUp = async (hashes: readonly [string, ...string[]], at: number): Promise<CachedKeyState | null> => {
    const found = await queryKeyStore(() => Promise.all(hashes.map(find)))
    const key = found.find(one => one !== null)
    if (key === undefined || key === null) return null
    if (found[0] === null && key.state !== null) await queryKeyStore(() => store.rehash(hashes))
    const entry = cacheKeyState(key.subject, key.state, at)
    if (key.state !== null) addToCache(cache, hashes[0], entry)
    return entry
  }

  return async ({ accountId, apiKey }, { at, use }) => {
    if (apiKeyMode(apiKey) === null) return wrongKey
    const hashes = secretHashes(secret, apiKey)
    if (use === 'login') cache.delete(hashes[0])
    const known = cache.get(hashes[0])
    if (known !== undefined) await refreshIfStale(known, store.readState, at)
    const entry = known ?? (await lookUp(hashes, at))
    if (entry === null) return wrongKey
    if (entry.state === null) {
      cache.delete(hashes[0])
      return { ...wrongKey, known: { ...entry.subject, reason: 'revoked_key' } }
    }
    if (accountId !== null && accountId !== entry.subject.accountId)
      return { ...wrongKey, known: { ...entry.subject, reason: 'wrong_account' } }
    if (at - entry.readAt >= (use === 'metering' ? unavailableGraceMs.metering : unavailableGraceMs.other))
      throw keyStoreUnavailable()
    return callerOfKey(entry.subject, entry.state)
  }
}

type WaitingLookUp = {
  readonly hash: string
  readonly resolve: (found: FoundKey | null) => void
  readonly reject: (error: unknown) => void
}

/** Combine look-ups that arrive during a query into the next query. */
const groupLookUps = (findKeys: KeyStore['find']): ((hash: string) => Promise<FoundKey | null>) => {
  const waiting: WaitingLookUp[] = []
  let queries = 0
  const run = async (group: readonly WaitingLookUp[]): Promise<void> => {
    try {
      const found = await findKeys([...new Set(group.map(({ hash }) => hash))])
      for (const { hash, resolve } of group) resolve(found.get(hash) ?? null)
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }
  const next = (): void => {
    if (waiting.length === 0 || queries >= maxQueries) return
    queries += 1
    void run(waiting.splice(0, maxHashes)).finally(() => {
      queries -= 1
      next()
    })
  }
  return hash =>
    new Promise((resolve, reject) => {
      waiting.push({ hash, resolve, reject })
      // Look-ups of the same turn of the event loop, such as those for former secrets, share the first query.
      queueMicrotask(next)
    })
}
