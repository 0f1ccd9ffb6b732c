import { describe, expect, it } from 'vitest'
import { readTariffTerms } from '../../../../services/contract/tariffs/read-tariff-terms.ts'
import type { LocationCalendar } from '../../../../services/domain/charge/location-calendar.ts'
import { dayNumber } from '../../../../services/domain/civil-date.ts'
import { copyPricing, snapshotFromCopy } from '../../../../services/domain/price/pricing-copy.ts'
import { evaluate } from '../../../../services/domain/tariff/evaluate.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import type { ScheduleEntry } from '../../../../services/domain/tariff/tariff.ts'
import { validateCoverage, validateSpecialDays } from '../../../../services/domain/tariff/validate-coverage.ts'
import { allDay, at, band, entry, nano, pricing, tariff } from '../../../support/oracle/tables.ts'

/** Thursday 14 May 2026 is a holiday, Friday a fair, Saturday both, Monday a sale. */
const calendar: LocationCalendar = {
  holidays: new Set([dayNumber(2026, 5, 14), dayNumber(2026, 5, 16)]),
  dayTypes: [
    { name: 'fair', days: new Set([dayNumber(2026, 5, 15), dayNumber(2026, 5, 16)]) },
    { name: 'sale', days: new Set([dayNumber(2026, 5, 18)]) },
  ],
}

const base = entry(allDay(0.1))
const pool = createPricingPool()
const snapshotOf = (schedule: readonly ScheduleEntry[], of: LocationCalendar | null = calendar) =>
  compileSnapshot({ ...pricing('Europe/Oslo', [tariff([], { schedule })]), calendar: of }, pool)

/** Return the price per kWh at an instant in Oslo, in 1e-9. */
const priceAt = (schedule: readonly ScheduleEntry[], instant: string, of: LocationCalendar | null = calendar) =>
  evaluate(snapshotOf(schedule, of), 'IMPORT', at(instant), at(instant) + 1)[0]?.price

const refusalOf = (schedule: readonly ScheduleEntry[], of: LocationCalendar | null = calendar) =>
  validateCoverage(schedule) ?? validateSpecialDays(schedule, of)

describe('a band that names special days', () => {
  const onHolidays = entry(allDay(0.2), ['Holidays'])

  it('applies on these local days and on no others', () => {
    expect(priceAt([base, onHolidays], '2026-05-13T23:59:59+02:00')).toBe(nano(0.1))
    expect(priceAt([base, onHolidays], '2026-05-14T00:00:00+02:00')).toBe(nano(0.2))
    expect(priceAt([base, onHolidays], '2026-05-14T23:59:59+02:00')).toBe(nano(0.2))
    expect(priceAt([base, onHolidays], '2026-05-15T00:00:00+02:00')).toBe(nano(0.1))
    expect(priceAt([base, onHolidays], '2026-05-14T12:00:00+02:00', { holidays: new Set(), dayTypes: [] })).toBe(
      nano(0.1),
    )
  })

  it('comes before months, dates and the weekday of other bands', () => {
    const exact = entry(allDay(0.3), ['Thu', 'Sat'], { months: ['May'], dates: [14, 16] })
    expect(priceAt([base, exact, onHolidays], '2026-05-14T12:00:00+02:00')).toBe(nano(0.2))
    expect(priceAt([base, exact, entry(allDay(0.4), ['#fair']), onHolidays], '2026-05-16T12:00:00+02:00')).toBe(
      nano(0.4),
    )
  })

  it('ranks by months and dates among its like, and leaves open hours to lower bands', () => {
    const inMay = entry([band('08:00-20:00', 0.5)], ['Holidays'], { months: ['May'] })
    const schedule = [base, onHolidays, inMay]
    expect(priceAt(schedule, '2026-05-14T12:00:00+02:00')).toBe(nano(0.5))
    expect(priceAt(schedule, '2026-05-14T07:59:59+02:00')).toBe(nano(0.2))
    expect(priceAt([base, entry([band('08:00-20:00', 0.5)], ['#fair']), onHolidays], '2026-05-16T21:00:00+02:00')).toBe(
      nano(0.2),
    )
    expect(priceAt([base, entry([band('08:00-20:00', 0.5)], ['#fair'])], '2026-05-15T21:00:00+02:00')).toBe(nano(0.1))
  })

  it('may name weekdays too', () => {
    const rest = [entry(allDay(0.1), ['Weekdays']), entry(allDay(0.2), ['Weekend', 'Holidays'])]
    expect(priceAt(rest, '2026-05-14T12:00:00+02:00')).toBe(nano(0.2))
    expect(priceAt(rest, '2026-05-16T12:00:00+02:00')).toBe(nano(0.2))
    expect(priceAt(rest, '2026-05-13T12:00:00+02:00')).toBe(nano(0.1))
  })

  it('has the same prices in a copy for another thread', () => {
    const [from, to] = [at('2026-05-13T22:00:00Z'), at('2026-05-16T22:00:00Z')]
    const snapshot = snapshotOf([base, entry([band('06:00-09:00', 0.3)], ['#fair']), onHolidays])
    const copy = structuredClone(copyPricing(snapshot, ['IMPORT'], { start: from, end: to }))
    expect(copy.calendars[0]?.dayTypes[1]?.days.size).toBe(0)
    const prices = (of: typeof snapshot) => evaluate(of, 'IMPORT', from, to).map(({ start, price }) => [start, price])
    expect(prices(snapshotFromCopy(copy))).toEqual(prices(snapshot))
    expect(new Set(prices(snapshot).map(([, price]) => price))).toEqual(new Set([nano(0.1), nano(0.2), nano(0.3)]))
  })
})

