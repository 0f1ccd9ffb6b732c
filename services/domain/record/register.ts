import type { Energy } from '../quantity.ts'
import type { Refusal } from '../refusal.ts'
import { firstIndex } from '../sorted.ts'
import type { ReadingValue, RegisterRule } from './reading-rules.ts'
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

type Versions = { readonly version: bigint; readonly sourceVersion: bigint }

/** A register to which messages are added. */
export type OpenRegister<Reading> = {
  /**
   * Add the readings of the next message. Of readings of one place, the last one of the highest source version is valid.
   * Returns the times (ms) of stored readings after which the message needs readings that are left out. If there are
   * any, begin again with these readings.
   */
  readonly add: (message: readonly Reading[]) => ReadonlySet<number>
  /** Return what all added messages change. */
  readonly update: () => RegisterUpdate<Reading>
}

/**
 * Open a register to add the readings of messages, message by message.
 * For the time of each arriving reading, `stored` contains the stored readings at that time, and the nearest readings
 * before and after. A register of kind LIFETIME also needs those within 24 h before and after. Further readings are
 * allowed. Withdrawn readings at other times can be left out.
 * Laws: the intervals depend on all readings together, in any order of arrival and any division into steps. The
 * failures are those after each message. The update contains every interval that a step with a part of the messages
 * changes: after a crash, the rows of such a step can be stored. The time of a message is that of the readings between
 * its first and its last one, and of those that it changes; a LIFETIME register with falls also needs those of 24 h.
 * Moving the later readings in memory takes time too, but little.
 * Source: docs/rules/metering.md #register-readings.
 */
export const openRegister = <Reading extends RegisterReading>(
  rule: RegisterRule | null,
  stored: StoredReadings<Reading>,
): OpenRegister<Reading> => {
  const entries = entriesOf(stored)
  /** Readings that a message withdrew, by place. They decide about nothing, so no later message walks over them. */
  const withdrawn = new Map<number, Entry<Reading>>()
  const intervals = new Map<number, ReachedInterval<Reading>>()
  const failures = new Map<bigint, RegisterFailure<Reading>>()
  /** Index from which on readings decide about later ones: -1 before the first message, null if it is to be found. */
  let tailStart: number | null = -1
  return {
    add: message => {
      const sorted = sortMessage(message)
      const isLater = (sorted[0] as Reading).time > (entries.at(-1)?.time ?? Number.POSITIVE_INFINITY)
      const start = isLater ? (tailStart ?? startOfTail(rule, entries, 0)) : -1
      const base = entries[start]
      const known = base !== undefined && isBase(base) ? start : -1
      const arrived = insertAll(entries, withdrawn, sorted)
      const { missingAfter, touched } = walkRegister(rule, entries, arrived, known)
      if (missingAfter.size > 0) return missingAfter
      const arrivals = highestVersions(arrived.map(index => (entries[index] as Entry<Reading>).reading))
      const changed = [...(touched as ReadonlySet<Entry<Reading>>)].sort((a, b) => placeOf(a) - placeOf(b))
      for (const entry of changed) settle(entry, arrivals)
      for (const interval of intervalsOf(entries, changed, arrivals)) {
        const { time } = interval.opening
        intervals.set(time, joinIntervals(intervals.get(time), interval))
      }
      for (const { reading, refusal } of changed)
        if (refusal !== null) failures.set(reading.sourceVersion, { reading, refusal })
      for (const entry of changed) forgetWalk(entry)
      if (sorted.some(({ value }) => value === null)) moveWithdrawn(entries, withdrawn, arrived[0] as number)
      tailStart = isLater ? startOfTail(rule, entries, Math.max(known, 0)) : null
      return missingAfter
    },
    update: () => ({
      readings: changedReadings(entries, withdrawn),
      intervals: [...intervals.values()].sort((a, b) => a.opening.time - b.opening.time).map(intervalOf),
      failures: [...failures.values()],
      tail: entries
        .slice(tailStart ?? startOfTail(rule, entries, 0))
        .flatMap(({ reading }) => (reading.value === null ? [] : [reading])),
    }),
  }
}

/** A reading in the walks of a register. `isChanged`: it arrived and is valid, or a walk decided otherwise about it. */
type Entry<Reading> = RegisterEntry & { reading: Reading; isChanged: boolean }

const entryOf = <Reading extends RegisterReading>(
  reading: Reading,
  hasGapAfter: boolean,
  isChanged: boolean,
): Entry<Reading> => ({
  time: reading.time,
  isRestart: reading.isRestart,
  value: reading.value,
  isDoubtful: reading.isDoubtful,
  hasArrived: false,
  hasGapAfter,
  refusal: null,
  closing: null,
  reachedUntil: null,
  reading,
  isChanged,
})

/** A place in the order of the readings of a register, as a number. */
const placeOf = ({ time, isRestart }: ReadingValue): number => time * 2 + Number(isRestart)

const entriesOf = <Reading extends RegisterReading>({
  readings,
  gapsAfter,
}: StoredReadings<Reading>): Entry<Reading>[] => {
  const gaps = new Set([...gapsAfter].map(placeOf))
  const byPlace = new Map(readings.map(reading => [placeOf(reading), reading]))
  return [...byPlace].sort(([a], [b]) => a - b).map(([place, reading]) => entryOf(reading, gaps.has(place), false))
}

/** Return the valid readings of a message, by place. */
const sortMessage = <Reading extends RegisterReading>(message: readonly Reading[]): readonly Reading[] => {
  if (message.length === 1) return message
  const valid = new Map<number, Reading>()
  for (const reading of message) {
    const place = placeOf(reading)
    const existing = valid.get(place)
    if (existing === undefined || existing.sourceVersion <= reading.sourceVersion) valid.set(place, reading)
  }
  return [...valid].sort(([a], [b]) => a - b).map(([, reading]) => reading)
}

