import { setTimeout as sleep } from 'node:timers/promises'

/** Long enough that a slow machine alone fails no test. */
const usualLimitMs = 60_000

/** Look again and again until what is seen holds; gives what was seen. Throws what was seen last once `limitMs` have passed. */
export const until = async <T>(
  look: () => T | Promise<T>,
  isReached: (seen: NoInfer<T>) => boolean,
  limitMs = usualLimitMs,
): Promise<T> => {
  for (const deadline = performance.now() + limitMs; ; await sleep(20)) {
    const seen = await look()
    if (isReached(seen)) return seen
    if (performance.now() > deadline)
      throw new Error(`nothing came of it: ${JSON.stringify(seen, (_, v) => (typeof v === 'bigint' ? `${v}` : v))}`)
  }
}
