import { setTimeout as sleep } from 'node:timers/promises'

/** Long enough for a slow machine. */
const usualLimitMs = 60_000

/** Return the pause in ms before the next look, after a wait. It grows, because each look costs CPU time. */
const pauseMs = (waitedMs: number): number => Math.min(100, 20 + waitedMs / 8)

/** Repeat `look` until its result is accepted, and return that result. Throws with the last result after `limitMs`. */
export const until = async <T>(
  look: () => T | Promise<T>,
  isReached: (seen: NoInfer<T>) => boolean,
  limitMs = usualLimitMs,
): Promise<T> => {
  for (const startedAt = performance.now(); ; await sleep(pauseMs(performance.now() - startedAt))) {
    const seen = await look()
    if (isReached(seen)) return seen
    if (performance.now() > startedAt + limitMs)
      throw new Error(
        `The expected result did not occur. Last result: ${JSON.stringify(seen, (_, v) => (typeof v === 'bigint' ? `${v}` : v))}`,
      )
  }
}
