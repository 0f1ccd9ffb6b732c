import { randomUUID } from 'node:crypto'
import sql from 'sql-template-tag'
import { toTimestamp } from '../column.ts'
import type { Query } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

/** An answer that is given again to whoever repeats its request. */
export type StoredAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What a key's first look-up says: work and finish with `token`; or the answer; or why neither. */
export type ClaimAttempt =
  | { readonly kind: 'begun'; readonly token: string }
  | { readonly kind: 'answered'; readonly answer: StoredAnswer }
  | { readonly kind: 'mismatch' }
  | { readonly kind: 'in_progress' }

const retentionMs = 86_400_000
/** A request has 30 s; an attempt that is older and has not finished belongs to a process that is gone. */
const attemptTimeoutMs = 60_000

/** Nobody holds the lock of the attempt's process: it has died, or lost its connection. */
const isHolderGone = sql`(idempotency_keys.holder is not null and pg_try_advisory_xact_lock_shared(idempotency_keys.holder))`

/**
 * Claim a key for a request at `at` (ms); commit before the work, so that a twin sees it. A key is free again after 24 h. An attempt whose
 * process died is taken over at once, or after 60 s where no `holder` tells of its process.
 * Source: docs/rules/versions-and-transport.md #idempotency.
 */
export const beginIdempotent = async (
  transaction: TenantTransaction,
  request: { readonly key: string; readonly hash: string },
  at: number,
  holder: number | null = null,
): Promise<ClaimAttempt> => {
  const { accountId, liveMode, query } = transaction
  for (;;) {
    const token = randomUUID()
    const claimed = await query(sql`
      insert into idempotency_keys (account_id, live_mode, key, request_hash, token, holder, started_at)
      values (${accountId}, ${liveMode}, ${request.key}, ${request.hash}, ${token}, ${holder}, ${toTimestamp(at)})
      on conflict (account_id, live_mode, key) do update
        set request_hash = excluded.request_hash, token = excluded.token, holder = excluded.holder, started_at = excluded.started_at,
          answer = null
        where idempotency_keys.started_at <= ${toTimestamp(at - retentionMs)}
          or idempotency_keys.answer is null and (idempotency_keys.started_at <= ${toTimestamp(at - attemptTimeoutMs)} or ${isHolderGone})
      returning 1`)
    if (claimed.rows.length > 0) return { kind: 'begun', token }
    const { rows } = await query<{ request_hash: string; answer: string | null }>(sql`
      select request_hash, answer from idempotency_keys where ${ownedBy(transaction)} and key = ${request.key}`)
    const found = rows[0]
    // Given up between the two statements: free again.
    if (found === undefined) continue
    if (found.request_hash !== request.hash) return { kind: 'mismatch' }
    return found.answer === null ? { kind: 'in_progress' } : { kind: 'answered', answer: JSON.parse(found.answer) }
  }
}

/**
 * Keep the answer of a claimed key. In the transaction of the work, the answer is kept exactly if the work is done: a crash between
 * the two cannot make a repeat do it twice. False when the attempt was taken over: then the work must be undone.
 */
export const finishIdempotent = async (
  transaction: TenantTransaction,
  claim: { readonly key: string; readonly token: string },
  answer: StoredAnswer,
): Promise<boolean> => {
  const { rows } = await transaction.query(sql`
    update idempotency_keys set answer = ${JSON.stringify(answer)}::json
    where ${ownedBy(transaction)} and key = ${claim.key} and token = ${claim.token} and answer is null returning 1`)
  return rows.length > 0
}

/** Give up a claimed key: a refused request burns none. */
export const abandonIdempotent = async (
  transaction: TenantTransaction,
  claim: { readonly key: string; readonly token: string },
): Promise<void> => {
  await transaction.query(sql`
    delete from idempotency_keys
    where ${ownedBy(transaction)} and key = ${claim.key} and token = ${claim.token} and answer is null`)
}

/** Delete keys older than 24 h at `at` (ms), up to `limit` of them. Gives how many went. */
export const deleteExpiredIdempotency = async (operator: Query, at: number, limit: number): Promise<number> => {
  const result = await operator(sql`
    delete from idempotency_keys
    where ctid = any(array(select ctid from idempotency_keys where started_at <= ${toTimestamp(at - retentionMs)} limit ${limit}))`)
  return result.rowCount
}
