import type { Energy } from '../quantity.ts'
import { type Refusal, refused } from '../refusal.ts'
import { longestRecordMs } from './check-record.ts'

/**
 * What a register showed at an instant (ms), in 1e-6 Wh. `sourceVersion` orders readings of one instant: the higher one holds.
 * `version` is that of the message which brought it into the lane, and never below `sourceVersion`.
 */
export type RegisterReading = { readonly time: number; readonly value: Energy; readonly version: bigint; readonly sourceVersion: bigint }

/**
 * The interval that a reading opens, as it stands now. `metered` null: there is none, and one that is stored is withdrawn.
 * `end`: that of the interval; of one that is withdrawn how far it can have reached, which is where the next reading is.
 * The versions are the higher ones of both ends.
 */
export type RegisterInterval<Reading> = {
  readonly opening: Reading
  readonly metered: { readonly closing: Reading; readonly energy: Energy } | null
  readonly end: number
  readonly version: bigint
  readonly sourceVersion: bigint
}

/** A reading that cannot close an interval with the one before it. */
export type RegisterFailure<Reading> = { readonly closing: Reading; readonly refusal: Refusal }

export type SettledRegister<Reading> = {
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
export const settleRegister = <Reading extends RegisterReading>(
  stored: readonly Reading[],
  arrived: readonly Reading[],
): SettledRegister<Reading> => {
  const all = stored.toSorted((a, b) => a.time - b.time)
  const failures = new Map<Reading, Refusal>()
  for (const reading of arrived) {
    const place = placeOf(all, reading.time)
    const known = all[place]
    const isKnown = known !== undefined && known.time === reading.time
    if (isKnown && known.sourceVersion > reading.sourceVersion) continue
    all.splice(place, isKnown ? 1 : 0, reading)
    for (const closing of [reading, all[place + 1]]) {
      const opening = closing === reading ? all[place - 1] : reading
      const refusal = opening === undefined || closing === undefined ? null : refusePair(opening, closing)
      if (closing !== undefined && refusal !== null) failures.set(closing, refusal)
    }
  }
  return {
    ...standingAt(all, arrived),
    failures: [...failures].map(([closing, refusal]) => ({ closing, refusal })),
  }
}

/** What stands in the end at the instants of some readings. */
const standingAt = <Reading extends RegisterReading>(
  all: readonly Reading[],
  arrived: readonly Reading[],
): Pick<SettledRegister<Reading>, 'readings' | 'intervals'> => {
  const isNew = new Set(arrived)
  const places = [...new Set(arrived.map(({ time }) => time))].sort((a, b) => a - b).map(time => placeOf(all, time))
  const openings = new Set(places.flatMap(place => [place - 1, place]))
  return {
    readings: places.flatMap(place => all[place] ?? []).filter(reading => isNew.has(reading)),
    intervals: [...openings].flatMap(place => {
      const opening = all[place]
      return opening === undefined ? [] : [intervalOf(opening, all[place + 1])]
    }),
  }
}

const intervalOf = <Reading extends RegisterReading>(opening: Reading, closing: Reading | undefined): RegisterInterval<Reading> => {
  const { version, sourceVersion } = opening
  if (closing === undefined) return { opening, metered: null, end: opening.time, version, sourceVersion }
  return {
    opening,
    metered: refusePair(opening, closing) === null ? { closing, energy: closing.value - opening.value } : null,
    end: isTooLong(opening, closing) ? opening.time : closing.time,
    version: higher(version, closing.version),
    sourceVersion: higher(sourceVersion, closing.sourceVersion),
  }
}

/** Tell why there is no interval between two neighbours; null where there is one. */
const refusePair = (opening: RegisterReading, closing: RegisterReading): Refusal | null => {
  if (closing.value < opening.value) {
    return refused('register_decreased', 'value must not be below that of the reading before it', 'value').refusal
  }
  if (!isTooLong(opening, closing)) return null
  return refused('interval_too_long', 'time must be at most 366 days after that of the reading before it', 'time').refusal
}

/** Two readings so far apart have never been neighbours with an interval between them. */
const isTooLong = (opening: RegisterReading, closing: RegisterReading): boolean => closing.time - opening.time > longestRecordMs

const higher = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** The place of the first reading that is not before `time`. */
const placeOf = (all: readonly RegisterReading[], time: number): number => {
  let [low, high] = [0, all.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((all[middle] as RegisterReading).time < time) low = middle + 1
    else high = middle
  }
  return low
}
