import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { costRecord } from '../../../../services/domain/cost/cost-record.ts'
import {
  type CountingInterval,
  countingIntervals,
  tierBounds,
} from '../../../../services/domain/price/counting-interval.ts'
import { priceAudit } from '../../../../services/domain/price/price-series.ts'
import { type EnergyBucket, tierSteps } from '../../../../services/domain/price/tier-step.ts'
import { accumulatorKey } from '../../../../services/domain/tariff/accumulator.ts'
import type { CountedEnergy } from '../../../../services/domain/tariff/evaluate.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import type { IdentifiedRecord } from '../../../support/oracle/cost.ts'
import { type CountInput, countAll, energyGains } from '../../../support/oracle/count-all.ts'
import { scenarios } from '../../../support/oracle/generate.ts'
import { allDay, at, kwh, pricing, rate, record, tariff } from '../../../support/oracle/tables.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000

const isWhole = (
  { record: { start, end } }: IdentifiedRecord,
  countingIntervals: readonly CountingInterval[],
): boolean =>
  countingIntervals.some(
    countingInterval => countingInterval.start <= start && start < countingInterval.end && end <= countingInterval.end,
  )

/** Count from buckets of `length` ms, each divided into records if it reaches a bound. Returns the number divided. */
const countFromBuckets = (
  of: CountInput,
  from: number,
  to: number,
  length: number,
): { readonly counted: CountedEnergy; readonly expanded: number } => {
  const { snapshot, direction, records } = of
  const intervals = countingIntervals(snapshot, direction, from, to)
  const own = records.filter(one => one.record.tariffDirection === direction && one.record.start < to)
  const counting = own.filter(({ record: one }) => direction !== 'IMPORT' || one.energyFlowDirection === 'INBOUND')
  const [whole, across] = [
    counting.filter(one => isWhole(one, intervals)),
    counting.filter(one => !isWhole(one, intervals)),
  ]
  const edges = [...intervals.map(interval => interval.start), from + 1, intervals.at(-1)?.end ?? to]
  const bucketOf = (start: number): { start: number; end: number } => {
    const [low, high] = [
      Math.max(...edges.filter(edge => edge <= start)),
      Math.min(...edges.filter(edge => edge > start)),
    ]
    if (start <= from) return { start: low, end: high }
    const cut = low + Math.floor((start - low) / length) * length
    return { start: cut, end: Math.min(high, cut + length) }
  }
  const bucketsOf = (
    part: readonly IdentifiedRecord[],
    spanOf: (start: number) => { start: number; end: number },
  ): EnergyBucket[] =>
    [...Map.groupBy(part, one => JSON.stringify(spanOf(one.record.start)))].map(([span, within]) => ({
      ...(JSON.parse(span) as { start: number; end: number }),
      records: within.length,
      energy: within.reduce((sum, one) => sum + costRecord(snapshot, one.record).energy, 0n),
    }))
  const crossing = energyGains({ ...of, records: across })
  let buckets = bucketsOf(whole, bucketOf)
  for (let expanded = 0; ; ) {
    buckets.sort((a, b) => a.start - b.start)
    const { steps, tooCoarse: coarse } = tierSteps(
      { intervals, buckets, crossing },
      tierBounds(snapshot, direction, from, to),
      from,
    )
    if (coarse.length === 0)
      return { counted: (type, way, start) => steps.get(accumulatorKey(type, way, start)) ?? [], expanded }
    expanded += coarse.length
    const inCoarse = whole.filter(({ record: one }) =>
      coarse.some(({ start, end }) => start <= one.start && one.start < end),
    )
    buckets = [
      ...buckets.filter(one => !coarse.includes(one)),
      ...bucketsOf(inCoarse, start => ({ start, end: start + 1 })),
    ]
  }
}

describe('the tiers in force', () => {
  it('are those of all records that start by then, for any buckets', {
    timeout: 120_000,
  }, () => {
    let tiers = 0
    const property = fc.property(
      scenarios({ maxRecords: 8 }),
      fc.constantFrom('IMPORT' as const, 'EXPORT' as const, 'LOCAL' as const),
      fc.integer({ min: -6 * dayMs, max: 3 * dayMs }),
      fc.constantFrom(hourMs, 7 * hourMs, 20 * dayMs),
      ({ input, records }, direction, back, length) => {
        const snapshot = compileSnapshot(input, createPricingPool())
        const start = (records[0]?.record.start ?? 0) + back
        const request = { direction, start, end: start + 6 * dayMs }
        const of = { snapshot, direction, records }
        const expected = priceAudit(snapshot, { ...request, counted: countAll(of) })
        const { counted } = countFromBuckets(of, request.start, request.end, length)
        expect(priceAudit(snapshot, { ...request, counted })).toEqual(expected)
        if (
          expected.elements.some(({ breakdown }) => breakdown.commodity.tier > 0n || breakdown.nonCommodity.tier > 0n)
        )
          tiers += 1
      },
    )
    fc.assert(property, { numRuns: 200 })
    expect(tiers).toBeGreaterThan(5)
  })

  it('change at the start of the record that reaches the bound, and restart with the month', () => {
    const snapshot = compileSnapshot(
      pricing('Europe/Berlin', [tariff(allDay([rate(1, 10), rate(2)]))]),
      createPricingPool(),
    )
    const records = [
      record('a', '2026-05-29T08:00:00Z', '2026-05-29T09:00:00Z', kwh(6)),
      record('b', '2026-05-30T10:00:00Z', '2026-05-30T12:00:00Z', kwh(4)),
      // Half of it is June's, which begins at 22:00Z
      record('c', '2026-05-31T21:00:00Z', '2026-05-31T23:00:00Z', kwh(16)),
      record('d', '2026-06-02T06:00:00Z', '2026-06-02T07:00:00Z', kwh(2)),
    ]
    const [from, to] = [at('2026-05-30T00:00:00Z'), at('2026-06-03T00:00:00Z')]
    const { counted, expanded } = countFromBuckets({ snapshot, direction: 'IMPORT', records }, from, to, 20 * dayMs)
    const { elements } = priceAudit(snapshot, { direction: 'IMPORT', start: from, end: to, counted })
    expect(elements.map(({ start, breakdown }) => [new Date(start).toISOString(), breakdown.commodity.tier])).toEqual([
      ['2026-05-30T00:00:00.000Z', 0n],
      ['2026-05-30T10:00:00.000Z', kwh(10)],
      ['2026-05-31T22:00:00.000Z', 0n],
      // 8 of June's share and 2
      ['2026-06-02T06:00:00.000Z', kwh(10)],
    ])
    expect(expanded).toBe(2)
  })

  it('take nothing from a span that no accumulator counts in', () => {
    const snapshot = compileSnapshot(pricing('UTC', [tariff(allDay(1))]), createPricingPool())
    expect(countingIntervals(snapshot, 'IMPORT', at('2026-01-01T00:00:00Z'), at('2026-03-01T00:00:00Z'))).toEqual([])
  })
})
