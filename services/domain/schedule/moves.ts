import { type BitRows, bitRows, setBit } from './bit-rows.ts'
import { cellOf, type Flow, type FlowProblem, roomOf } from './flow-problem.ts'

/**
 * A flow from givers to takers, and where energy can go in it: from slots to the jobs whose windows hold them or, where `isByJob`, from jobs to the
 * slots of their windows. `open`, a row for each giver, are the takers that could take more from it; `running`, a row for each taker, the
 * givers that it gets energy from.
 */
export type Moves = {
  readonly problem: FlowProblem
  readonly flow: Flow
  readonly isByJob: boolean
  readonly open: BitRows
  readonly running: BitRows
}

/** Flags of givers and of takers, one row each. */
export type Marks = { readonly givers: Int32Array; readonly takers: Int32Array }

/** Begin with an empty flow. */
export const openMoves = (problem: FlowProblem, flow: Flow, isByJob: boolean): Moves => {
  const [jobs, slots] = [problem.demand.length, problem.length.length]
  const [givers, takers] = isByJob ? [jobs, slots] : [slots, jobs]
  const [open, running] = [bitRows(givers, takers), bitRows(takers, givers)]
  for (const [job, rate] of problem.rate.entries()) {
    if (rate <= 0) continue
    for (let slot = problem.first[job] as number; slot < (problem.last[job] as number); slot += 1) {
      if (isByJob) setBit(open, job, slot, true)
      else setBit(open, slot, job, true)
    }
  }
  return { problem, flow, isByJob, open, running }
}

/** Give flags that are all down. */
export const marksOf = ({ open, running }: Moves): Marks => ({ givers: new Int32Array(running.words), takers: new Int32Array(open.words) })

const cellIn = ({ problem, flow, isByJob }: Moves, giver: number, taker: number): number =>
  isByJob ? cellOf(problem, flow, giver, taker) : cellOf(problem, flow, taker, giver)

/** Give the energy that a taker gets from a giver. */
export const energyOf = (moves: Moves, giver: number, taker: number): number => moves.flow.energy[cellIn(moves, giver, taker)] as number

/** Give how much more a taker can take from a giver. */
export const roomFor = ({ problem, flow, isByJob }: Moves, giver: number, taker: number): number =>
  isByJob ? roomOf(problem, flow, giver, taker) : roomOf(problem, flow, taker, giver)

/** Let a taker have more from a giver, or less. */
export const add = (moves: Moves, giver: number, taker: number, energy: number): void => {
  const { flow, open, running } = moves
  const cell = cellIn(moves, giver, taker)
  flow.energy[cell] = (flow.energy[cell] as number) + energy
  setBit(running, taker, giver, (flow.energy[cell] as number) > 0)
  setBit(open, giver, taker, roomFor(moves, giver, taker) > 0)
}
