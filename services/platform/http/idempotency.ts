import { createHash } from 'node:crypto'
import type { ApiVersion } from '../../contract/api-version.ts'
import type { Caller, IdempotencyClaim, Operation, RawBody } from '../../contract/operation.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { IdempotencyStore, Ports, SavedAnswer } from './binding.ts'
import type { ReceivedRequest } from './request-body.ts'

/** Return a digest of method, path, query, API version and body. It detects another request with the same key. */
const fingerprintOf = (request: ReceivedRequest, apiVersion: ApiVersion, body: RawBody): string => {
  const { pathname, search } = new URL(request.url)
  return createHash('sha256')
    .update(`${request.method} ${pathname}${search}\n${apiVersion}\n`)
    .update(body.bytes)
    .digest('hex')
}

/**
 * Read the `Idempotency-Key` of a request. Null if it has none.
 * Refuses keys that are empty or longer than 255 characters.
 */
export const claimOf = (
  request: ReceivedRequest,
  { caller, operation, body }: { readonly caller: Caller; readonly operation: Operation; readonly body: RawBody },
  apiVersion: ApiVersion,
): Result<IdempotencyClaim | null> => {
  const key = request.headers.get('idempotency-key')
  if (key === null) return accepted(null)
  if (key.length < 1 || key.length > 255) return refused('header_invalid', 'Set Idempotency-Key to 1 to 255 characters')
  return accepted({
    accountId: caller.accountId,
    liveMode: caller.liveMode,
    key,
    fingerprint: fingerprintOf(request, apiVersion, body),
    secretAnswer: operation.secretAnswer === true,
  })
}

type ReplayableAnswer = { readonly saved: SavedAnswer; readonly isReplay: boolean }

const abandon = async (store: IdempotencyStore, claim: IdempotencyClaim, log: Ports['log']): Promise<void> => {
  try {
    await store.abandon(claim)
  } catch (error) {
    log.warn({ err: error }, 'Idempotency key not freed, it will expire')
  }
}

/**
 * Run a request at most once for each key. A successful answer is saved and returned again.
 * A refused or failed run frees the key.
 * Refuses a key that a running request uses, or that was used for another request.
 * Source: docs/rules/versions-and-transport.md #idempotency.
 */
export const runOnce = async <RefusedRun extends { readonly ok: false }>(
  claim: IdempotencyClaim,
  { idempotency: store, log, now: at }: Ports,
  run: () => Promise<{ readonly ok: true; readonly value: SavedAnswer } | RefusedRun>,
): Promise<{ readonly ok: true; readonly value: ReplayableAnswer } | RefusedRun | ReturnType<typeof refused>> => {
  const claimResult = await store.begin(claim, at())
  if (claimResult.state === 'done') return { ok: true, value: { saved: claimResult.answer, isReplay: true } }
  if (claimResult.state === 'running')
    return refused(
      'idempotency_in_progress',
      'A request with this Idempotency-Key is under way; send it again in a moment',
    )
  if (claimResult.state === 'mismatch') {
    return refused('idempotency_mismatch', 'This Idempotency-Key belongs to another request; use a new key')
  }
  try {
    const outcome = await run()
    if (!outcome.ok) {
      await abandon(store, claim, log)
      return outcome
    }
    await saveAnswer(store, claim, outcome.value, log, at())
    return { ok: true, value: { saved: outcome.value, isReplay: false } }
  } catch (error) {
    await abandon(store, claim, log)
    throw error
  }
}

/** Save the answer. The change is already committed, so an error is logged only. */
const saveAnswer = async (
  store: IdempotencyStore,
  claim: IdempotencyClaim,
  answer: SavedAnswer,
  log: Ports['log'],
  at: number,
): Promise<void> => {
  try {
    await store.finish(claim, answer, at)
  } catch (error) {
    log.warn({ err: error }, 'Answer not saved under its idempotency key')
  }
}
