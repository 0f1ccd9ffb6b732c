import { dayMs } from '../civil-date.ts'
import { costOf, type Energy, type Money } from '../quantity.ts'
import type { MeterRecord } from '../record/record.ts'
import { confidenceOf } from '../tariff/evaluate.ts'
import { atMarket, type PriceStretch, planDay, stretchIndex } from '../tariff/price-plan.ts'
import { type DirectionPrices, eraIndex, type PriceEra, type PricingSnapshot } from '../tariff/snapshot.ts'
import type { TierCounts, TierMove } from '../tariff/tier-count.ts'
import { addToMean, meanOf, startMean } from './confidence.ts'
import type { Interval } from './record-segments.ts'
import { type CostPiece, type Draft, pieceOf, sliceRecord } from './slice-record.ts'

/**
 * What a record costs. UNPRICED has no cost, no pieces and confidence 0; its energy still counts.
 * `energy` is what counts and is charged: less than the record's where actuals cover an estimate. Pieces are contiguous and ordered,
 * cover the record, and add up to its energy and cost. Confidence in 1e-4. `moves`: the accumulators the record stands in.
 */
export type RecordCost = {
  readonly status: 'PRICED' | 'UNPRICED'
  readonly energy: Energy
  readonly cost: Money | null
  readonly confidence: number
  readonly tariffIds: readonly string[]
  readonly pieces: readonly CostPiece[]
  readonly moves: readonly TierMove[]
}

const nothingCounted: TierCounts = new Map()
const noMoves: readonly TierMove[] = []
const noIntervals: readonly Interval[] = []

const million = 1_000_000

/** The record's confidence (1e-6) times the mean of its pieces (1e-4), to 1e-4, half to even. */
const costConfidence = (recordConfidence: number, pieces: readonly CostPiece[]): number => {
  const first = (pieces[0] as CostPiece).confidence
  if (recordConfidence === million && pieces.every(piece => piece.confidence === first)) return first
  const mean = startMean()
  for (const { energy, start, end, confidence } of pieces) addToMean(mean, energy, end - start, BigInt(recordConfidence * confidence))
  return meanOf(mean, 1_000_000n) ?? first
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
  const pieces = [piece]
  const whole = record.confidence === million ? confidence : costConfidence(record.confidence, pieces)
  return { status: 'PRICED', energy, cost, confidence: whole, tariffIds: era.tariffIds, pieces, moves: noMoves }
}

const tariffIdsOf = (drafts: readonly Draft[]): readonly string[] => {
  const first = (drafts[0] as Draft).era
  if (drafts.every(draft => draft.era === first)) return first.tariffIds
  return [...new Set(drafts.flatMap(draft => draft.era.tariffIds))]
}

/**
 * Cost a record: cut it where price, tariff, tier or confidence changes and at the edges of `covered`, and charge each piece.
 * `counted` holds what the location's accumulators have counted before this record in their order (`compareInCount`); it is not
 * changed: `moves` say what they hold after it. `covered`: where actuals cover this estimate, sorted, apart from each other and within
 * the record; those pieces have no energy. The record is UNPRICED as a whole if any of its time has no price.
 * OUTBOUND with IMPORT is priced at the tier in force and moves nothing. Source: contract decisions 9 and 10.
 */
export const costRecord = (
  snapshot: PricingSnapshot,
  record: MeterRecord,
  counted: TierCounts = nothingCounted,
  covered: readonly Interval[] = noIntervals,
): RecordCost => {
  const prices = snapshot.directions[record.tariffDirection]
  if (!prices.tiered.COMMODITY && !prices.tiered.NON_COMMODITY && covered.length === 0) {
    const whole = costWhole(prices, record)
    if (whole !== undefined) return whole
  }
  const { drafts, moves, energy } = sliceRecord(snapshot, record, counted, covered)
  const tariffIds = tariffIdsOf(drafts)
  if (drafts.some(draft => draft.price === null)) {
    return { status: 'UNPRICED', energy, cost: null, confidence: 0, tariffIds, pieces: [], moves }
  }
  const pieces = drafts.map(pieceOf)
  const cost = pieces.reduce((sum, piece) => sum + piece.cost, 0n)
  return { status: 'PRICED', energy, cost, confidence: costConfidence(record.confidence, pieces), tariffIds, pieces, moves }
}
