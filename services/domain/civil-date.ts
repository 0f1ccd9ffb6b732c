import { dayMs } from './interval.ts'

/** Date of the proleptic Gregorian calendar: month 1 … 12, date 1 … 31. */
export type CivilDate = { readonly year: number; readonly month: number; readonly date: number }

const daysBeforeMonth = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]
const daysInCommonMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)

/** Return the number of days of a month (1 … 12). */
export const daysInMonth = (year: number, month: number): number =>
  month === 2 && isLeap(year) ? 29 : (daysInCommonMonth[month - 1] as number)

/** Return the number of days from 1970-01-01 to a date. The year is 0 or later. The date must exist. */
export const dayNumber = (year: number, month: number, date: number): number => {
  // Leap days before this year. Year 0 is a leap year.
  const before = year - 1
  const leapDays = Math.floor(before / 4) - Math.floor(before / 100) + Math.floor(before / 400) + 1
  const isLeapDayPassed = month > 2 && isLeap(year) ? 1 : 0
  return year * 365 + leapDays + (daysBeforeMonth[month - 1] as number) + isLeapDayPassed + date - 1 - 719_528
}

/**
 * Return the date of a day number; the inverse of `dayNumber`.
 * Source: H. Hinnant, https://howardhinnant.github.io/date_algorithms.html.
 */
export const civilDate = (day: number): CivilDate => {
  const shifted = day + 719_468
  const cycle = Math.floor(shifted / 146_097)
  const dayOfCycle = shifted - cycle * 146_097
  const yearOfCycle = Math.floor(
    (dayOfCycle - Math.floor(dayOfCycle / 1460) + Math.floor(dayOfCycle / 36_524) - Math.floor(dayOfCycle / 146_096)) /
      365,
  )
  const dayOfYear = dayOfCycle - (365 * yearOfCycle + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100))
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  const date = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1
  return { year: yearOfCycle + cycle * 400 + (month <= 2 ? 1 : 0), month, date }
}

const padded = (value: number, digits: number): string => String(value).padStart(digits, '0')

/** Write a month as YYYY-MM. `month` is 1 … 12. */
export const writeMonth = (year: number, month: number): string => `${padded(year, 4)}-${padded(month, 2)}`

/** Write a day number as YYYY-MM-DD. */
export const writeDate = (day: number): string => {
  const { year, month, date } = civilDate(day)
  return `${writeMonth(year, month)}-${padded(date, 2)}`
}

/** Read a text YYYY-MM-DD as a day number; undefined if the text has another form or the date does not exist. */
export const parseDate = (text: string): number | undefined => {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)
  if (match === null) return undefined
  const [year, month, date] = [Number(match[1]), Number(match[2]), Number(match[3])]
  const exists = month >= 1 && month <= 12 && date >= 1 && date <= daysInMonth(year, month)
  return exists ? dayNumber(year, month, date) : undefined
}

/** Return the weekday of a day number: 0 is Monday, 6 is Sunday. */
export const weekdayOf = (day: number): number => (((day + 3) % 7) + 7) % 7

/** Add calendar years to an instant. Both are ms of one local time. 29 February becomes 28 February in common years. */
export const addYears = (at: number, years: number): number => {
  const day = Math.floor(at / dayMs)
  const { year, month, date } = civilDate(day)
  return at + (dayNumber(year + years, month, Math.min(date, daysInMonth(year + years, month))) - day) * dayMs
}
