import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import sql from 'sql-template-tag'
import { toTimestamp } from '../column.ts'
import { countRows, type Database, hasRow, type Query } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

/** Saved answer, which a repeated request receives. */
export type StoredAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Result of a claim: work and finish with `token`, return the saved answer, or refuse. */
export type ClaimAttempt =
  | { readonly kind: 'begun'; readonly token: string }
  | { readonly kind: 'answered'; readonly answer: StoredAnswer }
  | { readonly kind: 'mismatch' }
  | { readonly kind: 'in_progress' }

const retentionMs = 86_400_000
/** A request has 30 s. An older attempt without an answer belongs to a dead process. */
const attemptTimeoutMs = 60_000

/** True if the process of the attempt has died or lost its connection. */
const isHolderGone = sql`
  (idempotency_keys.holder is not null and pg_try_advisory_xact_lock_shared(idempotency_keys.holder))`

/**
 * Claim a key for a request at `at` (ms). Commit before the work, so that a duplicate sees the claim. A key is free
 * again after 24 h. An attempt of a dead process is taken over at once, or after 60 s if `holder` is null.
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
        set request_hash = excluded.request_hash, token = excluded.token, holder = excluded.holder,
          started_at = excluded.started_at, answer = null
        where idempotency_keys.started_at <= ${toTimestamp(at - retentionMs)}
          or idempotency_keys.answer is null and (idempotency_keys.started_at <= ${toTimestamp(at - attemptTimeoutMs)}
            or ${isHolderGone})
      returning 1`)
    if (claimed.rows.length > 0) return { kind: 'begun', token }
    const { rows } = await query<{ request_hash: string; answer: string | null }>(sql`
      select request_hash, answer from idempotency_keys where ${ownedBy(transaction)} and key = ${request.key}`)
    const found = rows[0]
    // The other attempt gave up the key between the two statements, so the key is free.
    if (found === undefined) continue
    if (found.request_hash !== request.hash) return { kind: 'mismatch' }
    return found.answer === null ? { kind: 'in_progress' } : { kind: 'answered', answer: JSON.parse(found.answer) }
  }
}

/**
 * Save the answer of a claimed key, in the transaction of the work. So the answer is saved exactly if the work is done,
 * and a repeat after a crash cannot do the work twice. False if the attempt was taken over: then the work must be
 * undone.
 */
export const finishIdempotent = (
  transaction: TenantTransaction,
  claim: { readonly key: string; readonly token: string },
  answer: StoredAnswer,
): Promise<boolean> =>
  hasRow(transaction.query)(sql`
    update idempotency_keys set answer = ${JSON.stringify(answer)}::json
    where ${ownedBy(transaction)} and key = ${claim.key} and token = ${claim.token} and answer is null returning 1`)

/** Give up a claimed key, because a refused request must not use the key. */
export const abandonIdempotent = async (
  transaction: TenantTransaction,
  claim: { readonly key: string; readonly token: string },
): Promise<void> => {
  await transaction.query(sql`
    delete from idempotency_keys
    where ${ownedBy(transaction)} and key = ${claim.key} and token = ${claim.token} and answer is null`)
}

/** Delete keys that are older than 24 h at `at` (ms), up to `limit`. Returns the number of deleted keys. */
export const deleteExpiredIdempotency = (operator: Query, at: number, limit: number): Promise<number> =>
  countRows(operator)(sql`
    delete from idempotency_keys
    where ctid = any(array(select ctid from idempotency_keys
    where started_at <= ${toTimestamp(at - retentionMs)} limit ${limit}))`)

/** Lock of a live process. PostgreSQL releases the lock when the connection of a dead process ends. */
export type IdempotencyLock = AsyncDisposable & { readonly holder: number }

const checkIntervalMs = 1_000

/**
 * Take a lock of this process on a reserved connection. The lock shows other processes that attempts of this process
 * still run. Resolves after the lock is taken. A broken connection is replaced; until then the attempts of this process
 * look dead, and attempts that are taken over undo their work.
 */
export const takeIdempotencyLock = async (database: Pick<Database, 'withConnection'>): Promise<IdempotencyLock> => {
  const holder = randomBytes(6).readUIntBE(0, 6)
  const stopping = new AbortController()
  const acquired = Promise.withResolvers<void>()
  const keepLock = (query: Query): Promise<void> =>
    keepLockUntilAborted(query, holder, acquired.resolve, stopping.signal)
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await database.withConnection('operator', keepLock).catch(acquired.reject)
      await sleep(checkIntervalMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const running = run()
  const stop = async (): Promise<void> => {
    stopping.abort()
    await running
  }
  try {
    await acquired.promise
  } catch (error) {
    await stop()
    throw error
  }
  return { holder, [Symbol.asyncDispose]: stop }
}

/** Keep the lock on one connection until `signal` is aborted. Throws if the connection breaks. */
const keepLockUntilAborted = async (
  query: Query,
  holder: number,
  onAcquired: () => void,
  signal: AbortSignal,
): Promise<void> => {
  await query(sql`select pg_advisory_lock(${holder}::bigint)`)
  onAcquired()
  while (!signal.aborted) {
    await sleep(checkIntervalMs, undefined, { signal }).catch(() => undefined)
    await query(sql`select 1`)
  }
  await query(sql`select pg_advisory_unlock(${holder}::bigint)`)
}
