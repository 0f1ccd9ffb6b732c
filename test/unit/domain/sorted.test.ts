import fc from 'fast-check'
import { expect, it } from 'vitest'
import { firstIndex, firstIndexAbove, firstIndexFrom } from '../../../services/domain/sorted.ts'

const ascending = fc.array(fc.integer({ min: -5, max: 5 })).map(values => values.toSorted((a, b) => a - b))

it('finds the same places as a search from the start', () => {
  const placeOf = (values: readonly number[], isReached: (value: number) => boolean): number =>
    values.filter(value => !isReached(value)).length
  fc.assert(
    fc.property(ascending, fc.integer({ min: -6, max: 6 }), (values, limit) => {
      expect(firstIndexFrom(values, limit)).toBe(placeOf(values, value => value >= limit))
      expect(firstIndexAbove(values, limit)).toBe(placeOf(values, value => value > limit))
      expect(firstIndexAbove(Float64Array.from(values), limit)).toBe(firstIndexAbove(values, limit))
    }),
  )
})

it('asks for at most one place more than the binary logarithm of the length', () => {
  let asked = 0
  const isReached = (index: number): boolean => {
    asked += 1
    return index >= 777_777
  }
  expect(firstIndex(1_000_000, isReached)).toBe(777_777)
  expect(asked).toBeLessThanOrEqual(21)
})
