import type { TimeZone } from '../civil-time.ts'
import type { Interval } from '../interval.ts'
import type { CompiledSchedule } from './compiled-schedule.ts'
import type { PricePlan } from './price-plan.ts'
import type { PricingPool } from './pricing-pool.ts'
import type { PricingInput, Tariff, TariffDirection, TariffType } from './tariff.ts'
import { defaultTariffComponents, tariffTypes } from './tariff.ts'
import { type Coverage, contractStartOf, tariffCoverage } from './tariff-coverage.ts'
import { schedulesOf } from './tariff-version.ts'

/**
 * Interval in which the tariffs of a direction, their prices and their status do not change. `confidence` is in 1e-4.
 * From `unchangedSince` the tariffs and their status have not changed; prices may have, if a tariff has versions. The
 * starts are those of the contracts, from which tiers may count: -Infinity if open or without a tariff.
 */
export type PricePeriod = Interval & {
  readonly plan: PricePlan
  readonly confidence: number
  readonly commodityId: string | null
  readonly nonCommodityId: string | null
  readonly tariffIds: readonly string[]
  readonly commodityStart: number
  readonly nonCommodityStart: number
  readonly unchangedSince: number
}

/** Prices of one direction: price periods over all time, in order, and the tariff types that have tiers. */
export type DirectionPrices = {
  readonly pricePeriods: readonly PricePeriod[]
  readonly isTiered: Readonly<Record<TariffType, boolean>>
}

/** Component and plan that the lines of a tariff name on statements. */
export type TariffLine = { readonly component: string; readonly planId: string | null }

/** All prices of one location, prepared for look-ups. Immutable: a change of its input needs a new snapshot. */
export type PricingSnapshot = {
  readonly locationId: string
  readonly currencyCode: string
  readonly timeZone: TimeZone
  readonly directions: Readonly<Record<TariffDirection, DirectionPrices>>
  /** Lines of tariffs by id. Tariffs without a plan that have the default component of their type are absent. */
  readonly tariffLines: ReadonlyMap<string, TariffLine>
}

/** Check if a tariff has tiers in any of its prices. */
export const hasTiers = (tariff: Tariff): boolean =>
  schedulesOf(tariff).some(({ schedule }) =>
    schedule.some(entry => entry.daysAndHours.some(({ hours }) => hours.some(({ rate }) => rate.length > 1))),
  )

const compiledScheduleOf = (pool: PricingPool, { tariff, schedule }: Coverage): CompiledSchedule | null =>
  tariff === null || schedule === null ? null : pool.compiledScheduleOf({ schedule, marketRates: tariff.marketRates })

const createPricePeriod = (
  input: PricingInput,
  pool: PricingPool,
  direction: TariffDirection,
  commodityCoverage: Coverage,
  nonCommodityCoverage: Coverage,
): PricePeriod => {
  const commodity = compiledScheduleOf(pool, commodityCoverage)
  const nonCommodity = compiledScheduleOf(pool, nonCommodityCoverage)
  const market =
    commodity?.followsMarket !== true ? null : direction === 'EXPORT' ? input.exportMarket : input.importMarket
  // Without special days, locations of different calendars share one plan.
  const hasSpecialDays = [commodity, nonCommodity].some(schedule => (schedule?.specialDays.length ?? 0) > 0)
  // Own generation without a tariff has the known price 0.
  const isFree = commodity === null && direction === 'LOCAL'
  return {
    start: Math.max(commodityCoverage.start, nonCommodityCoverage.start),
    end: Math.min(commodityCoverage.end, nonCommodityCoverage.end),
    plan: pool.planOf({
      zone: input.timeZone,
      commodity,
      nonCommodity,
      isFree,
      market,
      calendar: hasSpecialDays ? input.calendar : null,
    }),
    confidence: Math.min(commodityCoverage.confidence, nonCommodityCoverage.confidence),
    commodityId: commodityCoverage.tariff?.id ?? null,
    nonCommodityId: nonCommodityCoverage.tariff?.id ?? null,
    tariffIds: [commodityCoverage.tariff?.id, nonCommodityCoverage.tariff?.id].filter(id => id !== undefined),
    commodityStart:
      commodityCoverage.tariff === null ? Number.NEGATIVE_INFINITY : contractStartOf(commodityCoverage.tariff),
    nonCommodityStart:
      nonCommodityCoverage.tariff === null ? Number.NEGATIVE_INFINITY : contractStartOf(nonCommodityCoverage.tariff),
    unchangedSince: Math.max(commodityCoverage.unchangedSince, nonCommodityCoverage.unchangedSince),
  }
}

