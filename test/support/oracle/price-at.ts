import type { LocationCalendar } from '../../../services/domain/charge/location-calendar.ts'
import type { Rate } from '../../../services/domain/tariff/rate.ts'
import type {
  MarketSeries,
  PricingInput,
  ScheduleEntry,
  Tariff,
  TariffDirection,
  TariffType,
  TimeBand,
} from '../../../services/domain/tariff/tariff.ts'
import { divideHalfEven } from './exact.ts'
import { type LocalClock, localClock, monthStart } from './local-clock.ts'

/** Commodity or non-commodity part of a price at an instant, before the tier is known. */
export type PricePart = {
  /** Null if there is no tariff and the part is free. */
  readonly tariffId: string | null
  readonly rates: readonly Rate[]
  /** Market price. 0 if the tariff has no market rates; null if the market has no price. */
  readonly market: bigint | null
  readonly confidence: number
  /** Start of the counting for the tiers, in ms. */
  readonly countingStart: number
}

export type PartPrice = { readonly price: bigint; readonly tier: bigint }

export type PriceAt = {
  readonly price: bigint
  readonly confidence: number
  readonly commodity: PartPrice & { readonly tariffId: string | null }
  readonly nonCommodity: PartPrice & { readonly tariffId: string | null }
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const
const quarterYearMs = 90 * 24 * 3_600_000
const free: PricePart = {
  tariffId: null,
  rates: [],
  market: 0n,
  confidence: 1,
  countingStart: Number.NEGATIVE_INFINITY,
}

const startOf = (tariff: Tariff): number => tariff.contractStart ?? Number.NEGATIVE_INFINITY
const closeOf = (tariff: Tariff): number => tariff.closedAt ?? Number.POSITIVE_INFINITY

/**
 * Return the tariff that applies at an instant: the tariff with the latest start, unless it is closed.
 * A tariff continues to apply after the end of its contract.
 */
export const tariffAt = (
  input: PricingInput,
  direction: TariffDirection,
  type: TariffType,
  at: number,
): Tariff | null => {
  let last: Tariff | null = null
  for (const tariff of input.tariffs) {
    if (tariff.direction !== direction || tariff.type !== type) continue
    const neverApplies = closeOf(tariff) <= startOf(tariff)
    if (neverApplies || startOf(tariff) > at) continue
    if (last === null || startOf(tariff) > startOf(last)) last = tariff
  }
  return last === null || closeOf(last) <= at ? null : last
}

const contractConfidence = (tariff: Tariff, at: number): number => {
  if (tariff.contractEnd === null || at < tariff.contractEnd) return 1
  const steps = Math.floor((at - tariff.contractEnd) / quarterYearMs)
  return [0.8, 0.6, 0.4][steps] ?? 0.2
}

const dateRank = (entry: ScheduleEntry, clock: LocalClock): number | null => {
  const anyMonth = entry.months.includes('All')
  const name = months[clock.month - 1]
  if (!anyMonth && !entry.months.some(month => month === name)) return null
  if (entry.dates.length > 0 && !entry.dates.includes(clock.date)) return null
  return (entry.dates.length > 0 ? 2 : 0) + (anyMonth ? 0 : 1)
}

const dayRank = (days: readonly string[], clock: LocalClock): number | null => {
  if (days.includes(clock.weekday)) return 2
  const weekend = clock.weekday === 'Sat' || clock.weekday === 'Sun'
  if (days.includes(weekend ? 'Weekend' : 'Weekdays')) return 1
  return days.includes('All') ? 0 : null
}

const covers = (hours: TimeBand, clock: LocalClock): boolean => {
  const second = clock.hour * 3600 + clock.minute * 60 + clock.second
  const end = hours.validTo === 0 ? 86_400 : hours.validTo
  if (hours.validFrom < end) return hours.validFrom <= second && second < end
  return second >= hours.validFrom || second < end
}

const isNamed = (days: readonly string[], day: number, { dayTypes }: LocationCalendar): boolean =>
  dayTypes.some(type => days.includes(`#${type.name}`) && type.days.has(day))

/** Return the class of a block: 2 on a day of a type that it names, 1 on a holiday if it names Holidays, else 0. */
const specialClass = (days: readonly string[], clock: LocalClock, calendar: LocationCalendar | null): number => {
  if (calendar === null) return 0
  const day = Date.UTC(clock.year, clock.month - 1, clock.date) / 86_400_000
  if (isNamed(days, day, calendar)) return 2
  return days.includes('Holidays') && calendar.holidays.has(day) ? 1 : 0
}

/** Return the time band of the highest rank at a local time. Throws if no band or two bands have the highest rank. */
export const bandAt = (
  schedule: readonly ScheduleEntry[],
  clock: LocalClock,
  calendar: LocationCalendar | null = null,
): TimeBand => {
  let best: TimeBand | null = null
  let bestRank = -1
  let twice = false
  for (const entry of schedule) {
    const first = dateRank(entry, clock)
    if (first === null) continue
    for (const { days, hours } of entry.daysAndHours) {
      const special = specialClass(days, clock, calendar)
      const second = special > 0 ? 0 : dayRank(days, clock)
      if (second === null) continue
      const rank = special * 100 + first * 10 + second
      if (rank < bestRank) continue
      for (const band of hours) {
        if (!covers(band, clock)) continue
        twice = rank === bestRank
        best = band
        bestRank = rank
      }
    }
  }
  if (best === null || twice)
    throw new Error(`${twice ? 'Two time bands apply' : 'No time band applies'} at ${JSON.stringify(clock)}.`)
  return best
}

const marketIndex = (series: MarketSeries, at: number): number | null => {
  let low = 0
  let high = series.starts.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((series.ends[middle] ?? 0) <= at) low = middle + 1
    else high = middle
  }
  const start = series.starts[low]
  return start !== undefined && start <= at ? low : null
}

