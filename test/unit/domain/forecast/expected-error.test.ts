import { describe, expect, it } from 'vitest'
import { errorFactors, hourlyErrors, type PastErrors } from '../../../../services/domain/forecast/expected-error.ts'
import { errorDays } from '../../../../services/domain/forecast/experts.ts'

const count = errorDays * 24
/** Forecasts between −1 and 1 on the scale, low and high at all hours alike, and the errors that a law gives them. */
const pastOf = (errorAt: (said: number, age: number) => number, unit = 1): PastErrors => {
  const said = Float64Array.from({ length: count }, (_, place) => ((place * 37) % 41) / 20 - 1)
  return { predictions: said, errors: said.map((value, place) => unit * errorAt(value, Math.floor(place / 24))) }
}
const now = new Float64Array(24)
const factorsOf = (past: PastErrors, said = now, dayAhead = past): Float64Array =>
  errorFactors(past, dayAhead, 1, hourlyErrors(past, 0), said)
const [low, middle, high] = [now.map(() => -0.9), now, now.map(() => 0.9)]

describe('errors of a moment', () => {
  it('are expected larger at low prices where those were missed by more, and smaller at high ones; the reverse where the reverse holds', () => {
    const falling = pastOf(said => 5 * Math.exp(-said))
    const rising = pastOf(said => 5 * Math.exp(said))
    for (let hour = 0; hour < 24; hour += 1) {
      expect(factorsOf(falling, low)[hour]).toBeGreaterThan(1.3)
      expect(factorsOf(falling, high)[hour]).toBeLessThan(0.8)
      expect(factorsOf(rising, low)[hour]).toBeLessThan(0.8)
      expect(factorsOf(rising, high)[hour]).toBeGreaterThan(1.3)
    }
  })

  it('are expected larger far from usual prices on both sides where errors were', () => {
    const past = pastOf(said => 2 + 8 * said * said)
    for (const far of [low, high])
      expect(factorsOf(past, far)[12]).toBeGreaterThan(1.3 * (factorsOf(past, middle)[12] ?? 0))
  })

  it('are expected larger in wild times than in calm ones where times last', () => {
    // Three weeks of one kind, three of the other.
    const isWild = (age: number): boolean => Math.floor(age / 21) % 2 === 0
    const wildNow = pastOf((_, age) => (isWild(age) ? 9 : 3))
    const calmNow = pastOf((_, age) => (isWild(age) ? 3 : 9))
    expect(factorsOf(wildNow)[12]).toBeGreaterThan(1.3)
    expect(factorsOf(calmNow)[12]).toBeLessThan(0.8)
  })

  it('are those of their hours where nothing tells them apart', () => {
    for (const factor of factorsOf(pastOf(() => 5))) expect(factor).toBeCloseTo(1, 1)
  })

  it('have factors that do not depend on the unit of prices', () => {
    const law = (said: number, age: number): number => 1 + said * said + (age % 5)
    const [one, other] = [factorsOf(pastOf(law), high), factorsOf(pastOf(law, 1e6), high)]
    for (const [hour, factor] of one.entries()) expect(other[hour]).toBeCloseTo(factor, 9)
  })

  it('are those of their hours where fewer than ten days are known, or none was missed', () => {
    const few = pastOf(said => 5 * Math.exp(-said))
    few.errors.fill(Number.NaN, 9 * 24)
    expect(factorsOf(few, low)).toEqual(now.map(() => 1))
    const none = pastOf(() => 0)
    expect(errorFactors(none, none, 1, new Float64Array(24), low)).toEqual(now.map(() => 1))
  })

  it('change by a factor of at most about three', () => {
    const wild = pastOf(said => Math.exp(-9 * said))
    for (const said of [-4, 4]) {
      for (const factor of factorsOf(
        wild,
        now.map(() => said),
      )) {
        expect(factor).toBeLessThan(3.4)
        expect(factor).toBeGreaterThan(0.29)
      }
    }
  })
})
