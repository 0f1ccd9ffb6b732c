import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createDemandMeter } from '../../../../services/domain/peak/planned-demand.ts'
import type { AmountPlan } from '../../../../services/domain/schedule/amount.ts'
import { expectFeasible } from '../schedule/plan.ts'
import { hourMs, siteHours, siteStart } from '../schedule/site.ts'
import { optimumOf } from '../schedule/site-optimum.ts'
import { type ChargedSite, chargedPlan, chargedSites, convexCharges, demandOf, sumOf } from './charged-site.ts'
import { demandProgram } from './demand-program.ts'

const siteEnd = siteStart + siteHours * hourMs

/** Amounts of the charges of both months of a site before a plan. */
const amountBefore = ({ charges, stored }: ChargedSite): number => {
  const { months } = createDemandMeter(demandOf(charges, stored), { start: siteStart, end: siteEnd })
  return Number(months.reduce((sum, { before }) => sum + before.amount, 0n)) / 1e9
}

/** Allowed difference between a plan and the optimum. Source: docs/rules/schedules.md #amount. */
const tolerance = (optimum: number): number => Math.max(1e-6, 1e-6 * Math.abs(optimum))

const boundOf = (made: AmountPlan): number => Number(made.demand?.bound) / 1e9

/** Check that a plan keeps all rules of plans, and that its sum and bound enclose the optimum; return all three. */
const compare = (charged: ChargedSite) => {
  const made = chargedPlan(charged)
  fc.pre(made !== null)
  expectFeasible(charged.site, made)
  const { cost } = optimumOf(charged.site, demandProgram(charged.charges, charged.stored))
  const optimum = cost - amountBefore(charged)
  const [sum, bound] = [sumOf(made), boundOf(made)]
  expect(sum).toBeGreaterThan(optimum - tolerance(optimum))
  expect(bound).toBeLessThan(optimum + tolerance(optimum))
  expect(bound).toBeLessThanOrEqual(sum)
  return { sum, bound, optimum }
}

const exactCharges = (minutes: number) => convexCharges(minutes)

const exact: readonly (readonly [string, fc.Arbitrary<ChargedSite>])[] = [
  ...[15, 30, 60].map(
    minutes =>
      [
        `a price or rising tiers of the highest ${minutes} minutes`,
        chargedSites(fc.tuple(exactCharges(minutes))),
      ] as const,
  ),
  ['own generation', chargedSites(fc.tuple(exactCharges(60)), { generating: true })],
  ['a threshold', chargedSites(fc.tuple(exactCharges(30)), { limited: true, generating: true })],
  ['two charges of one interval', chargedSites(fc.tuple(exactCharges(30), exactCharges(30)))],
]

describe.each(exact)('a plan with %s', (_, arbitrary) => {
  it('has the least sum of energy and charges', { timeout: 120_000 }, () => {
    const property = fc.property(arbitrary, charged => {
      const { sum, bound, optimum } = compare(charged)
      expect(Math.abs(sum - optimum)).toBeLessThanOrEqual(tolerance(optimum))
      expect(bound).toBe(sum)
    })
    fc.assert(property, { numRuns: 20, endOnFailure: true })
  })
})

const steps = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 4000 }), fc.integer({ min: 0, max: 400 })), { minLength: 1, maxLength: 5 })
  .map(all => {
    let [from, amount] = [0n, 0n]
    return [
      { from, amount },
      ...all.map(([watts, cents]) => {
        from += BigInt(watts) * 1_000_000n
        amount += BigInt(cents) * 10_000_000n
        return { from, amount }
      }),
    ]
  })

const stepCharges = (minutes: number) =>
  fc.tuple(convexCharges(minutes), steps).map(([terms, list]) => ({ ...terms, price: null, tiers: null, steps: list }))

const withHighest = <T extends object>(terms: fc.Arbitrary<T>, hasDistinctDays: boolean) =>
  fc.tuple(terms, fc.integer({ min: 2, max: 4 })).map(([one, highest]) => ({ ...one, highest, hasDistinctDays }))

/** Charges that are mostly planned exactly, and charges that are not. */
const bounded: readonly (readonly [string, boolean, fc.Arbitrary<ChargedSite>])[] = [
  ['steps', true, chargedSites(fc.tuple(stepCharges(60)))],
  ['the highest days', true, chargedSites(fc.tuple(withHighest(convexCharges(60), true)))],
  ['steps of the highest days', true, chargedSites(fc.tuple(withHighest(stepCharges(60), true)))],
  ['the highest hours of any day', false, chargedSites(fc.tuple(withHighest(convexCharges(60), false)))],
  ['charges of two intervals', false, chargedSites(fc.tuple(exactCharges(15), exactCharges(60)))],
  [
    'tiers of energy',
    false,
    chargedSites(fc.tuple(exactCharges(60)), { tiered: true }).filter(({ site }) => site.tiers.length > 0),
  ],
]

describe.each(bounded)('a plan with %s', (_, isExact, arbitrary) => {
  it('costs no less than its bound', { timeout: 120_000 }, () => {
    const property = fc.property(arbitrary, charged => {
      const { sum, optimum } = compare(charged)
      if (isExact) expect(Math.abs(sum - optimum)).toBeLessThanOrEqual(tolerance(optimum))
    })
    fc.assert(property, { numRuns: 20, endOnFailure: true })
  })
})
