import { type CivilDate, civilDate, dayMs, dayNumber, weekdayOf } from './civil-date.ts'

/**
 * The offsets of a time zone as plain data, so that the domain needs no calendar package.
 * `changes` are the instants (ms) at which the offset changes, ascending; `offsets[i]` (ms, local = instant + offset)
 * holds before `changes[i]`, and the last one from the last change on: `offsets.length === changes.length + 1`.
 */
export type TimeZone = {
  readonly name: string
  readonly changes: readonly number[]
  readonly offsets: readonly number[]
}

/** What a wall clock and a calendar show: weekday 0 is Monday, `secondOfDay` 0 … 86399. */
export type LocalFields = CivilDate & { readonly weekday: number; readonly secondOfDay: number }

/** A half-open span of instants with one offset (ms). */
export type UtcOffsetPeriod = { readonly start: number; readonly end: number; readonly offset: number }

/** A day of the local calendar as a half-open span of instants, with the spans of equal offset it is made of. */
export type LocalDay = CivilDate & {
  readonly start: number
  readonly end: number
  readonly offsetPeriods: readonly UtcOffsetPeriod[]
}

export type CalendarUnit = 'HOUR' | 'DAY' | 'MONTH'

const hourMs = 3_600_000

/** The index of the offset in force at an instant. */
const offsetIndex = (zone: TimeZone, at: number): number => {
  let low = 0
  let high = zone.changes.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((zone.changes[middle] as number) <= at) low = middle + 1
    else high = middle
  }
  return low
}

const offsetOf = (zone: TimeZone, index: number): number => zone.offsets[index] as number
const changeAfter = (zone: TimeZone, index: number): number => zone.changes[index] ?? Number.POSITIVE_INFINITY

/** Give the offset (ms, local = instant + offset) in force at an instant. */
export const offsetAt = (zone: TimeZone, at: number): number => offsetOf(zone, offsetIndex(zone, at))

/** Return the span of equal offset around an instant; infinite before the first change and after the last. */
export const utcOffsetPeriodAt = (zone: TimeZone, at: number): UtcOffsetPeriod => {
  const index = offsetIndex(zone, at)
  return {
    start: zone.changes[index - 1] ?? Number.NEGATIVE_INFINITY,
    end: changeAfter(zone, index),
    offset: offsetOf(zone, index),
  }
}

/** Give what wall clock and calendar show at an instant. */
export const localFields = (zone: TimeZone, at: number): LocalFields => {
  const local = at + offsetAt(zone, at)
  const day = Math.floor(local / dayMs)
  return { ...civilDate(day), weekday: weekdayOf(day), secondOfDay: Math.floor((local - day * dayMs) / 1000) }
}

/** Give the spans of equal offset that make up [from, to), in order. */
export const utcOffsetPeriods = (zone: TimeZone, from: number, to: number): UtcOffsetPeriod[] => {
  const offsetPeriods: UtcOffsetPeriod[] = []
  let start = from
  for (let index = offsetIndex(zone, from); start < to; index += 1) {
    const end = Math.min(to, changeAfter(zone, index))
    offsetPeriods.push({ start, end, offset: offsetOf(zone, index) })
    start = end
  }
  return offsetPeriods
}

/** The first instant whose wall clock shows `local` or later; no zone is a day or more away from UTC. */
const firstInstantFrom = (zone: TimeZone, local: number): number => {
  let index = offsetIndex(zone, local - dayMs)
  while (changeAfter(zone, index) + offsetOf(zone, index) <= local) index += 1
  const since = index === 0 ? Number.NEGATIVE_INFINITY : (zone.changes[index - 1] as number)
  return Math.max(since, local - offsetOf(zone, index))
}

/**
 * Give the instants at which the wall clock shows `local` (ms, read as if in UTC), ascending.
 * Two in a repeated hour; in a gap the instant of the change alone.
 */
