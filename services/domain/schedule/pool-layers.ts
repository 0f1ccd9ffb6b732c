import { clearBit, collectUnseen, setBits } from './bit-rows.ts'
import type { Distances } from './pool-distances.ts'
import type { PoolNetwork, Queue } from './pool-network.ts'
import { createMarks, type NodeMarks } from './residual-graph.ts'

/** Routes to the nearest jobs: grids and pools on cheapest paths, and the costs of the slots and jobs on them. */
type NearestRoutes = { readonly costs: ReadonlySet<number>; readonly grids: Uint8Array; readonly pools: Uint8Array }

/**
 * Nodes on cheapest paths by number of steps from their source, up to the first jobs with demand. `level` is the number
 * of steps of a node (−1: on no path), `levels` the slots and jobs of each step, `sources` the pools and slots of level
 * 0.
 */
export type Layers = {
  readonly level: Int32Array
  readonly levels: readonly NodeMarks[]
  readonly sources: readonly number[]
}

/**
 * Find the routes to the nearest jobs, backwards: through slots of their cost to pools, and on to slots that return
 * energy to those pools.
 */
const routesToNearest = (
  { offers, drawn, gridCapacity, gridDrawn, nodes }: PoolNetwork,
  { nodeCosts, nearest }: Distances,
): NearestRoutes => {
  const costs = new Set([nearest])
  const [grids, pools] = [new Uint8Array(gridCapacity.length), new Uint8Array(nodes.grid)]
  for (let isStable = false; !isStable; ) {
    isStable = true
    for (let slot = 0; slot < grids.length; slot += 1) {
      if (grids[slot] === 1) continue
      const cost = nodeCosts[nodes.grid + slot] as number
      const isSameCost = cost === nodeCosts[nodes.slot + slot]
      const [first, last] = [offers.firstOffer[slot] as number, offers.firstOffer[slot + 1] as number]
      let isRoute = isSameCost && (gridCapacity[slot] as number) > 0 && costs.has(cost)
      for (let offer = first; offer < last && !isRoute; offer += 1) {
        const pool = offers.pool[offer] as number
        isRoute =
          pools[pool] === 1 &&
          (drawn[offer] as number) > 0 &&
          cost - (offers.price[offer] as number) === nodeCosts[pool]
      }
      if (!isRoute) continue
      isStable = false
      grids[slot] = 1
      for (let offer = first; offer < last; offer += 1) {
        const pool = offers.pool[offer] as number
        if ((nodeCosts[pool] as number) + (offers.price[offer] as number) === cost) pools[pool] = 1
      }
      if (isSameCost && (gridDrawn[slot] as number) > 0) costs.add(cost)
    }
  }
  return { costs, grids, pools }
}

/** Return flags of all slots and jobs with another cost. */
const marksOfOtherCosts = ({ graph, nodes }: PoolNetwork, nodeCosts: Float64Array, cost: number): NodeMarks => {
  const others = createMarks(graph)
  others.givers.fill(-1)
  others.takers.fill(-1)
  for (let node = nodes.slot; node < nodes.count; node += 1) {
    if (nodeCosts[node] !== cost) continue
    if (node < nodes.job) clearBit(others.givers, node - nodes.slot)
    else clearBit(others.takers, node - nodes.job)
  }
  return others
}

/** Check if a node is a job with demand that gets energy at the lowest cost. */
export const isNearestJob = ({ graph, nodes }: PoolNetwork, { nodeCosts, nearest }: Distances, node: number): boolean =>
  node >= nodes.job && nodeCosts[node] === nearest && (graph.flow.unmet[node - nodes.job] as number) > 0

/**
 * Search over cheapest paths. `seen` contains, for each cost on them, the slots and jobs to skip. `next` are the nodes
 * one step after the current ones.
 */
type LayerSearch = {
  readonly network: PoolNetwork
  readonly nodeCosts: Float64Array
  readonly routes: NearestRoutes
  readonly seen: ReadonlyMap<number, NodeMarks>
  readonly level: Int32Array
  next: number[]
}

const seenAtCost = ({ nodeCosts, seen }: LayerSearch, node: number): NodeMarks =>
  seen.get(nodeCosts[node] as number) as NodeMarks

