import { localDayNumber, startOfDayNumber, type TimeZone } from '../../domain/civil-time.ts'
import { writeInstant } from '../../domain/instant.ts'
import { formatDecimal } from '../../domain/quantity.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { dayPattern } from '../../domain/tariff/day-pattern.ts'
import { type Rate, withSurcharges } from '../../domain/tariff/rate.ts'
import { specialDaysOf } from '../../domain/tariff/special-days.ts'
import type { ScheduleEntry, Tariff } from '../../domain/tariff/tariff.ts'
import { schedulesOf } from '../../domain/tariff/tariff-version.ts'
import { type SourceObject, type SourceValue, sourceNumber, writeSource } from './source-value.ts'

/** Tariff to write in a format of others. */
export type WrittenTariff = {
  readonly tariff: Tariff
  readonly name: string
  readonly currencyCode: string
  readonly timeZone: TimeZone
}

/** Prices of a tariff over an interval of instants; null is open. */
type Period = {
  readonly start: number | null
  readonly end: number | null
  readonly schedule: readonly ScheduleEntry[]
}

/** Part of a day at one price, in seconds. */
type Segment = { readonly start: number; readonly end: number; readonly rate: readonly Rate[] }

const months = Array.from({ length: 12 }, (_, index) => index + 1)
const weekdays = [0, 1, 2, 3, 4, 5, 6]
const hourSeconds = 3_600

const refuseTariff = ({ tariff }: WrittenTariff, message: string): Result<never> =>
  refused('schedule_invalid', `Tariff ${tariff.id} ${message}`)

/** Refuse a tariff whose prices no format can say. */
const refuseCommon = (written: WrittenTariff): Result<never> | null => {
  const { direction, marketRates } = written.tariff
  if (direction !== 'IMPORT') return refuseTariff(written, `is a tariff of ${direction}. Only IMPORT can be written`)
  if (marketRates) return refuseTariff(written, 'follows market prices. Only fixed prices can be written')
  const schedules = schedulesOf(written.tariff).map(({ schedule }) => schedule)
  if (schedules.some(schedule => specialDaysOf(schedule).length > 0))
    return refuseTariff(written, 'names Holidays or day types, which the format does not have')
  return schedules.some(schedule => schedule.some(({ dates }) => dates.length > 0))
    ? refuseTariff(written, 'names days of the month, which the format does not have')
    : null
}

const periodsOf = ({ tariff }: WrittenTariff): readonly Period[] => {
  const schedules = schedulesOf(tariff)
  return schedules.map(({ effectiveFrom, schedule }, index) => ({
    start: effectiveFrom,
    end: schedules[index + 1]?.effectiveFrom ?? tariff.contractEnd,
    schedule,
  }))
}

/** Return the parts of a weekday in a month. */
const segmentsOf = (schedule: readonly ScheduleEntry[], month: number, weekday: number): readonly Segment[] =>
  dayPattern(schedule, { month, date: 1, weekday }).map(({ startSecond, endSecond, timeBands }) => ({
    start: startSecond,
    end: endSecond,
    rate: timeBands[0]?.hours.rate ?? [],
  }))

const priceText = (rate: Rate): string => formatDecimal(withSurcharges(rate.fixed, rate).aggregate, 9)

const tiersOf = (rate: readonly Rate[]): readonly SourceObject[] =>
  rate.map(tier => ({
    unit: 'kWh',
    rate: sourceNumber(priceText(tier)),
    ...(tier.to === null ? {} : { max: sourceNumber(formatDecimal(tier.to, 9)) }),
  }))

/** Create a function that numbers equal tiers, and the list of the numbered tiers. */
const numberTiers = () => {
  const known = new Map<string, number>()
  const structure: (readonly SourceObject[])[] = []
  const numberOf = (rate: readonly Rate[]): number => {
    const key = rate.map(tier => `${priceText(tier)} ${tier.to}`).join()
    const index = known.get(key) ?? structure.length
    if (index === structure.length) structure.push(tiersOf(rate))
    known.set(key, index)
    return index
  }
  return { structure, numberOf }
}

const secondsPerDay = 86_400

/** Return the seconds of a local midnight as if in UTC; undefined if the instant is not a local midnight. */
const dayOf = (at: number, { timeZone }: WrittenTariff): number | undefined => {
  const day = localDayNumber(timeZone, at)
  return startOfDayNumber(timeZone, day) === at ? day : undefined
}

/** Return the periods of 24 hours of a day; null if a price changes within an hour. */
const hoursOf = (
  segments: readonly Segment[],
  numberOf: (rate: readonly Rate[]) => number,
): readonly number[] | null =>
  segments.some(({ start }) => start % hourSeconds !== 0)
    ? null
    : segments.flatMap(({ start, end, rate }) =>
        Array.from({ length: (end - start) / hourSeconds }, () => numberOf(rate)),
      )

const toSource = (rows: readonly (readonly number[])[]): SourceValue =>
  rows.map(row => row.map(period => sourceNumber(`${period}`)))

