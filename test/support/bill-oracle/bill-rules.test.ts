import { describe, expect, it } from 'vitest'
import type { BillInput, ChargeBody, RecordBody, ScheduleBody, TariffBody } from './bill-input.ts'
import { billStatement, type StatementLine } from './bill-statement.ts'

const allDay = (fixed: number): ScheduleBody<{ fixed: number }> => [
  {
    months: ['All'],
    days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed }] }] }],
  },
]
const tariff = (fixed: number, more: Partial<TariffBody> = {}): TariffBody => ({
  direction: 'IMPORT',
  type: 'COMMODITY',
  schedule: allDay(fixed),
  ...more,
})
/** Record of 1 h at local time in May 2026, if `minutes` does not say otherwise. */
const record = (at: string, value: number, more: Partial<RecordBody> = {}, minutes = 60): RecordBody => {
  const start = Date.parse(`2026-05-${at}:00+02:00`)
  const end_time = new Date(start + minutes * 60_000).toISOString()
  return { start_time: new Date(start).toISOString(), end_time, units: 'KWH', value, ...more }
}
const bill = (more: Partial<BillInput>): BillInput => ({
  location: { timezone: 'Europe/Berlin', currency_code: 'EUR' },
  tariffs: [tariff(0)],
  charges: [],
  records: [],
  statement: { start_date: '2026-05-01', end_date: '2026-06-01', expect: 'NOTHING' },
  now: '2026-07-01T00:00:00Z',
  ...more,
})
const linesOf = (more: Partial<BillInput>): readonly StatementLine[] =>
  billStatement(bill(more)).periods.flatMap(({ lines }) => lines)
const amountsOf = (more: Partial<BillInput>): readonly string[] => linesOf(more).map(({ amount }) => amount)
const charge = (kind: ChargeBody['kind'], more: Partial<ChargeBody>): ChargeBody => ({ kind, name: 'x', ...more })
/** Line of one DEMAND charge on these records. */
const demand = (more: Partial<ChargeBody>, records: readonly RecordBody[]): StatementLine | undefined =>
  linesOf({ charges: [charge('DEMAND', more)], records }).find(({ kind }) => kind === 'DEMAND')

describe('a calendar', () => {
  it('ranks special days before holidays before all others, and uncovered hours fall through', () => {
    const hours = (from: number, to: number, fixed: number) => [
      { valid_from: `${from}:00:00`, valid_to: `${to}:00:00`, rate: [{ fixed }] },
    ]
    const schedule = [
      ...allDay(0.1),
      { months: ['All'], days_and_hours: [{ days: ['Holidays'], hours: hours(8, 12, 0.2) }] },
      { months: ['All'], days_and_hours: [{ days: ['#peak'], hours: hours(10, 11, 0.3) }] },
      { months: ['May'], dates: [1], days_and_hours: [{ days: ['Fri'], hours: hours(9, 23, 0.5) }] },
    ]
    const calendar = {
      name: 'c',
      add: [{ date: '2026-05-01', name: 'h' }],
      day_types: [{ name: 'peak', dates: ['2026-05-01'] }],
    }
    // 1 kWh an hour on Friday, 1 May: 1 h × 0.3 + 3 h × 0.2 + 11 h (12 to 23) × 0.5 + 9 h × 0.1
    const records = [record('01T00:00', 24, {}, 1440)]
    expect(amountsOf({ calendar, tariffs: [{ ...tariff(0), schedule }], records })).toEqual(['7.3'])
  })
})

