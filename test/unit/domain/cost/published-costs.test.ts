import { describe, expect, it } from 'vitest'
import { costRecord, type RecordCost } from '../../../../services/domain/cost/cost-record.ts'
import { accumulatorKey, compareSortKeys } from '../../../../services/domain/tariff/accumulator.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import type { IdentifiedRecord } from '../../../support/oracle/cost.ts'
import type { Scenario } from '../../../support/oracle/generate.ts'
import { publishedCosts } from '../../../support/oracle/published.ts'

const sortKeyOf = ({ id, record }: IdentifiedRecord) => ({ start: record.start, end: record.end, recordId: id })

/** Cost all records of a location: once for the energy that each counts, then with the counts of the records before it. */
const costAll = ({ input, records }: Scenario): RecordCost[] => {
  const snapshot = compileSnapshot(input, createPricingPool())
  const alone = records.map(({ record, covered }) => costRecord(snapshot, record, undefined, covered))
  return records.map((of, index) => {
    const counted = new Map<number, bigint>()
    for (const { type, direction, countingStart } of alone[index]?.accumulatorChanges ?? []) {
      let before = 0n
      for (const [other, cost] of alone.entries()) {
        if (compareSortKeys(sortKeyOf(records[other] as IdentifiedRecord), sortKeyOf(of), countingStart) >= 0) continue
        for (const change of cost.accumulatorChanges) {
          const isSame =
            change.type === type && change.direction === direction && change.countingStart === countingStart
          if (isSame) before += change.after - change.before
        }
      }
      counted.set(accumulatorKey(type, direction, countingStart), before)
    }
    return costRecord(snapshot, of.record, counted, of.covered)
  })
}

const major = (nano: bigint): number => Number(nano) / 1e9

describe('published costs', () => {
  it.each(publishedCosts().map(found => [found.id, found] as const))(
    '%s',
    (_, { input, records, expected, tolerance }) => {
      const costs = costAll({ input, records })
      const within = (found: number, wanted: number, abs = tolerance.abs ?? Math.abs(wanted) * (tolerance.rel ?? 0)) =>
        expect(Math.abs(found - wanted)).toBeLessThanOrEqual(abs + 1e-12)
      const sum = (direction: string) =>
        major(
          costs.reduce(
            (total, { cost }, index) =>
              total + (records[index]?.record.tariffDirection === direction ? (cost ?? 0n) : 0n),
            0n,
          ),
        )
      const byReference = Object.entries(expected.per_record ?? {})
      expect(
        [expected.total_cost, expected.import_minus_export, ...byReference].some(check => check !== undefined),
      ).toBe(true)
      if (expected.total_cost !== undefined) within(sum('IMPORT') + sum('EXPORT'), expected.total_cost)
      if (expected.import_minus_export !== undefined)
        within(sum('IMPORT') - sum('EXPORT'), expected.import_minus_export)
      for (const [reference, cost] of byReference) {
        const index = records.findIndex(({ id }) => id === reference)
        within(major(costs[index]?.cost ?? 0n), cost)
      }
    },
  )
})
