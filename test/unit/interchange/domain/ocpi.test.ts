import { describe, expect, it } from 'vitest'
import { fractionOf } from '../../../../services/domain/fraction.ts'
import { type ReadOptions, readFile, reasonsOf, scheduleLines } from '../../../support/interchange/read-tariffs.ts'

const berlin = { zone: 'Europe/Berlin', currency: 'EUR' }
const energy = (price: number, restrictions?: object, more: object = {}) => ({
  price_components: [{ type: 'ENERGY', price, step_size: 1, ...more }],
  ...(restrictions === undefined ? {} : { restrictions }),
})
const other = (type: string, price: number, more: object = {}, restrictions?: object) => ({
  price_components: [{ type, price, step_size: 1, ...more }],
  ...(restrictions === undefined ? {} : { restrictions }),
})
const read = (elements: readonly object[], more: object = {}, options: ReadOptions = {}) =>
  readFile(
    'ocpi',
    { country_code: 'DE', party_id: 'ALL', id: '1', currency: 'EUR', elements, ...more },
    { ...berlin, ...options },
  )
const linesOf = (...args: Parameters<typeof read>) =>
  read(...args).tariffs.map(({ terms }) => scheduleLines(terms.schedule))
const startsOf = (...args: Parameters<typeof read>) =>
  read(...args).tariffs.map(({ terms }) => [terms.contractStart, terms.contractEnd])

describe('energy of OCPI', () => {
  it('has the price of the first element that applies, and is free without one', () => {
    const elements = [
      energy(0.5, { start_time: '22:00', end_time: '06:00' }),
      energy(0.3, { day_of_week: ['SATURDAY', 'SUNDAY'] }),
    ]
    expect(linesOf(elements)).toEqual([
      [
        'All Weekdays 0-6: 0.5',
        'All Weekdays 6-22: 0',
        'All Weekdays 22-24: 0.5',
        'All Weekend 0-6: 0.5',
        'All Weekend 6-22: 0.3',
        'All Weekend 22-24: 0.5',
      ],
    ])
  })

  it('has the weekday of each instant, also after midnight of a time that wraps', () => {
    const friday = { day_of_week: ['FRIDAY'], start_time: '22:00', end_time: '06:00' }
    const [lines = []] = linesOf([energy(0.5, friday), energy(0.3)])
    expect(lines.filter(line => line.endsWith(': 0.5'))).toEqual(['All Fri 0-6: 0.5', 'All Fri 22-24: 0.5'])
  })

  it('ends at midnight with an end at 00:00', () => {
    expect(linesOf([energy(0.5, { start_time: '18:00', end_time: '00:00' })])).toEqual([
      ['All All 0-18: 0', 'All All 18-24: 0.5'],
    ])
  })

  it('has a contract for each span between the local dates, and the times of the tariff', () => {
    const elements = [energy(0.5, { start_date: '2026-07-01', end_date: '2026-08-01' }), energy(0.3)]
    const [july, august] = ['2026-06-30T22:00:00Z', '2026-07-31T22:00:00Z'].map(text => Date.parse(text))
    expect(startsOf(elements)).toEqual([
      [null, july],
      [july, august],
      [august, null],
    ])
    expect(linesOf(elements).map(([line]) => line)).toEqual([
      'All All 0-24: 0.3',
      'All All 0-24: 0.5',
      'All All 0-24: 0.3',
    ])
    const times = { start_date_time: '2026-07-10T10:00:00Z', end_date_time: '2026-07-20T10:00:00' }
    expect(startsOf(elements, times)).toEqual([
      [Date.parse('2026-07-10T10:00:00Z'), Date.parse('2026-07-20T10:00:00Z')],
    ])
  })

  const limits = ['kwh', 'power', 'current', 'duration'].flatMap(name => [`min_${name}`, `max_${name}`])
  it.each(limits)('is not imported with %s', name => {
    const file = read([energy(0.5, { [name]: 5 }), energy(0.3), other('FLAT', 1)])
    expect(file.tariffs).toEqual([])
    expect(reasonsOf(file)).toContain(`/elements/0/restrictions/${name} per_session`)
    expect(file.charges.length).toBe(1)
  })

  it('is not imported in steps of more than 1 Wh', () => {
    const file = read([energy(0.5, undefined, { step_size: 100 })])
    expect([file.tariffs, reasonsOf(file)[0]]).toEqual([[], '/elements/0/price_components/0/step_size step_size'])
  })

  it('of a reservation is reported', () => {
    const file = read([energy(5, { reservation: 'RESERVATION' }), energy(0.3)])
    expect(reasonsOf(file)).toEqual(['/elements/0/price_components/0 reservation'])
    expect(file.tariffs.map(({ terms }) => scheduleLines(terms.schedule))).toEqual([['All All 0-24: 0.3']])
  })
})

