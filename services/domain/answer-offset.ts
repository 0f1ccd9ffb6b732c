import { type TimeZone, utcOffsetPeriodAt } from './civil-time.ts'
import { minuteMs } from './interval.ts'

/** UTC offset in minutes with which an answer writes an instant (ms). */
export type AnswerOffset = (at: number) => number

/**
 * Return the UTC offsets of an answer. If the request is in UTC (`requested` is 0), the answer is in UTC.
 * Otherwise the answer uses the offset of the zone at each instant. If `zone` is null, because the objects of the
 * answer have no common zone, the answer uses the requested offset.
 * Calls for neighbouring instants are cheap: the zone is searched only after a clock change.
 * Source: docs/rules/versions-and-transport.md #offsets-of-answers.
 */
export const answerOffset = (zone: TimeZone | null, requested: number): AnswerOffset => {
  if (requested === 0 || zone === null) return () => requested
  return zoneOffset(zone)
}

/** Return the UTC offset (minutes) of a zone at each instant. The offset of the request is ignored. */
export const zoneOffset = (zone: TimeZone): AnswerOffset => {
  let start = Number.NaN
  let end = Number.NaN
  let minutes = 0
  return at => {
    if (at >= start && at < end) return minutes
    const period = utcOffsetPeriodAt(zone, at)
    start = period.start
    end = period.end
    minutes = period.offset / minuteMs
    return minutes
  }
}
