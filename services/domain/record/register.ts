import type { Energy } from '../quantity.ts'
import type { Refusal } from '../refusal.ts'
import { type ActiveReading, applyReading, dipMs, type RegisterRule, type RegisterState } from './reading-rules.ts'
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
 * The versions are the highest ones of both readings and of the arrived readings that decided about the interval.
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
  /** Readings that decide about readings after the last one, by time; none if readings are missing among them. */
  readonly tail: readonly Reading[]
}

type Versions = { readonly version: bigint; readonly sourceVersion: bigint }

/** Readings of a register by time, the readings that close intervals, and the arrivals that reached each reading. */
type Register<Reading extends RegisterReading> = {
  readonly rule: RegisterRule | null
  readonly readings: Reading[]
  readonly gapsAfter: Set<Reading>
  /** Closing reading and energy by opening reading. */
  readonly consumptions: Map<Reading, { readonly closing: Reading; readonly energy: Energy }>
  readonly failures: Map<Reading, Refusal>
  /** By the time of a reading: highest versions of the arrivals that reached it, and the last time that they reached. */
  readonly reached: Map<number, Versions & { readonly last: number }>
  /** Arrived readings, and stored readings that changed. */
  readonly changed: Set<Reading>
  /** True if a stored reading is missing. */
  isIncomplete: boolean
}

/**
 * Add readings to one register, in the order of arrival in the partition. Returns null if readings are missing that
 * `stored` leaves out.
 * For the time of each arrived reading, `stored` contains the stored readings at that time, and the nearest readings
 * before and after. A register of kind LIFETIME also needs those within 24 h before and after. Further readings are
 * allowed.
 * Law: the intervals depend on all readings together, in any order of arrival and any division into steps. Failures
 * depend on the order of arrival.
 * Source: docs/rules/metering.md #register-readings.
 */
export const updateRegister = <Reading extends RegisterReading>(
  rule: RegisterRule | null,
  stored: StoredReadings<Reading>,
  arrivedReadings: readonly Reading[],
): RegisterUpdate<Reading> | null => {
  const register: Register<Reading> = {
    ...{ rule, readings: stored.readings.toSorted(inOrder), gapsAfter: new Set(stored.gapsAfter), isIncomplete: false },
    ...{ consumptions: new Map(), failures: new Map(), reached: new Map(), changed: new Set() },
  }
  for (const reading of arrivedReadings) addReading(register, reading)
  if (register.isIncomplete) return null
  const { readings, changed, failures, reached } = register
  return {
    readings: readings.filter(reading => changed.has(reading)),
    intervals: [...reached.keys()].sort((a, b) => a - b).map(time => intervalAt(register, time)),
    failures: [...failures].map(([reading, refusal]) => ({ reading, refusal })),
    tail: tailOf(register),
  }
}

const inOrder = (a: RegisterReading, b: RegisterReading): number =>
  a.time - b.time || Number(a.isRestart) - Number(b.isRestart)

/** Return whether the readings after this one depend on no reading before it. */
const isSettled = <Reading extends RegisterReading>(reading: Reading | undefined): reading is ActiveReading<Reading> =>
  reading !== undefined && reading.value !== null && !reading.isDoubtful

const addReading = <Reading extends RegisterReading>(register: Register<Reading>, arrived: Reading): void => {
  const { readings, changed } = register
  const index = firstIndexFrom(readings, arrived)
  const existing = readings[index]
  const isReplacement = existing !== undefined && inOrder(existing, arrived) === 0
  if (isReplacement && existing.sourceVersion > arrived.sourceVersion) {
    // The rows of this place may not be stored yet: the message can be a repeat after a crash.
    settle(register, startOfDoubt(register, index, existing.time, null), existing)
    return
  }
  readings.splice(index, isReplacement ? 1 : 0, arrived)
  if (isReplacement) replace(register, existing, arrived)
  changed.add(arrived)
  const isPlain = !isReplacement && !arrived.isRestart
  settle(register, startOfDoubt(register, index, arrived.time, isPlain ? arrived.value : null), arrived)
}