describe('DEMAND', () => {
  const tenKw = [record('04T10:00', 10)]

  it.each<[string, Partial<ChargeBody>, string]>([
    // 3 × 5.66 + 5.5 × 6.05 + 1.5 × 5.27
    ['tiers', { tiers: [{ to_kw: 3, price: 5.66 }, { to_kw: 8.5, price: 6.05 }, { price: 5.27 }] }, '58.16'],
    [
      'a step that is reached',
      {
        steps: [
          { from_kw: 1, amount: 4 },
          { from_kw: 10, amount: 9 },
        ],
      },
      '9',
    ],
    [
      'a step that is not passed',
      {
        step_edge: 'LOWER_EXCLUSIVE',
        steps: [
          { from_kw: 1, amount: 4 },
          { from_kw: 10, amount: 9 },
        ],
      },
      '4',
    ],
    [
      'no step that is reached',
      {
        steps: [
          { from_kw: 11, amount: 4 },
          { from_kw: 12, amount: 9 },
        ],
      },
      '4',
    ],
    ['a part of a limit', { price: 2, above_kw: 4 }, '12'],
    ['a limit above the peak', { price: 2, above_kw: 40 }, '0'],
    ['a twelfth of a year', { price: 12, per: 'YEAR', prorate: 'NONE' }, '10'],
    // 10 kW × 365 × 31/365
    ['days of a year', { price: 365, per: 'YEAR', year_basis: 'DAYS' }, '310'],
    // 10 kW × 31 × 11/31: paid from 21 May, measured in the whole month
    ['validity', { price: 31, start_date: '2026-05-21' }, '110'],
    // the mean of 10, 0, 0 and 0
    ['intervals without energy', { price: 4, highest: 4 }, '10'],
    // a third of 10 is 3.333333333 kW
    ['power with nine decimals', { price: 3, highest: 3 }, '9.999999999'],
  ])('prices %s', (_, more, amount) => {
    expect(demand(more, tenKw)?.amount).toBe(amount)
  })

  it.each([
    ['HALF_UP', 2.5, '3'],
    ['HALF_EVEN', 2.5, '2'],
    ['UP', 2.1, '3'],
    ['DOWN', 2.9, '2'],
  ] as const)('rounds power %s: %d to %s kW', (mode, kw, rounded) => {
    expect(demand({ price: 1, round_kw: { to: 1, mode } }, [record('04T10:00', kw)])?.quantity).toBe(rounded)
  })

  const history = [
    { month: '2026-04', kw: 8 },
    { month: '2026-02', kw: 30 },
    { month: '2025-12', kw: 100 },
  ]
  it.each<[Partial<ChargeBody>, string, string]>([
    // 0.5 × 30; December is five months ago
    [{ ratchet: { share: 0.5, months: 4 } }, '15', 'RATCHET'],
    [{ ratchet: { share: 0.5, months: 4, in_months: ['Apr'] } }, '10', 'MEASURED'],
    // (10 + 8 + 30) / 3, March has neither record nor history
    [{ over: 'ROLLING', rolling_months: 4 }, '16', 'ROLLING'],
    [{ over: 'ROLLING', rolling_months: 4, rolling: 'MAX' }, '30', 'ROLLING'],
    // (10 + 9 + 30) / 3 = 16.333…, at least 17
    [{ over: 'ROLLING', rolling_months: 4, month_floor_kw: 9, floor_kw: 17 }, '17', 'FLOOR'],
    [{ over: 'ROLLING', rolling_months: 2, history: [] }, '10', 'ROLLING'],
  ])('compares with earlier months: %j is %s kW by %s', (more, kw, boundBy) => {
    const line = demand({ price: 1, history, ...more }, tenKw)
    expect([line?.quantity, line?.reason]).toMatchObject([kw, { bound_by: boundBy }])
  })

  it('subtracts export in each interval', () => {
    const out = { energy_flow_direction: 'OUTBOUND', tariff_direction: 'EXPORT' } as const
    const records = [
      record('04T10:00', 4),
      record('04T10:00', 3, out),
      record('04T11:00', 2),
      record('04T12:00', 9, out),
    ]
    // 4 − 3, 2, and not below 0
    expect(demand({ price: 1, counts: 'NET_IMPORT' }, records)?.quantity).toBe('2')
  })

  it('explains a peak by the users of its energy, and says if a record is longer', () => {
    const records = [
      record('04T10:00', 6, { device_id: 'a', session_reference_id: 's' }),
      record('04T09:00', 4, { device_id: 'b' }, 120),
    ]
    // 6 + 4/2 kWh in the hour from 10
    expect(demand({ price: 1 }, records)?.reason).toHaveProperty('peaks', [
      {
        start_time: '2026-05-04T08:00:00.000Z',
        end_time: '2026-05-04T09:00:00.000Z',
        kw: '8',
        weight: '1',
        coarse: true,
        users: [
          { device_id: 'a', session_reference_id: 's', energy: '6', share: '0.75' },
          { device_id: 'b', session_reference_id: null, energy: '2', share: '0.25' },
        ],
      },
    ])
  })

  it('ends an interval at a clock change: half an hour on Lord Howe', () => {
    const location = { timezone: 'Australia/Lord_Howe', currency_code: 'AUD' }
    const statement = { start_date: '2026-04-01', end_date: '2026-05-01', expect: 'NOTHING' } as const
    // The clock goes back from 02:00 to 01:30 at 15:00 UTC. 1 kWh in 30 minutes is 2 kW, 1.5 kWh in an hour is 1.5 kW.
    const records = [
      { start_time: '2026-04-04T15:00:00Z', end_time: '2026-04-04T15:30:00Z', units: 'KWH', value: 1 },
      { start_time: '2026-04-04T15:30:00Z', end_time: '2026-04-04T16:30:00Z', units: 'KWH', value: 1.5 },
    ]
    const lines = linesOf({ location, statement, charges: [charge('DEMAND', { price: 1 })], records })
    expect(lines.find(({ kind }) => kind === 'DEMAND')?.quantity).toBe('2')
  })
})

