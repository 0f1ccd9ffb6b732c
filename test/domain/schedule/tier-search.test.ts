import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bestOf, planSmall, type SmallTiers, smallTiers } from './small-tiers.ts'

const asked = ({ tasks }: SmallTiers): number => tasks.reduce((sum, { energy }) => sum + energy, 0)

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
        expect(made.ok).toBe(isLimited || best.energy === asked(of))
        if (!made.ok) return
        const energy = made.value.devices.reduce((sum, one) => sum + one.energy, 0n)
        expect([Number(energy) / 1e9, Number(made.value.cost) / 1e7]).toEqual([best.energy, best.cost])
      }),
      { numRuns: 150 },
    )
  })
})
