import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import sql from 'sql-template-tag'
import type { Database, Query } from '../database.ts'

/** A lock that a process holds while it lives: PostgreSQL frees it as soon as the connection of a dead process ends. */
export type IdempotencyLock = AsyncDisposable & { readonly holder: number }

const checkIntervalMs = 1_000

/**
 * Hold a lock of this process on a connection of its own, so that others can tell at once whether an attempt of it still runs. Resolves when
 * it is held. A connection that breaks is replaced; until then the attempts of this process look dead, and those that are taken over undo
 * what they did.
 */
export const holdIdempotencyLock = async (database: Pick<Database, 'withConnection'>): Promise<IdempotencyLock> => {
  const holder = randomBytes(6).readUIntBE(0, 6)
  const stopping = new AbortController()
  const acquired = Promise.withResolvers<void>()
  const holdLock = (query: Query): Promise<void> => holdUntilAborted(query, holder, acquired.resolve, stopping.signal)
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await database.withConnection('operator', holdLock).catch(acquired.reject)
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

/** Hold the lock on one connection until it breaks, which throws, or the end is asked for. */
const holdUntilAborted = async (
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
