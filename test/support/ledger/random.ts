/** Random numbers that depend on a seed only. */
export type Random = {
  /** Integer from 0 to `below` − 1. */
  readonly whole: (below: number) => number
  readonly chance: (share: number) => boolean
  readonly pick: <const T>(from: readonly T[]) => T
}

/** Create a random generator from a seed (mulberry32). */
export const seeded = (seed: number): Random => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const whole = (below: number): number => Math.floor(next() * below)
  return { whole, chance: share => next() < share, pick: from => from[whole(from.length)] as never }
}
