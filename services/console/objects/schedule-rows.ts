import { exactNumber, type JsonNumber, numberText } from '../../contract/json/exact-number.ts'
import type { ScheduleEntryInput } from '../../contract/tariffs/read-tariff-terms.ts'
import { trimEnd } from '../../domain/trim-end.ts'

/** Names of the inputs of a row. */
export const rowNames = [
  'months',
  'dates',
  'days',
  'valid_from',
  'valid_to',
  'fixed',
  'to_kwh',
  'surcharge_fixed',
  'surcharge_percentage',
] as const

type RowName = (typeof rowNames)[number]

/** One price of a schedule as texts: a tier of a time of some days of a season. Percentages are in percent. */
export type ScheduleRow = Readonly<Record<RowName, string>>

type Rate = { readonly fixed?: JsonNumber; readonly to_kwh?: JsonNumber | null } & {
  readonly [Name in 'surcharge_fixed' | 'surcharge_percentage']?: JsonNumber
}

/** Schedule of an answer of the API. */
type Schedule = readonly {
  readonly months: readonly string[]
  readonly dates?: readonly number[] | undefined
  readonly days_and_hours: readonly {
    readonly days: readonly string[]
    readonly hours: readonly {
      readonly valid_from: string
      readonly valid_to: string
      readonly rate: readonly Rate[]
    }[]
  }[]
}[]

const names = (text: string): string[] =>
  text
    .split(',')
    .map(one => one.trim())
    .filter(one => one !== '')

const namesOrAll = (text: string): string[] => {
  const list = names(text)
  return list.length === 0 ? ['All'] : list
}

const clock = (time: string): string => time.replace(/:00$/, '')

/** Write a number; 0 becomes an empty text if `isOptional`. */
const numberOr = (value: JsonNumber | null | undefined, isOptional: boolean): string => {
  const text = value === null || value === undefined ? '' : numberText(value)
  return isOptional && text === '0' ? '' : text
}

/** Move the decimal point of a decimal text by two digits to the right, or to the left. */
export const shifted = (text: string, digits: 2 | -2): string => {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  if (whole === '') return text
  const all = digits === 2 ? whole + fraction.padEnd(2, '0') : whole.padStart(3, '0') + fraction
  const point = digits === 2 ? whole.length + 2 : Math.max(whole.length, 3) - 2
  const value = trimEnd(trimEnd(`${all.slice(0, point)}.${all.slice(point)}`, '0'), '.').replace(/^0+(?=\d)/, '')
  return sign + (value === '' ? '0' : value)
}

/** Return the rows of a schedule, in its order. */
export const rowsOf = (schedule: Schedule, isMarket: boolean): readonly ScheduleRow[] =>
  schedule.flatMap(({ months, dates = [], days_and_hours }) =>
    days_and_hours.flatMap(({ days, hours }) =>
      hours.flatMap(({ valid_from, valid_to, rate }) =>
        rate.map(one => ({
          months: months.join(', '),
          dates: dates.length === 31 ? '' : dates.join(', '),
          days: days.join(', '),
          valid_from: clock(valid_from),
          valid_to: clock(valid_to),
          fixed: numberOr(one.fixed, isMarket),
          to_kwh: numberOr(one.to_kwh, true),
          surcharge_fixed: numberOr(one.surcharge_fixed, true),
          surcharge_percentage: shifted(numberOr(one.surcharge_percentage, true), 2),
        })),
      ),
    ),
  )

type RateDraft = Readonly<Record<string, string>>
type HoursDraft = { readonly valid_from: string; readonly valid_to: string; readonly rate: RateDraft[] }
type DaysDraft = { readonly key: string; readonly days: string[]; readonly hours: HoursDraft[] }
type SeasonDraft = {
  readonly key: string
  readonly months: string[]
  readonly dates: number[]
  readonly days_and_hours: DaysDraft[]
}

