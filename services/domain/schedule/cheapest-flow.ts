import { clearBit, firstCommon, setBits, takeUnseen } from './bit-rows.ts'
import { cellOf, emptyFlow, type Flow, type FlowProblem, roomOf, type Supply } from './flow-problem.ts'
import { add, type Marks, type Moves, marksOf, openMoves } from './moves.ts'

/** Moves, and what the last search has reached: all that is `seen`, step by step in `levels`. What more energy can never reach is `closed`. */
type Drawing = { readonly moves: Moves; readonly closed: Marks; readonly seen: Marks; readonly levels: Marks[] }

/**
 * Bring as much energy as possible from supplies to jobs, at the least cost. `prices` are the supplies of each price, cheapest first, no slot
 * twice among those of one; `used` of the flow follows their order.
 *
 * What supplies can give together is a polymatroid: a job may take any slot of its window at the same price. So going through the prices
 * once, drawing at each as much as is possible by moving earlier energy between slots, gives the most energy and of all such plans
 * the cheapest. Numbers are whole, so nothing is rounded up to 2^53. Yields between searches, so that a caller may pause.
 * Source: Federgruen and Groenevelt, The greedy procedure for resource allocation problems (1986).
 */
export function* fillCheapest(problem: FlowProblem, prices: readonly (readonly Supply[])[]): Generator<undefined, Flow> {
  const flow = emptyFlow(problem, prices.flat().length)
  const moves = openMoves(problem, flow)
  const drawing: Drawing = { moves, closed: marksOf(moves), seen: marksOf(moves), levels: [] }
  const left = new Float64Array(problem.length.length)
  let index = 0
  for (const together of prices) {
    for (const { slot, capacity } of together) left[slot] = capacity
    yield* drawMore(
      drawing,
      together.map(({ slot }) => slot),
      left,
    )
    for (const { slot, capacity } of together) flow.used[index++] = capacity - (left[slot] as number)
  }
  return flow
}

/**
 * Draw what is left in some slots by moving energy of others out of them or into them; `left`, for each slot, is what nobody can take
 * when it ends. Fills all shortest ways before it searches again.
 * Source: Dinitz, Algorithm for solution of a problem of maximum flow in networks with power estimation (1970).
 */
function* drawMore(drawing: Drawing, slots: readonly number[], left: Float64Array): Generator<undefined, void> {
  for (;;) {
    const sources = slots.filter(slot => (left[slot] as number) > 0)
    if (sources.length === 0) return
    yield undefined
    const depth = search(drawing, sources)
    if (depth === 0) {
      // What a search without result has reached can never take or give more: no later search needs to go there.
      mark(drawing.closed, drawing.seen)
      return
    }
    for (const source of sources) pushFrom(drawing, source, left, depth)
  }
}

const mark = (marks: Marks, { slots, jobs }: Marks): void => {
  marks.slots.set(slots)
  marks.jobs.set(jobs)
}

/** Walk from slots over all that can make room in them to the nearest jobs that want energy; gives the number of levels, 0 when none wants any. */
const search = ({ moves, closed, seen, levels }: Drawing, sources: readonly number[]): number => {
  const { problem, flow, open, running } = moves
  mark(seen, closed)
  setBits(seen.slots, sources)
  let slots = sources
  for (let depth = 0; slots.length > 0; depth += 1) {
    const [jobs, next]: [number[], number[]] = [[], []]
    for (const slot of slots) takeUnseen(open, slot, 0, flow.unmet.length, seen.jobs, jobs)
    levels[depth] ??= marksOf(moves)
    const level = levels[depth] as Marks
    setBits(level.slots.fill(0), slots)
    setBits(level.jobs.fill(0), jobs)
    if (jobs.some(job => (flow.unmet[job] as number) > 0)) return depth + 1
    for (const job of jobs) takeUnseen(running, job, problem.first[job] as number, problem.last[job] as number, seen.slots, next)
    slots = next
  }
  return 0
}

/** A way from slot to slot: each job moves from the slot behind it to that before it, and the last job takes more. */
type Way = { readonly slots: number[]; readonly jobs: number[] }

/** Push what is left in a slot along all ways that the search found. */
const pushFrom = ({ moves, levels }: Drawing, source: number, left: Float64Array, depth: number): void => {
  const { problem, flow, open, running } = moves
  const way: Way = { slots: [source], jobs: [] }
  while ((left[source] as number) > 0) {
    const at = way.slots.length - 1
    const slot = way.slots[at] as number
    if (way.jobs.length === at) {
      const job = firstCommon(open, slot, 0, flow.unmet.length, (levels[at] as Marks).jobs)
      if (job !== -1) way.jobs.push(job)
      else if (at === 0) return
      else {
        clearBit((levels[at] as Marks).slots, slot)
        way.slots.pop()
      }
      continue
    }
    const job = way.jobs[at] as number
    if ((flow.unmet[job] as number) > 0) {
      left[source] = (left[source] as number) - pushAlong(moves, way, left[source] as number)
      continue
    }
    const next =
      at + 1 < depth
        ? firstCommon(running, job, problem.first[job] as number, problem.last[job] as number, (levels[at + 1] as Marks).slots)
        : -1
    if (next !== -1) way.slots.push(next)
    else {
      clearBit((levels[at] as Marks).jobs, job)
      way.jobs.pop()
    }
  }
}

/** Move as much energy along a way as it holds, at most `most`; gives how much, and cuts the way where it is used up. */
const pushAlong = (moves: Moves, { slots, jobs }: Way, most: number): number => {
  const { problem, flow } = moves
  const roomAt = (place: number): number => roomOf(problem, flow, jobs[place] as number, slots[place] as number)
  const energyBehind = (place: number): number =>
    flow.energy[cellOf(problem, flow, jobs[place] as number, slots[place + 1] as number)] as number
  const last = jobs.length - 1
  let energy = Math.min(most, flow.unmet[jobs[last] as number] as number, roomAt(last))
  for (let place = 0; place < last; place += 1) energy = Math.min(energy, roomAt(place), energyBehind(place))
  for (let place = 0; place < last; place += 1) {
    add(moves, jobs[place] as number, slots[place] as number, energy)
    add(moves, jobs[place] as number, slots[place + 1] as number, -energy)
  }
  flow.unmet[jobs[last] as number] = (flow.unmet[jobs[last] as number] as number) - energy
  add(moves, jobs[last] as number, slots[last] as number, energy)
  for (let place = 0; place <= last; place += 1) {
    if (roomAt(place) <= 0) {
      slots.length = place + 1
      jobs.length = place
      break
    }
    if (place < last && energyBehind(place) <= 0) {
      slots.length = place + 1
      jobs.length = place + 1
      break
    }
  }
  return energy
}
