import { describe, expect, it } from 'vitest'
import { rowBuffer } from '../../../services/cost-worker/row-buffer.ts'
import type { CostPiece } from '../../../services/domain/cost/cost-piece.ts'
import type { MeterCostRow } from '../../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import { costRow } from '../../suites/cost-rows.ts'

const piece: CostPiece = { start: 0, end: 0, energy: 0n, price: 0n, tier: 0n, cost: 0n, confidence: 1_000_000 }
/** Row with a number of cost pieces; its price revision identifies it. */
const rowOf = (number: number, pieces: number): MeterCostRow => ({
  ...costRow(),
  priceRevision: BigInt(number),
  pieces: Array.from({ length: pieces }, () => piece),
})
const numbers = (rows: readonly MeterCostRow[]): readonly number[] =>
  rows.map(({ priceRevision }) => Number(priceRevision))

const open = (maxRows: number) => {
  const stored: (readonly number[])[] = []
  const buffer = rowBuffer(async rows => void stored.push(numbers(rows)), maxRows)
  return { stored, hold: buffer }
}

describe('the rows of a step', () => {
  it('are stored in order if their pieces are too many, and the rest is buffered', async () => {
    const { stored, hold: buffer } = open(10)
    expect(await buffer.addAll([4, 5, 1, 30, 2].map((pieces, index) => rowOf(index, pieces)))).toBe(null)
    expect(stored).toEqual([[0, 1, 2], [3]])
    expect(numbers(buffer.rows())).toEqual([4])
    expect(buffer.totals()).toEqual({ rows: 5, pieces: 42 })
    await buffer.store()
    await buffer.store()
    expect(stored).toEqual([[0, 1, 2], [3], [4]])
  })

  it('are removed if costing throws, except for stored and earlier rows', async () => {
    const { stored, hold: buffer } = open(10)
    expect(buffer.add(rowOf(0, 1))).toBe(false)
    function* failing(count: number) {
      for (let number = 1; number <= count; number += 1) yield rowOf(number, 4)
      throw new TypeError('broken')
    }
    expect(await buffer.addAll(failing(2))).toContain('broken')
    expect(numbers(buffer.rows())).toEqual([0])
    expect(await buffer.addAll(failing(4))).toContain('broken')
    expect(stored).toEqual([[0, 1, 2, 3]])
    expect(buffer.rows()).toEqual([])
  })

  it('ends the step where the store is away', async () => {
    const buffer = rowBuffer(() => Promise.reject(new Error('away')), 1)
    await expect(buffer.addAll([rowOf(0, 1)])).rejects.toThrow('away')
  })
})
