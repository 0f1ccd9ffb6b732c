import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { withServer } from './embedded-server.ts'
import type { SystemInUse } from './use-system.ts'

/** Work that a process of the system counts before it begins. */
export type CountedWork = {
  /** SQL that locks what the work needs, so that the work cannot end before the kill. Null if the work takes seconds. */
  readonly lock: string | null
  /** SQL that returns the number of unfinished attempts as `attempts`. */
  readonly attempts: string
  /** SQL that ends the claims of the killed process. */
  readonly expire: string
}

const readAttempts = async (client: pg.Client, { attempts }: CountedWork): Promise<number> =>
  (await client.query<{ readonly attempts: number }>(attempts)).rows[0]?.attempts ?? 0

/** Wait until the attempts differ from `before`, for up to 60 s. */
const nextAttempt = async (client: pg.Client, work: CountedWork, before: number): Promise<number> => {
  for (let waitedMs = 0; waitedMs < 60_000; waitedMs += 20) {
    const attempts = await readAttempts(client, work)
    if (attempts > 0 && attempts !== before) return attempts
    await sleep(20)
  }
  throw new Error(`No attempt followed the attempt ${before}.`)
}

/**
 * Kill the process with SIGKILL in each of the next attempts, and start it again. `start` begins the work. Returns the
 * number of attempts that each kill saw.
 */
export const killAtWork = async (
  system: SystemInUse,
  work: CountedWork,
  kills: number,
  start: () => Promise<unknown> = async () => undefined,
): Promise<readonly number[]> => {
  const seen: number[] = []
  for (let kill = 0; kill < kills; kill += 1) {
    await withServer(system, async client => {
      await client.query(work.expire)
      if (work.lock !== null) await client.query(work.lock)
      if (kill === 0) await start()
      seen.push(await nextAttempt(client, work, seen.at(-1) ?? 0))
      await system.running().kill()
    })
    await system.killAndStart()
  }
  await withServer(system, client => client.query(work.expire))
  return seen
}
