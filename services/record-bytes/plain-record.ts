import type { ApiVersion } from '../contract/api-version.ts'
import {
  type NumberField,
  numberFields,
  type RecordText,
  type RecordWireName,
  recordFields,
  recordTexts,
  recordWireNames,
} from '../contract/metering/record-fields.ts'
import { submissionLimits } from '../contract/registry/account.ts'
import { type EnergyUnits, readDecimal, readEnergy } from '../domain/quantity.ts'
import { type EnergyFlowDirection, fullConfidence } from '../domain/record/record.ts'
import {
  defaultTariffDirection,
  readConfidence,
  refuseDirections,
  refuseInterval,
} from '../domain/record/validate-record.ts'
import type { TariffDirection } from '../domain/tariff/tariff.ts'
import {
  asciiTextBefore,
  type BytePattern,
  createBytePattern,
  float64At,
  type JsonCursor,
  matchRest,
  type ParsedDecimal,
  peekByte,
  readDecimalBytes,
  skipNull,
  skipText,
  takeByte,
} from './json-cursor.ts'
import {
  type CachedDay,
  createCachedDay,
  type ParsedId,
  readEnergyFlowBytes,
  readIdBytes,
  readInstantBytes,
  readMeasurandBytes,
  readTariffDirectionBytes,
  readUnitsBytes,
} from './plain-values.ts'

/** Member of a record, by its current name. */
export type RecordMemberName = RecordWireName | 'measurand' | 'units'

const currentNames: readonly RecordMemberName[] = [...recordWireNames, 'measurand', 'units']

export type RecordMember = {
  readonly name: RecordMemberName
  readonly bit: number
  /** Index in `texts` of an optional text, else -1. */
  readonly textIndex: number
  /** Index in `numbers` of an optional number, else -1. */
  readonly numberIndex: number
  readonly written: BytePattern
  /** Member that last followed this one. Clients usually write the members of all records in the same order. */
  next: RecordMember | null
}

const earlierNames: Partial<Record<RecordMemberName, string>> = {
  energy_flow_direction: 'direction',
  tariff_direction: 'tariff_rate',
}

const membersOf = (written: (name: RecordMemberName) => string): readonly RecordMember[] =>
  currentNames.map((name, index) => ({
    name,
    bit: 1 << index,
    textIndex: recordTexts.findIndex(text => recordFields[text].wire === name),
    numberIndex: numberFields.findIndex(({ wire }) => wire === name),
    written: createBytePattern(`"${written(name)}":`),
    next: null,
  }))

/** Members of a record in each API version. The first seven characters of each name are unique. */
export const recordMembers: Readonly<Record<ApiVersion, readonly RecordMember[]>> = {
  current: membersOf(name => name),
  earlier: membersOf(name => earlierNames[name] ?? name),
}

/**
 * Read a member name and its colon. `previous` is the member before.
 * Returns null for an unknown name, and for white space before the colon.
 */
export const readMemberName = (
  cursor: JsonCursor,
  names: readonly RecordMember[],
  previous: RecordMember | null,
): RecordMember | null => {
  const firstBytes = float64At(cursor, cursor.index)
  const expected = previous === null ? null : previous.next
  const member =
    expected !== null && expected.written.firstBytes === firstBytes ? expected : findMember(names, firstBytes)
  if (member === null || !matchRest(cursor, member.written)) return null
  if (previous !== null) previous.next = member
  return member
}

const findMember = (names: readonly RecordMember[], firstBytes: number): RecordMember | null => {
  for (const member of names) if (member.written.firstBytes === firstBytes) return member
  return null
}

/** Byte range of a string without escapes in a body. */
export type ByteRange = { at: number; length: number }

/** Record of a body. One object is reused for all records of a body. `energy` is an integer of 1e-6 Wh. */
export type PlainRecord = {
  readonly location: ParsedId
  /** `at` is -1 without a device. */
  readonly device: ParsedId
  energyFlowDirection: EnergyFlowDirection
  tariffDirection: TariffDirection
  start: number
  end: number
  energy: number
  confidence: number
  /** Optional texts in the order of `recordTexts`; length 0 without a text. */
  readonly texts: readonly ByteRange[]
  /** Optional numbers in the order of `numberFields`; null without a number. */
  readonly numbers: (bigint | null)[]
  readonly sessionReference: ByteRange
  readonly recordReference: ByteRange
}

