import type { CostPiece } from '../cost/cost-piece.ts'
import { costRecord } from '../cost/cost-record.ts'
import type { TariffPiece } from '../cost/cut-record.ts'
import type { CostRow } from '../cost/energy-cost.ts'
import { dayMs, type Interval } from '../interval.ts'
import { type Energy, type Price, shareWithin } from '../quantity.ts'
import type { EnergyFlowDirection } from '../record/record.ts'
import { addChanges } from '../recost/counted-energy.ts'
import { visitPriceSegments } from '../tariff/evaluate.ts'
import type { PriceSegment } from '../tariff/price-plan.ts'
import type { PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection } from '../tariff/tariff.ts'
import { tierAt } from '../tariff/tier-price.ts'
import type { CountsAtStarts, RecordToPrice } from './counts-at-starts.ts'

/**
 * Piece of a record with one price and one non-commodity price, both per kWh. The ids are null without a tariff of the
 * type. `whole`: the stored piece, if the piece is a part of one.
 */
export type BilledPiece = Omit<TariffPiece, 'tier'> & {
  readonly nonCommodityPrice: Price
  readonly whole: Pick<CostPiece, 'start' | 'end' | 'energy' | 'cost'> | null
}

/** Row of a record, stored or priced by other tariffs; UNPRICED if `cost` is null. */
export type BilledRow = CostRow & {
  readonly energyFlowDirection: EnergyFlowDirection
  readonly tariffDirection: TariffDirection
  readonly pieces: readonly (CostRow['pieces'][number] | BilledPiece)[]
}

type PriceSplit = Interval & Pick<BilledPiece, 'nonCommodityPrice' | 'commodityId' | 'nonCommodityId'>

/** Segment of the prices of a direction with its tariffs. */
type TariffSegment = Interval & Pick<BilledPiece, 'commodityId' | 'nonCommodityId'> & { readonly segment: PriceSegment }

/** Return the segments of [from, to), as the evaluator cuts them. */
const segmentsOf = (
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  from: number,
  to: number,
): readonly TariffSegment[] => {
  const segments: TariffSegment[] = []
  visitPriceSegments(snapshot, direction, from, to, (start, end, { commodityId, nonCommodityId }, segment) => {
    segments.push({ start, end, commodityId, nonCommodityId, segment })
  })
  return segments
}

/** Create a function that returns the segments of a piece. It remembers the last day of each direction. */
const createSegmentLookup = (snapshot: PricingSnapshot) => {
  const lastDays = new Map<TariffDirection, { readonly day: number; readonly segments: readonly TariffSegment[] }>()
  const dayOf = (direction: TariffDirection, day: number): readonly TariffSegment[] => {
    const last = lastDays.get(direction)
    if (last?.day === day) return last.segments
    const segments = segmentsOf(snapshot, direction, day * dayMs, (day + 1) * dayMs)
    lastDays.set(direction, { day, segments })
    return segments
  }
  return (direction: TariffDirection, { start, end }: Interval): TariffSegment | readonly TariffSegment[] => {
    const segment = dayOf(direction, Math.floor(start / dayMs)).findLast(one => one.start <= start)
    return segment !== undefined && end <= segment.end ? segment : segmentsOf(snapshot, direction, start, end)
  }
}

/** Return the non-commodity price of a piece in a segment. With tiers it is the rest of the price of the piece. */
const nonCommodityPriceOf = ({ segment }: TariffSegment, piece: CostPiece): Price => {
  const [nonCommodity] = segment.nonCommodity
  return segment.nonCommodity.length === 1 || segment.commodity.length === 0
    ? (nonCommodity?.aggregate ?? 0n)
    : piece.price - tierAt(segment.commodity, piece.tier).aggregate
}

const isSameSplit = (a: PriceSplit, b: PriceSplit): boolean =>
  a.nonCommodityPrice === b.nonCommodityPrice &&
  a.commodityId === b.commodityId &&
  a.nonCommodityId === b.nonCommodityId

/** Cut a piece where its non-commodity price or its tariffs change, in cumulative shares. */
const cutPiece = (piece: CostPiece, segments: readonly TariffSegment[]): readonly BilledPiece[] => {
  const splits: PriceSplit[] = []
  for (const segment of segments) {
    const { start, end, commodityId, nonCommodityId } = segment
    const nonCommodityPrice = nonCommodityPriceOf(segment, piece)
    const split = { start, end, nonCommodityPrice, commodityId, nonCommodityId }
    const last = splits.at(-1)
    if (last !== undefined && isSameSplit(last, split)) splits[splits.length - 1] = { ...last, end }
    else splits.push(split)
  }
  const whole = splits.length === 1 ? null : piece
  return splits.map(split => {
    const [energy, cost] = [shareWithin(piece.energy, piece, split), shareWithin(piece.cost, piece, split)]
    return { ...piece, ...split, energy, cost, whole }
  })
}

/**
 * Create a function that adds the non-commodity price and the tariffs to the pieces of a record, by the evaluator.
 * A piece has one price, but its commodity and non-commodity price can change in it by opposite amounts. The piece is
 * then cut there, so that energy and cost add up.
 */
export const createPieceBiller = (
  snapshot: PricingSnapshot,
): ((direction: TariffDirection, pieces: readonly CostPiece[]) => readonly BilledPiece[]) => {
  const segmentsOfPiece = createSegmentLookup(snapshot)
  return (direction, pieces) => {
    const billed: BilledPiece[] = []
    for (const piece of pieces) {
      const found = segmentsOfPiece(direction, piece)
      if (!('segment' in found)) {
        billed.push(...cutPiece(piece, found))
        continue
      }
      const { start, end, energy, cost, confidence, price } = piece
      const { commodityId, nonCommodityId } = found
      const nonCommodityPrice = nonCommodityPriceOf(found, piece)
      const ids = { commodityId, nonCommodityId, whole: null }
      billed.push({ start, end, energy, cost, confidence, price, nonCommodityPrice, ...ids })
    }
    return billed
  }
}

/**
 * Price records by tariffs, one at a time, as rows of a statement. The records are sorted by start, end and id, and
 * contain all records that count for tiers. `atStarts` are their `countsAtStarts`. `isBilled` selects the records of
 * the statement.
 * Law: rows of the tariffs that priced the stored rows are equal to the stored rows.
 */
export function* priceRows(
  snapshot: PricingSnapshot,
  records: Iterable<RecordToPrice>,
  atStarts: CountsAtStarts,
  isBilled: (record: RecordToPrice) => boolean,
): Generator<BilledRow, void> {
  const counts = new Map<number, Energy>()
  const billPieces = createPieceBiller(snapshot)
  for (const record of records) {
    const { energyFlowDirection, tariffDirection, start, end, confidence: recordConfidence } = record
    const atStart = atStarts.get(record)
    const before = atStart === undefined ? counts : new Map([...counts, ...atStart])
    const { energy, cost, pieces, accumulatorChanges } = costRecord(snapshot, record, before, record.covered)
    addChanges(counts, accumulatorChanges)
    if (!isBilled(record)) continue
    const billed = cost === null ? pieces : billPieces(tariffDirection, pieces)
    yield {
      energyFlowDirection,
      tariffDirection,
      start,
      end,
      energy,
      cost,
      recordConfidence,
      pieces: billed,
    }
  }
}
