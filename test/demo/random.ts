/** Seeded generator of random numbers. */
export type Random = {
  /** Random number in [0, 1). */
  readonly fraction: () => number
  readonly between: (low: number, high: number) => number
  /** Random whole number from `low` to `high`, both included. */
  readonly whole: (low: number, high: number) => number
}

const mix = (text: string): number => {
  let hash = 2_166_136_261
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16_777_619)
  return hash >>> 0
}

/**
 * Create the generator of one object. Each object has its own numbers, so that a new object does not change the others.
 */
export const seededRandom = (seed: number, objectName: string): Random => {
  let state = mix(`${seed} ${objectName}`)
  // Algorithm mulberry32: short, and uniform enough for load curves.
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number): number => low + (high - low) * fraction()
  return { fraction, between, whole: (low, high) => Math.floor(between(low, high + 1)) }
}
