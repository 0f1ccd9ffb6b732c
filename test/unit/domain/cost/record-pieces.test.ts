import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { accumulatorChangesOf } from '../../../../services/domain/cost/accumulator-changes.ts'
import { costByDay, costRecord } from '../../../../services/domain/cost/cost-record.ts'
import { costOf } from '../../../../services/domain/quantity.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import { scenarios } from '../../../support/oracle/generate.ts'
import { countChanges } from '../../../support/tariffs/count-changes.ts'

describe('the pieces of any record', () => {
  it('cover it in order, and add up to its energy and cost, each at price × energy', () => {
    fc.assert(
      fc.property(scenarios(), ({ input, records }) => {
        const snapshot = compileSnapshot(input, createPricingPool())
        for (const { record: of, covered } of records) {
          const found = costRecord(snapshot, of, undefined, covered)
          if (found.status === 'UNPRICED') continue
          expect([found.pieces[0]?.start, found.pieces.at(-1)?.end]).toEqual([of.start, of.end])
          for (const [index, piece] of found.pieces.entries()) {
            if (index > 0) expect(piece.start).toBe(found.pieces[index - 1]?.end)
            expect(piece.cost).toBe(costOf(piece.energy, piece.price))
          }
          expect(found.pieces.reduce((sum, piece) => sum + piece.energy, 0n)).toBe(found.energy)
          expect(found.pieces.reduce((sum, piece) => sum + piece.cost, 0n)).toBe(found.cost)
          if (covered === undefined || covered.length === 0) expect(found.energy).toBe(of.energy)
        }
      }),
      { numRuns: 100 },
    )
  })

  it('cost the same when the caller sends the record in two parts, up to the rounding of the cut', () => {
    fc.assert(
      fc.property(
        scenarios({ maxRecords: 1 }),
        fc.double({ min: 0.01, max: 0.99, noNaN: true }),
        ({ input, records: [first] }, share) => {
          const of = first?.record
          if (of === undefined || of.end - of.start < 1000) return
          const snapshot = compileSnapshot(input, createPricingPool())
          const middle = of.start + Math.floor((of.end - of.start) * share)
          const firstEnergy = (of.energy * BigInt(middle - of.start)) / BigInt(of.end - of.start)
          const counts = new Map<number, bigint>()
          const parts = [
            { ...of, end: middle, energy: firstEnergy },
            { ...of, start: middle, energy: of.energy - firstEnergy },
          ].map(part => {
            const found = costRecord(snapshot, part, counts)
            countChanges(counts, found.accumulatorChanges)
            return found
          })
          const whole = costRecord(snapshot, of)
          expect(parts.some(part => part.status === 'UNPRICED')).toBe(whole.status === 'UNPRICED')
          if (whole.cost === null) return
          const sum = parts.reduce((total, part) => total + (part.cost ?? 0n), 0n)
          const pieces = [...whole.pieces, ...parts.flatMap(part => part.pieces)]
          const [dearest = 0n] = pieces
            .map(({ price }) => (price < 0n ? -price : price))
            .sort((a, b) => (a < b ? 1 : -1))
          // Each cut may move 1e-6 Wh between prices, each piece round its cost.
          const allowed = BigInt(pieces.length) * (2n + (2n * dearest) / 1_000_000_000n)
          const difference = sum - whole.cost
          expect(difference <= allowed && -difference <= allowed).toBe(true)
        },
      ),
      { numRuns: 100 },
    )
  })

  it('are the same when it is costed day by day, and its moves when only these are asked for', () => {
    let longest = 0
    fc.assert(
      fc.property(scenarios(), ({ input, records }) => {
        const snapshot = compileSnapshot(input, createPricingPool())
        for (const { record: of, covered } of records) {
          const whole = costRecord(snapshot, of, undefined, covered)
          const days = costByDay(snapshot, of, undefined, covered)
          const pieces = []
          let next = days.next()
          for (; next.done !== true; next = days.next()) {
            pieces.push(...next.value)
            longest = Math.max(longest, pieces.length)
          }
          expect(next.value.status === 'UNPRICED' ? next.value : { ...next.value, pieces }).toEqual(whole)
          expect(accumulatorChangesOf(snapshot, of, covered)).toEqual(whole.accumulatorChanges)
        }
      }),
      { numRuns: 150 },
    )
    expect(longest).toBeGreaterThan(20)
  })

  it('do not depend on the content of the pool', () => {
    fc.assert(
      fc.property(scenarios(), ({ input, records }) => {
        const [roomy, tight] = [
          compileSnapshot(input, createPricingPool()),
          compileSnapshot(input, createPricingPool({ maxBytes: 300, maxTerms: 1 })),
        ]
        for (const { record: of, covered } of records) {
          expect(costRecord(tight, of, undefined, covered)).toEqual(costRecord(roomy, of, undefined, covered))
        }
      }),
      { numRuns: 50 },
    )
  })
})