/** Return one part of the price at an instant; null if there is no tariff. */
export const pricePartAt = (
  input: PricingInput,
  direction: TariffDirection,
  type: TariffType,
  at: number,
): PricePart | null => {
  const tariff = tariffAt(input, direction, type, at)
  if (tariff === null) return type === 'NON_COMMODITY' || direction === 'LOCAL' ? free : null
  const zone = input.timeZone.name
  let schedule = tariff.schedule
  for (const version of tariff.versions ?? []) if (version.effectiveFrom <= at) schedule = version.schedule
  const { rate: rates } = bandAt(schedule, localClock(zone, at), input.calendar)
  const confidence = contractConfidence(tariff, at)
  const countingStart = Math.max(monthStart(zone, at), startOf(tariff))
  const part = { tariffId: tariff.id, rates, countingStart }
  if (!tariff.marketRates) return { ...part, market: 0n, confidence }
  const series = direction === 'EXPORT' ? input.exportMarket : input.importMarket
  const index = series === null ? null : marketIndex(series, at)
  if (series === null || index === null) return { ...part, market: null, confidence }
  return {
    ...part,
    market: series.prices[index] ?? null,
    confidence: Math.min(confidence, series.confidences[index] ?? 0),
  }
}

/**
 * Return the price of a part at the tier that follows the counted energy. `tier` is the lower bound of that tier.
 * Null without a market price.
 */
export const priceOfPart = (part: PricePart, counted: bigint): PartPrice | null => {
  if (part.market === null) return null
  let tier = 0n
  for (const rate of part.rates) {
    if (rate.to !== null && rate.to <= counted) {
      tier = rate.to
      continue
    }
    const base = part.market + rate.fixed + rate.surchargeFixed
    return { price: divideHalfEven(base * (10n ** 15n + rate.surchargePercentage), 10n ** 15n), tier }
  }
  return { price: 0n, tier: 0n }
}

/** Return the sum of both parts of a price; null if one part has no price. */
export const joinParts = (
  commodity: PricePart | null,
  nonCommodity: PricePart | null,
  counted: readonly [bigint, bigint],
): PriceAt | null => {
  if (commodity === null || nonCommodity === null) return null
  const first = priceOfPart(commodity, counted[0])
  const second = priceOfPart(nonCommodity, counted[1])
  if (first === null || second === null) return null
  return {
    price: first.price + second.price,
    confidence: Math.min(commodity.confidence, nonCommodity.confidence),
    commodity: { ...first, tariffId: commodity.tariffId },
    nonCommodity: { ...second, tariffId: nonCommodity.tariffId },
  }
}

/**
 * Return the price of one kWh at one instant; null if there is no price.
 * `counted` is the energy that the tiers of the commodity and the non-commodity part counted so far.
 */
export const priceAt = (
  input: PricingInput,
  direction: TariffDirection,
  at: number,
  counted: readonly [bigint, bigint] = [0n, 0n],
): PriceAt | null =>
  joinParts(pricePartAt(input, direction, 'COMMODITY', at), pricePartAt(input, direction, 'NON_COMMODITY', at), counted)
