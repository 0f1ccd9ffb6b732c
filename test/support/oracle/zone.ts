import type { TimeZone } from '../../../services/domain/civil-time.ts'
import { localClock } from './local-clock.ts'

/**
 * Time zones with unusual rules: offsets of half and quarter hours, clock changes at midnight,
 * changes by half an hour or a whole day, and additional changes for Ramadan.
 */
export const zoneNames = [
  ...[
    'Europe/Berlin',
    'Europe/London',
    'America/New_York',
    'America/Sao_Paulo',
    'America/St_Johns',
    'Africa/Casablanca',
    'Asia/Tokyo',
  ],
  ...[
    'Asia/Kolkata',
    'Asia/Kathmandu',
    'Australia/Adelaide',
    'Australia/Lord_Howe',
    'Pacific/Chatham',
    'Pacific/Apia',
    'Asia/Tehran',
    'UTC',
  ],
] as const

// No time zone changes its clock twice within five days.
const strideMs = 5 * 86_400_000
const first = Date.UTC(1999, 0, 1)
const last = Date.UTC(2038, 0, 1)
const zonesByName = new Map<string, TimeZone>()

const offsetAt = (name: string, at: number): number => {
  const { year, month, date, hour, minute, second } = localClock(name, at)
  return Date.UTC(year, month - 1, date, hour, minute, second) - at
}

/** Return the first minute in (from, to] with the offset of `to`. */
const changeWithin = (name: string, from: number, to: number): number => {
  const after = offsetAt(name, to)
  let [low, high] = [from, to]
  while (high - low > 60_000) {
    const middle = low + Math.round((high - low) / 120_000) * 60_000
    if (offsetAt(name, middle) === after) high = middle
    else low = middle
  }
  return high
}

/** Find the offsets of a time zone from 1999 to 2037 by reading its local time every five days. */
export const zoneOf = (name: string): TimeZone => {
  const known = zonesByName.get(name)
  if (known !== undefined) return known
  const changes: number[] = []
  const offsets = [offsetAt(name, first)]
  for (let from = first; from < last; from += strideMs) {
    const offset = offsetAt(name, from + strideMs)
    if (offset === offsets.at(-1)) continue
    changes.push(changeWithin(name, from, from + strideMs))
    offsets.push(offset)
  }
  const zone = { name, changes, offsets }
  zonesByName.set(name, zone)
  return zone
}
