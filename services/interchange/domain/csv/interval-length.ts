import { instantsAt, localDayNumber, offsetAt, startOfDayNumber, type TimeZone } from '../../../domain/civil-time.ts'
import { dayMs } from '../../../domain/interval.ts'

/** Length of the intervals of a file: elapsed ms, or the local day of a zone. A day with a clock change is not 24 h long. */
export type IntervalLength = number | 'local_day'

const durationText = /^PT(?:(\d{1,3})H)?(?:(\d{1,4})M)?(?:(\d{1,5})S)?$/

/**
 * Read an ISO 8601 duration: `P1D` is the local day; hours, minutes and seconds are elapsed time.
 * Returns undefined for other texts, for zero and for more than 24 h.
 */
export const readIntervalLength = (text: string): IntervalLength | undefined => {
  if (text.toUpperCase() === 'P1D') return 'local_day'
  const match = durationText.exec(text.toUpperCase())
  if (match === null) return undefined
  const [hours, minutes, seconds] = match.slice(1).map(part => Number(part ?? 0)) as [number, number, number]
  const ms = ((hours * 60 + minutes) * 60 + seconds) * 1000
  return ms > 0 && ms <= dayMs ? ms : undefined
}

/** Return the instant with the same local time on the next (1) or previous (-1) local day. */
const shiftLocalDay = (zone: TimeZone, at: number, days: 1 | -1): number => {
  const day = localDayNumber(zone, at)
  if (at === startOfDayNumber(zone, day)) return startOfDayNumber(zone, day + days)
  return instantsAt(zone, at + offsetAt(zone, at) + days * dayMs)[0] as number
}

/**
 * Return the other end of an interval: its end for `at` = start and `sign` 1, its start for `at` = end and `sign` -1.
 * Without a length both are `at`. A local day needs `zone`.
 */
export const otherEnd = (at: number, sign: 1 | -1, length: IntervalLength | null, zone: TimeZone | null): number => {
  if (length === 'local_day') return zone === null ? at : shiftLocalDay(zone, at, sign)
  return at + sign * (length ?? 0)
}
