import { describe, expect, it } from 'vitest'
import { fractionOf } from '../../../../services/domain/fraction.ts'
import { decideImport } from '../../../../services/interchange/domain/decide-import.ts'
import { type ReadOptions, readFile, reasonsOf, scheduleLines } from '../../../support/interchange/read-tariffs.ts'

const norway = { zone: 'Europe/Oslo', currency: 'NOK' }
const tariff = (energiledd: object, more: object = {}) => ({
  kundegrupper: ['husholdning'],
  gyldig_fra: '2025-01-01',
  energiledd: { grunnpris: 20, ...energiledd },
  ...more,
})
const read = (tariffer: readonly object[], options: ReadOptions = {}) =>
  readFile('fri-nettleie', { netteier: 'Nett AS', gln: ['708'], tariffer }, { ...norway, ...options })
const linesOf = (unntak: readonly object[], options: ReadOptions = {}) =>
  read([tariff({ unntak })], options).tariffs.map(({ terms }) => scheduleLines(terms.schedule))
const steps = [
  { terskel: 2, pris: 3_000 },
  { terskel: 0, pris: 1_200 },
]
const chargesOf = (fastledd: object, options: ReadOptions = {}) =>
  read([tariff({}, { fastledd })], options).charges.map(({ terms }) => terms)

describe('energy of a Norwegian grid company', () => {
  it('costs the base price in NOK in a contract of local dates', () => {
    const [one] = read([tariff({}, { gyldig_til: '2025-07-01' })]).tariffs
    expect([one?.terms.type, scheduleLines(one?.terms.schedule ?? [])]).toEqual([
      'NON_COMMODITY',
      ['All All 0-24: 0.2'],
    ])
    expect([one?.terms.contractStart, one?.terms.contractEnd]).toEqual(
      ['2024-12-31T23:00:00Z', '2025-06-30T22:00:00Z'].map(text => Date.parse(text)),
    )
  })

  it('includes both hours of an exception, also over midnight', () => {
    expect(linesOf([{ navn: 'Dag', timer: '6-21', pris: 31 }])).toEqual([
      ['All All 0-6: 0.2', 'All All 6-22: 0.31', 'All All 22-24: 0.2'],
    ])
    expect(linesOf([{ timer: '22-5', pris: 10 }])).toEqual([
      ['All All 0-6: 0.1', 'All All 6-22: 0.2', 'All All 22-24: 0.1'],
    ])
  })

  it('has the last exception that contains an hour', () => {
    const day = { timer: '6-21', pris: 31 }
    expect(linesOf([day, { dager: ['helg'], pris: 12 }])).toEqual([
      ['All Weekdays 0-6: 0.2', 'All Weekdays 6-22: 0.31', 'All Weekdays 22-24: 0.2', 'All Weekend 0-24: 0.12'],
    ])
    expect(
      linesOf([
        { dager: ['fredag'], pris: 12 },
        { ...day, dager: ['alle'] },
      ])[0],
    ).toContain('All Fri 6-22: 0.31')
  })

  it('follows months and single days', () => {
    const [lines = []] = linesOf([{ måneder: ['januar', 'desember'], dager: ['ukedag'], pris: 40 }])
    expect(lines.slice(0, 2)).toEqual(['Jan,Dec Weekdays 0-24: 0.4', 'Jan,Dec Weekend 0-24: 0.2'])
  })

  it.each([
    ['virkedag', ['All Weekdays 0-24: 0.4', 'All Weekend 0-24: 0.2', 'All Holidays 0-24: 0.2']],
    ['fridag', ['All Weekdays 0-24: 0.2', 'All Weekend 0-24: 0.4', 'All Holidays 0-24: 0.4']],
    ['helligdager', ['All All 0-24: 0.2', 'All Holidays 0-24: 0.4']],
  ])('names public holidays for %s, if the location has a calendar', (day, lines) => {
    expect(linesOf([{ dager: [day], pris: 40 }], { hasCalendar: true })).toEqual([lines])
    const without = read([
      tariff({ unntak: [{ dager: [day], pris: 40 }] }, { fastledd: { metode: 'MND_MAX', terskler: steps } }),
    ])
    expect([without.tariffs, reasonsOf(without), without.charges.length]).toEqual([
      [],
      ['/tariffer/0/energiledd public_holidays'],
      1,
    ])
  })

  it('is not imported if the price of a holiday depends on its weekday', () => {
    const unntak = [
      { dager: ['helligdager'], pris: 10 },
      { dager: ['fredag'], pris: 40 },
    ]
    expect(reasonsOf(read([tariff({ unntak })], { hasCalendar: true }))).toEqual([
      '/tariffer/0/energiledd public_holidays',
    ])
  })

  it('is not imported with an addition', () => {
    expect(reasonsOf(read([tariff({ unntak: [{ tillegg: 5 }] })]))).toContain('/tariffer/0/energiledd formula')
  })

  it('has the surcharge and the tax of the options', () => {
    expect(linesOf([], { surcharge: fractionOf(1n, 10n), vat: fractionOf(1n, 4n) })).toEqual([
      ['All All 0-24: 0.2+0.1+0.25'],
    ])
    expect(() => linesOf([], { vat: 'SOURCE' })).toThrow(/percentage/)
  })
})

