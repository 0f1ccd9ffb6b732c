import { setTimeout as sleep } from 'node:timers/promises'

/** Long enough for a slow machine. */
const usualLimitMs = 60_000

/** Repeat `look` until its result is accepted, and return that result. Throws with the last result after `limitMs`. */
export const until = async <T>(
  look: () => T | Promise<T>,
  isReached: (seen: NoInfer<T>) => boolean,
  limitMs = usualLimitMs,
): Promise<T> => {
  for (const deadline = performance.now() + limitMs; ; await sleep(20)) {
    const seen = await look()
    if (isReached(seen)) return seen
    if (performance.now() > deadline)
      throw new Error(
        `The expected result did not occur. Last result: ${JSON.stringify(seen, (_, v) => (typeof v === 'bigint' ? `${v}` : v))}`,
      )
  }
}
