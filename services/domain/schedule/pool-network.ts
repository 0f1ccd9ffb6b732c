import { emptyFlow, type FlowProblem } from './flow-problem.ts'
import { createResidualGraph, type ResidualGraph } from './residual-graph.ts'

/** Energy that several slots may draw on. Each unit of it costs so much besides the price that a slot pays. */
export type Pool = { readonly capacity: number; readonly cost: number }

/** A pool that a slot may draw on through the grid, at a price. Offers come in order of their slots. */
export type Offer = { readonly slot: number; readonly pool: number; readonly price: number }

/** What each slot has of its own, at which price, and the most that it may draw through the grid. */
export type SlotSupply = {
  readonly ownEnergy: Float64Array
  readonly ownPrice: Float64Array
  readonly grid: Float64Array
}

/** Offers in columns, in order of their slots; those of a slot begin at `at[slot]`, and the next slot's where they end. */
export type OfferColumns = {
  readonly firstOffer: Int32Array
  readonly pool: Int32Array
  readonly slot: Int32Array
  readonly price: Float64Array
}

/** Slots by price, the cheapest first. */
export type Queue = { readonly slots: Int32Array; readonly prices: Float64Array }

/**
 * What flows from pools to jobs. A pool leads to the grid of each slot that has an offer of it, the grid to its slot, and the slot to the jobs whose
 * windows hold it; what a slot has of its own leads to it alone. Nodes are numbered in this order: pools, grids, slots, jobs; `grid`, `slot` and
 * `job` are the numbers of the first of each. `queues` are the slots that each pool leads
 * to, `ownQueue` those with energy of their own.
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
    ...{
      firstOffer,
      pool: Int32Array.from(offers, ({ pool }) => pool),
      slot: Int32Array.from(offers, ({ slot }) => slot),
    },
    price: Float64Array.from(offers, ({ price }) => price),
  }
}

/** Begin with nothing drawn. */
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
    ...{
      graph: createResidualGraph(problem, emptyFlow(problem, 0), false),
      pools,
      offers: offerColumns(offers, slots),
      ownPrice,
    },
    ...{
      queues: offersOfPools.map(createQueue),
      ownQueue: createQueue(slotsWithOwn.map(slot => ({ slot, price: ownPrice[slot] as number }))),
    },
    ...{ poolCapacity: Float64Array.from(pools, ({ capacity }) => capacity), ownCapacity: ownEnergy.slice() },
    ...{ gridCapacity: grid.slice(), gridDrawn: new Float64Array(slots), drawn: new Float64Array(offers.length) },
    nodes: {
      grid: pools.length,
      slot: pools.length + slots,
      job: pools.length + 2 * slots,
      count: pools.length + 2 * slots + jobs,
    },
  }
}

/** Give the offer that a pool makes to a slot; −1 when it makes none. */
export const findOffer = ({ offers: { firstOffer, pool: pools } }: PoolNetwork, slot: number, pool: number): number => {
  const last = firstOffer[slot + 1] as number
  for (let offer = firstOffer[slot] as number; offer < last; offer += 1) if (pools[offer] === pool) return offer
  return -1
}
