import type { Caller } from '../../contract/operation.ts'
import { type Result, refused } from '../../domain/refusal.ts'
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

/** An API key as a request sends it; `accountId` is null if the request names no account. */
export type SentKey = { readonly accountId: string | null; readonly apiKey: string }

/** What a key is sent for. A login asks the store each time; metering goes on longest while the store is away. */
export type KeyUse = 'login' | 'metering' | 'other'

/**
 * Find the caller of an API key at `at` (ms).
 * Refuses with `bad_credentials` or `account_disabled`; throws `Failure` while the store is away.
 */
export type VerifyKey = (
  sent: SentKey,
  request: { readonly at: number; readonly use: KeyUse },
) => Promise<Result<Caller>>

/** A key in the store of keys, not revoked. */
export type FoundKey = { readonly subject: TokenSubject; readonly state: KeyState }

/** The store of keys. */
export type KeyStore = {
  /** Find keys by their hashes; unknown and revoked ones are left out. */
  readonly find: (hashes: readonly string[]) => Promise<ReadonlyMap<string, FoundKey>>
  readonly readState: ReadKeyState
  /** Store a key that was found by the hash of a former secret under the first of these hashes. */
  readonly rehash: (hashes: readonly [string, ...string[]]) => Promise<void>
}

/** How long a verified key stays valid while the store is away, in ms: for metering, and for everything else. */
const unavailableGraceMs = { metering: 3_600_000, other: 60_000 } as const

/** Hashes of one query, and queries at the same time: a flood of wrong keys takes no more of the store than this. */
const maxHashes = 500
const maxQueries = 2

/**
 * The same words for every wrong key, so that a caller does not learn which accounts and keys exist.
 * Source: docs/rules/authentication.md #wrong-keys.
 */
export const wrongKey = refused('bad_credentials', 'The account id or the API key is wrong.')

const keyStoreUnavailable = (): Failure =>
  new Failure('store_silent', 'The store of keys does not answer.', { retriable: true })

/**
 * Make the check of API keys. A key with a wrong checksum costs no query, and concurrent look-ups share queries.
 * A verified key is cached and
 * its state is read again every 30 s, so that a revocation holds within 60 s; while the store is away a key goes on for
 * 60 s after
 * its last read, for metering for an hour. Source: docs/rules/authentication.md #revocation, #wrong-keys.
 */
export const keyVerifier = (secret: Secret, store: KeyStore): VerifyKey => {
  const cache = new Map<string, CachedKeyState>()
  const find = groupLookUps(store.find)

  const lookUp = async (hashes: readonly [string, ...string[]], at: number): Promise<CachedKeyState | null> => {
    const found = await queryKeyStore(() => Promise.all(hashes.map(find)))
    const key = found.find(one => one !== null)
    if (key === undefined || key === null) return null
    if (found[0] === null) await queryKeyStore(() => store.rehash(hashes))
    const entry = cacheKeyState(key.subject, key.state, at)
    addToCache(cache, hashes[0], entry)
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
      return wrongKey
    }
    if (accountId !== null && accountId !== entry.subject.accountId) return wrongKey
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

/** Give look-ups that arrive while queries are under way to one query together. */
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
      // Look-ups of the same turn of the event loop, such as those of former secrets, share the first query too.
      queueMicrotask(next)
    })
}