/** State for reading the records of a body that arrived at `at` (ms). */
export type PlainReader = {
  readonly cursor: JsonCursor
  readonly record: PlainRecord
  readonly knownMembers: readonly RecordMember[]
  readonly isCurrent: boolean
  readonly at: number
  /** Members of the current record that need other members to be interpreted. */
  readonly members: MemberValues
}

type MemberValues = {
  seenBits: number
  energyFlowDirection: EnergyFlowDirection | null
  tariffDirection: TariffDirection | null
  units: EnergyUnits | null
  readonly value: ParsedDecimal
  valueIndex: number
  readonly startDay: CachedDay
  readonly endDay: CachedDay
}

export const plainReader = (cursor: JsonCursor, apiVersion: ApiVersion, at: number): PlainReader => {
  const texts = recordTexts.map(() => ({ at: -1, length: 0 }))
  const textOf = (name: RecordText): ByteRange => texts[recordTexts.indexOf(name)] ?? { at: -1, length: 0 }
  return {
    cursor,
    record: {
      location: { at: -1, bits: new Int32Array(3) },
      device: { at: -1, bits: new Int32Array(3) },
      energyFlowDirection: 'INBOUND',
      tariffDirection: 'IMPORT',
      start: Number.NaN,
      end: Number.NaN,
      energy: Number.NaN,
      confidence: fullConfidence,
      texts,
      numbers: numberFields.map(() => null),
      sessionReference: textOf('sessionReferenceId'),
      recordReference: textOf('recordReferenceId'),
    },
    knownMembers: recordMembers[apiVersion],
    isCurrent: apiVersion === 'current',
    at,
    members: {
      seenBits: 0,
      energyFlowDirection: null,
      tariffDirection: null,
      units: null,
      value: { mantissa: 0, decimals: 0 },
      valueIndex: -1,
      startDay: createCachedDay(),
      endDay: createCachedDay(),
    },
  }
}

const resetRecord = ({ record, members }: PlainReader): void => {
  record.location.at = -1
  record.device.at = -1
  record.start = Number.NaN
  record.end = Number.NaN
  record.confidence = fullConfidence
  for (const text of record.texts) text.length = 0
  for (let i = 0; i < record.numbers.length; i += 1) record.numbers[i] = null
  members.seenBits = 0
  members.energyFlowDirection = null
  members.tariffDirection = null
  members.units = null
  members.valueIndex = -1
}

const comma = 44
const letterN = 110
const leftBrace = 123
const rightBrace = 125

/**
 * Read the object at the cursor into `reader.record`. True if the object is a valid record; `readMeterRecord` reads the
 * same values. False if the general reader must read the record, which can be valid or invalid.
 */
export const readPlainRecord = (reader: PlainReader): boolean => {
  const { cursor, members, knownMembers } = reader
  const start = cursor.index
  if (!takeByte(cursor, leftBrace)) return false
  resetRecord(reader)
  let previous: RecordMember | null = null
  for (;;) {
    peekByte(cursor)
    const member: RecordMember | null = readMemberName(cursor, knownMembers, previous)
    if (member === null || (members.seenBits & member.bit) !== 0) return false
    members.seenBits |= member.bit
    const isRead = peekByte(cursor) === letterN ? skipNull(cursor) : readMember(reader, member)
    if (!isRead) return false
    previous = member
    const mark = peekByte(cursor)
    cursor.index += 1
    if (mark === rightBrace) break
    if (mark !== comma) return false
  }
  return cursor.index - start <= submissionLimits.recordBytes && completeRecord(reader)
}

