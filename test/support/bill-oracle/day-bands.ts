import type { LocalClock } from '../oracle/local-clock.ts'
import type { CalendarBody, ScheduleBody, WindowBody } from './bill-input.ts'
import { dayOfClock, type LocalDay, readDay } from './local-days.ts'

const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Holidays and special days of a location. */
export type Calendar = {
  readonly holidays: ReadonlySet<LocalDay>
  readonly dayTypes: ReadonlyMap<string, ReadonlySet<LocalDay>>
}

/** Read a calendar without a country: it starts from nothing, so `remove` has no effect. */
export const readCalendar = (body: CalendarBody | null | undefined): Calendar => ({
  holidays: new Set((body?.add ?? []).map(({ date }) => readDay(date))),
  dayTypes: new Map((body?.day_types ?? []).map(({ name, dates }) => [name, new Set(dates.map(readDay))])),
})

export const isMonthNamed = (names: readonly string[], month: number): boolean =>
  names.includes('All') || names.includes(monthNames[month - 1] ?? '')

const groupOf = ({ weekday }: LocalClock): string => (weekday === 'Sat' || weekday === 'Sun' ? 'Weekend' : 'Weekdays')

const isDayTypeNamed = (days: readonly string[], clock: LocalClock, { dayTypes }: Calendar): boolean =>
  days.some(name => name.startsWith('#') && dayTypes.get(name.slice(1))?.has(dayOfClock(clock)) === true)

const isHolidayNamed = (days: readonly string[], clock: LocalClock, { holidays }: Calendar): boolean =>
  days.includes('Holidays') && holidays.has(dayOfClock(clock))

/** Seconds of the local day at which a band starts and ends. The end of the day is 86400. */
export type BandSeconds = { readonly from: number; readonly to: number }

const secondOf = (text: string): number => {
  const [hour = 0, minute = 0, second = 0] = text.split(':').map(Number)
  return hour * 3600 + minute * 60 + second
}

export const bandSeconds = (body: { readonly valid_from: string; readonly valid_to: string }): BandSeconds => ({
  from: secondOf(body.valid_from),
  to: secondOf(body.valid_to) || 86_400,
})

/** Return true if a band contains a local time. A band that ends before it starts passes midnight. */
export const containsClock = ({ from, to }: BandSeconds, { hour, minute, second }: LocalClock): boolean => {
  const at = hour * 3600 + minute * 60 + second
  return from < to ? from <= at && at < to : at >= from || at < to
}

/** A time band of a schedule with the days on which it applies. */
export type DayBand<T> = {
  readonly months: readonly string[]
  readonly dates: readonly number[]
  readonly days: readonly string[]
  readonly seconds: BandSeconds
  readonly value: T
}

export const readSchedule = <Rate, T>(
  schedule: ScheduleBody<Rate>,
  read: (rates: readonly Rate[]) => T,
): readonly DayBand<T>[] =>
  schedule.flatMap(({ months, dates, days_and_hours }) =>
    days_and_hours.flatMap(({ days, hours }) =>
      hours.map(band => ({
        months,
        dates: dates ?? [],
        days,
        seconds: bandSeconds(band),
        value: read(band.rate),
      })),
    ),
  )

/** Rank of a band at a local time, as digits from the most to the least important; null if the band does not apply. */
const rankOf = <T>(band: DayBand<T>, clock: LocalClock, calendar: Calendar): number | null => {
  const { months, dates, days, seconds } = band
  const isOnDate = dates.length === 0 || dates.includes(clock.date)
  if (!isMonthNamed(months, clock.month) || !isOnDate || !containsClock(seconds, clock)) return null
  const dateRank = (dates.length > 0 ? 2 : 0) + (months.includes('All') ? 0 : 1)
  if (isDayTypeNamed(days, clock, calendar)) return 200 + dateRank * 10
  if (isHolidayNamed(days, clock, calendar)) return 100 + dateRank * 10
  if (days.includes(clock.weekday)) return dateRank * 10 + 2
  if (days.includes(groupOf(clock))) return dateRank * 10 + 1
  return days.includes('All') ? dateRank * 10 : null
}

/**
 * Return the band that applies at a local time: bands of the day's type, then of holidays, then all others.
 * Throws if no band or two bands have the highest rank.
 */
export const bandAt = <T>(schedule: readonly DayBand<T>[], clock: LocalClock, calendar: Calendar): DayBand<T> => {
  let best: DayBand<T> | null = null
  let bestRank = -1
  let isTwice = false
  for (const band of schedule) {
    const rank = rankOf(band, clock, calendar)
    if (rank === null || rank < bestRank) continue
    isTwice = rank === bestRank
    best = band
    bestRank = rank
  }
  if (best === null || isTwice)
    throw new Error(`${isTwice ? 'Two bands apply' : 'No band applies'} at ${JSON.stringify(clock)}.`)
  return best
}

/** Return the first window that contains a local time, or null. A member that is absent does not restrict. */
export const windowAt = (windows: readonly WindowBody[], clock: LocalClock, calendar: Calendar): WindowBody | null => {
  const contains = ({ months, dates, days, hours }: WindowBody): boolean => {
    const isOnDay =
      days == null ||
      days.some(name => name === 'All' || name === clock.weekday || name === groupOf(clock)) ||
      isHolidayNamed(days, clock, calendar) ||
      isDayTypeNamed(days, clock, calendar)
    return (
      (months == null || isMonthNamed(months, clock.month)) &&
      (dates == null || dates.length === 0 || dates.includes(clock.date)) &&
      isOnDay &&
      (hours == null || hours.length === 0 || hours.some(band => containsClock(bandSeconds(band), clock)))
    )
  }
  return windows.find(contains) ?? null
}

/** Return the seconds within a minute at which a band or a window starts or ends; 0 is one of them. */
export const edgeSeconds = (bands: readonly BandSeconds[]): readonly number[] => [
  ...new Set([0, ...bands.flatMap(({ from, to }) => [from % 60, to % 60])]),
]
