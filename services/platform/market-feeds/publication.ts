import { instantsAt, nextLocalMidnight, offsetAt, startOfLocalDay, type TimeZone } from '../../domain/civil-time.ts'

/** A market's clock with its zone at hand. */
export type PublicationClock = { readonly zone: TimeZone; readonly publishedAtMinute: number }

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** How late a publication may be before the missing prices count as a fault. */
const graceMs = 6 * hourMs
/** After a publication is due it is asked for often, later less so. */
const eagerMs = 2 * hourMs
const eagerPollMs = 5 * minuteMs
const pollMs = 30 * minuteMs
const minRetryDelayMs = minuteMs
const maxRetryDelayMs = hourMs
/** Callers of one feed spread over so much time after a publication. */
const spreadMs = 10 * minuteMs

/** When the prices of the next day are due on the local day that holds an instant. */
const publicationOf = ({ zone, publishedAtMinute }: PublicationClock, at: number): number => {
  const start = startOfLocalDay(zone, at)
  const local = Math.floor((start + offsetAt(zone, start)) / (24 * hourMs)) * 24 * hourMs
  return instantsAt(zone, local + publishedAtMinute * minuteMs)[0] ?? start
}

/**
 * Tell until when (ms, exclusive) prices must be known at `at` for nothing to be amiss: the end of today by the market's clock, and from
 * six hours after the day's publication on the end of tomorrow.
 */
export const expectedUntil = (clock: PublicationClock, at: number): number => {
  const tomorrow = nextLocalMidnight(clock.zone, at)
  return at >= publicationOf(clock, at) + graceMs ? nextLocalMidnight(clock.zone, tomorrow) : tomorrow
}

/** Give the end of the last local day that may be published at `at`: tomorrow. */
export const publishableUntil = ({ zone }: PublicationClock, at: number): number =>
  nextLocalMidnight(zone, nextLocalMidnight(zone, at))

/**
 * Tell when to fetch next after a fetch that was answered. With the next day known: at tomorrow's publication. Before today's publication,
 * today known: at that. Else every 5 minutes, from two hours after the publication every 30. `chance` (0 … 1) spreads callers.
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
 * Tell how long (ms) to wait after the `failures`-th failure in a row: one minute, doubled each time, an hour at most, ± 20 %; no less than
 * what the feed asks for, as far as an hour.
 */
export const retryDelayMs = (failures: number, random: number, requestedMs: number | null): number =>
  Math.max(
    jittered(Math.min(minRetryDelayMs * 2 ** Math.min(failures - 1, 20), maxRetryDelayMs), random),
    Math.min(requestedMs ?? 0, maxRetryDelayMs),
  )

/** A length of time, 20 % more or less. */
const jittered = (ms: number, random: number): number => Math.round(ms * (0.8 + 0.4 * random))
