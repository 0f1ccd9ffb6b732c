import { confidenceOf, countingStart } from '../tariff/evaluate.ts'
import type { PriceStretch } from '../tariff/price-plan.ts'
import type { PriceEra } from '../tariff/snapshot.ts'
import type { Rate, TariffType } from '../tariff/tariff.ts'

/** A half-open span of instants. */
export type Interval = { readonly start: number; readonly end: number }

/** A part of a record in which only a tier can change the price. */
export type RecordSegment = {
  readonly start: number
  end: number
  readonly era: PriceEra
  readonly stretch: PriceStretch
  readonly monthStart: number
}

const countsAlike = (a: RecordSegment, era: PriceEra, monthStart: number, type: TariffType): boolean =>
  countingStart(a.era, type, a.monthStart) === countingStart(era, type, monthStart)

const isSameRate = (a: Rate, b: Rate | undefined): boolean =>
  a.fixed === b?.fixed && a.to === b.to && a.surchargeFixed === b.surchargeFixed && a.surchargePercentage === b.surchargePercentage

const isSameRates = (a: readonly Rate[] | undefined, b: readonly Rate[] | undefined): boolean =>
  a === b || (a?.length === b?.length && (a ?? []).every((rate, index) => isSameRate(rate, b?.[index])))

/** Whether stretches on both sides of a new version of a tariff have the same rates. */
const isSameAcrossVersions = ({ era: a, stretch: x }: RecordSegment, b: PriceEra, y: PriceStretch): boolean => {
  if (x.market !== y.market || confidenceOf(a, x) !== confidenceOf(b, y)) return false
  const [commodity, nonCommodity] = [a.plan.commodity?.bands[x.bands.band], a.plan.nonCommodity?.bands[x.bands.nonBand]]
  return (
    isSameRates(commodity, b.plan.commodity?.bands[y.bands.band]) && isSameRates(nonCommodity, b.plan.nonCommodity?.bands[y.bands.nonBand])
  )
}

/**
 * Tell whether a segment goes on in the next stretch. Neighbours must differ in more than a tier: an edge at which nothing else changes
 * must not be one, for a tier bound met close by would move to it.
 */
export const goesOn = (segment: RecordSegment, era: PriceEra, stretch: PriceStretch, monthStart: number): boolean => {
  const isSameEra = segment.era === era
  if (!isSameEra && segment.era.since !== era.since) return false
  if (!isSameEra || segment.monthStart !== monthStart) {
    if (!countsAlike(segment, era, monthStart, 'COMMODITY') || !countsAlike(segment, era, monthStart, 'NON_COMMODITY')) return false
  }
  if (!isSameEra) return isSameAcrossVersions(segment, era, stretch)
  if (segment.stretch === stretch) return true
  const [x, y] = [segment.stretch, stretch]
  const isSameBand = x.bands.band === y.bands.band && x.bands.nonBand === y.bands.nonBand
  return isSameBand && x.market === y.market && confidenceOf(era, x) === confidenceOf(era, y)
}
