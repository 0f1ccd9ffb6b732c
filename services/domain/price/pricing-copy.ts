import { dayMs } from '../civil-date.ts'
import type { TimeZone } from '../civil-time.ts'
import { type CompiledSchedule, compileSchedule } from '../tariff/compiled-schedule.ts'
import type { PricePlan } from '../tariff/price-plan.ts'
import type { DirectionPrices, PricePeriod, PricingSnapshot } from '../tariff/snapshot.ts'
import type { MarketSeries, ScheduleEntry, TariffDirection } from '../tariff/tariff.ts'

type PlanCopy = {
  readonly commodity: number | null
  readonly nonCommodity: number | null
  readonly market: number | null
  readonly isFree: boolean
}

/** `plan` null: the era is outside of the span. */
type PricePeriodCopy = Omit<PricePeriod, 'plan'> & { readonly plan: number | null }

/**
 * What a snapshot says of some directions, as plain data without functions. Schedules, market prices and plans are in it once each;
 * the others name them by their index. Market prices are those of the span that the copy is made for, and no more.
 */
export type PricingCopy = {
  readonly locationId: string
  readonly currencyCode: string
  readonly timeZone: TimeZone
  readonly schedules: readonly { readonly schedule: readonly ScheduleEntry[]; readonly marketRates: boolean }[]
  readonly markets: readonly MarketSeries[]
  readonly plans: readonly PlanCopy[]
  readonly directions: readonly {
    readonly direction: TariffDirection
    readonly pricePeriods: readonly PricePeriodCopy[]
    readonly tiered: DirectionPrices['isTiered']
  }[]
}

/** Half-open, in ms. */
type Interval = { readonly start: number; readonly end: number }

/** The first index from which on a sorted list is above (`isAbove`) or at an instant. */
const firstIndexAfter = (list: readonly number[], elementAt: number, isAbove: boolean): number => {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const value = list[middle] as number
    if (isAbove ? value <= elementAt : value < elementAt) low = middle + 1
    else high = middle
  }
  return low
}

/** Which prices of a series share time with a span. */
const indexesWithin = ({ starts, ends }: MarketSeries, { start, end }: Interval): readonly [number, number] => [
  firstIndexAfter(ends, start, true),
  firstIndexAfter(starts, end, false),
]

const pricesWithin = (series: MarketSeries, interval: Interval): MarketSeries => {
  const range = indexesWithin(series, interval)
  return {
    sourceId: series.sourceId,
    starts: series.starts.slice(...range),
    ends: series.ends.slice(...range),
    prices: series.prices.slice(...range),
    confidences: series.confidences.slice(...range),
  }
}

const timeBandCounts = new WeakMap<CompiledSchedule, number>()

const timeBandCount = (schedules: CompiledSchedule | null): number => {
  if (schedules === null) return 0
  const count =
    timeBandCounts.get(schedules) ??
    schedules.schedule.reduce(
      (sum, entry) => sum + entry.daysAndHours.reduce((timeBands, { hours }) => timeBands + hours.length, 0),
      0,
    )
  timeBandCounts.set(schedules, count)
  return count
}

/** Give the most pieces into which the prices of a direction may cut a span, roughly and at once: bands of all its days, and market prices. */
export const maxPieces = (snapshot: PricingSnapshot, direction: TariffDirection, interval: Interval): number => {
  const pricePeriods = snapshot.directions[direction].pricePeriods.filter(
    pricePeriod => pricePeriod.start < interval.end && pricePeriod.end > interval.start,
  )
  return pricePeriods.reduce((sum, { start: from, end: to, plan }) => {
    const range = { start: Math.max(from, interval.start), end: Math.min(to, interval.end) }
    const days = Math.ceil((range.end - range.start) / dayMs) + 1
    const [first, endIndex] = plan.market === null ? [0, 0] : indexesWithin(plan.market, range)
    // A band that passes midnight lies in two parts of a day.
    return sum + days * (2 + 2 * (timeBandCount(plan.commodity) + timeBandCount(plan.nonCommodity))) + endIndex - first
  }, 0)
}

