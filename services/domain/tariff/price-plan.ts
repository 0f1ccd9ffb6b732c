import type { LocationCalendar } from '../charge/location-calendar.ts'
import { civilDate, weekdayOf } from '../civil-date.ts'
import { nextLocalMonth, startOfLocalMonth, type TimeZone, utcOffsetPeriods } from '../civil-time.ts'
import { dayMs } from '../interval.ts'
import type { Price } from '../quantity.ts'
import { firstIndexAbove } from '../sorted.ts'
import type { CompiledSchedule } from './compiled-schedule.ts'
import type { Rate } from './rate.ts'
import { specialDayMask } from './special-days.ts'
import type { MarketSeries } from './tariff.ts'
import { freeOfCharge, marketTierPrices, type TierPrice, tierPrices } from './tier-price.ts'

/**
 * Prices in which only tiers can change the price. `commodity` is empty if there is no price. Confidence is in 1e-4.
 * `price` is the complete price unless `isTiered`.
 * The segments of a market tariff in a plan day have `ratesBeforeMarket`: their rates still lack the market price.
 * `atMarketPrice` adds it.
 * Within one plan, segments with equal time bands, market price and confidence are equal.
 */
export type PriceSegment = {
  readonly commodity: readonly TierPrice[]
  readonly nonCommodity: readonly TierPrice[]
  readonly isTiered: boolean
  readonly price: Price
  readonly confidence: number
  readonly marketSourceId: string | null
  readonly timeBands: TimeBandPair
  readonly market: Price | null
  readonly ratesBeforeMarket: readonly Rate[] | null
}

type TimeBandPair = { readonly commodity: number; readonly nonCommodity: number }

/**
 * Time bands of one UTC day: `segments[i]` applies from `starts[i]` to the next start, the last one to the end of the
 * day.
 * Neighbours differ, except at `nextMonth`, which is always an edge. `monthStart` applies before `nextMonth`.
 */
export type PlanDay = {
  readonly starts: readonly number[]
  readonly segments: readonly PriceSegment[]
  readonly monthStart: number
  readonly nextMonth: number
}

/**
 * Schedules of both types with their zone, calendar and market. `commodity` null means no tariff and no price; with
 * `isFree`, energy without a tariff costs nothing. `calendar` is null if no schedule names special days.
 */
export type PlanInput = {
  readonly zone: TimeZone
  readonly calendar: LocationCalendar | null
  readonly commodity: CompiledSchedule | null
  readonly nonCommodity: CompiledSchedule | null
  readonly isFree: boolean
  readonly market: MarketSeries | null
}

type OnDayBuilt = (plan: PricePlan, bytes: number) => void

/**
 * Look-up structure for prices. `days` are built on first use and can be cleared at any time. `onDayBuilt` receives the
 * approximate number of bytes that a day adds.
 */
export type PricePlan = PlanInput & {
  readonly segmentByTimeBands: Map<number, PriceSegment>
  readonly days: Map<number, PlanDay>
  readonly onDayBuilt: OnDayBuilt
  readonly latest: LatestSegment
}

/**
 * Last segment at a market price, with the index of its interval in the series. Records arrive roughly in order of
 * time, so one cached segment is enough.
 * Plans can share it, because `timeBands` belong to one plan. A cache per plan would need memory for longer than it is
 * used.
 */
export type LatestSegment = { interval: number; segment: PriceSegment | null }

type TimeBandRuns = { readonly starts: readonly number[]; readonly values: readonly number[] }

/**
 * Return the time bands of a schedule in [from, to). The edges of the local clock are converted with each UTC offset
 * that applies.
 */
