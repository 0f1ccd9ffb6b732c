import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Database } from './database.ts'
import type { Tables } from './tables.ts'

/** A lock that a process holds while it lives: PostgreSQL frees it as soon as the connection of a dead process ends. */
export type IdempotencyHolder = AsyncDisposable & { readonly holder: number }

const lookMs = 1_000

/**
 * Hold a lock of this process on a connection of its own, so that others can tell at once whether an attempt of it still runs. Resolves when
 * it is held. A connection that breaks is replaced; until then the attempts of this process look dead, and those that are taken over undo
 * what they did.
 */
export const holdIdempotency = async (database: Pick<Database, 'operator'>): Promise<IdempotencyHolder> => {
  const holder = randomBytes(6).readUIntBE(0, 6)
  const stopping = new AbortController()
  const held = Promise.withResolvers<void>()
  const hold = (query: Kysely<Tables>): Promise<void> => holdOn(query, holder, held.resolve, stopping.signal)
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await database.operator.connection().execute(hold).catch(held.reject)
      await sleep(lookMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const running = run()
  const stop = async (): Promise<void> => {
    stopping.abort()
    await running
  }
  try {
    await held.promise
  } catch (error) {
    await stop()
    throw error
  }
  return { holder, [Symbol.asyncDispose]: stop }
}

/** Hold the lock on one connection until it breaks, which throws, or the end is asked for. */
const holdOn = async (query: Kysely<Tables>, holder: number, held: () => void, signal: AbortSignal): Promise<void> => {
  await sql`select pg_advisory_lock(${holder}::bigint)`.execute(query)
  held()
  while (!signal.aborted) {
    await sleep(lookMs, undefined, { signal }).catch(() => undefined)
    await sql`select 1`.execute(query)
  }
  await sql`select pg_advisory_unlock(${holder}::bigint)`.execute(query)
}
