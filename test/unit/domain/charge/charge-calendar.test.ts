import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ChargeWindow } from '../../../../services/domain/charge/charge.ts'
import {
  daysOfMonth,
  monthNumberOf,
  monthOfDay,
  paidDays,
  sumOfWeights,
  weightDenominator,
  wholePriceDays,
} from '../../../../services/domain/charge/charge-days.ts'
import { createTimeInWindows, createWindowWeights } from '../../../../services/domain/charge/charge-window.ts'
import { civilDate, daysInMonth } from '../../../../services/domain/civil-date.ts'
import { dayOf } from '../../../support/acceptance/read-charge.ts'
import { localClock } from '../../../support/oracle/local-clock.ts'
import { zoneNames, zoneOf } from '../../../support/oracle/zone.ts'

const anyDay = fc.integer({ min: dayOf('1999-01-01'), max: dayOf('2040-12-31') })
const range = fc.tuple(anyDay, fc.integer({ min: 0, max: 1_200 })).map(([startDay, days]) => ({
  startDay,
  endDay: startDay + days,
}))

describe('weights of days', () => {
  it('are whole for every length of a month and of a year', () => {
    for (const length of [28, 29, 30, 31, 365, 366]) expect(weightDenominator % length).toBe(0)
  })

  it('add up day by day', () => {
    const daysInYear = (year: number): number =>
      daysOfMonth(monthNumberOf(year, 12)).endDay - daysOfMonth(monthNumberOf(year, 1)).startDay
    fc.assert(
      fc.property(range, ({ startDay, endDay }) => {
        const sums = { DAY: 0, MONTH: 0, YEAR: 0 }
        for (let day = startDay; day < endDay; day += 1) {
          const { year, month } = civilDate(day)
          sums.DAY += weightDenominator
          sums.MONTH += weightDenominator / daysInMonth(year, month)
          sums.YEAR += weightDenominator / daysInYear(year)
        }
        for (const unit of ['DAY', 'MONTH', 'YEAR'] as const)
          expect(sumOfWeights(unit, { startDay, endDay })).toBe(sums[unit])
      }),
      { numRuns: 40 },
    )
  })

  it('belong to days in the validity of a charge', () => {
    const days = { startDay: 10, endDay: 20 }
    expect(paidDays({ startDay: null, endDay: null }, days)).toEqual(days)
    expect(paidDays({ startDay: 5, endDay: 15 }, days)).toEqual({ startDay: 10, endDay: 15 })
    expect(paidDays({ startDay: 20, endDay: null }, days)).toBeNull()
    expect(paidDays({ startDay: null, endDay: 10 }, days)).toBeNull()
  })
})

describe('months', () => {
  it('have numbers, and contain their days', () => {
    fc.assert(
      fc.property(anyDay, day => {
        const { startDay, endDay } = daysOfMonth(monthOfDay(day))
        expect(startDay <= day && day < endDay).toBe(true)
        expect([civilDate(startDay).date, civilDate(endDay).date]).toEqual([1, 1])
      }),
    )
  })

  it('are paid whole on their first day, or on the first day of the charge', () => {
    const days = { startDay: dayOf('2026-05-20'), endDay: dayOf('2026-07-02') }
    const paid = (unit: 'DAY' | 'MONTH' | 'YEAR', start: string | null) =>
      wholePriceDays(unit, days, start === null ? null : dayOf(start))
    expect(paid('MONTH', '2026-05-20')).toEqual(['2026-05-20', '2026-06-01', '2026-07-01'].map(dayOf))
    expect(paid('MONTH', '2026-06-01')).toEqual(['2026-06-01', '2026-07-01'].map(dayOf))
    expect(paid('YEAR', null)).toEqual([])
    expect(paid('DAY', null)).toHaveLength(43)
  })
})

const window = (members: Partial<ChargeWindow> = {}): ChargeWindow => ({
  months: [],
  dates: [],
  days: [],
  hours: [],
  weight: 1_000_000_000,
  ...members,
})
const hours = (from: number, to: number) => ({ validFrom: from * 3600, validTo: to * 3600 })
const at = (text: string): number => Date.parse(text)

