import type { Day, DaysAndHours, Hours, Month, ScheduleEntry } from './tariff.ts'

export const monthNames: readonly Month[] = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
export const dayNames: readonly Day[] = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
export const secondsOfDay = 86_400

/** The kind of a calendar day that a schedule can tell apart: month 1 … 12, date 1 … 31, weekday 0 (Monday) … 6. */
export type DayKind = { readonly month: number; readonly date: number; readonly weekday: number }

/** The place of a band in its schedule: `schedule[entry].days_and_hours[block].hours[band]`. */
export type BandPlace = { readonly entry: number; readonly block: number; readonly band: number }

/**
 * A stretch of a day in seconds, half-open, with the bands of highest rank that cover it: none is a gap, two are an overlap.
 */
export type DayStretch = { readonly from: number; readonly to: number; readonly bands: readonly (BandPlace & { readonly hours: Hours })[] }

type RankedBand = BandPlace & { readonly hours: Hours; readonly rank: number }

/** Return the rank of the entry of an index in a month and on a date: dates with months, dates, months, none: 3 … 0; -1: it does not apply. */
export const entryRanks = (schedule: readonly ScheduleEntry[]): ((entry: number, month: number, date: number) => number) => {
  const [months, dates, ranks] = [new Int32Array(schedule.length), new Int32Array(schedule.length), new Int8Array(schedule.length)]
  for (const [index, entry] of schedule.entries()) {
    const everyMonth = entry.months.includes('All')
    months[index] = everyMonth ? -1 : entry.months.reduce((mask, name) => mask | (1 << monthNames.indexOf(name as Month)), 0)
    dates[index] = entry.dates.length === 0 ? -1 : entry.dates.reduce((mask, date) => mask | (1 << (date - 1)), 0)
    ranks[index] = (entry.dates.length > 0 ? 2 : 0) + (everyMonth ? 0 : 1)
  }
  return (entry, month, date) => {
    const applies = ((months[entry] as number) >>> (month - 1)) & ((dates[entry] as number) >>> (date - 1)) & 1
    return applies === 1 ? (ranks[entry] as number) : -1
  }
}

/** Return the rank of a block on a weekday: single day, group, All: 2 … 0; -1: it does not apply. */
export const blockRank = (block: DaysAndHours, weekday: number): number => {
  if (block.days.includes(dayNames[weekday] as Day)) return 2
  if (block.days.includes(weekday < 5 ? 'Weekdays' : 'Weekend')) return 1
  return block.days.includes('All') ? 0 : -1
}

/** Give the bands of every rank that hold on a kind of day, in the order of the schedule. */
const bandsOn = (schedule: readonly ScheduleEntry[], kind: DayKind): RankedBand[] => {
  const ranks = entryRanks(schedule)
  return schedule.flatMap((entry, entryIndex) => {
    const rank = ranks(entryIndex, kind.month, kind.date)
    if (rank < 0) return []
    return entry.daysAndHours.flatMap((daysAndHours, block) => {
      const dayRank = blockRank(daysAndHours, kind.weekday)
      if (dayRank < 0) return []
      return daysAndHours.hours.map((hours, band) => ({ entry: entryIndex, block, band, hours, rank: rank * 3 + dayRank }))
    })
  })
}

type Edge = { readonly at: number; readonly opens: boolean; readonly band: RankedBand }

/** Where bands open and close, in order. A band that wraps holds at the day's end and at its beginning. */
const edgesOf = (bands: readonly RankedBand[]): Edge[] =>
  bands
    .flatMap(band => {
      const { validFrom, validTo } = band.hours
      const wraps = validTo <= validFrom
      const edges = [
        { at: validFrom, opens: true, band },
        { at: wraps ? secondsOfDay : validTo, opens: false, band },
      ]
      return wraps && validTo > 0 ? [...edges, { at: 0, opens: true, band }, { at: validTo, opens: false, band }] : edges
    })
    .sort((a, b) => a.at - b.at)

/** The bands of the highest rank that has any. */
const highest = (openByRank: readonly ReadonlySet<RankedBand>[]): RankedBand[] => {
  const holding = openByRank.findLast(open => open.size > 0)
  return holding === undefined ? [] : [...holding]
}

/**
 * Give the bands that hold on a kind of day, in order and over the whole day.
 * Where several cover an instant the highest rank holds: dates with months, dates, months, none; then single day, group, All.
 * A band that wraps covers the end and the beginning of the same day: months, dates and days are those of the instant itself.
 * Neighbours of one band are one stretch. To look at many days, use `daySweep`, which is much faster.
 * Source: docs/rules/tariffs.md #time-bands.
 */
export const dayPattern = (schedule: readonly ScheduleEntry[], kind: DayKind): DayStretch[] => {
  const edges = edgesOf(bandsOn(schedule, kind))
  const openByRank = Array.from({ length: 12 }, () => new Set<RankedBand>())
  const stretches: { from: number; to: number; bands: RankedBand[] }[] = []
  let next = 0
  for (let at = 0; at < secondsOfDay; at = edges[next]?.at ?? secondsOfDay) {
    for (; edges[next]?.at === at; next += 1) {
      const { opens, band } = edges[next] as Edge
      if (opens) openByRank[band.rank]?.add(band)
      else openByRank[band.rank]?.delete(band)
    }
    const bands = highest(openByRank)
    const to = edges[next]?.at ?? secondsOfDay
    const last = stretches.at(-1)
    if (last !== undefined && bands.length === 1 && last.bands.length === 1 && last.bands[0] === bands[0]) last.to = to
    else stretches.push({ from: at, to, bands })
  }
  return stretches
}
