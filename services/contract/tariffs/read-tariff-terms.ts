import { parseTimeOfDay } from '../../domain/instant.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import { dayNames, monthNames, secondsPerDay } from '../../domain/tariff/day-pattern.ts'
import { maxDayTypes, specialDaysOf } from '../../domain/tariff/special-days.ts'
import type { DaysAndHours, ScheduleEntry, TariffTerms, TimeBand } from '../../domain/tariff/tariff.ts'
import { maxTimeBandsPerDay, validateCoverage } from '../../domain/tariff/validate-coverage.ts'
import { type RateInput, readRates } from './rate.ts'

export type HoursInput = { readonly valid_from: string; readonly valid_to: string; readonly rate: readonly RateInput[] }
export type DaysAndHoursInput = { readonly days?: readonly string[] | null; readonly hours: readonly HoursInput[] }

/** One schedule element of a request; absent months and days are All, absent dates every day. */
export type ScheduleEntryInput = {
  readonly months?: readonly string[] | null
  readonly dates?: readonly number[] | null
  readonly days_and_hours: readonly DaysAndHoursInput[]
}

/** Content of a tariff request: times are instants, numbers are texts, all else as on the wire. */
export type TariffTermsInput = Omit<TariffTerms, 'schedule'> & { readonly schedule: readonly ScheduleEntryInput[] }

const monthChoices: readonly string[] = [...monthNames, 'All']
const dayChoices: readonly string[] = [...dayNames, 'Weekdays', 'Weekend', 'All', 'Holidays', '#name']
const isDayChoice = (name: string): boolean =>
  isDayTypeReference(name) || (dayChoices.includes(name) && !name.startsWith('#'))

/** Maximum lengths of the lists of a schedule. A list of names has each name once, and All alone. */
export const tariffScheduleLimits = {
  entries: 400,
  months: monthNames.length,
  dates: 31,
  days: dayNames.length + ['Weekdays', 'Weekend', 'Holidays'].length + maxDayTypes,
  hours: maxTimeBandsPerDay,
} as const

/**
 * Name of a day type: 1 to 64 letters, digits, spaces, dots, hyphens and underscores, the first of them a letter or
 * digit. Texts of schedules separate names by other characters.
 */
export const dayTypeName = /^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._-]{0,63}$/u

const isDayTypeReference = (name: string): boolean => name.startsWith('#') && dayTypeName.test(name.slice(1))

const readNames = <T extends string>(
  names: readonly string[] | null | undefined,
  choices: readonly string[],
  path: string,
  isChoice = (name: string): boolean => choices.includes(name),
): Result<T[]> => {
  const given = names ?? ['All']
  if (given.length === 0)
    return refused('schedule_invalid', `${path} must name at least one of ${choices.join(', ')}`, path)
  for (const [index, name] of given.entries()) {
    const field = `${path}[${index}]`
    if (!isChoice(name)) return refused('schedule_invalid', `${field} must be one of ${choices.join(', ')}`, field)
    if (given.indexOf(name) !== index) return refused('schedule_invalid', `${field} names ${name} a second time`, field)
    if (name === 'All' && given.length > 1)
      return refused('schedule_invalid', `${path} must name All alone, or leave All out`, path)
  }
  return accepted(given as T[])
}

const readDates = (dates: readonly number[] | null | undefined, path: string): Result<number[]> => {
  const given = dates ?? []
  for (const [index, date] of given.entries()) {
    const field = `${path}[${index}]`
    if (!Number.isInteger(date) || date < 1 || date > 31) {
      return refused('schedule_invalid', `${field} must be a day of the month from 1 to 31`, field)
    }
    if (given.indexOf(date) !== index) return refused('schedule_invalid', `${field} names ${date} a second time`, field)
  }
  return accepted([...given])
}

const readClock = (text: string, field: string): Result<number> => {
  const second = parseTimeOfDay(text)
  if (second !== undefined) return accepted(second)
  return refused('schedule_invalid', `${field} must be a time of day of the form HH:MM:SS`, field)
}

const readHours = (hours: HoursInput, isMarket: boolean, path: string): Result<TimeBand> => {
  const from = readClock(hours.valid_from, `${path}.valid_from`)
  if (!from.ok) return from
  const to = hours.valid_to === '24:00:00' ? accepted(0) : readClock(hours.valid_to, `${path}.valid_to`)
  if (!to.ok) return to
  if (from.value === to.value && from.value !== 0) {
    return refused(
      'schedule_invalid',
      `${path}.valid_to must differ from valid_from: write 00:00:00 twice for the whole day`,
      `${path}.valid_to`,
    )
  }
  const rate = readRates(hours.rate, isMarket, `${path}.rate`)
  return rate.ok
    ? accepted({ validFrom: from.value, validTo: to.value === 0 ? secondsPerDay : to.value, rate: rate.value })
    : rate
}

