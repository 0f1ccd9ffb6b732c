import type { LocationCalendar } from '../charge/location-calendar.ts'
import { civilDate, daysInMonth, weekdayOf } from '../civil-date.ts'
import { formatTimeOfDay } from '../instant.ts'
import { type Refusal, refused } from '../refusal.ts'
import {
  type CalendarDayKind,
  type DaySegment,
  dayNames,
  dayPattern,
  monthNames,
  type TimeBandIndex,
} from './day-pattern.ts'
import { createDaySweep, type DaySweep } from './day-sweep.ts'
import { daysOfName, isSpecialDay, namesOfMask, specialDayMask, specialDaysOf } from './special-days.ts'
import type { ScheduleEntry, SpecialDay } from './tariff.ts'

/** One band per minute. More on one day is no realistic tariff, and validation would be slow. */
export const maxTimeBandsPerDay = 1440

const pathOf = ({ entry, block, band }: TimeBandIndex): string =>
  `schedule[${entry}].days_and_hours[${block}].hours[${band}]`

const describeDay = ({ month, date, weekday, special }: CalendarDayKind, showsDate: boolean): string =>
  `${special === undefined ? dayNames[weekday] : special.join(' and ')} in ${monthNames[month - 1]}${showsDate ? ` on date ${date}` : ''}`

/** Hint for bands that end on the last second of a minute or day: `valid_to` is exclusive. */
const lastSecondHint = ({ startSecond, endSecond }: DaySegment): string =>
  endSecond - startSecond === 1 && startSecond % 60 === 59
    ? `; valid_to is exclusive, so use ${formatTimeOfDay(endSecond)}`
    : '; add one'

const validateSegment = (segment: DaySegment, kind: CalendarDayKind, showsDate: boolean): Refusal | undefined => {
  const position = `${describeDay(kind, showsDate)} at ${formatTimeOfDay(segment.startSecond)}`
  const [first, second] = segment.timeBands
  if (first === undefined) {
    return { code: 'schedule_gap', message: `No band covers ${position}${lastSecondHint(segment)}`, field: 'schedule' }
  }
  if (second === undefined) return undefined
  const message = `${pathOf(first)} and ${pathOf(second)} both cover ${position} with equal rank; change one of them`
  return { code: 'schedule_overlap', message, field: pathOf(second) }
}

/**
 * Return the dates of a month that a schedule can distinguish: the dates that it names, and the first other date.
 * Every date falls on every weekday in some year, 29 February too.
 */
const datesToValidate = (month: number, namedDates: ReadonlySet<number>): number[] => {
  const dates = Array.from({ length: daysInMonth(2000, month) }, (_, index) => index + 1)
  const other = dates.find(date => !namedDates.has(date))
  return dates.filter(date => namedDates.has(date) || date === other)
}

const isFaulty = (daySweep: DaySweep, kind: CalendarDayKind): boolean => {
  let isFound = false
  daySweep.sweep(kind, (_from, _to, band) => {
    isFound = band < 0
    return isFound
  })
  return isFound
}

/** Return the first fault of a kind of day; undefined if it is valid. */
const validateDayKind = (
  schedule: readonly ScheduleEntry[],
  daySweep: DaySweep,
  kind: CalendarDayKind,
  showsDate: boolean,
): Refusal | undefined => {
  if (daySweep.timeBandCount(kind) > maxTimeBandsPerDay) {
    const message = `schedule must hold at most ${maxTimeBandsPerDay} bands on ${describeDay(kind, showsDate)}`
    return { code: 'schedule_invalid', message, field: 'schedule' }
  }
  if (!isFaulty(daySweep, kind)) return undefined
  for (const segment of dayPattern(schedule, kind)) {
    const fault = validateSegment(segment, kind, showsDate)
    if (fault !== undefined) return fault
  }
  return undefined
}

