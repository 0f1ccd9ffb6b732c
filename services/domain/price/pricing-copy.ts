import type { LocationCalendar } from '../charge/location-calendar.ts'
import type { TimeZone } from '../civil-time.ts'
import { dayMs, type Interval, overlaps } from '../interval.ts'
import { firstIndexAbove, firstIndexFrom } from '../sorted.ts'
import { type CompiledSchedule, compileSchedule } from '../tariff/compiled-schedule.ts'
import type { PlanInput, PricePlan } from '../tariff/price-plan.ts'
import type { PricingPool } from '../tariff/pricing-pool.ts'
import type { DirectionPrices, PricePeriod, PricingSnapshot } from '../tariff/snapshot.ts'
import type { MarketSeries, ScheduleEntry, TariffDirection } from '../tariff/tariff.ts'

type PlanCopy = {
  readonly commodity: number | null
  readonly nonCommodity: number | null
  readonly market: number | null
  readonly calendar: number | null
  readonly isFree: boolean
}

/** `plan` is null if the price period is outside the copied interval. */
type PricePeriodCopy = Omit<PricePeriod, 'plan'> & { readonly plan: number | null }

/**
 * Prices of some directions of a snapshot as plain data without functions. Schedules, market prices, calendars and plans
 * are listed once and referenced by index. Market prices and special days are those of the copied interval only.
 */
export type PricingCopy = {
  readonly locationId: string
  readonly currencyCode: string
  readonly timeZone: TimeZone
  readonly tariffLines: PricingSnapshot['tariffLines']
  readonly schedules: readonly { readonly schedule: readonly ScheduleEntry[]; readonly marketRates: boolean }[]
  readonly markets: readonly MarketSeries[]
  readonly calendars: readonly LocationCalendar[]
  readonly plans: readonly PlanCopy[]
  readonly directions: readonly {
    readonly direction: TariffDirection
    readonly pricePeriods: readonly PricePeriodCopy[]
    readonly isTiered: DirectionPrices['isTiered']
  }[]
}

/** Return the range of prices of a series that share time with an interval. */
const indexesWithin = ({ starts, ends }: MarketSeries, { start, end }: Interval): readonly [number, number] => [
  firstIndexAbove(ends, start),
  firstIndexFrom(starts, end),
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

/** Return the special days that can have time in an interval: local days are at most a day away from those in UTC. */
const specialDaysWithin = ({ holidays, dayTypes }: LocationCalendar, { start, end }: Interval): LocationCalendar => {
  const [first, last] = [Math.floor(start / dayMs) - 1, Math.floor(end / dayMs) + 1]
  const within = (days: ReadonlySet<number>) => new Set([...days].filter(day => day >= first && day <= last))
  return { holidays: within(holidays), dayTypes: dayTypes.map(({ name, days }) => ({ name, days: within(days) })) }
}

/**
 * Return an upper estimate of the pieces into which the prices of a direction cut an interval: time bands of all days,
 * and market prices.
 */
export const maxPieces = (snapshot: PricingSnapshot, direction: TariffDirection, interval: Interval): number => {
  const pricePeriods = snapshot.directions[direction].pricePeriods.filter(period => overlaps(period, interval))
  return pricePeriods.reduce((sum, { start: from, end: to, plan }) => {
    const range = { start: Math.max(from, interval.start), end: Math.min(to, interval.end) }
    const days = Math.ceil((range.end - range.start) / dayMs) + 1
    const [first, endIndex] = plan.market === null ? [0, 0] : indexesWithin(plan.market, range)
    // A time band that passes midnight has two parts in a day.
    return (
      sum +
      days * (2 + 2 * ((plan.commodity?.timeBandCount ?? 0) + (plan.nonCommodity?.timeBandCount ?? 0))) +
      endIndex -
      first
    )
  }, 0)
}

/** Collect distinct items with an index, in the order of first use. */
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
 * Copy the prices of some directions of a location in an interval, for another thread.
 * Law: `snapshotFromCopy` returns a snapshot with the same prices in the interval and the same counting starts.
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
  const calendars = createCollector((one: LocationCalendar) => specialDaysWithin(one, interval))
  const plans = createCollector(
    ({ commodity, nonCommodity, market, calendar, isFree }: PricePlan): PlanCopy => ({
      commodity: schedules.indexOrNull(commodity),
      nonCommodity: schedules.indexOrNull(nonCommodity),
      market: markets.indexOrNull(market),
      calendar: calendars.indexOrNull(calendar),
      isFree,
    }),
  )
  const { locationId, currencyCode, timeZone } = snapshot
  const directionCopies = directions.map(direction => {
    const { pricePeriods, isTiered } = snapshot.directions[direction]
    const copies = pricePeriods.map(
      (pricePeriod): PricePeriodCopy => ({
        ...pricePeriod,
        plan: overlaps(pricePeriod, interval) ? plans.indexOf(pricePeriod.plan) : null,
      }),
    )
    return { direction, isTiered, pricePeriods: copies }
  })
  return {
    locationId,
    currencyCode,
    timeZone,
    tariffLines: snapshot.tariffLines,
    schedules: schedules.copies,
    markets: markets.copies,
    calendars: calendars.copies,
    plans: plans.copies,
    directions: directionCopies,
  }
}

const noPrices: DirectionPrices = { pricePeriods: [], isTiered: { COMMODITY: false, NON_COMMODITY: false } }

const createPlan = (input: PlanInput): PricePlan => ({
  ...input,
  segmentByTimeBands: new Map(),
  days: new Map(),
  onDayBuilt: () => undefined,
  latest: { interval: -1, segment: null },
})

type PlanPool = Pick<PricingPool, 'compiledScheduleOf' | 'planOf'>

/** Creates plans for one snapshot. */
const noPool: PlanPool = {
  compiledScheduleOf: ({ schedule, marketRates }) => compileSchedule(schedule, marketRates),
  planOf: createPlan,
}

/**
 * Create a snapshot from a copy. Only prices of the copied directions and interval may be requested. With a `pool`,
 * copies that share schedules share their days.
 */
export const snapshotFromCopy = (copy: PricingCopy, pool: PlanPool = noPool): PricingSnapshot => {
  const { locationId, currencyCode, timeZone: zone, tariffLines } = copy
  const schedules = copy.schedules.map(pool.compiledScheduleOf)
  const elementAt = <T>(list: readonly T[], index: number | null): T | null =>
    index === null ? null : (list[index] as T)
  const planOf = ({ commodity, nonCommodity, market, calendar, isFree }: PlanCopy): PricePlan =>
    pool.planOf({
      zone,
      isFree,
      commodity: elementAt(schedules, commodity),
      nonCommodity: elementAt(schedules, nonCommodity),
      market: elementAt(copy.markets, market),
      calendar: elementAt(copy.calendars, calendar),
    })
  const plans = copy.plans.map(planOf)
  const emptyPlan = planOf({
    commodity: null,
    nonCommodity: null,
    market: null,
    calendar: null,
    isFree: false,
  })
  const directions: Record<TariffDirection, DirectionPrices> = { IMPORT: noPrices, EXPORT: noPrices, LOCAL: noPrices }
  for (const { direction, pricePeriods, isTiered } of copy.directions) {
    directions[direction] = {
      isTiered,
      pricePeriods: pricePeriods.map(({ plan, ...period }) => ({
        ...period,
        plan: elementAt(plans, plan) ?? emptyPlan,
      })),
    }
  }
  return { locationId, currencyCode, timeZone: zone, directions, tariffLines }
}
