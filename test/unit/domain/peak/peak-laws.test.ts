import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createDemandMeter } from '../../../../services/domain/peak/planned-demand.ts'
import { recordDefaults } from '../../../../services/domain/record/record.ts'
import type { AmountPlan } from '../../../../services/domain/schedule/amount.ts'
import { createMeteredEnergy, type MeteredRecord } from '../../../../services/domain/statement/metered-energy.ts'
import { plan } from '../schedule/plan.ts'
import { hourMs, type Site, siteStart } from '../schedule/site.ts'
import {
  type ChargedSite,
  chargedPlan,
  chargedSites,
  convexCharges,
  demandCharge,
  demandOf,
  plannedWith,
  sumOf,
} from './charged-site.ts'

/** Site of one hour price of 0.10 and devices of whole hours. */
const nightSite = (more: Partial<Site> = {}): Site => ({
  devices: [
    {
      deviceId: 'dev_1',
      direction: 'IMPORT',
      start: siteStart,
      end: siteStart + 4 * hourMs,
      power: 11_000_000_000n,
      energy: 22_000_000_000n,
    },
  ],
  sitePower: null,
  threshold: null,
  tiers: [],
  counted: 0n,
  generation: [],
  localPrice: 0n,
  imports: Array.from({ length: 48 }, (_, hour) => (hour === 1 || hour === 2 ? 100_000_000n : 200_000_000n)),
  exports: Array.from({ length: 48 }, () => 0n),
  ...more,
})

const kw = (value: number): bigint => BigInt(Math.round(value * 1e6)) * 1000n

describe('a plan that respects a charge', () => {
  it('spreads the energy if the peak costs more than the hours', () => {
    // 2 hours at 11 kW cost 2.20 + 11 × 2; 4 hours at 5.5 kW cost 3.30 + 5.5 × 2.
    const made = plannedWith({ site: nightSite(), charges: [demandCharge()], stored: [] })
    expect(made.cost).toBe(3_300_000_000n)
    expect(made.demand?.charges).toEqual([
      { chargeId: 'chg_1', month: 2026 * 12, before: 0n, after: kw(5.5), amount: 11_000_000_000n },
    ])
    expect(made.demand?.bound).toBe(14_300_000_000n)
  })

  it('uses the power that the month has reached, and leaves a peak that costs less than the hours', () => {
    const stored = [{ start: siteStart - 30 * hourMs, end: siteStart - 29 * hourMs, energy: kw(9) }]
    const dear = plannedWith({ site: nightSite(), charges: [demandCharge()], stored })
    // 9 kW in both cheap hours is free of charge: 18 kWh at 0.10 and 4 kWh at 0.20.
    expect([dear.cost, dear.demand?.charges[0]?.after, dear.demand?.bound]).toEqual([
      2_600_000_000n,
      kw(9),
      2_600_000_000n,
    ])
    const cheap = plannedWith({ site: nightSite(), charges: [demandCharge({ price: 100_000_000n })], stored })
    // A further kW saves 0.20 and costs 0.10.
    expect([cheap.cost, cheap.demand?.charges[0]?.after]).toEqual([2_200_000_000n, kw(11)])
  })

  it('has its own sum as bound if one hour is at the peak of the month and another is far below', () => {
    const stored = [{ start: siteStart + hourMs, end: siteStart + 2 * hourMs, energy: kw(9) }]
    const device = { deviceId: 'dev_1', direction: 'IMPORT', power: kw(11), energy: kw(1) } as const
    const devices = [{ ...device, start: siteStart, end: siteStart + 2 * hourMs }]
    const made = plannedWith({ site: nightSite({ devices }), charges: [demandCharge()], stored })
    // In the cheap hour, 1 kWh costs 0.10 and raises the peak by 1 kW.
    expect([made.cost, made.demand?.charges[0]?.amount, made.demand?.bound]).toEqual([200_000_000n, 0n, 200_000_000n])
  })

  it('stays below a step that costs more than the hours', () => {
    const steps = [
      { from: 0n, amount: 1_000_000_000n },
      { from: kw(8), amount: 2_000_000_000n },
    ]
    const made = plannedWith({ site: nightSite(), charges: [demandCharge({ price: null, steps })], stored: [] })
    expect(made.demand?.charges[0]?.amount).toBe(0n)
    expect(Number(made.demand?.charges[0]?.after)).toBeCloseTo(8e9, -1)
    expect(made.demand?.charges[0]?.after).toBeLessThan(kw(8))
    expect(Number(made.cost)).toBeCloseTo(2.8e9, -2)
  })

  it('stays below a step of the mean of the highest ten days, which is rounded', () => {
    const steps = [
      { from: 0n, amount: 0n },
      { from: kw(0.8), amount: 2_000_000_000n },
    ]
    const charge = demandCharge({ price: null, steps, highest: 10, hasDistinctDays: true })
    const made = plannedWith({ site: nightSite(), charges: [charge], stored: [] })
    // Nine days without energy: 8 kW on the day of the plan are a mean of 0.8 kW.
    expect(made.demand?.charges[0]?.amount).toBe(0n)
    expect(made.demand?.charges[0]?.after).toBe(kw(0.8) - 1n)
    expect(Number(made.cost)).toBeCloseTo(2.8e9, -2)
  })

  it('is the plan without charges if no charge is paid', () => {
    const site = nightSite()
    const ended = demandCharge({ endDay: 20_000 })
    const without = plan(site)
    const made = plannedWith({ site, charges: [ended], stored: [] })
    expect(made.demand).toEqual({ charges: [], bound: made.cost })
    expect(without.ok && { ...without.value, demand: made.demand }).toEqual(made)
  })

  it('counts only the devices of a charge', () => {
    const other = demandCharge({ deviceIds: ['dev_other'] })
    const made = plannedWith({ site: nightSite(), charges: [other], stored: [] })
    expect([made.cost, made.demand?.charges[0]?.after]).toEqual([2_200_000_000n, 0n])
    const own = plannedWith({ site: nightSite(), charges: [demandCharge({ deviceIds: ['dev_1'] })], stored: [] })
    expect(own.cost).toBe(3_300_000_000n)
  })

  it('sells at a lower power if a charge counts what is sold', () => {
    const [device] = nightSite().devices
    const site = nightSite({
      devices: device === undefined ? [] : [{ ...device, direction: 'EXPORT' }],
      exports: nightSite().imports.map(price => 300_000_000n - (price ?? 0n)),
    })
    const made = plannedWith({ site, charges: [demandCharge({ counts: 'EXPORT' })], stored: [] })
    expect([made.cost, made.demand?.charges[0]?.after]).toEqual([-3_300_000_000n, kw(5.5)])
  })
})

