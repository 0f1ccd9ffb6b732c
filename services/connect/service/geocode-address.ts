import type { PostalAddress } from '../../domain/geocoding/geo-place.ts'
import { enclosingRegion } from '../../domain/geocoding/market-areas.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Location } from '../../domain/registry/location.ts'
import { refuseCountry } from '../contract/read-page.ts'
import { type ConnectAddress, type ConnectConfig, isCompleteAddress } from '../domain/session.ts'
import { hasPricedArea } from '../postgres/connect-session-markets.ts'
import type { ConnectDependencies } from './connect-dependencies.ts'

/** Market areas and currency of a complete address. `hasMarketSource`: the location already has a market source. */
export type GeocodedAddress = {
  readonly regions: readonly string[]
  readonly hasMarketSource: boolean
  readonly currencyCode: string
}

/** Convert an address of a session to the form that locations store. */
export const postalOf = (address: ConnectAddress): PostalAddress => ({
  address_line1: address.address_line1 ?? null,
  address_line2: address.address_line2 ?? null,
  city: address.city ?? '',
  state: address.state ?? null,
  post_code: address.post_code ?? null,
  country_code: address.country_code ?? '',
})

/** Convert the stored address of a location to the known members of a session's address. */
export const knownAddressOf = (postal: PostalAddress | null): ConnectAddress =>
  Object.fromEntries(Object.entries(postal ?? {}).filter(([, value]) => (value ?? '').trim() !== ''))

const addressNotFound = refused(
  'geo_location_not_found',
  'This address was not found. Check the city and the post code.',
  'data.postal_address.city',
)

/** Refuse an address in the US without its state; `field` names the state in the request. */
export const stateMissing = (field: string) =>
  refused('geo_location_not_found', 'An address in the US needs its state. Add the state, such as TX.', field)

/** Return whether a US address lacks its state. Source: docs/rules/connect.md #market-regions. */
export const lacksState = ({ country_code = '', state }: ConnectAddress): boolean =>
  country_code.trim().toUpperCase() === 'US' && state === undefined

/**
 * List the market areas that a person may choose from. If one area is the whole country, the other areas are listed
 * only if one of them has prices.
 * Source: docs/rules/connect.md #market-regions.
 */
const selectableRegions = async (
  database: ConnectDependencies['database'],
  areas: readonly string[],
  currencyCode: string,
): Promise<readonly string[]> => {
  const wholeCountry = enclosingRegion(areas)
  if (wholeCountry === null) return areas
  const partialAreas = areas.filter(area => area !== wholeCountry)
  return (await hasPricedArea(database, partialAreas, currencyCode)) ? areas : [wholeCountry]
}

/**
 * Find market areas and currency of a complete address. Settings of an existing location take precedence over the
 * address.
 * Refuses `geo_location_not_found` and `country_code_invalid`.
 */
export const geocodeAddress = async (
  { geocode, areasOf, database }: Pick<ConnectDependencies, 'geocode' | 'areasOf' | 'database'>,
  { direction }: Pick<ConnectConfig, 'direction'>,
  address: ConnectAddress,
  location: Location | null,
): Promise<Result<GeocodedAddress>> => {
  const postal = postalOf(address)
  const hasOwnTimeZone = location !== null && location.overrides.timezone !== null
  if (lacksState(address) && !hasOwnTimeZone) return stateMissing('data.postal_address.state')
  const geoPlace = geocode(postal)
  const source = direction === 'EXPORT' ? location?.exportSourceId : location?.importSourceId
  const hasMarketSource = (source ?? null) !== null
  if (!geoPlace.ok) {
    if (geoPlace.refusal.code !== 'geo_location_not_found') return refuseCountry
    // A location with its own zone and currency is valid even if its address is not found.
    return location === null || location.overrides.timezone === null
      ? addressNotFound
      : accepted({ regions: areasOf(postal), hasMarketSource, currencyCode: location.currencyCode })
  }
  const currencyCode = location?.currencyCode ?? geoPlace.value.currencyCode
  return accepted({
    regions: await selectableRegions(database, areasOf(postal), currencyCode),
    hasMarketSource,
    currencyCode,
  })
}

/**
 * Find market areas and currency of an address; null if the address is incomplete or not found. If the session edits
 * the tariff of a location (`edits`), the country alone is sufficient.
 * Source: docs/rules/connect.md #transitions.
 */
export const geocodeIfComplete = async (
  dependencies: Pick<ConnectDependencies, 'geocode' | 'areasOf' | 'database'>,
  config: Pick<ConnectConfig, 'direction'>,
  address: ConnectAddress,
  location: Location | null,
  edits: boolean,
): Promise<GeocodedAddress | null> => {
  const isEnough = isCompleteAddress(address) || (edits && location !== null && (address.country_code ?? '') !== '')
  if (!isEnough) return null
  const geocoded = await geocodeAddress(dependencies, config, address, location)
  return geocoded.ok ? geocoded.value : null
}
