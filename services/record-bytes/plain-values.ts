import { parseInstant } from '../domain/instant.ts'
import type { EnergyUnits } from '../domain/quantity.ts'
import type { EnergyFlowDirection } from '../domain/record/record.ts'
import type { TariffDirection } from '../domain/tariff/tariff.ts'
import {
  asciiTextBefore,
  createBytePattern,
  int32At,
  int32Of,
  type JsonCursor,
  matchPattern,
  skipText,
} from './json-cursor.ts'

/** Index of the 28 characters of an id, and the 96 bits of its digits, highest bits first. */
export type ParsedId = { at: number; readonly bits: Int32Array }

const quote = 34
const letterW = 87
const letterK = 75
const letterH = 72

const prefixWords = { loc_: int32Of('loc_'), dev_: int32Of('dev_') }

/** Read an id of 24 digits in quotes into `target`. */
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

/**
 * Return the values of four hexadecimal digits, one byte each. Other characters produce values above 15, or values for
 * which `digitsOf` returns different characters.
 */
const nibblesOf = (word: number): number => (word & 0x0f0f0f0f) + 9 * ((word >>> 6) & 0x01010101)

/** Return the four lower-case digits of four values: 48 is the code of 0, and a letter is 39 higher. */
const digitsOf = (nibbles: number): number => nibbles + 0x30303030 + 39 * (((nibbles + 0x06060606) >>> 4) & 0x01010101)

/** Pack four values into 16 bits. The first value comes from the lowest byte and goes to the highest bits. */
const bitsOf = (nibbles: number): number =>
  ((nibbles & 15) << 12) | (((nibbles >>> 8) & 15) << 8) | (((nibbles >>> 16) & 15) << 4) | (nibbles >>> 24)

const inboundText = createBytePattern('"INBOUND"')
const outboundText = createBytePattern('"OUTBOUND"')
const importText = createBytePattern('"IMPORT"')
const exportText = createBytePattern('"EXPORT"')
const localWords = { first: int32Of('"LOC'), last: int32Of('CAL"') }
const transferredText = createBytePattern('"TRANSFERRED"')

/**
 * Read an energy flow direction; null for another text. The earlier API version writes IMPORT for INBOUND, EXPORT for
 * OUTBOUND.
 */
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

const dot = 46
const zero = 48
const colon = 58
const letterT = 84
const letterZ = 90

/** Date that was read last: its ten characters as numbers, and its first instant in UTC. */
export type CachedDay = { firstBytes: number; lastBytes: number; at: number }

export const createCachedDay = (): CachedDay => ({ firstBytes: 0, lastBytes: 0, at: Number.NaN })

/**
 * Read a time and return its instant in ms; NaN if `parseInstant` cannot read the time. UTC times of the form
 * `2026-03-29T01:00:00Z`, with or without milliseconds, are read from the bytes.
 */
export const readInstantBytes = (cursor: JsonCursor, day: CachedDay): number => {
  const { bytes, index } = cursor
  const start = index + 1
  if (index + 22 > cursor.length || bytes[index] !== quote || bytes[start + 10] !== letterT)
    return readAnyInstant(cursor)
  if (bytes[start + 13] !== colon || bytes[start + 16] !== colon) return readAnyInstant(cursor)
  const hour = twoDigits(bytes, start + 11)
  const minute = twoDigits(bytes, start + 14)
  const second = twoDigits(bytes, start + 17)
  const hasMilliseconds = bytes[start + 19] === dot
  const end = hasMilliseconds ? start + 23 : start + 19
  const ms = hasMilliseconds ? twoDigits(bytes, start + 20) * 10 + digit(bytes, start + 22) : 0
  const isValidClock = hour <= 23 && minute <= 59 && second <= 59 && ms <= 999
  if (!isValidClock || bytes[end] !== letterZ || bytes[end + 1] !== quote) return readAnyInstant(cursor)
  cursor.index = end + 2
  return cachedDayStart(cursor, start, day) + ((hour * 60 + minute) * 60 + second) * 1000 + ms
}

/**
 * Return the first instant of the date at `start`; NaN for an invalid date. Consecutive times often have the same date.
 */
const cachedDayStart = ({ bytes, view }: JsonCursor, start: number, day: CachedDay): number => {
  const firstBytes = view.getFloat64(start)
  const lastBytes = view.getInt16(start + 8)
  if (firstBytes !== day.firstBytes || lastBytes !== day.lastBytes) {
    day.at =
      parseInstant(`${Buffer.from(bytes.subarray(start, start + 10)).toString('latin1')}T00:00:00Z`) ?? Number.NaN
    day.firstBytes = firstBytes
    day.lastBytes = lastBytes
  }
  return day.at
}

/** Return the digit at an index, or 1,000 for another character. */
const digit = (bytes: Uint8Array, at: number): number => {
  const value = (bytes[at] as number) - zero
  return value >= 0 && value <= 9 ? value : 1000
}

const twoDigits = (bytes: Uint8Array, at: number): number => digit(bytes, at) * 10 + digit(bytes, at + 1)

const readAnyInstant = (cursor: JsonCursor): number => {
  const length = skipText(cursor)
  if (length < 0) return Number.NaN
  return parseInstant(asciiTextBefore(cursor, cursor.index - 1 - length, 1)) ?? Number.NaN
}
