import {
  type ConnectAddress,
  type ContractTerm,
  type ContractTermType,
  type CostPeriod,
  type Structure,
  type Surcharge,
  structures,
} from '../../domain/connect/session.ts'
import { parseInstant } from '../../domain/instant.ts'
import { formatDecimal, readDecimal } from '../../domain/quantity.ts'
import { accepted, type Refusal, type RefusalCode, type Result, refused } from '../../domain/refusal.ts'

/** The data of a page as it was posted: objects, lists, texts, booleans. Numbers stand as their texts where a page has numbers. */
export type PageData = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is PageData =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const refuseShape = (field: string, wanted: string) =>
  refused('data_json_invalid', `${field} must be ${wanted}`, `data.${field}`)

/** The member of an object, read as an object; absent and null are empty. */
const objectAt = (data: PageData, name: string): Result<PageData> => {
  const value = data[name] ?? {}
  return isObject(value) ? accepted(value) : refuseShape(name, 'an object')
}

const addressParts = ['address_line1', 'address_line2', 'city', 'state', 'post_code', 'country_code'] as const
const maxTextLength = 255

const missingPartRefusals = {
  address_line1: ['address_line1_missing', 'Give the street and number'],
  city: ['city_missing', 'Give the city'],
  post_code: ['post_code_missing', 'Give the post code'],
  country_code: ['country_code_missing', 'Give the country'],
} as const satisfies Readonly<Record<string, readonly [RefusalCode, string]>>

/**
 * Read an address over what is known of it: parts that are not sent stay, blank ones count as missing. The country is told in any case.
 * Refuses the first part that is missing, `country_code_invalid` for what is no two letters, `data_json_invalid`.
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

/** Read the id that an object of a page names. Refuses `code` where there is none. */
export const readId = (data: PageData, name: 'provider' | 'tariff', code: RefusalCode): Result<string> => {
  const object = objectAt(data, name)
  if (!object.ok) return object
  const id = object.value['id'] ?? ''
  if (typeof id !== 'string') return refuseShape(`${name}.id`, 'a string')
  return id.trim() === '' ? refused(code, `Choose a ${name}`, `data.${name}.id`) : accepted(id.trim())
}

/** Read a name that a person typed, without blanks around it. Refuses `code` for none. */
export const readName = (data: PageData, name: 'provider' | 'tariff', code: RefusalCode): Result<string> => {
  const object = objectAt(data, name)
  if (!object.ok) return object
  const given = object.value['name'] ?? ''
  if (typeof given !== 'string') return refuseShape(`${name}.name`, 'a string')
  if (given.trim() === '') return refused(code, `Give the name of the ${name}`, `data.${name}.name`)
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

/** Pages that turn minor units into major ones send what their arithmetic leaves, such as 0.28350000000000003: it is rounded. */
const costRule = { scale: 9, min: -1_000_000_000_000_000n, max: 1_000_000_000_000_000n, round: true }

/** Read a cost per kWh in major units, to nine decimals. Refuses zero, what is below it, and what is no price. */
const readCostAt = (value: unknown, path: string): Result<string> => {
  if (typeof value !== 'string') return refuseShape(path, 'a number')
  const read = readDecimal(value.trim(), costRule, path)
  if (!read.ok) return refused('data_json_invalid', read.refusal.message, `data.${path}`)
  if (read.value === 0n) return refused('cost_value_zero', 'Give a price above zero', `data.${path}`)
  return read.value < 0n
    ? refused('cost_value_negative', 'Give a price above zero', `data.${path}`)
    : accepted(formatDecimal(read.value, costRule.scale))
}

export const readCost = (data: PageData): Result<string> => readCostAt(data['cost'], 'cost')

const maxPeriods = 96

/** Read the periods of a day with their prices. Refuses as the price and `readPeriods` do. */
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

/** A market region, or null where the choice is left open. */
export const readRegion = (data: PageData): Result<string | null> => {
  const region = data['region'] ?? null
  if (region !== null && typeof region !== 'string') return refuseShape('region', 'a string')
  return accepted(region === '' ? null : region)
}

const percentRule = { scale: 7, min: 0n, max: 5_000_000_000n, round: true }

/** Read a surcharge: `fixed` in major units per kWh, `percentage` in percent, up to 500; what is absent is zero. */
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

/** Read a contract term. A contract that runs until it is terminated has no end. Refuses `date_format_invalid`. */
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
const clockText = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/

/** Seconds of the day; undefined for what is no time of day. 24:00:00 is the end of the day. */
const parseClock = (text: string): number | undefined => {
  if (/^24:00(:00)?$/.test(text)) return 0
  const match = clockText.exec(text)
  return match === null ? undefined : Number(match[1]) * 3600 + Number(match[2]) * 60 + Number(match[3] ?? 0)
}

const padTwo = (value: number): string => String(value).padStart(2, '0')
const formatClock = (second: number): string =>
  `${padTwo(Math.floor(second / 3600) % 24)}:${padTwo(Math.floor(second / 60) % 60)}:${padTwo(second % 60)}`

type DayInterval = { readonly from: number; readonly to: number; readonly index: number }

/** A period that wraps over midnight is two spans of the day; equal ends are the whole day at midnight, and nothing elsewhere. */
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

/** The first place where the spans of a day overlap or leave time open; a day without its beginning or end is not complete. */
const findFault = (intervals: readonly DayInterval[]): Refusal | null => {
  let at = 0
  for (const { from, to, index } of intervals.toSorted((a, b) => a.from - b.from || a.to - b.to)) {
    if (from < at) {
      const message = `The periods overlap at ${formatClock(from)}; each must begin where another one ends`
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
    `The periods leave ${formatClock(from)} to ${formatClock(to)} open; together they must cover the whole day`,
    'data.hours',
  ).refusal

/**
 * Judge the periods of a day: together they cover it, none overlaps; 00:00:00 to 00:00:00 is the whole day, an end before its start wraps
 * over midnight. Gives them with their times as HH:MM:SS. Refuses `valid_from_invalid` (also where periods overlap), `valid_to_invalid`,
 * `gap_in_time_period` between periods, and `incomplete_time_period` where the day's beginning or end is left open.
 */
export const readPeriods = (periods: readonly CostPeriod[]): Result<readonly CostPeriod[]> => {
  if (periods.length === 0)
    return refused('incomplete_time_period', 'Give periods that cover the whole day', 'data.hours')
  const allIntervals: DayInterval[] = []
  for (const [index, period] of periods.entries()) {
    const intervals = dayIntervalsOf(period, index)
    if (!intervals.ok) return intervals
    allIntervals.push(...intervals.value)
  }
  const fault = findFault(allIntervals)
  if (fault !== null) return { ok: false, refusal: fault }
  const normalized = (text: string): string => formatClock(parseClock(text) ?? 0)
  return accepted(
    periods.map(one => ({
      cost: one.cost,
      valid_from: normalized(one.valid_from),
      valid_to: normalized(one.valid_to),
    })),
  )
}
