import { describe, expect, it } from 'vitest'
import type { ChargeBase } from '../../../../services/domain/charge/charge.ts'
import type { StatementRounding } from '../../../../services/domain/statement/round-lines.ts'
import { billOf, chargeLines, decimal, flat, used } from './bill.ts'

const june = used('2026-06-01T00:00', '2026-07-01T00:00', '720')
const fixed = (name: string, price: string, more = {}) => ({ kind: 'FIXED', name, price, per: 'DAY', ...more })
const percentage = (name: string, rate: string, more = {}) => ({ kind: 'PERCENTAGE', name, rate, ...more })

/** Return the amounts of the lines with some names. */
const amountsOf = (charges: readonly object[], names: readonly string[], rounding?: StatementRounding) => {
  const more = rounding === undefined ? {} : { rounding }
  const lines = chargeLines(billOf({ charges: charges as never, tariffs: [flat('0.1')], records: [june] }, more))
  return lines.filter(([name]) => names.includes(String(name))).map(([, , amount, rounded]) => [amount, rounded])
}

const only = (charges: readonly object[], name: string) => amountsOf(charges, [name])[0]?.[0]

describe('a PERCENTAGE', () => {
  it('reads energy, basic charges and derived lines of a lower sequence', () => {
    // Energy 72, fixed 30; bonus −10 % of 102 = −10.2; tax 20 % of 91.8; levy 10 % of 91.8 + 18.36; twin sees no twin
    const charges = [
      fixed('f', '1', { sequence: '900' }),
      percentage('levy', '0.1', { sequence: '300' }),
      percentage('tax', '0.2'),
      percentage('twin', '0.2'),
      percentage('bonus', '-0.1', { tax: false, sequence: '150' }),
    ]
    expect(amountsOf(charges, ['bonus', 'tax', 'twin', 'levy']).map(([amount]) => amount)).toEqual([
      '-10.2',
      '18.36',
      '18.36',
      '12.852',
    ])
  })

  it('can be one of many that read each other in turn', () => {
    const chain = Array.from({ length: 200 }, (_, index) =>
      percentage(`p${index}`, '0.01', { sequence: String(index), start_date: '2026-06-02' }),
    )
    // 29 days of energy at 2.4 and of 1 are 98.6; the second reads the first too: 99.586
    expect(only([fixed('f', '1'), ...chain], 'p0')).toBe('0.986')
    expect(only([fixed('f', '1'), ...chain], 'p1')).toBe('0.99586')
  })

  it('reads the part of its base in its validity, by the days of each line', () => {
    // 10 of 30 days: energy 24, fixed 10
    expect(only([fixed('f', '1'), percentage('tax', '0.5', { end_date: '2026-06-11' })], 'tax')).toBe('17')
    // Demand by its day weights: 720 kWh in 720 hours are 1 kW × 30 a month; the whole amount on the first day without proration
    const demand = { kind: 'DEMAND', name: 'd', price: '30', component: 'd' }
    const base = { base: { components: ['d'] }, end_date: '2026-06-11' }
    expect(only([demand, percentage('tax', '0.5', base)], 'tax')).toBe('5')
    expect(only([{ ...demand, prorate: 'NONE' }, percentage('tax', '0.5', base)], 'tax')).toBe('15')
    const later = { base: { components: ['d'] }, start_date: '2026-06-11' }
    expect(only([{ ...demand, prorate: 'NONE' }, percentage('tax', '0.5', later)], 'tax')).toBe('0')
  })

  it('reads the lines that match all lists of its base', () => {
    const charges = (base: Partial<ChargeBase>) => [
      fixed('f', '1', { component: 'a' }),
      fixed('g', '2', { component: 'b' }),
      percentage('tax', '1', { base }),
    ]
    expect(only(charges({}), 'tax')).toBe('162')
    expect(only(charges({ kinds: ['FIXED'] }), 'tax')).toBe('90')
    expect(only(charges({ kinds: ['FIXED'], components: ['b', 'energy'] }), 'tax')).toBe('60')
    expect(only(charges({ directions: ['EXPORT'] }), 'tax')).toBe('0')
  })

  it('belongs to the first direction of its base', () => {
    const hour = ['2026-06-01T10:00', '2026-06-01T11:00'] as const
    const sold = used(...hour, '10', { energy_flow_direction: 'OUTBOUND' })
    const charges = [
      percentage('fee', '0.5', { base: { directions: ['EXPORT'] }, sequence: '100' }),
      percentage('tax', '0.1', { base: { directions: ['IMPORT', 'EXPORT'] } }),
    ]
    const tariffs = [flat('0.1'), flat('0.2', { direction: 'EXPORT' })]
    const lines = billOf({ charges, tariffs, records: [sold] }).periods[0]?.lines ?? []
    // Sold −2; half of that −1; a tenth of both −0.3
    expect(lines.map(line => [line.name, line.direction, decimal(line.amount)])).toEqual([
      ['Energy export', 'EXPORT', '-2'],
      ['fee', 'EXPORT', '-1'],
      ['tax', 'IMPORT', '-0.3'],
    ])
  })
})

