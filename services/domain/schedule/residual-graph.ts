import { type BitRows, createBitRows, setBit } from './bit-rows.ts'
import { cellOf, type Flow, type FlowProblem, remainingCapacity } from './flow-problem.ts'

/**
 * Flow from givers to takers, and its free capacities: from slots to the jobs whose windows contain them or, if
 * `isByJob`, from jobs to the slots of their windows.
 * `openTakers` has a row for each giver: the takers that can take more from it. `activeGivers` has a row for each
 * taker: the givers that it gets energy from.
 */
export type ResidualGraph = {
  readonly problem: FlowProblem
  readonly flow: Flow
  readonly isByJob: boolean
  readonly openTakers: BitRows
  readonly activeGivers: BitRows
}

/** Flags of givers and of takers, one row each. */
export type NodeMarks = { readonly givers: Int32Array; readonly takers: Int32Array }

/** Create the graph of an empty flow. */
export const createResidualGraph = (problem: FlowProblem, flow: Flow, isByJob: boolean): ResidualGraph => {
  const [jobs, slots] = [problem.demand.length, problem.slotLength.length]
  const [givers, takers] = isByJob ? [jobs, slots] : [slots, jobs]
  const [openTakers, activeGivers] = [createBitRows(givers, takers), createBitRows(takers, givers)]
  for (const [job, rate] of problem.rate.entries()) {
    if (rate <= 0) continue
    for (let slot = problem.firstSlot[job] as number; slot < (problem.endSlot[job] as number); slot += 1) {
      if (isByJob) setBit(openTakers, job, slot, true)
      else setBit(openTakers, slot, job, true)
    }
  }
  return { problem, flow, isByJob, openTakers, activeGivers }
}

/** Create cleared flags. */
export const createMarks = ({ openTakers, activeGivers }: ResidualGraph): NodeMarks => ({
  givers: new Int32Array(activeGivers.wordsPerRow),
  takers: new Int32Array(openTakers.wordsPerRow),
})

const cellBetween = ({ problem, flow, isByJob }: ResidualGraph, giver: number, taker: number): number =>
  isByJob ? cellOf(problem, flow, giver, taker) : cellOf(problem, flow, taker, giver)

/** Return the energy that a taker gets from a giver. */
export const flowBetween = (graph: ResidualGraph, giver: number, taker: number): number =>
  graph.flow.energy[cellBetween(graph, giver, taker)] as number

/** Return the energy that a taker can still take from a giver. */
export const residualCapacity = ({ problem, flow, isByJob }: ResidualGraph, giver: number, taker: number): number =>
  isByJob ? remainingCapacity(problem, flow, giver, taker) : remainingCapacity(problem, flow, taker, giver)

/** Add energy from a giver to a taker; a negative amount removes it. */
export const addFlow = (graph: ResidualGraph, giver: number, taker: number, energy: number): void => {
  const { flow, openTakers, activeGivers } = graph
  const cell = cellBetween(graph, giver, taker)
  flow.energy[cell] = (flow.energy[cell] as number) + energy
  setBit(activeGivers, taker, giver, (flow.energy[cell] as number) > 0)
  setBit(openTakers, giver, taker, residualCapacity(graph, giver, taker) > 0)
}
