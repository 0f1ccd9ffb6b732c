import { createHash, timingSafeEqual } from 'node:crypto'
import type { Caller } from '../../contract/operation.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { BearerTokens } from './bearer-token.ts'
import {
  addToCache,
  type CachedKeyState,
  cacheKeyState,
  callerOfKey,
  queryKeyStore,
  type ReadKeyState,
  refreshIfStale,
} from './key-state.ts'

/**
 * Return the caller of a bearer token at `at` (ms).
 * Refuses with `bad_credentials`, `token_expired` or `account_disabled`.
 */
export type Authenticate = (token: string, at: number) => Promise<Result<Caller>>

type CachedToken = CachedKeyState & { readonly expiresAt: number; readonly accessGeneration: number }

const revoked = refused(
  'bad_credentials',
  'Send Authorization: Bearer with an API key, or with the bearer_token of /login.',
)
const expired = refused('token_expired', 'The bearer token has expired: log in again with GET /login.')

/**
 * Create the check of bearer tokens. The signature of a token is verified once.
 * The state of its key is read every 30 s.
 * Tokens of a revoked key, or from before its account was disabled, are therefore refused within 60 s in each process.
 * The key store is unavailable if it fails or takes over 5 s.
 * Cached tokens then stay valid until they expire. Other tokens throw `Failure`.
 * Source: docs/rules/authentication.md #revocation.
 */
export const authenticator = (tokens: BearerTokens, readKeyState: ReadKeyState): Authenticate => {
  const cache = new Map<string, CachedToken>()

  const verify = async (token: string, at: number): Promise<Result<CachedToken>> => {
    const claims = await tokens.verify(token, at)
    if (!claims.ok) return claims
    const { expiresAt, accessGeneration, ...subject } = claims.value
    const state = await queryKeyStore(() => readKeyState(subject))
    const entry = { ...cacheKeyState(subject, state, at), expiresAt, accessGeneration }
    addToCache(cache, token, entry)
    return accepted(entry)
  }

  return async (token, at) => {
    let entry = cache.get(token)
    if (entry === undefined) {
      const verified = await verify(token, at)
      if (!verified.ok) return verified
      entry = verified.value
    } else await refreshIfStale(entry, readKeyState, at)
    if (at >= entry.expiresAt) return expired
    if (entry.state === null) return revoked
    const caller = callerOfKey(entry.subject, entry.state)
    return caller.ok && (caller.value.accessGeneration ?? 0) !== entry.accessGeneration ? revoked : caller
  }
}

const operator: Caller = {
  accountId: '',
  liveMode: true,
  keyId: 'operator',
  scope: 'operator',
  defaultApiVersion: 'current',
}

/**
 * Create the check of the operator key. The comparison takes constant time.
 * Source: docs/rules/authentication.md #operator-key.
 */
export const operatorAuthenticator = (operatorKey: string): ((key: string) => Caller | null) => {
  const digestOf = (key: string): Buffer => createHash('sha256').update(key).digest()
  const expectedDigest = digestOf(operatorKey)
  return key => (timingSafeEqual(digestOf(key), expectedDigest) ? operator : null)
}
