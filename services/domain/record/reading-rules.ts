import { dayMs } from '../interval.ts'
import type { Energy } from '../quantity.ts'
import { type Refusal, refused } from '../refusal.ts'
import type { MeterRecord } from './record.ts'
import { maxRecordMs } from './validate-record.ts'

/**
 * Properties of a register. LIFETIME only counts up over its whole life; SESSION begins again at each session.
 * `digits`: digits before the decimal point in kWh, 1 … 9, after which a LIFETIME register continues at 0.
 * `maxPower`: highest mean power in 1e-6 W between two readings. Null members are unknown.
 */
export type RegisterRule = {
  readonly kind: 'LIFETIME' | 'SESSION'
  readonly digits: number | null
  readonly maxPower: bigint | null
}

/** `RegisterRule` as its owner sets it: the maximum power in digits of 1e-6 W, with the units of the request. */
export type RegisterProperties = Omit<RegisterRule, 'maxPower'> & {
  readonly maxPower: { readonly units: 'W' | 'KW'; readonly power: string } | null
}

/** Return the rule of a register with some properties. */
export const registerRuleOf = ({ kind, digits, maxPower }: RegisterProperties): RegisterRule => ({
  kind,
  digits,
  maxPower: maxPower === null ? null : BigInt(maxPower.power),
})

/** Reading of a register as the rules see it: `value` in 1e-6 Wh, null if withdrawn; `time` in ms. */
export type ReadingValue = { readonly time: number; readonly isRestart: boolean; readonly value: Energy | null }

/** A reading that counts: it has a value. */
export type ActiveReading<Reading extends ReadingValue> = Reading & { readonly value: Energy }

/**
 * State of a register after a reading. `base` opens the next interval; null before the first reading. `suspect` came
 * after `base` at an implausible power; it opens the next interval if the next reading continues it. `leftOut`: number
 * of readings after `base`, all of which are left out as a base.
 */
export type RegisterState<Reading extends ReadingValue> = {
  readonly base: ActiveReading<Reading> | null
  readonly suspect: ActiveReading<Reading> | null
  readonly leftOut: number
}

/**
 * Result of the rules for one reading. `opening` with `energy`: the interval that the reading closes. A doubtful
 * reading can be left out by a later reading: a dip, an implausible reading, or one above the range of the register.
 */
export type ReadingResult<Reading extends ReadingValue> = {
  readonly state: RegisterState<Reading>
  readonly opening: ActiveReading<Reading> | null
  readonly energy: Energy
  readonly refusal: Refusal | null
  readonly isDoubtful: boolean
}

/** Time in ms after a reading in which a higher reading proves that the reading is a dip. */
export const dipMs: number = dayMs
/** Maximum number of readings in a row that are left out as a base. The last one is a base again. */
export const maxLeftOut = 1_000
/** 10 MW in 1e-6 W: the highest plausible power of a register without `maxPower`. */
export const defaultMaxPower = 10_000_000_000_000n
/** 1 kWh in 1e-6 Wh. */
const kilowattHour = 1_000_000_000n
const hourMs = 3_600_000n

const tooLong = refused(
  'interval_too_long',
  'time must be at most 366 days after that of the reading before it',
  'time',
).refusal
const decreased = refused(
  'register_decreased',
  'value is below the reading before it, so no energy counts up to it. Correct it, or send restart: true for a new meter',
  'value',
).refusal
const dip = refused(
  'register_dip',
  'value is below an earlier reading, and a reading within 24 hours after it is not. The reading is left out',
  'value',
).refusal

const implausible = (maxPower: bigint): Refusal =>
  refused(
    'implausible_energy',
    `value must not need a mean power above ${maxPower / 1_000_000n} W since the reading before it. Correct it, withdraw it, or set a higher max_power`,
    'value',
  ).refusal

/** Return whether an energy (1e-6 Wh) in a time (ms) needs at most `maxPower` (1e-6 W). */
export const isPlausible = (energy: Energy, ms: number, maxPower: bigint): boolean =>
  energy * hourMs <= maxPower * BigInt(ms)

/**
 * Return the reason why a record needs more power than its register allows; null if it does not. An impulse has no
 * power, and a register without `maxPower` has no limit.
 * Source: docs/rules/metering.md #registers-of-devices-and-locations.
 */
