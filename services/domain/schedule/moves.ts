import { type BitRows, bitRows, firstCommon, setBit, setBits, takeUnseen } from './bit-rows.ts'
import { cellOf, type Flow, type FlowProblem, roomOf } from './flow-problem.ts'

/** What is reached in as many steps: slots that energy can come to, and the jobs that could take more in them. */
type Level = { readonly slots: Int32Array; readonly jobs: Int32Array }

/**
 * A flow, and where energy can go in it. `open`, a row for each slot, are the jobs that could take more in it; `running`, a row for each job,
 * the slots that it gets energy in. What more energy can never reach is closed. `seenSlots` and `seenJobs` are what the last search has
 * reached, or is closed.
 */
export type Moves = {
  readonly problem: FlowProblem
  readonly flow: Flow
  readonly open: BitRows
  readonly running: BitRows
  readonly closedSlots: Int32Array
  readonly closedJobs: Int32Array
  readonly seenSlots: Int32Array
  readonly seenJobs: Int32Array
  readonly levels: Level[]
}

/** Begin with an empty flow. */
export const openMoves = (problem: FlowProblem, flow: Flow): Moves => {
  const [jobs, slots] = [problem.demand.length, problem.length.length]
  const [open, running] = [bitRows(slots, jobs), bitRows(jobs, slots)]
  for (const [job, rate] of problem.rate.entries()) {
    if (rate <= 0) continue
    for (let slot = problem.first[job] as number; slot < (problem.last[job] as number); slot += 1) setBit(open, slot, job, true)
  }
  const [slotFlags, jobFlags] = [() => new Int32Array(running.words), () => new Int32Array(open.words)]
  return {
    ...{ problem, flow, open, running, levels: [] },
    ...{ closedSlots: slotFlags(), closedJobs: jobFlags(), seenSlots: slotFlags(), seenJobs: jobFlags() },
  }
}

/** Give a job more energy in a slot, or take some from it. */
const add = ({ problem, flow, open, running }: Moves, job: number, slot: number, energy: number): void => {
  const cell = cellOf(problem, flow, job, slot)
  flow.energy[cell] = (flow.energy[cell] as number) + energy
  setBit(running, job, slot, (flow.energy[cell] as number) > 0)
  setBit(open, slot, job, roomOf(problem, flow, job, slot) > 0)
}

/** Let a job that wants energy have more in a slot. */
const give = (moves: Moves, job: number, slot: number, energy: number): void => {
  const { unmet } = moves.flow
  unmet[job] = (unmet[job] as number) - energy
  add(moves, job, slot, energy)
}

/**
 * Draw what is left in some slots by moving energy of others out of them or into them; `left`, for each slot, is what nobody can take
 * when it ends. Searches level by level, and fills all ways that lead on by one level each before it searches again.
 * Source: Dinitz, Algorithm for solution of a problem of maximum flow in networks with power estimation (1970).
 */
export function* drawMore(moves: Moves, slots: readonly number[], left: Float64Array): Generator<undefined, void> {
  for (;;) {
    const sources = slots.filter(slot => (left[slot] as number) > 0)
    if (sources.length === 0) return
    yield undefined
    const depth = search(moves, sources, left)
    if (depth === 0) {
      // What a search without result has reached can never take or give more: no later search needs to go there.
      moves.closedSlots.set(moves.seenSlots)
      moves.closedJobs.set(moves.seenJobs)
      return
    }
    for (const source of sources) pushFrom(moves, source, left, depth)
  }
}

const levelAt = ({ levels, seenSlots, seenJobs }: Moves, depth: number): Level => {
  const level = levels[depth] ?? { slots: new Int32Array(seenSlots.length), jobs: new Int32Array(seenJobs.length) }
  levels[depth] = level
  return level
}

/** Walk from slots over all that can make room in them until jobs are reached that want enough; gives the number of levels, 0 when none wants any. */
const search = (moves: Moves, sources: readonly number[], left: Float64Array): number => {
  const { problem, flow, open, running, closedSlots, closedJobs, seenSlots, seenJobs } = moves
  seenSlots.set(closedSlots)
  seenJobs.set(closedJobs)
  setBits(seenSlots, sources)
  const enough = sources.reduce((sum, slot) => sum + (left[slot] as number), 0)
  let wanted = 0
  let slots = sources
  for (let depth = 0; slots.length > 0; depth += 1) {
    const [jobs, next]: [number[], number[]] = [[], []]
    for (const slot of slots) takeUnseen(open, slot, 0, flow.unmet.length, seenJobs, jobs)
    const level = levelAt(moves, depth)
    setBits(level.slots.fill(0), slots)
    setBits(level.jobs.fill(0), jobs)
    for (const job of jobs) wanted += flow.unmet[job] as number
    if (wanted >= enough) return depth + 1
    for (const job of jobs) takeUnseen(running, job, problem.first[job] as number, problem.last[job] as number, seenSlots, next)
    if (next.length === 0 && wanted > 0) return depth + 1
    slots = next
  }
  return 0
}

/** A way from slot to slot: each job moves from the slot behind it to that before it, and the last job takes more. */
type Way = { readonly slots: number[]; readonly jobs: number[] }

/** Push what is left in a slot along all ways that the search found. */
const pushFrom = (moves: Moves, source: number, left: Float64Array, depth: number): void => {
  const { problem, flow, open, running, levels } = moves
  const way: Way = { slots: [source], jobs: [] }
  while ((left[source] as number) > 0) {
    const at = way.slots.length - 1
    const slot = way.slots[at] as number
    if (way.jobs.length === at) {
      const job = firstCommon(open, slot, 0, flow.unmet.length, (levels[at] as Level).jobs)
      if (job !== -1) way.jobs.push(job)
      else if (at === 0) return
      else {
        setBit({ words: 0, bits: (levels[at] as Level).slots }, 0, slot, false)
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
        ? firstCommon(running, job, problem.first[job] as number, problem.last[job] as number, (levels[at + 1] as Level).slots)
        : -1
    if (next !== -1) way.slots.push(next)
    else {
      setBit({ words: 0, bits: (levels[at] as Level).jobs }, 0, job, false)
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
  give(moves, jobs[last] as number, slots[last] as number, energy)
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
