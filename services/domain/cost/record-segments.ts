import { confidenceOf, countingStart } from '../tariff/evaluate.ts'
import type { PriceSegment } from '../tariff/price-plan.ts'
import { isSameRate, type Rate } from '../tariff/rate.ts'
import type { PricePeriod } from '../tariff/snapshot.ts'
import type { TariffType } from '../tariff/tariff.ts'

/** Part of a record in which only a tier can change the price. */
export type RecordSegment = {
  readonly start: number
  end: number
  readonly pricePeriod: PricePeriod
  readonly priceSegment: PriceSegment
  readonly monthStart: number
}

const isSameAccumulator = (a: RecordSegment, pricePeriod: PricePeriod, monthStart: number, type: TariffType): boolean =>
  countingStart(a.pricePeriod, type, a.monthStart) === countingStart(pricePeriod, type, monthStart)

const areSameRates = (a: readonly Rate[] | undefined, b: readonly Rate[] | undefined): boolean =>
  a === b || (a?.length === b?.length && (a ?? []).every((rate, index) => isSameRate(rate, b?.[index] as Rate)))

/** Check if segments on both sides of a new version of a tariff have the same rates. */
const isSameAcrossVersions = (
  { pricePeriod: a, priceSegment: segmentA }: RecordSegment,
  b: PricePeriod,
  segmentB: PriceSegment,
): boolean => {
  if (segmentA.market !== segmentB.market || confidenceOf(a, segmentA) !== confidenceOf(b, segmentB)) return false
  const [commodity, nonCommodity] = [
    a.plan.commodity?.rateLists[segmentA.timeBands.commodity],
    a.plan.nonCommodity?.rateLists[segmentA.timeBands.nonCommodity],
  ]
  return (
    areSameRates(commodity, b.plan.commodity?.rateLists[segmentB.timeBands.commodity]) &&
    areSameRates(nonCommodity, b.plan.nonCommodity?.rateLists[segmentB.timeBands.nonCommodity])
  )
}

/**
 * Check if a segment continues in the next price segment.
 * Segments must differ in more than the tier. An edge at which nothing else changes must not cut a record: a tier bound
 * near it would move to the edge.
 */
export const continuesSegment = (
  segment: RecordSegment,
  pricePeriod: PricePeriod,
  priceSegment: PriceSegment,
  monthStart: number,
): boolean => {
  const isSamePeriod = segment.pricePeriod === pricePeriod
  if (!isSamePeriod && segment.pricePeriod.unchangedSince !== pricePeriod.unchangedSince) return false
  if (!isSamePeriod || segment.monthStart !== monthStart) {
    if (
      !isSameAccumulator(segment, pricePeriod, monthStart, 'COMMODITY') ||
      !isSameAccumulator(segment, pricePeriod, monthStart, 'NON_COMMODITY')
    )
      return false
  }
  if (!isSamePeriod) return isSameAcrossVersions(segment, pricePeriod, priceSegment)
  if (segment.priceSegment === priceSegment) return true
  const [segmentA, segmentB] = [segment.priceSegment, priceSegment]
  const isSameTimeBand =
    segmentA.timeBands.commodity === segmentB.timeBands.commodity &&
    segmentA.timeBands.nonCommodity === segmentB.timeBands.nonCommodity
  return (
    isSameTimeBand &&
    segmentA.market === segmentB.market &&
    confidenceOf(pricePeriod, segmentA) === confidenceOf(pricePeriod, segmentB)
  )
}
