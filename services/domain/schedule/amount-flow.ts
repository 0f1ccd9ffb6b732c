import { type AmountFlow, type FlowInput, gridCapacities } from './flow-input.ts'
import { emptyFlow, type Flow, type FlowProblem, type Supply, slotTotals } from './flow-problem.ts'
import { createFlowSearch, drawAvailable } from './flow-search.ts'
import { energyUnitMs, onScale } from './plan-slots.ts'
import { isCoupled, searchTiers } from './tier-search.ts'
import { tierBoundsOf } from './tiered-flow.ts'

type PricedSupply = Supply & { readonly cost: bigint; readonly isOwn: boolean }

/** List the supplies of each slot: cheapest first, then own generation, then earliest. */
const listSupplies = (input: FlowInput): PricedSupply[] => {
  const supplies: PricedSupply[] = []
  const capacities = gridCapacities(input)
  for (const [slot, { price, generated }] of input.slots.entries()) {
    const ownSupply = {
      slot,
      capacity: onScale(input.scale, generated.energy * energyUnitMs),
      cost: input.sign * generated.price,
      isOwn: true,
    }
    if (ownSupply.capacity > 0 && input.isAllowed(generated.price)) supplies.push(ownSupply)
    const priceInForce = price.steps[0]?.price ?? 0n
    if (!input.isAllowed(priceInForce)) continue
    supplies.push({ slot, capacity: capacities[slot] as number, cost: input.sign * priceInForce, isOwn: false })
  }
  return supplies.sort((a, b) => (a.cost < b.cost ? -1 : a.cost > b.cost ? 1 : Number(b.isOwn) - Number(a.isOwn)))
}

/** Group supplies by price. Own generation and the grid of a slot stay separate. */
const groupByPrice = (supplies: readonly PricedSupply[]): PricedSupply[][] => {
  const priceGroups: PricedSupply[][] = []
  for (const one of supplies) {
    const last = priceGroups.at(-1)
    if (last?.[0]?.cost === one.cost && last[0].isOwn === one.isOwn) last.push(one)
    else priceGroups.push([one])
  }
  return priceGroups
}

/**
 * Find a flow of maximum energy and, among those, of minimum cost.
 * If tiers couple the slots, the flow is found in a network with a node for each tier. Otherwise the cheapest supplies
 * are filled first, which is exact and much faster.
 */
export const amountFlow = (input: FlowInput): AmountFlow => {
  const tierBounds = tierBoundsOf(input)
  if (isCoupled(input, tierBounds)) return searchTiers(input, tierBounds)
  const supplies = listSupplies(input)
  const flow = fillCheapestFirst(input.problem, groupByPrice(supplies))
  const generated = new Float64Array(input.slots.length)
  for (const [index, { slot, isOwn }] of supplies.entries()) if (isOwn) generated[slot] = flow.used[index] as number
  return { flow, generated }
}

/**
 * Deliver as much energy as possible from supplies to jobs at minimum cost. `prices` are the supplies of each price,
 * cheapest first; no slot occurs twice at one price. `used` of the flow follows their order.
 * The energies that supplies can deliver together form a polymatroid: a job may take any slot of its window at the same
 * price. One pass over the prices is therefore optimal, if each step draws as much as possible by moving earlier energy
 * between slots. The result has maximum energy and, among such plans, minimum cost.
 * Numbers are integers, so nothing is rounded up to 2^53.
 * Source: Federgruen and Groenevelt (1986), https://doi.org/10.1287/opre.34.6.909.
 */
export const fillCheapestFirst = (problem: FlowProblem, prices: readonly (readonly Supply[])[]): Flow => {
  const flow = emptyFlow(problem, prices.flat().length)
  const flowSearch = createFlowSearch(problem, flow, flow.unmet, false)
  const available = new Float64Array(problem.slotLength.length)
  let index = 0
  for (const supplies of prices) {
    for (const { slot, capacity } of supplies) available[slot] = capacity
    drawAvailable(
      flowSearch,
      supplies.map(({ slot }) => slot),
      available,
    )
    for (const { slot, capacity } of supplies) flow.used[index++] = capacity - (available[slot] as number)
  }
  return flow
}

/**
 * Reassign the energy of a flow so that jobs of lower index come first if supply is short, and all jobs run in few
 * pieces.
 * The energy of each slot stays the same, so energy and cost do not change. The jobs share the energy again, one after
 * the other. Each job takes the capacity that earlier jobs left. Changes the flow in place.
 * Source: docs/rules/schedules.md #threshold.
 */
export const serveInOrder = (problem: FlowProblem, flow: Flow): void => {
  const servedFlow = emptyFlow(problem, 0)
  const flowSearch = createFlowSearch(problem, servedFlow, slotTotals(problem, flow), true)
  for (const job of problem.demand.keys()) drawAvailable(flowSearch, [job], servedFlow.unmet)
  flow.energy.set(servedFlow.energy)
  flow.unmet.set(servedFlow.unmet)
}
