import { dayMs, type Interval } from '../interval.ts'
import { costOf, divideHalfEven, type Energy, type Money, type Price } from '../quantity.ts'
import { fullConfidence, type MeterRecord } from '../record/record.ts'
import type { AccumulatorChange, AccumulatorCounts } from '../tariff/accumulator.ts'
import { noAccumulatorCounts } from '../tariff/accumulator.ts'
import { atMarketPrice, getPlanDay, type PriceSegment, segmentIndex } from '../tariff/price-plan.ts'
import { hasTieredPrices, type PricePeriod, type PricingSnapshot, pricePeriodIndex } from '../tariff/snapshot.ts'
import type { TariffDirection } from '../tariff/tariff.ts'
import { addToMean, confidenceOfMean, createMean } from './confidence-mean.ts'
import { type CostPiece, isProvisional, unpricedPiece } from './cost-piece.ts'
import {
  type ConfidenceWeight,
  changesOf,
  cutDay,
  energyShareAt,
  pieceConfidence,
  type RecordCutting,
  startCutting,
  type TariffPiece,
} from './cut-record.ts'

/**
 * Cost of a record. An UNPRICED record has no cost and confidence 0; its energy still counts towards tiers.
 * `energy` counts and is charged: less than the record's energy if actuals cover an estimate. The pieces are contiguous
 * and ordered, cover the record, and add up to `energy` and `cost`. The pieces of an UNPRICED estimate are its covered
 * (without energy) and remaining parts; it has none if actuals cut nothing.
 * `confidence` is in 1e-4, as in answers. `priceConfidence` is that of the price alone, weighted by energy, in 1e-6; 0
 * for UNPRICED.
 */
export type RecordCost = {
  readonly status: 'PRICED' | 'UNPRICED'
  readonly energy: Energy
  readonly cost: Money | null
  readonly confidence: number
  readonly priceConfidence: number
  readonly tariffIds: readonly string[]
  readonly pieces: readonly CostPiece[]
  readonly accumulatorChanges: readonly AccumulatorChange[]
}

/**
 * Status of a stored cost. PROVISIONAL: a part of the price is provisional.
 * Source: docs/rules/costs.md #confidence.
 */
export type CostStatus = 'PRICED' | 'PROVISIONAL' | 'UNPRICED'

/** Return the status of the stored cost of a record. */
export const statusOf = ({ status, priceConfidence }: Pick<RecordCost, 'status' | 'priceConfidence'>): CostStatus =>
  status === 'PRICED' && isProvisional({ confidence: priceConfidence }) ? 'PROVISIONAL' : status

const noChanges: readonly AccumulatorChange[] = []
const noIntervals: readonly Interval[] = []
const noPieces: readonly CostPiece[] = []

/**
 * Cut a record at the ends of the covered intervals. The energies are cumulative shares from the start of the record.
 */
const cutEnergy = (record: MeterRecord, covered: readonly Interval[]): readonly CostPiece[] => {
  const cuts: CostPiece[] = []
  let at = record.start
  const addUncovered = (end: number): void => {
    if (at < end) cuts.push(unpricedPiece(at, end, energyShareAt(record, end) - energyShareAt(record, at)))
  }
  for (const { start, end } of covered) {
    addUncovered(start)
    cuts.push(unpricedPiece(start, end, 0n))
    at = end
  }
  addUncovered(record.end)
  return cuts.length < 2 ? noPieces : cuts
}

/** Factor from 1e-4 to 1e-6. */
const millionthsPerUnit = 100

/**
 * Return the mean of the piece confidences (1e-6), weighted by energy, times `factor`, divided by `unit`, half to even.
 */
const meanConfidence = (weights: Iterable<ConfidenceWeight>, factor: number, unit: bigint): number => {
  const mean = createMean()
  for (const { confidence, energy, timeMs, count } of weights) {
    addToMean(mean, energy, timeMs, BigInt(factor * confidence), BigInt(count))
  }
  return confidenceOfMean(mean, unit) ?? 0
}

/** Return the confidences of a record and of its price, from those of its pieces. */
const confidencesOf = ({ confidence: recordConfidence }: MeterRecord, { weight, weights }: RecordCutting) => {
  const pieceWeights = weights !== null ? [...weights.values()] : weight === null ? [] : [weight]
  const isOneConfidence = pieceWeights.length === 1
  const first = pieceWeights[0]?.confidence ?? 0
  return {
    confidence:
      isOneConfidence && recordConfidence === fullConfidence
        ? first / millionthsPerUnit
        : meanConfidence(pieceWeights, recordConfidence, 100_000_000n),
    priceConfidence: isOneConfidence ? first : meanConfidence(pieceWeights, 1, 1n),
  }
}

/** Price of a whole record. `confidence` is in 1e-6. */
type OnlyPrice = { readonly pricePeriod: PricePeriod; readonly price: Price; readonly confidence: number }

/**
 * Return the price of an interval that lies within one price segment of a direction without tiers: the most frequent
 * case. Otherwise undefined.
 */
