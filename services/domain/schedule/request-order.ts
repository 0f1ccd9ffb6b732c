import { cellOf, type Flow, type FlowProblem, roomOf, runsIn, takersOf } from './flow-problem.ts'
import { isShort } from './min-cut.ts'

/** A search from a job that wants more: from which slot each job was reached and through which job each slot; -1 is not reached. */
type Search = {
  readonly problem: FlowProblem
  readonly flow: Flow
  readonly takers: readonly (readonly number[])[]
  readonly leaves: Int32Array
  readonly enters: Int32Array
  readonly closedSlot: Uint8Array
  readonly closedJob: Uint8Array
}

/**
 * Let jobs of lower index have what jobs of higher index took from them, where not all can be served.
 * What each slot gives stays as it is, so neither the energy nor its cost changes. Works on the flow in place. Source: contract
 * decisions 13: first the most energy, then least cost, then request order.
 */
export function* serveInOrder(problem: FlowProblem, flow: Flow): Generator<undefined, void> {
  const [jobs, slots] = [problem.demand.length, problem.length.length]
  const search: Search = {
    ...{ problem, flow, takers: takersOf(problem) },
    ...{ leaves: new Int32Array(jobs), enters: new Int32Array(slots) },
    ...{ closedSlot: new Uint8Array(slots), closedJob: new Uint8Array(jobs) },
  }
  for (let job = 0; job < jobs; job += 1) {
    while (isShort(problem, flow, job) && search.closedJob[job] === 0) {
      yield undefined
      const reached = reach(search, job)
      let handed = 0
      for (const later of reached) if (later > job) handed += hand(search, later, job)
      // What cannot be had now cannot be had later: energy moves elsewhere only.
      if (handed === 0) close(search, reached)
    }
  }
}

/** Find the jobs that can hand energy on to one, over any number of others; the job itself is the first. */
const reach = ({ problem, flow, takers, leaves, enters, closedSlot, closedJob }: Search, to: number): number[] => {
  leaves.fill(-1)
  enters.fill(-1)
  const reached = [to]
  for (const job of reached) {
    for (let slot = problem.first[job] as number; slot < (problem.last[job] as number); slot += 1) {
      if (enters[slot] !== -1 || closedSlot[slot] === 1 || roomOf(problem, flow, job, slot) <= 0) continue
      enters[slot] = job
      for (const other of takers[slot] ?? []) {
        if (other === to || leaves[other] !== -1 || closedJob[other] === 1 || !runsIn(problem, flow, other, slot)) continue
        leaves[other] = slot
        reached.push(other)
      }
    }
  }
  return reached
}

/** Hand energy from one job to another along the way that the search found; gives how much. */
const hand = ({ problem, flow, leaves, enters }: Search, from: number, to: number): number => {
  let energy = flow.unmet[to] as number
  for (let job = from; job !== to; ) {
    const slot = leaves[job] as number
    const taker = enters[slot] as number
    energy = Math.min(energy, flow.energy[cellOf(problem, flow, job, slot)] as number, roomOf(problem, flow, taker, slot))
    job = taker
  }
  if (energy <= 0) return 0
  for (let job = from; job !== to; ) {
    const slot = leaves[job] as number
    const taker = enters[slot] as number
    const [left, taken] = [cellOf(problem, flow, job, slot), cellOf(problem, flow, taker, slot)]
    flow.energy[left] = (flow.energy[left] as number) - energy
    flow.energy[taken] = (flow.energy[taken] as number) + energy
    job = taker
  }
  flow.unmet[to] = (flow.unmet[to] as number) - energy
  flow.unmet[from] = (flow.unmet[from] as number) + energy
  return energy
}

const close = ({ enters, closedSlot, closedJob }: Search, reached: readonly number[]): void => {
  for (const job of reached) closedJob[job] = 1
  for (const [slot, job] of enters.entries()) if (job !== -1) closedSlot[slot] = 1
}
