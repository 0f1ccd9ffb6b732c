import { expect, it } from 'vitest'
import { cpuGrowth } from '../cpu/cpu-growth.ts'

/** The number one, written with `length` characters. */
const one = (length: number): string => `1.${'0'.repeat(length - 2)}`
/** Number with inner zeros. A naive search for trailing zeros would start again at each zero. */
const zerosWithin = (zeros: number): string => `1${'0'.repeat(zeros)}1`

/** Declare the tests of an input with a number text. `accepts` returns true if the input accepts the text. */
export const verifyNumberText = (accepts: (text: string) => boolean): void => {
  it('can have 400 characters; 401 characters are refused', () => {
    expect(accepts(one(400))).toBe(true)
    expect(accepts(one(401))).toBe(false)
    expect(accepts(zerosWithin(100_000))).toBe(false)
  })

  it('needs CPU time in proportion to its length', async () => {
    expect(await cpuGrowth(50_000, zeros => accepts(zerosWithin(zeros)))).toBeLessThan(3)
  })
}
