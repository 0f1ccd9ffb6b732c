import type { EnergyUnits } from '../../../domain/quantity.ts'
import type { EnergyFlowDirection } from '../../../domain/record/record.ts'
import type { TariffDirection } from '../../../domain/tariff/tariff.ts'
import { createBytePattern, matchPattern } from './byte-pattern.ts'
import { int32At, int32Of, type JsonCursor } from './json-cursor.ts'

/** The 28 characters of an id, in place, and the 96 bits that its digits stand for, highest first. */
export type ParsedId = { at: number; readonly bits: Int32Array }

const quote = 34
const letterW = 87
const letterK = 75
const letterH = 72

const prefixWords = { loc_: int32Of('loc_'), dev_: int32Of('dev_') }

/** Step over an id of 24 digits in quotes, and note it. */
export const readIdBytes = (cursor: JsonCursor, prefix: 'loc_' | 'dev_', target: ParsedId): boolean => {
  const { bytes, index } = cursor
  if (
    index + 30 > cursor.length ||
    bytes[index] !== quote ||
    bytes[index + 29] !== quote ||
    int32At(cursor, index + 1) !== prefixWords[prefix]
  )
    return false
  let isHex = true
  for (let part = 0; part < 3; part += 1) {
    const first = int32At(cursor, index + 5 + part * 8)
    const second = int32At(cursor, index + 9 + part * 8)
    const high = nibblesOf(first)
    const low = nibblesOf(second)
    isHex = isHex && ((high | low) & 0x10101010) === 0 && digitsOf(high) === first && digitsOf(low) === second
    target.bits[part] = (bitsOf(high) << 16) | bitsOf(low)
  }
  target.at = index + 1
  cursor.index = index + 30
  return isHex
}

/** The values of four hexadecimal digits, a byte each; of other characters, values above 15 or such that `digitsOf` does not lead back. */
const nibblesOf = (word: number): number => (word & 0x0f0f0f0f) + 9 * ((word >>> 6) & 0x01010101)

/** Four lower-case digits of these values: 48 is the code of 0, and letters stand 39 above. */
const digitsOf = (nibbles: number): number => nibbles + 0x30303030 + 39 * (((nibbles + 0x06060606) >>> 4) & 0x01010101)

/** Four values, the first one in the lowest byte, as 16 bits, the first one highest. */
const bitsOf = (nibbles: number): number =>
  ((nibbles & 15) << 12) | (((nibbles >>> 8) & 15) << 8) | (((nibbles >>> 16) & 15) << 4) | (nibbles >>> 24)

const inboundText = createBytePattern('"INBOUND"')
const outboundText = createBytePattern('"OUTBOUND"')
const importText = createBytePattern('"IMPORT"')
const exportText = createBytePattern('"EXPORT"')
const localWords = { first: int32Of('"LOC'), last: int32Of('CAL"') }
const transferredText = createBytePattern('"TRANSFERRED"')

/** Step over a flow; null where none stands. The earlier layout calls what comes in IMPORT and what goes out EXPORT. */
export const readEnergyFlowBytes = (cursor: JsonCursor, isCurrent: boolean): EnergyFlowDirection | null => {
  if (matchPattern(cursor, isCurrent ? inboundText : importText)) return 'INBOUND'
  return matchPattern(cursor, isCurrent ? outboundText : exportText) ? 'OUTBOUND' : null
}

export const readTariffDirectionBytes = (cursor: JsonCursor): TariffDirection | null => {
  if (matchPattern(cursor, importText)) return 'IMPORT'
  if (matchPattern(cursor, exportText)) return 'EXPORT'
  if (int32At(cursor, cursor.index) !== localWords.first || int32At(cursor, cursor.index + 3) !== localWords.last)
    return null
  cursor.index += 7
  return 'LOCAL'
}

export const readMeasurandBytes = (cursor: JsonCursor): boolean => matchPattern(cursor, transferredText)

export const readUnitsBytes = (cursor: JsonCursor): EnergyUnits | null => {
  const { bytes, index } = cursor
  if (bytes[index] !== quote) return null
  const isKilo = bytes[index + 1] === letterK
  const start = isKilo ? index + 2 : index + 1
  if (bytes[start] !== letterW) return null
  const isEnergy = bytes[start + 1] === letterH
  const end = isEnergy ? start + 2 : start + 1
  if (bytes[end] !== quote) return null
  cursor.index = end + 1
  if (isEnergy) return isKilo ? 'KWH' : 'WH'
  return isKilo ? 'KW' : 'W'
}