/** Read each member in turn; the first refusal is that of the list. */
const readEach = <In, Out>(
  members: readonly In[],
  path: string,
  read: (member: In, path: string) => Result<Out>,
): Result<Out[]> => {
  if (members.length === 0) return refused('schedule_invalid', `${path} must not be empty`, path)
  const values: Out[] = []
  for (const [index, member] of members.entries()) {
    const one = read(member, `${path}[${index}]`)
    if (!one.ok) return one
    values.push(one.value)
  }
  return accepted(values)
}

const readBlock = (daysAndHours: DaysAndHoursInput, isMarket: boolean, path: string): Result<DaysAndHours> => {
  const days = readNames<DaysAndHours['days'][number]>(daysAndHours.days, dayChoices, `${path}.days`, isDayChoice)
  if (!days.ok) return days
  // All bands of a block are on the same days.
  if (daysAndHours.hours.length > tariffScheduleLimits.hours)
    return refused(
      'schedule_invalid',
      `${path}.hours must hold at most ${tariffScheduleLimits.hours} bands`,
      `${path}.hours`,
    )
  const hours = readEach(daysAndHours.hours, `${path}.hours`, (timeBand, bandPath) =>
    readHours(timeBand, isMarket, bandPath),
  )
  return hours.ok ? accepted({ days: days.value, hours: hours.value }) : hours
}

const readEntry = (entry: ScheduleEntryInput, isMarket: boolean, path: string): Result<ScheduleEntry> => {
  const months = readNames<ScheduleEntry['months'][number]>(entry.months, monthChoices, `${path}.months`)
  if (!months.ok) return months
  const dates = readDates(entry.dates, `${path}.dates`)
  if (!dates.ok) return dates
  const blocks = readEach(entry.days_and_hours, `${path}.days_and_hours`, (block, blockPath) =>
    readBlock(block, isMarket, blockPath),
  )
  return blocks.ok ? accepted({ months: months.value, dates: dates.value, daysAndHours: blocks.value }) : blocks
}

/** Refuse a tariff for a reason outside its schedule. */
const validateKind = ({
  direction,
  type,
  marketRates,
  contractStart,
  contractEnd,
}: TariffTermsInput): Refusal | undefined => {
  if (type === 'NON_COMMODITY' && direction !== 'IMPORT') {
    return refused('field_invalid', 'direction must be IMPORT for a NON_COMMODITY tariff', 'direction').refusal
  }
  if (marketRates && (type === 'NON_COMMODITY' || direction === 'LOCAL')) {
    const which = direction === 'LOCAL' ? 'LOCAL' : 'NON_COMMODITY'
    return refused('field_invalid', `market_rates must be false for a ${which} tariff`, 'market_rates').refusal
  }
  if (contractStart !== null && contractEnd !== null && contractEnd <= contractStart) {
    return refused('end_before_start', 'contract_end_date must be after contract_start_date', 'contract_end_date')
      .refusal
  }
  return undefined
}

/**
 * Read the terms of a tariff that decide its prices, and validate the schedule over the whole calendar: each instant has
 * exactly one band of highest rank.
 * Refuses the first fault with its path, such as `schedule[0].days_and_hours[1].hours[0].rate[0].fixed`.
 * `schedule_overlap` and `schedule_gap` name the first fault in the order of month, date, weekday and time.
 * Source: docs/rules/tariffs.md #schedule, #time-bands.
 */
export const readTariffTerms = (input: TariffTermsInput): Result<TariffTerms> => {
  const fault = validateKind(input)
  if (fault !== undefined) return { ok: false, refusal: fault }
  if (input.schedule.length > tariffScheduleLimits.entries)
    return refused('schedule_invalid', `schedule must have at most ${tariffScheduleLimits.entries} entries`, 'schedule')
  const schedule = readEach(input.schedule, 'schedule', (entry, path) => readEntry(entry, input.marketRates, path))
  if (!schedule.ok) return schedule
  if (specialDaysOf(schedule.value).filter(name => name !== 'Holidays').length > maxDayTypes)
    return refused('schedule_invalid', `schedule must name at most ${maxDayTypes} day types`, 'schedule')
  const uncovered = validateCoverage(schedule.value)
  if (uncovered !== undefined) return { ok: false, refusal: uncovered }
  const { direction, type, marketRates, contractStart, contractEnd } = input
  return accepted({ direction, type, marketRates, contractStart, contractEnd, schedule: schedule.value })
}
