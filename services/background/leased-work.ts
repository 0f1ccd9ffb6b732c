import { randomUUID } from 'node:crypto'
import type { JobDependencies } from '../platform/jobs/jobs.ts'
import { type Loop, startLoop } from '../platform/jobs/loop.ts'
import { type Lease, releaseLease, takeLease } from '../platform/postgres/leases.ts'
import type { LeasedWork } from '../platform/role-module.ts'

const defaultLeaseMs = 10_000
/** Pause in ms while another process has the lease. */
const standbyMs = 1_000

/**
 * Start several pieces of work, each with its own lease. One process does a piece of work at a time; if that process
 * dies, another one continues after the lease has expired. A process that was paused can end a turn after another one
 * took the lease. So every turn must be repeatable.
 */
export const startLeasedWork = (options: JobDependencies, tasks: readonly LeasedWork[]): AsyncDisposable => {
  const running = tasks.map(task => startTask(options, task))
  return {
    [Symbol.asyncDispose]: async () => {
      await Promise.all(running.map(one => one[Symbol.asyncDispose]()))
    },
  }
}

/** Start one piece of work under its lease. Disposing of it waits for the current turn and releases the lease. */
export const startTask = ({ database, logger }: JobDependencies, task: LeasedWork): Loop => {
  const { name, restMs, leaseMs = defaultLeaseMs, turn, onStandby } = task
  const holder = randomUUID()
  let lease: Lease | null = null
  let renewAt = 0
  const renewLease = async (): Promise<Lease | null> => {
    const now = performance.now()
    lease = await takeLease(database.operator, name, holder, leaseMs)
    renewAt = now + leaseMs / 3
    return lease
  }
  const loop = startLoop({
    name,
    logger,
    turn: async signal => {
      if (lease === null || performance.now() >= renewAt) await renewLease()
      if (lease !== null) return (await turn({ renewLease, signal })) ? 0 : restMs
      onStandby?.()
      return standbyMs
    },
  })
  return {
    wake: loop.wake,
    [Symbol.asyncDispose]: async () => {
      await loop[Symbol.asyncDispose]()
      if (lease !== null)
        await releaseLease(database.operator, lease).catch(error =>
          logger.warn({ err: error, task: name }, 'Lease was not released; it expires by itself'),
        )
    },
  }
}
