import type { Interval } from '../interval.ts'
import { costOf, cumulativeShare, divideHalfEven, type Energy, type Money, type Price } from '../quantity.ts'
import type { MeterRecord } from '../record/record.ts'
import { type AccumulatorChange, type AccumulatorCounts, accumulatorKey } from '../tariff/accumulator.ts'
import {
  advanceCursor,
  confidenceOf,
  countingStart,
  type SegmentCursor,
  startCursor,
  type VisitPriceSegment,
} from '../tariff/evaluate.ts'
import type { PriceSegment } from '../tariff/price-plan.ts'
import type { PricePeriod, PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffType } from '../tariff/tariff.ts'
import { type TierPrice, tierAt } from '../tariff/tier-price.ts'
import type { CostPiece } from './cost-piece.ts'
import { continuesSegment, type RecordSegment } from './record-segments.ts'

/** Piece with its tariffs; null without a tariff of the type. */
export type TariffPiece = CostPiece & { readonly commodityId: string | null; readonly nonCommodityId: string | null }

/** Piece that can still grow: the next part joins it if its price is equal. `price` is null if there is no price. */
type OpenPiece = {
  readonly start: number
  end: number
  energy: Energy
  readonly price: Price | null
  readonly tier: Energy
  readonly nonCommodityTier: Energy
  readonly confidence: number
  readonly pricePeriod: PricePeriod
  readonly isCovered: boolean
}

/** Energy, time and number of the pieces with one confidence (1e-6). */
export type ConfidenceWeight = { readonly confidence: number; energy: Energy; timeMs: number; count: number }

/** Running count of one accumulator while a record is cut. */
type Accumulator = Omit<AccumulatorChange, 'after'> & { after: Energy }

/** Accumulators in which a part of a record counts; null for a type without tiers or without a tariff. */
type SegmentAccumulators = {
  readonly pricePeriod: PricePeriod | null
  readonly monthStart: number
  readonly commodity: Accumulator | null
  readonly nonCommodity: Accumulator | null
}

/**
 * State while a record is cut into pieces. `passedEnergy` is the cumulative share of the record's energy,
 * `countedEnergy` the part that counts.
 * `pieces` are complete and not yielded yet. If `isUnpriced`, some time has no price, and no more pieces are created.
 */
export type RecordCutting = {
  readonly record: MeterRecord
  readonly snapshot: PricingSnapshot
  readonly counted: AccumulatorCounts
  readonly covered: readonly Interval[]
  readonly cursor: SegmentCursor
  readonly visitSegment: VisitPriceSegment
  readonly accumulators: Accumulator[]
  segmentAccumulators: SegmentAccumulators
  segment: RecordSegment | null
  /** Index of the first covered interval that does not end before the segment. */
  firstCoveredIndex: number
  openPiece: OpenPiece | null
  pieces: TariffPiece[]
  passedEnergy: Energy
  countedEnergy: Energy
  cost: Money
  isUnpriced: boolean
  firstPeriod: PricePeriod | null
  /** Tariff ids of all price periods; null while there is one period. */
  tariffIds: Set<string> | null
  /** Weight of the confidence of the last piece. */
  weight: ConfidenceWeight | null
  /** All weights by confidence; null while there is one. */
  weights: Map<number, ConfidenceWeight> | null
}

const noAccumulators: SegmentAccumulators = {
  pricePeriod: null,
  monthStart: Number.NaN,
  commodity: null,
  nonCommodity: null,
}

const accumulatorFor = (
  { record, snapshot, counted, accumulators }: RecordCutting,
  type: TariffType,
  pricePeriod: PricePeriod,
  monthStart: number,
): Accumulator | null => {
  const direction = record.tariffDirection
  const tariffId = type === 'COMMODITY' ? pricePeriod.commodityId : pricePeriod.nonCommodityId
  if (!snapshot.directions[direction].isTiered[type] || tariffId === null) return null
  const from = countingStart(pricePeriod, type, monthStart)
  const existing = accumulators.find(accumulator => accumulator.type === type && accumulator.countingStart === from)
  if (existing !== undefined) return existing
  const before = counted.get(accumulatorKey(type, direction, from)) ?? 0n
  const accumulator = { type, direction, countingStart: from, before, after: before }
  accumulators.push(accumulator)
  return accumulator
}

