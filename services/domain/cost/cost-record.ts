import { dayMs } from '../civil-date.ts'
import { costOf, divideHalfEven, type Energy, type Money } from '../quantity.ts'
import type { MeterRecord } from '../record/record.ts'
import { confidenceOf } from '../tariff/evaluate.ts'
import { atMarket, type PriceStretch, planDay, stretchIndex } from '../tariff/price-plan.ts'
import { type DirectionPrices, eraIndex, type PriceEra, type PricingSnapshot } from '../tariff/snapshot.ts'
import type { TierCounts, TierMove } from '../tariff/tier-count.ts'
import { addToMean, meanOf, startMean } from './confidence.ts'
import type { Interval } from './record-segments.ts'
import { type CostPiece, movesOf, type Slicing, shareAt, sliceDay, startSlicing, type Weight } from './slice-record.ts'

/** Part of a record whose energy actuals take or leave. */
export type EnergyCut = Interval & { readonly energy: Energy }

/**
 * What a record costs. UNPRICED has no cost, no pieces and confidence 0; its energy still counts.
 * `cuts`: of an UNPRICED estimate the parts that actuals take (without energy) and leave, contiguous; empty where actuals cut nothing.
 * `energy` is what counts and is charged: less than the record's where actuals cover an estimate. Pieces are contiguous and ordered,
 * cover the record, and add up to its energy and cost. Confidence in 1e-4. `priceConfidence` is that of the price alone, weighed by energy,
 * in 1e-6; 0 for UNPRICED. `moves`: the accumulators the record stands in.
 */
export type RecordCost = {
  readonly status: 'PRICED' | 'UNPRICED'
  readonly energy: Energy
  readonly cost: Money | null
  readonly confidence: number
  readonly priceConfidence: number
  readonly tariffIds: readonly string[]
  readonly pieces: readonly CostPiece[]
  readonly cuts: readonly EnergyCut[]
  readonly moves: readonly TierMove[]
}

const nothingCounted: TierCounts = new Map()
const noMoves: readonly TierMove[] = []
const noIntervals: readonly Interval[] = []
const noCuts: readonly EnergyCut[] = []

/** Cut a record at the edges of what covers it; energies are cumulative shares from the start of the record. */
const cutsOf = (record: MeterRecord, covered: readonly Interval[]): readonly EnergyCut[] => {
  const cuts: EnergyCut[] = []
  let at = record.start
  const leave = (end: number): void => {
    if (at < end) cuts.push({ start: at, end, energy: shareAt(record, end) - shareAt(record, at) })
  }
  for (const { start, end } of covered) {
    leave(start)
    cuts.push({ start, end, energy: 0n })
    at = end
  }
  leave(record.end)
  return cuts.length < 2 ? noCuts : cuts
}

const million = 1_000_000

/** From 1e-4 to 1e-6. */
const finer = 100

/** The mean of the confidences of pieces (1e-4), weighed by energy, times a factor, divided by `unit`, half to even. */
const meanConfidence = (weights: Iterable<Weight>, factor: number, unit: bigint): number => {
  const mean = startMean()
  for (const { confidence, energy, timeMs, count } of weights) {
    addToMean(mean, energy, timeMs, BigInt(factor * confidence), BigInt(count))
  }
  return meanOf(mean, unit) ?? 0
}

/** The confidences of a record and of its price, from those of its pieces. */
const confidencesOf = ({ confidence: ofRecord }: MeterRecord, { weight, weights }: Slicing) => {
  const ofPieces = weights !== null ? [...weights.values()] : weight === null ? [] : [weight]
  const isAlike = ofPieces.length === 1
  const first = ofPieces[0]?.confidence ?? 0
  return {
    confidence: isAlike && ofRecord === million ? first : meanConfidence(ofPieces, ofRecord, 1_000_000n),
    priceConfidence: isAlike ? first * finer : meanConfidence(ofPieces, finer, 1n),
  }
}

