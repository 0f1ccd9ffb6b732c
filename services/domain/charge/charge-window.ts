import { civilDate, weekdayOf } from '../civil-date.ts'
import { type TimeZone, utcOffsetPeriodAt, utcOffsetPeriods } from '../civil-time.ts'
import { dayMs, type Interval } from '../interval.ts'
import { firstIndexAbove } from '../sorted.ts'
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

/** Weights of a local day: `weights[i]` from second `starts[i]` to the next start, the last one to the end of the day. */
type DayWeights = { readonly starts: readonly number[]; readonly weights: readonly number[] }

/** Hours of a window in the day, without those that pass midnight. */
type WeightedHours = ClockHours & { readonly weight: number }

const wholeDay: ClockHours = { validFrom: 0, validTo: secondsPerDay }

const hoursInDay = ({ hours, weight }: ChargeWindow): readonly WeightedHours[] =>
  (hours.length === 0 ? [wholeDay] : hours).flatMap(({ validFrom, validTo }) =>
    validFrom < validTo
      ? [{ validFrom, validTo, weight }]
      : [
          { validFrom, validTo: secondsPerDay, weight },
          { validFrom: 0, validTo, weight },
        ],
  )

/** Calculate the weights of a day from the windows that contain the day. The first window of a second decides. */
const dayWeights = (windows: readonly ChargeWindow[]): DayWeights => {
  const hours = windows.flatMap(hoursInDay)
  const edges = new Set([0, ...hours.flatMap(({ validFrom, validTo }) => [validFrom, validTo])])
  const starts = [...edges].filter(second => second < secondsPerDay).sort((a, b) => a - b)
  const indexes = new Map(starts.map((second, index) => [second, index]))
  const weights = starts.map(() => 0)
  // The first part of the day at or after an index that no window has yet.
  const free = Array.from({ length: starts.length + 1 }, (_, index) => index)
  const firstFree = (from: number): number => {
    let index = from
    while (free[index] !== index) index = free[index] = free[free[index] as number] as number
    return index
  }
  for (const { validFrom, validTo, weight } of hours) {
    const end = indexes.get(validTo) ?? starts.length
    for (let index = firstFree(indexes.get(validFrom) as number); index < end; index = firstFree(index)) {
      weights[index] = weight
      free[index] = index + 1
    }
  }
  return { starts, weights }
}

/** Create a function that returns the weights of a local day. Days in the same windows share them. */
const createDayWeights = (
  windows: readonly ChargeWindow[],
  calendar: LocationCalendar | null,
): ((day: number) => DayWeights) => {
  const known = new Map<string, DayWeights>()
  return day => {
    const ofDay = windows.map(window => containsDay(window, day, calendar))
    const key = ofDay.join()
    const found = known.get(key) ?? dayWeights(windows.filter((_, index) => ofDay[index]))
    known.set(key, found)
    return found
  }
}

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
  const weightsOf = createDayWeights(windows, calendar)
  let period = { start: Number.NaN, end: Number.NaN, offset: 0 }
  let day = Number.NaN
  let ofDay: DayWeights = { starts: [], weights: [] }
  return at => {
    if (!(at >= period.start && at < period.end)) period = { ...utcOffsetPeriodAt(timeZone, at) }
    const local = at + period.offset
    const localDay = Math.floor(local / dayMs)
    if (localDay !== day) {
      day = localDay
      ofDay = weightsOf(localDay)
    }
    return ofDay.weights[firstIndexAbove(ofDay.starts, Math.floor((local - day * dayMs) / 1000)) - 1] as number
  }
}

/**
 * Create a function that returns the time of an interval in windows of a weight above 0, in ms. Without windows it is
 * the whole interval.
 */
export const createTimeInWindows = (
  windows: readonly ChargeWindow[],
  { timeZone, calendar }: LocalCalendar,
): ((interval: Interval) => number) => {
  const weightsOf = createDayWeights(windows, calendar)
  const timeInDay = ({ starts, weights }: DayWeights, midnight: number, from: number, to: number): number => {
    let timeMs = 0
    for (let index = firstIndexAbove(starts, (from - midnight) / 1000) - 1; index < starts.length; index += 1) {
      const start = Math.max(from, midnight + (starts[index] as number) * 1000)
      const end = Math.min(to, midnight + (starts[index + 1] ?? secondsPerDay) * 1000)
      if (start >= to) break
      if (start < end && (weights[index] as number) > 0) timeMs += end - start
    }
    return timeMs
  }
  return ({ start, end }) => {
    if (start >= end) return 0
    if (windows.length === 0) return end - start
    let timeMs = 0
    for (const { start: from, end: to, offset } of utcOffsetPeriods(timeZone, start, end)) {
      for (let day = Math.floor((from + offset) / dayMs); day * dayMs - offset < to; day += 1)
        timeMs += timeInDay(weightsOf(day), day * dayMs - offset, from, to)
    }
    return timeMs
  }
}