const urdbItem = (written: WrittenTariff, period: Period): Result<SourceObject> => {
  const { tariff, name } = written
  const { structure, numberOf } = numberTiers()
  const rows = months.map(month =>
    weekdays.map(weekday => hoursOf(segmentsOf(period.schedule, month, weekday), numberOf)),
  )
  const grid = (first: number, last: number): readonly (readonly number[])[] | null => {
    const days = rows.map(month => month.slice(first, last + 1))
    const isSame = days.every(month => month.every(day => day !== null && day.join() === month[0]?.join()))
    return isSame ? days.flatMap(month => (month[0] === null || month[0] === undefined ? [] : [month[0]])) : null
  }
  const [weekday, weekend] = [grid(0, 4), grid(5, 6)]
  if (weekday === null || weekend === null)
    return refuseTariff(written, 'has prices of single weekdays or of parts of an hour, which URDB does not have')
  const dates: Record<string, SourceValue> = {}
  for (const [member, at, shift] of [
    ['startdate', period.start, 0],
    ['enddate', period.end, -1],
  ] as const) {
    if (at === null) continue
    const day = dayOf(at, written)
    if (day === undefined) return refuseTariff(written, 'begins or ends within a day, which URDB does not have')
    dates[member] = sourceNumber(`${(day + shift) * secondsPerDay}`)
  }
  return accepted({
    label: tariff.id,
    name,
    servicetype: tariff.type === 'COMMODITY' ? 'Energy' : 'Delivery',
    ...dates,
    energyratestructure: structure,
    energyweekdayschedule: toSource(weekday),
    energyweekendschedule: toSource(weekend),
  })
}

/**
 * Write a tariff as rates of the Utility Rate Database, one for each of its price versions.
 * Law: the import of a file with the rates makes tariffs with the same prices and times.
 * Refuses `schedule_invalid` for prices that the format cannot say exactly.
 * Source: docs/rules/interchange-tariffs.md #tariffs-out.
 */
const toUrdb = (written: WrittenTariff): Result<readonly SourceObject[]> => {
  const refusal = refuseCommon(written)
  if (refusal !== null) return refusal
  if (written.currencyCode !== 'USD') return refuseTariff(written, 'is not in USD')
  const items: SourceObject[] = []
  for (const period of periodsOf(written)) {
    const item = urdbItem(written, period)
    if (!item.ok) return item
    items.push(item.value)
  }
  return accepted(items)
}

const ocpiDays = ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY', 'SUNDAY']

const clockText = (second: number): string => {
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${two(Math.floor(second / hourSeconds) % 24)}:${two(Math.floor(second / 60) % 60)}`
}

/** Return the elements of a schedule without months: one for each price, hours and their weekdays. */
const elementsOf = (schedule: readonly ScheduleEntry[]): readonly SourceObject[] => {
  const parts = weekdays.flatMap(weekday => segmentsOf(schedule, 1, weekday).map(segment => ({ weekday, ...segment })))
  const equal = Map.groupBy(parts, ({ start, end, rate }) => `${start} ${end} ${rate.map(priceText)}`)
  return [...equal.values()].flatMap(same => {
    const [first] = same
    const rate = first?.rate[0]
    if (first === undefined || rate === undefined) return []
    const restrictions = {
      ...(first.start === 0 && first.end === secondsPerDay
        ? {}
        : { start_time: clockText(first.start), end_time: clockText(first.end) }),
      ...(same.length === weekdays.length
        ? {}
        : { day_of_week: same.flatMap(({ weekday }) => ocpiDays[weekday] ?? []) }),
    }
    const component = { type: 'ENERGY', price: sourceNumber(priceText(rate)), step_size: sourceNumber('1') }
    return [{ price_components: [component], ...(Object.keys(restrictions).length === 0 ? {} : { restrictions }) }]
  })
}

/**
 * Write a tariff as tariffs of OCPI 2.2.1, one for each of its price versions. Prices keep all decimals.
 * Law: the import of a file with the tariffs makes tariffs with the same prices and times.
 * Refuses `schedule_invalid` for prices that the format cannot say exactly.
 * Source: docs/rules/interchange-tariffs.md #tariffs-out.
 */
const toOcpi = (written: WrittenTariff): Result<readonly SourceObject[]> => {
  const refusal = refuseCommon(written)
  if (refusal !== null) return refusal
  const { tariff, currencyCode, name } = written
  const schedules = schedulesOf(tariff).flatMap(({ schedule }) => schedule)
  if (schedules.some(({ months: names }) => !names.includes('All')))
    return refuseTariff(written, 'has prices of single months, which OCPI does not have')
  const bands = schedules.flatMap(({ daysAndHours }) => daysAndHours.flatMap(({ hours }) => hours))
  if (bands.some(({ rate }) => rate.length > 1)) return refuseTariff(written, 'has tiers, which OCPI does not have')
  if (bands.some(({ validFrom, validTo }) => validFrom % 60 !== 0 || validTo % 60 !== 0))
    return refuseTariff(written, 'has prices of parts of a minute, which OCPI does not have')
  const tariffs = periodsOf(written).map((period, index) => ({
    country_code: 'XX',
    party_id: 'XXX',
    id: index === 0 ? tariff.id : `${tariff.id}-${index + 1}`,
    currency: currencyCode,
    tariff_alt_text: [{ language: 'en', text: name }],
    ...(period.start === null ? {} : { start_date_time: writeInstant(period.start) }),
    ...(period.end === null ? {} : { end_date_time: writeInstant(period.end) }),
    elements: elementsOf(period.schedule),
  }))
  return accepted(tariffs)
}

/** Formats of others in which tariffs can be written. */
export const writtenTariffFormats = ['urdb', 'ocpi'] as const
export type WrittenTariffFormat = (typeof writtenTariffFormats)[number]

/** Write the objects of a tariff in a format. Refuses what `toUrdb` and `toOcpi` refuse. */
export const toFormat = (format: WrittenTariffFormat, written: WrittenTariff): Result<readonly SourceObject[]> =>
  format === 'urdb' ? toUrdb(written) : toOcpi(written)

/** Write a file with the objects of any number of tariffs. */
export const writeTariffFile = (format: WrittenTariffFormat, objects: readonly SourceObject[]): string =>
  writeSource(format === 'urdb' ? { items: objects } : objects)