describe('windows', () => {
  const calendar = {
    holidays: new Set([dayOf('2026-05-14')]),
    dayTypes: [{ name: 'fair', days: new Set([dayOf('2026-05-16')]) }],
  }
  const location = { timeZone: zoneOf('Europe/Berlin'), calendar }
  const weights = (windows: readonly ChargeWindow[], ...times: string[]) => {
    const weightAt = createWindowWeights(windows, location)
    return times.map(time => weightAt(at(time)) / 1e9)
  }

  it('give the weight of the first one that contains the instant, 0 without one, and 1 if there are none', () => {
    const windows = [
      window({ hours: [hours(6, 8)], weight: 0 }),
      window({ hours: [hours(6, 10), hours(20, 2)], weight: 500_000_000 }),
    ]
    // 05:00Z is 07:00 in Berlin
    expect(
      weights(windows, '2026-05-11T05:00:00Z', '2026-05-11T06:00:00Z', '2026-05-11T08:00:00Z', '2026-05-11T23:59:59Z'),
    ).toEqual([0, 0.5, 0, 0.5])
    expect(weights([], '2026-05-11T05:00:00Z')).toEqual([1])
  })

  it('name days by weekday, group, holiday and day type, those of the instant itself', () => {
    const on = (days: ChargeWindow['days'], ...dates: string[]) =>
      weights([window({ days })], ...dates.map(date => `${date}T10:00:00Z`))
    expect(on(['Thu'], '2026-05-14', '2026-05-15')).toEqual([1, 0])
    expect(on(['Weekend', 'Holidays'], '2026-05-14', '2026-05-15', '2026-05-16')).toEqual([1, 0, 1])
    expect(on(['#fair'], '2026-05-16', '2026-05-17')).toEqual([1, 0])
    expect(on(['#other'], '2026-05-16')).toEqual([0])
    // Thursday from 20:00 to 02:00: the hours after midnight are those of Thursday morning
    expect(
      weights([window({ days: ['Thu'], hours: [hours(20, 2)] })], '2026-05-13T23:00:00Z', '2026-05-14T23:00:00Z'),
    ).toEqual([1, 0])
  })

  it('are restricted by listed months and dates', () => {
    const listed = [window({ months: ['May', 'Jun'], dates: [1, 14] })]
    expect(
      weights(listed, '2026-05-14T10:00:00Z', '2026-06-01T10:00:00Z', '2026-07-01T10:00:00Z', '2026-05-13T10:00:00Z'),
    ).toEqual([1, 1, 0, 0])
  })

  it('contain the minutes of an interval that the local clock shows', () => {
    const zone = fc.constantFrom(...zoneNames)
    const start = fc.integer({ min: Date.UTC(2026, 0) / 60_000, max: Date.UTC(2026, 11) / 60_000 })
    fc.assert(
      fc.property(
        zone,
        start,
        fc.integer({ min: 0, max: 2_000 }),
        fc.integer({ min: 0, max: 23 }),
        fc.integer({ min: 1, max: 24 }),
        (name, from, minutes, open, close) => {
          fc.pre(open !== close)
          const windows = [window({ hours: [hours(open, close)], days: ['Mon', 'Tue', 'Sun'] })]
          const isOpen = (minute: number): boolean => {
            const clock = localClock(name, minute * 60_000)
            const weekday = new Date(Date.UTC(clock.year, clock.month - 1, clock.date)).getUTCDay()
            const isHour =
              open < close ? clock.hour >= open && clock.hour < close : clock.hour >= open || clock.hour < close
            return isHour && weekday <= 2
          }
          const expected = Array.from({ length: minutes }, (_, index) => from + index).filter(isOpen).length
          const interval = { start: from * 60_000, end: (from + minutes) * 60_000 }
          expect(createTimeInWindows(windows, { timeZone: zoneOf(name), calendar: null })(interval) / 60_000).toBe(
            expected,
          )
        },
      ),
      { numRuns: 25 },
    )
  })
})
