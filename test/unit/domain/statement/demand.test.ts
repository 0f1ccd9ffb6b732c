import { describe, expect, it } from 'vitest'
import { firstDayRead } from '../../../../services/domain/statement/demand-line.ts'
import type { DemandReason } from '../../../../services/domain/statement/statement-line.ts'
import type { BillCase } from '../../../support/acceptance/bill-cases.ts'
import { chargeOf, dayOf } from '../../../support/acceptance/read-charge.ts'
import { billOf, chargeLines, decimal, used } from './bill.ts'

const demand = (members: object) => ({ kind: 'DEMAND', name: 'demand', ...members })

/** Return quantity, amount and reason of the only line of demand. */
const lineOf = (charge: object, members: Partial<BillCase> = {}) => {
  const { periods } = billOf({ charges: [demand(charge)], ...members })
  const line = periods[0]?.lines.find(({ kind }) => kind === 'DEMAND')
  if (line?.reason?.kind !== 'DEMAND') throw new Error('The statement has no line of demand.')
  return { ...line, reason: line.reason satisfies DemandReason }
}

const billed = (charge: object, members: Partial<BillCase> = {}) => {
  const { quantity, amount, reason } = lineOf(charge, members)
  return [decimal(quantity), decimal(amount), reason.boundBy]
}

const peaksOf = ({ reason }: { readonly reason: DemandReason }) =>
  reason.peaks.map(({ start, power }) => `${new Date(start).toISOString().slice(5, 16)} ${decimal(power)}`)

/** 6 kW and 4 kW on 1 June, 5 kW on 2 June, 1 kW in May. */
const records = [
  used('2026-05-10T10:00', '2026-05-10T11:00', '1'),
  used('2026-06-01T10:00', '2026-06-01T11:00', '6'),
  used('2026-06-01T12:00', '2026-06-01T13:00', '4'),
  used('2026-06-02T12:00', '2026-06-02T13:00', '5'),
]

describe('the measured power', () => {
  it('is the mean of the highest intervals, or of the highest of each day', () => {
    // (6 + 5 + 4) / 3 = 5; with distinct days (6 + 5 + 0) / 3 = 3.666666667
    expect(billed({ highest: '3', price: '2' }, { records })).toEqual(['5', '10', 'MEASURED'])
    const distinct = lineOf({ highest: '3', distinct_days: true, price: '2' }, { records })
    expect(decimal(distinct.quantity)).toBe('3.666666667')
    expect(peaksOf(distinct)).toEqual(['06-01T10:00 6', '06-02T12:00 5', '06-03T00:00 0'])
  })

  it('prefers the earlier of equal intervals', () => {
    const equal = [used('2026-06-09T10:00', '2026-06-09T11:00', '6'), ...records]
    expect(peaksOf(lineOf({ highest: '2', price: '1' }, { records: equal }))).toEqual([
      '06-01T10:00 6',
      '06-09T10:00 6',
    ])
  })

  it('is the energy of intervals of the local clock, by their real length', () => {
    // 4 kWh from 09:30 to 11:30: half hours of 1 kWh are 2 kW; the hours from 9 and from 11 contain half of that
    const long = [used('2026-06-01T09:30', '2026-06-01T11:30', '4')]
    expect(peaksOf(lineOf({ interval_minutes: '30', highest: '2', price: '1' }, { records: long }))).toEqual([
      '06-01T09:30 2',
      '06-01T10:00 2',
    ])
    expect(peaksOf(lineOf({ highest: '3', price: '1' }, { records: long }))).toEqual([
      '06-01T10:00 2',
      '06-01T09:00 1',
      '06-01T11:00 1',
    ])
    // Lord Howe returns by half an hour at 02:00 (15:00Z) on 5 April: the clock shows 01:30 again, for 30 minutes
    const lordHowe = {
      location: { timezone: 'Australia/Lord_Howe', currency_code: 'AUD' },
      statement: { start_date: '2026-04-01', end_date: '2026-05-01' },
      records: [used('2026-04-04T14:00', '2026-04-04T15:30', '3')],
    }
    expect(peaksOf(lineOf({ highest: '2', price: '1' }, lordHowe))).toEqual(['04-04T14:00 2', '04-04T15:00 2'])
  })

  it('contains impulses where they are, and marks long records as coarse', () => {
    const impulse = used('2026-06-01T10:00', '2026-06-01T10:00', '3')
    const long = used('2026-06-01T08:00', '2026-06-01T11:00', '3')
    const { reason } = lineOf({ price: '1' }, { records: [impulse, long] })
    expect(reason.peaks.map(({ power, isCoarse }) => [decimal(power), isCoarse])).toEqual([['4', true]])
    expect(lineOf({ price: '1' }, { records: [impulse] }).reason.peaks[0]?.isCoarse).toBe(false)
  })

  it('counts intervals in windows, times the weight of the first window', () => {
    const windows = [
      { days: ['Mon'], hours: [{ valid_from: '10:00:00', valid_to: '11:00:00' }], weight: '0' },
      { hours: [{ valid_from: '12:00:00', valid_to: '12:30:00' }], weight: '0.5' },
      { dates: ['1', '2'], hours: [{ valid_from: '09:00:00', valid_to: '11:00:00' }] },
    ]
    // 1 June is a Monday: 6 kW has weight 0; 5 kW × 0.5 = 2.5 is the highest, then 4 kW × 0.5 = 2
    const line = lineOf({ highest: '2', price: '1', windows }, { records })
    expect([decimal(line.quantity), ...peaksOf(line)]).toEqual(['2.25', '06-02T12:00 5', '06-01T12:00 4'])
  })

  it('counts flows: sold, gross, and net in each interval', () => {
    const flows = [
      used('2026-06-01T10:00', '2026-06-01T11:00', '6'),
      used('2026-06-01T10:00', '2026-06-01T10:30', '2', { energy_flow_direction: 'OUTBOUND' }),
      used('2026-06-02T10:00', '2026-06-02T11:00', '5'),
      used('2026-06-02T10:00', '2026-06-02T11:00', '3', { tariff_direction: 'LOCAL' }),
    ]
    const peak = (counts: string) => peaksOf(lineOf({ counts, price: '1' }, { records: flows }))
    expect([peak('IMPORT'), peak('EXPORT'), peak('GROSS'), peak('NET_IMPORT')].flat()).toEqual([
      '06-01T10:00 6',
      '06-01T10:00 2',
      '06-02T10:00 8',
      '06-02T10:00 5',
    ])
  })

  it('names the users of a peak by falling share', () => {
    const device = (id: string, value: string, session?: string) =>
      used('2026-06-01T10:00', '2026-06-01T11:00', value, { device_id: id, session_reference_id: session })
    const of = { records: [device('dev_1', '1'), device('dev_2', '3', 's-1'), device('dev_2', '2')] }
    const users = lineOf({ price: '1' }, of).reason.peaks[0]?.users
    expect(users?.map(user => [user.deviceId, user.sessionReferenceId, decimal(user.energy), user.share])).toEqual([
      ['dev_2', 's-1', '3', 500_000],
      ['dev_2', null, '2', 333_333],
      ['dev_1', null, '1', 166_667],
    ])
    expect(peaksOf(lineOf({ price: '1', device_ids: ['dev_1'] }, of))).toEqual(['06-01T10:00 1'])
  })
})

