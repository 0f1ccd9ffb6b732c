import { parseInstant } from '../../../domain/instant.ts'
import { asciiTextBefore, type JsonCursor, skipText } from './json-cursor.ts'

const quote = 34
const dot = 46
const zero = 48
const colon = 58
const letterT = 84
const letterZ = 90

/** A date read last at some place of a record, as its ten characters stand in a body, and the instant at which it begins. */
export type CachedDay = { firstBytes: number; lastBytes: number; at: number }

export const createCachedDay = (): CachedDay => ({ firstBytes: 0, lastBytes: 0, at: Number.NaN })

/**
 * Step over the text of a time and give its instant in ms; NaN for what `parseInstant` does not read. Times in UTC of the form
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

/** The instant at which the date that is written at `start` begins; NaN for none. Most times share it with the one before. */
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

/** A digit, or more than a digit can be. */
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
