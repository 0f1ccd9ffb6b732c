import { collectUnseen, setBits } from './bit-rows.ts'
import type { PoolNetwork, Queue } from './pool-network.ts'
import { createMarks } from './residual-graph.ts'

/**
 * Cost of the next unit of energy at each node of a network. `nearest` is the cost at the cheapest job with demand.
 * The cost is infinite if no energy can arrive, and at slots and jobs that cost more than `nearest`.
 */
export type Distances = { readonly nodeCosts: Float64Array; readonly nearest: number }

const infinite = Number.POSITIVE_INFINITY

/**
 * Calculate the cost of the next unit of energy. Jobs move between slots at no cost, so a slot costs as much as the
 * cheapest slot whose energy can move to it.
 * Only energy that slots return to pools can lower the cost of a pool. There are few pools, so all costs are calculated
 * again until none falls.
 * Costs only rise as energy is sent along cheapest paths. No such path therefore leads through a slot or a job that
 * costs more than its end.
 * Source: Ahuja, Magnanti, Orlin, Network Flows (1993), 5.4, https://openlibrary.org/isbn/9780136175490.
 */
export const distancesOf = (network: PoolNetwork): Distances => {
  const { pools, poolCapacity, nodes } = network
  const nodeCosts = new Float64Array(nodes.count).fill(infinite)
  for (const [pool, { cost }] of pools.entries()) nodeCosts[pool] = (poolCapacity[pool] as number) > 0 ? cost : infinite
  // Above 2^53, rounding errors could make this loop endless.
  for (let round = 0; ; round += 1) {
    for (let pass = 0; pass < pools.length; pass += 1) {
      measureGrids(network, nodeCosts)
      if (!lowerPoolCosts(network, nodeCosts)) break
    }
    const nearest = measureSlotsAndJobs(network, nodeCosts)
    measureGrids(network, nodeCosts)
    if (round > pools.length || !lowerPoolCosts(network, nodeCosts)) return { nodeCosts, nearest }
  }
}

/**
 * Position in a queue, the amount to add to its prices, and the cost of its next free slot. Heads of equal cost are in
 * the order of their numbers.
 */
type QueueHead = Queue & {
  readonly number: number
  readonly capacity: Float64Array
  readonly poolCost: number
  next: number
  cost: number
}

/** Move a head to its next slot that is free and has no cost yet. The cost is infinite at the end of the queue. */
const advance = (head: QueueHead, slotNode: number, nodeCosts: Float64Array): void => {
  const { slots, prices, capacity, poolCost } = head
  let next = head.next
  for (; next < slots.length; next += 1) {
    const slot = slots[next] as number
    if (nodeCosts[slotNode + slot] === infinite && (capacity[slot] as number) > 0) break
  }
  head.next = next
  head.cost = next === slots.length ? infinite : poolCost + (prices[next] as number)
}

const isBefore = (a: QueueHead, b: QueueHead): boolean => a.cost < b.cost || (a.cost === b.cost && a.number < b.number)

/** Create a binary heap of the heads with a slot, the cheapest first. All slots have an infinite cost. */
const createQueueHeads = (
  { queues, ownQueue, ownCapacity, gridCapacity, nodes }: PoolNetwork,
  nodeCosts: Float64Array,
): QueueHead[] => {
  const heads: QueueHead[] = []
  for (const [number, queue] of [ownQueue, ...queues].entries()) {
    const poolCost = number === 0 ? 0 : (nodeCosts[number - 1] as number)
    if (poolCost === infinite) continue
    const capacity = number === 0 ? ownCapacity : gridCapacity
    const head = { ...queue, number, capacity, poolCost, next: 0, cost: infinite }
    advance(head, nodes.slot, nodeCosts)
    if (head.cost < infinite) heads.push(head)
  }
  return heads.sort((a, b) => (isBefore(a, b) ? -1 : 1))
}

