/** Random choices that depend on a seed only. */
export type Random = {
  /** Integer from 0 to `limit` − 1. */
  readonly below: (limit: number) => number
  /** True in one of `outOf` cases. */
  readonly oneIn: (outOf: number) => boolean
  /** True with a probability from 0 to 1. */
  readonly chance: (probability: number) => boolean
  readonly pick: <const T>(choices: readonly T[]) => T
}

/**
 * Create a random generator. The same seed gives the same choices.
 * Source: mulberry32, https://gist.github.com/tommyettinger/46a874533244883189143505d203312c.
 */
export const seededRandom = (seed: number): Random => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    below,
    oneIn: outOf => below(outOf) === 0,
    chance: probability => next() < probability,
    pick: choices => choices[below(choices.length)] as never,
  }
}
