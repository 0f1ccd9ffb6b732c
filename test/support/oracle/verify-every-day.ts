import { daysInMonth } from '../../../services/domain/civil-date.ts'
import type { Refusal } from '../../../services/domain/refusal.ts'
import {
  type CalendarDayKind,
  type DaySegment,
  dayNames,
  monthNames,
  secondsPerDay,
  type TimeBandIndex,
} from '../../../services/domain/tariff/day-pattern.ts'
import type {
  Day,
  DaysAndHours,
  Month,
  ScheduleEntry,
  SpecialDay,
  TimeBand,
} from '../../../services/domain/tariff/tariff.ts'

// Slow check of a schedule on every kind of day. The optimized check of the domain must agree with it.

type RankedBand = TimeBandIndex & { readonly hours: TimeBand; readonly rank: number }

/**
 * Return the rank of an entry: dates with months 3, dates 2, months 1, none 0. -1 if the entry does not apply on this
 * day.
 */
const entryRank = (entry: ScheduleEntry, kind: CalendarDayKind): number => {
  const everyMonth = entry.months.includes('All')
  if (!everyMonth && !entry.months.includes(monthNames[kind.month - 1] as Month)) return -1
  if (entry.dates.length > 0 && !entry.dates.includes(kind.date)) return -1
  return (entry.dates.length > 0 ? 2 : 0) + (everyMonth ? 0 : 1)
}

/** Return the rank of a block: single day 2, group 1, All 0. -1 if the block does not apply on this weekday. */
const blockRank = (block: DaysAndHours, weekday: number): number => {
  if (block.days.includes(dayNames[weekday] as Day)) return 2
  if (block.days.includes(weekday < 5 ? 'Weekdays' : 'Weekend')) return 1
  return block.days.includes('All') ? 0 : -1
}

/** Return the class of a block on a day that is special: it names the day type 2, Holidays 1, neither 0. */
const specialClass = ({ days }: DaysAndHours, special: readonly SpecialDay[] = []): number => {
  if (days.some(name => name.startsWith('#') && special.some(one => one === name))) return 2
  return special.includes('Holidays') && days.includes('Holidays') ? 1 : 0
}

/** Return the time bands of all ranks on a kind of day, in the order of the schedule. */
const bandsOn = (schedule: readonly ScheduleEntry[], kind: CalendarDayKind): RankedBand[] =>
  schedule.flatMap((entry, entryIndex) => {
    const rank = entryRank(entry, kind)
    if (rank < 0) return []
    return entry.daysAndHours.flatMap((daysAndHours, block) => {
      const special = specialClass(daysAndHours, kind.special)
      const dayRank = special > 0 ? 0 : blockRank(daysAndHours, kind.weekday)
      if (dayRank < 0) return []
      return daysAndHours.hours.map((hours, band) => ({
        entry: entryIndex,
        block,
        band,
        hours,
        rank: special * 12 + rank * 3 + dayRank,
      }))
    })
  })

type Edge = { readonly at: number; readonly isOpening: boolean; readonly band: RankedBand }

/**
 * Return the starts and ends of time bands, in order. A band over midnight applies at the end and the start of the day.
 */
const edgesOf = (bands: readonly RankedBand[]): Edge[] =>
  bands
    .flatMap(band => {
      const { validFrom, validTo } = band.hours
      const isOverMidnight = validTo <= validFrom
      const edges = [
        { at: validFrom, isOpening: true, band },
        { at: isOverMidnight ? secondsPerDay : validTo, isOpening: false, band },
      ]
      return isOverMidnight && validTo > 0
        ? [...edges, { at: 0, isOpening: true, band }, { at: validTo, isOpening: false, band }]
        : edges
    })
    .sort((a, b) => a.at - b.at)

/** Return the open time bands of the highest rank. */
const highest = (openByRank: readonly ReadonlySet<RankedBand>[]): RankedBand[] => {
  const highestOpen = openByRank.findLast(open => open.size > 0)
  return highestOpen === undefined ? [] : [...highestOpen]
}

/**
 * Return the segments of a kind of day with their time bands, in order. They cover the whole day.
 * If several bands cover an instant, the highest rank applies: day type, Holidays, other days; then dates with months,
 * dates, months, none; then single day, group, All.
 * A band over midnight covers the end and the start of the same day. Months, dates and days are those of the instant.
 * Consecutive segments with one and the same band are joined. Source: docs/rules/tariffs.md #time-bands.
 */
