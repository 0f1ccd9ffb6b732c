import { setTimeout as sleep } from 'node:timers/promises'
import type { RoleProcess } from '../../support/kafka/processes.ts'

/** Workers that came and went. */
export type WorkerChanges = { joins: number; stops: number; kills: number }

const changeIntervalMs = 3_000
const workerCount = 2
/** A process that is asked to stop has this long. */
const drainMs = 15_000

/**
 * Have workers come and go beside those that stay until the signal aborts: every 3 s one joins their group or leaves it, asked to
 * stop and killed in turn. `visits` counts, and `failedStops` names those that did not stop well.
 */
export const changeWorkers = async (
  start: () => Promise<RoleProcess>,
  { workerChanges, failedStops, signal }: { workerChanges: WorkerChanges; failedStops: string[]; signal: AbortSignal },
): Promise<void> => {
  const startedAt = performance.now()
  const until = (due: number): Promise<unknown> =>
    sleep(Math.max(0, startedAt + due - performance.now()), undefined, { signal }).catch(() => undefined)
  const stopWorker = async (one: RoleProcess): Promise<void> => {
    const isKilled = workerChanges.stops > workerChanges.kills
    workerChanges[isKilled ? 'kills' : 'stops'] += 1
    const stopRequestedAt = performance.now()
    const code = await one.end(isKilled ? 'SIGKILL' : 'SIGTERM')
    const ms = performance.now() - stopRequestedAt
    if (!isKilled && (code !== 0 || ms > drainMs))
      failedStops.push(`a visiting cost-worker stopped with ${code} after ${Math.round(ms)} ms`)
  }
  const joinAndLeave = async (index: number): Promise<void> => {
    for (let due = index * changeIntervalMs; !signal.aborted; due += 2 * workerCount * changeIntervalMs) {
      await until(due)
      if (signal.aborted) return
      const one = await start()
      workerChanges.joins += 1
      await until(due + workerCount * changeIntervalMs)
      await stopWorker(one)
    }
  }
  await Promise.all(Array.from({ length: workerCount }, (_, index) => joinAndLeave(index)))
}
