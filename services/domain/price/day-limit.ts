import { dayMs } from '../civil-date.ts'
import { offsetAt, type TimeZone } from '../civil-time.ts'

/**
 * Tell whether a half-open span (ms) is longer than so many days: of 24 hours each, or by the clock of a zone, whichever allows more.
 * Days that hold the end of summer time are longer, and three of them are still three days.
 * Source: docs/rules/prices-and-audits.md #span.
 */
export const isLongerThanDays = (
  zone: TimeZone,
  { start, end }: { readonly start: number; readonly end: number },
  days: number,
): boolean => {
  const byClock = end + offsetAt(zone, end) - (start + offsetAt(zone, start))
  return Math.min(end - start, byClock) > days * dayMs
}
