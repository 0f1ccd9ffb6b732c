import { clearBit, firstCommonColumn } from './bit-rows.ts'
import { type Distances, distancesOf } from './pool-distances.ts'
import { isNearestJob, type Layers, layersOf } from './pool-layers.ts'
import { findOffer, type PoolNetwork, type Queue } from './pool-network.ts'
import { addFlow, flowBetween, type NodeMarks, residualCapacity } from './residual-graph.ts'

/**
 * Send as much energy as possible to jobs at minimum cost. The cheapest paths come first, among them those with the
 * fewest steps, each with its full capacity. Returns the number of searches. The network has no cycle of negative cost.
 * Source: Ahuja, Magnanti, Orlin, Network Flows (1993), 9.8, https://openlibrary.org/isbn/9780136175490.
 */
export const fillFromPools = (network: PoolNetwork): number => {
  for (let searches = 1; ; searches += 1) {
    const distances = distancesOf(network)
    if (distances.nearest === Number.POSITIVE_INFINITY) return searches
    const layers = layersOf(network, distances)
    const isAnySent = sendCheapest({
      network,
      nodeCosts: distances.nodeCosts,
      distances,
      layers,
      triedSlots: new Int32Array(network.pools.length),
    })
    // Above 2^53 a cost is not exact, and its path may not be found again.
    if (!isAnySent) return searches
  }
}

/** State of a search for paths. `triedSlots` is the number of slots of each pool that the search has left. */
type PathSearch = {
  readonly network: PoolNetwork
  readonly nodeCosts: Float64Array
  readonly distances: Distances
  readonly layers: Layers
  readonly triedSlots: Int32Array
}

/** Send energy along the cheapest paths with the fewest steps. Returns true if any energy was sent. */
const sendCheapest = (search: PathSearch): boolean => {
  const { network, distances, layers } = search
  const { nodes, poolCapacity, ownCapacity } = network
  let isAnySent = false
  for (const source of layers.sources) {
    const [capacity, index] = source < nodes.grid ? [poolCapacity, source] : [ownCapacity, source - nodes.slot]
    const path = [source]
    while (path.length > 0 && (capacity[index] as number) > 0) {
      const node = path.at(-1) as number
      if (isNearestJob(network, distances, node)) {
        capacity[index] = (capacity[index] as number) - sendAlong(network, path, capacity[index] as number)
        isAnySent = true
        continue
      }
      const next = nextNode(search, node, path.length)
      if (next !== -1) path.push(next)
      else {
        excludeNode(network, layers, node, path.length - 1)
        path.pop()
      }
    }
  }
  return isAnySent
}

/** Exclude a node from which no path continues. */
const excludeNode = ({ nodes }: PoolNetwork, { level, levels }: Layers, node: number, depth: number): void => {
  level[node] = -1
  if (node >= nodes.job) clearBit((levels[depth] as NodeMarks).takers, node - nodes.job)
  else if (node >= nodes.slot) clearBit((levels[depth] as NodeMarks).givers, node - nodes.slot)
}

/** Return the next node of a path; −1 if no path continues. */
const nextNode = (search: PathSearch, node: number, depth: number): number => {
  const { grid, slot, job } = search.network.nodes
  if (node < grid) return nextAfterPool(search, node, depth)
  if (node < slot) return nextAfterGrid(search, node - grid, depth)
  return node < job ? nextAfterSlot(search, node - slot, depth) : nextAfterJob(search, node - job, depth)
}

const nextAfterPool = ({ network, nodeCosts, layers, triedSlots }: PathSearch, pool: number, depth: number): number => {
  const { slots, prices } = network.queues[pool] as Queue
  for (; (triedSlots[pool] as number) < slots.length; triedSlots[pool] = (triedSlots[pool] as number) + 1) {
    const index = triedSlots[pool] as number
    const grid = network.nodes.grid + (slots[index] as number)
    if (layers.level[grid] === depth && (nodeCosts[pool] as number) + (prices[index] as number) === nodeCosts[grid])
      return grid
  }
  return -1
}

const nextAfterGrid = ({ network, nodeCosts, layers }: PathSearch, slot: number, depth: number): number => {
  const { offers, drawn, gridCapacity, nodes } = network
  const [cost, to] = [nodeCosts[nodes.grid + slot] as number, nodes.slot + slot]
  if (layers.level[to] === depth && (gridCapacity[slot] as number) > 0 && cost === nodeCosts[to]) return to
  for (let offer = offers.firstOffer[slot] as number; offer < (offers.firstOffer[slot + 1] as number); offer += 1) {
    const [pool, price] = [offers.pool[offer] as number, offers.price[offer] as number]
    if (layers.level[pool] === depth && (drawn[offer] as number) > 0 && cost - price === nodeCosts[pool]) return pool
  }
  return -1
}

