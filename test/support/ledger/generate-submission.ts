import type { Random } from '../random.ts'
import type { LedgerLocation, LedgerRecord } from './journal.ts'

const dayMs = 86_400_000
const minuteMs = 60_000
/** First day of the records. All records start within `dayCount` days, so that some days have many records. */
export const firstDay = Date.parse('2025-03-03T00:00:00Z')
export const dayCount = 20
export const maxLengthMs = 26 * 3_600_000

export const generateValue = (random: Random, unit: LedgerRecord['units']): string => {
  const whole = random.below(unit === 'W' || unit === 'WH' ? 22_000 : 22)
  const decimals = random.below(7)
  const fraction = decimals === 0 ? '' : `.${String(random.below(10 ** decimals)).padStart(decimals, '0')}`
  return `${whole}${fraction}`
}

const lengthOf = (random: Random): number =>
  random.pick([15 * minuteMs, 15 * minuteMs, 60 * minuteMs, 7 * 60 * minuteMs + 1, maxLengthMs])

const generateRecord = (random: Random, { locationId, deviceId }: LedgerLocation, reference: string): LedgerRecord => {
  const units = random.pick(['W', 'KW', 'WH', 'KWH'])
  const start = firstDay + random.below(dayCount * dayMs)
  const isImpulse = units.endsWith('WH') && random.chance(0.05)
  return {
    locationId,
    deviceId: random.chance(0.5) ? deviceId : null,
    start,
    end: isImpulse ? start : start + lengthOf(random),
    units,
    value: generateValue(random, units),
    sessionReferenceId: random.chance(0.3) ? `session-${random.below(40)}` : null,
    recordReferenceId: reference,
    isValid: true,
  }
}

/**
 * Replace some records by invalid records: an end before the start, or a duplicate of the record before with another
 * value.
 */
export const corruptRecord = (random: Random, record: LedgerRecord, before: LedgerRecord | undefined): LedgerRecord => {
  if (random.chance(0.02)) return { ...record, end: record.start - minuteMs, isValid: false }
  return before !== undefined && random.chance(0.01) ? { ...before, value: '1' } : record
}

/** Generate the records of a submission. `operation` makes their references unique. */
export const generateSubmission = (
  random: Random,
  locations: readonly LedgerLocation[],
  count: number,
  operation: number,
): readonly LedgerRecord[] => {
  const records: LedgerRecord[] = []
  for (let index = 0; index < count; index += 1) {
    const location = locations[random.below(locations.length)] as LedgerLocation
    records.push(corruptRecord(random, generateRecord(random, location, `${operation}-${index}`), records.at(-1)))
  }
  return records
}

/** Generate a correction: new values for about half of the records. The value 0 withdraws a record. */
export const correctRecords = (random: Random, records: readonly LedgerRecord[]): readonly LedgerRecord[] =>
  records.map(record =>
    random.chance(0.5) ? { ...record, value: random.chance(0.1) ? '0' : generateValue(random, record.units) } : record,
  )

const textOf = (at: number): string => new Date(at).toISOString()

/** Write records as the body of a submission. Values keep their text. */
export const toWire = (records: readonly LedgerRecord[]): string =>
  `[${records
    .map(record => {
      const {
        locationId,
        deviceId,
        units,
        sessionReferenceId,
        recordReferenceId,
        energyFlowDirection,
        tariffDirection,
      } = record
      const members = {
        location_id: locationId,
        ...(deviceId === null ? {} : { device_id: deviceId }),
        ...(sessionReferenceId === null ? {} : { session_reference_id: sessionReferenceId }),
        record_reference_id: recordReferenceId,
        ...(energyFlowDirection === undefined ? {} : { energy_flow_direction: energyFlowDirection }),
        ...(tariffDirection === undefined ? {} : { tariff_direction: tariffDirection }),
        units,
        start_time: textOf(record.start),
        end_time: textOf(record.end),
      }
      const confidence = record.confidence === undefined ? '' : `,"confidence":${record.confidence}`
      return `${JSON.stringify(members).slice(0, -1)},"value":${record.value}${confidence}}`
    })
    .join(',')}]`
