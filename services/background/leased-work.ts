import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../platform/postgres/database.ts'
import { type Lease, releaseLease, takeLease } from '../platform/postgres/leases.ts'
import type { LeasedWork } from '../platform/role-module.ts'
import type { Logger } from '../platform/telemetry/logger.ts'

export type LeasedWorkOptions = { readonly database: Pick<Database, 'operator'>; readonly logger: Pick<Logger, 'warn'> }

const leaseMs = 10_000
const renewAfterMs = leaseMs / 3
const retryMs = 1_000

/**
 * Start pieces of work, each under a lease of its own: of all processes one does it, and another goes on within ten seconds after that one
 * has died. A process that was paused may end a turn beside the next holder, so every turn must bear being done twice.
 * Disposing of it ends the turns under way and gives the leases back.
 */
export const startLeasedWork = (options: LeasedWorkOptions, tasks: readonly LeasedWork[]): AsyncDisposable => {
  const stopping = new AbortController()
  const running = tasks.map(task => runLeased(options, task, stopping.signal))
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

type HeldLease = { readonly lease: Lease; readonly renewAt: number }

const runLeased = async (
  { database, logger }: LeasedWorkOptions,
  { name, restMs, turn }: LeasedWork,
  signal: AbortSignal,
): Promise<void> => {
  const holder = randomUUID()
  let heldLease: HeldLease | null = null
  const holdLease = async (): Promise<HeldLease | null> => {
    const now = performance.now()
    if (heldLease !== null && now < heldLease.renewAt) return heldLease
    const lease = await takeLease(database.operator, name, holder, leaseMs)
    return lease === null ? null : { lease, renewAt: now + renewAfterMs }
  }
  while (!signal.aborted) {
    let waitMs = retryMs
    try {
      heldLease = await holdLease()
      if (heldLease !== null && (await turn())) continue
      if (heldLease !== null) waitMs = restMs
    } catch (error) {
      logger.warn({ err: error, task: name }, 'work waits for its next turn')
    }
    await sleep(waitMs, undefined, { signal }).catch(() => undefined)
  }
  if (heldLease === null) return
  await releaseLease(database.operator, heldLease.lease).catch(error =>
    logger.warn({ err: error, task: name }, 'a lease runs out by itself'),
  )
}
