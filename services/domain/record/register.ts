import type { Energy } from '../quantity.ts'
import type { Refusal } from '../refusal.ts'
import { firstIndex } from '../sorted.ts'
import type { RegisterRule } from './reading-rules.ts'
import { isBase, lastBaseBefore, type RegisterEntry, walkRegister } from './register-walk.ts'
import { maxRecordMs } from './validate-record.ts'

/**
 * Value of a register (1e-6 Wh) at an instant (ms); null if the reading is withdrawn. A restart is the first reading
 * of a new meter; it can have the time of the last reading of the old meter. Of readings with the same time and the
 * same `isRestart`, the highest `sourceVersion` is valid.
 * `isDoubtful`: a later reading can still decide about this one; see `ReadingResult`. Arriving readings have any value.
 * `version` is the version of the message that caused this form of the reading. It is never below `sourceVersion`.
 */
export type RegisterReading = {
  readonly time: number
  readonly isRestart: boolean
  readonly value: Energy | null
  readonly isDoubtful: boolean
  readonly version: bigint
  readonly sourceVersion: bigint
}

/**
 * Stored readings around the arriving ones, in any order. After a reading of `gapsAfter`, stored readings can be
 * missing.
 */
export type StoredReadings<Reading> = {
  readonly readings: readonly Reading[]
  readonly gapsAfter: ReadonlySet<Reading>
}

/**
 * Current interval that a reading (`opening`) opens. `consumption` is null if there is no valid interval; a stored one
 * is then withdrawn.
 * `end` is the end of the interval. For a withdrawn interval it is the latest end that the stored interval can have.
 * The versions are the highest ones of both readings and of all readings at arrived places.
 */
export type RegisterInterval<Reading> = {
  readonly opening: Reading
  readonly consumption: { readonly closing: Reading; readonly energy: Energy } | null
  readonly end: number
  readonly version: bigint
  readonly sourceVersion: bigint
}

/** Reading that fails. Without a doubt it is still the base of the next interval. */
export type RegisterFailure<Reading> = { readonly reading: Reading; readonly refusal: Refusal }

export type RegisterUpdate<Reading> = {
  /** Arrived readings that are valid, and stored readings that changed, by time. */
  readonly readings: readonly Reading[]
  /** Intervals that the arrived readings can have changed, by start. */
  readonly intervals: readonly RegisterInterval<Reading>[]
  /** Readings that the rules refuse after the step, among those that the step reached. Each is there once. */
  readonly failures: readonly RegisterFailure<Reading>[]
  /** Readings with a value that decide about later ones, by time; none if readings are missing among them. */
  readonly tail: readonly Reading[]
}

/** Times (ms) of stored readings after which the update needs readings that `stored` leaves out. */
export type MissingReadings = { readonly missingAfter: ReadonlySet<number> }

type Versions = { readonly version: bigint; readonly sourceVersion: bigint }

/**
 * Add readings to one register. Of readings of one place, the last one of the highest source version is valid.
 * For the time of each arrived reading, `stored` contains the stored readings at that time, and the nearest readings
 * before and after. A register of kind LIFETIME also needs those within 24 h before and after. Further readings are
 * allowed. Withdrawn readings at other times can be left out.
 * Laws: the intervals depend on all readings together, in any order of arrival and any division into steps. The
 * failures are those of the readings after the step, among the readings that the step reached. The time is that of
 * sorting the readings.
 * Source: docs/rules/metering.md #register-readings.
 */
export const updateRegister = <Reading extends RegisterReading>(
  rule: RegisterRule | null,
  stored: StoredReadings<Reading>,
  arrivedReadings: readonly Reading[],
): RegisterUpdate<Reading> | MissingReadings => {
  const { readings, entries } = insert(stored, arrivedReadings)
  const missingAfter = walkRegister(rule, entries)
  if (missingAfter.size > 0) return { missingAfter }
  const arrived = new Set(arrivedReadings)
  const arrivals = highestVersions(readings.filter((_, index) => entries[index]?.hasArrived))
  const decided = readings.map((reading, index): Reading => {
    const { isDoubtful } = entries[index] as RegisterEntry
    if (isDoubtful === reading.isDoubtful) return reading
    return { ...reading, isDoubtful, version: highestVersions([reading, arrivals]).version }
  })
  const refusals = entries.flatMap(({ refusal, index }) => (refusal === null ? [] : [{ index, refusal }]))
  return {
    readings: decided.filter((reading, index) => reading !== readings[index] || arrived.has(reading)),
    intervals: intervalsOf(decided, entries, arrivals),
    failures: refusals.map(({ index, refusal }) => ({ reading: decided[index] as Reading, refusal })),
    tail: decided.slice(startOfTail(rule, entries)).filter(({ value }) => value !== null),
  }
}