export const onlyPriceOf = (
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  { start, end }: Interval,
): OnlyPrice | undefined => {
  if (hasTieredPrices(snapshot, direction)) return undefined
  const { pricePeriods } = snapshot.directions[direction]
  const pricePeriod = pricePeriods[pricePeriodIndex(pricePeriods, start)] as PricePeriod
  const dayIndex = Math.floor(start / dayMs)
  const day = getPlanDay(pricePeriod.plan, dayIndex)
  const index = segmentIndex(day, start)
  let segmentEnd = Math.min(day.starts[index + 1] ?? (dayIndex + 1) * dayMs, pricePeriod.end)
  const segment = atMarketPrice(pricePeriod.plan, day.segments[index] as PriceSegment, start, until => {
    segmentEnd = Math.min(segmentEnd, until)
  })
  if (end > segmentEnd || segment.commodity.length === 0) return undefined
  return { pricePeriod, price: segment.price, confidence: pieceConfidence(pricePeriod, segment) }
}

/** Cost a record without tiers and without covered parts, if it lies within one price. */
const costAtOnePrice = (
  snapshot: PricingSnapshot,
  record: MeterRecord,
  covered: readonly Interval[],
): RecordCost | undefined => {
  const { start, end, energy } = record
  const only = covered.length > 0 ? undefined : onlyPriceOf(snapshot, record.tariffDirection, record)
  if (only === undefined) return undefined
  const { pricePeriod, price, confidence } = only
  const cost = costOf(energy, price)
  const { commodityId, nonCommodityId } = pricePeriod
  const piece: TariffPiece = {
    start,
    end,
    energy,
    price,
    tier: 0n,
    cost,
    confidence,
    commodityId,
    nonCommodityId,
  }
  const confidenceOfRecord =
    record.confidence === fullConfidence
      ? confidence / millionthsPerUnit
      : Number(divideHalfEven(BigInt(record.confidence * confidence), 100_000_000n))
  return {
    status: 'PRICED',
    energy,
    cost,
    confidence: confidenceOfRecord,
    priceConfidence: confidence,
    tariffIds: pricePeriod.tariffIds,
    pieces: [piece],
    accumulatorChanges: noChanges,
  }
}

/** Return the cost of a record that is cut to its end, with the pieces that were not yielded yet. */
const costOfPieces = (cutting: RecordCutting): RecordCost => {
  const {
    record,
    covered,
    countedEnergy: energy,
    cost,
    pieces,
    firstPeriod,
    tariffIds: allTariffIds,
    isUnpriced,
  } = cutting
  const tariffIds = allTariffIds === null ? (firstPeriod?.tariffIds ?? []) : [...allTariffIds]
  const accumulatorChanges = changesOf(cutting)
  if (isUnpriced) {
    return {
      status: 'UNPRICED',
      energy,
      cost: null,
      confidence: 0,
      priceConfidence: 0,
      tariffIds,
      pieces: cutEnergy(record, covered),
      accumulatorChanges,
    }
  }
  const { confidence, priceConfidence } = confidencesOf(record, cutting)
  return {
    status: 'PRICED',
    energy,
    cost,
    confidence,
    priceConfidence,
    tariffIds,
    pieces,
    accumulatorChanges,
  }
}

/**
 * Cost a record: cut it where price, tariff, tier or confidence changes and at the ends of `covered`, and charge each
 * piece.
 * `counted` contains the counts of the location's accumulators before this record, in the counting order
 * (`compareSortKeys`). It is not changed: `accumulatorChanges` contain the counts after the record.
 * `covered` are the intervals in which actuals cover this estimate: sorted, separate, within the record. Pieces there
 * have no energy.
 * The record is UNPRICED if any part of its time has no price. OUTBOUND with IMPORT is priced at the current tier and
 * adds nothing to the counts.
 * Source: docs/rules/tariffs.md #cutting-a-record.
 */
export const costRecord = (
  snapshot: PricingSnapshot,
  record: MeterRecord,
  counted: AccumulatorCounts = noAccumulatorCounts,
  covered: readonly Interval[] = noIntervals,
): RecordCost => {
  const recordCost = costAtOnePrice(snapshot, record, covered)
  if (recordCost !== undefined) return recordCost
  const cutting = startCutting(snapshot, record, counted, covered)
  while (!cutDay(cutting));
  return costOfPieces(cutting)
}

/**
 * Cost a record as `costRecord` does, one UTC day at a time. Yields the pieces that each day completes; returns the
 * cost without pieces.
 * If the record is UNPRICED, the caller discards the yielded pieces. A record can have more than 527,040 pieces: the
 * caller decides how many it retains, and can pause between two days.
 */
export function* costByDay(
  snapshot: PricingSnapshot,
  record: MeterRecord,
  counted: AccumulatorCounts = noAccumulatorCounts,
  covered: readonly Interval[] = noIntervals,
): Generator<readonly CostPiece[], RecordCost, undefined> {
  const recordCost = costAtOnePrice(snapshot, record, covered)
  if (recordCost !== undefined) {
    yield recordCost.pieces
    return { ...recordCost, pieces: [] }
  }
  const cutting = startCutting(snapshot, record, counted, covered)
  for (let isDone = false; !isDone; ) {
    isDone = cutDay(cutting)
    const { pieces } = cutting
    cutting.pieces = []
    yield pieces
  }
  return costOfPieces(cutting)
}
