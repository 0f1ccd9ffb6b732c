import { drawMore, openDrawing } from './draw-more.ts'
import { cellOf, emptyFlow, type Flow, type FlowProblem } from './flow-problem.ts'

/** What each slot gives to all jobs together. */
const givenBy = (problem: FlowProblem, flow: Flow): Float64Array => {
  const given = new Float64Array(problem.length.length)
  for (const job of problem.demand.keys()) {
    for (let slot = problem.first[job] as number; slot < (problem.last[job] as number); slot += 1) {
      given[slot] = (given[slot] as number) + (flow.energy[cellOf(problem, flow, job, slot)] as number)
    }
  }
  return given
}

/**
 * Let jobs of lower index have what jobs of higher index took from them, where not all can be served, and all of them run in few pieces.
 * What each slot gives stays as it is, so neither the energy nor its cost changes: jobs are served anew out of that one after the other,
 * each as far as those before it can make room. Works on the flow in place. Source: contract decisions 13: first the most energy, then least
 * cost, then request order.
 */
export function* serveInOrder(problem: FlowProblem, flow: Flow): Generator<undefined, void> {
  const served = emptyFlow(problem, 0)
  const drawing = openDrawing(problem, served, givenBy(problem, flow), true)
  for (const job of problem.demand.keys()) yield* drawMore(drawing, [job], served.unmet)
  flow.energy.set(served.energy)
  flow.unmet.set(served.unmet)
}
