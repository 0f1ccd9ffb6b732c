import type { CostRow, StoredPiece } from '../cost/energy-cost.ts'
import type { Interval } from '../interval.ts'
import { cumulativeShare, type Energy, type Price } from '../quantity.ts'
import type { EnergyFlowDirection } from '../record/record.ts'
import { visitPriceSegments } from '../tariff/evaluate.ts'
import type { PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection } from '../tariff/tariff.ts'
import { tierAt } from '../tariff/tier-price.ts'

/**
 * Piece of a record with one price and one non-commodity price, both per kWh. The ids are null without a tariff of the
 * type.
 */
export type BilledPiece = StoredPiece & {
  readonly price: Price
  readonly nonCommodityPrice: Price
  readonly commodityId: string | null
  readonly nonCommodityId: string | null
}

/** Row of a record, stored or priced by other tariffs; UNPRICED if `cost` is null. */
export type BilledRow = CostRow & {
  readonly energyFlowDirection: EnergyFlowDirection
  readonly tariffDirection: TariffDirection
  readonly pieces: readonly (StoredPiece | BilledPiece)[]
}

/** Piece with its price and the lower bound of its commodity tier. */
export type PricedPiece = StoredPiece & { readonly price: Price; readonly tier: Energy }

type PriceSplit = Interval & Pick<BilledPiece, 'nonCommodityPrice' | 'commodityId' | 'nonCommodityId'>

const isSameSplit = (a: PriceSplit, b: PriceSplit): boolean =>
  a.nonCommodityPrice === b.nonCommodityPrice &&
  a.commodityId === b.commodityId &&
  a.nonCommodityId === b.nonCommodityId

/**
 * Return the intervals of a piece in which its non-commodity price and its tariffs do not change.
 * A non-commodity price with tiers is the price of the piece less that of its commodity tier.
 */
const splitsOf = (snapshot: PricingSnapshot, direction: TariffDirection, piece: PricedPiece): readonly PriceSplit[] => {
  const splits: PriceSplit[] = []
  visitPriceSegments(snapshot, direction, piece.start, piece.end, (start, end, period, segment) => {
    const [nonCommodity] = segment.nonCommodity
    const isOnePrice = segment.nonCommodity.length === 1 || segment.commodity.length === 0
    const nonCommodityPrice = isOnePrice
      ? (nonCommodity?.aggregate ?? 0n)
      : piece.price - tierAt(segment.commodity, piece.tier).aggregate
    const { commodityId, nonCommodityId } = period
    const split = { start, end, nonCommodityPrice, commodityId, nonCommodityId }
    const last = splits.at(-1)
    if (last !== undefined && isSameSplit(last, split)) splits[splits.length - 1] = { ...last, end }
    else splits.push(split)
  })
  return splits
}

const cutPiece = (piece: PricedPiece, splits: readonly PriceSplit[]): readonly BilledPiece[] => {
  const length = piece.end - piece.start
  return splits.map(split => {
    const [from, to] = [split.start - piece.start, split.end - piece.start]
    const share = (amount: bigint): bigint =>
      cumulativeShare(amount, to, length) - cumulativeShare(amount, from, length)
    return { ...piece, ...split, energy: share(piece.energy), cost: share(piece.cost) }
  })
}

/**
 * Add the non-commodity price and the tariffs to the pieces of a record, by the evaluator.
 * A piece has one price, but its commodity and non-commodity price can change in it by opposite amounts. The piece is
 * then cut there, in cumulative shares, so that energy and cost add up.
 */
export const billedPieces = (
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  pieces: readonly PricedPiece[],
): readonly BilledPiece[] =>
  pieces.flatMap(piece => {
    const splits = splitsOf(snapshot, direction, piece)
    const [first] = splits
    if (first !== undefined && splits.length === 1) return { ...piece, ...first, start: piece.start, end: piece.end }
    return cutPiece(piece, splits)
  })