/** Let `after` take the place of `before` among gaps, changes and failures. */
const replace = <Reading extends RegisterReading>(
  { gapsAfter, changed, consumptions }: Register<Reading>,
  before: Reading,
  after: Reading,
): void => {
  changed.delete(before)
  consumptions.delete(before)
  if (gapsAfter.delete(before)) gapsAfter.add(after)
}

/** Note that an arrival has reached the readings of some times, up to `last`. */
const reach = <Reading extends RegisterReading>(
  { reached }: Register<Reading>,
  times: readonly number[],
  last: number,
  { version, sourceVersion }: Versions,
): void => {
  for (const time of times) {
    const earlier = reached.get(time)
    reached.set(time, {
      version: maxVersion(earlier?.version ?? 0n, version),
      sourceVersion: maxVersion(earlier?.sourceVersion ?? 0n, sourceVersion),
      last: Math.max(earlier?.last ?? last, last),
    })
  }
}

/**
 * Return the index of the last settled reading before an index; -1 if the register has none. Marks the register as
 * incomplete if that reading can be missing.
 */
const lastSettledBefore = <Reading extends RegisterReading>(register: Register<Reading>, index: number): number => {
  const { readings, gapsAfter } = register
  for (let i = index - 1; i >= 0; i -= 1) {
    const reading = readings[i] as Reading
    if (gapsAfter.has(reading)) register.isIncomplete = true
    if (isSettled(reading)) return i
  }
  return -1
}

/**
 * Return the index of the settled reading from which an arrival at `index` and `time` can change the state. `value`:
 * value of a new reading that is no restart; it can only turn an earlier fall from at most that value into a dip. Null:
 * the arrival can change each fall and each dip of the last 24 h.
 */
const startOfDoubt = <Reading extends RegisterReading>(
  register: Register<Reading>,
  index: number,
  time: number,
  value: Energy | null,
): number => {
  const { rule, readings } = register
  let start = lastSettledBefore(register, index)
  if (rule?.kind !== 'LIFETIME') return start
  for (let i = index - 1; i >= 0 && (readings[i] as Reading).time >= time - dipMs; i -= 1) {
    const reading = readings[i] as Reading
    if (reading.value === null || reading.isRestart) continue
    const baseIndex = lastSettledBefore(register, i)
    const base = readings[baseIndex]
    if (!isSettled(base) || reading.value >= base.value) continue
    if (value === null || (!reading.isDoubtful && base.value <= value)) start = baseIndex
  }
  return start
}

/**
 * Apply the rules to the readings after `start` until the state is that of the stored readings again, at a settled
 * reading after `arrived`.
 */
const settle = <Reading extends RegisterReading>(
  register: Register<Reading>,
  start: number,
  arrived: Reading,
): void => {
  const { rule, readings, gapsAfter, consumptions } = register
  const opening = readings[start]
  let state: RegisterState<Reading> = { base: isSettled(opening) ? opening : null, suspect: null }
  const times = opening === undefined ? [] : [opening.time]
  if (opening !== undefined) consumptions.delete(opening)
  for (let i = start + 1; i < readings.length; i += 1) {
    const reading = readings[i] as Reading
    if (reading.value !== null) {
      const wasSettled = isSettled(reading)
      const result = applyReading(rule, state, reading as ActiveReading<Reading>, (value, range) =>
        isFollowed(register, i, value, range),
      )
      if (result.refusal !== null) register.failures.set(reading, result.refusal)
      const current = mark(register, i, result.isDoubtful, arrived) as ActiveReading<Reading>
      if (result.opening !== null) consumptions.set(result.opening, { closing: current, energy: result.energy })
      const isAfter = current.time > Math.max(arrived.time, times.at(-1) ?? arrived.time)
      if (wasSettled && isSettled(current) && isAfter) {
        reach(register, times, current.time, arrived)
        return
      }
      const { base, suspect } = result.state
      state = { base: base === reading ? current : base, suspect: suspect === reading ? current : suspect }
    }
    const current = readings[i] as Reading
    consumptions.delete(current)
    times.push(current.time)
    if (gapsAfter.has(current)) {
      register.isIncomplete = true
      return
    }
  }
  reach(register, times, times.at(-1) ?? arrived.time, arrived)
}

