import { formatTimeOfDay, parseInstant } from '../../domain/instant.ts'
import { formatDecimal, percentageScale, readDecimal } from '../../domain/quantity.ts'
import { accepted, type Refusal, type RefusalCode, type Result, refused } from '../../domain/refusal.ts'
import {
  type ConnectAddress,
  type ContractTerm,
  type ContractTermType,
  type CostPeriod,
  type Structure,
  type Surcharge,
  structures,
} from '../domain/session.ts'

/** Data of a page: objects, lists, texts, booleans. The numbers of number members are texts. */
export type PageData = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is PageData =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const refuseShape = (field: string, wanted: string) =>
  refused('data_json_invalid', `${field} must be ${wanted}`, `data.${field}`)

/** Read a member as an object; absent and null are an empty object. */
const objectAt = (data: PageData, name: string): Result<PageData> => {
  const value = data[name] ?? {}
  return isObject(value) ? accepted(value) : refuseShape(name, 'an object')
}

const addressParts = ['address_line1', 'address_line2', 'city', 'state', 'post_code', 'country_code'] as const
const maxTextLength = 255

const missingPartRefusals = {
  address_line1: ['address_line1_missing', 'Enter the street and number'],
  city: ['city_missing', 'Enter the city'],
  post_code: ['post_code_missing', 'Enter the post code'],
  country_code: ['country_code_missing', 'Enter the country'],
} as const satisfies Readonly<Record<string, readonly [RefusalCode, string]>>

/**
 * Read an address. Absent parts come from `knownAddress`; blank parts are missing. The country is always in capitals.
 * Refuses the first missing part, `country_code_invalid` if the country is not two letters, and `data_json_invalid`.
 */
export const readAddress = (data: PageData, knownAddress: ConnectAddress): Result<ConnectAddress> => {
  const sent = objectAt(data, 'postal_address')
  if (!sent.ok) return sent
  const merged: Record<string, string> = {}
  for (const part of addressParts) {
    const value = sent.value[part] ?? (part in sent.value ? '' : knownAddress[part]) ?? ''
    if (typeof value !== 'string') return refuseShape(`postal_address.${part}`, 'a string')
    if (value.length > maxTextLength)
      return refuseShape(`postal_address.${part}`, `a string of at most ${maxTextLength} characters`)
    if (value.trim() !== '') merged[part] = value.trim()
  }
  for (const part of Object.keys(missingPartRefusals) as (keyof typeof missingPartRefusals)[]) {
    const [code, message] = missingPartRefusals[part]
    if (merged[part] === undefined) return refused(code, message, `data.postal_address.${part}`)
  }
  const country = (merged['country_code'] ?? '').toUpperCase()
  if (country === 'UK') return refuseUk
  if (!/^[A-Z]{2}$/.test(country)) return refuseCountry
  return accepted({ ...merged, country_code: country })
}

const refuseUk = refused(
  'country_code_invalid',
  'The country must be GB for the United Kingdom, not UK',
  'data.postal_address.country_code',
)

export const refuseCountry = refused(
  'country_code_invalid',
  'The country must be a two-letter code of ISO 3166-1, such as DE',
  'data.postal_address.country_code',
)

/** Read the id of an object of a page. Refuses a missing id with `code`. */
export const readId = (data: PageData, name: 'provider' | 'tariff', code: RefusalCode): Result<string> => {
  const object = objectAt(data, name)
  if (!object.ok) return object
  const id = object.value['id'] ?? ''
  if (typeof id !== 'string') return refuseShape(`${name}.id`, 'a string')
  return id.trim() === '' ? refused(code, `Choose a ${name}`, `data.${name}.id`) : accepted(id.trim())
}

/** Read a name without leading and trailing spaces. Refuses a missing name with `code`. */
export const readName = (data: PageData, name: 'provider' | 'tariff', code: RefusalCode): Result<string> => {
  const object = objectAt(data, name)
  if (!object.ok) return object
  const given = object.value['name'] ?? ''
  if (typeof given !== 'string') return refuseShape(`${name}.name`, 'a string')
  if (given.trim() === '') return refused(code, `Enter the name of the ${name}`, `data.${name}.name`)
  return given.trim().length > maxTextLength
    ? refuseShape(`${name}.name`, `a string of at most ${maxTextLength} characters`)
    : accepted(given.trim())
}

