import type { Energy } from '../quantity.ts'
import { type Refusal, refused } from '../refusal.ts'
import { maxRecordMs } from './validate-record.ts'

/**
 * What a register showed at an instant (ms), in 1e-6 Wh. `sourceVersion` orders readings of one instant: the higher one holds.
 * `version` is that of the message which brought it into the lane, and never below `sourceVersion`.
 */
export type RegisterReading = {
  readonly time: number
  readonly value: Energy
  readonly version: bigint
  readonly sourceVersion: bigint
}

/**
 * The interval that a reading opens, as it stands now. `metered` null: there is none, and one that is stored is withdrawn.
 * `end`: that of the interval; of one that is withdrawn how far it can have reached, which is where the next reading is.
 * The versions are the higher ones of both ends.
 */
export type RegisterInterval<Reading> = {
  readonly opening: Reading
  readonly consumption: { readonly closing: Reading; readonly energy: Energy } | null
  readonly end: number
  readonly version: bigint
  readonly sourceVersion: bigint
}

/** A reading that cannot close an interval with the one before it. */
export type RegisterFailure<Reading> = { readonly closing: Reading; readonly refusal: Refusal }

export type RegisterUpdate<Reading> = {
  /** Of the readings that arrived those that hold, by time. */
  readonly readings: readonly Reading[]
  /** Of every instant at which one arrived, and of the reading before it; by time. */
  readonly intervals: readonly RegisterInterval<Reading>[]
  /** Each reading once, with what was judged last. */
  readonly failures: readonly RegisterFailure<Reading>[]
}

/**
 * Settle readings of one register as they arrived in its lane.
 * `stored` holds, for the time of each of them, the stored reading at that time and the nearest ones before and after; more do no harm.
 * Intervals join neighbours in time: energy is their difference, and none spans more than 366 days. Each reading, fallen or not, is the
 * base of the next. Intervals are those of all readings together, whatever the order of arrival and however it is cut into steps;
 * failures are judged as each reading arrives. Source: docs/rules/metering.md #register-readings.
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

/** What stands in the end at the instants of some readings. */
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

/** Tell why there is no interval between two neighbours; null where there is one. */
const refusePair = (opening: RegisterReading, closing: RegisterReading): Refusal | null => {
  if (closing.value < opening.value) {
    return refused('register_decreased', 'value must not be below that of the reading before it', 'value').refusal
  }
  if (!isTooLong(opening, closing)) return null
  return refused('interval_too_long', 'time must be at most 366 days after that of the reading before it', 'time')
    .refusal
}

/** Two readings so far apart have never been neighbours with an interval between them. */
const isTooLong = (opening: RegisterReading, closing: RegisterReading): boolean =>
  closing.time - opening.time > maxRecordMs

const maxVersion = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** The place of the first reading that is not before `time`. */
const firstIndexFrom = (readings: readonly RegisterReading[], time: number): number => {
  let [low, high] = [0, readings.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((readings[middle] as RegisterReading).time < time) low = middle + 1
    else high = middle
  }
  return low
}
