import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { costRecord, type RecordCost } from '../../../../services/domain/cost/cost-record.ts'
import { energyCost } from '../../../../services/domain/cost/energy-cost.ts'
import type { Energy } from '../../../../services/domain/quantity.ts'
import { accumulatorKey, compareSortKeys } from '../../../../services/domain/tariff/accumulator.ts'
import { evaluate } from '../../../../services/domain/tariff/evaluate.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot, type PricingSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import { validateCoverage } from '../../../../services/domain/tariff/validate-coverage.ts'
import { bucketsOf, type OracleBucket } from '../../../support/oracle/buckets.ts'
import { costRecords, type IdentifiedRecord, type OracleCost } from '../../../support/oracle/cost.ts'
import { isRounded } from '../../../support/oracle/exact.ts'
import { type Scenario, scenarios as scenariosOf } from '../../../support/oracle/generate.ts'
import { priceAt } from '../../../support/oracle/price-at.ts'

/** Scenarios without a calendar, and with holidays and day types. */
const scenarios = (choice: Parameters<typeof scenariosOf>[0] = {}) =>
  fc.oneof(scenariosOf(choice), scenariosOf({ ...choice, hasCalendar: true }))

const sortKeyOf = ({ id, record }: IdentifiedRecord) => ({ start: record.start, end: record.end, recordId: id })

/** Cost every record with the energy that earlier records have counted, in the order of each of its accumulators. */
const costAll = (snapshot: PricingSnapshot, records: readonly IdentifiedRecord[]): RecordCost[] => {
  const first = records.map(({ record, covered }) => costRecord(snapshot, record, undefined, covered))
  return records.map((own, index) => {
    const counts = new Map<number, Energy>()
    for (const { type, direction, countingStart } of first[index]?.accumulatorChanges ?? []) {
      let counted = 0n
      for (const [other, { accumulatorChanges: changes }] of first.entries()) {
        const change = changes.find(
          found => found.type === type && found.direction === direction && found.countingStart === countingStart,
        )
        const otherRecord = records[other]
        if (change === undefined || otherRecord === undefined || other === index) continue
        if (compareSortKeys(sortKeyOf(otherRecord), sortKeyOf(own), countingStart) < 0)
          counted += change.after - change.before
      }
      counts.set(accumulatorKey(type, direction, countingStart), counted)
    }
    return costRecord(snapshot, own.record, counts, own.covered)
  })
}

const sameCost = (found: RecordCost | undefined, { priced, energy }: OracleCost) => {
  expect(found?.energy).toBe(energy)
  expect(found?.status).toBe(priced === null ? 'UNPRICED' : 'PRICED')
  expect(found?.cost ?? null).toBe(priced?.cost ?? null)
  const expected = priced?.pieces.map(
    ({ tiers: [tier], tariffs: [commodityId, nonCommodityId], confidence, ...piece }) => ({
      ...piece,
      tier,
      commodityId,
      nonCommodityId,
      confidence: Math.round(confidence * 1e6),
    }),
  )
  // Pieces of an UNPRICED record have confidence 0.
  expect(found?.pieces.filter(({ confidence }) => confidence > 0)).toEqual(expected ?? [])
  if (priced !== null) expect(isRounded((found?.confidence ?? 0) / 1e4, priced.confidence, 4)).toBe(true)
}

const spanOf = (records: readonly IdentifiedRecord[]): { start: number; end: number } => ({
  start: Math.min(...records.map(({ record }) => record.start)) - 7_000,
  end: Math.max(...records.map(({ record }) => record.end)) + 3_601_000,
})

const sameBuckets = ({ input, records }: Scenario, found: readonly RecordCost[], expected: readonly OracleCost[]) => {
  const { start, end } = spanOf(records)
  const rows = found.map((cost, index) => ({
    ...cost,
    start: 0,
    end: 0,
    recordConfidence: 0,
    ...rowOf(records[index]),
  }))
  for (const aggregation of ['DAY', 'MONTH'] as const) {
    const elements = energyCost({ start, end, timeZone: input.timeZone, aggregation }, rows)
    const buckets = bucketsOf(input.timeZone.name, expected, start, end, aggregation)
    const bare = ({ confidence: _, ...bucket }: OracleBucket) => bucket
    expect(elements.map(({ confidence: _, ...element }) => element)).toEqual(buckets.map(bare))
    for (const [index, bucket] of buckets.entries())
      expect(isRounded((elements[index]?.confidence ?? 0) / 1e4, bucket.confidence, 4)).toBe(true)
  }
}

const rowOf = (identified: IdentifiedRecord | undefined) =>
  identified && {
    start: identified.record.start,
    end: identified.record.end,
    recordConfidence: identified.record.confidence,
  }

const minuteMs = 60_000

/** Compare the evaluator's spans with the price of every minute, from a day before the first record to a day after the last start. */
const samePrices = ({ input, records }: Scenario, snapshot: PricingSnapshot) => {
  const from = Math.floor(spanOf(records).start / minuteMs) * minuteMs - 1440 * minuteMs
  const to = from + 3 * 1440 * minuteMs
  for (const direction of ['IMPORT', 'EXPORT', 'LOCAL'] as const) {
    const spans = evaluate(snapshot, direction, from, to)
    expect(spans[0]?.start).toBe(from)
    expect(spans.at(-1)?.end).toBe(to)
    let index = 0
    for (let at = from; at < to; at += minuteMs) {
      while ((spans[index]?.end ?? to) <= at) index += 1
      const span = spans[index]
      const expected = priceAt(input, direction, at)
      const found =
        span?.price == null
          ? null
          : { price: span.price, confidence: span.confidence, tariffs: [span.commodityId, span.nonCommodityId] }
      const { price = null, confidence = 0, commodity, nonCommodity } = expected ?? {}
      const wanted =
        price === null
          ? null
          : { price, confidence: Math.round(confidence * 1e4), tariffs: [commodity?.tariffId, nonCommodity?.tariffId] }
      if (JSON.stringify(found, bigints) !== JSON.stringify(wanted, bigints))
        expect({ at: new Date(at), found }).toEqual({ at: new Date(at), found: wanted })
    }
  }
}

const bigints = (_: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)

describe('the evaluator agrees with an oracle that shares no code with it', () => {
  const runs = Number(process.env['ORACLE_RUNS'] ?? 100)
  const seeded = process.env['ORACLE_SEED'] === undefined ? {} : { seed: Number(process.env['ORACLE_SEED']) }
  const timeoutMs = 60_000 + runs * 200

  it('on the price of every minute', { timeout: timeoutMs }, () => {
    fc.assert(
      fc.property(scenarios({ maxRecords: 1 }), scenario =>
        samePrices(scenario, compileSnapshot(scenario.input, createPricingPool())),
      ),
      { numRuns: Math.ceil(runs / 3), ...seeded },
    )
  })

  it('on pieces, cost, tiers and confidence of records, and on their days and months', { timeout: timeoutMs }, () => {
    fc.assert(
      fc.property(scenarios(), scenario => {
        for (const { schedule } of scenario.input.tariffs) expect(validateCoverage(schedule)).toBeUndefined()
        const expected = costRecords(scenario.input, scenario.records)
        const found = costAll(compileSnapshot(scenario.input, createPricingPool()), scenario.records)
        for (const [index, cost] of expected.entries()) sameCost(found[index], cost)
        sameBuckets(scenario, found, expected)
      }),
      { numRuns: runs, ...seeded },
    )
  })
})
