import { type EnergyUnits, readEnergy } from '../domain/quantity.ts'
import { defaultTariffDirection, fullConfidence, readConfidence, refuseDirections, refuseInterval } from '../domain/record/check-record.ts'
import type { EnergyFlowDirection } from '../domain/record/record.ts'
import type { TariffDirection } from '../domain/tariff/tariff.ts'
import { submissionLimits } from './account.ts'
import { asciiBefore, type JsonCursor, nextMark, type PlainDecimal, takeDecimal, takeMark, takeNull, takeText } from './json-cursor.ts'
import type { Layout } from './layout.ts'
import { type Member, type MemberName, memberNames, takeName } from './plain-names.ts'
import { type LastDay, lastDay, takeInstant } from './plain-time.ts'
import { type IdPlace, takeFlow, takeId, takeMeasurand, takeTariffDirection, takeUnits } from './plain-words.ts'

/** A text of a body, in place: it has no escapes. */
export type TextPlace = { at: number; length: number }

/** A record as it stands in a body. One is used for all records of a body, one after the other. `energy` is a whole number of 1e-6 Wh. */
export type PlainRecord = {
  readonly location: IdPlace
  /** At -1: none. */
  readonly device: IdPlace
  energyFlowDirection: EnergyFlowDirection
  tariffDirection: TariffDirection
  start: number
  end: number
  energy: number
  confidence: number
  /** Of length 0: none. */
  readonly sessionReference: TextPlace
  readonly recordReference: TextPlace
}

/** Reads record after record of a body that arrived at `at` (ms). */
export type PlainReader = {
  readonly from: JsonCursor
  readonly record: PlainRecord
  readonly names: readonly Member[]
  readonly isCurrent: boolean
  readonly at: number
  /** What was said of the present record and is not made out yet. */
  readonly said: Said
}

type Said = {
  members: number
  flow: EnergyFlowDirection | null
  tariffDirection: TariffDirection | null
  units: EnergyUnits | null
  readonly value: PlainDecimal
  valueAt: number
  readonly startDay: LastDay
  readonly endDay: LastDay
}

export const plainReader = (from: JsonCursor, layout: Layout, at: number): PlainReader => ({
  from,
  record: {
    location: { at: -1, bits: new Int32Array(3) },
    device: { at: -1, bits: new Int32Array(3) },
    energyFlowDirection: 'INBOUND',
    tariffDirection: 'IMPORT',
    start: Number.NaN,
    end: Number.NaN,
    energy: Number.NaN,
    confidence: fullConfidence,
    sessionReference: { at: -1, length: 0 },
    recordReference: { at: -1, length: 0 },
  },
  names: memberNames[layout],
  isCurrent: layout === 'current',
  at,
  said: {
    members: 0,
    flow: null,
    tariffDirection: null,
    units: null,
    value: { mantissa: 0, decimals: 0 },
    valueAt: -1,
    startDay: lastDay(),
    endDay: lastDay(),
  },
})

const reset = ({ record, said }: PlainReader): void => {
  record.location.at = -1
  record.device.at = -1
  record.start = Number.NaN
  record.end = Number.NaN
  record.confidence = fullConfidence
  record.sessionReference.length = 0
  record.recordReference.length = 0
  said.members = 0
  said.flow = null
  said.tariffDirection = null
  said.units = null
  said.valueAt = -1
}

const comma = 44
const letterN = 110
const leftBrace = 123
const rightBrace = 125

/**
 * Read the object at the cursor into `reader.record`. True: it is a record, and `readMeterRecord` reads the same from it.
 * False: this reader cannot tell, and nothing is said about the record.
 */
export const readPlainRecord = (reader: PlainReader): boolean => {
  const { from, said, names } = reader
  const start = from.at
  if (!takeMark(from, leftBrace)) return false
  reset(reader)
  let before: Member | null = null
  for (;;) {
    nextMark(from)
    const member: Member | null = takeName(from, names, before)
    if (member === null || (said.members & member.bit) !== 0) return false
    said.members |= member.bit
    const isTaken = nextMark(from) === letterN ? takeNull(from) : takeMember(reader, member.name)
    if (!isTaken) return false
    before = member
    const mark = nextMark(from)
    from.at += 1
    if (mark === rightBrace) break
    if (mark !== comma) return false
  }
  return from.at - start <= submissionLimits.recordBytes && makeOut(reader)
}