const nextAfterSlot = ({ network, nodeCosts, layers }: PathSearch, slot: number, depth: number): number => {
  const { graph, gridDrawn, nodes } = network
  const mask = layers.levels[depth]?.takers
  const [from, jobs] = [nodes.slot + slot, graph.flow.unmet.length]
  if (mask === undefined) return -1
  for (
    let job = firstCommonColumn(graph.openTakers, slot, 0, jobs, mask);
    job !== -1;
    job = firstCommonColumn(graph.openTakers, slot, job + 1, jobs, mask)
  ) {
    if (nodeCosts[nodes.job + job] === nodeCosts[from]) return nodes.job + job
  }
  const grid = nodes.grid + slot
  return layers.level[grid] === depth && (gridDrawn[slot] as number) > 0 && nodeCosts[grid] === nodeCosts[from]
    ? grid
    : -1
}

const nextAfterJob = ({ network, nodeCosts, layers }: PathSearch, job: number, depth: number): number => {
  const { graph, nodes } = network
  const mask = layers.levels[depth]?.givers
  if (mask === undefined) return -1
  const last = graph.problem.endSlot[job] as number
  let slot = firstCommonColumn(graph.activeGivers, job, graph.problem.firstSlot[job] as number, last, mask)
  for (; slot !== -1; slot = firstCommonColumn(graph.activeGivers, job, slot + 1, last, mask)) {
    if (nodeCosts[nodes.slot + slot] === nodeCosts[nodes.job + job]) return nodes.slot + slot
  }
  return -1
}

/** Return the remaining capacity from one node to the next. */
const capacityBetween = (network: PoolNetwork, from: number, to: number): number => {
  const { graph, gridCapacity, gridDrawn, drawn, nodes } = network
  if (from < nodes.grid) return Number.POSITIVE_INFINITY
  if (from < nodes.slot)
    return (
      to < nodes.grid ? drawn[findOffer(network, from - nodes.grid, to)] : gridCapacity[from - nodes.grid]
    ) as number
  if (from >= nodes.job) return flowBetween(graph, to - nodes.slot, from - nodes.job)
  return to < nodes.slot
    ? (gridDrawn[to - nodes.grid] as number)
    : residualCapacity(graph, from - nodes.slot, to - nodes.job)
}

/** Add energy from one node to the next. */
const addBetween = (network: PoolNetwork, from: number, to: number, energy: number): void => {
  const { graph, nodes } = network
  if (from < nodes.grid) drawFromPool(network, to - nodes.grid, from, energy)
  else if (from < nodes.slot && to < nodes.grid) drawFromPool(network, from - nodes.grid, to, -energy)
  else if (from < nodes.slot) passGrid(network, from - nodes.grid, energy)
  else if (from >= nodes.job) addFlow(graph, to - nodes.slot, from - nodes.job, -energy)
  else if (to < nodes.slot) passGrid(network, to - nodes.grid, -energy)
  else addFlow(graph, from - nodes.slot, to - nodes.job, energy)
}

const drawFromPool = (network: PoolNetwork, slot: number, pool: number, energy: number): void => {
  const offer = findOffer(network, slot, pool)
  network.drawn[offer] = (network.drawn[offer] as number) + energy
}

const passGrid = ({ gridCapacity, gridDrawn }: PoolNetwork, slot: number, energy: number): void => {
  gridCapacity[slot] = (gridCapacity[slot] as number) - energy
  gridDrawn[slot] = (gridDrawn[slot] as number) + energy
}

/**
 * Send energy along a path, limited by its capacity and `maxEnergy`. Returns the energy, and cuts the path where it is
 * full.
 */
const sendAlong = (network: PoolNetwork, path: number[], maxEnergy: number): number => {
  const { graph, nodes } = network
  const { unmet } = graph.flow
  const job = (path.at(-1) as number) - nodes.job
  let energy = Math.min(maxEnergy, unmet[job] as number)
  for (let index = 1; index < path.length; index += 1) {
    energy = Math.min(energy, capacityBetween(network, path[index - 1] as number, path[index] as number))
  }
  for (let index = 1; index < path.length; index += 1)
    addBetween(network, path[index - 1] as number, path[index] as number, energy)
  unmet[job] = (unmet[job] as number) - energy
  for (let index = 1; index < path.length; index += 1) {
    if (capacityBetween(network, path[index - 1] as number, path[index] as number) > 0) continue
    path.length = index
    break
  }
  return energy
}