const readMember = (reader: PlainReader, { name, textIndex, numberIndex }: RecordMember): boolean => {
  const { cursor, record, members, isCurrent } = reader
  const text = textIndex < 0 ? undefined : record.texts[textIndex]
  if (text !== undefined) return readReferenceText(cursor, text)
  switch (name) {
    case 'location_id':
      return readIdBytes(cursor, 'loc_', record.location)
    case 'device_id':
      return readIdBytes(cursor, 'dev_', record.device)
    case 'energy_flow_direction':
      members.energyFlowDirection = readEnergyFlowBytes(cursor, isCurrent)
      return members.energyFlowDirection !== null
    case 'tariff_direction':
      members.tariffDirection = readTariffDirectionBytes(cursor)
      return members.tariffDirection !== null
    case 'measurand':
      return readMeasurandBytes(cursor)
    case 'units':
      members.units = readUnitsBytes(cursor)
      return members.units !== null
    case 'value':
      members.valueIndex = cursor.index
      return readDecimalBytes(cursor, members.value)
    case 'confidence':
      return readConfidenceMember(cursor, record)
    case 'start_time':
      record.start = readInstantBytes(cursor, members.startDay)
      return !Number.isNaN(record.start)
    case 'end_time':
      record.end = readInstantBytes(cursor, members.endDay)
      return !Number.isNaN(record.end)
    default: {
      const field = numberFields[numberIndex]
      const number = field === undefined ? null : readNumberBytes(cursor, field)
      if (number !== null) record.numbers[numberIndex] = number
      return number !== null
    }
  }
}

/** Read an optional number; null if the general reader must read it. */
export const readNumberBytes = (cursor: JsonCursor, field: NumberField): bigint | null => {
  const start = cursor.index
  if (!readDecimalBytes(cursor, optionalDecimal)) return null
  const read = readDecimal(asciiTextBefore(cursor, start), field.rule, field.wire)
  return read.ok ? read.value : null
}

const maxReferenceBytes = 255

/** A text of more than 255 bytes can have fewer characters. The general reader counts the characters. */
const readReferenceText = (cursor: JsonCursor, target: ByteRange): boolean => {
  const length = skipText(cursor)
  target.at = cursor.index - length - 1
  target.length = length
  return length > 0 && length <= maxReferenceBytes
}

const optionalDecimal: ParsedDecimal = { mantissa: 0, decimals: 0 }

const readConfidenceMember = (cursor: JsonCursor, record: PlainRecord): boolean => {
  const start = cursor.index
  if (!readDecimalBytes(cursor, optionalDecimal)) return false
  const read = readConfidence(asciiTextBefore(cursor, start))
  if (read.ok) record.confidence = read.value
  return read.ok
}

/** Interpret and validate the members that depend on each other. */
const completeRecord = (reader: PlainReader): boolean => {
  const { record, members, at } = reader
  if (record.location.at < 0 || members.units === null || members.valueIndex < 0) return false
  record.energyFlowDirection = members.energyFlowDirection ?? 'INBOUND'
  record.tariffDirection = members.tariffDirection ?? defaultTariffDirection(record.energyFlowDirection)
  if (refuseDirections(record.energyFlowDirection, record.tariffDirection) !== null) return false
  // A missing time is NaN, and each comparison with NaN is false.
  if (!(record.end - record.start >= 0) || refuseInterval(record.start, record.end, at) !== null) return false
  record.energy = plainEnergyOf(reader, members.units, record.end - record.start)
  return !Number.isNaN(record.energy)
}

const powersOfTen = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]

/**
 * Return the energy in 1e-6 Wh as a double; NaN if the double is not exact. A product of doubles up to 2^53 is exact.
 */
const plainEnergyOf = ({ cursor, members }: PlainReader, units: EnergyUnits, elapsedMs: number): number => {
  const { mantissa, decimals } = members.value
  const shift = (units === 'WH' ? 6 : units === 'KWH' ? 9 : -1) - decimals
  const energy =
    shift >= 0 ? mantissa * (powersOfTen[shift] as number) : readExactEnergy(cursor, members, units, elapsedMs)
  return energy <= Number.MAX_SAFE_INTEGER ? energy : Number.NaN
}

const readExactEnergy = (
  cursor: JsonCursor,
  { valueIndex, value }: MemberValues,
  units: EnergyUnits,
  elapsedMs: number,
): number => {
  const end = cursor.index
  cursor.index = valueIndex
  readDecimalBytes(cursor, value)
  const read = readEnergy(asciiTextBefore(cursor, valueIndex), units, elapsedMs)
  cursor.index = end
  return read.ok ? Number(read.value) : Number.NaN
}
