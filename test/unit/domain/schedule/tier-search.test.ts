import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { acceptedValue } from '../../../support/accepted-value.ts'
import { minCostOf } from './min-tier-cost.ts'
import { bestOf, dayOfTiers, planSmall, type SmallTiers, smallTiers } from './small-tiers.ts'

const requestedEnergy = ({ tasks }: SmallTiers): number => tasks.reduce((sum, { energy }) => sum + energy, 0)

const kinds = (['IMPORT', 'EXPORT'] as const).flatMap(direction => [
  { direction, isParallel: true, isLimited: false, name: 'rise by the same in every hour' },
  { direction, isParallel: false, isLimited: false, name: 'rise otherwise in every hour' },
  { direction, isParallel: false, isLimited: true, name: 'rise otherwise in every hour, under a threshold' },
])

describe.each(kinds)('plans of $direction whose tiers $name', ({ direction, isParallel, isLimited }) => {
  it('hold the most energy and cost the least of all plans that there are', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(smallTiers(direction, isParallel, isLimited), of => {
        const [made, best] = [planSmall(of), bestOf(of)]
        expect(made.ok).toBe(isLimited || best.energy === requestedEnergy(of))
        if (!made.ok) return
        const energy = made.value.devices.reduce((sum, one) => sum + one.energy, 0n)
        expect([Number(energy) / 1e9, Number(made.value.cost) / 1e7]).toEqual([best.energy, best.cost])
      }),
      { numRuns: 150 },
    )
  })
})

/** Multiply devices and bounds by a number: the best plan is the original plan times that number. */
const timesOver = (of: SmallTiers, copies: number): SmallTiers => ({
  ...of,
  bounds: of.bounds.map(bound => bound * copies),
  tasks: of.tasks.flatMap(task => Array.from({ length: copies }, () => task)),
})

const copies = 16

describe.each(['IMPORT', 'EXPORT'] as const)(
  'plans of %s over a day whose tiers rise otherwise in every hour',
  direction => {
    it('have the cost of the best plan of an integer program, within 1e-6', { timeout: 120_000 }, () => {
      fc.assert(
        fc.property(dayOfTiers(direction), of => {
          const made = acceptedValue(planSmall(timesOver(of, copies)))
          const minCost = minCostOf(of) * copies
          expect(Math.abs(Number(made.cost) / 1e7 - minCost)).toBeLessThanOrEqual(
            Math.max(1e-4, 1e-6 * Math.abs(minCost)),
          )
        }),
        { numRuns: 12, endOnFailure: true },
      )
    })
  },
)
