import { writeInstant } from '../../domain/instant.ts'
import { dayMs } from '../../domain/interval.ts'

/** Parts of a date that a number format of a cell shows; `elapsed`: hours since 0, above 24 too. */
export type DateFormat = 'date' | 'time' | 'date_time' | 'elapsed'

/** Formats of dates that have a number instead of a text. The language of a user changes their order only. */
const builtInFormats: readonly (readonly [number, number, DateFormat])[] = [
  [14, 17, 'date'],
  [18, 21, 'time'],
  [22, 22, 'date_time'],
  [27, 31, 'date'],
  [32, 35, 'time'],
  [36, 36, 'date'],
  [45, 45, 'time'],
  [46, 46, 'elapsed'],
  [47, 47, 'time'],
  [50, 58, 'date'],
]

/** Return the date format of a number of a built-in format; null if it shows a number. */
export const builtInDateFormat = (id: number): DateFormat | null =>
  builtInFormats.find(([from, to]) => from <= id && id <= to)?.[2] ?? null

/** Return the date format of a format text such as `dd/mm/yyyy hh:mm`; null if it shows a number. */
export const dateFormatOf = (text: string): DateFormat | null => {
  const [first = ''] = text.replace(/"[^"]*"?|\\.|[_*]./g, '').split(';')
  if (/\[[hms]+\]/i.test(first)) return 'elapsed'
  const letters = first.replace(/\[[^\]]*\]?/g, '').toLowerCase()
  if (/general/.test(letters)) return null
  const hasTime = /[hs]/.test(letters)
  const hasDate = /[yd]/.test(letters) || (!hasTime && letters.includes('m'))
  if (hasDate) return hasTime ? 'date_time' : 'date'
  return hasTime ? 'time' : null
}

const maxShownDigits = 15

/**
 * Return the number of a cell with the decimal mark of the file. Files have up to 17 digits, such as 0.30000000000000004 for
 * 0.3. More than 15 digits are rounded to the 15 digits that a spreadsheet shows; fewer digits stay unchanged.
 */
export const numberCellText = (text: string, decimal: '.' | ','): string => {
  const [mantissa = ''] = text.split(/e/i)
  const digits = mantissa.replace(/\D/g, '').replace(/^0+/, '')
  const number = Number(text)
  const isLong = digits.length > maxShownDigits && Number.isFinite(number)
  const rounded = isLong ? String(Number(number.toPrecision(maxShownDigits))) : text
  return decimal === ',' ? rounded.replace('.', ',') : rounded
}

const two = (value: number): string => String(value).padStart(2, '0')

const timeText = (seconds: number): string => {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return `${two(hours)}:${two(minutes)}${seconds % 60 === 0 ? '' : `:${two(seconds % 60)}`}`
}

/** Day 0 of a serial date. The year 1900 has a 29 February in spreadsheets, so days before March 1900 are one later. */
const dayZeros = { 1900: Date.UTC(1899, 11, 30), 1904: Date.UTC(1904, 0, 1) } as const

const maxSerial = 2_958_466
const daySeconds = dayMs / 1000

/**
 * Return the text of a date in a cell, to the second: `2026-03-29`, `00:15`, or both with a space. Seconds are left out if
 * they are 0. A date that hides its time has the time too. Other numbers stay unchanged.
 * Law: a date and a time in two cells are joined to one time of ISO 8601.
 */
export const dateCellText = (text: string, format: DateFormat, system: 1900 | 1904): string => {
  const serial = Number(text)
  if (text === '' || !(serial >= 0 && serial < maxSerial)) return text
  const seconds = Math.round(serial * daySeconds)
  if (format === 'elapsed') return timeText(seconds)
  const time = timeText(seconds % daySeconds)
  if (format === 'time') return time
  const days = Math.floor(seconds / daySeconds)
  const offset = system === 1900 && days < 60 ? 1 : 0
  const date = writeInstant(dayZeros[system] + (days + offset) * dayMs).slice(0, 10)
  return format === 'date' && seconds % daySeconds === 0 ? date : `${date} ${time}`
}