/** Read the structure of a tariff: exactly one option. Refuses `option_invalid`. */
export const readStructure = (data: PageData): Result<Structure> => {
  const options = data['options'] ?? []
  if (!Array.isArray(options)) return refuseShape('options', 'a list')
  const known = structures.find(one => one === options[0])
  return options.length === 1 && known !== undefined
    ? accepted(known)
    : refused('option_invalid', `Choose exactly one of ${structures.join(', ')}`, 'data.options')
}

/** Costs are rounded, because pages that convert minor units send values such as 0.28350000000000003. */
const costRule = { scale: 9, min: -1_000_000_000_000_000n, max: 1_000_000_000_000_000n, round: true }

/** Read a cost per kWh in major units, with nine decimals. Refuses zero, negative values and other texts. */
const readCostAt = (value: unknown, path: string): Result<string> => {
  if (typeof value !== 'string') return refuseShape(path, 'a number')
  const read = readDecimal(value.trim(), costRule, path)
  if (!read.ok) return refused('data_json_invalid', read.refusal.message, `data.${path}`)
  if (read.value === 0n) return refused('cost_value_zero', 'Enter a price above zero', `data.${path}`)
  return read.value < 0n
    ? refused('cost_value_negative', 'Enter a price above zero', `data.${path}`)
    : accepted(formatDecimal(read.value, costRule.scale))
}

export const readCost = (data: PageData): Result<string> => readCostAt(data['cost'], 'cost')

const maxPeriods = 96

/** Read the periods of a day with their prices. Refuses invalid prices, and periods that `readPeriods` refuses. */
export const readHours = (data: PageData): Result<readonly CostPeriod[]> => {
  const hours = data['hours']
  if (!Array.isArray(hours) || hours.length > maxPeriods)
    return refuseShape('hours', `a list of at most ${maxPeriods} periods`)
  const periods: CostPeriod[] = []
  for (const [index, period] of hours.entries()) {
    if (!isObject(period)) return refuseShape(`hours[${index}]`, 'an object')
    const cost = readCostAt(period['cost'], `hours[${index}].cost`)
    if (!cost.ok) return cost
    const text = (name: string): string => (typeof period[name] === 'string' ? period[name].trim() : '')
    periods.push({ cost: cost.value, valid_from: text('valid_from'), valid_to: text('valid_to') })
  }
  return readPeriods(periods)
}

/** Read a market region; null without a choice. */
export const readRegion = (data: PageData): Result<string | null> => {
  const region = data['region'] ?? null
  if (region !== null && typeof region !== 'string') return refuseShape('region', 'a string')
  return accepted(region === '' ? null : region)
}

const percentRule = { scale: percentageScale - 2, min: 0n, max: 5n * 10n ** BigInt(percentageScale), round: true }

/** Read a surcharge: `fixed` in major units per kWh, `percentage` from 0 to 500. An absent value is zero. */
export const readSurcharge = (data: PageData): Result<Surcharge> => {
  const object = objectAt(data, 'surcharge')
  if (!object.ok) return object
  const { fixed = '0', percentage = '0' } = object.value
  const refusePercentage = (message: string) =>
    refused('surcharge_percentage_invalid', message, 'data.surcharge.percentage')
  if (typeof percentage !== 'string') return refusePercentage('The surcharge must be a number of percent')
  const percent = readDecimal(percentage.trim(), percentRule, 'percentage')
  if (!percent.ok) return refusePercentage('The surcharge must be from 0 to 500 percent')
  if (typeof fixed !== 'string') return refuseShape('surcharge.fixed', 'a number')
  const price = readDecimal(fixed.trim(), costRule, 'surcharge.fixed')
  if (!price.ok) return refused('data_json_invalid', price.refusal.message, 'data.surcharge.fixed')
  return accepted({
    fixed: formatDecimal(price.value, costRule.scale),
    percentage: formatDecimal(percent.value, percentRule.scale),
  })
}

const termTypes: readonly ContractTermType[] = ['UNTIL_TERMINATED', 'FIXED', '']

const readDate = (data: PageData, name: string): Result<number | null> => {
  const value = data[name] ?? null
  if (value === null || value === '') return accepted(null)
  const at = typeof value === 'string' ? parseInstant(value) : undefined
  return at === undefined
    ? refused(
        'date_format_invalid',
        `${name} must be an RFC 3339 date and time, such as 2026-01-01T00:00:00Z`,
        `data.${name}`,
      )
    : accepted(at)
}

