import fc from 'fast-check'
import type { Flow, FlowProblem } from '../../../../services/domain/schedule/flow-problem.ts'
import type { Offer, Pool, SlotSupply } from '../../../../services/domain/schedule/pool-network.ts'

/** Energy to deliver from pools, and from own energy of slots, to jobs. */
export type FlowCase = {
  readonly problem: FlowProblem
  readonly pools: readonly Pool[]
  readonly offers: readonly Offer[]
  readonly supply: SlotSupply
}

/** Energy drawn by each offer and from own energy of each slot, and the jobs that got it. */
export type Answer = { readonly flow: Flow; readonly drawn: ArrayLike<number>; readonly own: ArrayLike<number> }

type Job = { readonly first: number; readonly span: number; readonly rate: number; readonly demand: number }

/** Create a case from plain numbers. `prices` are those of each slot in each pool; null without an offer. */
export const flowCase = (
  jobs: readonly Job[],
  capacities: readonly number[],
  slots: readonly {
    readonly prices: readonly (number | null)[]
    readonly own: number
    readonly ownPrice: number
    readonly grid: number
  }[],
): FlowCase => ({
  problem: {
    slotLength: new Float64Array(slots.length).fill(1),
    firstSlot: Int32Array.from(jobs, ({ first }) => Math.min(first, slots.length)),
    endSlot: Int32Array.from(jobs, ({ first, span }) => Math.min(first + span, slots.length)),
    rate: Float64Array.from(jobs, ({ rate }) => rate),
    demand: Float64Array.from(jobs, ({ demand }) => demand),
    minEnergy: 1,
  },
  pools: capacities.map(capacity => ({ capacity, cost: 0 })),
  offers: slots.flatMap(({ prices }, slot) =>
    prices.slice(0, capacities.length).flatMap((price, pool) => (price === null ? [] : [{ slot, pool, price }])),
  ),
  supply: {
    ownEnergy: Float64Array.from(slots, ({ own }) => own),
    ownPrice: Float64Array.from(slots, ({ ownPrice }) => ownPrice),
    grid: Float64Array.from(slots, ({ grid }) => grid),
  },
})

const job = fc.record({
  first: fc.nat({ max: 27 }),
  span: fc.integer({ min: 1, max: 12 }),
  rate: fc.integer({ min: 1, max: 3 }),
  demand: fc.integer({ min: 1, max: 20 }),
})

const slot = fc.record({
  prices: fc.tuple(
    ...[0, 3, 6, 9].map(rise => fc.option(fc.integer({ min: rise, max: rise + 7 }), { nil: null, freq: 2 })),
  ),
  own: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 3 })),
  ownPrice: fc.nat({ max: 11 }),
  grid: fc.integer({ min: 1, max: 12 }),
})

/** Cases of few prices, so that many ways cost the same, and of more demand than all can be served. */
export const flowCases = (pools: number): fc.Arbitrary<FlowCase> =>
  fc
    .tuple(
      fc.array(job, { minLength: 3, maxLength: 26, size: 'max' }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: pools }),
      fc.array(slot, { minLength: 4, maxLength: 28, size: 'max' }),
    )
    .map(all => flowCase(...all))

type Arc = {
  readonly from: number
  readonly to: number
  readonly capacityLeft: number
  readonly used: number
  readonly cost: number
}

/** All arcs of a case with their flow; nodes are the source, the sink, pools, grids, slots, jobs. */
const arcsOf = ({ problem, pools, offers, supply }: FlowCase, { flow, drawn, own }: Answer): Arc[] => {
  const slots = problem.slotLength.length
  const [pool, grid] = [2, 2 + pools.length]
  const [node, job] = [grid + slots, grid + 2 * slots]
  const arcs: Arc[] = []
  const arc = (from: number, to: number, maxFlow: number, used: number, cost = 0) =>
    arcs.push({ from, to, capacityLeft: maxFlow - used, used, cost })
  const sumOf = (key: 'slot' | 'pool', of: number): number =>
    offers.reduce((sum, offer, index) => sum + (offer[key] === of ? (drawn[index] as number) : 0), 0)
  for (const [index, { capacity }] of pools.entries()) arc(0, pool + index, capacity, sumOf('pool', index))
  for (const [index, offer] of offers.entries()) {
    arc(pool + offer.pool, grid + offer.slot, Number.POSITIVE_INFINITY, drawn[index] as number, offer.price)
  }
  for (let slot = 0; slot < slots; slot += 1) {
    arc(grid + slot, node + slot, supply.grid[slot] as number, sumOf('slot', slot))
    arc(0, node + slot, supply.ownEnergy[slot] as number, own[slot] as number, supply.ownPrice[slot])
  }
  for (const [index, demand] of problem.demand.entries()) {
    const [first, last] = [problem.firstSlot[index] as number, problem.endSlot[index] as number]
    for (let slot = first; slot < last; slot += 1) {
      const energy = flow.energy[(flow.rowStart[index] as number) + slot - first] as number
      arc(node + slot, job + index, (problem.rate[index] as number) * (problem.slotLength[slot] as number), energy)
    }
    arc(job + index, 1, demand, demand - (flow.unmet[index] as number))
  }
  return arcs
}

/**
 * Return the fault of an answer: it does not add up, more energy is possible, or a lower cost.
 * A flow is the cheapest of its size if no cycle in its residual network lowers the cost.
 * A flow is the largest if no further energy can reach the sink.
 */
export const faultOf = (of: FlowCase, answer: Answer): string | null => {
  const arcs = arcsOf(of, answer)
  if (arcs.some(({ capacityLeft, used }) => capacityLeft < 0 || used < 0)) return 'more than there is room for'
  const nodes = arcs.reduce((maxFlow, { from, to }) => Math.max(maxFlow, from, to), 1) + 1
  const balance = new Float64Array(nodes)
  for (const { from, to, used } of arcs) {
    balance[from] = (balance[from] as number) - used
    balance[to] = (balance[to] as number) + used
  }
  if (balance.some((sum, node) => node > 1 && sum !== 0)) return 'energy is lost'
  const steps = arcs.flatMap(({ from, to, capacityLeft, used, cost }) => [
    ...(capacityLeft > 0 ? [{ from, to, cost }] : []),
    ...(used > 0 ? [{ from: to, to: from, cost: -cost }] : []),
  ])
  const [cost, isReached] = [new Float64Array(nodes), new Uint8Array(nodes)]
  isReached[0] = 1
  for (let round = 0; round <= nodes; round += 1) {
    let isSettled = true
    for (const step of steps) {
      const reached = (cost[step.from] as number) + step.cost
      if (isReached[step.from] === 1 && isReached[step.to] === 0) isSettled = false
      isReached[step.to] = Math.max(isReached[step.to] as number, isReached[step.from] as number)
      if (reached >= (cost[step.to] as number)) continue
      cost[step.to] = reached
      isSettled = false
    }
    if (isSettled) return isReached[1] === 1 ? 'more could be had' : null
  }
  return 'the same could be had for less'
}
