import { costOf, cumulativeShare, divideHalfEven, type Energy, type Money, type Price } from '../quantity.ts'
import type { MeterRecord } from '../record/record.ts'
import { confidenceOf, countingStart } from '../tariff/evaluate.ts'
import type { PriceEra, PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection, TariffType } from '../tariff/tariff.ts'
import { type TierCounts, type TierMove, tierKey } from '../tariff/tier-count.ts'
import { type TierPrice, tierAt } from '../tariff/tier-price.ts'
import { type Interval, type RecordSegment, recordSegments } from './record-segments.ts'

/**
 * A part of a record at one price: `cost` is price × energy, half to even to 1e-9. `tier` is the lower bound of the commodity tier.
 * Confidence (1e-4) is that of the price. A part without length holds what a tier cut leaves at an instant, or an impulse.
 */
export type CostPiece = Interval & {
  readonly energy: Energy
  readonly price: Price
  readonly tier: Energy
  readonly cost: Money
  readonly confidence: number
  readonly commodityId: string | null
  readonly nonCommodityId: string | null
}

/** A piece in the making; `price` null has none. */
export type Draft = {
  readonly start: number
  end: number
  energy: Energy
  readonly price: Price | null
  readonly tier: Energy
  readonly nonCommodityTier: Energy
  readonly confidence: number
  readonly era: PriceEra
  readonly covered: boolean
}

export const pieceOf = ({ start, end, energy, price, tier, confidence, era }: Draft): CostPiece => ({
  start,
  end,
  energy,
  price: price as Price,
  tier,
  cost: costOf(energy, price as Price),
  confidence,
  commodityId: era.commodityId,
  nonCommodityId: era.nonCommodityId,
})

const isSamePrice = (a: Draft, b: Draft): boolean =>
  a.price === b.price &&
  a.tier === b.tier &&
  a.nonCommodityTier === b.nonCommodityTier &&
  a.confidence === b.confidence &&
  a.covered === b.covered &&
  a.era.commodityId === b.era.commodityId &&
  a.era.nonCommodityId === b.era.nonCommodityId

const append = (drafts: Draft[], draft: Draft): void => {
  const last = drafts.at(-1)
  if (last !== undefined && isSamePrice(last, draft)) {
    last.end = draft.end
    last.energy += draft.energy
  } else drafts.push(draft)
}

/** One accumulator as a record passes through it. */
type Meter = {
  readonly type: TariffType
  readonly direction: TariffDirection
  readonly countingStart: number
  readonly before: Energy
  after: Energy
}

/** The accumulators that a record stands in, opened as its time reaches them; `null` for a type that counts nothing. */
const openMeters = (snapshot: PricingSnapshot, direction: TariffDirection, counted: TierCounts) => {
  const { tiered } = snapshot.directions[direction]
  const meters: Meter[] = []
  const meterFor = (type: TariffType, era: PriceEra, monthStart: number): Meter | null => {
    const tariffId = type === 'COMMODITY' ? era.commodityId : era.nonCommodityId
    if (!tiered[type] || tariffId === null) return null
    const from = countingStart(era, type, monthStart)
    const open = meters.find(meter => meter.type === type && meter.countingStart === from)
    if (open !== undefined) return open
    const before = counted.get(tierKey(type, direction, from)) ?? 0n
    const meter = { type, direction, countingStart: from, before, after: before }
    meters.push(meter)
    return meter
  }
  return { meters, meterFor }
}

const roomIn = (tier: TierPrice | undefined, meter: Meter | null): Energy | null =>
  meter === null || tier === undefined || tier.to === null ? null : tier.to - meter.after

const smaller = (a: Energy | null, b: Energy | null): Energy | null => (a === null ? b : b === null || a < b ? a : b)

/** How far a record is cut: `submitted` is the cumulative share of its energy, `kept` what of it counts. */
type Progress = { readonly record: MeterRecord; readonly drafts: Draft[]; submitted: Energy; kept: Energy }

/** The share of a record's energy that it has passed at an instant. */
const shareAt = ({ start, end, energy }: MeterRecord, at: number): Energy =>
  at === end ? energy : cumulativeShare(energy, at - start, end - start)

/** The instant at which a record has passed a share of its energy. */
const timeOf = ({ start, end, energy }: MeterRecord, share: Energy): number =>
  start + Number(divideHalfEven(BigInt(end - start) * share, energy))

/** The meters of both types in a segment, and whether the record moves them there. */
type SegmentMeters = { readonly commodity: Meter | null; readonly nonCommodity: Meter | null; readonly moves: boolean }

/** Add the pieces of a segment: one, or one more for each tier bound that its energy passes. */
const sliceSegment = (progress: Progress, segment: RecordSegment, meters: SegmentMeters): void => {
  const { stretch, era, covered } = segment
  const total = shareAt(progress.record, segment.end)
  let at = segment.start
  let isCut = true
  while (isCut) {
    const commodity = stretch.commodity.length === 0 ? undefined : tierAt(stretch.commodity, meters.commodity?.after ?? 0n)
    const nonCommodity = tierAt(stretch.nonCommodity, meters.nonCommodity?.after ?? 0n)
    const room = meters.moves ? smaller(roomIn(commodity, meters.commodity), roomIn(nonCommodity, meters.nonCommodity)) : null
    const left = total - progress.submitted
    isCut = room !== null && room < left
    const share = room !== null && isCut ? room : left
    progress.submitted += share
    const end = isCut ? Math.min(segment.end, Math.max(at, timeOf(progress.record, progress.submitted))) : segment.end
    const price = commodity === undefined ? null : commodity.aggregate + nonCommodity.aggregate
    const tier = commodity?.from ?? 0n
    const energy = covered ? 0n : share
    const confidence = confidenceOf(era, stretch)
    append(progress.drafts, { start: at, end, energy, price, tier, nonCommodityTier: nonCommodity.from, confidence, era, covered })
    progress.kept += energy
    if (meters.moves && meters.commodity !== null) meters.commodity.after += energy
    if (meters.moves && meters.nonCommodity !== null) meters.nonCommodity.after += energy
    at = end
  }
}

/**
 * Cut a record where price, tariff, tier or confidence changes and where actuals cover it; equal neighbours are one.
 * Energy goes to the parts cumulatively; a tier cut takes the exact energy to the bound, and its time is
 * start + length × energy to the bound / energy of the record, half to even to 1 ms. Source: contract decisions 10.
 */
export const sliceRecord = (
  snapshot: PricingSnapshot,
  record: MeterRecord,
  counted: TierCounts,
  covered: readonly Interval[],
): { readonly drafts: readonly Draft[]; readonly moves: readonly TierMove[]; readonly energy: Energy } => {
  const direction = record.tariffDirection
  const countsNothing = record.energyFlowDirection === 'OUTBOUND' && direction === 'IMPORT'
  const { meters, meterFor } = openMeters(snapshot, direction, counted)
  const progress: Progress = { record, drafts: [], submitted: 0n, kept: 0n }
  for (const segment of recordSegments(snapshot, record, covered)) {
    sliceSegment(progress, segment, {
      commodity: meterFor('COMMODITY', segment.era, segment.monthStart),
      nonCommodity: meterFor('NON_COMMODITY', segment.era, segment.monthStart),
      moves: !countsNothing && !segment.covered,
    })
  }
  return { drafts: progress.drafts, moves: meters, energy: progress.kept }
}
