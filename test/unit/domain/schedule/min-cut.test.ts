import { describe, expect, it } from 'vitest'
import { emptyFlow, type FlowProblem } from '../../../../services/domain/schedule/flow-problem.ts'
import { minCut } from '../../../../services/domain/schedule/min-cut.ts'

describe('a min cut', () => {
  const grain = 3.6e6
  /** Job 0 can run in slot 0 alone and lacks energy there; job 1 can run in both, and has all that it wants. */
  const problem: FlowProblem = {
    slotLength: Float64Array.of(1, 1),
    firstSlot: Int32Array.of(0, 0),
    endSlot: Int32Array.of(1, 2),
    rate: Float64Array.of(4e15, 2e15),
    demand: Float64Array.of(3e15, 1e15),
    minEnergy: grain,
  }
  const cutAt = (inFirst: number) => {
    const flow = emptyFlow(problem, 0)
    flow.energy.set([2e15 - inFirst, inFirst, 1e15 - inFirst])
    flow.unmet.set([1e15 + inFirst, 0])
    return minCut(problem, flow)
  }

  it('holds who takes energy from those who lack it, and where they could take more', () => {
    expect(cutAt(1e14)).toEqual({ jobs: [0, 1], slots: [0, 1] })
  })

  it('leaves out jobs whose energy there is only a rounding error above 53 bits', () => {
    expect(cutAt(1)).toEqual({ jobs: [0], slots: [0] })
    expect(cutAt(grain)).toEqual({ jobs: [0], slots: [0] })
    expect(cutAt(grain + 1)).toEqual({ jobs: [0, 1], slots: [0, 1] })
  })
})
