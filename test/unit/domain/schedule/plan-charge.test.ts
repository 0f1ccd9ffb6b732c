import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { costRecord } from '../../../../services/domain/cost/cost-record.ts'
import { type MeterRecord, noOptions } from '../../../../services/domain/record/record.ts'
import { planAmount } from '../../../../services/domain/schedule/amount.ts'
import { accumulatorKey } from '../../../../services/domain/tariff/accumulator.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot, type PricingSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import type { Tariff } from '../../../../services/domain/tariff/tariff.ts'
import { allDay, at, pricing, rate, tariff } from '../../../support/oracle/tables.ts'
import { hourMs } from './site.ts'

const start = at('2026-01-30T00:00:00Z')
const hours = 72

/** Two tiers a contract, for energy and for the grid; one or both contracts change within the plan, which reaches into the next month. */
const contracts = fc
  .record({
    rises: fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 4, maxLength: 4 }),
    bounds: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 4, maxLength: 4 }),
    energyChange: fc.option(fc.integer({ min: 1, max: hours - 1 }), { nil: null }),
    gridChange: fc.option(fc.integer({ min: 1, max: hours - 1 }), { nil: null }),
  })
  .map(({ rises, bounds, energyChange, gridChange }) => {
    const terms = (type: Tariff['type'], index: number, from: number | null, to: number | null) => {
      const cents = 10 + 3 * index
      const rates = [rate(cents / 100, bounds[index]), rate((cents + (rises[index] ?? 0)) / 100)]
      const contract = {
        contractStart: from === null ? null : start + from * hourMs,
        contractEnd: to === null ? null : start + to * hourMs,
      }
      return tariff(allDay(rates), { id: `trf_${index}`, type, ...contract })
    }
    const kindOf = (type: Tariff['type'], index: number, change: number | null) =>
      change === null
        ? [terms(type, index, null, null)]
        : [terms(type, index, null, change), terms(type, index + 1, change, null)]
    return [...kindOf('COMMODITY', 0, energyChange), ...kindOf('NON_COMMODITY', 2, gridChange)]
  })

const task = fc.record({ watts: fc.integer({ min: 200, max: 900 }), share: fc.integer({ min: 20, max: 95 }) })

/** Cost of records one after the other, each after all earlier ones. */
const chargeOf = (snapshot: PricingSnapshot, records: readonly MeterRecord[]): bigint => {
  const counts = new Map<number, bigint>()
  let cost = 0n
  for (const record of records) {
    const charged = costRecord(snapshot, record, counts)
    cost += charged.cost ?? 0n
    for (const { type, direction, countingStart, after } of charged.accumulatorChanges)
      counts.set(accumulatorKey(type, direction, countingStart), after)
  }
  return cost
}

describe('the cost of a plan', () => {
  it('equals the cost of its records, for any change of contracts', () => {
    fc.assert(
      fc.property(contracts, task, (tariffs, { watts, share }) => {
        const snapshot = compileSnapshot(pricing('UTC', tariffs), createPricingPool())
        const energy = BigInt(Math.floor((watts * hours * share) / 100)) * 1_000_000n
        const device = {
          deviceId: 'dev_1',
          direction: 'IMPORT',
          start,
          end: start + hours * hourMs,
          power: BigInt(watts) * 1_000_000n,
        } as const
        const planned = planAmount(
          { devices: [{ ...device, energy }], sitePower: null, threshold: null },
          { snapshot, generation: [], counted: () => [] },
          0,
        )
        if (!planned.ok) throw new Error(planned.refusal.message)
        const plan = planned.value
        const records = (plan.devices[0]?.pieces ?? []).map(({ start: from, end: to, power }) => ({
          locationId: 'loc_1',
          deviceId: 'dev_1',
          energyFlowDirection: 'INBOUND',
          tariffDirection: 'IMPORT',
          start: from,
          end: to,
          energy: (power * BigInt(to - from)) / 3_600_000n,
          confidence: 1_000_000,
          ...noOptions,
        })) satisfies readonly MeterRecord[]
        const difference = chargeOf(snapshot, records) - plan.cost
        // Each piece is rounded to 1e-6 Wh and its power to 1e-6 W
        expect(difference < 1_000n && difference > -1_000n).toBe(true)
      }),
      { numRuns: 150 },
    )
  })
})