/** Collect things once each, in the order in which they are first asked for. */
const createCollector = <T, Copy>(copyOf: (one: T) => Copy) => {
  const indexes = new Map<T, number>()
  const copies: Copy[] = []
  const indexOf = (one: T): number => {
    const knownIndex = indexes.get(one)
    if (knownIndex !== undefined) return knownIndex
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
export const copyPricing = (
  snapshot: PricingSnapshot,
  directions: readonly TariffDirection[],
  interval: Interval,
): PricingCopy => {
  const schedules = createCollector((one: CompiledSchedule) => ({
    schedule: one.schedule,
    marketRates: one.followsMarket,
  }))
  const markets = createCollector((one: MarketSeries) => pricesWithin(one, interval))
  const plans = createCollector(
    ({ commodity, nonCommodity, market, isFree }: PricePlan): PlanCopy => ({
      commodity: schedules.indexOrNull(commodity),
      nonCommodity: schedules.indexOrNull(nonCommodity),
      market: markets.indexOrNull(market),
      isFree,
    }),
  )
  const { locationId, currencyCode, timeZone } = snapshot
  const directionCopies = directions.map(direction => {
    const { pricePeriods, isTiered: tiered } = snapshot.directions[direction]
    const isWithinInterval = (pricePeriod: PricePeriod): boolean =>
      pricePeriod.start < interval.end && pricePeriod.end > interval.start
    const copies = pricePeriods.map(
      (pricePeriod): PricePeriodCopy => ({
        ...pricePeriod,
        plan: isWithinInterval(pricePeriod) ? plans.indexOf(pricePeriod.plan) : null,
      }),
    )
    return { direction, tiered, pricePeriods: copies }
  })
  return {
    locationId,
    currencyCode,
    timeZone,
    schedules: schedules.copies,
    markets: markets.copies,
    plans: plans.copies,
    directions: directionCopies,
  }
}

const noPrices: DirectionPrices = { pricePeriods: [], isTiered: { COMMODITY: false, NON_COMMODITY: false } }

/** Make a snapshot of a copy. Only prices of the directions and the span that were copied may be asked for. */
export const snapshotFromCopy = (copy: PricingCopy): PricingSnapshot => {
  const { locationId, currencyCode, timeZone: zone } = copy
  const schedules = copy.schedules.map(({ schedule, marketRates }) => compileSchedule(schedule, marketRates))
  const elementAt = <T>(list: readonly T[], index: number | null): T | null =>
    index === null ? null : (list[index] as T)
  const createPlan = ({ commodity, nonCommodity, market, isFree }: PlanCopy): PricePlan => ({
    ...{
      zone,
      isFree,
      commodity: elementAt(schedules, commodity),
      nonCommodity: elementAt(schedules, nonCommodity),
      market: elementAt(copy.markets, market),
    },
    ...{
      segmentByTimeBands: new Map(),
      days: new Map(),
      onDayBuilt: () => undefined,
      latest: { interval: -1, segment: null },
    },
  })
  const plans = copy.plans.map(createPlan)
  const emptyPlan = createPlan({ commodity: null, nonCommodity: null, market: null, isFree: false })
  const openedDirections = copy.directions.map(
    ({ direction, pricePeriods, tiered }) =>
      [
        direction,
        {
          tiered,
          pricePeriods: pricePeriods.map(({ plan, ...era }) => ({ ...era, plan: elementAt(plans, plan) ?? emptyPlan })),
        },
      ] as const,
  )
  const directions = { IMPORT: noPrices, EXPORT: noPrices, LOCAL: noPrices, ...Object.fromEntries(openedDirections) }
  return { locationId, currencyCode, timeZone: zone, directions }
}