/** Move the first head of a heap down to its place. */
const sinkFirst = (heads: QueueHead[]): void => {
  const head = heads[0] as QueueHead
  let place = 0
  for (;;) {
    let child = 2 * place + 1
    const [left, right] = [heads[child], heads[child + 1]]
    if (left === undefined) break
    if (right !== undefined && isBefore(right, left)) child += 1
    const first = heads[child] as QueueHead
    if (isBefore(head, first)) break
    heads[place] = first
    place = child
  }
  heads[place] = head
}

/** Return the head of the cheapest free slot without a cost; undefined if there is none. */
const cheapestHead = (heads: QueueHead[], slotNode: number, nodeCosts: Float64Array): QueueHead | undefined => {
  for (;;) {
    const head = heads[0]
    if (head === undefined || head.cost === infinite) return undefined
    const { cost } = head
    advance(head, slotNode, nodeCosts)
    if (head.cost === cost) return head
    sinkFirst(heads)
  }
}

/**
 * Calculate the costs of slots and jobs from those of pools and of own energy. Returns the cost at the cheapest job
 * with demand.
 */
const measureSlotsAndJobs = (network: PoolNetwork, nodeCosts: Float64Array): number => {
  const { graph, nodes } = network
  const { problem, flow, openTakers, activeGivers } = graph
  const seen = createMarks(graph)
  nodeCosts.fill(infinite, nodes.slot)
  const heads = createQueueHeads(network, nodeCosts)
  let [nearest, jobsLeft] = [infinite, flow.unmet.length]
  for (;;) {
    const head = cheapestHead(heads, nodes.slot, nodeCosts)
    if (head === undefined || head.cost > nearest) return nearest
    const { cost } = head
    const cheapestSlot = head.slots[head.next] as number
    const [reachedSlots, jobs]: [number[], number[]] = [[cheapestSlot], []]
    setBits(seen.givers, reachedSlots)
    for (const slot of reachedSlots) {
      nodeCosts[nodes.slot + slot] = cost
      if (jobsLeft === 0) continue
      jobs.length = 0
      collectUnseen(openTakers, slot, 0, flow.unmet.length, seen.takers, jobs)
      jobsLeft -= jobs.length
      for (const job of jobs) {
        nodeCosts[nodes.job + job] = cost
        if ((flow.unmet[job] as number) > 0) nearest = Math.min(nearest, cost)
        collectUnseen(
          activeGivers,
          job,
          problem.firstSlot[job] as number,
          problem.endSlot[job] as number,
          seen.givers,
          reachedSlots,
        )
      }
    }
  }
}

/** Calculate the costs of grids: energy from the cheapest pool, or energy that their slots return. */
const measureGrids = ({ offers, gridDrawn, nodes }: PoolNetwork, nodeCosts: Float64Array): void => {
  for (let slot = 0; slot < gridDrawn.length; slot += 1) {
    let cost = (gridDrawn[slot] as number) > 0 ? (nodeCosts[nodes.slot + slot] as number) : infinite
    const last = offers.firstOffer[slot + 1] as number
    for (let offer = offers.firstOffer[slot] as number; offer < last; offer += 1) {
      cost = Math.min(cost, (nodeCosts[offers.pool[offer] as number] as number) + (offers.price[offer] as number))
    }
    nodeCosts[nodes.grid + slot] = cost
  }
}

/** Lower the costs of pools to those of energy that slots would return. Returns true if a cost fell. */
const lowerPoolCosts = ({ offers, drawn, nodes }: PoolNetwork, nodeCosts: Float64Array): boolean => {
  let isLower = false
  for (let offer = 0; offer < drawn.length; offer += 1) {
    if ((drawn[offer] as number) <= 0) continue
    const pool = offers.pool[offer] as number
    const givenBack =
      (nodeCosts[nodes.grid + (offers.slot[offer] as number)] as number) - (offers.price[offer] as number)
    if (givenBack >= (nodeCosts[pool] as number)) continue
    nodeCosts[pool] = givenBack
    isLower = true
  }
  return isLower
}