const takeMember = (reader: PlainReader, name: MemberName): boolean => {
  const { from, record, said, isCurrent } = reader
  switch (name) {
    case 'location_id':
      return takeId(from, 'loc_', record.location)
    case 'device_id':
      return takeId(from, 'dev_', record.device)
    case 'session_reference_id':
      return takeReference(from, record.sessionReference)
    case 'record_reference_id':
      return takeReference(from, record.recordReference)
    case 'energy_flow_direction':
      said.flow = takeFlow(from, isCurrent)
      return said.flow !== null
    case 'tariff_direction':
      said.tariffDirection = takeTariffDirection(from)
      return said.tariffDirection !== null
    case 'measurand':
      return takeMeasurand(from)
    case 'units':
      said.units = takeUnits(from)
      return said.units !== null
    case 'value':
      said.valueAt = from.at
      return takeDecimal(from, said.value)
    case 'confidence':
      return takeConfidence(from, record)
    case 'start_time':
      record.start = takeInstant(from, said.startDay)
      return !Number.isNaN(record.start)
    case 'end_time':
      record.end = takeInstant(from, said.endDay)
      return !Number.isNaN(record.end)
  }
}

const longestReference = 255

/** Texts of more bytes than characters are allowed may still be short enough: the general reader counts them. */
const takeReference = (from: JsonCursor, into: TextPlace): boolean => {
  const length = takeText(from)
  into.at = from.at - length - 1
  into.length = length
  return length > 0 && length <= longestReference
}

const confidenceText: PlainDecimal = { mantissa: 0, decimals: 0 }

const takeConfidence = (from: JsonCursor, record: PlainRecord): boolean => {
  const start = from.at
  if (!takeDecimal(from, confidenceText)) return false
  const read = readConfidence(asciiBefore(from, start))
  if (read.ok) record.confidence = read.value
  return read.ok
}

/** Make out what hangs on several members, and judge them together. */
const makeOut = (reader: PlainReader): boolean => {
  const { record, said, at } = reader
  if (record.location.at < 0 || said.units === null || said.valueAt < 0) return false
  record.energyFlowDirection = said.flow ?? 'INBOUND'
  record.tariffDirection = said.tariffDirection ?? defaultTariffDirection(record.energyFlowDirection)
  if (refuseDirections(record.energyFlowDirection, record.tariffDirection) !== null) return false
  // Times that are missing are no numbers, which no bound holds.
  if (!(record.end - record.start >= 0) || refuseInterval(record.start, record.end, at) !== null) return false
  record.energy = energyOf(reader, said.units, record.end - record.start)
  return !Number.isNaN(record.energy)
}

const powersOfTen = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]

/**
 * Energy in 1e-6 Wh as a double; NaN where one does not hold it. A product of doubles up to 2^53 is exact: a larger one would not round
 * to so little.
 */
const energyOf = ({ from, said }: PlainReader, units: EnergyUnits, elapsedMs: number): number => {
  const { mantissa, decimals } = said.value
  const shift = (units === 'WH' ? 6 : units === 'KWH' ? 9 : -1) - decimals
  const energy = shift >= 0 ? mantissa * (powersOfTen[shift] as number) : finerEnergy(from, said, units, elapsedMs)
  return energy <= Number.MAX_SAFE_INTEGER ? energy : Number.NaN
}

const finerEnergy = (from: JsonCursor, { valueAt, value }: Said, units: EnergyUnits, elapsedMs: number): number => {
  const end = from.at
  from.at = valueAt
  takeDecimal(from, value)
  const read = readEnergy(asciiBefore(from, valueAt), units, elapsedMs)
  from.at = end
  return read.ok ? Number(read.value) : Number.NaN
}