describe('a base with the direction IMPORT', () => {
  const feeding = { kind: 'USAGE', name: 'feed-in', price: '0.01', counts: 'EXPORT' }
  const peak = { kind: 'DEMAND', name: 'feed-in peak', price: '1', counts: 'EXPORT', component: 'peak' }
  const fee = percentage('fee', '0.5', { base: { directions: ['EXPORT'] }, sequence: '90' })
  const sold = used('2026-06-01T10:00', '2026-06-01T11:00', '10', { energy_flow_direction: 'OUTBOUND' })

  /** Return the names that the reason of the last line lists. */
  const leftOutOf = (derived: object) => {
    const charges = [feeding, { ...feeding, price: '0.02' }, peak, fee, fixed('f', '1'), derived]
    const tariffs = [flat('0.1'), flat('0.2', { direction: 'EXPORT' })]
    const { periods } = billOf({ charges: charges as never, tariffs, records: [june, sold] })
    const { reason } = periods[0]?.lines.at(-1) ?? {}
    return reason?.kind === 'LIMIT' || reason?.kind === 'PERCENTAGE' ? reason.leftOut : null
  }

  it.each([
    ['PERCENTAGE', { rate: '0.2' }],
    ['MINIMUM', { amount: '100' }],
    ['MAXIMUM', { amount: '1' }],
  ])('of a %s names the charges that it leaves out because they count EXPORT', (kind, members) => {
    const left = (base?: object) => leftOutOf({ kind, name: 'last', ...members, base, sequence: '500' })
    expect(left()).toEqual(['feed-in', 'feed-in peak', 'fee'])
    expect(left({ components: ['peak', 'fixed'] })).toEqual(['feed-in peak'])
    expect(left({ kinds: ['FIXED', 'ENERGY'] })).toEqual([])
    expect(left({ directions: ['IMPORT'] })).toEqual(['feed-in', 'feed-in peak', 'fee'])
    expect(left({ directions: ['EXPORT'] })).toEqual([])
    expect(left({ directions: ['IMPORT', 'EXPORT'] })).toEqual([])
    expect(leftOutOf({ kind, name: 'last', ...members, sequence: '90' })).toEqual(['feed-in', 'feed-in peak'])
  })
})

