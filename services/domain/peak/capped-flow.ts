import type { AmountFlow, FlowInput } from '../schedule/flow-input.ts'
import { gridCapacities, totalDemand } from '../schedule/flow-input.ts'
import { energyUnitMs, onScale } from '../schedule/plan-slots.ts'
import { distancesOf } from '../schedule/pool-distances.ts'
import { fillFromPools } from '../schedule/pool-flow.ts'
import { createPoolNetwork, type Offer } from '../schedule/pool-network.ts'

/**
 * Interval of each slot, by index; −1 for a slot that no interval limits. `count` is the number of intervals.
 */
export type SlotIntervals = { readonly ofSlot: Int32Array; readonly count: number }

/**
 * Cheapest flow under limits on the energy of intervals. `cost` is in the currency, at the first price of each slot, and
 * with a penalty for energy above a limit. `values` are the savings of a further kWh of each limit.
 * `work` is the number of searches × the size of the network; a unit takes about 30 ns.
 */
export type CappedFlow = {
  readonly found: AmountFlow
  readonly cost: number
  readonly values: Float64Array
  readonly work: number
}

const freePool = 0
const overrunPool = 1
const firstIntervalPool = 2

/**
 * Find the cheapest flow of maximum energy in which intervals take at most `limits` (on the scale of the flow). Energy
 * above a limit costs `penalty` (1e-9 per kWh, an integer), so that each limit has a flow.
 * The values of the limits are optimal prices of the dual program: the cost of the flow is at least
 * cost − Σ values × (other limits − limits) for all other limits.
 * Source: Ahuja, Magnanti, Orlin, Network Flows (1993), 9.4, https://openlibrary.org/isbn/9780136175490.
 */
export const cappedFlow = (
  input: FlowInput,
  { ofSlot, count }: SlotIntervals,
  limits: Float64Array,
  penalty: number,
): CappedFlow => {
  const { slots, problem, scale, sign, isAllowed } = input
  const total = totalDemand(problem)
  const pools = [
    { capacity: total, cost: 0 },
    // The pool is never empty, so that each grid has a cost.
    { capacity: total + 1, cost: penalty },
    ...Array.from({ length: count }, (_, index) => ({ capacity: limits[index] as number, cost: 0 })),
  ]
  const offers = slots.flatMap(({ price }, slot): readonly Offer[] => {
    const inForce = price.steps[0]?.price ?? 0n
    if (!isAllowed(inForce)) return []
    const offer = { slot, price: Number(sign * inForce) }
    const interval = ofSlot[slot] as number
    return interval === -1
      ? [{ ...offer, pool: freePool }]
      : [
          { ...offer, pool: overrunPool },
          { ...offer, pool: firstIntervalPool + interval },
        ]
  })
  const ownEnergy = Float64Array.from(slots, ({ generated }) =>
    isAllowed(generated.price) ? onScale(scale, generated.energy * energyUnitMs) : 0,
  )
  const ownPrice = Float64Array.from(slots, ({ generated }) => Number(sign * generated.price))
  const network = createPoolNetwork(problem, pools, offers, { ownEnergy, ownPrice, grid: gridCapacities(input) })
  const searches = fillFromPools(network)
  const { nodeCosts } = distancesOf(network)
  const generated = ownEnergy.map((own, slot) => own - (network.ownCapacity[slot] as number))
  let cost = generated.reduce((sum, amount, slot) => sum + amount * (ownPrice[slot] as number), 0)
  const values = new Float64Array(count)
  for (const [index, { slot, pool, price }] of offers.entries()) {
    cost += (network.drawn[index] as number) * (price + (pool === overrunPool ? penalty : 0))
    if (pool < firstIntervalPool) continue
    const value = (nodeCosts[network.nodes.grid + slot] as number) - price
    values[pool - firstIntervalPool] = Math.max(values[pool - firstIntervalPool] as number, value)
  }
  const kwhOfUnit = Number(scale.unit) / Number(energyUnitMs) / 1e9
  return {
    found: { flow: network.graph.flow, generated },
    cost: (cost * kwhOfUnit) / 1e9,
    values: values.map(value => value / 1e9),
    work: searches * (20 * (problem.demand.length + slots.length) + (problem.demand.length * slots.length) / 32),
  }
}
