import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { asksStandingCharge, standingChargeUnit } from '../../../../services/connect/domain/standing-charge.ts'
import { chargeDaysOf } from '../../../../services/domain/charge/charge-days.ts'
import { dayNumber } from '../../../../services/domain/civil-date.ts'
import { startOfDayNumber } from '../../../../services/domain/civil-time.ts'
import { timeZone } from '../../../../services/platform/time-zone.ts'

const zone = timeZone('Europe/London')
if (zone === null) throw new Error('The zone is known.')
const instant = (text: string): number => Date.parse(text)
const day = (text: string): number => dayNumber(...(text.split('-').map(Number) as [number, number, number]))

describe('the unit of a standing charge', () => {
  it.each([
    ['GB', 'DAY'],
    ['AU', 'DAY'],
    ['DE', 'MONTH'],
    ['FR', 'MONTH'],
    ['IT', 'YEAR'],
    [undefined, 'MONTH'],
  ] as const)('of %s is %s', (country, unit) => expect(standingChargeUnit(country)).toBe(unit))
})

it('a session asks for a standing charge in the current API version if the person buys energy', () => {
  expect(asksStandingCharge({ layout: 'current', direction: 'IMPORT' })).toBe(true)
  expect(asksStandingCharge({ layout: 'current', direction: 'EXPORT' })).toBe(false)
  expect(asksStandingCharge({ layout: 'current', direction: 'LOCAL' })).toBe(false)
  expect(asksStandingCharge({ layout: 'earlier', direction: 'IMPORT' })).toBe(false)
})

describe('the days of a standing charge', () => {
  it.each([
    // Midnight in London in summer is 23:00 of the day before in UTC.
    ['2026-07-14T23:00:00Z', '2026-07-16T23:00:00Z', '2026-07-15', '2026-07-17'],
    ['2026-07-14T23:00:01Z', '2026-07-16T23:00:01Z', '2026-07-16', '2026-07-18'],
  ])('from %s to %s are %s to %s', (start, end, startDay, endDay) => {
    expect(chargeDaysOf(zone, { start: instant(start), end: instant(end) })).toEqual({
      startDay: day(startDay),
      endDay: day(endDay),
    })
  })

  it('are open where the tariff is open, and none if no day begins in it', () => {
    expect(chargeDaysOf(zone, { start: null, end: null })).toEqual({ startDay: null, endDay: null })
    const [start, end] = [instant('2026-07-15T08:00:00Z'), instant('2026-07-15T09:00:00Z')]
    expect(chargeDaysOf(zone, { start, end })).toBeNull()
  })

  it('of tariffs that follow each other are all days, each once', () => {
    const from = instant('2026-03-01T00:00:00Z')
    const edges = fc.array(fc.integer({ min: 0, max: 400 * 3_600_000 }), { minLength: 3, maxLength: 6 })
    fc.assert(
      fc.property(edges, offsets => {
        const times = [...new Set(offsets)].toSorted((a, b) => a - b).map(offset => from + offset)
        const intervals = times.slice(1).map((end, index) => ({ start: times[index] ?? 0, end }))
        const paid = intervals.flatMap(interval => {
          const days = chargeDaysOf(zone, interval)
          const [first, last] = [days?.startDay ?? 0, days?.endDay ?? 0]
          return Array.from({ length: last - first }, (_, index) => first + index)
        })
        expect(new Set(paid).size).toBe(paid.length)
        for (const one of paid) {
          expect(startOfDayNumber(zone, one)).toBeGreaterThanOrEqual(times[0] ?? 0)
          expect(startOfDayNumber(zone, one)).toBeLessThan(times.at(-1) ?? 0)
        }
        const whole = chargeDaysOf(zone, { start: times[0] ?? 0, end: times.at(-1) ?? 0 })
        expect(paid.length).toBe(whole === null ? 0 : (whole.endDay ?? 0) - (whole.startDay ?? 0))
      }),
    )
  })
})
