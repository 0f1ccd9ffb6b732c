import { describe, expect, it } from 'vitest'
import type { ChargeWindow } from '../../../../services/domain/charge/charge.ts'
import { validateWindowDays } from '../../../../services/domain/charge/validate-charge.ts'
import { chargeRefusal, dayOf } from '../../../support/acceptance/read-charge.ts'

const codeOf = (wire: object): string | null => {
  const refusal = chargeRefusal({ name: 'c', ...wire })
  return refusal === null ? null : `${refusal.code} ${refusal.field}`
}

const demand = (members: object) => codeOf({ kind: 'DEMAND', ...members })
const bands = (rate: readonly object[]) => [
  { days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate }] }] },
]
const [price, tiers, steps] = [
  { price: '1' },
  { tiers: [{ to_kw: '2', price: '3' }, { price: '1' }] },
  {
    steps: [
      { from_kw: '0', amount: '3' },
      { from_kw: '2', amount: '1' },
    ],
  },
]

describe('a charge is valid', () => {
  it.each([
    ['FIXED', { kind: 'FIXED', price: '-1', per: 'DAY' }],
    ['USAGE at a price', { kind: 'USAGE', price: '0' }],
    ['USAGE by a schedule', { kind: 'USAGE', schedule: bands([{ fixed: '0.1' }]) }],
    ['DEMAND at a price', { kind: 'DEMAND', ...price }],
    ['DEMAND by tiers', { kind: 'DEMAND', ...tiers }],
    ['DEMAND by steps', { kind: 'DEMAND', ...steps }],
    ['DEMAND of each day', { kind: 'DEMAND', ...price, over: 'DAY', per: 'DAY', prorate: 'NONE' }],
    ['SESSION', { kind: 'SESSION', price: '1', windows: [{ weight: '0' }, { weight: '1' }] }],
    ['MINIMUM', { kind: 'MINIMUM', amount: '1', base: { kinds: ['ENERGY'] } }],
    ['PERCENTAGE', { kind: 'PERCENTAGE', rate: '0.25' }],
  ])('%s', (_, wire) => {
    expect(codeOf(wire)).toBeNull()
  })
})

describe('a charge is refused', () => {
  it('if it ends before or when it starts', () => {
    expect(codeOf({ kind: 'FIXED', price: '1', start_date: '2026-05-02', end_date: '2026-05-02' })).toBe(
      'end_before_start end_date',
    )
    expect(codeOf({ kind: 'FIXED', price: '1', start_date: '2026-05-02', end_date: '2026-05-03' })).toBeNull()
  })

  it('without a price, or with several', () => {
    expect([demand({}), demand({ tiers: [] }), codeOf({ kind: 'USAGE' })]).toEqual([
      'price_missing price',
      'price_missing price',
      'price_missing price',
    ])
    expect([demand({ ...price, ...steps }), demand({ ...tiers, ...steps })]).toEqual([
      'price_ambiguous steps',
      'price_ambiguous steps',
    ])
    expect(codeOf({ kind: 'USAGE', price: '1', schedule: bands([{ fixed: '0.1' }]) })).toBe('price_ambiguous schedule')
  })

  it('if its steps or tiers do not rise', () => {
    const step = (...from: string[]) => demand({ steps: from.map(from_kw => ({ from_kw, amount: '1' })) })
    const tier = (...to: (string | undefined)[]) =>
      demand({ tiers: to.map(to_kw => (to_kw === undefined ? { price: '1' } : { to_kw, price: '1' })) })
    expect([step('0', '2', '2'), step('3', '2')]).toEqual(['steps_not_rising steps', 'steps_not_rising steps'])
    expect(tier('2', '2', undefined)).toBe('steps_not_rising tiers')
    expect(tier('0', undefined)).toBe('steps_not_rising tiers')
    expect(tier(undefined, undefined)).toBe('steps_not_rising tiers')
    expect(tier('1', '2')).toBe('steps_not_rising tiers[1].to_kw')
    expect(tier('1', '2', undefined)).toBeNull()
  })

  it('if its members do not fit together', () => {
    expect(demand({ ...price, interval_minutes: '20' })).toBe('interval_not_supported interval_minutes')
    expect(demand({ ...price, per: 'DAY' })).toBe('charge_invalid per')
    expect(demand({ ...price, over: 'DAY', prorate: 'NONE' })).toBe('charge_invalid prorate')
    const history = [
      { month: '2026-01', kw: '1' },
      { month: '2026-02', kw: '1' },
      { month: '2026-01', kw: '2' },
    ]
    expect(demand({ ...price, history })).toBe('charge_invalid history[2].month')
    expect(codeOf({ kind: 'SESSION', price: '1', windows: [{ weight: '0.5' }] })).toBe(
      'charge_invalid windows[0].weight',
    )
  })

  it('if a schedule of usage has tiers or surcharges', () => {
    const tiered = [{ fixed: '0.1', to_kwh: '5' }, { fixed: '0.2' }]
    expect(codeOf({ kind: 'USAGE', schedule: bands(tiered) })).toBe('charge_invalid schedule')
    expect(codeOf({ kind: 'USAGE', schedule: bands([{ fixed: '0.1', surcharge_fixed: '0.2' }]) })).toBe(
      'charge_invalid schedule',
    )
  })

  it('if no line can match its base', () => {
    for (const name of ['kinds', 'components', 'directions'])
      expect(codeOf({ kind: 'PERCENTAGE', rate: '1', base: { [name]: [] } })).toBe(`base_empty base.${name}`)
  })
})

describe('special days of windows', () => {
  const window = (days: ChargeWindow['days']): ChargeWindow => ({ months: [], dates: [], days, hours: [], weight: 0 })
  const calendar = { holidays: new Set([dayOf('2026-05-14')]), dayTypes: [{ name: 'fair', days: new Set<number>() }] }

  it('need a calendar with these days', () => {
    const code = (days: ChargeWindow['days'], of: typeof calendar | null) =>
      validateWindowDays([window(['Mon']), window(days)], of)?.code ?? null
    expect([code(['Holidays'], calendar), code(['#fair'], calendar), code(['Weekend'], null)]).toEqual([
      null,
      null,
      null,
    ])
    expect([code(['Holidays'], null), code(['Mon', '#fair'], null)]).toEqual(['calendar_required', 'calendar_required'])
    expect(code(['Holidays', '#other'], calendar)).toBe('day_type_not_found')
  })
})
