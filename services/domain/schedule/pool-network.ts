import { emptyFlow, type FlowProblem } from './flow-problem.ts'
import { type Moves, openMoves } from './moves.ts'

/** Energy that several slots may draw on. Each unit of it costs so much besides the price that a slot pays. */
export type Pool = { readonly capacity: number; readonly cost: number }

/** A pool that a slot may draw on through the grid, at a price. Offers come in order of their slots. */
export type Offer = { readonly slot: number; readonly pool: number; readonly price: number }

/** What each slot has of its own, at which price, and the most that it may draw through the grid. */
export type SlotSupply = { readonly own: Float64Array; readonly ownPrice: Float64Array; readonly grid: Float64Array }

/** Offers in columns, in order of their slots; those of a slot begin at `at[slot]`, and the next slot's where they end. */
export type Offers = { readonly at: Int32Array; readonly pool: Int32Array; readonly slot: Int32Array; readonly price: Float64Array }

/** Slots by price, the cheapest first. */
export type Queue = { readonly slots: Int32Array; readonly prices: Float64Array }

/**
 * What flows from pools to jobs. A pool leads to the grid of each slot that has an offer of it, the grid to its slot, and the slot to the jobs whose
 * windows hold it; what a slot has of its own leads to it alone. Nodes are numbered in this order: pools, grids, slots, jobs; `grid`, `slot` and
 * `job` are the numbers of the first of each. `queues` are the slots that each pool leads
 * to, `ownQueue` those with energy of their own.
 */
export type PoolNetwork = {
  readonly moves: Moves
  readonly pools: readonly Pool[]
  readonly offers: Offers
  readonly queues: readonly Queue[]
  readonly ownQueue: Queue
  readonly ownPrice: Float64Array
  readonly poolRoom: Float64Array
  readonly ownRoom: Float64Array
  readonly gridRoom: Float64Array
  readonly gridDrawn: Float64Array
  readonly drawn: Float64Array
  readonly nodes: { readonly grid: number; readonly slot: number; readonly job: number; readonly count: number }
}

const queueOf = (offers: readonly { readonly slot: number; readonly price: number }[]): Queue => {
  const sorted = offers.toSorted((a, b) => a.price - b.price)
  return { slots: Int32Array.from(sorted, ({ slot }) => slot), prices: Float64Array.from(sorted, ({ price }) => price) }
}

const columnsOf = (offers: readonly Offer[], slots: number): Offers => {
  const at = new Int32Array(slots + 1)
  for (const { slot } of offers) at[slot + 1] = (at[slot + 1] as number) + 1
  for (let slot = 0; slot < slots; slot += 1) at[slot + 1] = (at[slot + 1] as number) + (at[slot] as number)
  return {
    ...{ at, pool: Int32Array.from(offers, ({ pool }) => pool), slot: Int32Array.from(offers, ({ slot }) => slot) },
    price: Float64Array.from(offers, ({ price }) => price),
  }
}

/** Begin with nothing drawn. */
export const openNetwork = (
  problem: FlowProblem,
  pools: readonly Pool[],
  offers: readonly Offer[],
  { own, ownPrice, grid }: SlotSupply,
): PoolNetwork => {
  const [slots, jobs] = [problem.length.length, problem.demand.length]
  const ofPools = pools.map(() => [] as Offer[])
  for (const offer of offers) ofPools[offer.pool]?.push(offer)
  const owning = [...own.keys()].filter(slot => (own[slot] as number) > 0)
  return {
    ...{ moves: openMoves(problem, emptyFlow(problem, 0), false), pools, offers: columnsOf(offers, slots), ownPrice },
    ...{ queues: ofPools.map(queueOf), ownQueue: queueOf(owning.map(slot => ({ slot, price: ownPrice[slot] as number }))) },
    ...{ poolRoom: Float64Array.from(pools, ({ capacity }) => capacity), ownRoom: own.slice() },
    ...{ gridRoom: grid.slice(), gridDrawn: new Float64Array(slots), drawn: new Float64Array(offers.length) },
    nodes: { grid: pools.length, slot: pools.length + slots, job: pools.length + 2 * slots, count: pools.length + 2 * slots + jobs },
  }
}

/** Give the offer that a pool makes to a slot; −1 when it makes none. */
export const offerTo = ({ offers: { at, pool: from } }: PoolNetwork, slot: number, pool: number): number => {
  const last = at[slot + 1] as number
  for (let offer = at[slot] as number; offer < last; offer += 1) if (from[offer] === pool) return offer
  return -1
}
