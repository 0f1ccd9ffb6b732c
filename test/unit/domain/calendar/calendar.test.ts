import { describe, expect, it } from 'vitest'
import {
  type CalendarDates,
  calendarChange,
  holidaysOf,
  locationCalendarOf,
  validateCalendar,
} from '../../../../services/domain/calendar/calendar.ts'

const named = (...days: readonly number[]) => days.map(day => ({ day, name: `day ${day}` }))
const none: CalendarDates = { countryDays: [], add: [], remove: [], dayTypes: [] }
const daysFrom = (count: number, first = 0) => Array.from({ length: count }, (_, index) => first + index)

describe('the holidays of a calendar', () => {
  it('are those of the country without the removed ones, and the added ones', () => {
    const dates = { ...none, countryDays: named(10, 20, 30), add: [{ day: 25, name: 'x' }], remove: [20, 99] }
    expect(holidaysOf(dates).map(({ day }) => day)).toEqual([10, 25, 30])
  })

  it('have the name of the added day, also if the day is removed', () => {
    const dates = { ...none, countryDays: named(10), add: [{ day: 10, name: 'own' }], remove: [10] }
    expect(holidaysOf(dates)).toEqual([{ day: 10, name: 'own' }])
  })
})

describe('the dates of a calendar', () => {
  const fieldOf = (change: Partial<CalendarDates>) => validateCalendar({ ...none, ...change })?.field ?? null

  it('occur once in each list', () => {
    expect(fieldOf({ add: named(1, 2, 1) })).toBe('add[2].date')
    expect(fieldOf({ remove: [1, 1] })).toBe('remove[1]')
    expect(fieldOf({ dayTypes: [{ name: 'a', days: [1, 1] }] })).toBe('day_types[0].dates[1]')
    expect(fieldOf({ dayTypes: ['a', 'a'].map(name => ({ name, days: [] })) })).toBe('day_types[1].name')
    expect(fieldOf({ add: named(1), remove: [1], dayTypes: ['a', 'b'].map(name => ({ name, days: [1] })) })).toBeNull()
  })

  it('are 2,000 holidays and 2,000 dates of 20 types at most', () => {
    const country = { countryDays: named(...daysFrom(500)) }
    expect(fieldOf({ ...country, add: named(...daysFrom(1500, 500)) })).toBeNull()
    expect(fieldOf({ ...country, add: named(...daysFrom(1501, 500)) })).toBe('add')
    const types = (...counts: readonly number[]) =>
      counts.map((count, at) => ({ name: `t${at}`, days: daysFrom(count) }))
    expect(fieldOf({ dayTypes: types(1000, 1000) })).toBeNull()
    expect(fieldOf({ dayTypes: types(1000, 1001) })).toBe('day_types')
    expect(fieldOf({ dayTypes: types(...daysFrom(20)) })).toBeNull()
    expect(fieldOf({ dayTypes: types(...daysFrom(21)) })).toBe('day_types')
  })
})

describe('the change of a calendar', () => {
  const calendar = (holidays: readonly number[], ...types: readonly (readonly [string, readonly number[]])[]) =>
    locationCalendarOf({ ...none, add: named(...holidays), dayTypes: types.map(([name, days]) => ({ name, days })) })

  it('names the special days that differ, and contains all days that differ', () => {
    expect(calendarChange(calendar([1, 5], ['a', [7]]), calendar([1, 5], ['a', [7]]))).toBeNull()
    expect(calendarChange(calendar([1, 5], ['a', [7]]), calendar([1, 9], ['a', [7]]))).toEqual({
      names: ['Holidays'],
      startDay: 5,
      endDay: 10,
    })
    expect(calendarChange(calendar([1], ['a', [7]]), calendar([1], ['b', [3]]))).toEqual({
      names: ['#a', '#b'],
      startDay: 3,
      endDay: 8,
    })
    expect(calendarChange(null, calendar([4]))).toEqual({ names: ['Holidays'], startDay: 4, endDay: 5 })
    expect(calendarChange(null, calendar([]))).toBeNull()
  })
})
