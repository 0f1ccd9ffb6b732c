import { type DayKind, dayPattern } from './day-pattern.ts'
import { type DaySweep, daySweep, overlap } from './day-sweep.ts'
import type { Hours, Rate, ScheduleEntry } from './tariff.ts'

/** Which band holds from which second of a day on; -1 where none does. */
export type BandPattern = { readonly starts: readonly number[]; readonly bands: readonly number[] }

/** A schedule made ready for pricing. Equal schedules share one, whatever tariffs and locations they belong to. */
export type Terms = {
  readonly marketRates: boolean
  /** The schedule that the patterns are made of. */
  readonly schedule: readonly ScheduleEntry[]
  readonly bands: readonly (readonly Rate[])[]
  /** Give the pattern of a day (month 1 … 12, date 1 … 31, weekday 0 = Monday). */
  readonly patternOn: (month: number, date: number, weekday: number) => BandPattern
  /** Number of bands of the schedule, of all its days together. */
  readonly bandCount: number
  /** Give the number of bands of the day that has most of them; where the schedule has dates, at least that. */
  readonly maxBands: () => number
}

const rateText = (rate: Rate): string => `${rate.fixed},${rate.to},${rate.surchargeFixed},${rate.surchargePercentage};`

/** Give texts that are equal for schedules of equal content, band by band. Every list is closed by a mark that its members do not hold. */
export function* scheduleTexts(schedule: readonly ScheduleEntry[]): Generator<string, void> {
  for (const { months, dates, daysAndHours } of schedule) {
    yield `${months.join(',')}/${dates.join(',')}{`
    for (const { days, hours } of daysAndHours) {
      yield `${days.join(',')}[`
      for (const { validFrom, validTo, rate } of hours) {
        let text = `${validFrom}-${validTo}:`
        for (const tier of rate) text += rateText(tier)
        yield `${text}|`
      }
      yield ']'
    }
    yield '}'
  }
}

/** Give a text that is equal for schedules of equal content. */
export const scheduleText = (schedule: readonly ScheduleEntry[]): string => [...scheduleTexts(schedule)].join('')

/** The distinct rate lists of a schedule, in the order in which they are asked for. */
const bandRegister = () => {
  const indexes = new Map<string, number>()
  const bands: (readonly Rate[])[] = []
  const indexOf = (rates: readonly Rate[]): number => {
    const text = rates.map(rateText).join('')
    const known = indexes.get(text)
    if (known !== undefined) return known
    indexes.set(text, bands.length)
    bands.push(rates)
    return bands.length - 1
  }
  return { bands, indexOf }
}

/** A schedule of fewer bands is made ready anew for each of its few patterns: held, that would take more memory than the schedule. */
const manyBands = 32

/** Make the patterns of a schedule; `indexOf` gives the number of a list of rates. */
const patternMaker = (schedule: readonly ScheduleEntry[], indexOf: (rates: readonly Rate[]) => number) => {
  const byContent = new Map<string, BandPattern>()
  let held: { readonly days: DaySweep; readonly byClass: Map<string, BandPattern>; readonly numbers: Map<Hours, number> } | null = null

  const numberOf = (hours: Hours | undefined): number => {
    if (hours === undefined) return -1
    const number = held?.numbers.get(hours) ?? indexOf(hours.rate)
    held?.numbers.set(hours, number)
    return number
  }

  /** Append the parts of a day; of bands that overlap, which no tariff that was read has, the first one holds. */
  const sweepDay = (days: DaySweep, kind: DayKind, append: (from: number, hours: Hours | undefined) => void): void => {
    let isUnclear = false
    days.sweep(kind, (from, _to, band) => {
      isUnclear ||= band === overlap
      append(from, days.bands[band])
      return isUnclear
    })
    if (isUnclear) for (const { from, bands } of dayPattern(schedule, kind)) append(from, bands[0]?.hours)
  }

  const makePattern = (days: DaySweep, kind: DayKind): BandPattern => {
    const starts: number[] = []
    const bands: number[] = []
    sweepDay(days, kind, (from, hours) => {
      if (from === 0) starts.length = bands.length = 0
      const band = numberOf(hours)
      if (bands.at(-1) === band) return
      starts.push(from)
      bands.push(band)
    })
    const content = `${starts}/${bands}`
    const pattern = byContent.get(content) ?? { starts, bands }
    byContent.set(content, pattern)
    return pattern
  }

  return (kind: DayKind): BandPattern => {
    const days = held?.days ?? daySweep(schedule)
    if (days.bands.length < manyBands) return makePattern(days, kind)
    held ??= { days, byClass: new Map(), numbers: new Map() }
    const dayClass = days.classOf(kind)
    const pattern = held.byClass.get(dayClass) ?? makePattern(days, kind)
    held.byClass.set(dayClass, pattern)
    return pattern
  }
}

/** Months with weekdays. */
const dayKinds = Array.from({ length: 84 }, (_, index) => [1 + Math.floor(index / 7), index % 7] as const)

/** Compile a schedule; patterns are made when a day first asks for them, equal ones once. */
export const compileTerms = (schedule: readonly ScheduleEntry[], marketRates: boolean): Terms => {
  const { bands, indexOf } = bandRegister()
  const byDay = new Map<number, BandPattern>()
  const makePattern = patternMaker(schedule, indexOf)
  // Without dates in the schedule all days of a month and weekday are alike.
  const dated = schedule.some(entry => entry.dates.length > 0)
  const patternOn = (month: number, date: number, weekday: number): BandPattern => {
    const key = (month * 32 + (dated ? date : 0)) * 8 + weekday
    const pattern = byDay.get(key) ?? makePattern({ month, date: dated ? date : 1, weekday })
    byDay.set(key, pattern)
    return pattern
  }
  const bandCount = schedule.reduce((sum, { daysAndHours }) => daysAndHours.reduce((own, { hours }) => own + hours.length, sum), 0)
  let most: number | null = null
  const maxBands = (): number => {
    most ??= dated ? bandCount : Math.max(...dayKinds.map(([month, weekday]) => patternOn(month, 1, weekday).starts.length))
    return most
  }
  return { marketRates, schedule, bands, patternOn, bandCount, maxBands }
}
