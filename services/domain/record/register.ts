import type { Energy } from '../quantity.ts'
import { type Refusal, refused } from '../refusal.ts'
import { maxRecordMs } from './validate-record.ts'

/**
 * Value of a register (1e-6 Wh) at an instant (ms). Of readings with the same time, the highest `sourceVersion` is
 * valid.
 * `version` is the version of the partition message that contains the reading. It is never below `sourceVersion`.
 */
export type RegisterReading = {
  readonly time: number
  readonly value: Energy
  readonly version: bigint
  readonly sourceVersion: bigint
}

/**
 * Current interval from one reading (`opening`) to the next. `consumption` is null if there is no valid interval; a
 * stored one is then withdrawn.
 * `end` is the end of the interval. For a withdrawn interval it is the time of the next reading: the stored interval
 * cannot end later.
 * The versions are the higher ones of both readings.
 */
export type RegisterInterval<Reading> = {
  readonly opening: Reading
  readonly consumption: { readonly closing: Reading; readonly energy: Energy } | null
  readonly end: number
  readonly version: bigint
  readonly sourceVersion: bigint
}

/** Reading that cannot close an interval with the reading before it. */
export type RegisterFailure<Reading> = { readonly closing: Reading; readonly refusal: Refusal }

export type RegisterUpdate<Reading> = {
  /** Arrived readings that are valid, by time. */
  readonly readings: readonly Reading[]
  /** Intervals that open at the time of an arrived reading or at the reading before it, by time. */
  readonly intervals: readonly RegisterInterval<Reading>[]
  /** Each refused reading once, with its latest refusal. */
  readonly failures: readonly RegisterFailure<Reading>[]
}

/**
 * Add readings to one register, in the order of arrival in the partition.
 * For the time of each arrived reading, `storedReadings` contains the stored reading at that time and the nearest
 * readings before and after. Further readings are allowed.
 * Intervals join neighbours in time: the energy is their difference, and no interval is longer than 366 days. A reading
 * below the one before it is refused but is still the base of the next interval.
 * Law: the intervals depend on all readings together, in any order of arrival and any division into steps. Failures
 * depend on the order of arrival.
 * Source: docs/rules/metering.md #register-readings.
 */
export const updateRegister = <Reading extends RegisterReading>(
  storedReadings: readonly Reading[],
  arrivedReadings: readonly Reading[],
): RegisterUpdate<Reading> => {
  const readings = storedReadings.toSorted((a, b) => a.time - b.time)
  const failures = new Map<Reading, Refusal>()
  for (const reading of arrivedReadings) {
    const index = firstIndexFrom(readings, reading.time)
    const existing = readings[index]
    const isReplacement = existing !== undefined && existing.time === reading.time
    if (isReplacement && existing.sourceVersion > reading.sourceVersion) continue
    readings.splice(index, isReplacement ? 1 : 0, reading)
    for (const closing of [reading, readings[index + 1]]) {
      const opening = closing === reading ? readings[index - 1] : reading
      const refusal = opening === undefined || closing === undefined ? null : refusePair(opening, closing)
      if (closing !== undefined && refusal !== null) failures.set(closing, refusal)
    }
  }
  return {
    ...stateAt(readings, arrivedReadings),
    failures: [...failures].map(([closing, refusal]) => ({ closing, refusal })),
  }
}

/** Return the valid readings and the intervals at the times of the arrived readings. */
const stateAt = <Reading extends RegisterReading>(
  readings: readonly Reading[],
  arrivedReadings: readonly Reading[],
): Pick<RegisterUpdate<Reading>, 'readings' | 'intervals'> => {
  const newReadings = new Set(arrivedReadings)
  const indexes = [...new Set(arrivedReadings.map(({ time }) => time))]
    .sort((a, b) => a - b)
    .map(time => firstIndexFrom(readings, time))
  const openings = new Set(indexes.flatMap(index => [index - 1, index]))
  return {
    readings: indexes.flatMap(index => readings[index] ?? []).filter(reading => newReadings.has(reading)),
    intervals: [...openings].flatMap(index => {
      const opening = readings[index]
      return opening === undefined ? [] : [intervalOf(opening, readings[index + 1])]
    }),
  }
}

const intervalOf = <Reading extends RegisterReading>(
  opening: Reading,
  closing: Reading | undefined,
): RegisterInterval<Reading> => {
  const { version, sourceVersion } = opening
  if (closing === undefined) return { opening, consumption: null, end: opening.time, version, sourceVersion }
  return {
    opening,
    consumption: refusePair(opening, closing) === null ? { closing, energy: closing.value - opening.value } : null,
    end: isTooLong(opening, closing) ? opening.time : closing.time,
    version: maxVersion(version, closing.version),
    sourceVersion: maxVersion(sourceVersion, closing.sourceVersion),
  }
}

/** Return the reason why two neighbours have no interval; null if they have one. */
const refusePair = (opening: RegisterReading, closing: RegisterReading): Refusal | null => {
  if (closing.value < opening.value) {
    return refused('register_decreased', 'value must not be below that of the reading before it', 'value').refusal
  }
  if (!isTooLong(opening, closing)) return null
  return refused('interval_too_long', 'time must be at most 366 days after that of the reading before it', 'time')
    .refusal
}

/** Two readings that are further apart can never have had an interval between them. */
const isTooLong = (opening: RegisterReading, closing: RegisterReading): boolean =>
  closing.time - opening.time > maxRecordMs

const maxVersion = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** Return the index of the first reading at or after `time`. */
const firstIndexFrom = (readings: readonly RegisterReading[], time: number): number => {
  let [low, high] = [0, readings.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((readings[middle] as RegisterReading).time < time) low = middle + 1
    else high = middle
  }
  return low
}
