import { describe, expect, it } from 'vitest'
import { fractionOf } from '../../../../services/domain/fraction.ts'
import { type ReadOptions, readFile, reasonsOf, scheduleLines } from '../../../support/interchange/read-tariffs.ts'

const london = { zone: 'Europe/London', currency: 'GBP' }
const row = (from: string, to: string | null, pence: number, more: object = {}) => ({
  value_exc_vat: pence,
  value_inc_vat: pence * 2,
  valid_from: from,
  valid_to: to,
  payment_method: null,
  ...more,
})
const [first, second, third] = ['2026-01-10T00:00:00Z', '2026-01-10T12:00:00Z', '2026-01-11T00:00:00Z'] as const
const read = (results: readonly object[], options: ReadOptions = {}) =>
  readFile('octopus', { count: results.length, next: null, results }, { ...london, ...options })

describe('unit rates of Octopus', () => {
  it('are a market tariff and its prices in pounds, in the order of time', () => {
    const file = read([row(second, third, 20.5), row(first, second, 8.0952)], { codes: ['E-1R-AGILE-24-10-01-C'] })
    expect(file.tariffs).toMatchObject([
      {
        name: 'Octopus E-1R-AGILE-24-10-01-C, region C',
        terms: { direction: 'IMPORT', marketRates: true, contractStart: Date.parse(first), contractEnd: null },
        marketPrices: [{ value: 80_952_000n }, { value: 205_000_000n }],
      },
    ])
  })

  it('have the price with tax on request, or the tax and surcharge of the options', () => {
    expect(read([row(first, second, 8)], { vat: 'SOURCE' }).tariffs[0]?.marketPrices).toMatchObject([
      { value: 160_000_000n },
    ])
    const [tariff] = read([row(first, second, 8)], {
      vat: fractionOf(1n, 20n),
      surcharge: fractionOf(1n, 100n),
    }).tariffs
    expect(tariff?.marketPrices).toMatchObject([{ value: 80_000_000n }])
    expect(scheduleLines(tariff?.terms.schedule ?? [])).toEqual(['All All 0-24: 0+0.01+0.05'])
  })

  it('without an end are a tariff of their own', () => {
    const { tariffs } = read([row(second, null, 30), row(first, second, 8)])
    expect(tariffs.map(({ terms }) => [terms.marketRates, terms.contractStart, terms.contractEnd])).toEqual([
      [true, Date.parse(first), Date.parse(second)],
      [false, Date.parse(second), null],
    ])
    expect(scheduleLines(tariffs[1]?.terms.schedule ?? [])).toEqual(['All All 0-24: 0.3'])
  })

  it('name their gaps', () => {
    const file = read([row(first, second, 8), row(third, '2026-01-12T00:00:00Z', 9)])
    expect(file.noted).toContainEqual({ path: '/results/1', message: `There is no price from ${second} to ${third}.` })
  })

  it('of several payment methods need a choice', () => {
    const rows = [
      row(first, second, 8, { payment_method: 'DIRECT_DEBIT' }),
      row(first, second, 9, { payment_method: 'NON_DIRECT_DEBIT' }),
    ]
    expect(() => read(rows)).toThrow(/tariff_overlap.*payment/)
    const file = read(rows, { payment: 'DIRECT_DEBIT' })
    expect(file.tariffs[0]?.marketPrices).toMatchObject([{ value: 80_000_000n }])
  })

  it('of export are an EXPORT tariff', () => {
    expect(read([row(first, second, 8)], { isExport: true }).tariffs[0]?.terms.direction).toBe('EXPORT')
  })

  it('need a location in GBP', () => {
    expect(reasonsOf(read([row(first, second, 8)], { currency: 'EUR' }))).toEqual(['/results currency'])
  })
})

describe('standing charges of Octopus', () => {
  it('are fixed charges per day of whole local days', () => {
    const rows = [row('2026-01-10T00:00:00Z', '2026-06-30T23:00:00Z', 47.85), row('2026-06-30T23:00:00Z', null, 50)]
    const file = read(rows, { isStanding: true })
    expect(file.charges.map(({ terms }) => terms)).toMatchObject([
      { kind: 'FIXED', per: 'DAY', price: 478_500_000n },
      { kind: 'FIXED', per: 'DAY', price: 500_000_000n, endDay: null },
    ])
    expect(file.charges[0]?.terms.endDay).toBe(file.charges[1]?.terms.startDay)
    expect(file.tariffs).toEqual([])
  })
})
