import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { lookUpKeys } from './city-name.ts'
import { type City, citiesNamed, largestCity } from './city-table.ts'
import { currencyOf, isCountry } from './country.ts'
import { otherNames } from './exonym.ts'
import { hasSeveralAreas, marketAreaOf, marketAreaOfCountry } from './market-area.ts'
import { type Region, regionOf, territoryOf } from './region.ts'
import { hasStates, stateOfAdmin } from './state.ts'
import { hasOneClock, zoneAt } from './zone-at.ts'

type OptionalText = string | null | undefined

/** A postal address as it is written; only the country is needed, blank texts count as absent. */
export type PostalAddress = {
  readonly address_line1?: OptionalText
  readonly address_line2?: OptionalText
  readonly city?: OptionalText
  readonly state?: OptionalText
  readonly post_code?: OptionalText
  readonly country_code: string
}

/**
 * Where an address is: IANA time zone, ISO 4217 currency, coordinates of its city in degrees (null if the city is not known),
 * market area (null where none is mapped).
 */
export type GeoPlace = {
  readonly timeZone: string
  readonly currencyCode: string
  readonly geoLocation: { readonly lat: number; readonly lng: number } | null
  readonly marketArea: string | null
}

/**
 * Place a postal address, offline.
 * A city is found by its name in any common spelling or language; of namesakes the state or post code decides where it tells them
 * apart, else the most populous is meant. A city that is not in the data is placed by state, post code or country if that leaves one
 * time zone and one market area; coordinates are null then.
 * Refuses `field_invalid` for a country that ISO 3166-1 does not list and `geo_location_not_found` for what cannot be placed.
 * Source: docs/rules/registry.md #placing-an-address; https://www.geonames.org; https://github.com/evansiroky/timezone-boundary-builder;
 * ISO 3166-1; ISO 4217.
 */
export function geocode(address: PostalAddress): Result<GeoPlace> {
  const written = address.country_code.trim().toUpperCase()
  if (!isCountry(written)) {
    return refused(
      'field_invalid',
      'country_code must be a two-letter ISO 3166-1 alpha-2 code, such as DE.',
      'postal_address.country_code',
    )
  }
  const [cityName, state, postCode] = [trimmed(address.city), trimmed(address.state), trimmed(address.post_code)]
  const country = territoryOf(written, state, postCode)
  const currencyCode = currencyOf(country)
  const region = regionOf(country, state, postCode)
  const [city] = cityName === '' ? [] : matchingCities(country, cityName, region)
  const geoPlace = city === undefined ? geocodeRegion(country, region) : geocodeCity(city, region)
  if (geoPlace === undefined || currencyCode === undefined)
    return refused('geo_location_not_found', geocodingAdvice(country, cityName, state), 'postal_address.city')
  return accepted({ ...geoPlace, currencyCode })
}

const trimmed = (text: OptionalText): string => text?.trim() ?? ''

/**
 * List the cities that a name may mean, the likeliest first. The first spelling that names a city of the region wins; a known name elsewhere
 * in the country is another place.
 */
function matchingCities(country: string, written: string, region: Region | undefined): readonly City[] {
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
 * List the market areas of all cities that an address may mean, the likeliest first, each once: more than one where namesakes lie in several
 * areas and neither state nor post code tells them apart. Sections of cities count only where no whole city has the name.
 */
export function areasOfNamesakes(address: PostalAddress): readonly string[] {
  const [cityName, state, postCode] = [trimmed(address.city), trimmed(address.state), trimmed(address.post_code)]
  const country = territoryOf(address.country_code.trim().toUpperCase(), state, postCode)
  const region = regionOf(country, state, postCode)
  const [first, ...others] = cityName === '' ? [] : matchingCities(country, cityName, region)
  if (first === undefined) return []
  const cities = [first, ...others.filter(({ isPart }) => first.isPart || !isPart)]
  return [...new Set(cities.map(city => geocodeCity(city, region).marketArea).filter(area => area !== null))]
}

type GeoPlaceWithoutCurrency = Omit<GeoPlace, 'currencyCode'>

function geocodeCity(city: City, region: Region | undefined): GeoPlaceWithoutCurrency {
  const { country, admin, lat, lng } = city
  const timeZone = region?.timeZone ?? stateOfAdmin(country, admin)?.timeZone ?? zoneAt(country, city)
  return {
    timeZone,
    geoLocation: { lat, lng },
    marketArea: region?.marketArea ?? marketAreaOf({ country, admin, lat, lng, timeZone }),
  }
}

function geocodeRegion(country: string, region: Region | undefined): GeoPlaceWithoutCurrency | undefined {
  const timeZone = region?.timeZone ?? zoneOfCountry(country)
  if (timeZone === undefined) return undefined
  if (hasSeveralAreas(country) && region?.admin === undefined && region?.marketArea === undefined) return undefined
  const ofRegion =
    region?.admin === undefined ? null : marketAreaOf({ country, admin: region.admin, lat: 0, lng: 0, timeZone })
  return { timeZone, geoLocation: null, marketArea: region?.marketArea ?? ofRegion ?? marketAreaOfCountry(country) }
}

const zonesOfCountries = new Map<string, string | undefined>()

function zoneOfCountry(country: string): string | undefined {
  if (zonesOfCountries.has(country)) return zonesOfCountries.get(country)
  const city = hasOneClock(country) ? largestCity(country) : undefined
  const zone = city && zoneAt(country, city)
  zonesOfCountries.set(country, zone)
  return zone
}

const geocodingAdvice = (country: string, city: string, state: string): string => {
  const what = city === '' ? 'An address without a city' : `The city "${city}"`
  const missing = hasStates(country) && state === '' ? ', add the state,' : ''
  return `${what} cannot be placed in ${country}: check spelling and post code${missing} or give timezone and currency_code.`
}
