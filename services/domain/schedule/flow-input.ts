import type { Price } from '../quantity.ts'
import type { Power } from './amount-request.ts'
import type { Flow, FlowProblem } from './flow-problem.ts'
import { onScale, type PlanScale, type PlanSlot } from './plan-slots.ts'

/**
 * Slots and jobs of one direction. `sign` converts prices to costs (−1n for exports). `isAllowed` tests a price against
 * the threshold.
 */
export type FlowInput = {
  readonly slots: readonly PlanSlot[]
  readonly problem: FlowProblem
  readonly scale: PlanScale
  readonly sitePower: Power | null
  readonly sign: 1n | -1n
  readonly isAllowed: (price: Price) => boolean
}

/** Flow, and the own generation used in each slot. */
export type AmountFlow = { readonly flow: Flow; readonly generated: Float64Array }

/** Return the energy that all jobs request. */
export const totalDemand = ({ demand }: FlowProblem): number => demand.reduce((sum, one) => sum + one, 0)

/** Return the maximum grid energy of each slot. */
export const gridCapacities = ({
  problem,
  scale,
  sitePower,
}: Pick<FlowInput, 'problem' | 'scale' | 'sitePower'>): Float64Array => {
  if (sitePower === null) return new Float64Array(problem.slotLength.length).fill(totalDemand(problem))
  const gridCapacity = onScale(scale, sitePower * BigInt(scale.timeUnitMs))
  return problem.slotLength.map(length => gridCapacity * length)
}