describe('tax of OCPI', () => {
  const taxed = [energy(0.25, undefined, { vat: 10 }), other('FLAT', 1, { vat: 20 })]

  it('is reported, added on request, and kept in prices that include it', () => {
    expect(reasonsOf(read(taxed))).toEqual([
      '/elements/0/price_components/0/vat tax',
      '/elements/1/price_components/0/vat tax',
    ])
    const added = read(taxed, {}, { vat: 'SOURCE' })
    expect([reasonsOf(added), linesOf(taxed, {}, { vat: 'SOURCE' })]).toEqual([[], [['All All 0-24: 0.25+0.1']]])
    expect(added.charges).toMatchObject([{ terms: { price: 1_200_000_000n } }])
    expect(linesOf(taxed, {}, { vat: fractionOf(1n, 4n) })).toEqual([['All All 0-24: 0.25+0.25']])
    const included = read(taxed, { tax_included: 'YES' }, { vat: 'SOURCE' })
    expect([reasonsOf(included), included.charges[0]?.terms]).toMatchObject([[], { price: 1_000_000_000n }])
  })
})

describe('fees of OCPI', () => {
  const chargesOf = (elements: readonly object[]) => read(elements).charges.map(({ terms }) => terms)

  it('are charges of a session, its minutes and its idle minutes', () => {
    expect(chargesOf([other('FLAT', 0.5)])).toMatchObject([{ kind: 'SESSION', per: 'SESSION', price: 500_000_000n }])
    const evening = { start_time: '18:00', end_time: '22:00', day_of_week: ['FRIDAY'] }
    expect(chargesOf([other('TIME', 6, { step_size: 60 }, evening)])).toMatchObject([
      {
        per: 'MINUTE',
        while: 'CONNECTED',
        count: 'STARTED',
        price: 100_000_000n,
        windows: [{ days: ['Fri'], hours: [{ validFrom: 64_800, validTo: 79_200 }] }],
      },
    ])
    expect(chargesOf([other('PARKING_TIME', 3)])).toMatchObject([{ while: 'IDLE', count: 'EXACT', price: 50_000_000n }])
  })

  it('bill parking at its difference to charging time, because the minutes of a session contain both', () => {
    expect(chargesOf([other('TIME', 6), other('PARKING_TIME', 9)])).toMatchObject([
      { while: 'CONNECTED', price: 100_000_000n },
      { while: 'IDLE', price: 50_000_000n },
    ])
  })

  it.each([
    ['a price without an exact minute', [other('TIME', 1)]],
    ['a step of 5 min', [other('TIME', 6, { step_size: 300 })]],
    ['a fee at some times', [other('FLAT', 1, {}, { start_time: '08:00' })]],
    ['a fee by dates', [other('TIME', 6, {}, { start_date: '2026-01-01' })]],
    ['a fee by power', [other('TIME', 6, {}, { max_power: 16 })]],
    ['two fees of a type', [other('TIME', 6), other('TIME', 12)]],
  ])('are reported: %s', (_, elements) => {
    const file = read(elements)
    expect(file.charges).toEqual([])
    expect(reasonsOf(file)).toContain('/elements/0/price_components/0 no_charges')
  })

  it('with limits are reported', () => {
    expect(reasonsOf(read([energy(0.3)], { min_price: { excl_vat: 1 }, max_price: { excl_vat: 9 } }))).toEqual([
      '/min_price no_charges',
      '/max_price no_charges',
    ])
  })
})

describe('a file of OCPI', () => {
  const one = (type: string | undefined, price: number) => ({
    id: type ?? 'x',
    currency: 'EUR',
    type,
    elements: [energy(price)],
  })

  it('is a tariff, a list, or the data of an answer', () => {
    expect(readFile('ocpi', [one(undefined, 0.3)], berlin).tariffs.length).toBe(1)
    expect(readFile('ocpi', { data: [one(undefined, 0.3)] }, berlin).tariffs[0]?.from).toContain(
      '/data/0/elements/0/price_components/0',
    )
  })

  it('of several types needs a choice', () => {
    const file = [one('REGULAR', 0.3), one('AD_HOC_PAYMENT', 0.6)]
    expect(() => readFile('ocpi', file, berlin)).toThrow(/REGULAR, AD_HOC_PAYMENT.*Send type/)
    const chosen = readFile('ocpi', file, { ...berlin, type: 'AD_HOC_PAYMENT' })
    expect(chosen.tariffs.map(({ from }) => from)).toEqual([['/1/elements/0/price_components/0']])
  })

  it('needs the currency of the location', () => {
    expect(reasonsOf(read([energy(0.3)], { currency: 'SEK' }))).toEqual([' currency'])
  })
})
