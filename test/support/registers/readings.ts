import type { RegisterRule } from '../../../services/domain/record/reading-rules.ts'
import {
  openRegister,
  type RegisterReading,
  type RegisterUpdate,
  type StoredReadings,
} from '../../../services/domain/record/register.ts'

/** 1 h in ms. */
export const hourMs = 3_600_000

/** A reading that names the batch it came with. */
export type Reading = RegisterReading & { readonly batch: number }

/** 2 MWh in 1e-6 Wh: the default limit of 10 MW allows five of them in an hour. */
export const unit = 2_000_000_000_000n
/** 1,000,000 kWh are 500 units. */
const sixDigits = 6

/** Create a reading of `value` units; null withdraws the reading. `arrival` is its version and its batch. */
export const readingOf = (time: number, value: number | null, arrival: number, isRestart = false): Reading => ({
  time,
  isRestart,
  value: value === null ? null : BigInt(value) * unit,
  isDoubtful: false,
  version: BigInt(arrival),
  sourceVersion: BigInt(arrival),
  batch: arrival,
})

export const lifetime: RegisterRule = { kind: 'LIFETIME', digits: null, maxPower: null }
/** A register with a range of 500 units. */
export const rolling: RegisterRule = { ...lifetime, digits: sixDigits }
export const session: RegisterRule = { ...lifetime, kind: 'SESSION' }

/** Add messages to a register. Returns null if it needs readings that `stored` leaves out. */
export const updateRegister = <One extends RegisterReading>(
  rule: RegisterRule | null,
  stored: StoredReadings<One>,
  messages: readonly (readonly One[])[],
): RegisterUpdate<One> | null => {
  const register = openRegister(rule, stored)
  return messages.every(message => register.add(message).size === 0) ? register.update() : null
}
