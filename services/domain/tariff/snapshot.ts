import type { TimeZone } from '../civil-time.ts'
import type { CompiledSchedule } from './compiled-schedule.ts'
import type { PricePlan } from './price-plan.ts'
import type { PricingPool } from './pricing-pool.ts'
import type { PricingInput, Tariff, TariffDirection, TariffType } from './tariff.ts'
import { type Coverage, contractStartOf, tariffCoverage } from './tariff-coverage.ts'
import { schedulesOf } from './tariff-version.ts'

/**
 * A half-open span in which the tariffs of a direction, their prices and their standing do not change. Confidence in 1e-4.
 * Since `since` tariffs and standing have not changed; prices may have, where a tariff has versions. The starts are those of the contracts (-Infinity when open or without tariff), from which tiers may count.
 */
export type PricePeriod = {
  readonly start: number
  readonly end: number
  readonly plan: PricePlan
  readonly confidence: number
  readonly commodityId: string | null
  readonly nonCommodityId: string | null
  readonly tariffIds: readonly string[]
  readonly commodityStart: number
  readonly nonCommodityStart: number
  readonly unchangedSince: number
}

/** The prices of one direction: eras over all time, in order, and whether its records move tiers. */
export type DirectionPrices = {
  readonly pricePeriods: readonly PricePeriod[]
  readonly isTiered: Readonly<Record<TariffType, boolean>>
}

/** All that prices the energy of one location, ready to be looked up. Immutable: a change of its input needs a new one. */
export type PricingSnapshot = {
  readonly locationId: string
  readonly currencyCode: string
  readonly timeZone: TimeZone
  readonly directions: Readonly<Record<TariffDirection, DirectionPrices>>
}

const bothTypes: readonly TariffType[] = ['COMMODITY', 'NON_COMMODITY']

const hasTiers = (tariff: Tariff): boolean =>
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
  // On-site generation without a tariff is worth nothing and known to be.
  const isFree = commodity === null && direction === 'LOCAL'
  return {
    start: Math.max(commodityCoverage.start, nonCommodityCoverage.start),
    end: Math.min(commodityCoverage.end, nonCommodityCoverage.end),
    plan: pool.planOf({ zone: input.timeZone, commodity, nonCommodity, isFree, market }),
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
  const [commodityCoverages, nonCommodityCoverages] = bothTypes.map(type =>
    tariffCoverage(input.tariffs, direction, type),
  ) as [Coverage[], Coverage[]]
  const pricePeriods: PricePeriod[] = []
  let [commodityCoverage, nonCommodityCoverage] = [0, 0]
  while (commodityCoverage < commodityCoverages.length && nonCommodityCoverage < nonCommodityCoverages.length) {
    const [commodityOne, nonCommodityOne] = [
      commodityCoverages[commodityCoverage] as Coverage,
      nonCommodityCoverages[nonCommodityCoverage] as Coverage,
    ]
    pricePeriods.push(createPricePeriod(input, pool, direction, commodityOne, nonCommodityOne))
    if (commodityOne.end <= nonCommodityOne.end) commodityCoverage += 1
    if (nonCommodityOne.end <= commodityOne.end) nonCommodityCoverage += 1
  }
  const hasTieredTariff = (type: TariffType) =>
    input.tariffs.some(
      commodityOne => commodityOne.direction === direction && commodityOne.type === type && hasTiers(commodityOne),
    )
  return {
    pricePeriods,
    isTiered: { COMMODITY: hasTieredTariff('COMMODITY'), NON_COMMODITY: hasTieredTariff('NON_COMMODITY') },
  }
}

/** Directions without tariffs are alike in all locations of a zone, that is, on one plan. */
const emptyDirections = new WeakMap<PricePlan, DirectionPrices>()

const emptyDirection = (input: PricingInput, pool: PricingPool, direction: TariffDirection): DirectionPrices => {
  const compiled = compileDirection(input, pool, direction)
  const plan = (compiled.pricePeriods[0] as PricePeriod).plan
  const cached = emptyDirections.get(plan) ?? compiled
  emptyDirections.set(plan, cached)
  return cached
}

/**
 * Compile what prices a location's energy. Compiled schedules and price timelines are shared through the pool, so a snapshot is small.
 * The schedules must have been read by `readTariffTerms`.
 */
export const compileSnapshot = (input: PricingInput, pool: PricingPool): PricingSnapshot => {
  const pricesOf = (direction: TariffDirection): DirectionPrices =>
    input.tariffs.some(tariff => tariff.direction === direction)
      ? compileDirection(input, pool, direction)
      : emptyDirection(input, pool, direction)
  const directions = { IMPORT: pricesOf('IMPORT'), EXPORT: pricesOf('EXPORT'), LOCAL: pricesOf('LOCAL') }
  return { locationId: input.locationId, currencyCode: input.currencyCode, timeZone: input.timeZone, directions }
}

/** Tell whether the energy of a direction is counted for tiers, so that its costs depend on the records before. */
export const hasTieredPrices = (snapshot: PricingSnapshot, direction: TariffDirection): boolean => {
  const { isTiered } = snapshot.directions[direction]
  return isTiered.COMMODITY || isTiered.NON_COMMODITY
}

/** Give the index of the era that holds an instant. */
export const pricePeriodIndex = (pricePeriods: readonly PricePeriod[], at: number): number => {
  let index = pricePeriods.length - 1
  while (index > 0 && (pricePeriods[index] as PricePeriod).start > at) index -= 1
  return index
}
