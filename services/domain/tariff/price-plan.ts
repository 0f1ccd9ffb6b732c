import { civilDate, dayMs, weekdayOf } from '../civil-date.ts'
import { nextLocalMonth, offsetSegments, startOfLocalMonth, type TimeZone } from '../civil-time.ts'
import type { Price } from '../quantity.ts'
import type { MarketSeries, Rate } from './tariff.ts'
import type { Terms } from './terms.ts'
import { freeOfCharge, marketTierPrices, type TierPrice, tierPrices } from './tier-price.ts'

/**
 * What holds over a stretch of time in which nothing but tiers can change the price.
 * `commodity` is empty where there is no price. Confidence in 1e-4. `price` is the whole price unless `tiered`.
 * Of a plan day's stretches those of a market tariff are `waiting`, with their rates, for the market price of an instant: `atMarket` gives
 * what holds there.
 * Of one plan, stretches with equal bands, market price and confidence are equal.
 */
export type PriceStretch = {
  readonly commodity: readonly TierPrice[]
  readonly nonCommodity: readonly TierPrice[]
  readonly tiered: boolean
  readonly price: Price
  readonly confidence: number
  readonly marketSourceId: string | null
  readonly bands: Bands
  readonly market: Price | null
  readonly waiting: readonly Rate[] | null
}

type Bands = { readonly band: number; readonly nonBand: number }

/**
 * The bands of one UTC day: `stretches[i]` holds from `starts[i]` to the next start, the last one to the day's end.
 * Neighbours differ, except at `nextMonth`, which is always an edge. `monthStart` holds before `nextMonth`.
 */
export type PlanDay = {
  readonly starts: readonly number[]
  readonly stretches: readonly PriceStretch[]
  readonly monthStart: number
  readonly nextMonth: number
}

/** Terms of both types over one zone and market. `commodity` null: no tariff, no price; `free`: no tariff, nothing to pay. */
export type PlanContent = {
  readonly zone: TimeZone
  readonly commodity: Terms | null
  readonly nonCommodity: Terms | null
  readonly free: boolean
  readonly market: MarketSeries | null
}

type Keep = (plan: PricePlan, bytes: number) => void

/**
 * What prices are looked up in. `days` are made as they are asked for and may be emptied at any time; `keepDay` is told how many bytes
 * (roughly) were added to them.
 */
export type PricePlan = PlanContent & {
  readonly shared: Map<number, PriceStretch>
  readonly days: Map<number, PlanDay>
  readonly keepDay: Keep
  readonly latest: LatestPriced
}

/**
 * A stretch at a market price, of an interval of the series: records come about in order of time, and those of one interval follow each
 * other. Plans may share it, for `bands` are those of one plan alone. What most plans keep of their own would only outlive its use.
 */
export type LatestPriced = { interval: number; stretch: PriceStretch | null }

type Runs = { readonly starts: readonly number[]; readonly values: readonly number[] }

/** Which band of the terms holds from which instant on, in [from, to): wall-clock edges mapped through every offset in force. */
const bandRuns = (terms: Terms, zone: TimeZone, from: number, to: number): Runs => {
  const starts: number[] = []
  const values: number[] = []
  for (const { start, end, offset } of offsetSegments(zone, from, to)) {
    for (let day = Math.floor((start + offset) / dayMs); day * dayMs < end + offset; day += 1) {
      const { month, date } = civilDate(day)
      const pattern = terms.patternOn(month, date, weekdayOf(day))
      const midnight = day * dayMs - offset
      for (let index = 0; index < pattern.starts.length; index += 1) {
        const runStart = Math.max(start, midnight + (pattern.starts[index] as number) * 1000)
        const next = pattern.starts[index + 1]
        if (runStart >= end || (next !== undefined && midnight + next * 1000 <= start)) continue
        starts.push(runStart)
        values.push(pattern.bands[index] as number)
      }
    }
  }
  return { starts, values }
}

const nothing = (from: number): Runs => ({ starts: [from], values: [-1] })

/** A published price is certain, and only that: what is below 1 stays below. */
const marketConfidence = (confidence: number): number => (confidence >= 1 ? 10_000 : Math.min(9999, Math.round(confidence * 10_000)))

const makeStretch = ({ commodity: terms, nonCommodity: extra, free }: PricePlan, bands: Bands): PriceStretch => {
  const rates = terms?.marketRates === true ? [] : terms?.bands[bands.band]
  const commodity = rates === undefined && free ? freeOfCharge : tierPrices(rates ?? [])
  const nonRates = extra?.bands[bands.nonBand]
  const nonCommodity = nonRates === undefined ? freeOfCharge : tierPrices(nonRates)
  return {
    commodity,
    nonCommodity,
    tiered: commodity.length > 1 || nonCommodity.length > 1,
    price: (commodity[0]?.aggregate ?? 0n) + (nonCommodity[0]?.aggregate ?? 0n),
    confidence: 10_000,
    marketSourceId: null,
    bands,
    market: null,
    waiting: terms?.marketRates === true ? (terms.bands[bands.band] ?? []) : null,
  }
}

