import { type LocalClock, localClock } from '../oracle/local-clock.ts'
import type { Interval } from '../oracle/segments.ts'

/** Local day: days since 1970-01-01. A range of days is [first, end). */
export type LocalDay = number

/** Calendar month: 12 × year + month − 1. */
export type CalendarMonth = number

const dayMs = 86_400_000
const minuteMs = 60_000
// Local midnight is at most 14 hours before UTC midnight.
const earliestMs = 14 * 60 * minuteMs

const dayOfDate = (year: number, month: number, date: number): LocalDay => Date.UTC(year, month - 1, date) / dayMs

/** Read a day such as `2026-05-01`. */
export const readDay = (text: string): LocalDay => Date.parse(`${text}T00:00:00Z`) / dayMs

export const dayText = (day: LocalDay): string => new Date(day * dayMs).toISOString().slice(0, 10)

export const monthOf = (day: LocalDay): CalendarMonth => {
  const date = new Date(day * dayMs)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

/** First day of a month. */
export const firstDay = (month: CalendarMonth): LocalDay => dayOfDate(Math.floor(month / 12), (month % 12) + 1, 1)

/** Read a month such as `2026-05`. */
export const readMonth = (text: string): CalendarMonth => monthOf(readDay(`${text}-01`))
export const monthText = (month: CalendarMonth): string => dayText(firstDay(month)).slice(0, 7)

export const daysInMonth = (day: LocalDay): number => firstDay(monthOf(day) + 1) - firstDay(monthOf(day))

export const daysInYear = (day: LocalDay): number => {
  const january = monthOf(day) - (monthOf(day) % 12)
  return firstDay(january + 12) - firstDay(january)
}

export const dayOfClock = ({ year, month, date }: LocalClock): LocalDay => dayOfDate(year, month, date)

const starts = new Map<string, number>()

/**
 * Return the first instant of a local day, minute by minute.
 * If the clock goes back over midnight, the old day does not start again.
 */
export const dayStart = (zone: string, day: LocalDay): number => {
  const key = `${zone} ${day}`
  const known = starts.get(key)
  if (known !== undefined) return known
  let at = day * dayMs - earliestMs
  while (dayOfClock(localClock(zone, at)) < day) at += minuteMs
  starts.set(key, at)
  return at
}

/** Return the local day that contains an instant. */
export const dayAt = (zone: string, at: number): LocalDay => {
  const day = dayOfClock(localClock(zone, at))
  return dayStart(zone, day + 1) <= at ? day + 1 : day
}

/** Return the days of [first, end). */
export const daysOf = (first: LocalDay, end: LocalDay): LocalDay[] =>
  Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index)

/** Return all instants of [from, to) with one of the seconds within their minute, and `from`: rising. */
export const instantsOf = (from: number, to: number, seconds: readonly number[]): number[] => {
  const rising = [...seconds].sort((a, b) => a - b)
  const instants = [from]
  for (let minute = Math.floor(from / minuteMs) * minuteMs; minute < to; minute += minuteMs) {
    for (const second of rising) {
      const at = minute + second * 1000
      if (at > from && at < to) instants.push(at)
    }
  }
  return instants
}

/** Minutes of the local calendar, counted without clock changes. */
const localMinutes = (zone: string, at: number): number => {
  const { year, month, date, hour, minute } = localClock(zone, at)
  return Date.UTC(year, month - 1, date, hour, minute) / minuteMs
}

/**
 * Return the measuring intervals of [from, to): they start at multiples of their length on the local clock and at
 * clock changes. `from` and `to` are starts of local days.
 */
export const measuringIntervals = (zone: string, from: number, to: number, lengthMinutes: number): Interval[] => {
  const starts: number[] = []
  let last: number | null = null
  for (let at = from; at < to; at += minuteMs) {
    const minutes = localMinutes(zone, at)
    const isClockChanged = last !== null && minutes !== last + 1
    if (last === null || isClockChanged || minutes % lengthMinutes === 0) starts.push(at)
    last = minutes
  }
  return starts.map((start, index) => ({ start, end: starts[index + 1] ?? to }))
}
