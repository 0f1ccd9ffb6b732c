import { enclosingRegion } from '../../domain/connect/session.ts'
import { areaOfRegion, gridRegions } from '../../domain/market-feed/shared-sources.ts'
import { areasOfNamesakes, geocode, type PostalAddress } from './geo-place.ts'
import { marketAreaOf, marketAreaOfCountry } from './market-area.ts'
import { territoryOf } from './region.ts'

/** The areas of countries whose places tell them apart; islands may lie outside. */
const severalAreas: Readonly<Record<string, readonly string[]>> = {
  DK: ['DK1', 'DK2'],
  IT: ['IT-NORD', 'IT-CNOR', 'IT-CSUD', 'IT-SUD', 'IT-CALA', 'IT-SICI', 'IT-SARD'],
  PT: ['PT'],
  NO: ['NO1', 'NO2', 'NO3', 'NO4', 'NO5'],
  SE: ['SE1', 'SE2', 'SE3', 'SE4'],
}

/** Countries with a bidding zone of their own that no location is mapped to unasked: not all of them have an auction every day. */
const areasOnRequest: ReadonlySet<string> = new Set('AL BA CY GE MD ME MK MT RS TR UA XK'.split(' '))

const areasOfCountry = (country: string): readonly string[] => {
  const one = marketAreaOfCountry(country)
  return severalAreas[country] ?? (one !== null ? [one] : areasOnRequest.has(country) ? [country] : [])
}

/** About 20 km north and east, which is as well as the drawn borders are known. */
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
 * Name all market areas that an address may belong to, the likeliest first, each once.
 * One where the place decides it. All of the country near a border that is known to some 20 km (Norway, Sweden), and where namesakes lie in
 * several areas; in Great Britain the whole and every grid region, whose retail prices differ. None where no area is mapped.
 * Source: docs/rules/registry.md #market-area.
 */
export const marketAreasOf = (address: PostalAddress): readonly string[] => {
  const writtenCountry = address.country_code.trim().toUpperCase()
  const country = territoryOf(writtenCountry, address.state?.trim() ?? '', address.post_code?.trim() ?? '')
  const geoPlace = geocode(address)
  if (!geoPlace.ok) return areasOfCountry(country)
  const { marketArea, geoLocation } = geoPlace.value
  if (marketArea === null) return country in severalAreas ? [] : areasOfCountry(country)
  if (marketArea === 'GB') return ['GB', ...gridRegions.map(areaOfRegion)]
  const around = geoLocation !== null && drawnBorders.has(country) ? areasAround(country, geoLocation) : []
  const possible = [...new Set([marketArea, ...areasOfNamesakes(address), ...around])]
  return possible.length === 1 ? possible : [...new Set([...possible, ...areasOfCountry(country)])]
}

/**
 * Name the one market area of an address; null where none is mapped, or where the address does not decide between several. In Great Britain
 * the whole, to which every address belongs. Source: docs/rules/registry.md #market-area.
 */
export const unambiguousArea = (areas: readonly string[]): string | null =>
  areas.length === 1 ? (areas[0] ?? null) : enclosingRegion(areas)
