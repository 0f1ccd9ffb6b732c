import { setTimeout as sleep } from 'node:timers/promises'
import type { RoleProcess } from '../../support/kafka/processes.ts'

/** Workers that came and went. */
export type Visits = { joins: number; stops: number; kills: number }

const everyMs = 3_000
const visitors = 2
/** A process that is asked to stop has this long. */
const drainMs = 15_000

/**
 * Have workers come and go beside those that stay until the signal aborts: every 3 s one joins their group or leaves it, asked to
 * stop and killed in turn. `visits` counts, and `failedStops` names those that did not stop well.
 */
export const visit = async (
  start: () => Promise<RoleProcess>,
  { visits, failedStops, signal }: { visits: Visits; failedStops: string[]; signal: AbortSignal },
): Promise<void> => {
  const begunAt = performance.now()
  const until = (due: number): Promise<unknown> =>
    sleep(Math.max(0, begunAt + due - performance.now()), undefined, { signal }).catch(() => undefined)
  const leave = async (one: RoleProcess): Promise<void> => {
    const isKilled = visits.stops > visits.kills
    visits[isKilled ? 'kills' : 'stops'] += 1
    const toldAt = performance.now()
    const code = await one.end(isKilled ? 'SIGKILL' : 'SIGTERM')
    const ms = performance.now() - toldAt
    if (!isKilled && (code !== 0 || ms > drainMs))
      failedStops.push(`a visiting cost-worker stopped with ${code} after ${Math.round(ms)} ms`)
  }
  const visitor = async (index: number): Promise<void> => {
    for (let due = index * everyMs; !signal.aborted; due += 2 * visitors * everyMs) {
      await until(due)
      if (signal.aborted) return
      const one = await start()
      visits.joins += 1
      await until(due + visitors * everyMs)
      await leave(one)
    }
  }
  await Promise.all(Array.from({ length: visitors }, (_, index) => visitor(index)))
}