/** Read a contract term. An UNTIL_TERMINATED contract has no end. Refuses `date_format_invalid`. */
export const readTerm = (data: PageData): Result<ContractTerm> => {
  const start = readDate(data, 'contract_start_date')
  if (!start.ok) return start
  const end = readDate(data, 'contract_end_date')
  if (!end.ok) return end
  const given = data['contract_term_type'] ?? ''
  const type = termTypes.find(one => one === given)
  if (type === undefined) return refuseShape('contract_term_type', 'UNTIL_TERMINATED or FIXED')
  const contractEnd = type === 'UNTIL_TERMINATED' ? null : end.value
  if (start.value !== null && contractEnd !== null && contractEnd <= start.value) {
    return refused('date_format_invalid', 'The contract must end after it starts', 'data.contract_end_date')
  }
  return accepted({ start: start.value, end: contractEnd, type })
}

const daySeconds = 86_400
const clockPattern = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/

/** Return the second of the day; undefined for an invalid time. 24:00:00 is the end of the day, returned as 0. */
const parseClock = (text: string): number | undefined => {
  if (/^24:00(:00)?$/.test(text)) return 0
  const match = clockPattern.exec(text)
  return match === null ? undefined : Number(match[1]) * 3600 + Number(match[2]) * 60 + Number(match[3] ?? 0)
}

type DayInterval = { readonly from: number; readonly to: number; readonly index: number }

/**
 * Return the parts of a period on one day: two parts over midnight. Equal times mean the whole day at 00:00:00 only.
 */
const dayIntervalsOf = (period: CostPeriod, index: number): Result<readonly DayInterval[]> => {
  const field = `data.hours[${index}]`
  const from = parseClock(period.valid_from)
  if (from === undefined)
    return refused('valid_from_invalid', 'valid_from must be a time of day such as 07:00:00', `${field}.valid_from`)
  const to = parseClock(period.valid_to)
  if (to === undefined)
    return refused('valid_to_invalid', 'valid_to must be a time of day such as 23:30:00', `${field}.valid_to`)
  if (from === to && from !== 0)
    return refused('valid_to_invalid', 'valid_to must differ from valid_from', `${field}.valid_to`)
  const end = to === 0 ? daySeconds : to
  if (from < end) return accepted([{ from, to: end, index }])
  return accepted([
    { from, to: daySeconds, index },
    { from: 0, to: end, index },
  ])
}

/** Return the refusal of the first overlap or gap; null if the intervals cover the day. */
const findFault = (intervals: readonly DayInterval[]): Refusal | null => {
  let at = 0
  for (const { from, to, index } of intervals.toSorted((a, b) => a.from - b.from || a.to - b.to)) {
    if (from < at) {
      const message = `The periods overlap at ${formatTimeOfDay(from)}; each must begin where another one ends`
      return refused('valid_from_invalid', message, `data.hours[${index}].valid_from`).refusal
    }
    if (from > at) return refuseOpenTime(at, from, at === 0)
    at = to
  }
  return at < daySeconds ? refuseOpenTime(at, daySeconds, true) : null
}

const refuseOpenTime = (from: number, to: number, isEdge: boolean): Refusal =>
  refused(
    isEdge ? 'incomplete_time_period' : 'gap_in_time_period',
    `The periods leave ${formatTimeOfDay(from)} to ${formatTimeOfDay(to)} open; together they must cover the whole day`,
    'data.hours',
  ).refusal

/**
 * Validate the periods of a day. They must cover the day without overlaps. 00:00:00 to 00:00:00 is the whole day; an
 * end before the start is on the next day. Returns the periods with times as HH:MM:SS. Refuses `valid_from_invalid`
 * (also for overlaps), `valid_to_invalid`, `gap_in_time_period` between periods, and `incomplete_time_period` at the
 * start or end of the day.
 */
export const readPeriods = (periods: readonly CostPeriod[]): Result<readonly CostPeriod[]> => {
  if (periods.length === 0)
    return refused('incomplete_time_period', 'Enter periods that cover the whole day', 'data.hours')
  const allIntervals: DayInterval[] = []
  for (const [index, period] of periods.entries()) {
    const intervals = dayIntervalsOf(period, index)
    if (!intervals.ok) return intervals
    allIntervals.push(...intervals.value)
  }
  const fault = findFault(allIntervals)
  if (fault !== null) return { ok: false, refusal: fault }
  const normalized = (text: string): string => formatTimeOfDay(parseClock(text) ?? 0)
  return accepted(
    periods.map(one => ({
      cost: one.cost,
      valid_from: normalized(one.valid_from),
      valid_to: normalized(one.valid_to),
    })),
  )
}
