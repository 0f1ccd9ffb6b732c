import { setTimeout as sleep } from 'node:timers/promises'
import type { RoleProcess } from '../../support/kafka/processes.ts'

/** Numbers of workers that joined, stopped and were killed. */
export type WorkerChanges = { joins: number; stops: number; kills: number }

const changeIntervalMs = 3_000
const workerCount = 2
/** Time limit of a stop. */
const drainMs = 15_000

/**
 * Start and end additional workers until the signal aborts. Every 3 s a worker joins the group or leaves it. Workers
 * leave alternately by SIGTERM and SIGKILL. `failedStops` lists the workers that stopped with an error or too late.
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
      failedStops.push(`an additional cost-worker stopped with ${code} after ${Math.round(ms)} ms`)
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
