import lookUp from '@photostructure/tz-lookup'
import { canonicalName, isSameClock, timeZone } from '../time-zone.ts'

type Point = { readonly lat: number; readonly lng: number }

/**
 * Return the time zone at a point of a country.
 * The map of zones is coarse near borders: if it returns the zone of another country, the nearest zone of this country
 * is used.
 */
export function zoneAt(country: string, point: Point): string {
  const zones = zonesOf(country)
  const isOwn = (zone: string): boolean => zones.has(canonicalName(zone))
  const zone = lookUpZone(point)
  if (isOwn(zone)) return zone
  const [only = zone] = zones
  return zonesNearby(point).find(isOwn) ?? currentNames[only] ?? only
}

/** Check if a country has one time, for all times that costs can have. */
export function hasOneClock(country: string): boolean {
  const [first, ...rest] = zonesOf(country)
  return first !== undefined && rest.every(name => haveSameClock(name, first))
}

function haveSameClock(name: string, otherName: string): boolean {
  const [zone, other] = [timeZone(name), timeZone(otherName)]
  return zone !== null && other !== null && isSameClock(zone, other)
}

const lookUpZone = (point: Point): string => lookUp(point.lat, point.lng)

/** List the zones around a point, nearest first, to about 350 km. */
function zonesNearby({ lat, lng }: Point): readonly string[] {
  const around = [-1, 0, 1].flatMap(north => [-1, 0, 1].map(east => [north, east] as const))
  return [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2].flatMap(degrees =>
    around.map(([north, east]) =>
      lookUpZone({ lat: clamp(lat + north * degrees, 90), lng: clamp(lng + east * degrees, 180) }),
    ),
  )
}

const clamp = (value: number, limit: number): number => Math.max(-limit, Math.min(limit, value))

const zonesByCountry = new Map<string, ReadonlySet<string>>()

/** Return the canonical names of a country's zones; empty for a few uninhabited islands. */
function zonesOf(country: string): ReadonlySet<string> {
  const known = zonesByCountry.get(country)
  if (known !== undefined) return known
  const zones = new Set((zoneOverrides[country] ?? localeOf(country).getTimeZones?.() ?? []).map(canonicalName))
  zonesByCountry.set(country, zones)
  return zones
}

/**
 * Kosovo has the time of Belgrade, but no entry in the table of zones. Addresses in CY are in the Republic of Cyprus,
 * whose capital is shown in the north by the map.
 */
const zoneOverrides: Readonly<Record<string, readonly string[]>> = { XK: ['Europe/Belgrade'], CY: ['Asia/Nicosia'] }

/** Newer names of the IANA table for canonical names of the runtime. */
const currentNames: Readonly<Record<string, string>> = {
  'Africa/Asmera': 'Africa/Asmara',
  'America/Godthab': 'America/Nuuk',
  'Asia/Calcutta': 'Asia/Kolkata',
  'Asia/Katmandu': 'Asia/Kathmandu',
  'Asia/Rangoon': 'Asia/Yangon',
  'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe',
  'Europe/Kiev': 'Europe/Kyiv',
  'Pacific/Enderbury': 'Pacific/Kanton',
  'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk',
}

/** The compiler's library lacks the method `getTimeZones`. */
const localeOf = (country: string): Intl.Locale & { getTimeZones?(): string[] } => new Intl.Locale(`und-${country}`)
