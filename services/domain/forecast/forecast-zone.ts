import { biddingZone } from '../market-feed/bidding-zones.ts'

/**
 * Time zones of areas outside the coupled European market. The Australian market has one clock, without daylight saving
 * time.
 */
const otherZones: Readonly<Record<string, string>> = {
  PJM: 'America/New_York',
  NYISO: 'America/New_York',
  'ISO-NE': 'America/New_York',
  MISO: 'America/Chicago',
  SPP: 'America/Chicago',
  ERCOT: 'America/Chicago',
  CAISO: 'America/Los_Angeles',
  AESO: 'America/Edmonton',
  IESO: 'America/Toronto',
  NSW1: 'Australia/Brisbane',
  QLD1: 'Australia/Brisbane',
  SA1: 'Australia/Brisbane',
  TAS1: 'Australia/Brisbane',
  VIC1: 'Australia/Brisbane',
}

const areaZone = (area: string): string | undefined =>
  /^GB(-|$)/.test(area) ? 'Europe/London' : (biddingZone(area)?.timeZone ?? otherZones[area])

/** What decides the clock of a market source: its own time zone, its area, and the time zone of its first location. */
export type ForecastClock = {
  readonly timezone: string | null
  readonly area: string | null
  readonly locationTimezone: string | null
}

/**
 * Return the time zone in whose days and weeks the prices of a market source repeat.
 * Source: docs/rules/markets-and-forecasts.md #clock.
 */
export const forecastZone = ({ timezone, area, locationTimezone }: ForecastClock): string =>
  timezone ?? (area === null ? undefined : areaZone(area)) ?? locationTimezone ?? 'UTC'
