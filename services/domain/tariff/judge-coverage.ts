import { atOnce } from '../at-once.ts'
import { daysInMonth } from '../civil-date.ts'
import type { Refusal } from '../refusal.ts'
import { type BandPlace, type DayKind, type DayStretch, dayNames, dayPattern, monthNames } from './day-pattern.ts'
import { type DaySweep, daySweep } from './day-sweep.ts'
import type { ScheduleEntry } from './tariff.ts'

/** One for each minute: more on one day is no tariff, and would make judging slow. */
const maxBandsOfDay = 1440

const two = (value: number): string => String(value).padStart(2, '0')
const clock = (second: number): string => `${two(Math.floor(second / 3600))}:${two(Math.floor(second / 60) % 60)}:${two(second % 60)}`

const pathOf = ({ entry, block, band }: BandPlace): string => `schedule[${entry}].days_and_hours[${block}].hours[${band}]`

const dayText = ({ month, date, weekday }: DayKind, isDated: boolean): string =>
  `${dayNames[weekday]} in ${monthNames[month - 1]}${isDated ? ` on date ${date}` : ''}`

/** Bands that end on the last second of a minute or day leave that second out: `valid_to` is exclusive. */
const secondHint = ({ from, to }: DayStretch): string =>
  to - from === 1 && from % 60 === 59 ? `; valid_to is exclusive, so use ${to === 86_400 ? '00:00:00' : clock(to)}` : '; add one'

const faultIn = (stretch: DayStretch, kind: DayKind, isDated: boolean): Refusal | undefined => {
  const place = `${dayText(kind, isDated)} at ${clock(stretch.from)}`
  const [first, second] = stretch.bands
  if (first === undefined) {
    return { code: 'schedule_gap', message: `No band covers ${place}${secondHint(stretch)}`, field: 'schedule' }
  }
  if (second === undefined) return undefined
  const message = `${pathOf(first)} and ${pathOf(second)} both cover ${place} with equal rank; change one of them`
  return { code: 'schedule_overlap', message, field: pathOf(second) }
}

/**
 * The dates that a schedule can tell apart in a month: those it names, and the first of the others.
 * Every date falls on every weekday in some year, the 29th of February too.
 */
const datesToJudge = (month: number, named: ReadonlySet<number>): number[] => {
  const dates = Array.from({ length: daysInMonth(2000, month) }, (_, index) => index + 1)
  const other = dates.find(date => !named.has(date))
  return dates.filter(date => named.has(date) || date === other)
}

const hasFault = (days: DaySweep, kind: DayKind): boolean => {
  let isFound = false
  days.sweep(kind, (_from, _to, band) => {
    isFound = band < 0
    return isFound
  })
  return isFound
}

/** Say what is wrong with a kind of day; `undefined` if nothing is. */
const faultOn = (schedule: readonly ScheduleEntry[], days: DaySweep, kind: DayKind, isDated: boolean): Refusal | undefined => {
  if (days.bandCount(kind) > maxBandsOfDay) {
    const message = `schedule must hold at most ${maxBandsOfDay} bands on ${dayText(kind, isDated)}`
    return { code: 'schedule_invalid', message, field: 'schedule' }
  }
  if (!hasFault(days, kind)) return undefined
  for (const stretch of dayPattern(schedule, kind)) {
    const fault = faultIn(stretch, kind, isDated)
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
export function* judgeCoverageInSteps(schedule: readonly ScheduleEntry[]): Generator<void, Refusal | undefined> {
  const named = new Set(schedule.flatMap(entry => entry.dates))
  const days = daySweep(schedule)
  const good = new Set<string>()
  for (let month = 1; month <= 12; month += 1) {
    for (const date of datesToJudge(month, named)) {
      for (let weekday = 0; weekday < 7; weekday += 1) {
        const kind = { month, date, weekday }
        const dayClass = days.classOf(kind)
        if (good.has(dayClass)) continue
        const fault = faultOn(schedule, days, kind, named.size > 0)
        if (fault !== undefined) return fault
        good.add(dayClass)
        yield
      }
      yield
    }
  }
  return undefined
}

/** Judge coverage at once. */
export const judgeCoverage = (schedule: readonly ScheduleEntry[]): Refusal | undefined => atOnce(judgeCoverageInSteps(schedule))
