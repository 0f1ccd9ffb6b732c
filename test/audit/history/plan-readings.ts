import { decimal } from '../../support/ledger/exact-decimal.ts'
import type { LedgerRecord } from '../../support/ledger/journal.ts'
import type { Random } from '../../support/random.ts'
import type { AuditFixture } from './create-fixture.ts'
import { year } from './plan-tariffs.ts'

/** Register that counts up. At `exchangedAt` it was replaced by a register that started at zero. */
export type Register = Pick<LedgerRecord, 'locationId' | 'deviceId'> & {
  readonly energyFlowDirection: 'INBOUND' | 'OUTBOUND'
  readonly exchangedAt: number
}

/**
 * Value of a register at a time. The time is in ms, in whole seconds. The value is a text in the submission's units.
 */
export type Reading = {
  readonly time: number
  readonly value: string
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

/**
 * Return a random value for the reading at an index. The value is larger than all possible values of the previous
 * index, so that corrections never make a register fall. Only an exchange of the register does.
 */
const valueText = (random: Random, index: number, units: ReadingSubmission['units']): string =>
  decimal(BigInt(index) * 10_000_000_000n + BigInt(random.below(10_000_000)) * 1_000n, units === 'WH' ? 6 : 9)

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

const planRegister = (
  random: Random,
  register: Omit<Register, 'exchangedAt'>,
  count: number,
): readonly ReadingFamily[] => {
  const intervalMs = Math.floor((year.end - year.start - 2 * dayMs) / count / 1_000) * 1_000
  const exchange = Math.floor(count / 3) + random.below(Math.ceil(count / 3))
  const timeOf = (index: number): number => year.start + dayMs + index * intervalMs
  const times = Array.from({ length: count }, (_, index) => ({
    valueIndex: index < exchange ? index : index - exchange,
    time: timeOf(index) + random.below(intervalMs / 2_000) * 1_000,
    recordReferenceId: `reading ${index} of ${register.deviceId}`,
  }))
  const exchangedRegister = { ...register, exchangedAt: timeOf(exchange) }
  const families: ReadingFamily[] = []
  for (let rest = shuffled(random, times); rest.length > 0; ) {
    const own = rest.slice(0, 1 + random.below(60))
    rest = rest.slice(own.length)
    const submit = (): ReadingSubmission => {
      const units = random.pick(['WH', 'KWH'])
      const readings = own.map(({ valueIndex, ...reading }) => ({
        ...reading,
        value: valueText(random, valueIndex, units),
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
 * Plan registers at some locations. Readings are in random order, and some are corrected. Each register is exchanged
 * once.
 */
export const planReadings = (
  random: Random,
  { locations }: AuditFixture,
  records: number,
): readonly ReadingFamily[] => {
  const locationsWithRegisters = locations.filter((_, index) => index % 4 === 2)
  const count = Math.max(12, Math.floor(records / 10 / Math.max(1, locationsWithRegisters.length)))
  return locationsWithRegisters.flatMap(({ locationId, deviceIds }, index) => {
    const energyFlowDirection = index % 3 === 2 ? 'OUTBOUND' : 'INBOUND'
    return planRegister(random, { locationId, deviceId: deviceIds[0] ?? null, energyFlowDirection }, count)
  })
}

/** Write the body of a submission of readings, with the exact texts of the values. */
export const readingsToWire = ({ register, sessionReferenceId, units, readings }: ReadingSubmission): string => {
  const members = {
    location_id: register.locationId,
    ...(register.deviceId === null ? {} : { device_id: register.deviceId }),
    ...(sessionReferenceId === null ? {} : { session_reference_id: sessionReferenceId }),
    ...{ energy_flow_direction: register.energyFlowDirection, units },
  }
  const data = readings.map(
    ({ time, value, recordReferenceId }) =>
      `{"time":${time / 1_000},"value":${value},"record_reference_id":${JSON.stringify(recordReferenceId)}}`,
  )
  return `${JSON.stringify(members).slice(0, -1)},"data":[${data.join(',')}]}`
}
