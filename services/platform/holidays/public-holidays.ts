import type Holidays from 'date-holidays'
import type { NamedDay } from '../../domain/calendar/calendar.ts'
import { dayNumber } from '../../domain/civil-date.ts'
import { dayMs, hourMs } from '../../domain/interval.ts'

/** Version of the package, as in package.json. */
export const holidaySourceVersion = '3.37.0'

const firstYear = 2000
const lastYear = 2040

/** Public holidays of countries and states, from a package. Calendars store the dates and do not follow the package. */
export type HolidaySource = {
  /** Return whether the source knows a country by its code of ISO 3166-1. */
  readonly hasCountry: (country: string) => boolean
  /** List the codes of the states of a country that the source knows. */
  readonly stateCodes: (country: string) => readonly string[]
  /** Return the code of a state by its code or one of its names; null if the source does not know it. */
  readonly stateCode: (country: string, text: string) => string | null
  /** List the public holidays of a country, or of a state, of 2000 to 2040, ascending, each day once. */
  readonly publicHolidays: (country: string, state: string | null) => readonly NamedDay[]
}

let loading: Promise<HolidaySource> | null = null

/** Load the package on first use: it needs about 100 ms and 30 MB. */
export const holidaySource = (): Promise<HolidaySource> => {
  loading ??= import('date-holidays').then(({ default: HolidaysOf }) => sourceOf(HolidaysOf))
  return loading
}

const keyOf = (text: string): string => text.trim().toLocaleLowerCase('en')

const sourceOf = (HolidaysOf: typeof Holidays): HolidaySource => {
  const all = new HolidaysOf()
  const countries = new Set(Object.keys(all.getCountries()))
  const languagesOf = (country: string): readonly string[] => ['en', ...(new HolidaysOf(country).getLanguages() ?? [])]
  const stateCodes = (country: string): readonly string[] =>
    countries.has(country) ? Object.keys(all.getStates(country) ?? {}) : []
  return {
    hasCountry: country => countries.has(country),
    stateCodes,
    stateCode: (country, text) => {
      if (!countries.has(country)) return null
      const key = keyOf(text)
      const code = stateCodes(country).find(one => keyOf(one) === key)
      if (code !== undefined) return code
      for (const language of languagesOf(country))
        for (const [named, name] of Object.entries(all.getStates(country, language) ?? {}))
          if (keyOf(name) === key) return named
      return null
    },
    publicHolidays: (country, state) => {
      const options = { types: ['public' as const] }
      const holidays = state === null ? new HolidaysOf(country, options) : new HolidaysOf(country, state, options)
      const names = new Map<number, string>()
      for (let year = firstYear - 1; year <= lastYear; year += 1) {
        for (const { date, start, end, name } of holidays.getHolidays(year)) {
          // A clock change shortens days. Hours beyond whole days are the eve of a holiday that begins at sunset.
          const days = Math.max(1, Math.floor((end.getTime() - start.getTime() + 2 * hourMs) / dayMs))
          const first = dayOf(date)
          for (let day = first; day < first + days; day += 1) if (!names.has(day)) names.set(day, name)
        }
      }
      const [from, to] = [dayNumber(firstYear, 1, 1), dayNumber(lastYear + 1, 1, 1)]
      return [...names]
        .filter(([day]) => day >= from && day < to)
        .map(([day, name]) => ({ day, name }))
        .toSorted((a, b) => a.day - b.day)
    },
  }
}

/** Return the day of a text such as `2026-05-01 00:00:00`. */
const dayOf = (date: string): number => {
  const [year = 0, month = 1, dayOfMonth = 1] = date.slice(0, 10).split('-').map(Number)
  return dayNumber(year, month, dayOfMonth)
}