/** Find the cheapest paths with the fewest steps. */
export const layersOf = (network: PoolNetwork, distances: Distances): Layers => {
  const { pools, poolCapacity, ownCapacity, ownPrice, nodes } = network
  const { nodeCosts } = distances
  const routes = routesToNearest(network, distances)
  const seen = new Map([...routes.costs].map(cost => [cost, marksOfOtherCosts(network, nodeCosts, cost)]))
  const search: LayerSearch = {
    network,
    nodeCosts,
    routes,
    seen,
    level: new Int32Array(nodes.count).fill(-1),
    next: [],
  }
  for (const [pool, { cost }] of pools.entries()) {
    if (routes.pools[pool] === 1 && (poolCapacity[pool] as number) > 0 && nodeCosts[pool] === cost)
      enterNode(search, pool, 0)
  }
  for (const [slot, capacity] of ownCapacity.entries()) {
    if (capacity > 0 && nodeCosts[nodes.slot + slot] === ownPrice[slot] && routes.costs.has(ownPrice[slot] as number))
      enterNode(search, nodes.slot + slot, 0)
  }
  const levels: NodeMarks[] = []
  const sources = search.next
  for (let depth = 1; search.next.length > 0; depth += 1) {
    const reachedNodes = search.next
    search.next = []
    levels.push(marksOfNodes(network, reachedNodes))
    if (reachedNodes.some(node => isNearestJob(network, distances, node))) break
    for (const node of reachedNodes) leaveNode(search, node, depth)
  }
  return { level: search.level, levels, sources }
}

const marksOfNodes = ({ graph, nodes }: PoolNetwork, reachedNodes: readonly number[]): NodeMarks => {
  const marks = createMarks(graph)
  for (const node of reachedNodes) {
    if (node >= nodes.job) setBits(marks.takers, [node - nodes.job])
    else if (node >= nodes.slot) setBits(marks.givers, [node - nodes.slot])
  }
  return marks
}

const enterNode = (search: LayerSearch, node: number, depth: number): void => {
  const { level, next, network } = search
  if (level[node] !== -1) return
  level[node] = depth
  next.push(node)
  const { slot, job } = network.nodes
  if (node >= slot && node < job) setBits(seenAtCost(search, node).givers, [node - slot])
}

const leaveNode = (search: LayerSearch, node: number, depth: number): void => {
  const { slot, grid, job } = search.network.nodes
  if (node < grid) leavePool(search, node, depth)
  else if (node < slot) leaveGrid(search, node - grid, depth)
  else if (node < job) leaveSlot(search, node - slot, depth)
  else leaveJob(search, node - job, depth)
}

const leavePool = (search: LayerSearch, pool: number, depth: number): void => {
  const { nodeCosts, routes, network } = search
  const { slots, prices } = network.queues[pool] as Queue
  for (const [index, slot] of slots.entries()) {
    const grid = network.nodes.grid + slot
    if (routes.grids[slot] === 1 && (nodeCosts[pool] as number) + (prices[index] as number) === nodeCosts[grid])
      enterNode(search, grid, depth)
  }
}

const leaveGrid = (search: LayerSearch, slot: number, depth: number): void => {
  const { nodeCosts, routes, network } = search
  const { offers, drawn, gridCapacity, nodes } = network
  const cost = nodeCosts[nodes.grid + slot] as number
  if ((gridCapacity[slot] as number) > 0 && cost === nodeCosts[nodes.slot + slot] && routes.costs.has(cost))
    enterNode(search, nodes.slot + slot, depth)
  for (let offer = offers.firstOffer[slot] as number; offer < (offers.firstOffer[slot + 1] as number); offer += 1) {
    const [pool, price] = [offers.pool[offer] as number, offers.price[offer] as number]
    if ((drawn[offer] as number) > 0 && routes.pools[pool] === 1 && cost - price === nodeCosts[pool])
      enterNode(search, pool, depth)
  }
}

const leaveSlot = (search: LayerSearch, slot: number, depth: number): void => {
  const { nodeCosts, routes, network, level, next } = search
  const { graph, gridDrawn, nodes } = network
  const jobs: number[] = []
  collectUnseen(graph.openTakers, slot, 0, graph.flow.unmet.length, seenAtCost(search, nodes.slot + slot).takers, jobs)
  for (const job of jobs) {
    level[nodes.job + job] = depth
    next.push(nodes.job + job)
  }
  const isSameCost = nodeCosts[nodes.slot + slot] === nodeCosts[nodes.grid + slot]
  if (isSameCost && (gridDrawn[slot] as number) > 0 && routes.grids[slot] === 1)
    enterNode(search, nodes.grid + slot, depth)
}

const leaveJob = (search: LayerSearch, job: number, depth: number): void => {
  const { network, level, next } = search
  const { graph, nodes } = network
  const { firstSlot: first, endSlot: last } = graph.problem
  const slots: number[] = []
  collectUnseen(
    graph.activeGivers,
    job,
    first[job] as number,
    last[job] as number,
    seenAtCost(search, nodes.job + job).givers,
    slots,
  )
  for (const slot of slots) {
    level[nodes.slot + slot] = depth
    next.push(nodes.slot + slot)
  }
}
