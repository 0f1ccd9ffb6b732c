import { type TimeZone, utcOffsetPeriodAt } from './civil-time.ts'

/** Offset (minutes) in which an answer writes an instant (ms). */
export type AnswerOffset = (at: number) => number

/**
 * Return the offsets of an answer to a request in the offset `requested` (minutes): the offset of the zone at each instant, or UTC if the
 * request is in UTC. `zone` is null if the places of an answer have no zone in common; then the requested offset applies.
 * Neighbouring instants are cheap: the zone is searched only after a clock change.
 * Source: docs/rules/versions-and-transport.md #offsets-of-answers.
 */
export const answerOffset = (zone: TimeZone | null, requested: number): AnswerOffset => {
  if (requested === 0 || zone === null) return () => requested
  return zoneOffset(zone)
}

/** Return the offset (minutes) of a zone at each instant, whatever the request used. */
export const zoneOffset = (zone: TimeZone): AnswerOffset => {
  let start = Number.NaN
  let end = Number.NaN
  let minutes = 0
  return at => {
    if (at >= start && at < end) return minutes
    const period = utcOffsetPeriodAt(zone, at)
    start = period.start
    end = period.end
    minutes = period.offset / 60_000
    return minutes
  }
}
