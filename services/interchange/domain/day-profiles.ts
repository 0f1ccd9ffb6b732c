import { dayNames, monthNames, secondsPerDay } from '../../domain/tariff/day-pattern.ts'
import { type Rate, rateText } from '../../domain/tariff/rate.ts'
import type { DaysAndHours, ScheduleEntry, TimeBand } from '../../domain/tariff/tariff.ts'

/** Rates of a day, by the seconds at which they begin. The first begins at 0. */
export type DayProfile = readonly { readonly start: number; readonly rate: readonly Rate[] }[]

/** Profiles of a month: of Monday to Sunday, and of public holidays. `holidays` null: they are days like others. */
export type MonthProfile = { readonly weekdays: readonly DayProfile[]; readonly holidays: DayProfile | null }

const rateKey = (rate: readonly Rate[]): string => rate.map(rateText).join('')

/** Join neighbours with the same rate. */
const joined = (profile: DayProfile): DayProfile =>
  profile.filter(({ rate }, index) => {
    const before = profile[index - 1]
    return before === undefined || (before.rate !== rate && rateKey(before.rate) !== rateKey(rate))
  })

const profileKey = (profile: DayProfile): string =>
  profile.map(({ start, rate }) => `${start}:${rateKey(rate)}`).join('|')

const hoursOf = (profile: DayProfile): readonly TimeBand[] =>
  profile.map(({ start, rate }, index) => ({
    validFrom: start,
    validTo: profile[index + 1]?.start ?? secondsPerDay,
    rate,
  }))

/** Return the shortest names of days: All, Weekdays, Weekend, or single days. */
export const nameDays = (weekdays: readonly number[]): DaysAndHours['days'] => {
  const text = weekdays.join('')
  if (text === '0123456') return ['All']
  if (text === '01234') return ['Weekdays']
  return text === '56' ? ['Weekend'] : weekdays.flatMap(weekday => dayNames[weekday] ?? [])
}

const indexesByKey = (keys: readonly string[]): readonly (readonly number[])[] => [
  ...Map.groupBy(keys.keys(), index => keys[index]).values(),
]

const blocksOf = ({ weekdays, holidays }: MonthProfile): readonly DaysAndHours[] => {
  const profiles = weekdays.map(joined)
  const blocks: DaysAndHours[] = indexesByKey(profiles.map(profileKey)).map(days => ({
    days: nameDays(days),
    hours: hoursOf(profiles[days[0] as number] as DayProfile),
  }))
  return holidays === null ? blocks : [...blocks, { days: ['Holidays'], hours: hoursOf(joined(holidays)) }]
}

const monthKey = ({ weekdays, holidays }: MonthProfile): string =>
  [...weekdays, ...(holidays === null ? [] : [holidays])].map(profile => profileKey(joined(profile))).join(' ')

/** Write the shortest schedule of the profiles of January to December. Equal months and days share an entry. */
export const scheduleOfMonths = (months: readonly MonthProfile[]): readonly ScheduleEntry[] =>
  indexesByKey(months.map(monthKey)).map(equal => ({
    months: equal.length === monthNames.length ? ['All'] : equal.flatMap(month => monthNames[month] ?? []),
    dates: [],
    daysAndHours: blocksOf(months[equal[0] as number] as MonthProfile),
  }))

/** Write the schedule of a week that is the same in all months. */
export const scheduleOfWeek = (weekdays: readonly DayProfile[]): readonly ScheduleEntry[] => [
  { months: ['All'], dates: [], daysAndHours: blocksOf({ weekdays, holidays: null }) },
]