/** A record that lies within one stretch without tiers: the usual case, without a walk. */
const costWhole = (prices: DirectionPrices, record: MeterRecord): RecordCost | undefined => {
  const { start, end, energy } = record
  const era = prices.eras[eraIndex(prices.eras, start)] as PriceEra
  const dayIndex = Math.floor(start / dayMs)
  const day = planDay(era.plan, dayIndex)
  const index = stretchIndex(day, start)
  let stretchEnd = Math.min(day.starts[index + 1] ?? (dayIndex + 1) * dayMs, era.to)
  const stretch = atMarket(era.plan, day.stretches[index] as PriceStretch, start, until => {
    stretchEnd = Math.min(stretchEnd, until)
  })
  if (end > stretchEnd || stretch.commodity.length === 0) return undefined
  const cost = costOf(energy, stretch.price)
  const confidence = confidenceOf(era, stretch)
  const { commodityId, nonCommodityId } = era
  const piece: CostPiece = { start, end, energy, price: stretch.price, tier: 0n, cost, confidence, commodityId, nonCommodityId }
  const whole = record.confidence === million ? confidence : Number(divideHalfEven(BigInt(record.confidence * confidence), 1_000_000n))
  return {
    status: 'PRICED',
    energy,
    cost,
    confidence: whole,
    priceConfidence: confidence * finer,
    tariffIds: era.tariffIds,
    pieces: [piece],
    cuts: noCuts,
    moves: noMoves,
  }
}

/** What a record costs that is sliced to its end, with the pieces that were not taken yet. */
const costOfSlices = (slicing: Slicing): RecordCost => {
  const { record, covered, kept: energy, cost, pieces, firstEra, tariffIds: several, isUnpriced } = slicing
  const tariffIds = several === null ? (firstEra?.tariffIds ?? []) : [...several]
  const moves = movesOf(slicing)
  if (isUnpriced) {
    return {
      status: 'UNPRICED',
      energy,
      cost: null,
      confidence: 0,
      priceConfidence: 0,
      tariffIds,
      pieces: [],
      cuts: cutsOf(record, covered),
      moves,
    }
  }
  const { confidence, priceConfidence } = confidencesOf(record, slicing)
  return { status: 'PRICED', energy, cost, confidence, priceConfidence, tariffIds, pieces, cuts: noCuts, moves }
}

/** Cost a record that depends on nothing else, if it lies within one price. */
const tryWhole = (snapshot: PricingSnapshot, record: MeterRecord, covered: readonly Interval[]): RecordCost | undefined => {
  const prices = snapshot.directions[record.tariffDirection]
  return prices.tiered.COMMODITY || prices.tiered.NON_COMMODITY || covered.length > 0 ? undefined : costWhole(prices, record)
}

/**
 * Cost a record: cut it where price, tariff, tier or confidence changes and at the edges of `covered`, and charge each piece.
 * `counted` holds what the location's accumulators have counted before this record in their order (`compareInCount`); it is not
 * changed: `moves` say what they hold after it. `covered`: where actuals cover this estimate, sorted, apart from each other and within
 * the record; those pieces have no energy. The record is UNPRICED as a whole if any of its time has no price.
 * OUTBOUND with IMPORT is priced at the tier in force and moves nothing.
 * Source: docs/rules/tariffs.md #cutting-a-record.
 */
export const costRecord = (
  snapshot: PricingSnapshot,
  record: MeterRecord,
  counted: TierCounts = nothingCounted,
  covered: readonly Interval[] = noIntervals,
): RecordCost => {
  const whole = tryWhole(snapshot, record, covered)
  if (whole !== undefined) return whole
  const slicing = startSlicing(snapshot, record, counted, covered)
  while (!sliceDay(slicing));
  return costOfSlices(slicing)
}

/**
 * Cost a record as `costRecord` does, day by day: give the pieces that each day of UTC has ended, and in the end the cost, without pieces.
 * Of a record that turns out UNPRICED, what was given before is void. A record may have 527,040 pieces and more: whoever takes them decides
 * what is held, and may let others run between two days.
 */
export function* costByDay(
  snapshot: PricingSnapshot,
  record: MeterRecord,
  counted: TierCounts = nothingCounted,
  covered: readonly Interval[] = noIntervals,
): Generator<readonly CostPiece[], RecordCost, undefined> {
  const whole = tryWhole(snapshot, record, covered)
  if (whole !== undefined) {
    yield whole.pieces
    return { ...whole, pieces: [] }
  }
  const slicing = startSlicing(snapshot, record, counted, covered)
  for (let isDone = false; !isDone; ) {
    isDone = sliceDay(slicing)
    const { pieces } = slicing
    slicing.pieces = []
    yield pieces
  }
  return costOfSlices(slicing)
}
