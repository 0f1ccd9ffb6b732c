import { type BitRows, bitRows, isUp, setBit, takeUnseen } from './bit-rows.ts'
import { cellOf, emptyFlow, type Flow, type FlowProblem, roomOf, runsIn, type Supply, takersOf } from './flow-problem.ts'

/**
 * A search back from a slot: through which job each slot was reached, and from which slot each job. `seenSlots` and `seenJobs` are flags
 * of what is reached or closed.
 */
type Search = {
  readonly viaJob: Int32Array
  readonly viaSlot: Int32Array
  readonly seenSlots: Int32Array
  readonly seenJobs: Int32Array
  readonly reachedSlots: number[]
  readonly reachedJobs: number[]
}

/**
 * `takers` are the jobs whose windows hold each slot; `open`, a row for each slot, those that could take more in it; `running`, a row for
 * each job, the slots that it gets energy in. `timeLeft` is the length of a job's slots that are still to be drawn from.
 * What more energy can never reach is closed.
 */
type State = {
  readonly problem: FlowProblem
  readonly flow: Flow
  readonly search: Search
  readonly closedSlots: BitRows
  readonly closedJobs: BitRows
  readonly takers: readonly (readonly number[])[]
  readonly open: BitRows
  readonly running: BitRows
  readonly timeLeft: Float64Array
  readonly isBegun: Uint8Array
}

const openState = (problem: FlowProblem, supplies: number): State => {
  const [jobs, slots] = [problem.demand.length, problem.length.length]
  const takers = takersOf(problem)
  const open = bitRows(slots, jobs)
  for (const [slot, all] of takers.entries()) for (const job of all) if ((problem.rate[job] as number) > 0) setBit(open, slot, job, true)
  const [closedSlots, closedJobs] = [bitRows(1, slots), bitRows(1, jobs)]
  return {
    ...{ problem, flow: emptyFlow(problem, supplies), takers, open, running: bitRows(jobs, slots), closedSlots, closedJobs },
    ...{ timeLeft: new Float64Array(jobs), isBegun: new Uint8Array(slots) },
    search: {
      ...{ viaJob: new Int32Array(slots), viaSlot: new Int32Array(jobs), reachedSlots: [], reachedJobs: [] },
      ...{ seenSlots: new Int32Array(closedSlots.words), seenJobs: new Int32Array(closedJobs.words) },
    },
  }
}

/**
 * Bring as much energy as possible from supplies to jobs, at the least cost. `supplies` come cheapest first.
 *
 * What supplies can give together is a polymatroid: a job may take any slot of its window at the same price. So going through the supplies
 * once, drawing from each as much as is possible by moving earlier energy between slots, gives the most energy and of all such plans
 * the cheapest. Numbers are whole, so nothing is rounded up to 2^53. Yields between supplies, so that a caller may pause.
 * Source: Federgruen and Groenevelt, The greedy procedure for resource allocation problems (1986).
 */
export function* fillCheapest(problem: FlowProblem, supplies: readonly Supply[]): Generator<undefined, Flow> {
  const state = openState(problem, supplies.length)
  const { flow } = state
  for (const slot of new Set(supplies.map(one => one.slot))) passTime(state, slot, 1)
  for (const [index, { slot, capacity }] of supplies.entries()) {
    if (isUp(state.closedSlots, 0, slot)) continue
    flow.used[index] = capacity - (yield* draw(state, slot, capacity - pushDirectly(state, slot, capacity)))
  }
  return flow
}

const passTime = ({ problem, takers, timeLeft }: State, slot: number, sign: 1 | -1): void => {
  const length = sign * (problem.length[slot] as number)
  for (const job of takers[slot] ?? []) timeLeft[job] = (timeLeft[job] as number) + length
}

/** Give a slot's energy to the jobs that still want some; gives how much was taken. */
const pushDirectly = (state: State, slot: number, capacity: number): number => {
  const { problem, flow } = state
  let left = capacity
  for (const job of takersInOrder(state, slot, capacity)) {
    if (left <= 0) break
    const taken = Math.min(left, flow.unmet[job] as number, roomOf(problem, flow, job, slot))
    if (taken > 0) left -= give(state, job, slot, taken)
  }
  if (state.isBegun[slot] === 0) passTime(state, slot, -1)
  state.isBegun[slot] = 1
  return capacity - left
}

/** Shares of its time that a job can spare are told apart in so many steps. */
const steps = 64

/**
 * The jobs that still want energy. Where there is not enough for all, those that can spare the least share of their time come first,
 * so that little has to be moved later; then those that run right before or after, so that pieces are few.
 */
