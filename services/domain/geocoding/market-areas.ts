import { areaOfRegion, gridRegions } from '../market-feed/shared-sources.ts'
import { areasOfNamesakes, type GeographicData, geocodeAddress, type PostalAddress } from './geo-place.ts'
import { marketAreaOf, marketAreaOfCountry } from './market-area.ts'
import { territoryOf } from './region.ts'

/** Areas of countries whose cities decide between them. Islands may have none. */
const severalAreas: Readonly<Record<string, readonly string[]>> = {
  DK: ['DK1', 'DK2'],
  IT: ['IT-NORD', 'IT-CNOR', 'IT-CSUD', 'IT-SUD', 'IT-CALA', 'IT-SICI', 'IT-SARD'],
  PT: ['PT'],
  NO: ['NO1', 'NO2', 'NO3', 'NO4', 'NO5'],
  SE: ['SE1', 'SE2', 'SE3', 'SE4'],
}

/** Countries with their own bidding zone that is only used on request: not all have a daily auction. */
const areasOnRequest: ReadonlySet<string> = new Set('AL BA CY GE MD ME MK MT RS TR UA XK'.split(' '))

const areasOfCountry = (country: string): readonly string[] => {
  const one = marketAreaOfCountry(country)
  return severalAreas[country] ?? (one !== null ? [one] : areasOnRequest.has(country) ? [country] : [])
}

/** About 20 km north and east: the accuracy of the drawn borders. */
const nearLatDegrees = 0.18
const nearLngDegrees = 0.36
const drawnBorders: ReadonlySet<string> = new Set(['NO', 'SE'])

const areasAround = (
  country: string,
  { lat, lng }: { readonly lat: number; readonly lng: number },
): readonly string[] =>
  [-1, 0, 1].flatMap(north =>
    [-1, 0, 1].flatMap(east => {
      const point = {
        country,
        admin: '',
        timeZone: '',
        lat: lat + north * nearLatDegrees,
        lng: lng + east * nearLngDegrees,
      }
      return marketAreaOf(point) ?? []
    }),
  )

/**
 * List the distinct market areas that an address can belong to, the most likely first.
 * One if the location decides. All areas of the country near a drawn border (Norway, Sweden), and if cities of one name
 * lie in several areas. In Great Britain the whole and every grid region, because retail prices differ. Empty if no
 * area is mapped.
 * Source: docs/rules/registry.md #market-area.
 */
export const possibleMarketAreas = (address: PostalAddress, data: GeographicData): readonly string[] => {
  const writtenCountry = address.country_code.trim().toUpperCase()
  const country = territoryOf(writtenCountry, address.state?.trim() ?? '', address.post_code?.trim() ?? '')
  const geoPlace = geocodeAddress(address, data)
  if (!geoPlace.ok) return areasOfCountry(country)
  const { marketArea, geoLocation } = geoPlace.value
  if (marketArea === null) return country in severalAreas ? [] : areasOfCountry(country)
  if (marketArea === 'GB') return ['GB', ...gridRegions.map(areaOfRegion)]
  const around = geoLocation !== null && drawnBorders.has(country) ? areasAround(country, geoLocation) : []
  const possible = [...new Set([marketArea, ...areasOfNamesakes(address, data), ...around])]
  return possible.length === 1 ? possible : [...new Set([...possible, ...areasOfCountry(country)])]
}

/**
 * Return the region that contains all others, as GB contains GB-A …; it fits every address. Null if there is none.
 * Source: docs/rules/connect.md #market-regions.
 */
export const enclosingRegion = ([first, ...others]: readonly string[]): string | null =>
  first !== undefined && others.length > 0 && others.every(other => other.startsWith(`${first}-`)) ? first : null

/**
 * Return the only market area of an address; null if none is mapped or the address does not decide. In Great Britain it
 * is the whole, which contains every address.
 * Source: docs/rules/registry.md #market-area.
 */
export const unambiguousArea = (areas: readonly string[]): string | null =>
  areas.length === 1 ? (areas[0] ?? null) : enclosingRegion(areas)
