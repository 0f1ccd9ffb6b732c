import type { RegisterProperties } from '../../../services/domain/record/reading-rules.ts'
import type { MarketSeries, Tariff } from '../../../services/domain/tariff/tariff.ts'
import type { Random } from '../../support/random.ts'
import { locationKinds, year } from './plan-tariffs.ts'

/** Location before its creation. */
export type PlannedLocation = {
  readonly zone: string
  readonly kind: string
  readonly devices: number
  /** Index of the market for IMPORT and for EXPORT; null without a market. */
  readonly importMarket: number | null
  readonly exportMarket: number | null
  readonly tariffs: readonly Tariff[]
  /** True if some of its records are estimates, in a run with estimates. */
  readonly hasEstimates: boolean
  /** Register of a device that sends only readings; null without such a device. */
  readonly registerRule: RegisterProperties | null
}

type Prices = Pick<MarketSeries, 'starts' | 'ends' | 'prices'>

/** Market with its final prices, its first prices, and the prices that are sent later or corrected. */
export type PlannedMarket = {
  readonly series: MarketSeries
  readonly atFirst: Prices
  readonly later: readonly Prices[]
}

export type PlannedFixture = {
  readonly markets: readonly PlannedMarket[]
  readonly locations: readonly PlannedLocation[]
}

/** Zones with offsets of whole, half and quarter hours, and with clock changes of 60 min, of 30 min and none. */
const zones = [
  ...['Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe'],
  ...['Europe/London', 'America/St_Johns', 'Asia/Kathmandu', 'Pacific/Chatham'],
] as const

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** Interval of the market prices. Records can end after the year in which they start. */
const priceInterval = { start: year.start - 3 * dayMs, end: year.end + 45 * dayMs }

/**
 * Plan prices of an hour, and of a quarter hour for some days in October. Some are negative or equal to the previous
 * price.
 */
const planMarket = (random: Random, name: string): MarketSeries => {
  const series = {
    sourceId: name,
    starts: [] as number[],
    ends: [] as number[],
    prices: [] as bigint[],
    confidences: [] as number[],
  }
  const quarters = { start: Date.UTC(2025, 9, 1), end: Date.UTC(2025, 9, 8) }
  for (let at = priceInterval.start; at < priceInterval.end; ) {
    const end = at + (quarters.start <= at && at < quarters.end ? hourMs / 4 : hourMs)
    const last = series.prices.at(-1) ?? 0n
    series.starts.push(at)
    series.ends.push(end)
    series.prices.push(random.chance(0.1) ? last : BigInt(random.below(380_000)) * 1_000n - 60_000_000n)
    series.confidences.push(1)
    at = end
  }
  return series
}

/** Choose random parts of a series that are sent late, or first with other prices. */
const withLateParts = (random: Random, series: MarketSeries): PlannedMarket => {
  const { starts, ends, prices } = series
  const atFirst = { starts: [] as number[], ends: [] as number[], prices: [] as bigint[] }
  const later: { starts: number[]; ends: number[]; prices: bigint[] }[] = []
  let left = 0
  let delivery: 'in time' | 'late' | 'corrected' = 'in time'
  for (const [index, start] of starts.entries()) {
    const [end = start, price = 0n] = [ends[index], prices[index]]
    if (left-- === 0) {
      delivery = index === 0 ? 'in time' : random.pick(['in time', 'in time', 'late', 'corrected'])
      left = 24 + random.below(600)
      if (delivery !== 'in time') later.push({ starts: [], ends: [], prices: [] })
    }
    const parts = delivery === 'in time' ? [atFirst] : delivery === 'late' ? [later.at(-1)] : [atFirst, later.at(-1)]
    for (const part of parts) {
      part?.starts.push(start)
      part?.ends.push(end)
      part?.prices.push(part === atFirst && delivery === 'corrected' ? price + 1_234_567n : price)
    }
  }
  return { series, atFirst, later }
}

const lifetime: RegisterProperties = { kind: 'LIFETIME', digits: null, maxPower: null }

const registerRules: readonly (RegisterProperties | null)[] = [
  ...[null, lifetime, { ...lifetime, digits: 6 }, { ...lifetime, kind: 'SESSION' as const }],
  { ...lifetime, maxPower: { units: 'KW', power: '5000000000000' } },
]

const planLocation = (random: Random, index: number, markets: number): PlannedLocation => {
  const kind = locationKinds[index % locationKinds.length] as (typeof locationKinds)[number]
  const importMarket = kind.market ? random.below(markets) : null
  return {
    zone: zones[index % zones.length] ?? 'UTC',
    kind: kind.name,
    devices: random.below(4),
    importMarket,
    exportMarket: kind.market && random.chance(0.5) ? random.below(markets) : importMarket,
    tariffs: kind.of(random),
    hasEstimates: index % 3 === 1,
    registerRule: registerRules[Math.floor(index / 4) % registerRules.length] ?? null,
  }
}

/** Plan markets and locations. All kinds of locations and all zones occur. */
export const planFixture = (
  random: Random,
  locations: number,
  { hasLatePrices }: { readonly hasLatePrices: boolean },
): PlannedFixture => {
  const markets = ['Day ahead', 'Own series'].map(name => {
    const series = planMarket(random, name)
    return hasLatePrices ? withLateParts(random, series) : { series, atFirst: series, later: [] }
  })
  return {
    markets,
    locations: Array.from({ length: locations }, (_, index) => planLocation(random, index, markets.length)),
  }
}
