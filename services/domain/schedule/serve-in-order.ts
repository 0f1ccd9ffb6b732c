import { emptyFlow, type Flow, type FlowProblem, slotTotals } from './flow-problem.ts'
import { createFlowSearch, drawAvailable } from './flow-search.ts'

/**
 * Let jobs of lower index have what jobs of higher index took from them, where not all can be served, and all of them run in few pieces.
 * What each slot gives stays as it is, so neither the energy nor its cost changes: jobs are served anew out of that one after the other,
 * each as far as those before it can make room. Works on the flow in place. Source: docs/rules/schedules.md #threshold.
 */
export function* serveInOrder(problem: FlowProblem, flow: Flow): Generator<undefined, void> {
  const servedFlow = emptyFlow(problem, 0)
  const flowSearch = createFlowSearch(problem, servedFlow, slotTotals(problem, flow), true)
  for (const job of problem.demand.keys()) yield* drawAvailable(flowSearch, [job], servedFlow.unmet)
  flow.energy.set(servedFlow.energy)
  flow.unmet.set(servedFlow.unmet)
}
