import { setTimeout as sleep } from 'node:timers/promises'

/** Look again and again until what is seen holds, for ten seconds at most; gives what was seen. */
export const until = async <T>(look: () => Promise<T>, holds: (seen: T) => boolean): Promise<T> => {
  for (const deadline = performance.now() + 10_000; ; await sleep(20)) {
    const seen = await look()
    if (holds(seen)) return seen
    if (performance.now() > deadline)
      throw new Error(`nothing came of it: ${JSON.stringify(seen, (_, v) => (typeof v === 'bigint' ? `${v}` : v))}`)
  }
}
