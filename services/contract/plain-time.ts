import { parseInstant } from '../domain/instant.ts'
import { asciiBefore, type JsonCursor, takeText } from './json-cursor.ts'

const quote = 34
const dot = 46
const zero = 48
const colon = 58
const letterT = 84
const letterZ = 90

/** A date read last at some place of a record, as its ten characters stand in a body, and the instant at which it begins. */
export type LastDay = { first: number; last: number; at: number }

export const lastDay = (): LastDay => ({ first: 0, last: 0, at: Number.NaN })

/**
 * Step over the text of a time and give its instant in ms; NaN for what `parseInstant` does not read. Times in UTC of the form
 * `2026-03-29T01:00:00Z`, with or without milliseconds, are read from the bytes.
 */
export const takeInstant = (from: JsonCursor, day: LastDay): number => {
  const { bytes, at } = from
  const start = at + 1
  if (at + 22 > from.length || bytes[at] !== quote || bytes[start + 10] !== letterT) return takeOther(from)
  if (bytes[start + 13] !== colon || bytes[start + 16] !== colon) return takeOther(from)
  const hour = pair(bytes, start + 11)
  const minute = pair(bytes, start + 14)
  const second = pair(bytes, start + 17)
  const isFine = bytes[start + 19] === dot
  const end = isFine ? start + 23 : start + 19
  const ms = isFine ? pair(bytes, start + 20) * 10 + digit(bytes, start + 22) : 0
  const isClock = hour <= 23 && minute <= 59 && second <= 59 && ms <= 999
  if (!isClock || bytes[end] !== letterZ || bytes[end + 1] !== quote) return takeOther(from)
  from.at = end + 2
  return dayAt(from, start, day) + ((hour * 60 + minute) * 60 + second) * 1000 + ms
}

/** The instant at which the date that is written at `start` begins; NaN for none. Most times share it with the one before. */
const dayAt = ({ bytes, view }: JsonCursor, start: number, day: LastDay): number => {
  const first = view.getFloat64(start)
  const last = view.getInt16(start + 8)
  if (first !== day.first || last !== day.last) {
    day.at = parseInstant(`${Buffer.from(bytes.subarray(start, start + 10)).toString('latin1')}T00:00:00Z`) ?? Number.NaN
    day.first = first
    day.last = last
  }
  return day.at
}

/** A digit, or more than a digit can be. */
const digit = (bytes: Uint8Array, at: number): number => {
  const value = (bytes[at] as number) - zero
  return value >= 0 && value <= 9 ? value : 1000
}

const pair = (bytes: Uint8Array, at: number): number => digit(bytes, at) * 10 + digit(bytes, at + 1)

const takeOther = (from: JsonCursor): number => {
  const length = takeText(from)
  if (length < 0) return Number.NaN
  return parseInstant(asciiBefore(from, from.at - 1 - length, 1)) ?? Number.NaN
}