const takersInOrder = ({ problem, flow, takers, timeLeft }: State, slot: number, capacity: number): readonly number[] => {
  const wanting = (takers[slot] ?? []).filter(job => (flow.unmet[job] as number) > 0)
  let wanted = 0
  for (const job of wanting) wanted += Math.min(flow.unmet[job] as number, roomOf(problem, flow, job, slot))
  if (wanted <= capacity) return wanting
  const rank = new Map<number, number>()
  for (const job of wanting) {
    const needed = (flow.unmet[job] as number) / (problem.rate[job] as number) / (timeLeft[job] as number)
    const isRunning = runsIn(problem, flow, job, slot - 1) || runsIn(problem, flow, job, slot + 1)
    rank.set(job, Math.floor(needed * steps) * 2 + (isRunning ? 1 : 0))
  }
  return wanting.sort((a, b) => (rank.get(b) as number) - (rank.get(a) as number) || a - b)
}

const give = (state: State, job: number, slot: number, energy: number): number => {
  const { unmet } = state.flow
  unmet[job] = (unmet[job] as number) - energy
  add(state, job, slot, energy)
  return energy
}

const add = ({ problem, flow, open, running }: State, job: number, slot: number, energy: number): void => {
  const cell = cellOf(problem, flow, job, slot)
  flow.energy[cell] = (flow.energy[cell] as number) + energy
  setBit(running, job, slot, (flow.energy[cell] as number) > 0)
  setBit(open, slot, job, roomOf(problem, flow, job, slot) > 0)
}

/** Draw what is left in a slot by moving energy of others out of it or into it; gives what nobody can take. */
function* draw(state: State, slot: number, capacity: number): Generator<undefined, number> {
  let left = capacity
  while (left > 0) {
    yield undefined
    const found = searchFrom(state, slot, left)
    let moved = 0
    for (const job of found) moved += pushAlong(state, job, slot, left - moved)
    left -= moved
    if (moved === 0) {
      close(state)
      return left
    }
  }
  return left
}

/** Walk back from a slot over all that can make room in it; gives jobs on the way that still want energy, nearest first, until they want enough. */
const searchFrom = ({ problem, flow, search, closedSlots, closedJobs, open, running }: State, from: number, enough: number): number[] => {
  const { viaJob, viaSlot, seenSlots, seenJobs, reachedSlots, reachedJobs } = search
  seenSlots.set(closedSlots.bits)
  seenJobs.set(closedJobs.bits)
  reachedSlots.length = 0
  reachedJobs.length = 0
  reachedSlots.push(from)
  setBit({ words: seenSlots.length, bits: seenSlots }, 0, from, true)
  const jobs = viaSlot.length
  const wanting: number[] = []
  let wanted = 0
  for (const slot of reachedSlots) {
    const first = reachedJobs.length
    takeUnseen(open, slot, 0, jobs, seenJobs, reachedJobs)
    for (let place = first; place < reachedJobs.length; place += 1) {
      const job = reachedJobs[place] as number
      viaSlot[job] = slot
      const unmet = flow.unmet[job] as number
      if (unmet > 0) wanting.push(job)
      wanted += unmet
      if (wanted >= enough) return wanting
      const next = reachedSlots.length
      takeUnseen(running, job, problem.first[job] as number, problem.last[job] as number, seenSlots, reachedSlots)
      for (let reached = next; reached < reachedSlots.length; reached += 1) viaJob[reachedSlots[reached] as number] = job
    }
  }
  return wanting
}

/** Move energy along the way that the search found: each job on it moves to the slot nearer to `to`. Gives how much. */
const pushAlong = (state: State, wanting: number, to: number, most: number): number => {
  const {
    problem,
    flow,
    search: { viaJob, viaSlot },
  } = state
  let energy = Math.min(most, flow.unmet[wanting] as number)
  let job = wanting
  for (let slot = viaSlot[job] as number; energy > 0; slot = viaSlot[job] as number) {
    energy = Math.min(energy, roomOf(problem, flow, job, slot))
    if (slot === to) break
    job = viaJob[slot] as number
    energy = Math.min(energy, flow.energy[cellOf(problem, flow, job, slot)] as number)
  }
  if (energy <= 0) return 0
  job = wanting
  flow.unmet[job] = (flow.unmet[job] as number) - energy
  for (;;) {
    const slot = viaSlot[job] as number
    add(state, job, slot, energy)
    if (slot === to) return energy
    job = viaJob[slot] as number
    add(state, job, slot, -energy)
  }
}

/** What a search without result has reached can never take or give more: no later search needs to go there. */
const close = ({ search, closedSlots, closedJobs }: State): void => {
  closedSlots.bits.set(search.seenSlots)
  closedJobs.bits.set(search.seenJobs)
}
