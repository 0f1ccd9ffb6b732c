import { describe, expect, it } from 'vitest'
import { costRecord } from '../../../../services/domain/cost/cost-record.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot, hasTieredPrices } from '../../../../services/domain/tariff/snapshot.ts'
import { changedInterval } from '../../../../services/domain/tariff/tariff-change.ts'
import { scheduleAt, schedulesOf, withVersion } from '../../../../services/domain/tariff/tariff-version.ts'
import { costRecords } from '../../../support/oracle/cost.ts'
import { allDay, at, entry, kwh, nano, pricing, rate, record, tariff } from '../../../support/oracle/tables.ts'

const prices = (price: number) => [entry(allDay(price))]
const on = (day: number): number => at(`2026-06-${String(day).padStart(2, '0')}T00:00:00Z`)
const base = tariff(allDay(0.1), { contractStart: on(1) })
const shown = (of: typeof base) => schedulesOf(of).map(({ effectiveFrom, schedule }) => [effectiveFrom, schedule])

describe('a new version of a tariff', () => {
  it('replaces the prices from its instant, and drops later versions', () => {
    const twice = withVersion(withVersion(base, { effectiveFrom: on(10), schedule: prices(2) }), {
      effectiveFrom: on(20),
      schedule: prices(3),
    })
    expect(shown(twice)).toEqual([
      [on(1), base.schedule],
      [on(10), prices(2)],
      [on(20), prices(3)],
    ])
    expect(shown(withVersion(twice, { effectiveFrom: on(10), schedule: prices(4) }))).toEqual([
      [on(1), base.schedule],
      [on(10), prices(4)],
    ])
    expect([on(9), on(10), on(19), on(20)].map(instant => scheduleAt(twice, instant))).toEqual([
      base.schedule,
      prices(2),
      prices(2),
      prices(3),
    ])
  })

  it('replaces all prices if it starts with the contract or before', () => {
    const later = withVersion(base, { effectiveFrom: on(10), schedule: prices(2) })
    for (const effectiveFrom of [on(1), on(1) - 1]) {
      expect(shown(withVersion(later, { effectiveFrom, schedule: prices(3) }))).toEqual([[on(1), prices(3)]])
    }
  })

  it('changes prices from its instant on, or from the first one that it drops', () => {
    const one = withVersion(base, { effectiveFrom: on(10), schedule: prices(2) })
    const next = { ...tariff(allDay(5), { contractStart: on(25) }), id: 'trf_next' }
    expect(changedInterval(base, one, [next])).toEqual({ from: on(10), to: on(25) })
    expect(changedInterval(one, withVersion(one, { effectiveFrom: on(15), schedule: prices(3) }), [])).toEqual({
      from: on(15),
      to: null,
    })
    expect(changedInterval(one, withVersion(one, { effectiveFrom: on(5), schedule: prices(3) }), [])).toEqual({
      from: on(5),
      to: null,
    })
    expect(changedInterval(one, withVersion(one, { effectiveFrom: on(1), schedule: prices(3) }), [])).toEqual({
      from: on(1),
      to: null,
    })
    expect(changedInterval(base, withVersion(base, { effectiveFrom: on(26), schedule: prices(3) }), [next])).toBeNull()
    expect(changedInterval(one, one, [])).toBeNull()
  })
})

describe('a record', () => {
  const tiers = (low: number, high: number) => allDay([rate(low, 10), rate(high)])
  const first = tariff(tiers(0.1, 0.5), { contractStart: null })
  const versioned = withVersion(first, { effectiveFrom: on(15), schedule: [entry(tiers(0.2, 0.6))] })
  const snapshot = compileSnapshot(pricing('UTC', [versioned]), createPricingPool())

  it('pays the old prices before a version and the new ones after it, at the tier that the month has reached', () => {
    const across = record('mre_1', '2026-06-14T22:00:00Z', '2026-06-15T02:00:00Z', kwh(16))
    const cost = costRecord(snapshot, across.record)
    // 4 kWh an hour: 8 kWh at 0.1 before, then 2 kWh to the bound at 0.2 and 6 kWh beyond it at 0.6
    expect(cost.pieces.map(({ energy, price, cost: paid }) => [energy, price, paid])).toEqual([
      [kwh(8), nano(0.1), nano(0.8)],
      [kwh(2), nano(0.2), nano(0.4)],
      [kwh(6), nano(0.6), nano(3.6)],
    ])
    expect(cost.tariffIds).toEqual(['trf_a'])
    // One accumulator before and after: the tariff is the same.
    expect(cost.accumulatorChanges).toHaveLength(1)
    expect(cost.accumulatorChanges[0]).toMatchObject({
      countingStart: at('2026-06-01T00:00:00Z'),
      before: 0n,
      after: kwh(16),
    })
  })

  it('counts for tiers that only a later version has', () => {
    const flat = tariff(allDay(0.3))
    const tiered = withVersion(flat, { effectiveFrom: on(15), schedule: [entry(tiers(0.2, 0.6))] })
    const compiled = compileSnapshot(pricing('UTC', [tiered]), createPricingPool())
    expect(hasTieredPrices(compileSnapshot(pricing('UTC', [flat]), createPricingPool()), 'IMPORT')).toBe(false)
    expect(hasTieredPrices(compiled, 'IMPORT')).toBe(true)
    const before = record('mre_1', '2026-06-10T00:00:00Z', '2026-06-10T01:00:00Z', kwh(9))
    const after = record('mre_2', '2026-06-16T00:00:00Z', '2026-06-16T01:00:00Z', kwh(2))
    const [one, other] = costRecords(pricing('UTC', [tiered]), [before, after])
    // 9 × 0.3; then 1 kWh to the bound at 0.2 and 1 kWh at 0.6
    expect([one?.priced?.cost, other?.priced?.cost]).toEqual([nano(2.7), nano(0.8)])
    expect(costRecord(compiled, before.record).accumulatorChanges[0]).toMatchObject({ after: kwh(9) })
  })

  it('is not cut where a version repeats the prices: a tier bound met close by would move to the cut', () => {
    const start = at('2026-06-14T23:59:59.900Z')
    for (const energy of [1n, 2n, 3n, 5n, 7n]) {
      for (let bound = 1n; bound < energy; bound += 1n) {
        for (const cut of [1, 40, 100, 101, 150, 333]) {
          const plain = tariff(allDay([{ ...rate(0.1), to: bound }, rate(0.5)]))
          const again = withVersion(plain, { effectiveFrom: start + cut, schedule: structuredClone(plain.schedule) })
          const short = record('mre_1', '2026-06-14T23:59:59.900Z', '2026-06-15T00:00:00.300Z', energy)
          const costs = [plain, again].map(of =>
            costRecord(compileSnapshot(pricing('UTC', [of]), createPricingPool()), short.record),
          )
          expect(costs[1]).toEqual(costs[0])
        }
      }
    }
  })
})
