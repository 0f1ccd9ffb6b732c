import type { NamedDay } from '../../domain/calendar/calendar.ts'
import type { PostalAddress } from '../../domain/geocoding/geo-place.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Database } from '../postgres/database.ts'
import { type CountryCalendar, countryCalendar, createCountryCalendar } from '../postgres/pricing/calendars.ts'
import { type HolidaySource, holidaySource, holidaySourceVersion } from './public-holidays.ts'

type CalendarDependencies = { readonly database: Pick<Database, 'operator'> }

/** Country or state that the source of holidays knows, in its codes. */
export type CountryDays = {
  readonly countryCode: string
  readonly state: string | null
  readonly days: readonly NamedDay[]
}

/** Find or create the shared calendar of a country or state. Its dates are calculated once per installation. */
const findOrCreate = async (
  { database }: CalendarDependencies,
  source: HolidaySource,
  countryCode: string,
  state: string | null,
  at: number,
): Promise<CountryCalendar> => {
  const key = { countryCode, state, sourceVersion: holidaySourceVersion }
  const known = await countryCalendar(database.operator, key)
  if (known !== null) return known
  const countryDays = source.publicHolidays(countryCode, state)
  const name = state === null ? countryCode : `${countryCode}-${state}`
  return createCountryCalendar(database.operator, { ...key, name, countryDays }, at)
}

/**
 * Return the id of the shared calendar of an address: of its state, or of its country if the source does not know the
 * state. Null without an address, and for an unknown country.
 * Source: docs/rules/calendars.md #default.
 */
export const defaultCalendarId = async (
  dependencies: CalendarDependencies,
  address: PostalAddress | null,
  at: number,
): Promise<string | null> => {
  if (address === null) return null
  const { country_code: countryCode, state = null } = address
  // A known code needs no source, which is slow to load.
  const key = { countryCode, state: state?.trim().toUpperCase() ?? null, sourceVersion: holidaySourceVersion }
  const known = await countryCalendar(dependencies.database.operator, key)
  if (known !== null) return known.id
  const source = await holidaySource()
  if (!source.hasCountry(countryCode)) return null
  const code = state === null ? null : source.stateCode(countryCode, state)
  return (await findOrCreate(dependencies, source, countryCode, code, at)).id
}

/**
 * Return the public holidays of a country, or of a state by its code or name. Refuses a country or state that the
 * source does not know.
 */
export const publicHolidaysOf = async (
  dependencies: CalendarDependencies,
  countryCode: string,
  state: string | null,
  at: number,
): Promise<Result<CountryDays>> => {
  const source = await holidaySource()
  if (!source.hasCountry(countryCode)) {
    const message = `No public holidays of ${countryCode} are known. Leave out country_code and add the dates`
    return refused('field_invalid', message, 'country_code')
  }
  const code = state === null ? null : source.stateCode(countryCode, state)
  if (state !== null && code === null) {
    const codes = source.stateCodes(countryCode)
    const message =
      codes.length === 0
        ? `state must be left out: no states of ${countryCode} are known`
        : `state must be one of ${codes.join(', ')}`
    return refused('field_invalid', message, 'state')
  }
  const { days } = await findOrCreate(dependencies, source, countryCode, code, at)
  return accepted({ countryCode, state: code, days })
}
