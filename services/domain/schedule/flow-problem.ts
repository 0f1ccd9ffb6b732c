/**
 * Energy to deliver from slots to jobs, in integer units of one kind, as plain numbers.
 * Job j requests `demand[j]` in the slots from `firstSlot[j]` to `endSlot[j]` (exclusive), at most `rate[j]` ×
 * `slotLength[t]` in slot t. `minEnergy` is the smallest energy that is distinguished.
 */
export type FlowProblem = {
  readonly slotLength: Float64Array
  readonly firstSlot: Int32Array
  readonly endSlot: Int32Array
  readonly rate: Float64Array
  readonly demand: Float64Array
  readonly minEnergy: number
}

/** Supply of a slot: its maximum energy. The price decides its position among all supplies. */
export type Supply = { readonly slot: number; readonly capacity: number }

/**
 * Energy of jobs: job j gets `energy[rowStart[j] + t - firstSlot[j]]` in slot t. `unmet[j]` is its missing energy.
 * `used` is the energy drawn from each supply, in the order of the supplies.
 */
export type Flow = {
  readonly rowStart: Int32Array
  readonly energy: Float64Array
  readonly unmet: Float64Array
  readonly used: Float64Array
}

/** Create an empty flow: all demand is unmet. */
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

/** Return the index of the energy of a job in a slot of its window. */
export const cellOf = (problem: FlowProblem, flow: Flow, job: number, slot: number): number =>
  (flow.rowStart[job] as number) + slot - (problem.firstSlot[job] as number)

/** Return the energy that a job can still take in a slot; 0 outside its window. */
export const remainingCapacity = (problem: FlowProblem, flow: Flow, job: number, slot: number): number => {
  if (slot < (problem.firstSlot[job] as number) || slot >= (problem.endSlot[job] as number)) return 0
  const capacity = (problem.rate[job] as number) * (problem.slotLength[slot] as number)
  return capacity - (flow.energy[cellOf(problem, flow, job, slot)] as number)
}

/** Check if a job gets energy in a slot. The slot may be outside its window. */
export const isRunningIn = (problem: FlowProblem, flow: Flow, job: number, slot: number): boolean =>
  slot >= (problem.firstSlot[job] as number) &&
  slot < (problem.endSlot[job] as number) &&
  (flow.energy[cellOf(problem, flow, job, slot)] as number) > 0

/** Return the energy of each slot over all jobs. */
export const slotTotals = (problem: FlowProblem, flow: Flow): Float64Array => {
  const totals = new Float64Array(problem.slotLength.length)
  for (const job of problem.demand.keys()) {
    for (let slot = problem.firstSlot[job] as number; slot < (problem.endSlot[job] as number); slot += 1) {
      totals[slot] = (totals[slot] as number) + (flow.energy[cellOf(problem, flow, job, slot)] as number)
    }
  }
  return totals
}
