import { refuseCountry } from '../../contract/connect/read-page.ts'
import {
  type ConnectAddress,
  type ConnectConfig,
  enclosingRegion,
  isCompleteAddress,
} from '../../domain/connect/session.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { PostalAddress } from '../../platform/geocoding/geo-place.ts'
import { hasPricedArea } from '../../platform/postgres/connect/connect-session-markets.ts'
import type { StoredLocation } from '../../platform/postgres/registry/location-row.ts'
import type { ConnectDependencies } from './connect-dependencies.ts'

/** What follows from a complete address: market areas, whether the location has a market source of its own, currency. */
export type GeocodedAddress = {
  readonly regions: readonly string[]
  readonly hasMarketSource: boolean
  readonly currencyCode: string
}

/** Give an address in the form in which locations keep it. */
export const postalOf = (address: ConnectAddress): PostalAddress & Readonly<Record<string, string | null>> => ({
  address_line1: address.address_line1 ?? null,
  address_line2: address.address_line2 ?? null,
  city: address.city ?? '',
  state: address.state ?? null,
  post_code: address.post_code ?? null,
  country_code: address.country_code ?? '',
})

/** Take the address of a location as far as it is known. */
export const knownAddressOf = (postal: Readonly<Record<string, string | null>> | null): ConnectAddress =>
  Object.fromEntries(Object.entries(postal ?? {}).filter(([, value]) => (value ?? '').trim() !== ''))

const addressNotFound = refused(
  'geo_location_not_found',
  'This address cannot be placed: check the city and the post code.',
  'data.postal_address.city',
)

/** Refuse an address in the US without its state; `field` names the state in the request. */
export const stateMissing = (field: string) =>
  refused('geo_location_not_found', 'An address in the US needs its state: add the state, such as TX.', field)

/** Tell whether an address lacks the state that a US address needs. Source: docs/rules/connect.md #market-regions. */
export const lacksState = ({ country_code = '', state }: ConnectAddress): boolean =>
  country_code.trim().toUpperCase() === 'US' && state === undefined

/**
 * List the areas that a person may choose from. Where one of them is the whole country, to which every address belongs, the others are
 * offered only once one of them has prices. Source: docs/rules/connect.md #market-regions.
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
 * Place a complete address, for a location that is there or is yet to come. What the location has set for itself holds over the address.
 * Refuses `geo_location_not_found` and `country_code_invalid`.
 */
export const geocodeAddress = async (
  { geocode, areasOf, database }: Pick<ConnectDependencies, 'geocode' | 'areasOf' | 'database'>,
  { direction }: Pick<ConnectConfig, 'direction'>,
  address: ConnectAddress,
  location: StoredLocation | null,
): Promise<Result<GeocodedAddress>> => {
  const postal = postalOf(address)
  const hasOwnTimeZone = location !== null && location.overrides.timezone !== null
  if (lacksState(address) && !hasOwnTimeZone) return stateMissing('data.postal_address.state')
  const geoPlace = geocode(postal)
  const source = direction === 'EXPORT' ? location?.exportSourceId : location?.importSourceId
  const hasMarketSource = (source ?? null) !== null
  if (!geoPlace.ok) {
    if (geoPlace.refusal.code !== 'geo_location_not_found') return refuseCountry
    // A location that names zone and currency stands also where its address says nothing to us.
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
 * Place the known part of an address; null if the address is incomplete or cannot be placed. A session that edits the tariff of a location
 * (`edits`) needs no complete address: the country is enough. Source: docs/rules/connect.md #transitions.
 */
export const geocodeIfComplete = async (
  dependencies: Pick<ConnectDependencies, 'geocode' | 'areasOf' | 'database'>,
  config: Pick<ConnectConfig, 'direction'>,
  address: ConnectAddress,
  location: StoredLocation | null,
  edits: boolean,
): Promise<GeocodedAddress | null> => {
  const isEnough = isCompleteAddress(address) || (edits && location !== null && (address.country_code ?? '') !== '')
  if (!isEnough) return null
  const geocoded = await geocodeAddress(dependencies, config, address, location)
  return geocoded.ok ? geocoded.value : null
}
