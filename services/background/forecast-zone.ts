import { biddingZone } from '../domain/market-feed/bidding-zones.ts'

/** Zones of areas beyond the coupled European market; the Australian market keeps one clock without summer time. */
const zones: Readonly<Record<string, string>> = {
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

/**
 * Name the zone in whose days and weeks the prices of an area repeat; UTC where the area tells none, as with sources of an account's own.
 */
export const forecastZone = (area: string | null): string => {
  if (area === null) return 'UTC'
  if (/^GB(-|$)/.test(area)) return 'Europe/London'
  return biddingZone(area)?.timeZone ?? zones[area] ?? 'UTC'
}
