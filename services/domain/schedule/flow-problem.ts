/**
 * Energy to be brought from slots to jobs, in whole units of one kind, as plain numbers.
 * Job j wants `demand[j]` in the slots from `first[j]` up to `last[j]` (exclusive), at most `rate[j]` × `length[t]` in slot t.
 * `grain` is the least energy that is told apart.
 */
export type FlowProblem = {
  readonly slotLength: Float64Array
  readonly firstSlot: Int32Array
  readonly endSlot: Int32Array
  readonly rate: Float64Array
  readonly demand: Float64Array
  readonly minEnergy: number
}

/** What a slot can draw on: so much energy, at a price that gives its rank among all supplies. */
export type Supply = { readonly slot: number; readonly capacity: number }

/**
 * Who gets what: job j gets `energy[row[j] + t - first[j]]` in slot t. `unmet[j]` is what it lacks.
 * `used` is what was drawn from each supply, in the order of the supplies given.
 */
export type Flow = {
  readonly rowStart: Int32Array
  readonly energy: Float64Array
  readonly unmet: Float64Array
  readonly used: Float64Array
}

/** Give an empty flow: all demand is unmet. */
export const emptyFlow = (problem: FlowProblem, supplies: number): Flow => {
  const jobs = problem.demand.length
  const rowStart = new Int32Array(jobs)
  let cellCount = 0
  for (let job = 0; job < jobs; job += 1) {
    rowStart[job] = cellCount
    cellCount += (problem.endSlot[job] as number) - (problem.firstSlot[job] as number)
  }
  return {
    rowStart,
    energy: new Float64Array(cellCount),
    unmet: problem.demand.slice(),
    used: new Float64Array(supplies),
  }
}

/** Give the place of a job's energy in a slot of its window. */
export const cellOf = (problem: FlowProblem, flow: Flow, job: number, slot: number): number =>
  (flow.rowStart[job] as number) + slot - (problem.firstSlot[job] as number)

/** Give how much more energy a job can take in a slot; 0 outside its window. */
export const remainingCapacity = (problem: FlowProblem, flow: Flow, job: number, slot: number): number => {
  if (slot < (problem.firstSlot[job] as number) || slot >= (problem.endSlot[job] as number)) return 0
  const capacity = (problem.rate[job] as number) * (problem.slotLength[slot] as number)
  return capacity - (flow.energy[cellOf(problem, flow, job, slot)] as number)
}

/** Tell whether a job gets energy in a slot, of its window or not. */
export const isRunningIn = (problem: FlowProblem, flow: Flow, job: number, slot: number): boolean =>
  slot >= (problem.firstSlot[job] as number) &&
  slot < (problem.endSlot[job] as number) &&
  (flow.energy[cellOf(problem, flow, job, slot)] as number) > 0

/** Give what each slot gives to all jobs together. */
export const slotTotals = (problem: FlowProblem, flow: Flow): Float64Array => {
  const totals = new Float64Array(problem.slotLength.length)
  for (const job of problem.demand.keys()) {
    for (let slot = problem.firstSlot[job] as number; slot < (problem.endSlot[job] as number); slot += 1) {
      totals[slot] = (totals[slot] as number) + (flow.energy[cellOf(problem, flow, job, slot)] as number)
    }
  }
  return totals
}
