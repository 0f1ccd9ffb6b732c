import type { EnergyUnits } from '../domain/quantity.ts'
import type { EnergyFlowDirection } from '../domain/record/record.ts'
import type { TariffDirection } from '../domain/tariff/tariff.ts'
import { type JsonCursor, wordAt, wordOf } from './json-cursor.ts'
import { takeWritten, writtenText } from './written-text.ts'

/** The 28 characters of an id, in place, and the 96 bits that its digits stand for, highest first. */
export type IdPlace = { at: number; readonly bits: Int32Array }

const quote = 34
const letterW = 87
const letterK = 75
const letterH = 72

const prefixes = { loc_: wordOf('loc_'), dev_: wordOf('dev_') }

/** Step over an id of 24 digits in quotes, and note it. */
export const takeId = (from: JsonCursor, prefix: 'loc_' | 'dev_', into: IdPlace): boolean => {
  const { bytes, at } = from
  if (at + 30 > from.length || bytes[at] !== quote || bytes[at + 29] !== quote || wordAt(from, at + 1) !== prefixes[prefix]) return false
  let isHex = true
  for (let part = 0; part < 3; part += 1) {
    const first = wordAt(from, at + 5 + part * 8)
    const second = wordAt(from, at + 9 + part * 8)
    const high = nibblesOf(first)
    const low = nibblesOf(second)
    isHex = isHex && ((high | low) & 0x10101010) === 0 && digitsOf(high) === first && digitsOf(low) === second
    into.bits[part] = (bitsOf(high) << 16) | bitsOf(low)
  }
  into.at = at + 1
  from.at = at + 30
  return isHex
}

/** The values of four hexadecimal digits, a byte each; of other characters, values above 15 or such that `digitsOf` does not lead back. */
const nibblesOf = (word: number): number => (word & 0x0f0f0f0f) + 9 * ((word >>> 6) & 0x01010101)

/** Four lower-case digits of these values: 48 is the code of 0, and letters stand 39 above. */
const digitsOf = (nibbles: number): number => nibbles + 0x30303030 + 39 * (((nibbles + 0x06060606) >>> 4) & 0x01010101)

/** Four values, the first one in the lowest byte, as 16 bits, the first one highest. */
const bitsOf = (nibbles: number): number =>
  ((nibbles & 15) << 12) | (((nibbles >>> 8) & 15) << 8) | (((nibbles >>> 16) & 15) << 4) | (nibbles >>> 24)

const inbound = writtenText('"INBOUND"')
const outbound = writtenText('"OUTBOUND"')
const imported = writtenText('"IMPORT"')
const exported = writtenText('"EXPORT"')
const local = { first: wordOf('"LOC'), last: wordOf('CAL"') }
const transferred = writtenText('"TRANSFERRED"')

/** Step over a flow; null where none stands. The earlier layout calls what comes in IMPORT and what goes out EXPORT. */
export const takeFlow = (from: JsonCursor, isCurrent: boolean): EnergyFlowDirection | null => {
  if (takeWritten(from, isCurrent ? inbound : imported)) return 'INBOUND'
  return takeWritten(from, isCurrent ? outbound : exported) ? 'OUTBOUND' : null
}

export const takeTariffDirection = (from: JsonCursor): TariffDirection | null => {
  if (takeWritten(from, imported)) return 'IMPORT'
  if (takeWritten(from, exported)) return 'EXPORT'
  if (wordAt(from, from.at) !== local.first || wordAt(from, from.at + 3) !== local.last) return null
  from.at += 7
  return 'LOCAL'
}

export const takeMeasurand = (from: JsonCursor): boolean => takeWritten(from, transferred)

export const takeUnits = (from: JsonCursor): EnergyUnits | null => {
  const { bytes, at } = from
  if (bytes[at] !== quote) return null
  const isKilo = bytes[at + 1] === letterK
  const start = isKilo ? at + 2 : at + 1
  if (bytes[start] !== letterW) return null
  const isEnergy = bytes[start + 1] === letterH
  const end = isEnergy ? start + 2 : start + 1
  if (bytes[end] !== quote) return null
  from.at = end + 1
  if (isEnergy) return isKilo ? 'KWH' : 'WH'
  return isKilo ? 'KW' : 'W'
}
