import { toSentence } from '../../contract/error.ts'
import { readReading } from '../../contract/metering/meter-cumulative.ts'
import { readMeterRecord } from '../../contract/metering/meter-record.ts'
import type { Energy } from '../../domain/quantity.ts'
import type { RegisterRule } from '../../domain/record/reading-rules.ts'
import { startTurns } from '../../platform/concurrency/time-slices.ts'
import { elementValue, objectNameText, readingToElement, readingToRecordLine } from '../contract/file-reading.ts'
import { type FileReading, type RefusedRow, type RowCode, refusedRow } from '../domain/reading.ts'
import type { FindObject } from './find-objects.ts'
import type { ReadingBatch } from './reading-batch.ts'

/**
 * Reading that the rules of the service accept alone. `register`: value of a register reading (1e-6 Wh; null withdraws),
 * and what is known of its register; null for an interval.
 */
export type CheckedReading = {
  readonly reading: FileReading
  readonly register: { readonly value: Energy | null; readonly rule: RegisterRule | null } | null
}

/** Refuse a reading with a message, which becomes a sentence. */
export const refuse = (reading: FileReading, field: string | null, code: RowCode, message: string): RefusedRow =>
  refusedRow(reading.line, field, code, toSentence(message))

/** Columns of the members of a record. */
export const columnOf: Readonly<Record<string, string>> = {
  start_time: 'start',
  end_time: 'end',
  units: 'unit',
  location_id: 'location',
  device_id: 'device',
  session_reference_id: 'session',
  record_reference_id: 'record',
  energy_flow_direction: 'direction',
  tariff_direction: 'direction',
}

/** Columns of the members of a register reading. */
const columnOfRegister: Readonly<Record<string, string>> = { ...columnOf, value: 'register' }

export const isWhole = ({ start }: FileReading): boolean => start % 1000 === 0

/** Return the reason that a register reading alone gives for its refusal; its value (1e-6 Wh) if the reading is valid. */
const readRegisterValue = (reading: FileReading, at: number): RefusedRow | { readonly value: Energy | null } => {
  const { units, start, recordReferenceId, isRestart } = reading
  if (!isWhole(reading))
    return refuse(reading, 'time', 'not_a_time', 'The time of a register reading must be a whole second')
  if (units !== 'WH' && units !== 'KWH')
    return refuse(reading, 'unit', 'field_invalid', 'The unit of a register must be WH or KWH')
  const reference = recordReferenceId === null ? {} : { record_reference_id: recordReferenceId }
  const restart = isRestart ? { restart: true } : {}
  const element = { time: start / 1000, value: elementValue(reading), ...restart, ...reference }
  const read = readReading(element, units, at)
  if (read.ok) return read.value
  const { field = '', code, message } = read.refusal
  return refuse(reading, columnOfRegister[field] ?? (field || null), code, message)
}

/** Return the reason that a register reading alone gives for its refusal; null if the reading is valid. */
export const refuseRegister = (reading: FileReading, at: number): RefusedRow | null => {
  const read = readRegisterValue(reading, at)
  return 'code' in read ? read : null
}

/** Return the reason that the reading alone gives for its refusal; null if the reading is valid. */
export const refuseReading = (reading: FileReading, at: number): RefusedRow | null => {
  if (reading.isRegister) return refuseRegister(reading, at)
  const read = readMeterRecord(readingToElement(reading), 'current', at)
  if (read.ok) return null
  const { field, code, message } = read.refusal
  return refuse(reading, field === undefined ? null : (columnOf[field] ?? field), code, message)
}

/** Return the reason that the location or the device gives for the refusal of a reading; null if both exist. */
export const refuseObjects = async (reading: FileReading, find: FindObject): Promise<RefusedRow | null> => {
  const location = objectNameText(reading.location)
  if ((await find('locations', location)) === null)
    return refuse(reading, 'location', 'location_not_found', `The location ${location} does not exist`)
  const device = reading.device === null ? null : objectNameText(reading.device)
  if (device === null || (await find('devices', device)) !== null) return null
  return refuse(reading, 'device', 'device_not_found', `The device ${device} does not exist`)
}

/** Return a text that is equal for readings of the same meter, times and references. */
export const identityOf = (reading: FileReading): string =>
  `${reading.isRestart} ${readingToRecordLine({ ...reading, value: '0', confidence: null, units: 'WH' })}`

/** Refuse a reading that has the identity of the reading of an earlier line. */
export const refuseRepeat = (reading: FileReading, firstLine: number): RefusedRow => {
  const message = `The reading of line ${firstLine} has the same meter and times. If a column tells them apart, select rows with --where.`
  return refusedRow(reading.line, null, 'duplicate_row', message)
}

/** Return a reading that is valid alone, with the rule of its register: that of its device, else of its location. */
const withRegister = async (reading: FileReading, at: number, find: FindObject): Promise<CheckedReading> => {
  const read = reading.isRegister ? readRegisterValue(reading, at) : null
  if (read === null || 'code' in read) return { reading, register: null }
  const { device, location } = reading
  const owner = await (device === null
    ? find('locations', objectNameText(location))
    : find('devices', objectNameText(device)))
  return { reading, register: { value: read.value, rule: owner?.rule ?? null } }
}

/** Readings of a batch that are valid, without the lines that have a refused one, by line; and the refused rows. */
export type CheckedBatch = {
  readonly accepted: number
  readonly checked: readonly CheckedReading[]
  readonly refused: readonly RefusedRow[]
}

/** Check readings as the service does, apart from readings that are stored already. */
export const checkReadings = async (batch: ReadingBatch, at: number, find: FindObject): Promise<CheckedBatch> => {
  const refused: RefusedRow[] = []
  const valid: CheckedReading[] = []
  const firsts = new Map<string, FileReading>()
  // The console checks files on the first thread, and its known objects need no wait.
  const nextTurn = startTurns()
  for (const reading of [...batch.intervals, ...[...batch.registers.values()].flat()]) {
    await nextTurn()
    const identity = identityOf(reading)
    const first = firsts.get(identity)
    const refusal =
      refuseReading(reading, at) ??
      (first === undefined ? await refuseObjects(reading, find) : refuseRepeat(reading, first.line))
    if (refusal !== null) {
      refused.push(refusal)
      continue
    }
    firsts.set(identity, reading)
    valid.push(await withRegister(reading, at, find))
  }
  const refusedLines = new Set([...batch.refused, ...refused].map(({ line }) => line))
  const checked = valid
    .filter(({ reading }) => !refusedLines.has(reading.line))
    .sort((a, b) => a.reading.line - b.reading.line)
  return { accepted: valid.length, checked, refused }
}
