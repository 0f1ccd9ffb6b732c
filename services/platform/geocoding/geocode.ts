import {
  type GeographicData,
  type GeoPlace,
  geocodeAddress,
  type PostalAddress,
} from '../../domain/geocoding/geo-place.ts'
import { possibleMarketAreas } from '../../domain/geocoding/market-areas.ts'
import type { Result } from '../../domain/refusal.ts'
import { citiesNamed, largestCity } from './city-table.ts'
import { currencyOf, isCountry } from './country.ts'
import { otherNames } from './exonym.ts'
import { hasOneClock, zoneAt } from './zone-at.ts'

const zonesOfCountries = new Map<string, string | undefined>()

function zoneOfCountry(country: string): string | undefined {
  if (zonesOfCountries.has(country)) return zonesOfCountries.get(country)
  const city = hasOneClock(country) ? largestCity(country) : undefined
  const zone = city && zoneAt(country, city)
  zonesOfCountries.set(country, zone)
  return zone
}

const data: GeographicData = {
  isCountry,
  currencyOf,
  citiesNamed,
  otherNames,
  zoneAt,
  zoneOfCountry,
}

/** Geocode a postal address with the data of the packages, offline. Refuses what `geocodeAddress` refuses. */
export const geocode = (address: PostalAddress): Result<GeoPlace> => geocodeAddress(address, data)

/** List the market areas that an address can belong to, as `possibleMarketAreas` does. */
export const marketAreasOf = (address: PostalAddress): readonly string[] => possibleMarketAreas(address, data)
