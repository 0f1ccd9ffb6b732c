import { accepted, type Result, refused } from '../refusal.ts'
import { lookUpKeys } from './city-name.ts'
import { hasSeveralAreas, marketAreaOf, marketAreaOfCountry } from './market-area.ts'
import { type Region, regionOf, territoryOf } from './region.ts'
import { hasStates, stateOfAdmin } from './state.ts'

type OptionalText = string | null | undefined

/**
 * City of the table. `admin` is the GeoNames code of the first-level division; `isPart` marks a section of another
 * city. Coordinates are in degrees, to 1e-5.
 */
export type City = {
  readonly name: string
  readonly country: string
  readonly admin: string
  readonly population: number
  readonly isPart: boolean
  readonly lat: number
  readonly lng: number
}

/** Geographic data that the rules read: cities, names, zones and currencies. */
export type GeographicData = {
  /** Check if a text in capitals is the code of a country. */
  readonly isCountry: (code: string) => boolean
  /** Return the ISO 4217 code of a country's currency; undefined if it has none. */
  readonly currencyOf: (country: string) => string | undefined
  /** List the cities of a country with a key of `cityKeys`, the most likely first. */
  readonly citiesNamed: (country: string, key: string) => readonly City[]
  /** List the keys of the other names of a city. */
  readonly otherNames: (country: string, key: string) => readonly string[]
  /** Return the time zone at a point of a country. */
  readonly zoneAt: (country: string, point: { readonly lat: number; readonly lng: number }) => string
  /** Return the time zone of a country; undefined if it has several. */
  readonly zoneOfCountry: (country: string) => string | undefined
}

/** Postal address as written. Only the country is required; blank texts count as absent. */
export type PostalAddress = {
  readonly address_line1?: OptionalText
  readonly address_line2?: OptionalText
  readonly city?: OptionalText
  readonly state?: OptionalText
  readonly post_code?: OptionalText
  readonly country_code: string
}

/**
 * Geocoded address: IANA time zone, ISO 4217 currency, coordinates of its city in degrees (null if the city is
 * unknown), and market area (null if none is mapped).
 */
export type GeoPlace = {
  readonly timeZone: string
  readonly currencyCode: string
  readonly geoLocation: { readonly lat: number; readonly lng: number } | null
  readonly marketArea: string | null
}

/**
 * Geocode a postal address, offline.
 * A city is found by its name in any common spelling or language. If several cities have the name, the state or post
 * code decides; otherwise the city with the largest population is used. An unknown city is located by state, post code
 * or country if that leaves one time zone and one market area; its coordinates are null.
 * Refuses `field_invalid` for a country that is not in ISO 3166-1, and `geo_location_not_found` for an address without
 * a location.
 * Source: docs/rules/registry.md #placing-an-address; https://www.geonames.org;
 * https://github.com/evansiroky/timezone-boundary-builder; ISO 3166-1; ISO 4217.
 */
export function geocodeAddress(address: PostalAddress, data: GeographicData): Result<GeoPlace> {
  const written = address.country_code.trim().toUpperCase()
  if (!data.isCountry(written)) {
    return refused(
      'field_invalid',
      'country_code must be a two-letter ISO 3166-1 alpha-2 code, such as DE.',
      'postal_address.country_code',
    )
  }
  const [cityName, state, postCode] = [trimmed(address.city), trimmed(address.state), trimmed(address.post_code)]
  const country = territoryOf(written, state, postCode)
  const currencyCode = data.currencyOf(country)
  const region = regionOf(country, state, postCode)
  const [city] = cityName === '' ? [] : matchingCities(country, cityName, region, data)
  const geoPlace = city === undefined ? geocodeRegion(country, region, data) : geocodeCity(city, region, data)
  if (geoPlace === undefined || currencyCode === undefined)
    return refused('geo_location_not_found', geocodingAdvice(country, cityName, state), 'postal_address.city')
  return accepted({ ...geoPlace, currencyCode })
}

const trimmed = (text: OptionalText): string => text?.trim() ?? ''

/**
 * List the cities that a name can mean, the most likely first. The first spelling that names a city of the region
 * decides. The same name in another region of the country is another city.
 */
function matchingCities(
  country: string,
  written: string,
  region: Region | undefined,
  { citiesNamed, otherNames }: GeographicData,
): readonly City[] {
  for (const key of lookUpKeys(written)) {
    for (const name of [key, ...otherNames(country, key)]) {
      const cities = citiesNamed(country, name).filter(
        ({ admin }) => region?.admin === undefined || admin === region.admin,
      )
      if (cities[0] !== undefined) return cities
    }
  }
  return []
}

/**
 * List the distinct market areas of all cities that an address can mean, the most likely first. There are several if
 * cities of one name lie in several areas and neither state nor post code decides. Sections of cities count only if no
 * complete city has the name.
 */
export function areasOfNamesakes(address: PostalAddress, data: GeographicData): readonly string[] {
  const [cityName, state, postCode] = [trimmed(address.city), trimmed(address.state), trimmed(address.post_code)]
  const country = territoryOf(address.country_code.trim().toUpperCase(), state, postCode)
  const region = regionOf(country, state, postCode)
  const [first, ...others] = cityName === '' ? [] : matchingCities(country, cityName, region, data)
  if (first === undefined) return []
  const cities = [first, ...others.filter(({ isPart }) => first.isPart || !isPart)]
  return [...new Set(cities.map(city => geocodeCity(city, region, data).marketArea).filter(area => area !== null))]
}

type GeoPlaceWithoutCurrency = Omit<GeoPlace, 'currencyCode'>

function geocodeCity(city: City, region: Region | undefined, { zoneAt }: GeographicData): GeoPlaceWithoutCurrency {
  const { country, admin, lat, lng } = city
  const timeZone = region?.timeZone ?? stateOfAdmin(country, admin)?.timeZone ?? zoneAt(country, city)
  return {
    timeZone,
    geoLocation: { lat, lng },
    marketArea: region?.marketArea ?? marketAreaOf({ country, admin, lat, lng, timeZone }),
  }
}

function geocodeRegion(
  country: string,
  region: Region | undefined,
  { zoneOfCountry }: GeographicData,
): GeoPlaceWithoutCurrency | undefined {
  const timeZone = region?.timeZone ?? zoneOfCountry(country)
  if (timeZone === undefined) return undefined
  if (hasSeveralAreas(country) && region?.admin === undefined && region?.marketArea === undefined) return undefined
  const ofRegion =
    region?.admin === undefined ? null : marketAreaOf({ country, admin: region.admin, lat: 0, lng: 0, timeZone })
  return { timeZone, geoLocation: null, marketArea: region?.marketArea ?? ofRegion ?? marketAreaOfCountry(country) }
}

const geocodingAdvice = (country: string, city: string, state: string): string => {
  const what = city === '' ? 'An address without a city' : `The city "${city}"`
  const missing = hasStates(country) && state === '' ? ', add the state,' : ''
  return `${what} cannot be placed in ${country}: check spelling and post code${missing} or give timezone and currency_code.`
}
