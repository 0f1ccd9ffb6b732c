import { parseDate } from '../../../domain/civil-date.ts'
import { parseTimeOfDay } from '../../../domain/instant.ts'
import { secondsPerDay } from '../../../domain/tariff/day-pattern.ts'
import { elementsAt, isAbsent, memberAt, requiredText, type SourceField, sourceFault, textAt } from '../source-value.ts'

/** Times at which an element of a tariff applies, in local time. */
export type Restrictions = {
  /** Second of the day, inclusive. */
  readonly startSecond: number
  /** Second of the day, exclusive, 1 … 86400. If it is not after the start, the hours pass midnight. */
  readonly endSecond: number
  /** 0 (Monday) … 6; empty: every day. */
  readonly weekdays: readonly number[]
  /** Local day numbers, start inclusive, end exclusive; null is open. */
  readonly startDay: number | null
  readonly endDay: number | null
  readonly isReservation: boolean
  /** Restrictions by the energy, power or length of a session. */
  readonly perSession: readonly SourceField[]
  /** All members, for the report. */
  readonly paths: readonly string[]
}

const dayNames = ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY', 'SUNDAY']
const timeNames = ['start_time', 'end_time', 'start_date', 'end_date', 'day_of_week', 'reservation']

const readClock = (sourceField: SourceField): number | null => {
  const text = textAt(sourceField)
  if (text === null) return null
  const second = parseTimeOfDay(/^\d\d:\d\d$/.test(text) ? `${text}:00` : text)
  if (second === undefined) throw sourceFault(sourceField.path, 'must be a time of the form HH:MM')
  return second
}

const readDay = (sourceField: SourceField): number | null => {
  const text = textAt(sourceField)
  if (text === null) return null
  const day = parseDate(text)
  if (day === undefined) throw sourceFault(sourceField.path, 'must be a date of the form YYYY-MM-DD')
  return day
}

const readWeekday = (sourceField: SourceField): number => {
  const weekday = dayNames.indexOf(requiredText(sourceField))
  if (weekday < 0) throw sourceFault(sourceField.path, `must be one of ${dayNames.join(', ')}`)
  return weekday
}

/** Read the restrictions of an element. Its members are known. */
export const readRestrictions = (element: SourceField): Restrictions => {
  const sourceField = memberAt(element, 'restrictions')
  const at = (name: string): SourceField =>
    isAbsent(sourceField) ? { path: sourceField.path, value: undefined } : memberAt(sourceField, name)
  const names = isAbsent(sourceField) ? [] : Object.keys(sourceField.value as object)
  const given = names.map(at).filter(one => !isAbsent(one))
  return {
    startSecond: readClock(at('start_time')) ?? 0,
    endSecond: readClock(at('end_time')) || secondsPerDay,
    weekdays: elementsAt(at('day_of_week'), 7).map(readWeekday),
    startDay: readDay(at('start_date')),
    endDay: readDay(at('end_date')),
    isReservation: !isAbsent(at('reservation')),
    perSession: given.filter(({ path }) => !timeNames.includes(path.slice(path.lastIndexOf('/') + 1))),
    paths: given.map(({ path }) => path),
  }
}

/** Return whether an element applies on a local day. */
export const appliesOn = ({ startDay, endDay }: Restrictions, day: number): boolean =>
  (startDay === null || startDay <= day) && (endDay === null || day < endDay)

/** Return whether an element applies at a second of a weekday, in the hours and days of its restrictions. */
export const appliesAt = (
  { startSecond, endSecond, weekdays }: Restrictions,
  weekday: number,
  second: number,
): boolean =>
  (weekdays.length === 0 || weekdays.includes(weekday)) &&
  (startSecond < endSecond ? startSecond <= second && second < endSecond : second >= startSecond || second < endSecond)

/** Return whether an element applies at all hours of all days of the week. */
export const isAlways = ({ startSecond, endSecond, weekdays }: Restrictions): boolean =>
  startSecond === 0 && endSecond === secondsPerDay && (weekdays.length === 0 || weekdays.length === 7)
