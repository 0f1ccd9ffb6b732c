import type { TimeZone } from '../civil-time.ts'
import { type Coverage, startOf, tariffCoverage } from './coverage.ts'
import type { PricePlan } from './price-plan.ts'
import type { PricingPool } from './pricing-pool.ts'
import type { PricingInput, Tariff, TariffDirection, TariffType } from './tariff.ts'
import { schedulesOf } from './tariff-version.ts'
import type { Terms } from './terms.ts'

/**
 * A half-open span in which the tariffs of a direction, their prices and their standing do not change. Confidence in 1e-4.
 * Since `since` tariffs and standing have not changed; prices may have, where a tariff has versions. The starts are those of the contracts (-Infinity when open or without tariff), from which tiers may count.
 */
export type PriceEra = {
  readonly from: number
  readonly to: number
  readonly plan: PricePlan
  readonly confidence: number
  readonly commodityId: string | null
  readonly nonCommodityId: string | null
  readonly tariffIds: readonly string[]
  readonly commodityStart: number
  readonly nonCommodityStart: number
  readonly since: number
}

/** The prices of one direction: eras over all time, in order, and whether its records move tiers. */
export type DirectionPrices = { readonly eras: readonly PriceEra[]; readonly tiered: Readonly<Record<TariffType, boolean>> }

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

const termsOf = (pool: PricingPool, { tariff, schedule }: Coverage): Terms | null =>
  tariff === null || schedule === null ? null : pool.termsOf({ schedule, marketRates: tariff.marketRates })

const makeEra = (input: PricingInput, pool: PricingPool, direction: TariffDirection, base: Coverage, extra: Coverage): PriceEra => {
  const commodity = termsOf(pool, base)
  const nonCommodity = termsOf(pool, extra)
  const market = commodity?.marketRates !== true ? null : direction === 'EXPORT' ? input.exportMarket : input.importMarket
  // On-site generation without a tariff is worth nothing and known to be.
  const free = commodity === null && direction === 'LOCAL'
  return {
    from: Math.max(base.from, extra.from),
    to: Math.min(base.to, extra.to),
    plan: pool.planOf({ zone: input.timeZone, commodity, nonCommodity, free, market }),
    confidence: Math.min(base.confidence, extra.confidence),
    commodityId: base.tariff?.id ?? null,
    nonCommodityId: extra.tariff?.id ?? null,
    tariffIds: [base.tariff?.id, extra.tariff?.id].filter(id => id !== undefined),
    commodityStart: base.tariff === null ? Number.NEGATIVE_INFINITY : startOf(base.tariff),
    nonCommodityStart: extra.tariff === null ? Number.NEGATIVE_INFINITY : startOf(extra.tariff),
    since: Math.max(base.since, extra.since),
  }
}

const compileDirection = (input: PricingInput, pool: PricingPool, direction: TariffDirection): DirectionPrices => {
  const [bases, extras] = bothTypes.map(type => tariffCoverage(input.tariffs, direction, type)) as [Coverage[], Coverage[]]
  const eras: PriceEra[] = []
  let [base, extra] = [0, 0]
  while (base < bases.length && extra < extras.length) {
    const [one, other] = [bases[base] as Coverage, extras[extra] as Coverage]
    eras.push(makeEra(input, pool, direction, one, other))
    if (one.to <= other.to) base += 1
    if (other.to <= one.to) extra += 1
  }
  const isTiered = (type: TariffType) => input.tariffs.some(one => one.direction === direction && one.type === type && hasTiers(one))
  return { eras, tiered: { COMMODITY: isTiered('COMMODITY'), NON_COMMODITY: isTiered('NON_COMMODITY') } }
}

/** Directions without tariffs are alike in all locations of a zone, that is, on one plan. */
const emptyDirections = new WeakMap<PricePlan, DirectionPrices>()

const emptyDirection = (input: PricingInput, pool: PricingPool, direction: TariffDirection): DirectionPrices => {
  const made = compileDirection(input, pool, direction)
  const plan = (made.eras[0] as PriceEra).plan
  const known = emptyDirections.get(plan) ?? made
  emptyDirections.set(plan, known)
  return known
}

/**
 * Compile what prices a location's energy. Compiled schedules and price timelines are shared through the pool, so a snapshot is small.
 * The schedules must have been read by `readTariffTerms`.
 */
export const compileSnapshot = (input: PricingInput, pool: PricingPool): PricingSnapshot => {
  const of = (direction: TariffDirection): DirectionPrices =>
    input.tariffs.some(tariff => tariff.direction === direction)
      ? compileDirection(input, pool, direction)
      : emptyDirection(input, pool, direction)
  const directions = { IMPORT: of('IMPORT'), EXPORT: of('EXPORT'), LOCAL: of('LOCAL') }
  return { locationId: input.locationId, currencyCode: input.currencyCode, timeZone: input.timeZone, directions }
}

/** Tell whether the energy of a direction is counted for tiers, so that its costs depend on the records before. */
export const countsEnergy = (snapshot: PricingSnapshot, direction: TariffDirection): boolean => {
  const { tiered } = snapshot.directions[direction]
  return tiered.COMMODITY || tiered.NON_COMMODITY
}

/** Give the index of the era that holds an instant. */
export const eraIndex = (eras: readonly PriceEra[], at: number): number => {
  let index = eras.length - 1
  while (index > 0 && (eras[index] as PriceEra).from > at) index -= 1
  return index
}