const timeBandRuns = (
  schedule: CompiledSchedule,
  { zone, calendar }: PricePlan,
  from: number,
  to: number,
): TimeBandRuns => {
  const starts: number[] = []
  const values: number[] = []
  for (const { start, end, offset } of utcOffsetPeriods(zone, from, to)) {
    for (let day = Math.floor((start + offset) / dayMs); day * dayMs < end + offset; day += 1) {
      const { month, date } = civilDate(day)
      const special = specialDayMask(schedule.specialDays, calendar, day)
      const pattern = schedule.patternOn(month, date, weekdayOf(day), special)
      const midnight = day * dayMs - offset
      for (let index = 0; index < pattern.starts.length; index += 1) {
        const runStart = Math.max(start, midnight + (pattern.starts[index] as number) * 1000)
        const next = pattern.starts[index + 1]
        if (runStart >= end || (next !== undefined && midnight + next * 1000 <= start)) continue
        starts.push(runStart)
        values.push(pattern.rateIndexes[index] as number)
      }
    }
  }
  return { starts, values }
}

const noTimeBand = (from: number): TimeBandRuns => ({ starts: [from], values: [-1] })

/** Only a published price has confidence 1: values below 1 stay below after rounding. */
const marketConfidence = (confidence: number): number =>
  confidence >= 1 ? 10_000 : Math.min(9999, Math.round(confidence * 10_000))

const createSegment = (
  { commodity: schedule, nonCommodity: nonCommoditySchedule, isFree }: PricePlan,
  timeBands: TimeBandPair,
): PriceSegment => {
  const rates = schedule?.followsMarket === true ? [] : schedule?.rateLists[timeBands.commodity]
  const commodity = rates === undefined && isFree ? freeOfCharge : tierPrices(rates ?? [])
  const nonCommodityRates = nonCommoditySchedule?.rateLists[timeBands.nonCommodity]
  const nonCommodity = nonCommodityRates === undefined ? freeOfCharge : tierPrices(nonCommodityRates)
  return {
    commodity,
    nonCommodity,
    isTiered: commodity.length > 1 || nonCommodity.length > 1,
    price: (commodity[0]?.aggregate ?? 0n) + (nonCommodity[0]?.aggregate ?? 0n),
    confidence: 10_000,
    marketSourceId: null,
    timeBands,
    market: null,
    ratesBeforeMarket: schedule?.followsMarket === true ? (schedule.rateLists[timeBands.commodity] ?? []) : null,
  }
}

/** Return a segment at the market price of an interval. */
const withPrice = (
  segment: PriceSegment,
  rates: readonly Rate[],
  series: MarketSeries,
  interval: number,
): PriceSegment => {
  const market = series.prices[interval] as Price
  const commodity = marketTierPrices(rates, market)
  const { nonCommodity, timeBands } = segment
  return {
    commodity,
    nonCommodity,
    isTiered: commodity.length > 1 || nonCommodity.length > 1,
    price: (commodity[0]?.aggregate ?? 0n) + (nonCommodity[0]?.aggregate ?? 0n),
    confidence: marketConfidence(series.confidences[interval] ?? 1),
    marketSourceId: series.sourceId,
    timeBands,
    market,
    ratesBeforeMarket: null,
  }
}

const timeBandKey = ({ commodity, nonCommodity }: TimeBandPair): number => (commodity + 1) * 16_384 + nonCommodity + 1

/** Return the segment of a pair of time bands. Segments recur from day to day, so each pair has one. */
const segmentFor = (plan: PricePlan, timeBands: TimeBandPair): PriceSegment => {
  const key = timeBandKey(timeBands)
  const cached = plan.segmentByTimeBands.get(key)
  if (cached !== undefined) return cached
  const segment = createSegment(plan, timeBands)
  plan.segmentByTimeBands.set(key, segment)
  return segment
}

/**
 * Return the index of the first interval of a series that ends after an instant; the length of the series if none does.
 */
const firstIntervalAfter = ({ starts, ends }: MarketSeries, at: number): number => {
  const first = starts[0] ?? 0
  // Most series have intervals of equal length and no gap.
  const guess = Math.floor((at - first) / ((ends[0] ?? 1) - first))
  if ((starts[guess] ?? Number.POSITIVE_INFINITY) <= at && (ends[guess] as number) > at) return guess
  return firstIndexAbove(ends, at)
}