describe('capacity of a Norwegian grid company', () => {
  it.each([
    ['TRE_DØGNMAX_MND', true, { highest: 3, hasDistinctDays: true, stepEdge: 'LOWER_INCLUSIVE' }],
    ['MND_MAX', false, { highest: 1, hasDistinctDays: false, stepEdge: 'LOWER_EXCLUSIVE' }],
  ])('is billed by steps of %s', (metode, isIncluded, terms) => {
    const rising = [
      { from: 0n, amount: 1_500_000_000_000n },
      { from: 2_000_000_000n, amount: 3_750_000_000_000n },
    ]
    expect(
      chargesOf({ metode, terskel_inkludert: isIncluded, terskler: steps }, { vat: fractionOf(1n, 4n) }),
    ).toMatchObject([{ kind: 'DEMAND', per: 'YEAR', intervalMinutes: 60, steps: rising, ...terms }])
  })

  it.each(['UKJENT', 'OV_TREFASE', 'FEM_VEKTET_ÅR'])('is reported for %s', metode => {
    const file = read([tariff({}, { fastledd: { metode, terskler: steps } })])
    expect([file.charges, reasonsOf(file), file.tariffs.length]).toEqual([[], ['/tariffer/0/fastledd formula'], 1])
  })

  it('is a fixed charge with one step', () => {
    expect(chargesOf({ metode: 'OV_TREFASE', terskler: [{ terskel: 0, pris: 700 }] })).toMatchObject([
      { kind: 'FIXED', per: 'YEAR', price: 700_000_000_000n },
    ])
  })
})

describe('customer groups', () => {
  const groups = [tariff({}), tariff({ grunnpris: 30 }, { kundegrupper: ['fritid'] })]

  it('must be chosen if there are several', () => {
    expect(() => read(groups)).toThrow(/husholdning, fritid.*Send group/)
    const file = read(groups, { group: 'fritid' })
    expect(file.tariffs.map(({ from }) => from[0])).toEqual(['/tariffer/1/energiledd'])
    expect(file.noted.map(({ path }) => path)).toContain('/tariffer/0')
  })

  it('have one tariff at a time: two are refused, and an end is exclusive', () => {
    const later = tariff({}, { gyldig_fra: '2025-07-01' })
    const decide = (end: string) =>
      decideImport(read([tariff({}, { gyldig_til: end }), later]), { tariffs: [], charges: [] }, false)
    expect(decide('2025-07-02')).toMatchObject({ ok: false, refusal: { code: 'tariff_overlap' } })
    expect(decide('2025-07-01')).toMatchObject({ ok: true, value: { tariffs: [{}, {}] } })
  })

  it('need a location in NOK', () => {
    expect(reasonsOf(read(groups, { currency: 'EUR' }))).toEqual(['/tariffer currency'])
  })
})