export const instantsAt = (zone: TimeZone, local: number): readonly number[] => {
  const first = firstInstantFrom(zone, local)
  const found = [first]
  for (
    let index = offsetIndex(zone, first) + 1;
    (zone.changes[index - 1] ?? Number.POSITIVE_INFINITY) < local + dayMs;
    index += 1
  ) {
    const at = local - offsetOf(zone, index)
    if (at >= (zone.changes[index - 1] as number) && at < changeAfter(zone, index) && at !== first) found.push(at)
  }
  return found
}

const startOfDayNumber = (zone: TimeZone, day: number): number => firstInstantFrom(zone, day * dayMs)

/**
 * The day number of the calendar day to which an instant belongs. Days follow each other without overlap: where a clock is set
 * back over midnight the new day has begun and stays, as in Temporal's start of day.
 */
const localDayNumber = (zone: TimeZone, at: number): number => {
  let day = Math.floor((at + offsetAt(zone, at)) / dayMs)
  while (startOfDayNumber(zone, day + 1) <= at) day += 1
  return day
}

/** Give the first instant of the local day that holds an instant: 00:00, or the change that skips it. */
export const startOfLocalDay = (zone: TimeZone, at: number): number => startOfDayNumber(zone, localDayNumber(zone, at))

/** Give the first instant of the local day after the one that holds an instant; days that a change skips have none. */
export const nextLocalMidnight = (zone: TimeZone, at: number): number => {
  let day = localDayNumber(zone, at) + 1
  while (startOfDayNumber(zone, day) <= at) day += 1
  return startOfDayNumber(zone, day)
}

/** Give the first instant of the local month that holds an instant. Months, like days, follow each other without overlap. */
export const startOfLocalMonth = (zone: TimeZone, at: number): number => {
  const { year, month } = civilDate(localDayNumber(zone, at))
  return startOfDayNumber(zone, dayNumber(year, month, 1))
}

/** Give the first instant of the local month after the one that holds an instant. */
export const nextLocalMonth = (zone: TimeZone, at: number): number => {
  const { year, month } = civilDate(localDayNumber(zone, at))
  return startOfDayNumber(zone, month === 12 ? dayNumber(year + 1, 1, 1) : dayNumber(year, month + 1, 1))
}

/** Give the local days that [from, to) touches, whole and in order; days that a change skips are absent. */
export const localDays = (zone: TimeZone, from: number, to: number): LocalDay[] => {
  const days: LocalDay[] = []
  let start = startOfLocalDay(zone, from)
  while (start < to) {
    const end = nextLocalMidnight(zone, start)
    days.push({
      ...civilDate(localDayNumber(zone, start)),
      start,
      end,
      offsetPeriods: utcOffsetPeriods(zone, start, end),
    })
    start = end
  }
  return days
}

/** The next full hour of the wall clock after `at`, or the clock change before it. */
const nextHour = (zone: TimeZone, at: number): number => {
  const index = offsetIndex(zone, at)
  const offset = offsetOf(zone, index)
  const full = (Math.floor((at + offset) / hourMs) + 1) * hourMs - offset
  return Math.min(full, changeAfter(zone, index))
}

const nextBoundary = { HOUR: nextHour, DAY: nextLocalMidnight, MONTH: nextLocalMonth }

/**
 * Give the edges of the calendar buckets of [from, to): `from`, every edge inside, `to`.
 * Hours begin at full hours of the wall clock and at clock changes. Stops after `limit` buckets (a longer list means too many).
 * Source: docs/rules/costs.md #buckets.
 */
export const calendarEdges = (
  zone: TimeZone,
  from: number,
  to: number,
  unit: CalendarUnit,
  maxBuckets = Number.POSITIVE_INFINITY,
): readonly number[] => {
  const edges = [from]
  let at = from
  while (at < to && edges.length <= maxBuckets + 1) {
    at = Math.min(to, nextBoundary[unit](zone, at))
    edges.push(at)
  }
  return edges
}