/** A place in the order of the readings of a register, as a number. */
const placeOf = ({ time, isRestart }: RegisterReading): number => time * 2 + Number(isRestart)

/** Return the valid readings by time. The places of arrivals are marked, also where a stored reading is newer. */
const insert = <Reading extends RegisterReading>(
  { readings: stored, gapsAfter }: StoredReadings<Reading>,
  arrivedReadings: readonly Reading[],
): { readonly readings: readonly Reading[]; readonly entries: readonly RegisterEntry[] } => {
  const valid = new Map(stored.map(reading => [placeOf(reading), reading]))
  const gaps = new Set([...gapsAfter].map(placeOf))
  const arrived = new Set<number>()
  for (const reading of arrivedReadings) {
    const place = placeOf(reading)
    arrived.add(place)
    const existing = valid.get(place)
    if (existing === undefined || existing.sourceVersion <= reading.sourceVersion) valid.set(place, reading)
  }
  const readings = [...valid.values()].sort((a, b) => placeOf(a) - placeOf(b))
  const entries = readings.map((reading, index): RegisterEntry => {
    const { time, isRestart, value, isDoubtful } = reading
    const place = placeOf(reading)
    return {
      ...{ index, time, isRestart, value, isDoubtful, hasArrived: arrived.has(place), hasGapAfter: gaps.has(place) },
      ...{ refusal: null, closing: null, reachedUntil: null },
    }
  })
  return { readings, entries }
}

const highestVersions = (all: readonly Versions[]): Versions => ({
  version: all.reduce((highest, { version }) => (version > highest ? version : highest), 0n),
  sourceVersion: all.reduce((highest, { sourceVersion: one }) => (one > highest ? one : highest), 0n),
})

/** Return the intervals of the reached readings, one for each time. Of two readings of a time, the later one opens it. */
const intervalsOf = <Reading extends RegisterReading>(
  readings: readonly Reading[],
  entries: readonly RegisterEntry[],
  arrivals: Versions,
): readonly RegisterInterval<Reading>[] => {
  const readingOf = ({ index }: RegisterEntry): Reading => readings[index] as Reading
  const until = new Map<number, RegisterEntry>()
  for (const { time, reachedUntil } of entries) if (reachedUntil !== null) until.set(time, reachedUntil)
  return [...until].map(([time, last]): RegisterInterval<Reading> => {
    const first = firstIndex(entries.length, index => (entries[index] as RegisterEntry).time >= time)
    const atTime = entries.slice(first, first + 2).filter(entry => entry.time === time)
    const opening = (atTime.findLast(({ closing }) => closing !== null) ??
      atTime.findLast(({ value }) => value !== null) ??
      atTime.at(-1)) as RegisterEntry
    const closing = opening.closing === null ? null : readingOf(opening.closing.entry)
    const decisive = [...atTime.map(readingOf), ...(closing === null ? [] : [closing]), arrivals]
    return {
      opening: readingOf(opening),
      consumption: closing === null ? null : { closing, energy: opening.closing?.energy ?? 0n },
      end: closing === null ? lastTimeUntil(entries, Math.min(last.time, time + maxRecordMs)) : closing.time,
      ...highestVersions(decisive),
    }
  })
}

/** Return the time of the last reading up to `time`; there is one. */
const lastTimeUntil = (entries: readonly RegisterEntry[], time: number): number => {
  const after = firstIndex(entries.length, index => (entries[index] as RegisterEntry).time > time)
  return (entries[after - 1] as RegisterEntry).time
}

/**
 * Return the index from which on readings decide about readings after the last one: the base before the first fall that
 * can still be a dip, else the last base. Returns the end if readings are missing.
 */
const startOfTail = (rule: RegisterRule | null, entries: readonly RegisterEntry[]): number => {
  const end = entries.length
  const last = entries.at(-1)
  if (last === undefined) return end
  const start = Math.max(lastBaseBefore(rule, entries, end, last.time), 0)
  let baseIndex = start
  for (let i = start; i < end; i += 1) {
    const entry = entries[i] as RegisterEntry
    if (entry.hasGapAfter && i + 1 < end) return end
    if (!isBase(entry)) continue
    const base = entries[baseIndex] as RegisterEntry
    if (rule?.kind === 'LIFETIME' && !entry.isRestart && isBase(base) && entry.value < base.value) break
    baseIndex = i
  }
  return baseIndex
}
