import { createHash, timingSafeEqual } from 'node:crypto'
import type { Caller } from '../contract/operation.ts'
import { accepted, type Result, refused } from '../domain/refusal.ts'
import type { BearerTokens, TokenClaims, TokenSubject } from './bearer-token.ts'
import { isFailure } from './failure.ts'
import { answerWithin, isDoneWithin } from './patience.ts'

/** What a living key may do, read where keys are kept. `disabled`: its account is. */
export type KeyState = Pick<Caller, 'scope' | 'defaultLayout' | 'requestsPerSecond'> & { readonly disabled: boolean }

/** Read a key's state; null when it was revoked or never existed. Throws `Failure` while the store is away. */
export type ReadKeyState = (subject: TokenSubject) => Promise<KeyState | null>

/** Find who sends a bearer token at `at` (ms); refuses with `bad_credentials`, `token_expired` or `account_disabled`. */
export type Authenticate = (token: string, at: number) => Promise<Result<Caller>>

/** How long a key's state is believed; with `answerMs` for reading it again it stays well below the 60 s in which a revocation must hold. */
const keyStateMs = 30_000
/** A store that has not answered by then is away. */
const answerMs = 5_000
/** How long requests wait for a state to be read again before they go on with the one that is held. */
const patienceMs = 1_000
const pauseAfterFailureMs = 1_000
const mostTokens = 20_000

/** What is known of a token. `refreshing` is there while its key's state is read again, and resolves when that is waited for no longer. */
type Held = { readonly claims: TokenClaims; state: KeyState | null; readAgainAt: number; refreshing: Promise<unknown> | null }

const revoked = refused('bad_credentials', 'Log in with GET /login and send its bearer_token as "Authorization: Bearer <bearer_token>".')
const expired = refused('token_expired', 'The bearer token has expired: log in again with GET /login.')
const disabled = refused('account_disabled', 'This account is disabled: ask the operator to enable it.')

/**
 * Make the check that stands before every operation. A token's signature is verified once and its key's state is read every 30 s;
 * a revoked key therefore ends its tokens within 60 s in every process. A store of keys that refuses, or has not answered after 5 s, is away:
 * tokens that were accepted before go on until they expire, others throw its `Failure`. It is asked again a second after it failed, and
 * no request of a token that is held waits for it longer than a second.
 * Source: contract decisions 4; design 4, shedding.
 */
export const authenticator = (tokens: BearerTokens, readKeyState: ReadKeyState): Authenticate => {
  const held = new Map<string, Held>()

  const remember = async (token: string, at: number): Promise<Result<Held>> => {
    const claims = await tokens.verify(token, at)
    if (!claims.ok) return claims
    const state = await answerWithin(answerMs, () => readKeyState(claims.value))
    const entry: Held = { claims: claims.value, state, readAgainAt: at + keyStateMs, refreshing: null }
    if (held.size >= mostTokens) dropOldest(held)
    held.set(token, entry)
    return accepted(entry)
  }

  return async (token, at) => {
    let entry = held.get(token)
    if (entry === undefined) {
      const remembered = await remember(token, at)
      if (!remembered.ok) return remembered
      entry = remembered.value
    } else if (at >= entry.readAgainAt) {
      entry.refreshing ??= isDoneWithin(patienceMs, refresh(entry, readKeyState, at))
      await entry.refreshing
    }
    return judge(entry, at)
  }
}

function judge({ claims, state }: Held, at: number): Result<Caller> {
  if (at >= claims.expiresAt) return expired
  if (state === null) return revoked
  if (state.disabled) return disabled
  const { accountId, liveMode, keyId } = claims
  const { scope, defaultLayout, requestsPerSecond = null } = state
  return accepted({ accountId, liveMode, keyId, scope, defaultLayout, requestsPerSecond })
}

async function refresh(entry: Held, readKeyState: ReadKeyState, at: number): Promise<void> {
  const begun = performance.now()
  try {
    entry.state = await answerWithin(answerMs, () => readKeyState(entry.claims))
    entry.readAgainAt = at + keyStateMs
  } catch (error) {
    if (!isFailure(error) || !error.retriable) throw error
    entry.readAgainAt = at + (performance.now() - begun) + pauseAfterFailureMs
  } finally {
    entry.refreshing = null
  }
}

function dropOldest(held: Map<string, Held>): void {
  for (const token of held.keys()) {
    held.delete(token)
    return
  }
}

const operator: Caller = { accountId: '', liveMode: true, keyId: 'operator', scope: 'operator', defaultLayout: 'current' }

/** Make the check of the operator's own key; texts are compared in a time that tells nothing of them. Source: contract decisions 12. */
export const operatorAuthenticator = (operatorKey: string): ((key: string) => Caller | null) => {
  const digestOf = (key: string): Buffer => createHash('sha256').update(key).digest()
  const right = digestOf(operatorKey)
  return key => (timingSafeEqual(digestOf(key), right) ? operator : null)
}
