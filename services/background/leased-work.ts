import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../platform/postgres/database.ts'
import { type Lease, releaseLease, takeLease } from '../platform/postgres/leases.ts'
import type { LeasedWork } from '../platform/role-module.ts'
import type { Logger } from '../platform/telemetry/logger.ts'

export type LeasedWorkOptions = { readonly database: Pick<Database, 'operator'>; readonly logger: Pick<Logger, 'warn'> }

/** Running work. Disposing of it waits for the current turn and releases the lease. */
export type RunningWork = AsyncDisposable & {
  /** End the current pause, so that the next turn begins at once. */
  readonly wake: () => void
}

const defaultLeaseMs = 10_000
const retryMs = 1_000

/**
 * Start several pieces of work, each with its own lease. One process does a piece of work at a time; if that process
 * dies, another one continues after the lease has expired. A process that was paused can end a turn after another one
 * took the lease. So every turn must be repeatable.
 */
export const startLeasedWork = (options: LeasedWorkOptions, tasks: readonly LeasedWork[]): AsyncDisposable => {
  const running = tasks.map(task => startTask(options, task))
  return {
    [Symbol.asyncDispose]: async () => {
      await Promise.all(running.map(one => one[Symbol.asyncDispose]()))
    },
  }
}

/** Start one piece of work under its lease. */
export const startTask = ({ database, logger }: LeasedWorkOptions, task: LeasedWork): RunningWork => {
  const { name, restMs, leaseMs = defaultLeaseMs, turn, onStandby } = task
  const stopping = new AbortController()
  const holder = randomUUID()
  let pause = new AbortController()
  let lease: Lease | null = null
  let renewAt = 0

  const renewLease = async (): Promise<Lease | null> => {
    const now = performance.now()
    lease = await takeLease(database.operator, name, holder, leaseMs)
    renewAt = now + leaseMs / 3
    return lease
  }
  /** Do one turn if this process has the lease. Returns the pause in ms. */
  const runTurn = async (): Promise<number> => {
    if (lease === null || performance.now() >= renewAt) await renewLease()
    if (lease !== null) return (await turn({ renewLease, signal: stopping.signal })) ? 0 : restMs
    onStandby?.()
    return retryMs
  }
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      pause = new AbortController()
      const pauseMs = await runTurn().catch(error => {
        if (!stopping.signal.aborted) logger.warn({ err: error, task: name }, 'Work failed, retrying')
        return retryMs
      })
      const signal = AbortSignal.any([stopping.signal, pause.signal])
      if (pauseMs > 0) await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
    }
    if (lease !== null)
      await releaseLease(database.operator, lease).catch(error =>
        logger.warn({ err: error, task: name }, 'Lease was not released; it expires by itself'),
      )
  }
  const running = run()
  return {
    wake: () => pause.abort(),
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await running
    },
  }
}
