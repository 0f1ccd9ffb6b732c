import { costOf, cumulativeShare, divideHalfEven, type Energy, type Money, type Price } from '../quantity.ts'
import type { MeterRecord } from '../record/record.ts'
import { confidenceOf, countingStart, startWalk, type VisitStretch, type Walk, walkOn } from '../tariff/evaluate.ts'
import type { PriceEra, PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection, TariffType } from '../tariff/tariff.ts'
import { type TierCounts, type TierMove, tierKey } from '../tariff/tier-count.ts'
import { type TierPrice, tierAt } from '../tariff/tier-price.ts'
import { goesOn, type Interval, type RecordSegment } from './record-segments.ts'

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

/** The piece that is being made: what follows at the same price joins it. `price` null has none. */
type Draft = {
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

/** Energy, time and number of the pieces of one confidence (1e-4). */
export type Weight = { readonly confidence: number; energy: Energy; timeMs: number; count: number }

/** One accumulator as a record passes through it. */
type Meter = {
  readonly type: TariffType
  readonly direction: TariffDirection
  readonly countingStart: number
  readonly before: Energy
  after: Energy
}

/** The accumulators in which a part of a record counts; null for a type that counts nothing there. */
type PartMeters = {
  readonly era: PriceEra | null
  readonly monthStart: number
  readonly commodity: Meter | null
  readonly nonCommodity: Meter | null
}

/**
 * A record on its way to its pieces. `submitted` is the cumulative share of its energy, `kept` what of it counts. `pieces` are those that
 * are done and not taken yet. `isUnpriced`: some of its time has no price, and no more pieces are made.
 */
export type Slicing = {
  readonly record: MeterRecord
  readonly snapshot: PricingSnapshot
  readonly counted: TierCounts
  readonly covered: readonly Interval[]
  readonly walk: Walk
  readonly visit: VisitStretch
  readonly meters: Meter[]
  partMeters: PartMeters
  segment: RecordSegment | null
  /** Intervals of `covered` before this one end before the segment. */
  coveredIndex: number
  draft: Draft | null
  pieces: CostPiece[]
  submitted: Energy
  kept: Energy
  cost: Money
  isUnpriced: boolean
  firstEra: PriceEra | null
  /** The ids of all eras; null while there is one. */
  tariffIds: Set<string> | null
  /** That of the last piece. */
  weight: Weight | null
  /** All weights by confidence; null while there is one. */
  weights: Map<number, Weight> | null
}

const noMeters: PartMeters = { era: null, monthStart: Number.NaN, commodity: null, nonCommodity: null }

const meterFor = ({ record, snapshot, counted, meters }: Slicing, type: TariffType, era: PriceEra, monthStart: number): Meter | null => {
  const direction = record.tariffDirection
  const tariffId = type === 'COMMODITY' ? era.commodityId : era.nonCommodityId
  if (!snapshot.directions[direction].tiered[type] || tariffId === null) return null
  const from = countingStart(era, type, monthStart)
  const open = meters.find(meter => meter.type === type && meter.countingStart === from)
  if (open !== undefined) return open
  const before = counted.get(tierKey(type, direction, from)) ?? 0n
  const meter = { type, direction, countingStart: from, before, after: before }
  meters.push(meter)
  return meter
}

/** Give the accumulators of a part, opened as the record's time reaches them. */
const metersOf = (slicing: Slicing, era: PriceEra, monthStart: number): PartMeters => {
  const known = slicing.partMeters
  if (known.era === era && known.monthStart === monthStart) return known
  const commodity = meterFor(slicing, 'COMMODITY', era, monthStart)
  const nonCommodity = meterFor(slicing, 'NON_COMMODITY', era, monthStart)
  slicing.partMeters = { era, monthStart, commodity, nonCommodity }
  return slicing.partMeters
}

/** Add a piece to the weight of its confidence. */
const weigh = (slicing: Slicing, confidence: number, energy: Energy, timeMs: number): void => {
  const last = slicing.weight
  const weight = last?.confidence === confidence ? last : slicing.weights?.get(confidence)
  if (weight !== undefined) {
    weight.energy += energy
    weight.timeMs += timeMs
    weight.count += 1
    slicing.weight = weight
    return
  }
  const added = { confidence, energy, timeMs, count: 1 }
  if (last !== null) {
    slicing.weights ??= new Map([[last.confidence, last]])
    slicing.weights.set(confidence, added)
  }
  slicing.weight = added
}

/** End the piece that is being made. */
const endPiece = (slicing: Slicing): void => {
  const { draft } = slicing
  if (draft === null) return
  slicing.draft = null
  const { start, end, energy, price, tier, confidence, era } = draft
  slicing.firstEra ??= era
  if (era !== slicing.firstEra) {
    slicing.tariffIds ??= new Set(slicing.firstEra.tariffIds)
    for (const id of era.tariffIds) slicing.tariffIds.add(id)
  }
  if (price === null) {
    slicing.isUnpriced = true
    slicing.pieces = []
  }
  if (price === null || slicing.isUnpriced) return
  const cost = costOf(energy, price)
  const { commodityId, nonCommodityId } = era
  slicing.pieces.push({ start, end, energy, price, tier, cost, confidence, commodityId, nonCommodityId })
  slicing.cost += cost
  weigh(slicing, confidence, energy, end - start)
}

const isSamePrice = (a: Draft, b: Draft): boolean =>
  a.price === b.price &&
  a.tier === b.tier &&
  a.nonCommodityTier === b.nonCommodityTier &&
  a.confidence === b.confidence &&
  a.covered === b.covered &&
  a.era.commodityId === b.era.commodityId &&
  a.era.nonCommodityId === b.era.nonCommodityId

const append = (slicing: Slicing, next: Draft): void => {
  const { draft } = slicing
  if (draft !== null && isSamePrice(draft, next)) {
    draft.end = next.end
    draft.energy += next.energy
    return
  }
  endPiece(slicing)
  slicing.draft = next
}

const roomIn = (tier: TierPrice | undefined, meter: Meter | null): Energy | null =>
  meter === null || tier === undefined || tier.to === null ? null : tier.to - meter.after

const smaller = (a: Energy | null, b: Energy | null): Energy | null => (a === null ? b : b === null || a < b ? a : b)

/** The share of a record's energy that it has passed at an instant behind its start, or at its end. */
export const shareAt = ({ start, end, energy }: MeterRecord, at: number): Energy =>
  at === end ? energy : cumulativeShare(energy, at - start, end - start)

/** The instant at which a record has passed a share of its energy. */
const timeOf = ({ start, end, energy }: MeterRecord, share: Energy): number =>
  start + Number(divideHalfEven(BigInt(end - start) * share, energy))

/** Tell whether the energy of a record moves the accumulators that it stands in. */
export const movesTiers = ({ energyFlowDirection, tariffDirection }: MeterRecord): boolean =>
  !(energyFlowDirection === 'OUTBOUND' && tariffDirection === 'IMPORT')

/** Add the pieces of a part of the segment: one, or one more for each tier bound that its energy passes. */
const slicePart = (slicing: Slicing, segment: RecordSegment, from: number, to: number, covered: boolean): void => {
  const { stretch, era, monthStart } = segment
  const meters = metersOf(slicing, era, monthStart)
  const moves = !covered && movesTiers(slicing.record)
  const total = shareAt(slicing.record, to)
  let at = from
  let isCut = true
  while (isCut) {
    const commodity = stretch.commodity.length === 0 ? undefined : tierAt(stretch.commodity, meters.commodity?.after ?? 0n)
    const nonCommodity = tierAt(stretch.nonCommodity, meters.nonCommodity?.after ?? 0n)
    const room = moves ? smaller(roomIn(commodity, meters.commodity), roomIn(nonCommodity, meters.nonCommodity)) : null
    const left = total - slicing.submitted
    isCut = room !== null && room < left
    const share = room !== null && isCut ? room : left
    slicing.submitted += share
    const end = isCut ? Math.min(to, Math.max(at, timeOf(slicing.record, slicing.submitted))) : to
    const price = commodity === undefined ? null : commodity.aggregate + nonCommodity.aggregate
    const tier = commodity?.from ?? 0n
    const energy = covered ? 0n : share
    const confidence = confidenceOf(era, stretch)
    append(slicing, { start: at, end, energy, price, tier, nonCommodityTier: nonCommodity.from, confidence, era, covered })
    slicing.kept += energy
    if (moves && meters.commodity !== null) meters.commodity.after += energy
    if (moves && meters.nonCommodity !== null) meters.nonCommodity.after += energy
    at = end
  }
}

/** End the segment that is being made: cut it at the edges of the covered intervals, which are sorted and apart from each other. */
const endSegment = (slicing: Slicing): void => {
  const { segment, covered } = slicing
  if (segment === null) return
  slicing.segment = null
  const { start, end } = segment
  while ((covered[slicing.coveredIndex]?.end ?? Number.POSITIVE_INFINITY) <= start) slicing.coveredIndex += 1
  let at = start
  let isCovered = false
  for (let index = slicing.coveredIndex; index < covered.length; index += 1) {
    const interval = covered[index] as Interval
    if (interval.start >= end) break
    if (interval.start > at) slicePart(slicing, segment, at, interval.start, false)
    const from = Math.max(at, interval.start)
    at = Math.min(end, interval.end)
    slicePart(slicing, segment, from, at, true)
    isCovered = true
  }
  if (at < end || !isCovered) slicePart(slicing, segment, at, end, false)
}

/**
 * Begin to cut a record where price, tariff, tier or confidence changes and where actuals cover it; equal neighbours are one.
 * Energy goes to the parts cumulatively; a tier cut takes the exact energy to the bound, and its time is
 * start + length × energy to the bound / energy of the record, half to even to 1 ms.
 * Source: docs/rules/tariffs.md #cutting-a-record.
 */
export const startSlicing = (
  snapshot: PricingSnapshot,
  record: MeterRecord,
  counted: TierCounts,
  covered: readonly Interval[],
): Slicing => {
  const slicing: Slicing = {
    record,
    snapshot,
    counted,
    covered,
    walk: startWalk(snapshot.directions[record.tariffDirection].eras, record.start),
    visit: (start, end, era, stretch, monthStart) => {
      const { segment } = slicing
      if (segment !== null && goesOn(segment, era, stretch, monthStart)) segment.end = end
      else {
        endSegment(slicing)
        slicing.segment = { start, end, era, stretch, monthStart }
      }
    },
    meters: [],
    partMeters: noMeters,
    segment: null,
    coveredIndex: 0,
    draft: null,
    pieces: [],
    submitted: 0n,
    kept: 0n,
    cost: 0n,
    isUnpriced: false,
    firstEra: null,
    tariffIds: null,
    weight: null,
    weights: null,
  }
  return slicing
}

/** Slice the next day of a record at most; true once it is sliced to its end. */
export const sliceDay = (slicing: Slicing): boolean => {
  const { record, snapshot, walk, visit } = slicing
  walkOn(snapshot.directions[record.tariffDirection].eras, walk, record.end, visit)
  if (walk.at < record.end) return false
  endSegment(slicing)
  endPiece(slicing)
  return true
}

/** What a record that is sliced to its end stands in. */
export const movesOf = ({ meters }: Slicing): readonly TierMove[] => meters
