import { type BitRows, bitRows, isUp, setBit, takeUnseen } from './bit-rows.ts'
import { cellOf, type Flow, type FlowProblem, roomOf } from './flow-problem.ts'
import { isShort } from './min-cut.ts'

/**
 * A search from a job that wants more: from which slot each job was reached and through which job each slot. `open`, a row for each job, are
 * the slots that it can take more in; `running`, a row for each slot, the jobs that get energy in it. `seenSlots` and `seenJobs` are flags
 * of what is reached or closed.
 */
type Search = {
  readonly problem: FlowProblem
  readonly flow: Flow
  readonly open: BitRows
  readonly running: BitRows
  readonly leaves: Int32Array
  readonly enters: Int32Array
  readonly closedSlots: BitRows
  readonly closedJobs: BitRows
  readonly seenSlots: Int32Array
  readonly seenJobs: Int32Array
}

const note = ({ problem, flow, open, running }: Search, job: number, slot: number): void => {
  setBit(open, job, slot, roomOf(problem, flow, job, slot) > 0)
  setBit(running, slot, job, (flow.energy[cellOf(problem, flow, job, slot)] as number) > 0)
}

const openSearch = (problem: FlowProblem, flow: Flow): Search => {
  const [jobs, slots] = [problem.demand.length, problem.length.length]
  const [closedSlots, closedJobs] = [bitRows(1, slots), bitRows(1, jobs)]
  const search: Search = {
    ...{ problem, flow, open: bitRows(jobs, slots), running: bitRows(slots, jobs), closedSlots, closedJobs },
    ...{ leaves: new Int32Array(jobs), enters: new Int32Array(slots) },
    ...{ seenSlots: new Int32Array(closedSlots.words), seenJobs: new Int32Array(closedJobs.words) },
  }
  for (let job = 0; job < jobs; job += 1) {
    for (let slot = problem.first[job] as number; slot < (problem.last[job] as number); slot += 1) note(search, job, slot)
  }
  return search
}

/**
 * Let jobs of lower index have what jobs of higher index took from them, where not all can be served.
 * What each slot gives stays as it is, so neither the energy nor its cost changes. Works on the flow in place. Source: contract
 * decisions 13: first the most energy, then least cost, then request order.
 */
export function* serveInOrder(problem: FlowProblem, flow: Flow): Generator<undefined, void> {
  const search = openSearch(problem, flow)
  for (const job of problem.demand.keys()) {
    while (isShort(problem, flow, job) && !isUp(search.closedJobs, 0, job)) {
      yield undefined
      const reached = reach(search, job)
      let handed = 0
      for (const later of reached) if (later > job) handed += hand(search, later, job)
      // What cannot be had now cannot be had later: energy moves elsewhere only.
      if (handed === 0) close(search)
    }
  }
}

/** Find the jobs that can hand energy on to one, over any number of others; the job itself is the first. */
const reach = ({ problem, open, running, leaves, enters, closedSlots, closedJobs, seenSlots, seenJobs }: Search, to: number): number[] => {
  seenSlots.set(closedSlots.bits)
  seenJobs.set(closedJobs.bits)
  setBit({ words: seenJobs.length, bits: seenJobs }, 0, to, true)
  const reached = [to]
  const slots: number[] = []
  for (const job of reached) {
    const first = slots.length
    takeUnseen(open, job, problem.first[job] as number, problem.last[job] as number, seenSlots, slots)
    for (let place = first; place < slots.length; place += 1) {
      const slot = slots[place] as number
      enters[slot] = job
      const next = reached.length
      takeUnseen(running, slot, 0, leaves.length, seenJobs, reached)
      for (let other = next; other < reached.length; other += 1) leaves[reached[other] as number] = slot
    }
  }
  return reached
}

/** Hand energy from one job to another along the way that the search found; gives how much. */
const hand = (search: Search, from: number, to: number): number => {
  const { problem, flow, leaves, enters } = search
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
    note(search, job, slot)
    note(search, taker, slot)
    job = taker
  }
  flow.unmet[to] = (flow.unmet[to] as number) - energy
  flow.unmet[from] = (flow.unmet[from] as number) + energy
  return energy
}

const close = ({ seenSlots, seenJobs, closedSlots, closedJobs }: Search): void => {
  closedSlots.bits.set(seenSlots)
  closedJobs.bits.set(seenJobs)
}
