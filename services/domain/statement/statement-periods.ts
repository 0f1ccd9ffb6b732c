import { type DayRange, daysOfMonth, monthOfDay } from '../charge/charge-days.ts'
import { addYears } from '../civil-date.ts'
import { dayMs } from '../interval.ts'
import { accepted, type Result, refused } from '../refusal.ts'

/** Periods of a statement: calendar months clipped to its days, its days as one period, or given periods. */
export type RequestedPeriods = 'MONTH' | 'ONE' | readonly DayRange[]

/** Maximum length of a statement in calendar years. */
export const maxStatementYears = 3
/** Maximum number of given periods. */
export const maxPeriods = 36

const monthsOf = ({ startDay, endDay }: DayRange): readonly DayRange[] => {
  const periods: DayRange[] = []
  for (let day = startDay; day < endDay; ) {
    const end = Math.min(endDay, daysOfMonth(monthOfDay(day)).endDay)
    periods.push({ startDay: day, endDay: end })
    day = end
  }
  return periods
}

const validateGiven = (range: DayRange, periods: readonly DayRange[]): Result<readonly DayRange[]> => {
  if (periods.length > maxPeriods)
    return refused('value_out_of_range', `periods must have at most ${maxPeriods} entries`, 'periods')
  for (const [index, { startDay, endDay }] of periods.entries()) {
    const field = `periods[${index}]`
    if (startDay >= endDay)
      return refused('end_before_start', `${field}.end_date must be after its start_date`, `${field}.end_date`)
    if (startDay !== (index === 0 ? range.startDay : periods[index - 1]?.endDay)) {
      const expected = index === 0 ? 'the start_date of the statement' : 'the end_date of the period before it'
      return refused('periods_not_contiguous', `${field}.start_date must be ${expected}`, `${field}.start_date`)
    }
  }
  const last = periods.length - 1
  if (periods[last]?.endDay === range.endDay) return accepted(periods)
  const field = last < 0 ? 'periods' : `periods[${last}].end_date`
  return refused('periods_not_contiguous', 'The last period must end on the end_date of the statement', field)
}

/**
 * Return the billing periods of a statement: contiguous, in order, covering its days.
 * Refuses an end on or before the start, more than 3 years, and given periods that are more than 36, empty, or not
 * contiguous from the first day to the last.
 */
export const statementPeriods = (range: DayRange, requested: RequestedPeriods): Result<readonly DayRange[]> => {
  if (range.startDay >= range.endDay)
    return refused('end_before_start', 'end_date must be after start_date', 'end_date')
  if (range.endDay * dayMs > addYears(range.startDay * dayMs, maxStatementYears)) {
    const message = `end_date must be at most ${maxStatementYears} years after start_date`
    return refused('interval_too_long', message, 'end_date')
  }
  if (requested === 'ONE') return accepted([range])
  return requested === 'MONTH' ? accepted(monthsOf(range)) : validateGiven(range, requested)
}
