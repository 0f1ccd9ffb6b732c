import { stateOfAdmin } from './state.ts'

/** City to find a market area for. `admin` is the GeoNames code of its division. */
type CityPoint = {
  readonly country: string
  readonly admin: string
  readonly lat: number
  readonly lng: number
  readonly timeZone: string
}

/**
 * Return the market area of a city: the bidding zone in Europe, the region of the operator or NEM in Australia, Canada
 * and the US.
 * Null if none is mapped. Borders in Norway and Sweden are lines between well-known towns, accurate to about 20 km.
 * Source: https://www.entsoe.eu/network_codes/bzr/; https://www.terna.it (zones since 2021); https://www.statnett.no;
 * https://www.svk.se; https://aemo.com.au.
 */
export function marketAreaOf(point: CityPoint): string | null {
  const { country, admin, lat, lng, timeZone } = point
  switch (country) {
    case 'DK':
      return danishArea(lat, lng)
    case 'NO':
      return norwegianArea(lat, lng)
    case 'SE':
      return swedishArea(lat, lng)
    case 'IT':
      return italianAreas[admin] ?? null
    case 'PT':
      return timeZone === 'Europe/Lisbon' ? 'PT' : null
    case 'US':
      return admin === 'TX' && timeZone !== 'America/Chicago'
        ? null
        : (stateOfAdmin(country, admin)?.marketArea ?? null)
    case 'AU':
      return timeZone === 'Australia/Lord_Howe' ? null : (stateOfAdmin(country, admin)?.marketArea ?? null)
    case 'CA':
    case 'GB':
      return stateOfAdmin(country, admin)?.marketArea ?? null
    default:
      return marketAreaOfCountry(country)
  }
}

/** Return the market area of a complete country; null if there is none or several. */
export const marketAreaOfCountry = (country: string): string | null =>
  singleAreaCountries.has(country) ? country : (sharedAreas[country] ?? null)

/** Check if a country has several market areas, or places without one. */
export const hasSeveralAreas = (country: string): boolean => severalAreas.has(country)

const severalAreas: ReadonlySet<string> = new Set('AU CA DK GB IT NO PT SE US'.split(' '))

const singleAreaCountries = new Set('AT BE BG CH CZ EE ES FI FR GR HR HU IE LT LV NL PL RO SI SK'.split(' '))

/**
 * Areas of several countries: Luxembourg with Germany, Liechtenstein in the Swiss grid, Monaco in the French grid, the
 * enclaves in Italy.
 */
const sharedAreas: Readonly<Record<string, string>> = {
  DE: 'DE-LU',
  LU: 'DE-LU',
  LI: 'CH',
  MC: 'FR',
  SM: 'IT-CNOR',
  VA: 'IT-CSUD',
}

/** GeoNames codes of the Italian regions, by market area. */
const italianAreas: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    'IT-NORD': '05 06 08 09 12 17 19 20',
    'IT-CNOR': '10 16',
    'IT-CSUD': '01 04 07 18',
    'IT-SUD': '02 11 13',
    'IT-CALA': '03',
    'IT-SICI': '15',
    'IT-SARD': '14',
  }).flatMap(([area, regions]) => regions.split(' ').map(region => [region, area] as const)),
)

/**
 * DK2 is east of the Great Belt and includes Bornholm. Læsø and Anholt have similar longitudes but belong to Jutland.
 */
const danishArea = (lat: number, lng: number): string => (lng >= 10.9 && lat < 56.3 ? 'DK2' : 'DK1')

function swedishArea(lat: number, lng: number): string {
  if (lat < interpolateAt(betweenSe4AndSe3, lng)) return 'SE4'
  if (lat < interpolateAt(betweenSe3AndSe2, lng)) return 'SE3'
  return lat < interpolateAt(betweenSe2AndSe1, lng) ? 'SE2' : 'SE1'
}

function norwegianArea(lat: number, lng: number): string {
  if (lat >= interpolateAt(betweenNo3AndNo4, lng)) return 'NO4'
  if (lat >= interpolateAt(southOfNo3, lng)) return 'NO3'
  if (lng < interpolateAt(eastOfNo5, lat) && lat >= interpolateAt(southOfNo5, lng)) return 'NO5'
  return lat < interpolateAt(betweenNo2AndNo1, lng) ? 'NO2' : 'NO1'
}

/** Border from west to east as [longitude, latitude], unless noted. */
type Line = readonly (readonly [number, number])[]

/** North of Halmstad, Gislaved, Värnamo, Växjö; south of Falkenberg, Jönköping, Vetlanda, Oskarshamn. */
const betweenSe4AndSe3: Line = [
  [12, 56.8],
  [12.9, 56.85],
  [13.3, 57.38],
  [14.3, 57.3],
  [15, 57.2],
  [17, 57.15],
]

/** North of Mora and Gävle, south of Söderhamn and Bollnäs. */
const betweenSe3AndSe2: Line = [
  [12, 61.8],
  [14, 61.5],
  [16, 61.1],
  [19, 60.95],
]

/** North of Umeå and Lycksele, south of Skellefteå and Arjeplog. */
const betweenSe2AndSe1: Line = [
  [14, 66.2],
  [17, 65.6],
  [20, 64.45],
  [22, 64.2],
]

/** North of Namsos and Rørvik, south of Brønnøysund. */
const betweenNo3AndNo4: Line = [
  [10, 65.1],
  [12, 65],
  [14, 64.7],
]

/** North of Sogndal and Otta, Elverum and Trysil; south of Førde, Dombås, Tynset. */
const southOfNo3: Line = [
  [4.5, 61.25],
  [6.5, 61.35],
  [7.5, 61.65],
  [8.5, 61.95],
  [9.6, 61.95],
  [10.5, 62.1],
  [13, 62.1],
]

/** East of Voss, Hallingdal and Valdres, from south to north: [latitude, longitude]. */
const eastOfNo5: Line = [
  [59.3, 6.6],
  [60, 7],
  [60.25, 9.4],
  [60.8, 9.8],
  [61.3, 9.3],
  [62, 7.5],
]

/** North of Haugesund, south of Stord and Odda. */
const southOfNo5: Line = [
  [4.5, 59.55],
  [5.6, 59.65],
  [6.2, 59.75],
  [7, 59.8],
  [8, 60.2],
  [10, 60.3],
]

/** North of Rjukan, Notodden, Skien, Sandefjord; south of Kongsberg, Tønsberg. */
const betweenNo2AndNo1: Line = [
  [7, 60.1],
  [8.7, 60],
  [9.3, 59.62],
  [10, 59.4],
  [10.3, 59.2],
  [11, 59],
]

/** Interpolate a line between its points. Beyond its ends the line continues at the same value. */
function interpolateAt(line: Line, x: number): number {
  const after = line.findIndex(([pointX]) => pointX >= x)
  const [toX, toY] = line.at(after) ?? [0, 0]
  const [fromX, fromY] = line[after - 1] ?? [toX, toY]
  if (after < 0 || toX === fromX) return toY
  return fromY + ((toY - fromY) * (x - fromX)) / (toX - fromX)
}
