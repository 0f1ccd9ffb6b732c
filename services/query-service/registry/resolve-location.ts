import type { GeoPlace } from '../../domain/geocoding/geo-place.ts'
import { unambiguousArea } from '../../domain/geocoding/market-areas.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Location, LocationDraft, LocationInput } from '../../domain/registry/location.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'

/** Place and currency of a location, from its input and its address. The market sources are not resolved yet. */
export type ResolvedLocation = {
  readonly timezone: string
  readonly currencyCode: string
  readonly geoLocation: GeoPlace['geoLocation']
  readonly marketArea: string | null
  /** All market areas that the address may belong to. */
  readonly marketAreas: readonly string[]
}

/**
 * Determine time zone, currency and coordinates of a location. The input takes precedence over the address.
 * An address that is not found is accepted if time zone and currency are given.
 * Refuses `field_required` if the address and one of them are missing, `field_invalid` for an unknown time zone or
 * currency. Also refuses what `geocode` refuses.
 * Source: docs/rules/registry.md #locations, #placing-an-address.
 */
export const resolveLocation = (
  choice: LocationInput,
  { geocode, areasOf, isCurrency, timeZone }: QueryServiceDependencies,
): Result<ResolvedLocation> => {
  const timezone = choice.timezone === null ? null : timeZone(choice.timezone)
  if (timezone === null && choice.timezone !== null) {
    return refused('field_invalid', 'timezone must be the name of an IANA time zone, such as Europe/Berlin', 'timezone')
  }
  if (choice.currencyCode !== null && !isCurrency(choice.currencyCode)) {
    return refused('field_invalid', 'currency_code must be the code of a currency in use, such as EUR', 'currency_code')
  }
  const chosen = { timezone: timezone?.name ?? null, currencyCode: choice.currencyCode }
  if (choice.postalAddress === null) return withoutAddress(chosen)
  const geoPlace = geocode(choice.postalAddress)
  if (geoPlace.ok) {
    const { timeZone: zone, currencyCode, geoLocation } = geoPlace.value
    const marketAreas = areasOf(choice.postalAddress)
    return accepted({
      timezone: chosen.timezone ?? zone,
      currencyCode: chosen.currencyCode ?? currencyCode,
      geoLocation,
      marketArea: unambiguousArea(marketAreas),
      marketAreas,
    })
  }
  return geoPlace.refusal.code === 'geo_location_not_found' && chosen.timezone !== null && chosen.currencyCode !== null
    ? withoutAddress(chosen)
    : geoPlace
}

const withoutAddress = ({
  timezone,
  currencyCode,
}: {
  timezone: string | null
  currencyCode: string | null
}): Result<ResolvedLocation> =>
  timezone === null || currencyCode === null
    ? refused(
        'field_required',
        'postal_address is required. Send it, or send both timezone and currency_code',
        'postal_address',
      )
    : accepted({ timezone, currencyCode, geoLocation: null, marketArea: null, marketAreas: [] })

/**
 * Create the location to store from its input and its resolved place. `areaSourceId` is the shared market source of the
 * market area in the currency of the location; null if there is none. The export source defaults to the import source,
 * the calendar to `defaultCalendar`.
 * Source: docs/rules/registry.md #market-area, #market-sources-of-locations.
 */
export const locationDraft = (
  choice: LocationInput,
  resolved: ResolvedLocation,
  areaSourceId: string | null,
  defaultCalendar: string | null,
): LocationDraft => {
  const importSourceId = choice.importSourceId ?? areaSourceId
  return {
    ...choice,
    overrides: {
      timezone: choice.timezone === null ? null : resolved.timezone,
      currencyCode: choice.currencyCode,
      importSourceId: choice.importSourceId,
      exportSourceId: choice.exportSourceId,
      calendarId: choice.calendarId,
    },
    timezone: resolved.timezone,
    currencyCode: resolved.currencyCode,
    geoLocation: resolved.geoLocation,
    importSourceId,
    exportSourceId: choice.exportSourceId ?? importSourceId,
    calendarId: choice.calendarId ?? defaultCalendar,
  }
}

/** Return the input of a stored location with the changes of a PATCH. */
export const changedChoice = (location: Location, change: Partial<LocationInput>): LocationInput => ({
  ...location,
  ...location.overrides,
  calendarId: location.overrides.calendarId ?? null,
  ...change,
})

const resolvingMembers = [
  'postalAddress',
  'timezone',
  'currencyCode',
  'importSourceId',
  'exportSourceId',
  'calendarId',
] as const satisfies readonly (keyof LocationInput)[]

/** Return a change that keeps the resolved values; null if it can affect time zone, currency, market sources or calendar. */
export const resolvedChange = (change: Partial<LocationInput>): Partial<LocationDraft> | null =>
  resolvingMembers.some(member => member in change) ? null : (change as Partial<LocationDraft>)
