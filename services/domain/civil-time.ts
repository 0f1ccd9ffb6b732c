import { type CivilDate, civilDate, dayNumber, weekdayOf } from './civil-date.ts'
import { dayMs, hourMs, type Interval } from './interval.ts'
import { firstIndexAbove } from './sorted.ts'

/**
 * UTC offsets of a time zone as plain data, so that the domain needs no calendar package.
 * `changes` are the instants (ms) at which the offset changes, ascending. `offsets[i]` (ms, local = instant + offset)
 * applies before `changes[i]`. The last offset applies from the last change: `offsets.length === changes.length + 1`.
 */
export type TimeZone = {
  readonly name: string
  readonly changes: readonly number[]
  readonly offsets: readonly number[]
}

/** Date, weekday (0 is Monday) and second of the day (0 … 86399) of a local clock. */
export type LocalFields = CivilDate & { readonly weekday: number; readonly secondOfDay: number }

/** Interval with one UTC offset (ms). */
export type UtcOffsetPeriod = Interval & { readonly offset: number }

/** Day of the local calendar as an interval of instants. Its offset periods cover the day, in order. */
export type LocalDay = CivilDate & Interval & { readonly offsetPeriods: readonly UtcOffsetPeriod[] }

export type CalendarUnit = 'HOUR' | 'DAY' | 'MONTH'

/** Return the index of the offset that applies at an instant. */
const offsetIndex = (zone: TimeZone, at: number): number => firstIndexAbove(zone.changes, at)

const offsetOf = (zone: TimeZone, index: number): number => zone.offsets[index] as number
const changeAfter = (zone: TimeZone, index: number): number => zone.changes[index] ?? Number.POSITIVE_INFINITY

/** Return the offset (ms, local = instant + offset) that applies at an instant. */
export const offsetAt = (zone: TimeZone, at: number): number => offsetOf(zone, offsetIndex(zone, at))

/**
 * Return the offset period that contains an instant. Its ends are infinite before the first change and after the last.
 */
export const utcOffsetPeriodAt = (zone: TimeZone, at: number): UtcOffsetPeriod => {
  const index = offsetIndex(zone, at)
  return {
    start: zone.changes[index - 1] ?? Number.NEGATIVE_INFINITY,
    end: changeAfter(zone, index),
    offset: offsetOf(zone, index),
  }
}

/** Return the local date and time at an instant. */
export const localFields = (zone: TimeZone, at: number): LocalFields => {
  const local = at + offsetAt(zone, at)
  const day = Math.floor(local / dayMs)
  return { ...civilDate(day), weekday: weekdayOf(day), secondOfDay: Math.floor((local - day * dayMs) / 1000) }
}

/** Return the offset periods that cover [from, to), in order. */
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

/** Return the first instant at which the local clock shows `local` or later. Every UTC offset is shorter than a day. */
const firstInstantFrom = (zone: TimeZone, local: number): number => {
  let index = offsetIndex(zone, local - dayMs)
  while (changeAfter(zone, index) + offsetOf(zone, index) <= local) index += 1
  const since = index === 0 ? Number.NEGATIVE_INFINITY : (zone.changes[index - 1] as number)
  return Math.max(since, local - offsetOf(zone, index))
}

/**
 * Return the instants at which the local clock shows `local` (ms, read as if in UTC), ascending.
 * A repeated hour has two such instants. A skipped time has one: the instant of the clock change.
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

/** Return the first instant of a local day by its day number. A day that a clock change skips has no length. */
export const startOfDayNumber = (zone: TimeZone, day: number): number => firstInstantFrom(zone, day * dayMs)

/**
 * Return the day number of the local day that contains an instant. Local days do not overlap: if a clock change at
 * midnight returns to the day before, the new day continues, as with Temporal's start of day.
 */
export const localDayNumber = (zone: TimeZone, at: number): number => {
  let day = Math.floor((at + offsetAt(zone, at)) / dayMs)
  while (startOfDayNumber(zone, day + 1) <= at) day += 1
  return day
}

/** Return the first instant of the local day that contains an instant: 00:00, or the clock change that skips 00:00. */
export const startOfLocalDay = (zone: TimeZone, at: number): number => startOfDayNumber(zone, localDayNumber(zone, at))

/** Return the first instant of the next local day. Days that a clock change skips do not count. */
export const nextLocalMidnight = (zone: TimeZone, at: number): number => {
  let day = localDayNumber(zone, at) + 1
  while (startOfDayNumber(zone, day) <= at) day += 1
  return startOfDayNumber(zone, day)
}

/** Return the first instant of the local month that contains an instant. Local months do not overlap. */
export const startOfLocalMonth = (zone: TimeZone, at: number): number => {
  const { year, month } = civilDate(localDayNumber(zone, at))
  return startOfDayNumber(zone, dayNumber(year, month, 1))
}

/** Return the first instant of the next local month. */
export const nextLocalMonth = (zone: TimeZone, at: number): number => {
  const { year, month } = civilDate(localDayNumber(zone, at))
  return startOfDayNumber(zone, month === 12 ? dayNumber(year + 1, 1, 1) : dayNumber(year, month + 1, 1))
}

/** Return the local days that [from, to) touches, complete and in order. Days that a clock change skips are absent. */
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

/** Return the next full hour of the local clock after `at`, or an earlier clock change. */
const nextHour = (zone: TimeZone, at: number): number => {
  const index = offsetIndex(zone, at)
  const offset = offsetOf(zone, index)
  const full = (Math.floor((at + offset) / hourMs) + 1) * hourMs - offset
  return Math.min(full, changeAfter(zone, index))
}

const nextBoundary = { HOUR: nextHour, DAY: nextLocalMidnight, MONTH: nextLocalMonth }

/**
 * Return the edges of the calendar buckets of [from, to): `from`, every edge between, `to`.
 * Hours begin at full hours of the local clock and at clock changes.
 * The list ends after `maxBuckets` + 1 buckets: a longer list means too many.
 * Source: docs/rules/costs.md #buckets.
 */
export const calendarEdges = (
  zone: TimeZone,
  from: number,
  to: number,
  unit: CalendarUnit,
  maxBuckets: number = Number.POSITIVE_INFINITY,
): readonly number[] => {
  const edges = [from]
  let at = from
  while (at < to && edges.length <= maxBuckets + 1) {
    at = Math.min(to, nextBoundary[unit](zone, at))
    edges.push(at)
  }
  return edges
}

/**
 * Check if an interval is longer than a number of days: either of 24 hours, or by the clock of a zone. The longer limit
 * counts.
 * A day on which summer time ends has 25 hours, and three such days are still three days.
 * Source: docs/rules/prices-and-audits.md #span.
 */
export const isLongerThanDays = (zone: TimeZone, { start, end }: Interval, days: number): boolean => {
  const byClock = end + offsetAt(zone, end) - (start + offsetAt(zone, start))
  return Math.min(end - start, byClock) > days * dayMs
}
