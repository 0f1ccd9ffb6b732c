import { instantsAt, localDays, nextLocalMidnight, offsetAt, startOfLocalDay, type TimeZone } from '../civil-time.ts'
import { minuteMs } from '../interval.ts'
import type { FeedInterval } from './feed-price.ts'

/** Time zone of a market, and the local minute of the day at which the prices of the next day are published. */
export type PublicationClock = { readonly zone: TimeZone; readonly publishedAtMinute: number }

const hourMs = 60 * minuteMs

/** Delay of a publication after which missing prices are an outage. */
const graceMs = 6 * hourMs
/** In the first two hours after a due publication the service polls more often. */
const eagerMs = 2 * hourMs
const eagerPollMs = 5 * minuteMs
const pollMs = 30 * minuteMs
const minRetryDelayMs = minuteMs
const maxRetryDelayMs = hourMs
/** Requests of all installations are spread over this time after a publication. */
const spreadMs = 10 * minuteMs

/** Return the instant at which the prices of the next day are due, on the local day of `at`. */
const publicationOf = ({ zone, publishedAtMinute }: PublicationClock, at: number): number => {
  const start = startOfLocalDay(zone, at)
  const local = Math.floor((start + offsetAt(zone, start)) / (24 * hourMs)) * 24 * hourMs
  return instantsAt(zone, local + publishedAtMinute * minuteMs)[0] ?? start
}

/**
 * Return the end (ms, exclusive) of the prices that must be known at `at`. Earlier missing prices are an outage.
 * The end is the end of the local day. From six hours after the publication it is the end of the next day.
 */
export const expectedUntil = (clock: PublicationClock, at: number): number => {
  const tomorrow = nextLocalMidnight(clock.zone, at)
  return at >= publicationOf(clock, at) + graceMs ? nextLocalMidnight(clock.zone, tomorrow) : tomorrow
}

/** Return the end of the last local day that can be published at `at`: the next day. */
export const publishableUntil = ({ zone }: PublicationClock, at: number): number =>
  nextLocalMidnight(zone, nextLocalMidnight(zone, at))

/**
 * Return the instant (ms) of the next fetch after a successful one.
 * If the next day is known: the publication of tomorrow.
 * If today is known and today's publication is not due: that publication.
 * Otherwise 5 minutes later, and from two hours after the publication 30 minutes later.
 * `random` in [0, 1) spreads the requests.
 */
export const nextFetchAt = (clock: PublicationClock, at: number, knownUntil: number | null, random: number): number => {
  const tomorrow = nextLocalMidnight(clock.zone, at)
  const known = knownUntil ?? Number.NEGATIVE_INFINITY
  const spread = Math.floor(random * spreadMs)
  if (known >= nextLocalMidnight(clock.zone, tomorrow)) return publicationOf(clock, tomorrow) + spread
  const due = publicationOf(clock, at)
  if (at < due) return known >= tomorrow ? due + spread : Math.min(due, at + jittered(pollMs, random))
  return at + jittered(at < due + eagerMs ? eagerPollMs : pollMs, random)
}

/**
 * Return the delay (ms) after the n-th consecutive failure: one minute, doubled each time, at most an hour, ± 20 %.
 * The delay is at least `requestedMs` (`Retry-After` of the feed), up to an hour.
 */
export const retryDelayMs = (failures: number, random: number, requestedMs: number | null): number =>
  Math.max(
    jittered(Math.min(minRetryDelayMs * 2 ** Math.min(failures - 1, 20), maxRetryDelayMs), random),
    Math.min(requestedMs ?? 0, maxRetryDelayMs),
  )

/** Change a duration by up to 20 %. */
const jittered = (ms: number, random: number): number => Math.round(ms * (0.8 + 0.4 * random))

/**
 * Split an interval into the intervals of single requests: whole local days, at most `maxDays` each, split at `cutsAt`.
 * The result is ordered and contiguous. It covers each local day that the interval touches.
 */
export const requestIntervals = (
  { maxDays, cutsAt = [] }: { readonly maxDays: number; readonly cutsAt?: readonly number[] },
  zone: TimeZone,
  interval: FeedInterval,
): readonly FeedInterval[] => {
  const intervals: { from: number; to: number }[] = []
  let days = 0
  for (const { start, end } of localDays(zone, interval.from, interval.to)) {
    const last = intervals.at(-1)
    if (last === undefined || days === maxDays || cutsAt.includes(start)) {
      intervals.push({ from: start, to: end })
      days = 1
    } else {
      last.to = end
      days += 1
    }
  }
  return intervals
}
