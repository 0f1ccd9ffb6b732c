import type { Day, DaysAndHours, Month, ScheduleEntry, SpecialDay, TimeBand } from './tariff.ts'

export const monthNames: readonly Month[] = [
  'Jan',
  'Feb',
  'Mar',
  'Apr',
  'May',
  'Jun',
  'Jul',
  'Aug',
  'Sep',
  'Oct',
  'Nov',
  'Dec',
]
export const dayNames: readonly Day[] = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
export const secondsPerDay = 86_400

/**
 * Properties of a calendar day that a schedule can distinguish: month 1 … 12, date 1 … 31, weekday 0 (Monday) … 6, and
 * the special days that it is; absent on an ordinary day.
 */
export type CalendarDayKind = {
  readonly month: number
  readonly date: number
  readonly weekday: number
  readonly special?: readonly SpecialDay[]
}

/** Position of a time band in its schedule: `schedule[entry].days_and_hours[block].hours[band]`. */
export type TimeBandIndex = { readonly entry: number; readonly block: number; readonly band: number }

/**
 * Part of a day, in seconds, half-open, with the time bands of highest rank that cover it. No band is a gap, two are an
 * overlap.
 */
export type DaySegment = {
  readonly startSecond: number
  readonly endSecond: number
  readonly timeBands: readonly (TimeBandIndex & { readonly hours: TimeBand })[]
}

type RankedTimeBand = TimeBandIndex & { readonly hours: TimeBand; readonly rank: number }

/**
 * Return a function for the rank of an entry in a month on a date. An entry with dates and months has rank 3, with
 * dates 2, with months 1, with neither 0. The rank is -1 if the entry does not apply.
 */
export const entryRanks = (
  schedule: readonly ScheduleEntry[],
): ((entry: number, month: number, date: number) => number) => {
  const [months, dates, ranks] = [
    new Int32Array(schedule.length),
    new Int32Array(schedule.length),
    new Int8Array(schedule.length),
  ]
  for (const [index, entry] of schedule.entries()) {
    const isEveryMonth = entry.months.includes('All')
    months[index] = isEveryMonth
      ? -1
      : entry.months.reduce((mask, name) => mask | (1 << monthNames.indexOf(name as Month)), 0)
    dates[index] = entry.dates.length === 0 ? -1 : entry.dates.reduce((mask, date) => mask | (1 << (date - 1)), 0)
    ranks[index] = (entry.dates.length > 0 ? 2 : 0) + (isEveryMonth ? 0 : 1)
  }
  return (entry, month, date) => {
    const isApplicable = ((months[entry] as number) >>> (month - 1)) & ((dates[entry] as number) >>> (date - 1)) & 1
    return isApplicable === 1 ? (ranks[entry] as number) : -1
  }
}

/** Number of ranks: 12 of ordinary days, 4 of holidays and, above them, 4 of day types. */
export const rankCount = 20

/**
 * Return the rank of a block in the order of all blocks; -1 if the block does not apply. `entryRank` is that of its
 * entry, `weekdayRank` that of `blockRank`.
 * On a day of a type, blocks that name the type come first; then, on a holiday, those that name Holidays; then all
 * others. The weekday does not matter for the first two.
 * Source: docs/rules/tariffs.md #special-days.
 */
export const fullRank = (
  days: DaysAndHours['days'],
  special: readonly SpecialDay[] | undefined,
  entryRank: number,
  weekdayRank: number,
): number => {
  if (entryRank < 0) return -1
  if (special !== undefined && special.length > 0) {
    if (special.some(name => name !== 'Holidays' && days.includes(name))) return 16 + entryRank
    if (special.includes('Holidays') && days.includes('Holidays')) return 12 + entryRank
  }
  return weekdayRank < 0 ? -1 : entryRank * 3 + weekdayRank
}

