import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { costRecord } from '../../../../services/domain/cost/cost-record.ts'
import { type PriceRequest, priceSeries } from '../../../../services/domain/price/price-series.ts'
import { costOf, cumulativeShare } from '../../../../services/domain/quantity.ts'
import { accumulatorKey } from '../../../../services/domain/tariff/accumulator.ts'
import { countInOrder } from '../../../../services/domain/tariff/counting-order.ts'
import type { CountedEnergy } from '../../../../services/domain/tariff/evaluate.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import { scenarios } from '../../../support/oracle/generate.ts'

/** Counted energy of the accumulators from their start, without later steps. */
const constantly =
  (counts: ReadonlyMap<number, bigint>): CountedEnergy =>
  (type, direction, countingStart) => [
    { from: countingStart, counted: counts.get(accumulatorKey(type, direction, countingStart)) ?? 0n },
  ]

type PricedInterval = {
  readonly start: number
  readonly end: number
  readonly price: bigint
  readonly confidence: number
}

/** Neighbours of one price and confidence as one. */
const joined = (pieces: readonly PricedInterval[]): readonly PricedInterval[] => {
  const list: PricedInterval[] = []
  for (const { start, end, price, confidence } of pieces) {
    const last = list.at(-1)
    if (last?.price === price && last.confidence === confidence) list[list.length - 1] = { ...last, end }
    else list.push({ start, end, price, confidence })
  }
  return list
}

describe('the price of a span', () => {
  it('times the energy of a record in it is the cost of the record', () => {
    let compared = 0
    const property = fc.property(scenarios({ maxRecords: 6 }), ({ input, records }) => {
      const snapshot = compileSnapshot(input, createPricingPool())
      const all = records.map(({ id, record }) => ({
        record,
        sortKey: { ...record, recordId: id },
        accumulatorChanges: costRecord(snapshot, record).accumulatorChanges,
      }))
      const { before } = countInOrder(all)
      for (const one of all) {
        const { record } = one
        const counts = before.get(one) ?? new Map()
        const cost = costRecord(snapshot, record, counts)
        if (record.end === record.start || cost.status === 'UNPRICED') continue
        const span: PriceRequest = {
          direction: record.tariffDirection,
          start: record.start,
          end: record.end,
          counted: constantly(counts),
        }
        const { elements, unpriced } = priceSeries(snapshot, span)
        expect(unpriced).toEqual([])
        const { pieces } = costRecord(snapshot, { ...record, energy: 0n }, counts)
        // The confidence of an element is in 1e-4, that of a piece in 1e-6.
        expect(elements.map(element => ({ ...element, confidence: element.confidence * 100 }))).toEqual(joined(pieces))
        // Where its own energy fills a tier, a record pays more than one price for a time.
        const isWithinTiers = cost.pieces.every(({ start, end, price }) =>
          elements.some(
            element => element.start <= start && end <= element.end && element.price === price && start < end,
          ),
        )
        if (!isWithinTiers) continue
        compared += 1
        const at = (instant: number): bigint =>
          cumulativeShare(record.energy, instant - record.start, record.end - record.start)
        const charged = elements.map(({ start, end, price }) => costOf(at(end) - at(start), price))
        const error = charged.reduce((sum, part) => sum + part, 0n) - (cost.cost ?? 0n)
        // Elements may join what pieces keep apart, each of which is rounded.
        const maxDifference = BigInt(cost.pieces.length - elements.length)
        expect(error <= maxDifference && -error <= maxDifference).toBe(true)
      }
    })
    fc.assert(property, { numRuns: 150 })
    expect(compared).toBeGreaterThan(50)
  })
})
