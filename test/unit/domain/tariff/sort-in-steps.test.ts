import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runToEnd } from '../../../../services/domain/run-to-end.ts'
import { countInOrderInSteps, sortInSteps } from '../../../../services/domain/tariff/counting-order.ts'

describe('items that are sorted in steps', () => {
  it('are in the order of toSorted, equal ones in the order that they had', () => {
    const item = fc.tuple(fc.integer({ min: 0, max: 500 }), fc.integer())
    fc.assert(
      fc.property(fc.array(item, { maxLength: 5_000, size: 'max' }), items => {
        const compare = (a: readonly number[], b: readonly number[]): number => (a[0] ?? 0) - (b[0] ?? 0)
        expect(runToEnd(sortInSteps(items, compare))).toEqual(items.toSorted(compare))
      }),
      { numRuns: 30 },
    )
  })
})

describe('records that are counted', () => {
  it('can be interrupted at least every 1,024 records', () => {
    const accumulatorChanges = [
      { type: 'COMMODITY', direction: 'IMPORT', countingStart: 0, before: 0n, after: 5n },
    ] as const
    const records = Array.from({ length: 20_000 }, (_, at) => {
      const start = (at * 7_919) % 20_000
      return { sortKey: { start, end: start + 1, recordId: String(at).padStart(24, '0') }, accumulatorChanges }
    })
    expect([...countInOrderInSteps(records)].length).toBeGreaterThan(100)
  })
})