/** Give what a stretch of rates that wait for the market is at the price of an interval. */
const pricedStretch = (stretch: PriceStretch, rates: readonly Rate[], series: MarketSeries, interval: number): PriceStretch => {
  const market = series.prices[interval] as Price
  const commodity = marketTierPrices(rates, market)
  const { nonCommodity, bands } = stretch
  return {
    commodity,
    nonCommodity,
    tiered: commodity.length > 1 || nonCommodity.length > 1,
    price: (commodity[0]?.aggregate ?? 0n) + (nonCommodity[0]?.aggregate ?? 0n),
    confidence: marketConfidence(series.confidences[interval] ?? 1),
    marketSourceId: series.sourceId,
    bands,
    market,
    waiting: null,
  }
}

const bandKey = ({ band, nonBand }: Bands): number => (band + 1) * 16_384 + nonBand + 1

/** Stretches recur from day to day: one for each pair of bands. */
const stretchOf = (plan: PricePlan, bands: Bands): PriceStretch => {
  const key = bandKey(bands)
  const known = plan.shared.get(key)
  if (known !== undefined) return known
  const stretch = makeStretch(plan, bands)
  plan.shared.set(key, stretch)
  return stretch
}

/** The first interval of a series that ends after an instant; the series' length behind the last one. */
const intervalFrom = ({ starts, ends }: MarketSeries, at: number): number => {
  const first = starts[0] ?? 0
  // Most series have one step and no gap.
  const guess = Math.floor((at - first) / ((ends[0] ?? 1) - first))
  if ((starts[guess] ?? Number.POSITIVE_INFINITY) <= at && (ends[guess] as number) > at) return guess
  let low = 0
  let high = ends.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ends[middle] as number) <= at) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Give what holds at an instant of a stretch that waits for the market, and call `until` with the instant up to which it does.
 * In a gap of the series there is no price.
 */
export const atMarket = (plan: PricePlan, stretch: PriceStretch, at: number, until: (end: number) => void): PriceStretch => {
  const { market } = plan
  if (market === null || stretch.waiting === null) return stretch
  const interval = intervalFrom(market, at)
  const start = market.starts[interval] ?? Number.POSITIVE_INFINITY
  until(start > at ? start : (market.ends[interval] as number))
  if (start > at) return stretch
  const { latest } = plan
  if (latest.interval === interval && latest.stretch?.bands === stretch.bands) return latest.stretch
  const priced = pricedStretch(stretch, stretch.waiting, market, interval)
  latest.interval = interval
  latest.stretch = priced
  return priced
}

/** Advance to the last run that has begun at `at`; runs of no length are passed over. */
const advance = (runs: Runs, index: number, at: number): number => {
  let next = index
  while (next + 1 < runs.starts.length && (runs.starts[next + 1] as number) <= at) next += 1
  return next
}

/** Merge two ascending lists of instants; what is in both comes twice. */
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
  const bands = commodity === null ? nothing(from) : bandRuns(commodity, zone, from, to)
  const nonBands = nonCommodity === null ? nothing(from) : bandRuns(nonCommodity, zone, from, to)
  const monthStart = startOfLocalMonth(zone, from)
  const nextMonth = nextLocalMonth(zone, from)
  const edges = mergeEdges(mergeEdges(bands.starts, nonBands.starts), nextMonth < to ? [nextMonth] : [])
  const starts: number[] = []
  const stretches: PriceStretch[] = []
  const at = { band: 0, nonBand: 0 }
  for (const edge of edges) {
    at.band = advance(bands, at.band, edge)
    at.nonBand = advance(nonBands, at.nonBand, edge)
    const stretch = stretchOf(plan, { band: bands.values[at.band] ?? -1, nonBand: nonBands.values[at.nonBand] ?? -1 })
    if (starts.at(-1) === edge || (stretches.at(-1) === stretch && edge !== nextMonth)) continue
    starts.push(edge)
    stretches.push(stretch)
  }
  return { starts, stretches, monthStart, nextMonth }
}

/** Give the bands of the UTC day that begins at `day` × 24 h, made on first use. */
export const planDay = (plan: PricePlan, day: number): PlanDay => {
  const known = plan.days.get(day)
  if (known !== undefined) return known
  const made = buildDay(plan, day * dayMs)
  plan.days.set(day, made)
  plan.keepDay(plan, 250 + made.starts.length * 16)
  return made
}

/** Give the index of the stretch that holds at an instant of the day. */
export const stretchIndex = (day: PlanDay, at: number): number => {
  const { starts } = day
  let low = 0
  let high = starts.length
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if ((starts[middle] as number) <= at) low = middle
    else high = middle
  }
  return low
}