describe('energy', () => {
  it('of an estimate loses what actuals took', () => {
    const records = [record('04T10:00', 8, { confidence: 0.5 }, 240), record('04T12:00', 1)]
    const [, usage] = linesOf({ charges: [charge('USAGE', { price: 2 })], records })
    // 8 kWh in 4 h less 2 kWh from 12 to 13, plus 1 kWh
    expect([usage?.quantity, usage?.amount]).toEqual(['7', '14'])
  })

  it('is split into supply and grid fee; sold energy is negative, own energy is a memo', () => {
    const tariffs = [
      tariff(0.2),
      tariff(0.05, { type: 'NON_COMMODITY' }),
      tariff(0.08, { direction: 'EXPORT' }),
      tariff(0.03, { direction: 'LOCAL' }),
    ]
    const out = { energy_flow_direction: 'OUTBOUND', tariff_direction: 'EXPORT' } as const
    const records = [
      record('04T10:00', 10),
      record('05T10:00', 5, out),
      record('06T10:00', 2, { tariff_direction: 'LOCAL' }),
    ]
    const statement = billStatement(bill({ tariffs, records }))
    expect(statement.periods[0]?.lines.map(({ component, name, amount }) => [component, name, amount])).toEqual([
      ['energy', 'Energy', '2'],
      ['grid', 'Grid fee', '0.5'],
      ['energy', 'Energy export', '-0.4'],
    ])
    expect(statement.totals.gross).toBe('2.1')
    expect(statement.memo.map(({ quantity, amount }) => [quantity, amount])).toEqual([['2', '0.06']])
  })
})

describe('SESSION', () => {
  const session = { device_id: 'a', session_reference_id: 's' }
  const records = [record('04T20:00', 5, session), record('04T21:00', 0, session, 90.5)]
  const windows = [{ hours: [{ valid_from: '22:00:00', valid_to: '06:00:00' }] }]
  it.each<[Partial<ChargeBody>, string, string]>([
    [{ price: 0.5 }, '1', '0.5'],
    [{ price: 0.5, while: 'IDLE', after_minutes: 90 }, '1', '0.5'],
    [{ price: 0.5, while: 'IDLE', after_minutes: 91 }, '0', '0'],
    [{ price: 0.1, per: 'MINUTE' }, '150.5', '15.05'],
    [{ price: 0.1, per: 'MINUTE', count: 'STARTED', while: 'IDLE' }, '91', '9.1'],
    [{ price: 0.1, per: 'MINUTE', while: 'IDLE', after_minutes: 60, max_amount: 2 }, '30.5', '2'],
    [{ price: 0.1, per: 'MINUTE', windows }, '30.5', '3.05'],
    [{ price: 0.1, per: 'MINUTE', device_ids: ['b'] }, '0', '0'],
  ])('%j pays %s for %s', (more, quantity, amount) => {
    const line = linesOf({ charges: [charge('SESSION', more)], records }).at(-1)
    expect([line?.quantity, line?.amount]).toEqual([quantity, amount])
  })
})

