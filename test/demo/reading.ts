import { localDayNumber, startOfDayNumber, type TimeZone } from '../../services/domain/civil-time.ts'

/** Meter reading of a site: device, flow, whole Wh, and interval in ms. */
export type Reading = {
  /** Device at the site, such as `charger-1`; null for the meter of the site. */
  readonly device: string | null
  readonly session: string | null
  readonly flow: 'INBOUND' | 'OUTBOUND'
  readonly tariff: 'IMPORT' | 'EXPORT' | 'LOCAL'
  readonly energyWh: number
  readonly start: number
  readonly end: number
}

/**
 * Simulated days without clock changes. `start` is local midnight, and `end` is the end of the last reading, in ms. The
 * last day may be incomplete.
 */
export type Period = { readonly start: number; readonly days: number; readonly end: number }

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs
export const quarterMs = 15 * minuteMs
export const quartersPerDay = 96

/**
 * Return the period of whole quarter hours that ends at `now` (ms) and begins at midnight. At midnight the last day is
 * the day before, so that the period is never empty.
 */
export const periodUntil = (zone: TimeZone, now: number, days: number): Period => {
  const end = Math.floor(now / quarterMs) * quarterMs
  return { start: startOfDayNumber(zone, localDayNumber(zone, end - quarterMs) - days + 1), days, end }
}

/** Yield the quarter hours of a period. `hour` is the local time of day in hours, 0 to 23.75. */
export function* quarters({
  start,
  days,
}: Omit<Period, 'end'>): Iterable<{ readonly at: number; readonly hour: number; readonly day: number }> {
  for (let index = 0; index < days * quartersPerDay; index += 1) {
    yield { at: start + index * quarterMs, hour: (index % quartersPerDay) / 4, day: Math.floor(index / quartersPerDay) }
  }
}

/** Return the value at an hour of a bell curve over the day, with the maximum 1 at `top`. */
export const bell = (hour: number, top: number, width: number): number => Math.exp(-(((hour - top) / width) ** 2))

export const purchase = (energyWh: number, start: number): Reading => ({
  device: null,
  session: null,
  flow: 'INBOUND',
  tariff: 'IMPORT',
  energyWh,
  start,
  end: start + quarterMs,
})
