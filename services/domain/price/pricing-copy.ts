import { dayMs } from '../civil-date.ts'
import type { TimeZone } from '../civil-time.ts'
import type { PricePlan } from '../tariff/price-plan.ts'
import type { DirectionPrices, PriceEra, PricingSnapshot } from '../tariff/snapshot.ts'
import type { MarketSeries, ScheduleEntry, TariffDirection } from '../tariff/tariff.ts'
import { compileTerms, type Terms } from '../tariff/terms.ts'

type PlanCopy = {
  readonly commodity: number | null
  readonly nonCommodity: number | null
  readonly market: number | null
  readonly free: boolean
}

/** `plan` null: the era is outside of the span. */
type EraCopy = Omit<PriceEra, 'plan'> & { readonly plan: number | null }

/**
 * What a snapshot says of some directions, as plain data without functions. Schedules, market prices and plans are in it once each;
 * the others name them by their index. Market prices are those of the span that the copy is made for, and no more.
 */
export type PricingCopy = {
  readonly locationId: string
  readonly currencyCode: string
  readonly timeZone: TimeZone
  readonly terms: readonly { readonly schedule: readonly ScheduleEntry[]; readonly marketRates: boolean }[]
  readonly markets: readonly MarketSeries[]
  readonly plans: readonly PlanCopy[]
  readonly directions: readonly {
    readonly direction: TariffDirection
    readonly eras: readonly EraCopy[]
    readonly tiered: DirectionPrices['tiered']
  }[]
}

/** Half-open, in ms. */
type Span = { readonly start: number; readonly end: number }

/** The first index from which on a sorted list is above (`isAbove`) or at an instant. */
const firstIndex = (list: readonly number[], at: number, isAbove: boolean): number => {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const value = list[middle] as number
    if (isAbove ? value <= at : value < at) low = middle + 1
    else high = middle
  }
  return low
}

/** Which prices of a series share time with a span. */
const indexesWithin = ({ starts, ends }: MarketSeries, { start, end }: Span): readonly [number, number] => [
  firstIndex(ends, start, true),
  firstIndex(starts, end, false),
]

const pricesWithin = (series: MarketSeries, span: Span): MarketSeries => {
  const within = indexesWithin(series, span)
  return {
    sourceId: series.sourceId,
    starts: series.starts.slice(...within),
    ends: series.ends.slice(...within),
    prices: series.prices.slice(...within),
    confidences: series.confidences.slice(...within),
  }
}

const bandCounts = new WeakMap<Terms, number>()

const bandsOf = (terms: Terms | null): number => {
  if (terms === null) return 0
  const count =
    bandCounts.get(terms) ??
    terms.schedule.reduce((sum, entry) => sum + entry.daysAndHours.reduce((bands, { hours }) => bands + hours.length, 0), 0)
  bandCounts.set(terms, count)
  return count
}

/** Give the most pieces into which the prices of a direction may cut a span, roughly and at once: bands of all its days, and market prices. */
export const mostPieces = (snapshot: PricingSnapshot, direction: TariffDirection, span: Span): number => {
  const eras = snapshot.directions[direction].eras.filter(era => era.from < span.end && era.to > span.start)
  return eras.reduce((sum, { from, to, plan }) => {
    const within = { start: Math.max(from, span.start), end: Math.min(to, span.end) }
    const days = Math.ceil((within.end - within.start) / dayMs) + 1
    const [first, behind] = plan.market === null ? [0, 0] : indexesWithin(plan.market, within)
    // A band that passes midnight lies in two parts of a day.
    return sum + days * (2 + 2 * (bandsOf(plan.commodity) + bandsOf(plan.nonCommodity))) + behind - first
  }, 0)
}

/** Collect things once each, in the order in which they are first asked for. */
const collect = <T, Copy>(copyOf: (one: T) => Copy) => {
  const indexes = new Map<T, number>()
  const copies: Copy[] = []
  const indexOf = (one: T): number => {
    const known = indexes.get(one)
    if (known !== undefined) return known
    const index = indexes.size
    indexes.set(one, index)
    copies[index] = copyOf(one)
    return index
  }
  return { copies, indexOf, indexOrNull: (one: T | null): number | null => (one === null ? null : indexOf(one)) }
}

/**
 * Copy what prices some directions of a location in a span, for use outside of this thread. `openPricingCopy` gives a snapshot back whose
 * prices in the span, and tiers' counting starts, are the same.
 */
export const copyPricing = (snapshot: PricingSnapshot, directions: readonly TariffDirection[], span: Span): PricingCopy => {
  const terms = collect((one: Terms) => ({ schedule: one.schedule, marketRates: one.marketRates }))
  const markets = collect((one: MarketSeries) => pricesWithin(one, span))
  const plans = collect(
    ({ commodity, nonCommodity, market, free }: PricePlan): PlanCopy => ({
      commodity: terms.indexOrNull(commodity),
      nonCommodity: terms.indexOrNull(nonCommodity),
      market: markets.indexOrNull(market),
      free,
    }),
  )
  const { locationId, currencyCode, timeZone } = snapshot
  const copied = directions.map(direction => {
    const { eras, tiered } = snapshot.directions[direction]
    const isInForce = (era: PriceEra): boolean => era.from < span.end && era.to > span.start
    const copies = eras.map((era): EraCopy => ({ ...era, plan: isInForce(era) ? plans.indexOf(era.plan) : null }))
    return { direction, tiered, eras: copies }
  })
  return { locationId, currencyCode, timeZone, terms: terms.copies, markets: markets.copies, plans: plans.copies, directions: copied }
}

const nothing: DirectionPrices = { eras: [], tiered: { COMMODITY: false, NON_COMMODITY: false } }

/** Make a snapshot of a copy. Only prices of the directions and the span that were copied may be asked for. */
export const openPricingCopy = (copy: PricingCopy): PricingSnapshot => {
  const { locationId, currencyCode, timeZone: zone } = copy
  const terms = copy.terms.map(({ schedule, marketRates }) => compileTerms(schedule, marketRates))
  const at = <T>(list: readonly T[], index: number | null): T | null => (index === null ? null : (list[index] as T))
  const openPlan = ({ commodity, nonCommodity, market, free }: PlanCopy): PricePlan => ({
    ...{ zone, free, commodity: at(terms, commodity), nonCommodity: at(terms, nonCommodity), market: at(copy.markets, market) },
    ...{ shared: new Map(), days: new Map(), keepDay: () => undefined, latest: { interval: -1, stretch: null } },
  })
  const plans = copy.plans.map(openPlan)
  const outside = openPlan({ commodity: null, nonCommodity: null, market: null, free: false })
  const opened = copy.directions.map(
    ({ direction, eras, tiered }) =>
      [direction, { tiered, eras: eras.map(({ plan, ...era }) => ({ ...era, plan: at(plans, plan) ?? outside })) }] as const,
  )
  const directions = { IMPORT: nothing, EXPORT: nothing, LOCAL: nothing, ...Object.fromEntries(opened) }
  return { locationId, currencyCode, timeZone: zone, directions }
}
