import { cellOf, type Flow, type FlowProblem, roomOf } from './flow-problem.ts'

/** Shares below this are what is lost where numbers do not fit 53 bits. */
const negligible = 1e-12

/** Tell whether a job lacks energy: more than the one grain by which what it wants may have been rounded up. */
export const isShort = ({ demand, grain }: FlowProblem, { unmet }: Flow, job: number): boolean =>
  (unmet[job] as number) > Math.max(grain, (demand[job] as number) * negligible)

/** Tell whether energy of a job in a slot is more than what numbers that do not fit 53 bits leave there. */
const isSome = ({ rate, length, grain }: FlowProblem, job: number, slot: number, energy: number): boolean =>
  energy > Math.max(grain, (rate[job] as number) * (length[slot] as number) * negligible)

/**
 * Find the min cut that a flow of the most energy leaves: the jobs that compete for too little, and the slots that they fill up.
 * Outside those slots they run at full power throughout their windows. Both ascend; empty when no job lacks energy.
 */
export const minCut = (problem: FlowProblem, flow: Flow): { readonly jobs: readonly number[]; readonly slots: readonly number[] } => {
  const [jobs, slots] = [problem.demand.length, problem.length.length]
  const isReached = new Uint8Array(jobs)
  const isFull = new Uint8Array(slots)
  const reached: number[] = []
  for (let job = 0; job < jobs; job += 1) {
    if (!isShort(problem, flow, job)) continue
    isReached[job] = 1
    reached.push(job)
  }
  for (const job of reached) {
    for (let slot = problem.first[job] as number; slot < (problem.last[job] as number); slot += 1) {
      if (isFull[slot] === 1 || !isSome(problem, job, slot, roomOf(problem, flow, job, slot))) continue
      isFull[slot] = 1
      for (let other = 0; other < jobs; other += 1) {
        if (isReached[other] === 1 || slot < (problem.first[other] as number) || slot >= (problem.last[other] as number)) continue
        if (!isSome(problem, other, slot, flow.energy[cellOf(problem, flow, other, slot)] as number)) continue
        isReached[other] = 1
        reached.push(other)
      }
    }
  }
  const full = [...isFull.keys()].filter(slot => isFull[slot] === 1)
  return { jobs: reached.sort((a, b) => a - b), slots: full }
}
