import { daysInMonth } from '../civil-date.ts'
import { formatTimeOfDay } from '../instant.ts'
import type { Refusal } from '../refusal.ts'
import { runToEnd } from '../run-to-end.ts'
import {
  type CalendarDayKind,
  type DaySegment,
  dayNames,
  dayPattern,
  monthNames,
  type TimeBandIndex,
} from './day-pattern.ts'
import { createDaySweep, type DaySweep } from './day-sweep.ts'
import type { ScheduleEntry } from './tariff.ts'

/** One band per minute. More on one day is no realistic tariff, and validation would be slow. */
const maxTimeBandsPerDay = 1440

const pathOf = ({ entry, block, band }: TimeBandIndex): string =>
  `schedule[${entry}].days_and_hours[${block}].hours[${band}]`

const describeDay = ({ month, date, weekday }: CalendarDayKind, showsDate: boolean): string =>
  `${dayNames[weekday]} in ${monthNames[month - 1]}${showsDate ? ` on date ${date}` : ''}`

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
 * Check that every instant of the calendar has exactly one time band of highest rank. Yields after each kind of day.
 * Returns the first fault in the order of month, date, weekday and time. Days with the same bands are examined once.
 * The time grows with the bands: at most 2,604 classes of days (month, date and weekday), each with at most 1,440
 * bands.
 * Source: docs/rules/tariffs.md #time-bands.
 */
export function* validateCoverageInSteps(schedule: readonly ScheduleEntry[]): Generator<void, Refusal | undefined> {
  const namedDates = new Set(schedule.flatMap(entry => entry.dates))
  const daySweep = createDaySweep(schedule)
  const validClasses = new Set<string>()
  for (let month = 1; month <= 12; month += 1) {
    for (const date of datesToValidate(month, namedDates)) {
      for (let weekday = 0; weekday < 7; weekday += 1) {
        const kind = { month, date, weekday }
        const dayClass = daySweep.classOf(kind)
        if (validClasses.has(dayClass)) continue
        const fault = validateDayKind(schedule, daySweep, kind, namedDates.size > 0)
        if (fault !== undefined) return fault
        validClasses.add(dayClass)
        yield
      }
      yield
    }
  }
  return undefined
}

/** Validate coverage without pauses. */
export const validateCoverage = (schedule: readonly ScheduleEntry[]): Refusal | undefined =>
  runToEnd(validateCoverageInSteps(schedule))