describe('the billed power', () => {
  it('is at least the floor of the month, the ratchet and the floor, less above, and rounded', () => {
    const price = { price: '1' }
    expect(billed({ ...price, month_floor_kw: '7' }, { records })).toEqual(['7', '7', 'FLOOR'])
    expect(billed({ ...price, floor_kw: '6.5', above_kw: '6' }, { records })).toEqual(['0.5', '0.5', 'FLOOR'])
    expect(billed({ ...price, above_kw: '60' }, { records })).toEqual(['0', '0', 'MEASURED'])
    const ratchet = { share: '0.8', months: '2' }
    const history = [
      { month: '2026-04', kw: '10' },
      { month: '2026-05', kw: '99' },
    ]
    // May has a record of 1 kW, so its given 99 kW does not count: 0.8 × 10 = 8
    expect(billed({ ...price, ratchet, history }, { records })).toEqual(['8', '8', 'RATCHET'])
    expect(billed({ ...price, ratchet: { ...ratchet, in_months: ['May'] }, history }, { records })).toEqual([
      '6',
      '6',
      'MEASURED',
    ])
  })

  it('is the mean or maximum of the rolling months that have a power', () => {
    const rolling = { over: 'ROLLING', rolling_months: '4', month_floor_kw: '2', price: '1' }
    const history = [
      { month: '2026-03', kw: '16' },
      { month: '2026-02', kw: '50' },
    ]
    // 6, May 1 → 2, April has none, March 16: 24 / 3 = 8. February is too early.
    const line = lineOf({ ...rolling, history }, { records })
    expect([decimal(line.quantity), line.reason.boundBy]).toEqual(['8', 'ROLLING'])
    expect(line.reason.history.map(({ power, source }) => [decimal(power), source])).toEqual([
      ['16', 'GIVEN'],
      ['1', 'RECORDS'],
    ])
    expect(billed({ ...rolling, history, rolling: 'MAX' }, { records })).toEqual(['16', '16', 'ROLLING'])
    // May has 1 kW → 2, so the month itself has the maximum of both
    expect(billed({ ...rolling, rolling_months: '2', rolling: 'MAX' }, { records })).toEqual(['6', '6', 'ROLLING'])
  })

  it.each([
    ['HALF_UP', '2.5', '5'],
    ['HALF_EVEN', '2.5', '5'],
    ['HALF_UP', '4', '8'],
    ['HALF_EVEN', '4', '8'],
    ['UP', '2.5', '7.5'],
    ['DOWN', '5', '5'],
  ])('is rounded %s to multiples of %s kW', (mode, to, expected) => {
    // 6 kW: 2.4 × 2.5, 1.5 × 4 (a half: away from zero 8, to even 8), 1.2 × 5
    expect(billed({ price: '1', round_kw: { to, mode } }, { records })[0]).toBe(expected)
  })

  it('is rounded to an even multiple at a half', () => {
    const round = (mode: string) => billed({ price: '1', round_kw: { to: '4', mode }, above_kw: '4' }, { records })[0]
    // 6 − 4 = 2 is half of 4
    expect([round('HALF_UP'), round('HALF_EVEN'), round('UP'), round('DOWN')]).toEqual(['4', '0', '4', '0'])
  })
})

