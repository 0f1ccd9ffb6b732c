import { civilDate, dayNumber, daysInMonth } from './civil-date.ts'
import { dayMs, minuteMs } from './interval.ts'
import { accepted, type Result, refused } from './refusal.ts'

/** Instant (integer ms since 1970) and the UTC offset (minutes) of its text. */
export type OffsetInstant = { readonly at: number; readonly offsetMinutes: number }

/** Return two digits of `text` at `index` as a number; NaN if a character is no digit. */
const twoDigits = (text: string, index: number): number => {
  const tens = text.charCodeAt(index) - 48
  const ones = text.charCodeAt(index + 1) - 48
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57

/** Return the UTC offset (minutes) that ends `text` from `index`; NaN if the text has no valid offset there. */
const parseOffset = (text: string, index: number): number => {
  const sign = text.charCodeAt(index)
  if (sign === 90 || sign === 122) return text.length === index + 1 ? 0 : Number.NaN
  if ((sign !== 43 && sign !== 45) || text.length !== index + 6 || text.charCodeAt(index + 3) !== 58) return Number.NaN
  const hours = twoDigits(text, index + 1)
  const minutes = twoDigits(text, index + 4)
  if (!(hours <= 23 && minutes <= 59)) return Number.NaN
  return sign === 43 ? hours * 60 + minutes : 0 - (hours * 60 + minutes)
}

/**
 * Return the local time at the start of `text` in ms, as if in UTC, without the fraction; NaN if it is no RFC 3339 date
 * and time.
 */
const parseWallClock = (text: string): number => {
  const separator = text.charCodeAt(10)
  if (separator !== 84 && separator !== 116) return Number.NaN
  if (
    text.charCodeAt(4) !== 45 ||
    text.charCodeAt(7) !== 45 ||
    text.charCodeAt(13) !== 58 ||
    text.charCodeAt(16) !== 58
  )
    return Number.NaN
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2)
  const month = twoDigits(text, 5)
  const date = twoDigits(text, 8)
  const hour = twoDigits(text, 11)
  const minute = twoDigits(text, 14)
  const second = twoDigits(text, 17)
  if (!(year >= 0 && month >= 1 && month <= 12 && date >= 1 && hour <= 23 && minute <= 59 && second <= 59))
    return Number.NaN
  if (date > 28 && date > daysInMonth(year, month)) return Number.NaN
  return dayNumber(year, month, date) * dayMs + ((hour * 60 + minute) * 60 + second) * 1000
}

/** Return the index after the optional fraction of the seconds; -1 for a decimal point without digits. */
const fractionEnd = (text: string): number => {
  if (text.charCodeAt(19) !== 46) return 19
  let index = 20
  while (isDigit(text.charCodeAt(index))) index += 1
  return index === 20 ? -1 : index
}

/**
 * Read an RFC 3339 text as an instant (ms); undefined if the text is invalid.
 * `T` and `Z` may be in lower case. Digits after the millisecond are cut off. Second 60, hour 24, a space instead of
 * `T`, a missing offset and dates that do not exist are invalid.
 * Source: docs/rules/versions-and-transport.md #instants.
 */
export const parseInstant = (text: string): number | undefined => {
  const wall = parseWallClock(text)
  const end = fractionEnd(text)
  if (Number.isNaN(wall) || end < 0) return undefined
  const offset = parseOffset(text, end)
  if (Number.isNaN(offset)) return undefined
  return wall + milliseconds(text, end) - offset * minuteMs
}

/** Return the first three digits of the fraction that ends before `end`. */
const milliseconds = (text: string, end: number): number => {
  if (end === 19) return 0
  const tenths = (text.charCodeAt(20) - 48) * 100
  const hundredths = end > 21 ? (text.charCodeAt(21) - 48) * 10 : 0
  return tenths + hundredths + (end > 22 ? text.charCodeAt(22) - 48 : 0)
}

/**
 * Read an RFC 3339 text as an instant with its UTC offset. Refuses texts that `parseInstant` cannot read, with `field`.
 */
export const readInstant = (text: string, field: string): Result<OffsetInstant> => {
  const at = parseInstant(text)
  if (at === undefined) {
    return refused(
      'field_invalid',
      `${field} must be an RFC 3339 date and time with an offset, such as 2026-03-29T01:00:00+01:00`,
      field,
    )
  }
  return accepted({ at, offsetMinutes: parseOffset(text, fractionEnd(text)) })
}

const padTwo = (value: number): string => (value < 10 ? `0${value}` : `${value}`)

/** Texts of two digits of a date or a clock. A look-up is faster than a new text. */
const twoDigitTexts: readonly string[] = Array.from({ length: 60 }, (_, value) => padTwo(value))
const twoDigitText = (value: number): string => twoDigitTexts[value] as string

const timeOfDayText = /^([01]\d|2[0-3]):([0-5]\d):([0-5]\d)$/

/** Read a text HH:MM:SS before 24:00:00 as a second of the day; undefined if the text has another form. */
export const parseTimeOfDay = (text: string): number | undefined => {
  const match = timeOfDayText.exec(text)
  return match === null ? undefined : Number(match[1]) * 3600 + Number(match[2]) * 60 + Number(match[3])
}

/** Write a second of a day as HH:MM:SS. The second 86400, the end of the day, is 00:00:00. */
export const formatTimeOfDay = (second: number): string =>
  `${padTwo(Math.floor(second / 3600) % 24)}:${padTwo(Math.floor(second / 60) % 60)}:${padTwo(second % 60)}`

const offsetText = (minutes: number): string => {
  if (minutes === 0) return 'Z'
  const size = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${padTwo(Math.floor(size / 60))}:${padTwo(size % 60)}`
}

/**
 * Write an instant as RFC 3339 at a UTC offset, by default in UTC (`Z`).
 * Seconds are always written, milliseconds (three digits) only if they are not zero: the shortest exact text.
 */
export const writeInstant = (at: number, offsetMinutes = 0): string => {
  const local = at + offsetMinutes * minuteMs
  const day = Math.floor(local / dayMs)
  const { year, month, date } = civilDate(day)
  const msOfDay = local - day * dayMs
  const seconds = Math.floor(msOfDay / 1000)
  const fraction = msOfDay - seconds * 1000
  const minutes = Math.floor(seconds / 60)
  const clock = `${twoDigitText(Math.floor(minutes / 60))}:${twoDigitText(minutes % 60)}:${twoDigitText(seconds % 60)}`
  const fractionText = fraction === 0 ? '' : `.${String(fraction).padStart(3, '0')}`
  const yearText = year > 999 ? year : String(year).padStart(4, '0')
  return `${yearText}-${twoDigitText(month)}-${twoDigitText(date)}T${clock}${fractionText}${offsetText(offsetMinutes)}`
}
