import type { LocationCalendar } from '../charge/location-calendar.ts'
import type { DaysAndHours, ScheduleEntry, SpecialDay } from './tariff.ts'

/** Day types of a calendar at most, and so also of a schedule. */
export const maxDayTypes = 20

/** Return whether days are named that only a calendar knows. */
export const isSpecialDay = (name: DaysAndHours['days'][number]): name is SpecialDay =>
  name === 'Holidays' || name.startsWith('#')

/** List the special days that a schedule names, each once, in the order of first use. */
export const specialDaysOf = (schedule: readonly ScheduleEntry[]): readonly SpecialDay[] => {
  const names = new Set<SpecialDay>()
  for (const { daysAndHours } of schedule)
    for (const { days } of daysAndHours) for (const name of days) if (isSpecialDay(name)) names.add(name)
  return [...names]
}

/** Return the days (day numbers) of a name; undefined if the calendar does not know the name. */
export const daysOfName = (calendar: LocationCalendar, name: SpecialDay): ReadonlySet<number> | undefined =>
  name === 'Holidays'
    ? calendar.holidays
    : calendar.dayTypes.find(({ name: typeName }) => typeName === name.slice(1))?.days

/** Return the first two day types among some names that have a day in common; undefined if there are none. */
export const meetingTypes = (
  names: readonly SpecialDay[],
  calendar: LocationCalendar,
): readonly [SpecialDay, SpecialDay] | undefined => {
  const types = names.filter(name => name !== 'Holidays')
  for (const [index, first] of types.entries()) {
    const days = [...(daysOfName(calendar, first) ?? [])]
    const second = types.slice(index + 1).find(other => days.some(day => daysOfName(calendar, other)?.has(day)))
    if (second !== undefined) return [first, second]
  }
  return undefined
}

/**
 * Return the names that contain a day, as a bit mask by their index. Without a calendar no day is special. At most 31
 * names.
 */
export const specialDayMask = (
  names: readonly SpecialDay[],
  calendar: LocationCalendar | null,
  day: number,
): number => {
  if (calendar === null || names.length === 0) return 0
  return names.reduce((mask, name, index) => (daysOfName(calendar, name)?.has(day) ? mask | (1 << index) : mask), 0)
}

/** Return the names of a bit mask by their index. */
export const namesOfMask = (names: readonly SpecialDay[], mask: number): readonly SpecialDay[] =>
  names.filter((_, index) => (mask >>> index) & 1)
