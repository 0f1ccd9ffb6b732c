import { daysInMonth } from '../civil-date.ts'
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

/** One for each minute: more on one day is no tariff, and would make judging slow. */
const maxTimeBandsPerDay = 1440

const padTwo = (value: number): string => String(value).padStart(2, '0')
const formatClock = (second: number): string =>
  `${padTwo(Math.floor(second / 3600))}:${padTwo(Math.floor(second / 60) % 60)}:${padTwo(second % 60)}`

const pathOf = ({ entry, block, band }: TimeBandIndex): string =>
  `schedule[${entry}].days_and_hours[${block}].hours[${band}]`

const describeDay = ({ month, date, weekday }: CalendarDayKind, showsDate: boolean): string =>
  `${dayNames[weekday]} in ${monthNames[month - 1]}${showsDate ? ` on date ${date}` : ''}`

/** Bands that end on the last second of a minute or day leave that second out: `valid_to` is exclusive. */
const lastSecondHint = ({ startSecond, endSecond }: DaySegment): string =>
  endSecond - startSecond === 1 && startSecond % 60 === 59
    ? `; valid_to is exclusive, so use ${endSecond === 86_400 ? '00:00:00' : formatClock(endSecond)}`
    : '; add one'

const validateSegment = (segment: DaySegment, kind: CalendarDayKind, showsDate: boolean): Refusal | undefined => {
  const position = `${describeDay(kind, showsDate)} at ${formatClock(segment.startSecond)}`
  const [first, second] = segment.timeBands
  if (first === undefined) {
    return { code: 'schedule_gap', message: `No band covers ${position}${lastSecondHint(segment)}`, field: 'schedule' }
  }
  if (second === undefined) return undefined
  const message = `${pathOf(first)} and ${pathOf(second)} both cover ${position} with equal rank; change one of them`
  return { code: 'schedule_overlap', message, field: pathOf(second) }
}

/**
 * The dates that a schedule can tell apart in a month: those it names, and the first of the others.
 * Every date falls on every weekday in some year, the 29th of February too.
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

/** Say what is wrong with a kind of day; `undefined` if nothing is. */
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
 * Judge whether every instant of the calendar has exactly one band of highest rank. It yields after
 * each kind of day.
 * Gives the first fault in the order of month, date, weekday and time. Days on which the same bands apply are looked at once: the time
 * grows with the bands, at most 2,604 times (each month, date and weekday a class of its own) with those of a day, which are at most 1,440.
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

/** Judge coverage at once. */
export const validateCoverage = (schedule: readonly ScheduleEntry[]): Refusal | undefined =>
  runToEnd(validateCoverageInSteps(schedule))
