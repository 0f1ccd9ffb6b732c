import { type BitRows, bitRows, setBit } from './bit-rows.ts'
import { cellOf, type Flow, type FlowProblem, roomOf } from './flow-problem.ts'

/**
 * A flow, and where energy can go in it. `open`, a row for each slot, are the jobs that could take more in it; `running`, a row for each job,
 * the slots that it gets energy in.
 */
export type Moves = { readonly problem: FlowProblem; readonly flow: Flow; readonly open: BitRows; readonly running: BitRows }

/** Flags of slots and of jobs: one row each, as long as those of `running` and `open`. */
export type Marks = { readonly slots: Int32Array; readonly jobs: Int32Array }

/** Begin with an empty flow. */
export const openMoves = (problem: FlowProblem, flow: Flow): Moves => {
  const [jobs, slots] = [problem.demand.length, problem.length.length]
  const [open, running] = [bitRows(slots, jobs), bitRows(jobs, slots)]
  for (const [job, rate] of problem.rate.entries()) {
    if (rate <= 0) continue
    for (let slot = problem.first[job] as number; slot < (problem.last[job] as number); slot += 1) setBit(open, slot, job, true)
  }
  return { problem, flow, open, running }
}

/** Give flags that are all down. */
export const marksOf = ({ open, running }: Moves): Marks => ({ slots: new Int32Array(running.words), jobs: new Int32Array(open.words) })

/** Give a job more energy in a slot, or take some from it. */
export const add = ({ problem, flow, open, running }: Moves, job: number, slot: number, energy: number): void => {
  const cell = cellOf(problem, flow, job, slot)
  flow.energy[cell] = (flow.energy[cell] as number) + energy
  setBit(running, job, slot, (flow.energy[cell] as number) > 0)
  setBit(open, slot, job, roomOf(problem, flow, job, slot) > 0)
}
