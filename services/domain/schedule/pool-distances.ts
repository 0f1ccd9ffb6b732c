import { setBits, takeUnseen } from './bit-rows.ts'
import { marksOf } from './moves.ts'
import type { PoolNetwork } from './pool-network.ts'

/**
 * What the next unit of energy costs at each node of a network; infinite where none can come, and at slots and jobs where it costs more than
 * `nearest`, which is what it costs at the cheapest job that wants some.
 */
export type Distances = { readonly at: Float64Array; readonly nearest: number }

const infinite = Number.POSITIVE_INFINITY

/**
 * Measure what the next unit of energy costs. Jobs move between slots for nothing, so a slot costs what the cheapest one costs whose energy can be
 * moved to it. Only what slots give back to pools can lower the cost of a pool; there are few pools, so all is measured again until none falls.
 * Costs only rise as energy is sent, the cheapest way first, so no such way leads through a slot or a job that costs more than its end.
 * Source: Ahuja, Magnanti, Orlin, Network Flows (1993), 5.4, https://openlibrary.org/isbn/9780136175490.
 */
export const distancesOf = (network: PoolNetwork): Distances => {
  const { pools, poolRoom, nodes } = network
  const at = new Float64Array(nodes.count).fill(infinite)
  for (const [pool, { cost }] of pools.entries()) at[pool] = (poolRoom[pool] as number) > 0 ? cost : infinite
  // Beyond 2^53 what is lost in rounding could go on for ever.
  for (let round = 0; ; round += 1) {
    for (let turn = 0; turn < pools.length; turn += 1) {
      measureGrids(network, at)
      if (!giveBack(network, at)) break
    }
    const nearest = spread(network, at)
    measureGrids(network, at)
    if (round > pools.length || !giveBack(network, at)) return { at, nearest }
  }
}

/** How far each queue is gone through, and what is to be added to its prices. */
const headsOf = (queues: PoolNetwork['queues'], ownQueue: PoolNetwork['ownQueue'], at: Float64Array) => {
  const ofPools = queues.map((queue, pool) => ({ ...queue, isOwn: false, from: at[pool] as number, next: 0 }))
  return [{ ...ownQueue, isOwn: true, from: 0, next: 0 }, ...ofPools].filter(({ slots, from }) => slots.length > 0 && from < infinite)
}

/** Measure slots and jobs by what pools, and slots' own energy, cost; gives the cost at the cheapest job that wants energy. */
const spread = ({ moves, queues, ownQueue, ownRoom, gridRoom, nodes }: PoolNetwork, at: Float64Array): number => {
  const { problem, flow, open, running } = moves
  const seen = marksOf(moves)
  const heads = headsOf(queues, ownQueue, at)
  at.fill(infinite, nodes.slot)
  let [nearest, jobsLeft] = [infinite, flow.unmet.length]
  for (;;) {
    let [first, cost] = [-1, infinite]
    for (const head of heads) {
      const { slots, prices, from } = head
      const room = head.isOwn ? ownRoom : gridRoom
      let next = head.next
      for (; next < slots.length; next += 1) {
        const slot = slots[next] as number
        if (at[nodes.slot + slot] === infinite && (room[slot] as number) > 0) break
      }
      head.next = next
      if (next === slots.length || from + (prices[next] as number) >= cost) continue
      first = slots[next] as number
      cost = from + (prices[next] as number)
    }
    if (first === -1 || cost > nearest) return nearest
    const [reached, jobs]: [number[], number[]] = [[first], []]
    setBits(seen.givers, reached)
    for (const slot of reached) {
      at[nodes.slot + slot] = cost
      if (jobsLeft === 0) continue
      jobs.length = 0
      takeUnseen(open, slot, 0, flow.unmet.length, seen.takers, jobs)
      jobsLeft -= jobs.length
      for (const job of jobs) {
        at[nodes.job + job] = cost
        if ((flow.unmet[job] as number) > 0) nearest = Math.min(nearest, cost)
        takeUnseen(running, job, problem.first[job] as number, problem.last[job] as number, seen.givers, reached)
      }
    }
  }
}

/** Measure grids: what comes from the cheapest pool, or what their slots give back. */
const measureGrids = ({ offers, gridDrawn, nodes }: PoolNetwork, at: Float64Array): void => {
  for (let slot = 0; slot < gridDrawn.length; slot += 1) {
    let cost = (gridDrawn[slot] as number) > 0 ? (at[nodes.slot + slot] as number) : infinite
    const last = offers.at[slot + 1] as number
    for (let offer = offers.at[slot] as number; offer < last; offer += 1) {
      cost = Math.min(cost, (at[offers.pool[offer] as number] as number) + (offers.price[offer] as number))
    }
    at[nodes.grid + slot] = cost
  }
}

/** Lower the costs of pools by what slots would give back to them; tells whether any fell. */
const giveBack = ({ offers, drawn, nodes }: PoolNetwork, at: Float64Array): boolean => {
  let isLower = false
  for (let offer = 0; offer < drawn.length; offer += 1) {
    if ((drawn[offer] as number) <= 0) continue
    const pool = offers.pool[offer] as number
    const back = (at[nodes.grid + (offers.slot[offer] as number)] as number) - (offers.price[offer] as number)
    if (back >= (at[pool] as number)) continue
    at[pool] = back
    isLower = true
  }
  return isLower
}
