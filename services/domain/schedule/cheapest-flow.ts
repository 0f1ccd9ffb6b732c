import { emptyFlow, type Flow, type FlowProblem, type Supply } from './flow-problem.ts'
import { createFlowSearch, drawAvailable } from './flow-search.ts'

/**
 * Bring as much energy as possible from supplies to jobs, at the least cost. `prices` are the supplies of each price, cheapest first, no slot
 * twice among those of one; `used` of the flow follows their order.
 *
 * What supplies can give together is a polymatroid: a job may take any slot of its window at the same price. So going through the prices
 * once, drawing at each as much as is possible by moving earlier energy between slots, gives the most energy and of all such plans
 * the cheapest. Numbers are whole, so nothing is rounded up to 2^53. Yields between searches, so that a caller may pause.
 * Source: Federgruen and Groenevelt (1986), https://doi.org/10.1287/opre.34.6.909.
 */
export function* fillCheapestFirst(
  problem: FlowProblem,
  prices: readonly (readonly Supply[])[],
): Generator<undefined, Flow> {
  const flow = emptyFlow(problem, prices.flat().length)
  const flowSearch = createFlowSearch(problem, flow, flow.unmet, false)
  const available = new Float64Array(problem.slotLength.length)
  let index = 0
  for (const supplies of prices) {
    for (const { slot, capacity } of supplies) available[slot] = capacity
    yield* drawAvailable(
      flowSearch,
      supplies.map(({ slot }) => slot),
      available,
    )
    for (const { slot, capacity } of supplies) flow.used[index++] = capacity - (available[slot] as number)
  }
  return flow
}
