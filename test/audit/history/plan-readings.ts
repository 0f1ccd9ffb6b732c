import { decimal } from '../../support/ledger/exact-decimal.ts'
import type { LedgerRecord } from '../../support/ledger/journal.ts'
import type { Random } from '../../support/ledger/random.ts'
import type { AuditFixture } from './create-fixture.ts'
import { year } from './plan-tariffs.ts'

/** A register that counts up; at `exchangedAt` another one took its place and began at zero. */
export type Register = Pick<LedgerRecord, 'locationId' | 'deviceId'> & {
  readonly energyFlowDirection: 'INBOUND' | 'OUTBOUND'
  readonly exchangedAt: number
}

/** What a register showed: time in ms, on whole seconds; the value as text in the submission's units. */
export type Reading = {
  readonly time: number
  readonly value: string
  readonly recordReferenceId: string
  readonly isGood: boolean
}

export type ReadingSubmission = {
  readonly register: Register
  readonly sessionReferenceId: string | null
  readonly units: 'WH' | 'KWH'
  readonly readings: readonly Reading[]
}

/** Submissions that follow each other: the later ones bring the same times again. */
export type ReadingFamily = readonly ReadingSubmission[]

const dayMs = 86_400_000

/** Any value of a place in the row is above any of the place before it, whichever correction holds: nothing falls but where a register was exchanged. */
const valueText = (random: Random, place: number, units: ReadingSubmission['units']): string =>
  decimal(BigInt(place) * 10_000_000_000n + BigInt(random.whole(10_000_000)) * 1_000n, units === 'WH' ? 6 : 9)

const shuffled = <T>(random: Random, all: readonly T[]): readonly T[] =>
  all
    .map(one => [random.whole(2 ** 30), one] as const)
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one)

/** Now and then one below zero, or a time twice; both must be refused. */
const corruptReadings = (random: Random, readings: readonly Reading[]): readonly Reading[] =>
  readings.flatMap(reading => {
    if (random.chance(0.01)) return [reading, { ...reading, time: reading.time + 1_000, value: '-1', isGood: false }]
    return random.chance(0.01) ? [reading, { ...reading, value: '1', isGood: false }] : [reading]
  })

const planRegister = (
  random: Random,
  register: Omit<Register, 'exchangedAt'>,
  count: number,
): readonly ReadingFamily[] => {
  const every = Math.floor((year.end - year.start - 2 * dayMs) / count / 1_000) * 1_000
  const exchange = Math.floor(count / 3) + random.whole(Math.ceil(count / 3))
  const timeOf = (index: number): number => year.start + dayMs + index * every
  const times = Array.from({ length: count }, (_, index) => ({
    place: index < exchange ? index : index - exchange,
    time: timeOf(index) + random.whole(every / 2_000) * 1_000,
    recordReferenceId: `reading ${index} of ${register.deviceId}`,
  }))
  const exchanged = { ...register, exchangedAt: timeOf(exchange) }
  const families: ReadingFamily[] = []
  for (let rest = shuffled(random, times); rest.length > 0; ) {
    const own = rest.slice(0, 1 + random.whole(60))
    rest = rest.slice(own.length)
    const submit = (): ReadingSubmission => {
      const units = random.pick(['WH', 'KWH'])
      const readings = own.map(({ place, ...reading }) => ({
        ...reading,
        value: valueText(random, place, units),
        isGood: true,
      }))
      const session = random.chance(0.3) ? `session-${random.whole(40)}` : null
      return { register: exchanged, sessionReferenceId: session, units, readings: corruptReadings(random, readings) }
    }
    families.push(random.chance(0.25) ? [submit(), submit()] : [submit()])
  }
  return families
}

/** Plan registers at some of the locations: readings in no order of time, some corrected, each register exchanged once. */
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

/** Write a submission of readings as its body, values as their own texts. */
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