/** Return the accumulators of a price period in a month. They are created when the record reaches them. */
const accumulatorsOf = (cutting: RecordCutting, pricePeriod: PricePeriod, monthStart: number): SegmentAccumulators => {
  const latest = cutting.segmentAccumulators
  if (latest.pricePeriod === pricePeriod && latest.monthStart === monthStart) return latest
  const commodity = accumulatorFor(cutting, 'COMMODITY', pricePeriod, monthStart)
  const nonCommodity = accumulatorFor(cutting, 'NON_COMMODITY', pricePeriod, monthStart)
  cutting.segmentAccumulators = { pricePeriod, monthStart, commodity, nonCommodity }
  return cutting.segmentAccumulators
}

/** Add a piece to the weight of its confidence. */
const addWeight = (cutting: RecordCutting, confidence: number, energy: Energy, timeMs: number): void => {
  const last = cutting.weight
  const weight = last?.confidence === confidence ? last : cutting.weights?.get(confidence)
  if (weight !== undefined) {
    weight.energy += energy
    weight.timeMs += timeMs
    weight.count += 1
    cutting.weight = weight
    return
  }
  const added = { confidence, energy, timeMs, count: 1 }
  if (last !== null) {
    cutting.weights ??= new Map([[last.confidence, last]])
    cutting.weights.set(confidence, added)
  }
  cutting.weight = added
}

/** Complete the open piece. */
const closePiece = (cutting: RecordCutting): void => {
  const { openPiece } = cutting
  if (openPiece === null) return
  cutting.openPiece = null
  const { start, end, energy, price, tier, confidence, pricePeriod } = openPiece
  cutting.firstPeriod ??= pricePeriod
  if (pricePeriod !== cutting.firstPeriod) {
    cutting.tariffIds ??= new Set(cutting.firstPeriod.tariffIds)
    for (const id of pricePeriod.tariffIds) cutting.tariffIds.add(id)
  }
  if (price === null) {
    cutting.isUnpriced = true
    cutting.pieces = []
  }
  if (price === null || cutting.isUnpriced) return
  const cost = costOf(energy, price)
  const { commodityId, nonCommodityId } = pricePeriod
  cutting.pieces.push({ start, end, energy, price, tier, cost, confidence, commodityId, nonCommodityId })
  cutting.cost += cost
  addWeight(cutting, confidence, energy, end - start)
}

const isSamePrice = (a: OpenPiece, b: OpenPiece): boolean =>
  a.price === b.price &&
  a.tier === b.tier &&
  a.nonCommodityTier === b.nonCommodityTier &&
  a.confidence === b.confidence &&
  a.isCovered === b.isCovered &&
  a.pricePeriod.commodityId === b.pricePeriod.commodityId &&
  a.pricePeriod.nonCommodityId === b.pricePeriod.nonCommodityId

const appendPiece = (cutting: RecordCutting, next: OpenPiece): void => {
  const { openPiece } = cutting
  if (openPiece !== null && isSamePrice(openPiece, next)) {
    openPiece.end = next.end
    openPiece.energy += next.energy
    return
  }
  closePiece(cutting)
  cutting.openPiece = next
}

const energyToBound = (tier: TierPrice | undefined, accumulator: Accumulator | null): Energy | null =>
  accumulator === null || tier === undefined || tier.to === null ? null : tier.to - accumulator.after

const smallerEnergy = (a: Energy | null, b: Energy | null): Energy | null =>
  a === null ? b : b === null || a < b ? a : b

/** Return the energy of a record from its start to an instant after its start, or to its end. */
export const energyShareAt = ({ start, end, energy }: MeterRecord, at: number): Energy =>
  at === end ? energy : cumulativeShare(energy, at - start, end - start)

/** Return the instant at which a record has passed a share of its energy. */
const instantOfShare = ({ start, end, energy }: MeterRecord, share: Energy): number =>
  start + Number(divideHalfEven(BigInt(end - start) * share, energy))

/** Check if the energy of a record counts towards tiers. */
export const countsTowardsTiers = ({ energyFlowDirection, tariffDirection }: MeterRecord): boolean =>
  !(energyFlowDirection === 'OUTBOUND' && tariffDirection === 'IMPORT')

/** Return the confidence of a piece (1e-6) from the confidence of its price (1e-4). */
export const pieceConfidence = (pricePeriod: PricePeriod, segment: PriceSegment): number =>
  100 * confidenceOf(pricePeriod, segment)

