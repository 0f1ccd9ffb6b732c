import { type CalendarDayKind, dayPattern } from './day-pattern.ts'
import { createDaySweep, type DaySweep, overlappingTimeBands } from './day-sweep.ts'
import { type Rate, rateText } from './rate.ts'
import { namesOfMask, specialDaysOf } from './special-days.ts'
import type { ScheduleEntry, SpecialDay, TimeBand } from './tariff.ts'

/** Rates over one kind of day: `rateIndexes[i]` applies from second `starts[i]` to the next start; -1 for a gap. */
export type DayPattern = { readonly starts: readonly number[]; readonly rateIndexes: readonly number[] }

/** Schedule prepared for look-ups. Equal schedules share one, across tariffs and locations. */
export type CompiledSchedule = {
  readonly followsMarket: boolean
  /** The schedule that the patterns are built from. */
  readonly schedule: readonly ScheduleEntry[]
  readonly rateLists: readonly (readonly Rate[])[]
  /** Special days that the schedule names. */
  readonly specialDays: readonly SpecialDay[]
  /**
   * Return the pattern of a day (month 1 … 12, date 1 … 31, weekday 0 is Monday). `special` (default 0) are the special
   * days that it is, as a bit mask of `specialDays`.
   */
  readonly patternOn: (month: number, date: number, weekday: number, special?: number) => DayPattern
  /** Number of time bands in the whole schedule. */
  readonly timeBandCount: number
  /** Return the largest number of time bands on one day; an upper bound if the schedule has dates or special days. */
  readonly mostTimeBandsOnADay: () => number
}

/**
 * Return a text that is equal for schedules of equal content, and only for these. Every list ends with a mark that its
 * members never contain.
 */
export const scheduleText = (schedule: readonly ScheduleEntry[]): string => {
  let text = ''
  for (const { months, dates, daysAndHours } of schedule) {
    text += `${months.join(',')}/${dates.join(',')}{`
    for (const { days, hours } of daysAndHours) {
      text += `${days.join(',')}[`
      for (const { validFrom, validTo, rate } of hours) {
        text += `${validFrom}-${validTo}:`
        for (const tier of rate) text += rateText(tier)
        text += '|'
      }
      text += ']'
    }
    text += '}'
  }
  return text
}

/** Collect the distinct rate lists of a schedule, in the order of first use. */
const createRateRegister = () => {
  const indexes = new Map<string, number>()
  const rateLists: (readonly Rate[])[] = []
  const indexOf = (rates: readonly Rate[]): number => {
    const text = rates.map(rateText).join('')
    const known = indexes.get(text)
    if (known !== undefined) return known
    indexes.set(text, rateLists.length)
    rateLists.push(rates)
    return rateLists.length - 1
  }
  return { rateLists, indexOf }
}

/**
 * Smaller schedules are prepared again for each of their few patterns: a cache would need more memory than the
 * schedule.
 */
const manyTimeBands = 32

/** Create a function that builds the pattern of a kind of day. `indexOf` returns the index of a rate list. */
const createPatternMaker = (schedule: readonly ScheduleEntry[], indexOf: (rates: readonly Rate[]) => number) => {
  const byContent = new Map<string, DayPattern>()
  let sweepCache: {
    readonly days: DaySweep
    readonly byClass: Map<string, DayPattern>
    readonly numbers: Map<TimeBand, number>
  } | null = null

  const rateIndexOf = (hours: TimeBand | undefined): number => {
    if (hours === undefined) return -1
    const rateIndex = sweepCache?.numbers.get(hours) ?? indexOf(hours.rate)
    sweepCache?.numbers.set(hours, rateIndex)
    return rateIndex
  }

  /** Append the parts of a day. If bands overlap, which no validated tariff has, the first band applies. */
  const visitDayParts = (
    days: DaySweep,
    kind: CalendarDayKind,
    append: (from: number, hours: TimeBand | undefined) => void,
  ): void => {
    let isOverlapping = false
    days.sweep(kind, (from, _to, band) => {
      isOverlapping ||= band === overlappingTimeBands
      append(from, days.timeBands[band])
      return isOverlapping
    })
    if (isOverlapping)
      for (const { startSecond: from, timeBands } of dayPattern(schedule, kind)) append(from, timeBands[0]?.hours)
  }

  const makePattern = (days: DaySweep, kind: CalendarDayKind): DayPattern => {
    const starts: number[] = []
    const rateIndexes: number[] = []
    visitDayParts(days, kind, (from, hours) => {
      if (from === 0) starts.length = rateIndexes.length = 0
      const rateIndex = rateIndexOf(hours)
      if (rateIndexes.at(-1) === rateIndex) return
      starts.push(from)
      rateIndexes.push(rateIndex)
    })
    const content = `${starts}/${rateIndexes}`
    const pattern = byContent.get(content) ?? { starts, rateIndexes }
    byContent.set(content, pattern)
    return pattern
  }

  return (kind: CalendarDayKind): DayPattern => {
    const days = sweepCache?.days ?? createDaySweep(schedule)
    if (days.timeBands.length < manyTimeBands) return makePattern(days, kind)
    sweepCache ??= { days, byClass: new Map(), numbers: new Map() }
    const dayClass = days.classOf(kind)
    const pattern = sweepCache.byClass.get(dayClass) ?? makePattern(days, kind)
    sweepCache.byClass.set(dayClass, pattern)
    return pattern
  }
}

/** All pairs of month and weekday. */
const undatedDayKinds = Array.from({ length: 84 }, (_, index) => [1 + Math.floor(index / 7), index % 7] as const)

/** Compile a schedule. Patterns are built on first use, equal patterns once. */
export const compileSchedule = (schedule: readonly ScheduleEntry[], marketRates: boolean): CompiledSchedule => {
  const { rateLists, indexOf } = createRateRegister()
  const byDay = new Map<number, DayPattern>()
  const makePattern = createPatternMaker(schedule, indexOf)
  // Without dates in the schedule, all days of a month and weekday have the same bands.
  const hasDates = schedule.some(entry => entry.dates.length > 0)
  const specialDays = specialDaysOf(schedule)
  const patternOn = (month: number, date: number, weekday: number, special = 0): DayPattern => {
    const key = ((special * 16 + month) * 32 + (hasDates ? date : 0)) * 8 + weekday
    const kind = { month, date: hasDates ? date : 1, weekday }
    const pattern =
      byDay.get(key) ?? makePattern(special === 0 ? kind : { ...kind, special: namesOfMask(specialDays, special) })
    byDay.set(key, pattern)
    return pattern
  }
  const timeBandCount = schedule.reduce(
    (sum, { daysAndHours }) => daysAndHours.reduce((own, { hours }) => own + hours.length, sum),
    0,
  )
  let maxCount: number | null = null
  const mostTimeBandsOnADay = (): number => {
    maxCount ??=
      hasDates || specialDays.length > 0
        ? timeBandCount
        : Math.max(...undatedDayKinds.map(([month, weekday]) => patternOn(month, 1, weekday).starts.length))
    return maxCount
  }
  return { followsMarket: marketRates, schedule, rateLists, specialDays, patternOn, timeBandCount, mostTimeBandsOnADay }
}
