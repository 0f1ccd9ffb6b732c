import { clearBit, setBits, takeUnseen } from './bit-rows.ts'
import { type Marks, marksOf } from './moves.ts'
import type { Distances } from './pool-distances.ts'
import type { PoolNetwork, Queue } from './pool-network.ts'

/** What leads to the nearest jobs: grids and pools on cheapest ways, and the costs of the slots and jobs on them. */
type Leading = { readonly costs: ReadonlySet<number>; readonly grids: Uint8Array; readonly pools: Uint8Array }

/**
 * The nodes on cheapest ways by the number of steps from where energy comes from, as far as the first jobs that want some: the `level` of each, −1
 * when it is on none, and the slots and jobs of each of the `levels`. `sources` are the pools and slots of level 0.
 */
export type Layers = {
  readonly level: Int32Array
  readonly levels: readonly Marks[]
  readonly sources: readonly number[]
}

/** Find what leads to the nearest jobs, from them back: through slots of their cost to pools, and on to what gives back to those. */
const leadingTo = ({ offers, drawn, gridRoom, gridDrawn, nodes }: PoolNetwork, { at, nearest }: Distances): Leading => {
  const costs = new Set([nearest])
  const [grids, pools] = [new Uint8Array(gridRoom.length), new Uint8Array(nodes.grid)]
  for (let isSettled = false; !isSettled; ) {
    isSettled = true
    for (let slot = 0; slot < grids.length; slot += 1) {
      if (grids[slot] === 1) continue
      const cost = at[nodes.grid + slot] as number
      const isAlike = cost === at[nodes.slot + slot]
      const [first, last] = [offers.at[slot] as number, offers.at[slot + 1] as number]
      let leads = isAlike && (gridRoom[slot] as number) > 0 && costs.has(cost)
      for (let offer = first; offer < last && !leads; offer += 1) {
        const pool = offers.pool[offer] as number
        leads = pools[pool] === 1 && (drawn[offer] as number) > 0 && cost - (offers.price[offer] as number) === at[pool]
      }
      if (!leads) continue
      isSettled = false
      grids[slot] = 1
      for (let offer = first; offer < last; offer += 1) {
        const pool = offers.pool[offer] as number
        if ((at[pool] as number) + (offers.price[offer] as number) === cost) pools[pool] = 1
      }
      if (isAlike && (gridDrawn[slot] as number) > 0) costs.add(cost)
    }
  }
  return { costs, grids, pools }
}

/** Flags of all slots and jobs that do not cost so much. */
const othersThan = ({ moves, nodes }: PoolNetwork, at: Float64Array, cost: number): Marks => {
  const others = marksOf(moves)
  others.givers.fill(-1)
  others.takers.fill(-1)
  for (let node = nodes.slot; node < nodes.count; node += 1) {
    if (at[node] !== cost) continue
    if (node < nodes.job) clearBit(others.givers, node - nodes.slot)
    else clearBit(others.takers, node - nodes.job)
  }
  return others
}

/** Tell whether a node is a job that wants energy and comes by it at the least cost. */
export const isNearest = ({ moves, nodes }: PoolNetwork, { at, nearest }: Distances, node: number): boolean =>
  node >= nodes.job && at[node] === nearest && (moves.flow.unmet[node - nodes.job] as number) > 0

/**
 * A walk over cheapest ways. `seen` are, for each cost on them, the slots and jobs that it need not enter; `next` are the nodes that are a
 * step further than those it leaves now.
 */
type Walk = {
  readonly network: PoolNetwork
  readonly at: Float64Array
  readonly leading: Leading
  readonly seen: ReadonlyMap<number, Marks>
  readonly level: Int32Array
  next: number[]
}

const seenLike = ({ at, seen }: Walk, node: number): Marks => seen.get(at[node] as number) as Marks