describe('a schedule with special days', () => {
  it('is refused if two bands of equal rank name the same special day', () => {
    const twice = [base, entry(allDay(0.2), ['Mon', 'Holidays']), entry(allDay(0.3), ['Tue', 'Holidays'])]
    expect(refusalOf(twice)).toMatchObject({
      code: 'schedule_overlap',
      message: expect.stringMatching(/Holidays in Jan/),
    })
    expect(refusalOf([base, entry(allDay(0.2), ['#fair']), entry(allDay(0.3), ['#fair'])])?.code).toBe(
      'schedule_overlap',
    )
    expect(refusalOf([base, entry(allDay(0.2), ['Mon', 'Holidays']), entry(allDay(0.3), ['Tue'])])).toBeUndefined()
  })

  it('is refused if only special days have a price at some hour', () => {
    expect(refusalOf([entry(allDay(0.2), ['Holidays'])])).toMatchObject({ code: 'schedule_gap' })
    const open = [entry([band('00:00-22:00', 0.1)]), entry(allDay(0.2), ['#fair'])]
    expect(refusalOf(open)).toMatchObject({ code: 'schedule_gap', message: expect.stringMatching(/22:00:00/) })
  })

  it('may have bands of several types if no day of the calendar has two of them', () => {
    const colours = [base, entry(allDay(0.2), ['#fair']), entry(allDay(0.3), ['#sale'])]
    expect(refusalOf(colours)).toBeUndefined()
    const [fair, sale] = calendar.dayTypes
    const dayTypes = [fair, { name: 'sale', days: new Set([...(sale?.days ?? []), dayNumber(2026, 5, 15)]) }]
    expect(refusalOf(colours, { ...calendar, dayTypes } as LocationCalendar)).toMatchObject({
      code: 'schedule_overlap',
      message: expect.stringMatching(/#fair and #sale in May on date 15/),
    })
  })

  it('needs a calendar with its day types', () => {
    expect(refusalOf([base, entry(allDay(0.2), ['Mon', 'Holidays'])], null)).toMatchObject({
      code: 'calendar_required',
      field: 'schedule[1].days_and_hours[0].days',
    })
    expect(refusalOf([base, entry(allDay(0.2), ['#fairs'])])?.code).toBe('day_type_not_found')
    expect(refusalOf([base], null)).toBeUndefined()
  })
})

describe('the names of days in a request', () => {
  const hours = [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: '0.1' }] }]
  const codeOf = (...days: string[][]) => {
    const blocks = [{ days: ['All'], hours }, ...days.map(names => ({ days: names, hours }))]
    const terms = { direction: 'IMPORT', type: 'COMMODITY', marketRates: false, contractStart: null, contractEnd: null }
    const result = readTariffTerms({ ...terms, schedule: [{ days_and_hours: blocks }] } as Parameters<
      typeof readTariffTerms
    >[0])
    return result.ok ? null : result.refusal.code
  }

  it('are Holidays, and # with the name of a day type', () => {
    expect(codeOf(['Holidays'], ['#a'], ['#Jour férié 2.x_y-z', 'Mon'])).toBeNull()
    for (const wrong of ['#name', 'holidays', '#', '##a', '#a,b', '# a', `#${'a'.repeat(65)}`])
      expect([wrong, codeOf([wrong])]).toEqual([wrong, wrong === '#name' ? null : 'schedule_invalid'])
    expect(codeOf(['All', 'Holidays'])).toBe('schedule_invalid')
    expect(codeOf(['#a', '#a'])).toBe('schedule_invalid')
  })

  it('name 20 day types at most', () => {
    const types = (count: number) => Array.from({ length: count }, (_, index) => `#${index}`)
    expect([codeOf(types(20)), codeOf([...types(20), 'Holidays']), codeOf(types(21))]).toEqual([
      null,
      null,
      'schedule_invalid',
    ])
  })
})