/**
 * Return the segment at an instant with its market price, and call `until` with the end of its validity.
 * There is no price in a gap of the series.
 */
export const atMarketPrice = (
  plan: PricePlan,
  segment: PriceSegment,
  at: number,
  until: (end: number) => void,
): PriceSegment => {
  const { market } = plan
  if (market === null || segment.ratesBeforeMarket === null) return segment
  const interval = firstIntervalAfter(market, at)
  const start = market.starts[interval] ?? Number.POSITIVE_INFINITY
  until(start > at ? start : (market.ends[interval] as number))
  if (start > at) return segment
  const { latest } = plan
  if (latest.interval === interval && latest.segment?.timeBands === segment.timeBands) return latest.segment
  const segmentAtPrice = withPrice(segment, segment.ratesBeforeMarket, market, interval)
  latest.interval = interval
  latest.segment = segmentAtPrice
  return segmentAtPrice
}

/** Advance to the last run that has begun at `at`. Runs without length are skipped. */
const advanceRun = (runs: TimeBandRuns, index: number, at: number): number => {
  let next = index
  while (next + 1 < runs.starts.length && (runs.starts[next + 1] as number) <= at) next += 1
  return next
}

/** Merge two ascending lists of instants. An instant in both lists appears twice. */
const mergeEdges = (a: readonly number[], b: readonly number[]): readonly number[] => {
  if (b.length === 0) return a
  const edges: number[] = []
  let next = 0
  for (const at of a) {
    while (next < b.length && (b[next] as number) <= at) edges.push(b[next++] as number)
    edges.push(at)
  }
  for (; next < b.length; next += 1) edges.push(b[next] as number)
  return edges
}

const buildDay = (plan: PricePlan, from: number): PlanDay => {
  const to = from + dayMs
  const { zone, commodity, nonCommodity } = plan
  const timeBands = commodity === null ? noTimeBand(from) : timeBandRuns(commodity, plan, from, to)
  const nonCommodityBands = nonCommodity === null ? noTimeBand(from) : timeBandRuns(nonCommodity, plan, from, to)
  const monthStart = startOfLocalMonth(zone, from)
  const nextMonth = nextLocalMonth(zone, from)
  const edges = mergeEdges(mergeEdges(timeBands.starts, nonCommodityBands.starts), nextMonth < to ? [nextMonth] : [])
  const starts: number[] = []
  const segments: PriceSegment[] = []
  const runIndexes = { commodity: 0, nonCommodity: 0 }
  for (const edge of edges) {
    runIndexes.commodity = advanceRun(timeBands, runIndexes.commodity, edge)
    runIndexes.nonCommodity = advanceRun(nonCommodityBands, runIndexes.nonCommodity, edge)
    const segment = segmentFor(plan, {
      commodity: timeBands.values[runIndexes.commodity] ?? -1,
      nonCommodity: nonCommodityBands.values[runIndexes.nonCommodity] ?? -1,
    })
    if (starts.at(-1) === edge || (segments.at(-1) === segment && edge !== nextMonth)) continue
    starts.push(edge)
    segments.push(segment)
  }
  return { starts, segments, monthStart, nextMonth }
}

/** Return the time bands of the UTC day that begins at `day` × 24 h. They are built on first use. */
export const getPlanDay = (plan: PricePlan, day: number): PlanDay => {
  const cached = plan.days.get(day)
  if (cached !== undefined) return cached
  const built = buildDay(plan, day * dayMs)
  plan.days.set(day, built)
  plan.onDayBuilt(plan, 250 + built.starts.length * 16)
  return built
}

/** Return the index of the segment that applies at an instant of the day. */
export const segmentIndex = ({ starts }: PlanDay, at: number): number => Math.max(0, firstIndexAbove(starts, at) - 1)