/** Store the doubt about the reading at an index. Returns the reading, a new one if its doubt changes. */
const mark = <Reading extends RegisterReading>(
  register: Register<Reading>,
  index: number,
  isDoubtful: boolean,
  arrived: Reading,
): Reading => {
  const { readings, changed, failures } = register
  const before = readings[index] as Reading
  if (before.isDoubtful === isDoubtful) return before
  const after = { ...before, isDoubtful, version: maxVersion(before.version, arrived.version) }
  readings[index] = after
  replace(register, before, after)
  changed.add(after)
  const refusal = failures.get(before)
  failures.delete(before)
  if (refusal !== undefined) failures.set(after, refusal)
  return after
}

/** Return whether a reading of the same meter, within 24 h after the reading at `index`, is in [value, range). */
const isFollowed = <Reading extends RegisterReading>(
  register: Register<Reading>,
  index: number,
  value: Energy,
  range: Energy | null,
): boolean => {
  const { readings, gapsAfter } = register
  const until = (readings[index] as Reading).time + dipMs
  for (let i = index; i + 1 < readings.length; i += 1) {
    const next = readings[i + 1] as Reading
    if (gapsAfter.has(readings[i] as Reading)) register.isIncomplete = true
    if (next.time > until) return false
    if (next.value === null || (range !== null && next.value >= range)) continue
    if (next.isRestart) return false
    if (next.value >= value) return true
  }
  if (gapsAfter.has(readings.at(-1) as Reading)) register.isIncomplete = true
  return false
}

/** Return the interval that opens at a time. Of two readings of a time, the later one opens it. */
const intervalAt = <Reading extends RegisterReading>(
  { readings, consumptions, reached }: Register<Reading>,
  time: number,
): RegisterInterval<Reading> => {
  const first = firstIndexFrom(readings, { time, isRestart: false })
  const atTime = readings.slice(first, first + 2).filter(reading => reading.time === time)
  const opening = (atTime.findLast(reading => consumptions.has(reading)) ??
    atTime.findLast(({ value }) => value !== null) ??
    atTime.at(-1)) as Reading
  const consumption = consumptions.get(opening) ?? null
  const arrivals = reached.get(time)
  const all = [...atTime, consumption?.closing, arrivals].filter(one => one !== undefined)
  // Each reading that closed a stored interval is still in the list, perhaps withdrawn.
  const latest = Math.min(arrivals?.last ?? time, time + maxRecordMs)
  return {
    opening,
    consumption,
    end:
      consumption?.closing.time ??
      (readings[firstIndexFrom(readings, { time: latest + 1, isRestart: false }) - 1] as Reading).time,
    version: all.map(({ version }) => version).reduce(maxVersion, 0n),
    sourceVersion: all.map(({ sourceVersion }) => sourceVersion).reduce(maxVersion, 0n),
  }
}

const tailOf = <Reading extends RegisterReading>(register: Register<Reading>): readonly Reading[] => {
  const { readings } = register
  const last = readings.at(-1)
  if (last === undefined) return []
  const start = startOfDoubt(register, readings.length, last.time, null)
  return register.isIncomplete ? [] : readings.slice(Math.max(start, 0))
}

const maxVersion = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** Return the index of the first reading at or after a place in the order. */
const firstIndexFrom = (
  readings: readonly RegisterReading[],
  place: Pick<RegisterReading, 'time' | 'isRestart'>,
): number => {
  let [low, high] = [0, readings.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const reading = readings[middle] as RegisterReading
    if ((reading.time - place.time || Number(reading.isRestart) - Number(place.isRestart)) < 0) low = middle + 1
    else high = middle
  }
  return low
}