describe('a limit', () => {
  const limit = (kind: string, members: object) => ({ kind, name: 'limit', ...members })

  it('lifts or lowers the base, or is 0', () => {
    // The base is 72 of energy.
    expect(only([limit('MINIMUM', { amount: '100' })], 'limit')).toBe('28')
    expect(only([limit('MINIMUM', { amount: '50' })], 'limit')).toBe('0')
    expect(only([limit('MAXIMUM', { amount: '50' })], 'limit')).toBe('-22')
    expect(only([limit('MAXIMUM', { amount: '100' })], 'limit')).toBe('0')
  })

  it('adds up its amount by time and by bought energy', () => {
    // 30 × 3 = 90; 120; 1,200 / 12 = 100; 0.1 × 720 + 10 = 82
    expect(only([limit('MINIMUM', { amount: '3', per: 'DAY' })], 'limit')).toBe('18')
    expect(only([limit('MINIMUM', { amount: '120', per: 'MONTH' })], 'limit')).toBe('48')
    expect(only([limit('MINIMUM', { amount: '1200', per: 'YEAR' })], 'limit')).toBe('28')
    expect(only([limit('MINIMUM', { amount: '10', per_kwh: '0.1' })], 'limit')).toBe('10')
    // 15 days: 60 − 36; energy of 15 days 0.2 × 360 − 36
    expect(only([limit('MINIMUM', { amount: '120', per: 'MONTH', end_date: '2026-06-16' })], 'limit')).toBe('24')
    expect(only([limit('MINIMUM', { amount: '0', per_kwh: '0.2', end_date: '2026-06-16' })], 'limit')).toBe('36')
  })

  it('is divided by days among percentages', () => {
    const charges = [
      limit('MINIMUM', { amount: '102' }),
      percentage('tax', '1', { end_date: '2026-06-11', base: { kinds: ['MINIMUM'] } }),
    ]
    expect(only(charges, 'tax')).toBe('10')
  })

  it('explains itself by its limit and its base', () => {
    const { periods } = billOf({
      charges: [limit('MINIMUM', { amount: '100' })],
      tariffs: [flat('0.1')],
      records: [june],
    })
    expect(periods[0]?.lines.at(-1)?.reason).toEqual({
      kind: 'LIMIT',
      limit: 100_000_000_000n,
      base: 72_000_000_000n,
      leftOut: [],
    })
  })
})

describe('rounding', () => {
  // 30 × 0.3335 = 10.005 twice, energy 72, tax 19 % of 92.01 = 17.4819
  const charges = [fixed('a', '0.3335'), fixed('b', '0.3335'), percentage('tax', '0.19')]
  const names = ['a', 'b', 'tax']
  const rounded = (profile: StatementRounding['profile'], decimals = 2) =>
    amountsOf(charges, names, { profile, decimals }).map(([, amount]) => amount)

  it('leaves exact amounts as they are', () => {
    expect(rounded('EXACT')).toEqual(['10.005', '10.005', '17.4819'])
  })

  it('of each line, as EN 16931 requires, makes rounded lines the base of the tax', () => {
    // 19 % of 72 + 10.01 + 10.01 = 17.4838
    expect(rounded('EN16931')).toEqual(['10.01', '10.01', '17.48'])
    expect(rounded('EN16931', 0)).toEqual(['10', '10', '17'])
  })

  it('by largest remainder makes the lines add up to the rounded total', () => {
    // 72 + 10.005 + 10.005 + 17.4819 = 109.4919 → 109.49: of 10.00, 10.00, 17.48 one unit is missing
    expect(rounded('LARGEST_REMAINDER')).toEqual(['10.01', '10', '17.48'])
  })

  it('rounds L(t), so that parts of a line add up to its rounded amount', () => {
    // 10.005 a month: 15 days are 5.0025 → 5.00, the rest is 10.01 − 5.00
    const split = [
      fixed('a', '0.3335', { component: 'a' }),
      ...['old', 'new'].map((name, index) =>
        percentage(name, '1', { base: { components: ['a'] }, [index === 0 ? 'end_date' : 'start_date']: '2026-06-16' }),
      ),
    ]
    expect(amountsOf(split, ['old', 'new'], { profile: 'EN16931', decimals: 2 })).toEqual([
      ['5.0025', '5'],
      ['5.0025', '5.01'],
    ])
  })
})
