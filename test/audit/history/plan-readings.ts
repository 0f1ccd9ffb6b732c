import type { RegisterProperties } from '../../../services/domain/record/reading-rules.ts'
import { decimal } from '../../support/ledger/exact-decimal.ts'
import type { LedgerRecord } from '../../support/ledger/journal.ts'
import type { Random } from '../../support/random.ts'
import type { AuditFixture } from './create-fixture.ts'
import { year } from './plan-tariffs.ts'

/**
 * Register that counts up. At `exchangedAt` it was replaced by a register that started at zero, or it rolled over.
 */
export type Register = Pick<LedgerRecord, 'locationId' | 'deviceId'> & {
  readonly energyFlowDirection: 'INBOUND' | 'OUTBOUND'
  readonly exchangedAt: number
  readonly rule: RegisterProperties | null
}

/**
 * Value of a register at a time. The time is in ms, in whole seconds. The value is a text in the submission's units;
 * null withdraws the reading. `isDip`: the register shows a low value for a moment.
 */
export type Reading = {
  readonly time: number
  readonly isRestart: boolean
  readonly isDip: boolean
  readonly value: string | null
  readonly recordReferenceId: string
  readonly isValid: boolean
}

export type ReadingSubmission = {
  readonly register: Register
  readonly sessionReferenceId: string | null
  readonly units: 'WH' | 'KWH'
  readonly readings: readonly Reading[]
}

/** Consecutive submissions. The later ones correct readings of the same times. */
export type ReadingFamily = readonly ReadingSubmission[]

const dayMs = 86_400_000

/** Reading before its values. `index` counts from the start of its meter. */
type PlannedReading = Omit<Reading, 'value' | 'isValid'> & { readonly index: number; readonly isHigh: boolean }

const tenKilowattHours = 10_000_000_000n
/** More than 10 MW for a year, in 1e-6 Wh. */
const implausible = 900_000_000_000_000_000n
/** A value has at most 17 significant digits, so a high value is a multiple of this energy in 1e-6 Wh. */
const highStep = 1_000n

/**
 * Return a random value for a reading. The value is larger than all possible values of the previous index, so that
 * corrections never make a register fall. Only an exchange of the register, a dip or another high value does.
 */
const valueText = (
  random: Random,
  { index, isDip, isHigh }: PlannedReading,
  start: bigint,
  units: ReadingSubmission['units'],
): string => {
  const digits = BigInt(random.below(10_000_000)) * 1_000n
  const counted = isDip ? digits / 1_000_000n : start + BigInt(index) * tenKilowattHours + digits
  return decimal(isHigh ? implausible + (counted / highStep) * highStep : counted, units === 'WH' ? 6 : 9)
}

const shuffled = <T>(random: Random, all: readonly T[]): readonly T[] =>
  all
    .map(one => [random.below(2 ** 30), one] as const)
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one)

/** Add some invalid readings: a negative value, or a second reading of the same time. */
const corruptReadings = (random: Random, readings: readonly Reading[]): readonly Reading[] =>
  readings.flatMap(reading => {
    if (random.chance(0.01)) return [reading, { ...reading, time: reading.time + 1_000, value: '-1', isValid: false }]
    return random.chance(0.01) ? [reading, { ...reading, value: '1', isValid: false }] : [reading]
  })

/** Plan `count` readings in the order of time. The meter is exchanged, or rolls over, at the index `exchange`. */
const planTimes = (
  random: Random,
  { deviceId, rule }: Omit<Register, 'exchangedAt'>,
  count: number,
  exchange: number,
): readonly PlannedReading[] => {
  const intervalMs = Math.floor((year.end - year.start - 2 * dayMs) / count / 1_000) * 1_000
  const times = Array.from({ length: count }, (_, index) => ({
    index: index < exchange ? index : index - exchange,
    time: year.start + dayMs + index * intervalMs + random.below(intervalMs / 2_000) * 1_000,
    isRestart: false,
    isDip: random.chance(0.05),
    isHigh: index > exchange && random.chance(0.05),
    recordReferenceId: `reading ${index} of ${deviceId}`,
  }))
  // A meter without a range is exchanged by a reading at the instant of the last reading of the old meter.
  const last = times[exchange - 1]
  if (last === undefined || rule?.digits !== null || rule.kind === 'SESSION') return times
  const restart = { ...last, index: 0, isRestart: true, isDip: false, recordReferenceId: `restart of ${deviceId}` }
  return [...times, restart]
}

const planRegister = (
  random: Random,
  register: Omit<Register, 'exchangedAt'>,
  count: number,
): readonly ReadingFamily[] => {
  const exchange = Math.floor(count / 3) + random.below(Math.ceil(count / 3))
  const times = planTimes(random, register, count, exchange)
  const exchangedRegister = { ...register, exchangedAt: times[exchange - 1]?.time ?? year.start }
  const range = 1_000_000_000n * 10n ** BigInt(register.rule?.digits ?? 0)
  const isRolling = register.rule?.digits != null
  const startOf = ({ time }: PlannedReading): bigint =>
    isRolling && time <= exchangedRegister.exchangedAt ? range - BigInt(exchange) * tenKilowattHours : 0n
  const families: ReadingFamily[] = []
  for (let rest = shuffled(random, times); rest.length > 0; ) {
    const own = rest.slice(0, 1 + random.below(60))
    rest = rest.slice(own.length)
    const submit = (): ReadingSubmission => {
      const units = random.pick(['WH', 'KWH'])
      const readings = own.map(planned => ({
        ...planned,
        value: !planned.isRestart && random.chance(0.04) ? null : valueText(random, planned, startOf(planned), units),
        isValid: true,
      }))
      const session = random.chance(0.3) ? `session-${random.below(40)}` : null
      return {
        register: exchangedRegister,
        sessionReferenceId: session,
        units,
        readings: corruptReadings(random, readings),
      }
    }
    families.push(random.chance(0.25) ? [submit(), submit()] : [submit()])
  }
  return families
}

/**
 * Plan registers at some locations. Readings are in random order. Some are corrected or withdrawn. Each register is
 * exchanged or rolls over once.
 */
export const planReadings = (
  random: Random,
  { locations }: AuditFixture,
  records: number,
): readonly ReadingFamily[] => {
  const locationsWithRegisters = locations.filter((_, index) => index % 4 === 2)
  const count = Math.max(12, Math.floor(records / 10 / Math.max(1, locationsWithRegisters.length)))
  return locationsWithRegisters.flatMap(({ locationId, meterId, planned }, index) => {
    const energyFlowDirection = index % 3 === 2 ? 'OUTBOUND' : 'INBOUND'
    const register = { locationId, deviceId: meterId, energyFlowDirection, rule: planned.registerRule } as const
    return planRegister(random, register, count)
  })
}

/** Write the body of a submission of readings, with the exact texts of the values. */
export const readingsToWire = ({ register, sessionReferenceId, units, readings }: ReadingSubmission): string => {
  const members = {
    location_id: register.locationId,
    ...(register.deviceId === null ? {} : { device_id: register.deviceId }),
    ...(sessionReferenceId === null ? {} : { session_reference_id: sessionReferenceId }),
    energy_flow_direction: register.energyFlowDirection,
    units,
  }
  const data = readings.map(
    ({ time, isRestart, value, recordReferenceId }) =>
      `{"time":${time / 1_000},"value":${value},${isRestart ? '"restart":true,' : ''}"record_reference_id":${JSON.stringify(recordReferenceId)}}`,
  )
  return `${JSON.stringify(members).slice(0, -1)},"data":[${data.join(',')}]}`
}