const dayPattern = (schedule: readonly ScheduleEntry[], kind: CalendarDayKind): DaySegment[] => {
  const edges = edgesOf(bandsOn(schedule, kind))
  const openByRank = Array.from({ length: 36 }, () => new Set<RankedBand>())
  const segments: { startSecond: number; endSecond: number; timeBands: RankedBand[] }[] = []
  let next = 0
  for (let at = 0; at < secondsPerDay; at = edges[next]?.at ?? secondsPerDay) {
    for (; edges[next]?.at === at; next += 1) {
      const { isOpening, band } = edges[next] as Edge
      if (isOpening) openByRank[band.rank]?.add(band)
      else openByRank[band.rank]?.delete(band)
    }
    const timeBands = highest(openByRank)
    const endSecond = edges[next]?.at ?? secondsPerDay
    const last = segments.at(-1)
    if (
      last !== undefined &&
      timeBands.length === 1 &&
      last.timeBands.length === 1 &&
      last.timeBands[0] === timeBands[0]
    )
      last.endSecond = endSecond
    else segments.push({ startSecond: at, endSecond, timeBands })
  }
  return segments
}

/** Maximum number of time bands on a day: one for each minute. The limit also keeps the check fast. */
const maxBandsOfDay = 1440

const two = (value: number): string => String(value).padStart(2, '0')
const clock = (second: number): string =>
  `${two(Math.floor(second / 3600))}:${two(Math.floor(second / 60) % 60)}:${two(second % 60)}`

const pathOf = ({ entry, block, band }: TimeBandIndex): string =>
  `schedule[${entry}].days_and_hours[${block}].hours[${band}]`

const dayText = ({ month, date, weekday, special }: CalendarDayKind, isDated: boolean): string =>
  `${special?.[0] ?? dayNames[weekday]} in ${monthNames[month - 1]}${isDated ? ` on date ${date}` : ''}`

/** Return a hint for a gap. A band that ends at the last second of a minute excludes that second. */
const secondHint = ({ startSecond: from, endSecond: to }: DaySegment): string =>
  to - from === 1 && from % 60 === 59
    ? `; valid_to is exclusive, so use ${to === 86_400 ? '00:00:00' : clock(to)}`
    : '; add one'

const faultIn = (segment: DaySegment, kind: CalendarDayKind, isDated: boolean): Refusal | undefined => {
  const position = `${dayText(kind, isDated)} at ${clock(segment.startSecond)}`
  const [first, second] = segment.timeBands
  if (first === undefined) {
    return { code: 'schedule_gap', message: `No band covers ${position}${secondHint(segment)}`, field: 'schedule' }
  }
  if (second === undefined) return undefined
  const message = `${pathOf(first)} and ${pathOf(second)} both cover ${position} with equal rank; change one of them`
  return { code: 'schedule_overlap', message, field: pathOf(second) }
}

/**
 * Return the dates of a month to check: the dates that the schedule names, and the first other date.
 * Every date falls on every weekday in some year, including 29 February.
 */
const datesToVerify = (month: number, named: ReadonlySet<number>): number[] => {
  const dates = Array.from({ length: daysInMonth(2000, month) }, (_, index) => index + 1)
  const other = dates.find(date => !named.has(date))
  return dates.filter(date => named.has(date) || date === other)
}

const isNameOfCalendar = (name: string): name is SpecialDay => name === 'Holidays' || name.startsWith('#')

const kindsOf = (month: number, date: number, names: readonly SpecialDay[]): CalendarDayKind[] =>
  [undefined, ...names].flatMap(name =>
    dayNames.map((_, weekday) => ({ month, date, weekday, ...(name !== undefined && { special: [name] }) })),
  )

/**
 * Check that every instant of the calendar has exactly one time band of the highest rank, with and without each special
 * day on each weekday.
 * Return the first fault in the order of month, date, special day (none first), weekday and time.
 * Source: docs/rules/tariffs.md #time-bands, #special-days.
 */
export const verifyEveryDay = (schedule: readonly ScheduleEntry[]): Refusal | undefined => {
  const named = new Set(schedule.flatMap(entry => entry.dates))
  const names = [
    ...new Set(schedule.flatMap(entry => entry.daysAndHours.flatMap(({ days }) => days.filter(isNameOfCalendar)))),
  ]
  for (let month = 1; month <= 12; month += 1) {
    for (const date of datesToVerify(month, named)) {
      for (const kind of kindsOf(month, date, names)) {
        if (bandsOn(schedule, kind).length > maxBandsOfDay) {
          const message = `schedule must hold at most ${maxBandsOfDay} bands on ${dayText(kind, named.size > 0)}`
          return { code: 'schedule_invalid', message, field: 'schedule' }
        }
        for (const segment of dayPattern(schedule, kind)) {
          const fault = faultIn(segment, kind, named.size > 0)
          if (fault !== undefined) return fault
        }
      }
    }
  }
  return undefined
}