/** Return the rank of a block on a weekday: single day 2, group 1, All 0; -1 if the block does not apply. */
export const blockRank = (block: DaysAndHours, weekday: number): number => {
  if (block.days.includes(dayNames[weekday] as Day)) return 2
  if (block.days.includes(weekday < 5 ? 'Weekdays' : 'Weekend')) return 1
  return block.days.includes('All') ? 0 : -1
}

/** Return the time bands of every rank that apply on a kind of day, in the order of the schedule. */
const timeBandsOn = (schedule: readonly ScheduleEntry[], kind: CalendarDayKind): RankedTimeBand[] => {
  const ranks = entryRanks(schedule)
  return schedule.flatMap((entry, entryIndex) => {
    const entryRank = ranks(entryIndex, kind.month, kind.date)
    return entry.daysAndHours.flatMap((daysAndHours, block) => {
      const rank = fullRank(daysAndHours.days, kind.special, entryRank, blockRank(daysAndHours, kind.weekday))
      return rank < 0 ? [] : daysAndHours.hours.map((hours, band) => ({ entry: entryIndex, block, band, hours, rank }))
    })
  })
}

type TimeBandEdge = { readonly second: number; readonly isOpening: boolean; readonly band: RankedTimeBand }

/**
 * Return the starts and ends of bands, in order. A band that passes midnight covers the end and the beginning of the
 * day.
 */
const edgesOf = (timeBands: readonly RankedTimeBand[]): TimeBandEdge[] =>
  timeBands
    .flatMap(band => {
      const { validFrom, validTo } = band.hours
      const isWrapping = validTo <= validFrom
      const edges = [
        { second: validFrom, isOpening: true, band },
        { second: isWrapping ? secondsPerDay : validTo, isOpening: false, band },
      ]
      return isWrapping && validTo > 0
        ? [...edges, { second: 0, isOpening: true, band }, { second: validTo, isOpening: false, band }]
        : edges
    })
    .sort((a, b) => a.second - b.second)

/** Return the bands of the highest rank that has an open band. */
const highestRanked = (openBandsByRank: readonly ReadonlySet<RankedTimeBand>[]): RankedTimeBand[] => {
  const highestOpen = openBandsByRank.findLast(open => open.size > 0)
  return highestOpen === undefined ? [] : [...highestOpen]
}

/**
 * Return the time bands of a kind of day, in order, over the whole day.
 * At each instant the highest rank applies: special days; then dates with months, dates, months, none; then single day,
 * group, All. A band that passes midnight covers the end and the beginning of the same day: its months, dates and days
 * are those of the instant.
 * Neighbouring parts with the same single band are joined. For many days `createDaySweep` is much faster.
 * Source: docs/rules/tariffs.md #time-bands, #special-days.
 */
export const dayPattern = (schedule: readonly ScheduleEntry[], kind: CalendarDayKind): DaySegment[] => {
  const edges = edgesOf(timeBandsOn(schedule, kind))
  const openBandsByRank = Array.from({ length: rankCount }, () => new Set<RankedTimeBand>())
  const segments: { startSecond: number; endSecond: number; timeBands: RankedTimeBand[] }[] = []
  let next = 0
  for (let second = 0; second < secondsPerDay; second = edges[next]?.second ?? secondsPerDay) {
    for (; edges[next]?.second === second; next += 1) {
      const { isOpening, band } = edges[next] as TimeBandEdge
      if (isOpening) openBandsByRank[band.rank]?.add(band)
      else openBandsByRank[band.rank]?.delete(band)
    }
    const timeBands = highestRanked(openBandsByRank)
    const endSecond = edges[next]?.second ?? secondsPerDay
    const last = segments.at(-1)
    if (
      last !== undefined &&
      timeBands.length === 1 &&
      last.timeBands.length === 1 &&
      last.timeBands[0] === timeBands[0]
    )
      last.endSecond = endSecond
    else segments.push({ startSecond: second, endSecond, timeBands })
  }
  return segments
}
