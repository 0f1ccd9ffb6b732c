import { civilDate, dayNumber, daysInMonth } from '../civil-date.ts'
import { localDayNumber, startOfDayNumber, type TimeZone } from '../civil-time.ts'
import type { PriceUnit } from './charge.ts'

/** Local days [startDay, endDay) as day numbers of `civil-date.ts`. */
export type DayRange = { readonly startDay: number; readonly endDay: number }

/** Weights of days are integers of 1 / 1,681,363,740, the least common multiple of all lengths of months and years. */
export const weightDenominator: number = 4 * 3 * 5 * 7 * 29 * 31 * 61 * 73

/** Return the number of a month: months since January of year 0. */
export const monthNumberOf = (year: number, month: number): number => year * 12 + month - 1

/** Return the number of the month of a day. */
export const monthOfDay = (day: number): number => {
  const { year, month } = civilDate(day)
  return monthNumberOf(year, month)
}

/** Return the calendar month (1 … 12) of a month number. */
export const calendarMonthOf = (month: number): number => (month % 12) + 1

/** Return the days of a month by its number. */
export const daysOfMonth = (month: number): DayRange => {
  const startDay = dayNumber(Math.floor(month / 12), calendarMonthOf(month), 1)
  return { startDay, endDay: startDay + daysInMonth(Math.floor(month / 12), calendarMonthOf(month)) }
}

const daysInYear = (year: number): number => dayNumber(year + 1, 1, 1) - dayNumber(year, 1, 1)

/** Return the sum of the weights of days, in 1 / `weightDenominator`. An empty range has sum 0. */
export const sumOfWeights = (unit: PriceUnit, { startDay, endDay }: DayRange): number => {
  if (unit === 'DAY') return Math.max(0, endDay - startDay) * weightDenominator
  let sum = 0
  for (let day = startDay; day < endDay; ) {
    const { year, month } = civilDate(day)
    const last = Math.min(endDay, daysOfMonth(monthNumberOf(year, month)).endDay)
    sum += (last - day) * (weightDenominator / (unit === 'MONTH' ? daysInMonth(year, month) : daysInYear(year)))
    day = last
  }
  return sum
}

/**
 * Return the days on which a whole price is paid: the first day of each unit, and the first day of the charge if it
 * starts inside a unit.
 */
export const wholePriceDays = (
  unit: PriceUnit,
  { startDay, endDay }: DayRange,
  chargeStart: number | null,
): readonly number[] => {
  const days: number[] = []
  for (let day = startDay; day < endDay; day += 1) {
    const { month, date } = civilDate(day)
    const isFirst = unit === 'DAY' || (date === 1 && (unit === 'MONTH' || month === 1))
    if (isFirst || day === chargeStart) days.push(day)
  }
  return days
}

/** Return the days of a range on which a charge is paid; null if there are none. */
export const paidDays = (
  { startDay, endDay }: { readonly startDay: number | null; readonly endDay: number | null },
  range: DayRange,
): DayRange | null => {
  const paid = {
    startDay: Math.max(range.startDay, startDay ?? range.startDay),
    endDay: Math.min(range.endDay, endDay ?? range.endDay),
  }
  return paid.startDay < paid.endDay ? paid : null
}

/** Local days [startDay, endDay) of a charge; null is open. */
export type ChargeDays = { readonly startDay: number | null; readonly endDay: number | null }

const firstDayFrom = (zone: TimeZone, at: number): number => {
  const day = localDayNumber(zone, at)
  return startOfDayNumber(zone, day) === at ? day : day + 1
}

/**
 * Return the local days that begin in [start, end) of a tariff (ms; null is open). Tariffs that follow each other thus
 * never pay a day twice, and leave no day out. Null if no day begins in the interval.
 */
export const chargeDaysOf = (
  zone: TimeZone,
  { start, end }: { readonly start: number | null; readonly end: number | null },
): ChargeDays | null => {
  const startDay = start === null ? null : firstDayFrom(zone, start)
  const endDay = end === null ? null : firstDayFrom(zone, end)
  return startDay !== null && endDay !== null && endDay <= startDay ? null : { startDay, endDay }
}