/** Add the pieces of a part of the segment: one, and one more for each tier bound that its energy passes. */
const cutPart = (
  cutting: RecordCutting,
  segment: RecordSegment,
  from: number,
  to: number,
  isCovered: boolean,
): void => {
  const { priceSegment, pricePeriod, monthStart } = segment
  const accumulators = accumulatorsOf(cutting, pricePeriod, monthStart)
  const isCounted = !isCovered && countsTowardsTiers(cutting.record)
  const total = energyShareAt(cutting.record, to)
  let at = from
  let isCut = true
  while (isCut) {
    const commodity =
      priceSegment.commodity.length === 0
        ? undefined
        : tierAt(priceSegment.commodity, accumulators.commodity?.after ?? 0n)
    const nonCommodity = tierAt(priceSegment.nonCommodity, accumulators.nonCommodity?.after ?? 0n)
    const toBound = isCounted
      ? smallerEnergy(
          energyToBound(commodity, accumulators.commodity),
          energyToBound(nonCommodity, accumulators.nonCommodity),
        )
      : null
    const remaining = total - cutting.passedEnergy
    isCut = toBound !== null && toBound < remaining
    const share = toBound !== null && isCut ? toBound : remaining
    cutting.passedEnergy += share
    const end = isCut ? Math.min(to, Math.max(at, instantOfShare(cutting.record, cutting.passedEnergy))) : to
    const price = commodity === undefined ? null : commodity.aggregate + nonCommodity.aggregate
    const tier = commodity?.from ?? 0n
    const energy = isCovered ? 0n : share
    const confidence = pieceConfidence(pricePeriod, priceSegment)
    appendPiece(cutting, {
      start: at,
      end,
      energy,
      price,
      tier,
      nonCommodityTier: nonCommodity.from,
      confidence,
      pricePeriod,
      isCovered,
    })
    cutting.countedEnergy += energy
    if (isCounted && accumulators.commodity !== null) accumulators.commodity.after += energy
    if (isCounted && accumulators.nonCommodity !== null) accumulators.nonCommodity.after += energy
    at = end
  }
}

/** Complete the open segment: cut it at the ends of the covered intervals, which are sorted and separate. */
const closeSegment = (cutting: RecordCutting): void => {
  const { segment, covered } = cutting
  if (segment === null) return
  cutting.segment = null
  const { start, end } = segment
  while ((covered[cutting.firstCoveredIndex]?.end ?? Number.POSITIVE_INFINITY) <= start) cutting.firstCoveredIndex += 1
  let at = start
  let isCovered = false
  for (let index = cutting.firstCoveredIndex; index < covered.length; index += 1) {
    const interval = covered[index] as Interval
    if (interval.start >= end) break
    if (interval.start > at) cutPart(cutting, segment, at, interval.start, false)
    const from = Math.max(at, interval.start)
    at = Math.min(end, interval.end)
    cutPart(cutting, segment, from, at, true)
    isCovered = true
  }
  if (at < end || !isCovered) cutPart(cutting, segment, at, end, false)
}

/**
 * Start to cut a record where price, tariff, tier or confidence changes and where actuals cover it. Equal neighbours
 * are joined.
 * Each part gets its cumulative share of the energy. A tier cut takes the exact energy to the bound. The time of the
 * cut is start + length × energy to the bound / energy of the record, half to even to 1 ms.
 * Source: docs/rules/tariffs.md #cutting-a-record.
 */
export const startCutting = (
  snapshot: PricingSnapshot,
  record: MeterRecord,
  counted: AccumulatorCounts,
  covered: readonly Interval[],
): RecordCutting => {
  const cutting: RecordCutting = {
    record,
    snapshot,
    counted,
    covered,
    cursor: startCursor(snapshot.directions[record.tariffDirection].pricePeriods, record.start),
    visitSegment: (start, end, pricePeriod, priceSegment, monthStart) => {
      const { segment } = cutting
      if (segment !== null && continuesSegment(segment, pricePeriod, priceSegment, monthStart)) segment.end = end
      else {
        closeSegment(cutting)
        cutting.segment = { start, end, pricePeriod, priceSegment, monthStart }
      }
    },
    accumulators: [],
    segmentAccumulators: noAccumulators,
    segment: null,
    firstCoveredIndex: 0,
    openPiece: null,
    pieces: [],
    passedEnergy: 0n,
    countedEnergy: 0n,
    cost: 0n,
    isUnpriced: false,
    firstPeriod: null,
    tariffIds: null,
    weight: null,
    weights: null,
  }
  return cutting
}

/** Cut up to one more day of a record. Returns true if the record is cut to its end. */
export const cutDay = (cutting: RecordCutting): boolean => {
  const { record, snapshot, cursor, visitSegment } = cutting
  advanceCursor(snapshot.directions[record.tariffDirection].pricePeriods, cursor, record.end, visitSegment)
  if (cursor.at < record.end) return false
  closeSegment(cutting)
  closePiece(cutting)
  return true
}

/** Return the accumulator changes of a record that is cut to its end. */
export const changesOf = ({ accumulators }: RecordCutting): readonly AccumulatorChange[] => accumulators
