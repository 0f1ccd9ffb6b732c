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
 * The versions are the highest ones of both readings and of all arrived readings that decided about the interval.
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
  /** Each refused reading once, with its latest refusal. */
  readonly failures: readonly RegisterFailure<Reading>[]
  /** Readings with a value that decide about later ones, by time; none if readings are missing among them. */
  readonly tail: readonly Reading[]
}

/** Times (ms) of stored readings after which the update needs readings that `stored` leaves out. */
export type MissingReadings = { readonly missingAfter: ReadonlySet<number> }

type Versions = { readonly version: bigint; readonly sourceVersion: bigint }

/**
 * Add the readings of messages to one register, message by message. Of readings of one place, the last one of the
 * highest source version is valid.
 * For the time of each arrived reading, `stored` contains the stored readings at that time, and the nearest readings
 * before and after. A register of kind LIFETIME also needs those within 24 h before and after. Further readings are
 * allowed. Withdrawn readings at other times can be left out.
 * Laws: the intervals depend on all readings together, in any order of arrival and any division into steps. The
 * failures are those after each message. The result contains every interval that a step with a part of the messages
 * changes: after a crash, the rows of such a step can be stored. The time of a message is that of sorting its readings,
 * if they are later than all others; else that of sorting all readings.
 * Source: docs/rules/metering.md #register-readings.
 */
export const updateRegister = <Reading extends RegisterReading>(
  rule: RegisterRule | null,
  stored: StoredReadings<Reading>,
  messages: readonly (readonly Reading[])[],
): RegisterUpdate<Reading> | MissingReadings => {
  const known = new Map(stored.readings.map(reading => [placeOf(reading), reading]))
  const gaps = new Set([...stored.gapsAfter].map(placeOf))
  const changed = new Map<number, Reading>()
  const intervals = new Map<number, ReachedInterval<Reading>>()
  const failures = new Map<bigint, RegisterFailure<Reading>>()
  let lastTime = stored.readings.reduce((latest, { time }) => Math.max(latest, time), Number.NEGATIVE_INFINITY)
  let tail: readonly Reading[] = []
  for (const message of messages) {
    const isLater = tail.length > 0 && message.every(({ time }) => time > lastTime)
    const update = addMessage(rule, isLater ? tail : [...known.values()], isLater ? noGaps : gaps, message)
    if ('missingAfter' in update) return update
    for (const reading of update.readings) {
      known.set(placeOf(reading), reading)
      changed.set(placeOf(reading), reading)
      lastTime = Math.max(lastTime, reading.time)
    }
    for (const interval of update.intervals) {
      const { time } = interval.opening
      intervals.set(time, joinIntervals(intervals.get(time), interval))
    }
    for (const failure of update.failures) failures.set(failure.reading.sourceVersion, failure)
    tail = update.tail
  }
  return {
    readings: [...changed.values()].sort((a, b) => placeOf(a) - placeOf(b)),
    intervals: [...intervals.values()].sort((a, b) => a.opening.time - b.opening.time).map(intervalOf),
    failures: [...failures.values()],
    tail,
  }
}

const noGaps: ReadonlySet<number> = new Set()

/** An interval, and the latest end that an earlier form of it can have. */
type ReachedInterval<Reading> = Omit<RegisterInterval<Reading>, 'end'> & { readonly until: number }

/** Return the later form of an interval. An earlier one can be stored, or can replace a stored one. */
const joinIntervals = <Reading>(
  earlier: ReachedInterval<Reading> | undefined,
  later: ReachedInterval<Reading>,
): ReachedInterval<Reading> =>
  earlier === undefined
    ? later
    : { ...later, until: Math.max(earlier.until, later.until), ...highestVersions([earlier, later]) }

const intervalOf = <Reading extends RegisterReading>({
  until,
  ...interval
}: ReachedInterval<Reading>): RegisterInterval<Reading> => ({
  ...interval,
  end: interval.consumption?.closing.time ?? until,
})

type MessageUpdate<Reading> = Omit<RegisterUpdate<Reading>, 'intervals'> & {
  readonly intervals: readonly ReachedInterval<Reading>[]
}

/** Add the readings of one message to the readings of a register. */
const addMessage = <Reading extends RegisterReading>(
  rule: RegisterRule | null,
  known: readonly Reading[],
  gaps: ReadonlySet<number>,
  message: readonly Reading[],
): MessageUpdate<Reading> | MissingReadings => {
  const { readings, entries } = insert(known, gaps, message)
  const missingAfter = walkRegister(rule, entries)
  if (missingAfter.size > 0) return { missingAfter }
  const arrived = new Set(message)
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
  known: readonly Reading[],
  gaps: ReadonlySet<number>,
  message: readonly Reading[],
): { readonly readings: readonly Reading[]; readonly entries: readonly RegisterEntry[] } => {
  const valid = new Map(known.map(reading => [placeOf(reading), reading]))
  const arrived = new Set<number>()
  for (const reading of message) {
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
): readonly ReachedInterval<Reading>[] => {
  const readingOf = ({ index }: RegisterEntry): Reading => readings[index] as Reading
  const until = new Map<number, RegisterEntry>()
  for (const { time, reachedUntil } of entries) if (reachedUntil !== null) until.set(time, reachedUntil)
  return [...until].map(([time, last]): ReachedInterval<Reading> => {
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
      until: lastTimeUntil(entries, Math.min(last.time, time + maxRecordMs)),
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