/**
 * Return the kinds of days of a date: its weekdays, and for each special day of the schedule one day. On that day bands
 * which name it have the highest ranks, whatever the weekday; the other bands can only lose overlaps and gain no gap.
 */
const dayKindsOn = (month: number, date: number, specialDays: readonly SpecialDay[]): readonly CalendarDayKind[] => [
  ...dayNames.map((_, weekday) => ({ month, date, weekday })),
  ...specialDays.map(name => ({ month, date, weekday: 0, special: [name] })),
]

/**
 * Check that every instant of the calendar has exactly one time band of highest rank, with and without each special day.
 * Returns the first fault in the order of month, date, weekday and time; special days come after the weekdays. Days with
 * the same bands are examined once.
 * The time grows with the bands: at most 2,604 classes of days (month, date and weekday), and 372 for each special day,
 * each with at most 1,440 bands.
 * Source: docs/rules/tariffs.md #time-bands, #special-days.
 */
export const validateCoverage = (schedule: readonly ScheduleEntry[]): Refusal | undefined => {
  const namedDates = new Set(schedule.flatMap(entry => entry.dates))
  const specialDays = specialDaysOf(schedule)
  const daySweep = createDaySweep(schedule)
  const validClasses = new Set<string>()
  for (let month = 1; month <= 12; month += 1) {
    for (const date of datesToValidate(month, namedDates)) {
      for (const kind of dayKindsOn(month, date, specialDays)) {
        const dayClass = daySweep.classOf(kind)
        if (validClasses.has(dayClass)) continue
        const fault = validateDayKind(schedule, daySweep, kind, namedDates.size > 0)
        if (fault !== undefined) return fault
        validClasses.add(dayClass)
      }
    }
  }
  return undefined
}

/** Return the first name of a schedule that a calendar lacks, with its path; undefined if the calendar has all. */
const missingName = (
  schedule: readonly ScheduleEntry[],
  calendar: LocationCalendar | null,
): { readonly name: SpecialDay; readonly field: string } | undefined => {
  for (const [entry, { daysAndHours }] of schedule.entries()) {
    for (const [block, { days }] of daysAndHours.entries()) {
      const isMissing = (name: SpecialDay) => calendar === null || daysOfName(calendar, name) === undefined
      const name = days.filter(isSpecialDay).find(isMissing)
      if (name !== undefined) return { name, field: `schedule[${entry}].days_and_hours[${block}].days` }
    }
  }
  return undefined
}

/**
 * Check the special days of a schedule against the calendar of a location: the calendar has them, and on its days of
 * several types no two bands have equal rank. Undefined if the schedule is valid.
 * Refuses `calendar_required`, `day_type_not_found`, `schedule_overlap`.
 * Source: docs/rules/tariffs.md #special-days.
 */
export const validateSpecialDays = (
  schedule: readonly ScheduleEntry[],
  calendar: LocationCalendar | null,
): Refusal | undefined => {
  const missing = missingName(schedule, calendar)
  if (missing !== undefined) {
    const { name, field } = missing
    return calendar === null
      ? refused('calendar_required', `${name} needs a calendar: set calendar_id of the location`, field).refusal
      : refused('day_type_not_found', `The calendar of the location has no day type ${name}`, field).refusal
  }
  const names = specialDaysOf(schedule)
  const days = names.flatMap(name =>
    name === 'Holidays' || calendar === null ? [] : [...(daysOfName(calendar, name) ?? [])],
  )
  const severalTypes = new Set(days.toSorted((a, b) => a - b).filter((day, index, sorted) => day === sorted[index - 1]))
  if (severalTypes.size === 0) return undefined
  const daySweep = createDaySweep(schedule)
  for (const day of severalTypes) {
    const special = namesOfMask(names, specialDayMask(names, calendar, day))
    const { month, date } = civilDate(day)
    const fault = validateDayKind(schedule, daySweep, { month, date, weekday: weekdayOf(day), special }, true)
    if (fault !== undefined) return fault
  }
  return undefined
}