/** Schedule of rows, and the number of the first row (from 1) of each path in the schedule. */
export type ReadRows = {
  readonly schedule: readonly ScheduleEntryInput[]
  readonly rowAt: (field: string) => number | null
}

const fullTime = (text: string): string => (/^\d{1,2}:\d{2}$/.test(text) ? `${text.padStart(5, '0')}:00` : text)

const rateOf = (row: ScheduleRow): RateDraft => {
  const decimal = (text: string): string => text.trim().replace(',', '.')
  const members = {
    fixed: decimal(row.fixed),
    to_kwh: decimal(row.to_kwh),
    surcharge_fixed: decimal(row.surcharge_fixed),
    surcharge_percentage: shifted(decimal(row.surcharge_percentage), -2),
  }
  return Object.fromEntries(Object.entries(members).filter(([, text]) => text !== ''))
}

const lastOrNew = <T extends { readonly key: string }>(list: T[], key: string, create: () => T): T => {
  const known = list.find(one => one.key === key)
  if (known !== undefined) return known
  const created = create()
  list.push(created)
  return created
}

/**
 * Collect rows into a schedule. Rows with the same months and dates are a season; rows with the same time of the same
 * days are tiers, in their order. Empty months and days mean All.
 */
export const scheduleOf = (rows: readonly ScheduleRow[]): ReadRows => {
  const seasons: SeasonDraft[] = []
  const places: { readonly path: string; readonly row: number }[] = []
  for (const [index, row] of rows.entries()) {
    const [months, dates, days] = [namesOrAll(row.months), names(row.dates), namesOrAll(row.days)]
    const season = lastOrNew(seasons, `${months.join()} ${dates.join()}`, () => ({
      key: `${months.join()} ${dates.join()}`,
      months,
      dates: dates.map(Number),
      days_and_hours: [],
    }))
    const block = lastOrNew(season.days_and_hours, days.join(), () => ({
      key: days.join(),
      days,
      hours: [],
    }))
    const [valid_from, valid_to] = [fullTime(row.valid_from.trim()), fullTime(row.valid_to.trim())]
    let time = block.hours.find(one => one.valid_from === valid_from && one.valid_to === valid_to)
    if (time === undefined) {
      time = { valid_from, valid_to, rate: [] }
      block.hours.push(time)
    }
    time.rate.push(rateOf(row))
    const seasonPath = `schedule[${seasons.indexOf(season)}]`
    const blockPath = `${seasonPath}.days_and_hours[${season.days_and_hours.indexOf(block)}]`
    const timePath = `${blockPath}.hours[${block.hours.indexOf(time)}]`
    for (const path of [seasonPath, blockPath, timePath, `${timePath}.rate[${time.rate.length - 1}]`])
      places.push({ path, row: index + 1 })
  }
  return {
    schedule: seasons.map(({ months, dates, days_and_hours }) => ({
      months,
      ...(dates.length === 0 ? {} : { dates }),
      days_and_hours: days_and_hours.map(({ days, hours }) => ({ days, hours })),
    })),
    rowAt: field => {
      const found = places
        .filter(({ path }) => field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`))
        .toSorted((a, b) => b.path.length - a.path.length || a.row - b.row)
      return found[0]?.row ?? null
    },
  }
}

const jsonNumberOf = (text: string): JsonNumber =>
  /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text) ? exactNumber(text) : Number(text)

/** Body of a request with the schedule: the texts of prices become numbers. */
export const scheduleBody = (schedule: readonly ScheduleEntryInput[]) =>
  schedule.map(({ days_and_hours, ...season }) => ({
    ...season,
    days_and_hours: days_and_hours.map(({ days, hours }) => ({
      days,
      hours: hours.map(({ rate, ...time }) => ({
        ...time,
        rate: rate.map(one =>
          Object.fromEntries(Object.entries(one).map(([name, value]) => [name, jsonNumberOf(String(value))])),
        ),
      })),
    })),
  }))
