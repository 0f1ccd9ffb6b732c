import { cellOf, emptyFlow, type Flow, type FlowProblem, roomOf, runsIn, type Supply, takersOf } from './flow-problem.ts'

/** A search back from a slot: through which job each slot was reached, and from which slot each job; -1 is not reached. */
type Search = { readonly viaJob: Int32Array; readonly viaSlot: Int32Array; readonly reachedSlots: number[]; readonly reachedJobs: number[] }

/**
 * `takers` are the jobs whose windows hold each slot. `timeLeft` is the length of a job's slots that are still to be drawn from.
 * What more energy can never reach is closed.
 */
type State = {
  readonly problem: FlowProblem
  readonly flow: Flow
  readonly search: Search
  readonly closedSlot: Uint8Array
  readonly closedJob: Uint8Array
  readonly takers: readonly (readonly number[])[]
  readonly timeLeft: Float64Array
  readonly isBegun: Uint8Array
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
  const [jobs, slots] = [problem.demand.length, problem.length.length]
  const flow = emptyFlow(problem, supplies.length)
  const state: State = {
    problem,
    flow,
    search: { viaJob: new Int32Array(slots).fill(-1), viaSlot: new Int32Array(jobs).fill(-1), reachedSlots: [], reachedJobs: [] },
    closedSlot: new Uint8Array(slots),
    closedJob: new Uint8Array(jobs),
    takers: takersOf(problem),
    timeLeft: new Float64Array(jobs),
    isBegun: new Uint8Array(slots),
  }
  for (const slot of new Set(supplies.map(one => one.slot))) passTime(state, slot, 1)
  for (const [index, { slot, capacity }] of supplies.entries()) {
    if (state.closedSlot[slot] === 1) continue
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
    if (taken > 0) left -= give(problem, flow, job, slot, taken)
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

const give = (problem: FlowProblem, flow: Flow, job: number, slot: number, energy: number): number => {
  flow.unmet[job] = (flow.unmet[job] as number) - energy
  add(problem, flow, job, slot, energy)
  return energy
}

const add = (problem: FlowProblem, flow: Flow, job: number, slot: number, energy: number): void => {
  const cell = cellOf(problem, flow, job, slot)
  flow.energy[cell] = (flow.energy[cell] as number) + energy
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
const searchFrom = (state: State, from: number, enough: number): number[] => {
  const { problem, flow, search, closedJob, takers } = state
  const { viaJob, viaSlot, reachedSlots, reachedJobs } = search
  for (const slot of reachedSlots) viaJob[slot] = -1
  for (const job of reachedJobs) viaSlot[job] = -1
  reachedSlots.length = 0
  reachedJobs.length = 0
  reachedSlots.push(from)
  const wanting: number[] = []
  let wanted = 0
  for (const slot of reachedSlots) {
    for (const job of takers[slot] ?? []) {
      if (viaSlot[job] !== -1 || closedJob[job] === 1 || roomOf(problem, flow, job, slot) <= 0) continue
      viaSlot[job] = slot
      reachedJobs.push(job)
      const unmet = flow.unmet[job] as number
      if (unmet > 0) wanting.push(job)
      wanted += unmet
      if (wanted >= enough) return wanting
      reachSlotsOf(state, job, from)
    }
  }
  return wanting
}

/** Reach the slots that a job can leave. */
const reachSlotsOf = ({ problem, flow, search: { viaJob, reachedSlots }, closedSlot }: State, job: number, from: number): void => {
  const offset = (flow.row[job] as number) - (problem.first[job] as number)
  const last = problem.last[job] as number
  for (let slot = problem.first[job] as number; slot < last; slot += 1) {
    if ((flow.energy[offset + slot] as number) <= 0 || viaJob[slot] !== -1 || slot === from || closedSlot[slot] === 1) continue
    viaJob[slot] = job
    reachedSlots.push(slot)
  }
}

/** Move energy along the way that the search found: each job on it moves to the slot nearer to `to`. Gives how much. */
const pushAlong = ({ problem, flow, search: { viaJob, viaSlot } }: State, wanting: number, to: number, most: number): number => {
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
    add(problem, flow, job, slot, energy)
    if (slot === to) return energy
    job = viaJob[slot] as number
    add(problem, flow, job, slot, -energy)
  }
}

/** What a search without result has reached can never take or give more: no later search needs to go there. */
const close = (state: State): void => {
  for (const slot of state.search.reachedSlots) state.closedSlot[slot] = 1
  for (const job of state.search.reachedJobs) state.closedJob[job] = 1
}
