import { emptyFlow, type FlowProblem } from './flow-problem.ts'
import { createResidualGraph, type ResidualGraph } from './residual-graph.ts'

/** Energy that several slots can draw on. Each unit costs `cost` in addition to the price of the slot. */
export type Pool = { readonly capacity: number; readonly cost: number }

/** Pool that a slot can draw on through the grid, at a price. Offers are in the order of their slots. */
export type Offer = { readonly slot: number; readonly pool: number; readonly price: number }

/** Own energy of each slot, its price, and the maximum energy through the grid. */
export type SlotSupply = {
  readonly ownEnergy: Float64Array
  readonly ownPrice: Float64Array
  readonly grid: Float64Array
}

/**
 * Offers in columns, in the order of their slots. The offers of a slot begin at `firstOffer[slot]` and end at
 * `firstOffer[slot + 1]`.
 */
export type OfferColumns = {
  readonly firstOffer: Int32Array
  readonly pool: Int32Array
  readonly slot: Int32Array
  readonly price: Float64Array
}

/** Slots by price, the cheapest first. */
export type Queue = { readonly slots: Int32Array; readonly prices: Float64Array }

/**
 * Network from pools to jobs. A pool leads to the grid of each slot to which it offers energy. The grid leads to its
 * slot, and the slot to the jobs whose windows contain it. Own energy of a slot leads to that slot only. Nodes are
 * numbered in the order pools, grids, slots, jobs; `nodes` contains the first number of each. `queues` are the slots of
 * each pool, `ownQueue` the slots with own energy.
 */
export type PoolNetwork = {
  readonly graph: ResidualGraph
  readonly pools: readonly Pool[]
  readonly offers: OfferColumns
  readonly queues: readonly Queue[]
  readonly ownQueue: Queue
  readonly ownPrice: Float64Array
  readonly poolCapacity: Float64Array
  readonly ownCapacity: Float64Array
  readonly gridCapacity: Float64Array
  readonly gridDrawn: Float64Array
  readonly drawn: Float64Array
  readonly nodes: { readonly grid: number; readonly slot: number; readonly job: number; readonly count: number }
}

const createQueue = (offers: readonly { readonly slot: number; readonly price: number }[]): Queue => {
  const sorted = offers.toSorted((a, b) => a.price - b.price)
  return { slots: Int32Array.from(sorted, ({ slot }) => slot), prices: Float64Array.from(sorted, ({ price }) => price) }
}

const offerColumns = (offers: readonly Offer[], slots: number): OfferColumns => {
  const firstOffer = new Int32Array(slots + 1)
  for (const { slot } of offers) firstOffer[slot + 1] = (firstOffer[slot + 1] as number) + 1
  for (let slot = 0; slot < slots; slot += 1)
    firstOffer[slot + 1] = (firstOffer[slot + 1] as number) + (firstOffer[slot] as number)
  return {
    firstOffer,
    pool: Int32Array.from(offers, ({ pool }) => pool),
    slot: Int32Array.from(offers, ({ slot }) => slot),
    price: Float64Array.from(offers, ({ price }) => price),
  }
}

/** Create a network without drawn energy. */
export const createPoolNetwork = (
  problem: FlowProblem,
  pools: readonly Pool[],
  offers: readonly Offer[],
  { ownEnergy, ownPrice, grid }: SlotSupply,
): PoolNetwork => {
  const [slots, jobs] = [problem.slotLength.length, problem.demand.length]
  const offersOfPools = pools.map(() => [] as Offer[])
  for (const offer of offers) offersOfPools[offer.pool]?.push(offer)
  const slotsWithOwn = [...ownEnergy.keys()].filter(slot => (ownEnergy[slot] as number) > 0)
  return {
    graph: createResidualGraph(problem, emptyFlow(problem, 0), false),
    pools,
    offers: offerColumns(offers, slots),
    ownPrice,
    queues: offersOfPools.map(createQueue),
    ownQueue: createQueue(slotsWithOwn.map(slot => ({ slot, price: ownPrice[slot] as number }))),
    poolCapacity: Float64Array.from(pools, ({ capacity }) => capacity),
    ownCapacity: ownEnergy.slice(),
    gridCapacity: grid.slice(),
    gridDrawn: new Float64Array(slots),
    drawn: new Float64Array(offers.length),
    nodes: {
      grid: pools.length,
      slot: pools.length + slots,
      job: pools.length + 2 * slots,
      count: pools.length + 2 * slots + jobs,
    },
  }
}

/** Return the index of the offer of a pool to a slot; −1 if there is none. */
export const findOffer = ({ offers: { firstOffer, pool: pools } }: PoolNetwork, slot: number, pool: number): number => {
  const last = firstOffer[slot + 1] as number
  for (let offer = firstOffer[slot] as number; offer < last; offer += 1) if (pools[offer] === pool) return offer
  return -1
}