/** Insert the readings of a message. Returns the indexes of their places, also where a stored reading is newer. */
const insertAll = <Reading extends RegisterReading>(
  entries: Entry<Reading>[],
  withdrawn: Map<number, Entry<Reading>>,
  message: readonly Reading[],
): readonly number[] => {
  const first = placeOf(message[0] as Reading)
  const later = entries.splice(firstIndex(entries.length, i => placeOf(entries[i] as Entry<Reading>) >= first))
  const arrived: number[] = []
  let next = 0
  for (const reading of message) {
    const place = placeOf(reading)
    let entry = later[next]
    for (; entry !== undefined && placeOf(entry) < place; entry = later[next]) {
      entries.push(entry)
      next += 1
    }
    const isKnown = entry !== undefined && placeOf(entry) === place
    if (isKnown) next += 1
    const existing = isKnown ? entry : withdrawn.get(place)
    withdrawn.delete(place)
    const valid =
      existing !== undefined && existing.reading.sourceVersion > reading.sourceVersion
        ? existing
        : entryOf(reading, existing?.hasGapAfter ?? false, true)
    valid.hasArrived = true
    arrived.push(entries.length)
    entries.push(valid)
  }
  for (; next < later.length; next += 1) entries.push(later[next] as Entry<Reading>)
  return arrived
}

/** Move the withdrawn readings from an index on out of the entries. One before a gap stays, to mark the gap. */
const moveWithdrawn = <Reading extends RegisterReading>(
  entries: Entry<Reading>[],
  withdrawn: Map<number, Entry<Reading>>,
  from: number,
): void => {
  for (const entry of entries.splice(from)) {
    if (entry.value === null && !entry.hasGapAfter) withdrawn.set(placeOf(entry), entry)
    else entries.push(entry)
  }
}

/** Return the readings that the messages changed, by place. */
const changedReadings = <Reading extends RegisterReading>(
  entries: readonly Entry<Reading>[],
  withdrawn: ReadonlyMap<number, Entry<Reading>>,
): readonly Reading[] => {
  const changed = entries.filter(({ isChanged }) => isChanged)
  for (const entry of withdrawn.values()) changed.push(entry)
  return changed.sort((a, b) => placeOf(a) - placeOf(b)).map(({ reading }) => reading)
}

/** Take over the decision of a walk about a reading. */
const settle = <Reading extends RegisterReading>(entry: Entry<Reading>, arrivals: Versions): void => {
  const { reading, isDoubtful } = entry
  if (isDoubtful === reading.isDoubtful) return
  entry.reading = { ...reading, isDoubtful, version: highestVersions([reading, arrivals]).version }
  entry.isChanged = true
}

/** Forget what a walk noted for its message alone. */
const forgetWalk = (entry: RegisterEntry): void => {
  entry.hasArrived = false
  entry.refusal = null
  entry.closing = null
  entry.reachedUntil = null
}

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
  opening,
  consumption,
  until,
  version,
  sourceVersion,
}: ReachedInterval<Reading>): RegisterInterval<Reading> => ({
  opening,
  consumption,
  end: consumption?.closing.time ?? until,
  version,
  sourceVersion,
})

const highestVersions = (all: readonly Versions[]): Versions => {
  let [version, sourceVersion] = [0n, 0n]
  for (const one of all) {
    if (one.version > version) version = one.version
    if (one.sourceVersion > sourceVersion) sourceVersion = one.sourceVersion
  }
  return { version, sourceVersion }
}

/**
 * Return the intervals of the changed entries that were reached, one for each time. Of two readings of a time, the later
 * one opens it. Takes the changed entries by time.
 */
const intervalsOf = <Reading extends RegisterReading>(
  entries: readonly Entry<Reading>[],
  changed: readonly RegisterEntry[],
  arrivals: Versions,
): readonly ReachedInterval<Reading>[] => {
  const until = new Map<number, RegisterEntry>()
  for (const { time, reachedUntil } of changed) if (reachedUntil !== null) until.set(time, reachedUntil)
  return [...until].map(([time, last]): ReachedInterval<Reading> => {
    const first = firstIndex(entries.length, index => (entries[index] as RegisterEntry).time >= time)
    const atTime = entries.slice(first, first + 2).filter(entry => entry.time === time)
    const opening = (atTime.findLast(entry => entry.closing !== null) ??
      atTime.findLast(entry => entry.value !== null) ??
      atTime.at(-1)) as Entry<Reading>
    const closing = opening.closing === null ? null : (opening.closing.entry as Entry<Reading>).reading
    const decisive: Versions[] = atTime.map(({ reading }) => reading)
    decisive.push(closing ?? arrivals, arrivals)
    const { version, sourceVersion } = highestVersions(decisive)
    return {
      opening: opening.reading,
      consumption: closing === null ? null : { closing, energy: opening.closing?.energy ?? 0n },
      until: lastTimeUntil(entries, Math.min(last.time, time + maxRecordMs)),
      version,
      sourceVersion,
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
 * can still be a dip, else the last base. It is not before `from`. Returns the end if readings are missing.
 */
const startOfTail = (rule: RegisterRule | null, entries: readonly RegisterEntry[], from: number): number => {
  const end = entries.length
  const last = entries.at(-1)
  if (last === undefined) return end
  const start = lastBaseBefore(rule, entries, end, last.time, from)
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
