import { civilDate, weekdayOf } from '../civil-date.ts'
import { type TimeZone, utcOffsetPeriodAt, utcOffsetPeriods } from '../civil-time.ts'
import { dayMs, type Interval } from '../interval.ts'
import { dayNames, monthNames, secondsPerDay } from '../tariff/day-pattern.ts'
import type { ChargeDay, ChargeWindow, ClockHours } from './charge.ts'
import type { LocationCalendar } from './location-calendar.ts'

/** Weight 1, in 1e-9. */
export const fullWeight = 1_000_000_000

/** Time zone and calendar of a location. `calendar` null: the location has none, and no day is a holiday. */
export type LocalCalendar = { readonly timeZone: TimeZone; readonly calendar: LocationCalendar | null }

const isNamedDay = (name: ChargeDay, day: number, calendar: LocationCalendar | null): boolean => {
  const weekday = weekdayOf(day)
  if (name === 'All') return true
  if (name === 'Weekdays') return weekday < 5
  if (name === 'Weekend') return weekday >= 5
  if (name === 'Holidays') return calendar?.holidays.has(day) ?? false
  if (name.startsWith('#'))
    return calendar?.dayTypes.some(type => type.name === name.slice(1) && type.days.has(day)) ?? false
  return dayNames[weekday] === name
}

const containsDay = (window: ChargeWindow, day: number, calendar: LocationCalendar | null): boolean => {
  const { month, date } = civilDate(day)
  return (
    (window.months.length === 0 || window.months.some(name => name === monthNames[month - 1])) &&
    (window.dates.length === 0 || window.dates.includes(date)) &&
    (window.days.length === 0 || window.days.some(name => isNamedDay(name, day, calendar)))
  )
}

const containsSecond = ({ validFrom, validTo }: ClockHours, second: number): boolean =>
  validFrom < validTo ? second >= validFrom && second < validTo : second >= validFrom || second < validTo

/**
 * Create a function that returns the weight of an instant (1e-9): that of the first window that contains the instant,
 * or 0. Without windows each instant has weight 1.
 * Months, dates, days and hours are those that the local clock shows at the instant.
 */
export const createWindowWeights = (
  windows: readonly ChargeWindow[],
  { timeZone, calendar }: LocalCalendar,
): ((at: number) => number) => {
  if (windows.length === 0) return () => fullWeight
  let period = { start: Number.NaN, end: Number.NaN, offset: 0 }
  let day = Number.NaN
  let windowsOfDay: readonly ChargeWindow[] = []
  return at => {
    if (!(at >= period.start && at < period.end)) period = { ...utcOffsetPeriodAt(timeZone, at) }
    const local = at + period.offset
    const localDay = Math.floor(local / dayMs)
    if (localDay !== day) {
      day = localDay
      windowsOfDay = windows.filter(window => containsDay(window, localDay, calendar))
    }
    const second = Math.floor((local - day * dayMs) / 1000)
    for (const { hours, weight } of windowsOfDay)
      if (hours.length === 0 || hours.some(one => containsSecond(one, second))) return weight
    return 0
  }
}

/** Return the time of an interval in windows of a weight above 0, in ms. Without windows it is the whole interval. */
export const timeInWindows = (
  windows: readonly ChargeWindow[],
  location: LocalCalendar,
  { start, end }: Interval,
): number => {
  if (start >= end) return 0
  if (windows.length === 0) return end - start
  const weightAt = createWindowWeights(windows, location)
  const edges = windows.flatMap(({ hours }) => hours.flatMap(({ validFrom, validTo }) => [validFrom, validTo]))
  const seconds = [...new Set([0, ...edges])].filter(second => second < secondsPerDay).sort((a, b) => a - b)
  let timeMs = 0
  for (const { start: from, end: to, offset } of utcOffsetPeriods(location.timeZone, start, end)) {
    for (let day = Math.floor((from + offset) / dayMs); day * dayMs - offset < to; day += 1) {
      for (const [index, second] of seconds.entries()) {
        const at = Math.max(from, day * dayMs - offset + second * 1000)
        const until = Math.min(to, day * dayMs - offset + (seconds[index + 1] ?? secondsPerDay) * 1000)
        if (at < until && weightAt(at) > 0) timeMs += until - at
      }
    }
  }
  return timeMs
}
