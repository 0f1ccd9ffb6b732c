import { dayPattern } from './day-pattern.ts'
import type { Rate, ScheduleEntry } from './tariff.ts'

/** Which band holds from which second of a day on; -1 where none does. */
export type BandPattern = { readonly starts: readonly number[]; readonly bands: readonly number[] }

/** A schedule made ready for pricing. Equal schedules share one, whatever tariffs and locations they belong to. */
export type Terms = {
  readonly marketRates: boolean
  readonly bands: readonly (readonly Rate[])[]
  /** Give the pattern of a day (month 1 … 12, date 1 … 31, weekday 0 = Monday). */
  readonly patternOn: (month: number, date: number, weekday: number) => BandPattern
}

const rateText = (rate: Rate): string => `${rate.fixed},${rate.to},${rate.surchargeFixed},${rate.surchargePercentage};`

/** Give a text that is equal for schedules of equal content. Every list is closed by a mark that its members do not hold. */
export const scheduleText = (schedule: readonly ScheduleEntry[]): string =>
  schedule
    .map(({ months, dates, daysAndHours }) => {
      const blocks = daysAndHours.map(({ days, hours }) => {
        const bands = hours.map(band => `${band.validFrom}-${band.validTo}:${band.rate.map(rateText).join('')}`)
        return `${days.join(',')}[${bands.join('|')}]`
      })
      return `${months.join(',')}/${dates.join(',')}{${blocks.join('')}}`
    })
    .join('')

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

/** Compile a schedule; patterns are made when a day first asks for them, equal ones once. */
export const compileTerms = (schedule: readonly ScheduleEntry[], marketRates: boolean): Terms => {
  const { bands, indexOf } = bandRegister()
  const byDay = new Map<number, BandPattern>()
  const byContent = new Map<string, BandPattern>()
  const makePattern = (month: number, date: number, weekday: number): BandPattern => {
    const starts: number[] = []
    const indexes: number[] = []
    for (const stretch of dayPattern(schedule, { month, date, weekday })) {
      const hours = stretch.bands[0]?.hours
      const band = hours === undefined ? -1 : indexOf(hours.rate)
      if (indexes.at(-1) === band) continue
      starts.push(stretch.from)
      indexes.push(band)
    }
    const content = `${starts}/${indexes}`
    const pattern = byContent.get(content) ?? { starts, bands: indexes }
    byContent.set(content, pattern)
    return pattern
  }
  // Without dates in the schedule all days of a month and weekday are alike.
  const dated = schedule.some(entry => entry.dates.length > 0)
  const patternOn = (month: number, date: number, weekday: number): BandPattern => {
    const key = (month * 32 + (dated ? date : 0)) * 8 + weekday
    const pattern = byDay.get(key) ?? makePattern(month, dated ? date : 1, weekday)
    byDay.set(key, pattern)
    return pattern
  }
  return { marketRates, bands, patternOn }
}