describe('the records that charges read', () => {
  it('begin with the first month of a rolling mean or a ratchet', () => {
    const first = (...charges: object[]) =>
      firstDayRead(
        charges.map((charge, index) => chargeOf(demand({ price: '1', ...charge }), `chg_${index}`)),
        dayOf('2026-06-15'),
      )
    const ratchet = { share: '1', months: '3' }
    expect(first({ rolling_months: '12' })).toBe(dayOf('2026-06-15'))
    expect(first({ over: 'ROLLING', rolling_months: '12' }, { ratchet })).toBe(dayOf('2025-07-01'))
    expect(first({ over: 'ROLLING', rolling_months: '2' }, { ratchet })).toBe(dayOf('2026-03-01'))
  })
})

describe('the price of power', () => {
  it('is that of each tier for its part', () => {
    // 2 × 10 + 3 × 5 + 1 × 1
    const tiers = [{ to_kw: '2', price: '10' }, { to_kw: '5', price: '5' }, { price: '1' }]
    expect(billed({ tiers }, { records })[1]).toBe('36')
  })

  it('is the amount of the last step that is reached, or of the first', () => {
    const steps = [
      { from_kw: '2', amount: '10' },
      { from_kw: '6', amount: '20' },
    ]
    expect(billed({ steps }, { records })[1]).toBe('20')
    expect(billed({ steps, step_edge: 'LOWER_EXCLUSIVE' }, { records })[1]).toBe('10')
    expect(billed({ steps, above_kw: '5' }, { records })[1]).toBe('10')
  })

  it('is paid for the days of its validity, measured in the whole period', () => {
    const paid = (members: object) => billed({ price: '10', ...members }, { records })[1]
    // 60 a month; 15 of 30 days: 30. A twelfth of a year: 5; half of that: 2.5. By days: 60 × 30 / 365.
    expect(paid({ start_date: '2026-06-16' })).toBe('30')
    expect(paid({ per: 'YEAR' })).toBe('5')
    expect(paid({ per: 'YEAR', end_date: '2026-06-16' })).toBe('2.5')
    expect(paid({ per: 'YEAR', year_basis: 'DAYS' })).toBe('4.931506849')
    expect(paid({ prorate: 'NONE', start_date: '2026-06-16' })).toBe('60')
    expect(paid({ prorate: 'NONE', per: 'YEAR', start_date: '2026-06-16' })).toBe('5')
    expect(chargeLines(billOf({ charges: [demand({ price: '1', start_date: '2026-07-01' })], records }))).toEqual([])
  })

  it('names the months or years that are paid, unless it is one', () => {
    const timeOf = (members: object, more: Partial<BillCase> = {}) => {
      const { paidTime } = lineOf({ price: '10', ...members }, { records, ...more }).reason
      return paidTime === null ? null : `${decimal(paidTime.count)} ${paidTime.unit}`
    }
    const over = (start_date: string, end_date: string) => ({ statement: { start_date, end_date, periods: 'ONE' } })
    const shifted = over('2026-05-16', '2026-06-16')
    // 16/31 + 15/30 = 63/62
    expect(timeOf({}, shifted)).toBe('1.016129032 MONTH')
    expect(timeOf({ tiers: [{ price: '1' }], price: undefined }, shifted)).toBe('1.016129032 MONTH')
    expect(timeOf({})).toBe(null)
    expect(timeOf({}, over('2026-05-01', '2026-08-01'))).toBe('3 MONTH')
    expect(timeOf({ start_date: '2026-06-16' })).toBe('0.5 MONTH')
    expect(timeOf({ prorate: 'NONE', start_date: '2026-06-16' })).toBe(null)
    expect(timeOf({ per: 'YEAR' })).toBe('0.083333333 YEAR')
    expect(timeOf({ per: 'YEAR', year_basis: 'DAYS' })).toBe('0.082191781 YEAR')
    expect(timeOf({ per: 'YEAR', year_basis: 'DAYS' }, over('2026-01-01', '2027-01-01'))).toBe(null)
    expect(timeOf({ over: 'DAY' })).toBe(null)
    expect(timeOf({ over: 'DAY', per: 'DAY' })).toBe(null)
  })

  it('of each day is added up', () => {
    // 6 + 5 kW and 28 days at the floor of 1 kW, rounded up to 2: 6 + 6 + 28 × 2 = 68
    const daily = { over: 'DAY', per: 'DAY', price: '2', floor_kw: '1', round_kw: { to: '2', mode: 'UP' } }
    expect(billed(daily, { records })).toEqual(['68', '136', null])
    expect(billed({ ...daily, start_date: '2026-06-01', end_date: '2026-06-03' }, { records })).toEqual([
      '12',
      '24',
      'MEASURED',
    ])
  })
})
