/** A source of chance that gives the same numbers for the same seed. */
export type Random = {
  /** At least 0 and below 1. */
  readonly fraction: () => number
  readonly between: (low: number, high: number) => number
  /** A whole number, both ends included. */
  readonly whole: (low: number, high: number) => number
}

const mix = (text: string): number => {
  let hash = 2_166_136_261
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16_777_619)
  return hash >>> 0
}

/** Make the chance of one thing: things of one seed do not share their numbers, so adding one leaves the others as they were. */
export const seededRandom = (seed: number, thing: string): Random => {
  let state = mix(`${seed} ${thing}`)
  // mulberry32: one multiplication deep, even enough for load curves.
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number): number => low + (high - low) * fraction()
  return { fraction, between, whole: (low, high) => Math.floor(between(low, high + 1)) }
}