export const refusePower = (
  rule: RegisterRule | null,
  { start, end, energy }: Pick<MeterRecord, 'start' | 'end' | 'energy'>,
): Refusal | null => {
  const maxPower = rule?.maxPower ?? null
  if (maxPower === null || end === start || isPlausible(energy, end - start, maxPower)) return null
  return refused(
    'implausible_energy',
    `value must not need a mean power above ${maxPower / 1_000_000n} W. Correct it, or set a higher max_power of its device or location`,
    'value',
  ).refusal
}

/** Return the range of a register in 1e-6 Wh, after which it continues at 0; null if it is unknown. */
export const rangeOf = (rule: RegisterRule | null): Energy | null =>
  rule?.kind === 'LIFETIME' && rule.digits !== null ? 10n ** BigInt(rule.digits) * kilowattHour : null

/** Return the state after a reading that is a base. */
export const stateAfterBase = <Reading extends ReadingValue>(
  base: ActiveReading<Reading> | null,
): RegisterState<Reading> => ({ base, suspect: null, leftOut: 0 })

/** Return the state after a reading that is left out as a base: a suspect one, if it is no dip and inside the range. */
export const stateAfterLeftOut = <Reading extends ReadingValue>(
  rule: RegisterRule | null,
  { base, suspect, leftOut }: RegisterState<Reading>,
  reading: ActiveReading<Reading>,
): RegisterState<Reading> => {
  const range = rangeOf(rule)
  const isSuspect = base !== null && reading.value >= base.value && (range === null || reading.value < range)
  return { base, suspect: isSuspect ? reading : suspect, leftOut: leftOut + 1 }
}

/**
 * Apply the rules to a reading with a value, after all readings before it. `isFollowed` returns whether a reading
 * within 24 h after it, of the same meter, is at or above a value and inside the range of the register.
 * Law: the result depends only on the readings in the order of time, never on their arrival.
 * Source: docs/rules/metering.md #register-readings.
 */
export const applyReading = <Reading extends ReadingValue>(
  rule: RegisterRule | null,
  state: RegisterState<Reading>,
  reading: ActiveReading<Reading>,
  isFollowed: (value: Energy) => boolean,
): ReadingResult<Reading> => {
  const { base, suspect } = state
  const opens = (refusal: Refusal | null): ReadingResult<Reading> => ({
    state: stateAfterBase(reading),
    opening: null,
    energy: 0n,
    refusal,
    isDoubtful: false,
  })
  const leftOut = (refusal: Refusal): ReadingResult<Reading> =>
    state.leftOut + 1 >= maxLeftOut
      ? opens(refusal)
      : {
          state: stateAfterLeftOut(rule, state, reading),
          opening: null,
          energy: 0n,
          refusal,
          isDoubtful: true,
        }
  const closes = (opening: ActiveReading<Reading>, energy: Energy): ReadingResult<Reading> =>
    reading.time - opening.time > maxRecordMs ? opens(tooLong) : { ...opens(null), opening, energy }
  const maxPower = rule?.maxPower ?? defaultMaxPower
  const rises = (opening: ActiveReading<Reading>, energy: Energy): boolean =>
    isPlausible(energy, reading.time - opening.time, maxPower)

  const range = rangeOf(rule)
  if (range !== null && reading.value >= range) return leftOut(aboveRange(range))
  if (reading.isRestart || base === null) return opens(null)
  if (reading.value < base.value) {
    if (rule?.kind === 'SESSION') return opens(null)
    if (rule?.kind === 'LIFETIME' && isFollowed(base.value)) return leftOut(dip)
    if (range !== null && base.value < range && base.value * 2n >= range && reading.value * 2n < range) {
      const energy = range - base.value + reading.value
      if (rises(base, energy)) return closes(base, energy)
    }
    return opens(decreased)
  }
  const opening = suspect !== null && reading.value >= suspect.value ? suspect : base
  const energy = reading.value - opening.value
  return rises(opening, energy) ? closes(opening, energy) : leftOut(implausible(maxPower))
}

const aboveRange = (range: Energy): Refusal =>
  refused('value_out_of_range', `value must be below ${range / kilowattHour} kWh, the range of the register`, 'value')
    .refusal