const compileDirection = (input: PricingInput, pool: PricingPool, direction: TariffDirection): DirectionPrices => {
  const [commodityCoverages, nonCommodityCoverages] = tariffTypes.map(type =>
    tariffCoverage(input.tariffs, direction, type),
  ) as [Coverage[], Coverage[]]
  const pricePeriods: PricePeriod[] = []
  let [commodityIndex, nonCommodityIndex] = [0, 0]
  while (commodityIndex < commodityCoverages.length && nonCommodityIndex < nonCommodityCoverages.length) {
    const [commodity, nonCommodity] = [
      commodityCoverages[commodityIndex] as Coverage,
      nonCommodityCoverages[nonCommodityIndex] as Coverage,
    ]
    pricePeriods.push(createPricePeriod(input, pool, direction, commodity, nonCommodity))
    if (commodity.end <= nonCommodity.end) commodityIndex += 1
    if (nonCommodity.end <= commodity.end) nonCommodityIndex += 1
  }
  const hasTieredTariff = (type: TariffType) =>
    input.tariffs.some(tariff => tariff.direction === direction && tariff.type === type && hasTiers(tariff))
  return {
    pricePeriods,
    isTiered: { COMMODITY: hasTieredTariff('COMMODITY'), NON_COMMODITY: hasTieredTariff('NON_COMMODITY') },
  }
}

/** Directions without tariffs are equal in all locations of a zone, which share one plan. */
const emptyDirections = new WeakMap<PricePlan, DirectionPrices>()

const emptyDirection = (input: PricingInput, pool: PricingPool, direction: TariffDirection): DirectionPrices => {
  const compiled = compileDirection(input, pool, direction)
  const plan = (compiled.pricePeriods[0] as PricePeriod).plan
  const cached = emptyDirections.get(plan) ?? compiled
  emptyDirections.set(plan, cached)
  return cached
}

const noLines: PricingSnapshot['tariffLines'] = new Map()

/** Return the lines that are not the default. Many locations have none, and share one map. */
const tariffLinesOf = (tariffs: readonly Tariff[]): PricingSnapshot['tariffLines'] => {
  const own = tariffs.flatMap(({ id, type, component = defaultTariffComponents[type], planId = null }) =>
    component === defaultTariffComponents[type] && planId === null ? [] : [[id, { component, planId }] as const],
  )
  return own.length === 0 ? noLines : new Map(own)
}

/**
 * Compile the prices of a location. Compiled schedules and price plans are shared through the pool, so a snapshot is
 * small.
 * The schedules must be validated.
 */
export const compileSnapshot = (input: PricingInput, pool: PricingPool): PricingSnapshot => {
  const pricesOf = (direction: TariffDirection): DirectionPrices =>
    input.tariffs.some(tariff => tariff.direction === direction)
      ? compileDirection(input, pool, direction)
      : emptyDirection(input, pool, direction)
  const directions = { IMPORT: pricesOf('IMPORT'), EXPORT: pricesOf('EXPORT'), LOCAL: pricesOf('LOCAL') }
  const { locationId, currencyCode, timeZone, tariffs } = input
  return { locationId, currencyCode, timeZone, directions, tariffLines: tariffLinesOf(tariffs) }
}

/** Check if the energy of a direction counts for tiers. Its costs then depend on earlier records. */
export const hasTieredPrices = (snapshot: PricingSnapshot, direction: TariffDirection): boolean => {
  const { isTiered } = snapshot.directions[direction]
  return isTiered.COMMODITY || isTiered.NON_COMMODITY
}

/** Return the index of the price period that contains an instant. */
export const pricePeriodIndex = (pricePeriods: readonly PricePeriod[], at: number): number => {
  let index = pricePeriods.length - 1
  while (index > 0 && (pricePeriods[index] as PricePeriod).start > at) index -= 1
  return index
}
