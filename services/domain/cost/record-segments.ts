import type { MeterRecord } from '../record/record.ts'
import { confidenceOf, countingStart, walkStretches } from '../tariff/evaluate.ts'
import type { PriceStretch } from '../tariff/price-plan.ts'
import type { PriceEra, PricingSnapshot } from '../tariff/snapshot.ts'
import type { Rate, TariffType } from '../tariff/tariff.ts'

/** A half-open span of instants. */
export type Interval = { readonly start: number; readonly end: number }

/** A part of a record in which only a tier can change the price. `covered`: actuals take its energy. */
export type RecordSegment = {
  readonly start: number
  end: number
  readonly era: PriceEra
  readonly stretch: PriceStretch
  readonly monthStart: number
  readonly covered: boolean
}

const countsAlike = (a: RecordSegment, b: RecordSegment, type: TariffType): boolean =>
  countingStart(a.era, type, a.monthStart) === countingStart(b.era, type, b.monthStart)

const isSameRate = (a: Rate, b: Rate | undefined): boolean =>
  a.fixed === b?.fixed && a.to === b.to && a.surchargeFixed === b.surchargeFixed && a.surchargePercentage === b.surchargePercentage

const isSameRates = (a: readonly Rate[] | undefined, b: readonly Rate[] | undefined): boolean =>
  a === b || (a?.length === b?.length && (a ?? []).every((rate, index) => isSameRate(rate, b?.[index])))

/** Whether two segments on both sides of a new version of a tariff have the same rates. */
const isSameAcrossVersions = (a: RecordSegment, b: RecordSegment): boolean => {
  const ratesOf = ({ era, stretch }: RecordSegment) => era.plan.commodity?.bands[stretch.bands.band]
  const extraRatesOf = ({ era, stretch }: RecordSegment) => era.plan.nonCommodity?.bands[stretch.bands.nonBand]
  const isSamePlan = a.stretch.market === b.stretch.market && confidenceOf(a.era, a.stretch) === confidenceOf(b.era, b.stretch)
  return isSamePlan && isSameRates(ratesOf(a), ratesOf(b)) && isSameRates(extraRatesOf(a), extraRatesOf(b))
}

const isSame = (a: RecordSegment, b: RecordSegment): boolean => {
  if (a.era.since !== b.era.since || !countsAlike(a, b, 'COMMODITY') || !countsAlike(a, b, 'NON_COMMODITY')) return false
  if (a.era !== b.era) return isSameAcrossVersions(a, b)
  if (a.stretch === b.stretch) return true
  const [x, y] = [a.stretch, b.stretch]
  const isSameBand = x.bands.band === y.bands.band && x.bands.nonBand === y.bands.nonBand
  return isSameBand && x.market === y.market && confidenceOf(a.era, x) === confidenceOf(b.era, y)
}

/** Cut a segment at the edges of the covered intervals, which are sorted and apart from each other. */
const cutCovered = (segment: RecordSegment, covered: readonly Interval[]): RecordSegment[] => {
  const parts: RecordSegment[] = []
  let at = segment.start
  for (const interval of covered) {
    if (interval.end <= at || interval.start >= segment.end) continue
    if (interval.start > at) parts.push({ ...segment, start: at, end: interval.start, covered: false })
    const start = Math.max(at, interval.start)
    at = Math.min(segment.end, interval.end)
    parts.push({ ...segment, start, end: at, covered: true })
  }
  if (at < segment.end || parts.length === 0) parts.push({ ...segment, start: at, covered: false })
  return parts
}

/**
 * Give the segments of a record, in order and without a gap. Neighbours differ in more than a tier: an edge at which nothing else
 * changes must not be one, for a tier bound met close by would move to it. A record without length is one segment.
 */
export const recordSegments = (snapshot: PricingSnapshot, record: MeterRecord, covered: readonly Interval[]): RecordSegment[] => {
  const segments: RecordSegment[] = []
  walkStretches(snapshot, record.tariffDirection, record.start, record.end, (start, end, era, stretch, monthStart) => {
    const next = { start, end, era, stretch, monthStart, covered: false }
    const last = segments.at(-1)
    if (last !== undefined && isSame(last, next)) last.end = end
    else segments.push(next)
  })
  return covered.length === 0 ? segments : segments.flatMap(segment => cutCovered(segment, covered))
}
