import { describe, expect, it } from 'vitest'
import { fractionOf } from '../../../../services/domain/fraction.ts'
import { type ReadOptions, readFile, reasonsOf, scheduleLines } from '../../../support/interchange/read-tariffs.ts'

const denmark = { zone: 'Europe/Copenhagen', currency: 'DKK' }
const row = (code: string, price: number, more: object = {}) => ({
  GLN_Number: '579',
  ChargeType: 'D03',
  ChargeTypeCode: code,
  Note: `Tariff ${code}`,
  VATClass: 'D01',
  ValidFrom: '2026-01-01T00:00:00',
  ValidTo: null,
  ResolutionDuration: 'P1D',
  Price1: price,
  ...more,
})
const read = (records: readonly object[], options: ReadOptions = {}) =>
  readFile('datahub-pricelist', { total: records.length, records }, { ...denmark, ...options })
const linesOf = (records: readonly object[], options: ReadOptions = {}) =>
  read(records, options).tariffs.map(({ terms }) => scheduleLines(terms.schedule))

describe('tariffs of the Danish price list', () => {
  it('are added, one contract for each span of the rows in force', () => {
    const june = { ValidTo: '2026-06-01T00:00:00' }
    const file = read([row('a', 0.1, june), row('b', 0.02), row('a', 0.3, { ValidFrom: june.ValidTo })])
    expect(file.tariffs.map(({ terms }) => [terms.type, terms.contractStart, terms.contractEnd])).toEqual([
      ['NON_COMMODITY', Date.parse('2025-12-31T23:00:00Z'), Date.parse('2026-05-31T22:00:00Z')],
      ['NON_COMMODITY', Date.parse('2026-05-31T22:00:00Z'), null],
    ])
    expect(file.tariffs.map(({ terms }) => scheduleLines(terms.schedule))).toEqual([
      ['All All 0-24: 0.12'],
      ['All All 0-24: 0.32'],
    ])
    expect(file.tariffs[0]?.from).toEqual(['/records/0', '/records/1'])
  })

  it('have a price for each hour; a blank is the first price', () => {
    const hourly = { ResolutionDuration: 'PT1H', Price2: null, Price18: 0.5 }
    expect(linesOf([row('a', 0.1, hourly)])).toEqual([
      ['All All 0-17: 0.1', 'All All 17-18: 0.5', 'All All 18-24: 0.1'],
    ])
    // The other prices of a day or a month do not count.
    expect(linesOf([row('a', 0.1, { Price18: 0.5, ResolutionDuration: 'P1M' })])).toEqual([['All All 0-24: 0.1']])
  })

  it('have the tax of each row on request', () => {
    const rows = [row('a', 0.1, { VATClass: 'D02' }), row('b', 0.02)]
    expect([reasonsOf(read(rows)), linesOf(rows)]).toEqual([['/records/0/VATClass tax'], [['All All 0-24: 0.12']]])
    // 0.1 x 1.25 + 0.02
    expect([reasonsOf(read(rows, { vat: 'SOURCE' })), linesOf(rows, { vat: 'SOURCE' })]).toEqual([
      [],
      [['All All 0-24: 0.145']],
    ])
    expect(linesOf(rows, { vat: fractionOf(1n, 2n) })).toEqual([['All All 0-24: 0.17']])
  })

  it('can be chosen by code and owner', () => {
    const rows = [row('a', 0.1), row('b', 0.02), row('a', 0.5, { GLN_Number: '580' })]
    expect(linesOf(rows, { codes: ['a'], glns: ['579'] })).toEqual([['All All 0-24: 0.1']])
    expect(read(rows, { codes: ['b'] }).noted.map(({ path }) => path)).toEqual(['/total', '/records/0', '/records/2'])
  })

  it('are not imported with another resolution', () => {
    const file = read([row('a', 0.1), row('b', 0.1, { ResolutionDuration: 'PT15M' })])
    expect([file.tariffs, reasonsOf(file)]).toEqual([[], ['/records/0 unit', '/records/1 unit']])
  })

  it('are refused if one of them applies twice, or in another currency', () => {
    expect(() => read([row('a', 0.1), row('a', 0.2)])).toThrow(/tariff_overlap.*records\/1/)
    expect(reasonsOf(read([row('a', 0.1)], { currency: 'SEK' }))).toEqual(['/records currency'])
  })
})

describe('other charges of the Danish price list', () => {
  it('are a fixed charge for each month of a subscription, and a report of a fee', () => {
    const dates = { ValidFrom: '2026-02-01T00:00:00', ValidTo: '2026-03-01T00:00:00' }
    const file = read(
      [row('s', 20, { ChargeType: 'D01', VATClass: 'D02', ...dates }), row('f', 9, { ChargeType: 'D02' })],
      { vat: 'SOURCE' },
    )
    expect(file.charges).toMatchObject([{ terms: { kind: 'FIXED', per: 'MONTH', price: 25_000_000_000n } }])
    const days = file.charges.map(({ terms }) => Number(terms.endDay) - Number(terms.startDay))
    expect([days, reasonsOf(file)]).toEqual([[28], ['/records/1 no_charges']])
  })
})