describe('derived lines', () => {
  const fixed = charge('FIXED', { price: 100, per: 'MONTH', prorate: 'NONE' })
  const rate = (more: Partial<ChargeBody>) => charge('PERCENTAGE', { rate: 0.1, ...more })

  it.each<[string, readonly ChargeBody[], readonly string[]]>([
    [
      'a percentage reads lower sequences only',
      [rate({}), rate({ sequence: 201 }), rate({})],
      ['100', '10', '10', '12'],
    ],
    ['a limit reads no percentage above it', [charge('MINIMUM', { amount: 130 }), rate({})], ['100', '30', '13']],
    // 21 of 31 days of the limit; the base of these days is nothing, for it is paid on 1 May
    ['a limit of a part of the period', [charge('MINIMUM', { amount: 31, start_date: '2026-05-11' })], ['100', '21']],
    ['a cap lowers its base', [charge('MAXIMUM', { amount: 2, per: 'DAY' })], ['100', '-38']],
    ['a limit of a year is a twelfth a month', [charge('MINIMUM', { amount: 1320, per: 'YEAR' })], ['100', '10']],
  ])('%s', (_, derived, amounts) => {
    expect(amountsOf({ charges: [fixed, ...derived] })).toEqual(amounts)
  })

  it('take the part of their base before a date, rounded one by one by EN16931', () => {
    const daily = charge('FIXED', { price: 0.333 })
    const rounding = { profile: 'EN16931' } as const
    const charges = [daily, rate({ rate: 0.5, end_date: '2026-05-12' }), rate({ rate: 0.5, start_date: '2026-05-12' })]
    const lines = linesOf({ charges, statement: { start_date: '2026-05-01', end_date: '2026-06-01', rounding } })
    // 31 × 0.333 = 10.323; 11 × 0.333 = 3.663, rounded 3.66; 6.66 remain of 10.32; the halves are 1.83 and 3.33
    expect(lines.map(({ amount_rounded }) => amount_rounded)).toEqual(['10.32', '1.83', '3.33'])
  })
})

describe('gaps', () => {
  it('are missing time until now, time that has not ended, and records without a price', () => {
    const tariffs = [tariff(1, { contract_start_date: '2026-05-02T00:00:00+02:00' })]
    const records = [record('01T00:00', 24, {}, 1440), record('02T06:00', 18, {}, 1080)]
    const statement = { start_date: '2026-05-01', end_date: '2026-05-05' }
    const { gaps, complete } = billStatement(bill({ tariffs, records, statement, now: '2026-05-03T10:00:00Z' }))
    expect(complete).toBe(false)
    expect(gaps.map(gap => `${gap.reason} ${gap.start_time.slice(8, 16)} ${gap.end_time.slice(8, 16)}`)).toEqual([
      ...['UNPRICED 30T22:00 01T22:00', 'MISSING 01T22:00 02T04:00', 'MISSING 02T22:00 03T10:00'],
      'NOT_ENDED 03T10:00 04T22:00',
    ])
  })

  it('are not expected of a location whose records are all sessions', () => {
    const statement = { start_date: '2026-05-01', end_date: '2026-05-05' }
    const records = [record('02T06:00', 18, { session_reference_id: 's' })]
    expect(billStatement(bill({ records, statement })).complete).toBe(true)
  })
})
