import { cellOf, type Flow, type FlowProblem, remainingCapacity } from './flow-problem.ts'

/** Shares below this can be rounding errors of numbers above 53 bits. */
const negligibleShare = 1e-12

/** Check if a job lacks energy: more than one unit, by which its demand may have been rounded up. */
export const isShort = ({ demand, minEnergy }: FlowProblem, { unmet }: Flow, job: number): boolean =>
  (unmet[job] as number) > Math.max(minEnergy, (demand[job] as number) * negligibleShare)

/** Check if the energy of a job in a slot exceeds the rounding errors of numbers above 53 bits. */
const isSignificant = (
  { rate, slotLength, minEnergy }: FlowProblem,
  job: number,
  slot: number,
  energy: number,
): boolean => energy > Math.max(minEnergy, (rate[job] as number) * (slotLength[slot] as number) * negligibleShare)

/**
 * Find the minimum cut of a maximum flow: the jobs that compete for too little energy, and the slots that they fill.
 * Outside those slots they run at full power in their windows. Both lists ascend; they are empty if no job lacks
 * energy.
 */
export const minCut = (
  problem: FlowProblem,
  flow: Flow,
): { readonly jobs: readonly number[]; readonly slots: readonly number[] } => {
  const [jobs, slots] = [problem.demand.length, problem.slotLength.length]
  const isReached = new Uint8Array(jobs)
  const isFull = new Uint8Array(slots)
  const reachedJobs: number[] = []
  for (let job = 0; job < jobs; job += 1) {
    if (!isShort(problem, flow, job)) continue
    isReached[job] = 1
    reachedJobs.push(job)
  }
  for (const job of reachedJobs) {
    for (let slot = problem.firstSlot[job] as number; slot < (problem.endSlot[job] as number); slot += 1) {
      if (isFull[slot] === 1 || !isSignificant(problem, job, slot, remainingCapacity(problem, flow, job, slot)))
        continue
      isFull[slot] = 1
      for (let other = 0; other < jobs; other += 1) {
        if (
          isReached[other] === 1 ||
          slot < (problem.firstSlot[other] as number) ||
          slot >= (problem.endSlot[other] as number)
        )
          continue
        if (!isSignificant(problem, other, slot, flow.energy[cellOf(problem, flow, other, slot)] as number)) continue
        isReached[other] = 1
        reachedJobs.push(other)
      }
    }
  }
  const fullSlots = [...isFull.keys()].filter(slot => isFull[slot] === 1)
  return { jobs: reachedJobs.sort((a, b) => a - b), slots: fullSlots }
}
