import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readPriceCsv } from '../../../../services/domain/market-feed/price-csv.ts'
import { formatDecimal } from '../../../../services/domain/quantity.ts'

const start = Date.parse('2025-10-01T22:00:00Z')
const minuteMs = 60_000

const pricesOf = (text: string, unit: 'PER_KWH' | 'PER_MWH' | 'HUNDREDTH_PER_KWH' = 'PER_KWH') => {
  const read = readPriceCsv(text, unit)
  if (!read.ok) throw new Error(JSON.stringify(read.faults))
  return read.prices.map(price => [(price.start - start) / minuteMs, (price.end - price.start) / minuteMs, price.value])
}

const faultsOf = (text: string): readonly (readonly [number, string])[] => {
  const read = readPriceCsv(text, 'PER_KWH')
  return read.ok ? [] : read.faults.map(({ line, message }) => [line, message])
}

describe('a file of prices', () => {
  it.each([
    ['commas', 'start_time,end_time,value\n2025-10-02T00:00:00+02:00,2025-10-02T01:00:00+02:00,0.25'],
    [
      'semicolons, decimal commas and quotes',
      'end_time;value;start_time\n"2025-10-02T01:00:00+02:00";"0,25";2025-10-02T00:00:00+02:00\r\n',
    ],
    [
      'tabs, remarks and further columns',
      '# made by hand\nStart\tNote\tEnd\tPrice\n\n2025-10-01T22:00:00Z\tx\t2025-10-01T23:00:00Z\t0.25\n',
    ],
    ['a mark of byte order', '\uFEFFstart_time,end_time,value\n2025-10-01T22:00:00Z,2025-10-01T23:00:00Z,0.25'],
  ])('may have %s', (_, text) => {
    expect(pricesOf(text)).toEqual([[0, 60, 250_000_000n]])
  })

  it('counts in the unit that is named', () => {
    const text = 'start_time,end_time,value\n2025-10-01T22:00:00Z,2025-10-01T23:00:00Z,12.345678'
    expect(pricesOf(text, 'PER_MWH')[0]?.[2]).toBe(12_345_678n)
    expect(pricesOf(text, 'HUNDREDTH_PER_KWH')[0]?.[2]).toBe(123_456_780n)
  })

  it('without ends lets each price last to the next, and leaves gaps open', () => {
    const text =
      'start_time,value\n2025-10-01T22:00:00Z,1\n2025-10-01T22:15:00Z,2\n2025-10-02T00:00:00Z,3\n2025-10-02T00:15:00Z,4'
    expect(pricesOf(text).map(([at, length]) => [at, length])).toEqual([
      [0, 15],
      [15, 15],
      [120, 15],
      [135, 15],
    ])
  })

  it('names every line that cannot be used, and what to change', () => {
    const text = [
      'start_time,end_time,value',
      '2025-10-02T00:00:00,2025-10-02T01:00:00Z,1',
      '2025-10-02T01:00:00Z,2025-10-02T02:00:00Z,1',
      '2025-10-02T02:00:00Z,2025-10-02T02:00:00Z,1',
      '2025-10-02T03:00:00Z,2025-10-02T04:00:00Z,n/a',
      '2025-10-02T04:00:00Z,2025-10-02T05:00:00Z,2000000',
      '2025-10-02T05:00:00Z',
    ].join('\n')
    expect(faultsOf(text).map(([line]) => line)).toEqual([2, 4, 5, 6, 7])
    expect(faultsOf(text)[0]?.[1]).toContain('2025-10-02T00:00:00')
  })

  it('names lines that share time, and a head without columns', () => {
    const text =
      'start_time,end_time,value\n2025-10-01T23:00:00Z,2025-10-02T00:00:00Z,1\n2025-10-01T22:00:00Z,2025-10-01T23:15:00Z,2'
    expect(faultsOf(text)).toEqual([[2, 'it overlaps line 3']])
    expect(faultsOf('2025-10-01T22:00:00Z,1')[0]?.[1]).toContain('start_time,end_time,value')
    expect(faultsOf('')[0]?.[1]).toContain('start_time,end_time,value')
  })

  it('returns the rows that were written', () => {
    const rows = fc.array(
      fc.tuple(
        fc.integer({ min: 1, max: 90 }),
        fc.integer({ min: 0, max: 60 }),
        fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }),
      ),
      {
        minLength: 1,
        maxLength: 40,
      },
    )
    fc.assert(
      fc.property(rows, drafts => {
        let at = start
        const wanted = drafts.map(([length, gap, value]) => {
          const from = at + gap * minuteMs
          at = from + length * minuteMs
          return { start: from, end: at, value }
        })
        const iso = (instant: number): string => new Date(instant).toISOString()
        const lines = wanted.map(price => `${iso(price.start)},${iso(price.end)},${formatDecimal(price.value, 9)}`)
        expect(readPriceCsv(['start_time,end_time,value', ...lines].join('\n'), 'PER_KWH')).toEqual({
          ok: true,
          prices: wanted,
        })
      }),
      { numRuns: 60 },
    )
  })
})
