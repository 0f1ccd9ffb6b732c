import { describe, expect, it } from 'vitest'
import { costRecords } from './cost.ts'
import { priceAt } from './price-at.ts'
import { publishedCosts, publishedPrices } from './published.ts'

const major = (money: bigint): number => Number(money) / 1e9

describe('the oracle agrees with published results', () => {
  it.each(publishedCosts())('cost $id', ({ input, records, expected, tolerance }) => {
    const costs = costRecords(input, records).map(({ id, record, priced }) => ({
      id,
      direction: record.tariffDirection,
      cost: priced?.cost ?? null,
    }))
    expect(costs.filter(({ cost }) => cost === null)).toEqual([])
    const sum = (direction: string) =>
      major(costs.reduce((total, { cost, ...of }) => total + (of.direction === direction ? (cost ?? 0n) : 0n), 0n))
    const within = (actual: number, wanted: number) => {
      const allowed = tolerance.abs ?? Math.abs(wanted) * (tolerance.rel ?? 0)
      expect(Math.abs(actual - wanted)).toBeLessThanOrEqual(allowed + 1e-12)
    }
    const { total_cost, import_minus_export, per_record = {} } = expected
    const checks = [total_cost, import_minus_export, ...Object.values(per_record)].filter(value => value !== undefined)
    expect(checks.length).toBeGreaterThan(0)
    if (total_cost !== undefined) within(sum(records[0]?.record.tariffDirection ?? 'IMPORT'), total_cost)
    if (import_minus_export !== undefined) within(sum('IMPORT') - sum('EXPORT'), import_minus_export)
    for (const [id, wanted] of Object.entries(per_record))
      within(major(costs.find(cost => cost.id === id)?.cost ?? 0n), wanted)
  })

  it.each(publishedPrices())('prices $id', ({ input, segments }) => {
    expect(segments.length).toBeGreaterThan(0)
    for (const { from, to, price } of segments) {
      for (let moment = from; moment < to; moment += 60_000) expect(priceAt(input, 'IMPORT', moment)?.price).toBe(price)
    }
  })
})
