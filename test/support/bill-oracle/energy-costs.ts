import {
  type CountedBefore,
  comesBefore,
  costSegmented,
  energyCountedFrom,
  isCounted,
  type OracleCost,
  type OraclePiece,
  type PriceComponent,
  type SegmentedRecord,
} from '../oracle/cost.ts'
import { divideHalfEven } from '../oracle/exact.ts'
import { monthStart } from '../oracle/local-clock.ts'
import { priceOfPart } from '../oracle/price-at.ts'
import type { BillContext } from './bill-line.ts'
import { type BillRecord, hasPartIn } from './bill-records.ts'
import { billion } from './fraction.ts'
import { type Pricing, readTariffs, segmentsOf } from './price-parts.ts'

/** Non-commodity part of a piece: its price and its cost. `of` is the whole piece. */
export type GridPiece = OraclePiece & { readonly of: OraclePiece }

/** Cost of a record, with the non-commodity parts of its pieces. */
export type BillCost = OracleCost & { readonly grid: readonly GridPiece[] }

/** Costs of the records of a location, by record id. */
export type BillCosts = { readonly pricing: Pricing; readonly costs: ReadonlyMap<string, BillCost> }

/** Sum the energy before a record in the counting order. The sums of an accumulator are calculated once. */
const countBefore = (all: readonly SegmentedRecord[]): CountedBefore => {
  const sums = new Map<string, ReadonlyMap<string, bigint>>()
  const sumsOf = (direction: string, component: PriceComponent, countingStart: number): ReadonlyMap<string, bigint> => {
    const ordered = all
      .filter(({ record }) => record.tariffDirection === direction)
      .sort((a, b) => (comesBefore(a, b, countingStart) ? -1 : 1))
    let counted = 0n
    return new Map(
      ordered.map(one => {
        const before = counted
        if (isCounted(one.record)) counted += energyCountedFrom(one, component, countingStart)
        return [one.id, before]
      }),
    )
  }
  return (segmented, component, countingStart) => {
    const direction = segmented.record.tariffDirection
    const key = `${direction} ${component} ${countingStart}`
    const known = sums.get(key) ?? sumsOf(direction, component, countingStart)
    sums.set(key, known)
    return known.get(segmented.id) ?? 0n
  }
}

/** Return the non-commodity part of a piece: a part for each price, with Round9(price × energy). */
const gridParts = (piece: OraclePiece, { segments }: SegmentedRecord): GridPiece[] => {
  const inside = segments.filter(
    ({ start, end }, index) =>
      (start < piece.end && end > piece.start) ||
      (piece.start === piece.end && start <= piece.start && (piece.start < end || index === segments.length - 1)),
  )
  const open: { start: number; price: bigint }[] = []
  for (const { start, nonCommodity } of inside) {
    const price = nonCommodity === null ? 0n : (priceOfPart(nonCommodity, piece.tiers[1])?.price ?? 0n)
    if (open.at(-1)?.price !== price) open.push({ start: Math.max(start, piece.start), price })
  }
  const energyAt = (at: number): bigint =>
    at === piece.end
      ? piece.energy
      : divideHalfEven(piece.energy * BigInt(at - piece.start), BigInt(piece.end - piece.start))
  return open.map(({ start, price }, index) => {
    const end = open[index + 1]?.start ?? piece.end
    const energy = open.length === 1 ? piece.energy : energyAt(end) - energyAt(start)
    return { ...piece, start, end, energy, price, cost: divideHalfEven(price * energy, billion), of: piece }
  })
}

/** Return the records that [from, to) needs: its records, and all earlier ones of a month that count for tiers. */
const neededRecords = ({ records, zone }: BillContext, from: number, to: number): BillRecord[] => {
  const first = records
    .filter(one => hasPartIn(one, from, to))
    .reduce((start, { record }) => Math.min(start, record.start), from)
  return records.filter(one => hasPartIn(one, monthStart(zone, first), to))
}

/** Cost all records that have a part in [from, to). */
export const costBill = (context: BillContext, from: number, to: number): BillCosts => {
  const { zone, calendar, input } = context
  const pricing = { zone, calendar, tariffs: readTariffs(input.tariffs) }
  const segmented = neededRecords(context, from, to).map(one => ({ ...one, segments: segmentsOf(pricing, one) }))
  const before = countBefore(segmented)
  const costs = segmented
    .filter(one => hasPartIn(one, from, to))
    .map(one => {
      const cost = costSegmented(one, before)
      const grid = (cost.priced?.pieces ?? []).flatMap(piece => gridParts(piece, one))
      return [one.id, { ...cost, grid }] as const
    })
  return { pricing, costs: new Map(costs) }
}
