import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJson } from '../../../../services/contract/json/strict-json.ts'
import { marketCreate, marketRetrieve } from '../../../../services/contract/markets/market.ts'
import {
  findOverlap,
  marketPriceList,
  marketPricePut,
  marketPrices,
} from '../../../../services/contract/markets/market-price.ts'
import { readShape } from '../../../../services/contract/read-shape.ts'

const price = { start_time: '2026-01-01T00:00:00Z', end_time: '2026-01-01T01:00:00+00:00', value: 0.1 }

describe('a body of prices', () => {
  it('has exact numbers, in the order of the request', () => {
    const text = `[{"start_time":"2026-01-01T02:00:00Z","end_time":"2026-01-01T03:00:00Z","value":-999999.123456789},${JSON.stringify(price)}]`
    const parsed = parseJson(new TextEncoder().encode(text))
    expect(parsed.ok && readShape(marketPrices, parsed.value, 'body')).toEqual({
      ok: true,
      value: [
        { start: Date.UTC(2026, 0, 1, 2), end: Date.UTC(2026, 0, 1, 3), value: -999_999_123_456_789n },
        { start: Date.UTC(2026, 0, 1), end: Date.UTC(2026, 0, 1, 1), value: 100_000_000n },
      ],
    })
  })

  it.each([
    ['a price above a million', { value: 1_000_000.01 }, 'value_out_of_range', '[0].value'],
    ['a price as a text', { value: '0.1' }, 'field_invalid', '[0].value'],
    ['no offset', { start_time: '2026-01-01T00:00:00' }, 'field_invalid', '[0].start_time'],
    ['an empty interval', { end_time: price.start_time }, 'end_before_start', '[0].end_time'],
    ['an unknown member', { price: 1 }, 'unknown_field', '[0].price'],
    ['no value', { value: null }, 'field_invalid', '[0].value'],
  ])('refuses %s', (_, change, code, field) => {
    expect(readShape(marketPrices, [{ ...price, ...change }], 'body')).toMatchObject({
      ok: false,
      refusal: { code, field },
    })
  })

  it('is refused if two intervals share an instant', () => {
    const intervals = fc.array(
      fc
        .tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 6 }))
        .map(([start, length]) => ({ start, end: start + length, value: 0n })),
      { maxLength: 8 },
    )
    fc.assert(
      fc.property(intervals, prices => {
        const share = prices.some((a, i) => prices.some((b, j) => i < j && a.start < b.end && b.start < a.end))
        const found = findOverlap(prices)
        expect(found !== null).toBe(share)
        if (found === null) return
        const [a, b] = [prices[found.index], prices[found.other]]
        expect(a !== undefined && b !== undefined && a.start < b.end && b.start < a.end).toBe(true)
      }),
    )
  })
})

describe('the interval of prices that a caller reads', () => {
  const days = (count: number) => ({
    start_time: '2026-01-01T00:00:00Z',
    end_time: new Date(Date.UTC(2026, 0, 1 + count)).toISOString(),
  })

  it.each([
    [90, true],
    [91, false],
    [0, false],
  ])('of %i days is accepted: %s', (count, isRead) => {
    expect(readShape(marketPriceList.query ?? marketPrices, days(count), 'query').ok).toBe(isRead)
  })
})

describe('the reference page', () => {
  it.each([marketCreate, marketRetrieve, marketPricePut, marketPriceList])(
    'shows a valid answer of $id',
    ({ answer, examples }) => {
      expect(answer.shape.safeParse(examples?.answer).error).toBeUndefined()
    },
  )
})
