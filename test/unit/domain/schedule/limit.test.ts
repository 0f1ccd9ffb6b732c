import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { scheduleLimit } from '../../../../services/domain/schedule/slot.ts'

const hourMs = 3_600_000
const hours = (...prices: readonly (number | null)[]) =>
  prices.flatMap((price, index) =>
    price === null
      ? []
      : [{ start: index * hourMs, end: (index + 1) * hourMs, price: BigInt(price), confidence: 10_000 }],
  )
const shown = (slots: ReturnType<typeof scheduleLimit>) =>
  slots.map(({ start, end, average }) => [start / hourMs, end / hourMs, Number(average)])
const share = (fraction: number): bigint => BigInt(Math.round(fraction * 1e9))

describe('a limit', () => {
  it('chooses all time at the limit or on its side, adjacent time as one slot', () => {
    const prices = hours(3, 1, 2, 4, 2)
    expect(shown(scheduleLimit(prices, 'LOW', { absolute: 2n, relative: null }))).toEqual([
      [1, 3, 2],
      [4, 5, 2],
    ])
    expect(shown(scheduleLimit(prices, 'HIGH', { absolute: 3n, relative: null }))).toEqual([
      [0, 1, 3],
      [3, 4, 4],
    ])
    expect(scheduleLimit(prices, 'LOW', { absolute: 0n, relative: null })).toEqual([])
  })

  it('is a share of the range when it is relative, and absolute wins', () => {
    // Half of the way from -2 to 6 is 2
    const prices = hours(-2, 2, 3, 6)
    expect(shown(scheduleLimit(prices, 'LOW', { absolute: null, relative: share(0.5) }))).toEqual([[0, 2, 0]])
    expect(shown(scheduleLimit(prices, 'HIGH', { absolute: null, relative: share(0.5) }))).toEqual([[1, 4, 4]])
    expect(shown(scheduleLimit(prices, 'LOW', { absolute: -2n, relative: share(1) }))).toEqual([[0, 1, -2]])
    // A third of the way from 0 to 1 lies between them and is not rounded to either
    expect(shown(scheduleLimit(hours(0, 1), 'LOW', { absolute: null, relative: share(0.999999999) }))).toEqual([
      [0, 1, 0],
    ])
  })

  it('leaves out time without a price and does not reach over it', () => {
    expect(shown(scheduleLimit(hours(1, null, 1), 'LOW', { absolute: 1n, relative: null }))).toEqual([
      [0, 1, 1],
      [2, 3, 1],
    ])
  })

  it('cuts a window in two by any price: LOW and HIGH share what is at it', () => {
    const anyPrices = fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(anyPrices, fc.integer({ min: -4, max: 4 }), (prices, at) => {
        const lengthOf = (segment: 'LOW' | 'HIGH') =>
          scheduleLimit(hours(...prices), segment, { absolute: BigInt(at), relative: null }).reduce(
            (sum, { start, end }) => sum + end - start,
            0,
          ) / hourMs
        expect(lengthOf('LOW')).toBe(prices.filter(price => price <= at).length)
        expect(lengthOf('HIGH')).toBe(prices.filter(price => price >= at).length)
      }),
    )
  })
})
