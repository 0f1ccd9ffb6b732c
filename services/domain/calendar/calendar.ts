import type { LocationCalendar } from '../charge/location-calendar.ts'
import { type Refusal, refused } from '../refusal.ts'
import { daysOfName, maxDayTypes } from '../tariff/special-days.ts'
import type { SpecialDay } from '../tariff/tariff.ts'
import type { SharedObject } from '../tenant.ts'

/** Named local day, as a day number of `civil-date.ts`. */
export type NamedDay = { readonly day: number; readonly name: string }

/** Day type as a caller gives it: its name without `#`, and its days. */
export type DayTypeDays = { readonly name: string; readonly days: readonly number[] }

/**
 * Dates of a calendar. `countryDays`: public holidays of its country when it was created, ascending; they do not
 * follow later versions of the source. The caller added and removed the others.
 */
export type CalendarDates = {
  readonly countryDays: readonly NamedDay[]
  readonly add: readonly NamedDay[]
  readonly remove: readonly number[]
  readonly dayTypes: readonly DayTypeDays[]
}

/** Values of a calendar that a request can set. */
export type CalendarInput = Omit<CalendarDates, 'countryDays'> & {
  readonly name: string
  readonly countryCode: string | null
  readonly state: string | null
}

/** Calendar to write. */
export type CalendarDraft = CalendarInput & CalendarDates

/** Stored calendar. `createdAt` in ms. */
export type StoredCalendar = SharedObject & CalendarDraft & { readonly revision: number }

/** Calendar in the mode of a caller. */
export type Calendar = StoredCalendar & { readonly liveMode: boolean }

/** Holidays of a calendar at most; its day types have at most as many days together. */
export const maxCalendarDates = 2000

/**
 * Return the holidays of a calendar, ascending, each day once: those of its country without the removed ones, and the
 * added ones. The name of an added day replaces the name of the country.
 * Source: docs/rules/calendars.md #dates.
 */
export const holidaysOf = ({ countryDays, add, remove }: CalendarDates): readonly NamedDay[] => {
  const removed = new Set(remove)
  const byDay = new Map(countryDays.filter(({ day }) => !removed.has(day)).map(one => [one.day, one]))
  for (const one of add) byDay.set(one.day, one)
  return [...byDay.values()].toSorted((a, b) => a.day - b.day)
}

/** Return the days of a calendar for the evaluator. */
export const locationCalendarOf = (dates: CalendarDates): LocationCalendar => ({
  holidays: new Set(holidaysOf(dates).map(({ day }) => day)),
  dayTypes: dates.dayTypes.map(({ name, days }) => ({ name, days: new Set(days) })),
})

const refuse = (message: string, field: string): Refusal => refused('field_invalid', message, field).refusal

/** Return the first index of a value that occurs before; -1 if all differ. */
const repeatedIndex = <T>(values: readonly T[]): number => {
  const seen = new Set<T>()
  return values.findIndex(value => seen.size === seen.add(value).size)
}

/**
 * Return the reason to refuse the dates of a calendar; null if they are valid: each date and each day type occurs once,
 * and the limits hold.
 * Source: docs/rules/calendars.md #dates.
 */
export const validateCalendar = (dates: CalendarDates): Refusal | null => {
  const { add, remove, dayTypes } = dates
  const lists = [
    { path: (index: number) => `add[${index}].date`, days: add.map(({ day }) => day) },
    { path: (index: number) => `remove[${index}]`, days: remove },
    ...dayTypes.map(({ days }, type) => ({ path: (index: number) => `day_types[${type}].dates[${index}]`, days })),
  ]
  for (const { path, days } of lists) {
    const index = repeatedIndex(days)
    if (index >= 0) return refuse(`${path(index)} names a date a second time`, path(index))
  }
  const type = repeatedIndex(dayTypes.map(({ name }) => name))
  if (type >= 0) return refuse(`day_types[${type}].name names a day type a second time`, `day_types[${type}].name`)
  if (dayTypes.length > maxDayTypes) return refuse(`day_types must have at most ${maxDayTypes} types`, 'day_types')
  const holidays = holidaysOf(dates).length
  if (holidays > maxCalendarDates) {
    const message = `A calendar must have at most ${maxCalendarDates} holidays, and this one has ${holidays}; add fewer`
    return refuse(message, 'add')
  }
  const typed = dayTypes.reduce((sum, { days }) => sum + days.length, 0)
  if (typed <= maxCalendarDates) return null
  const message = `day_types must have at most ${maxCalendarDates} dates in all, and they have ${typed}`
  return refuse(message, 'day_types')
}

/** Special days whose dates differ, and the local days [startDay, endDay) that contain all differences. */
export type CalendarChange = {
  readonly names: readonly SpecialDay[]
  readonly startDay: number
  readonly endDay: number
}

const noDays: ReadonlySet<number> = new Set()

/**
 * Return what changes between two calendars; null if no day does. Null is a location without a calendar.
 * Prices change only on these days, and only of schedules that name one of these special days.
 * Source: docs/rules/calendars.md #changes.
 */
export const calendarChange = (
  before: LocationCalendar | null,
  after: LocationCalendar | null,
): CalendarChange | null => {
  const types = [before, after].flatMap(calendar => calendar?.dayTypes ?? [])
  const names: readonly SpecialDay[] = ['Holidays', ...new Set(types.map(({ name }) => `#${name}` as const))]
  const changed = names.flatMap(name => {
    const [old, now] = [before, after].map(one => (one === null ? noDays : (daysOfName(one, name) ?? noDays)))
    const days = [...(old ?? noDays), ...(now ?? noDays)].filter(day => old?.has(day) !== now?.has(day))
    return days.length === 0 ? [] : [{ name, first: Math.min(...days), last: Math.max(...days) }]
  })
  if (changed.length === 0) return null
  return {
    names: changed.map(({ name }) => name),
    startDay: Math.min(...changed.map(({ first }) => first)),
    endDay: Math.max(...changed.map(({ last }) => last)) + 1,
  }
}