/** Find the cheapest ways of the fewest steps. */
export const layersOf = (network: PoolNetwork, distances: Distances): Layers => {
  const { pools, poolRoom, ownRoom, ownPrice, nodes } = network
  const { at } = distances
  const leading = leadingTo(network, distances)
  const seen = new Map([...leading.costs].map(cost => [cost, othersThan(network, at, cost)]))
  const walk: Walk = { network, at, leading, seen, level: new Int32Array(nodes.count).fill(-1), next: [] }
  for (const [pool, { cost }] of pools.entries()) {
    if (leading.pools[pool] === 1 && (poolRoom[pool] as number) > 0 && at[pool] === cost) enter(walk, pool, 0)
  }
  for (const [slot, room] of ownRoom.entries()) {
    if (room > 0 && at[nodes.slot + slot] === ownPrice[slot] && leading.costs.has(ownPrice[slot] as number))
      enter(walk, nodes.slot + slot, 0)
  }
  const levels: Marks[] = []
  const sources = walk.next
  for (let depth = 1; walk.next.length > 0; depth += 1) {
    const reached = walk.next
    walk.next = []
    levels.push(marksAt(network, reached))
    if (reached.some(node => isNearest(network, distances, node))) break
    for (const node of reached) leave(walk, node, depth)
  }
  return { level: walk.level, levels, sources }
}

const marksAt = ({ moves, nodes }: PoolNetwork, reached: readonly number[]): Marks => {
  const marks = marksOf(moves)
  for (const node of reached) {
    if (node >= nodes.job) setBits(marks.takers, [node - nodes.job])
    else if (node >= nodes.slot) setBits(marks.givers, [node - nodes.slot])
  }
  return marks
}

const enter = (walk: Walk, node: number, depth: number): void => {
  const { level, next, network } = walk
  if (level[node] !== -1) return
  level[node] = depth
  next.push(node)
  const { slot, job } = network.nodes
  if (node >= slot && node < job) setBits(seenLike(walk, node).givers, [node - slot])
}

const leave = (walk: Walk, node: number, depth: number): void => {
  const { slot, grid, job } = walk.network.nodes
  if (node < grid) leavePool(walk, node, depth)
  else if (node < slot) leaveGrid(walk, node - grid, depth)
  else if (node < job) leaveSlot(walk, node - slot, depth)
  else leaveJob(walk, node - job, depth)
}

const leavePool = (walk: Walk, pool: number, depth: number): void => {
  const { at, leading, network } = walk
  const { slots, prices } = network.queues[pool] as Queue
  for (const [place, slot] of slots.entries()) {
    const grid = network.nodes.grid + slot
    if (leading.grids[slot] === 1 && (at[pool] as number) + (prices[place] as number) === at[grid]) enter(walk, grid, depth)
  }
}

const leaveGrid = (walk: Walk, slot: number, depth: number): void => {
  const { at, leading, network } = walk
  const { offers, drawn, gridRoom, nodes } = network
  const cost = at[nodes.grid + slot] as number
  if ((gridRoom[slot] as number) > 0 && cost === at[nodes.slot + slot] && leading.costs.has(cost)) enter(walk, nodes.slot + slot, depth)
  for (let offer = offers.at[slot] as number; offer < (offers.at[slot + 1] as number); offer += 1) {
    const [pool, price] = [offers.pool[offer] as number, offers.price[offer] as number]
    if ((drawn[offer] as number) > 0 && leading.pools[pool] === 1 && cost - price === at[pool]) enter(walk, pool, depth)
  }
}

const leaveSlot = (walk: Walk, slot: number, depth: number): void => {
  const { at, leading, network, level, next } = walk
  const { moves, gridDrawn, nodes } = network
  const jobs: number[] = []
  takeUnseen(moves.open, slot, 0, moves.flow.unmet.length, seenLike(walk, nodes.slot + slot).takers, jobs)
  for (const job of jobs) {
    level[nodes.job + job] = depth
    next.push(nodes.job + job)
  }
  const isAlike = at[nodes.slot + slot] === at[nodes.grid + slot]
  if (isAlike && (gridDrawn[slot] as number) > 0 && leading.grids[slot] === 1) enter(walk, nodes.grid + slot, depth)
}

const leaveJob = (walk: Walk, job: number, depth: number): void => {
  const { network, level, next } = walk
  const { moves, nodes } = network
  const { first, last } = moves.problem
  const slots: number[] = []
  takeUnseen(moves.running, job, first[job] as number, last[job] as number, seenLike(walk, nodes.job + job).givers, slots)
  for (const slot of slots) {
    level[nodes.slot + slot] = depth
    next.push(nodes.slot + slot)
  }
}
