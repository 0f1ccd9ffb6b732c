import { dayMs } from '../civil-date.ts'
import { instantsAt, offsetAt, type TimeZone } from '../civil-time.ts'

const eveningMs = 23 * 3_600_000

/**
 * Give when prices are worth asking for again: at the next publication of their market source (null: none is known), at the latest when
 * the clock of the location next shows 23:00 after `at` (all in ms). Source: docs/rules/earlier-version.md #prices.
 */
export const nextUpdate = (zone: TimeZone, at: number, publication: number | null): number => {
  const today = Math.floor((at + offsetAt(zone, at)) / dayMs)
  const evenings = [today, today + 1, today + 2].flatMap(day => instantsAt(zone, day * dayMs + eveningMs))
  const next = evenings.find(found => found > at) ?? at + dayMs
  return publication === null ? next : Math.min(next, publication)
}