/** Return the charges of the location if records follow a plan. */
const monthsAfter = ({ charges, stored }: ChargedSite, { devices }: AmountPlan) => {
  const records = devices.flatMap(({ device, pieces }): readonly MeteredRecord[] =>
    pieces.map(({ start, end, power }) => ({
      ...recordDefaults,
      locationId: 'loc_site',
      deviceId: device.deviceId,
      energyFlowDirection: 'INBOUND' as const,
      tariffDirection: 'IMPORT' as const,
      start,
      end,
      covered: [],
      energy: (power * BigInt(end - start)) / 3_600_000n,
    })),
  )
  const { context } = demandOf(charges, stored)
  const history = context.metered.flows.IMPORT.records
  const options = { timeZone: context.metered.timeZone, includesDevices: context.metered.includesDevices }
  const metered = createMeteredEnergy([...history, ...records], options)
  const time = { start: siteStart, end: siteStart + 48 * hourMs }
  return createDemandMeter({ context: { ...context, metered }, charges }, time).months
}

const amountOf = (months: ReturnType<typeof monthsAfter>): number =>
  Number(months.reduce((sum, { before }) => sum + before.amount, 0n)) / 1e9

/** Energy of pieces is exact to 1e-6 Wh, and a plan to the tolerance of plans. */
const tolerance = 1e-5

describe('the sum of cost and charges', () => {
  it('is never above that of the plan without charges', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(chargedSites(fc.tuple(convexCharges(60), convexCharges(15)), { tiered: true }), charged => {
        const made = chargedPlan(charged)
        const plain = plan(charged.site)
        fc.pre(made !== null && plain.ok)
        const nothing = { ...plain.value, devices: [] }
        const rise = amountOf(monthsAfter(charged, plain.value)) - amountOf(monthsAfter(charged, nothing))
        expect(sumOf(made)).toBeLessThanOrEqual(Number(plain.value.cost) / 1e9 + rise + tolerance)
      }),
      { numRuns: 40, endOnFailure: true },
    )
  })
})

describe('the power after a plan', () => {
  it('is what a statement measures if the records follow the plan', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(chargedSites(fc.tuple(convexCharges(60))), charged => {
        const made = chargedPlan(charged)
        fc.pre(made !== null)
        const months = monthsAfter(charged, made)
        for (const { month, after } of made.demand?.charges ?? []) {
          const measured = months.find(one => one.month === month)?.before.power
          expect(Math.abs(Number(after) - Number(measured))).toBeLessThan(200)
        }
      }),
      { numRuns: 30 },
    )
  })
})

describe('a request', () => {
  it('has the same plan again', () => {
    fc.assert(
      fc.property(chargedSites(fc.tuple(convexCharges(30))), charged => {
        expect(chargedPlan(charged)).toEqual(chargedPlan(charged))
      }),
      { numRuns: 10 },
    )
  })
})
