import { clearBit, firstCommon } from './bit-rows.ts'
import { add, energyOf, type Marks, roomFor } from './moves.ts'
import { type Distances, distancesOf } from './pool-distances.ts'
import { isNearest, type Layers, layersOf } from './pool-layers.ts'
import { offerTo, type PoolNetwork, type Queue } from './pool-network.ts'

/**
 * Send as much as possible to jobs at the least cost. The cheapest ways come first, and of those the ones of the fewest steps, each with as
 * much as it holds. Gives how many searches that took. The network has no cycle of negative cost. Yields between searches, so that a caller
 * may pause.
 * Source: Ahuja, Magnanti, Orlin, Network Flows (1993), 9.8, https://openlibrary.org/isbn/9780136175490.
 */
export function* fillFromPools(network: PoolNetwork): Generator<undefined, number> {
  for (let searches = 1; ; searches += 1) {
    yield undefined
    const distances = distancesOf(network)
    if (distances.nearest === Number.POSITIVE_INFINITY) return searches
    yield undefined
    const layers = layersOf(network, distances)
    const isAny = sendAll({ network, at: distances.at, distances, layers, tried: new Int32Array(network.pools.length) })
    // Beyond 2^53 a cost is not exact, and a way of it may not be found again.
    if (!isAny) return searches
  }
}

/** `tried` is how many of its slots each pool has been left by. */
type Search = {
  readonly network: PoolNetwork
  readonly at: Float64Array
  readonly distances: Distances
  readonly layers: Layers
  readonly tried: Int32Array
}

/** Send what the cheapest ways of the fewest steps hold; tells whether there was any. */
const sendAll = (search: Search): boolean => {
  const { network, distances, layers } = search
  const { nodes, poolRoom, ownRoom } = network
  let isAny = false
  for (const source of layers.sources) {
    const [room, place] = source < nodes.grid ? [poolRoom, source] : [ownRoom, source - nodes.slot]
    const way = [source]
    while (way.length > 0 && (room[place] as number) > 0) {
      const node = way.at(-1) as number
      if (isNearest(network, distances, node)) {
        room[place] = (room[place] as number) - send(network, way, room[place] as number)
        isAny = true
        continue
      }
      const next = stepFrom(search, node, way.length)
      if (next !== -1) way.push(next)
      else {
        leaveOut(network, layers, node, way.length - 1)
        way.pop()
      }
    }
  }
  return isAny
}

/** No way leads on from a node: leave it out. */
const leaveOut = ({ nodes }: PoolNetwork, { level, levels }: Layers, node: number, depth: number): void => {
  level[node] = -1
  if (node >= nodes.job) clearBit((levels[depth] as Marks).takers, node - nodes.job)
  else if (node >= nodes.slot) clearBit((levels[depth] as Marks).givers, node - nodes.slot)
}

/** Give the next node on a way; −1 when none leads on. */
const stepFrom = (search: Search, node: number, depth: number): number => {
  const { grid, slot, job } = search.network.nodes
  if (node < grid) return stepFromPool(search, node, depth)
  if (node < slot) return stepFromGrid(search, node - grid, depth)
  return node < job ? stepFromSlot(search, node - slot, depth) : stepFromJob(search, node - job, depth)
}

const stepFromPool = ({ network, at, layers, tried }: Search, pool: number, depth: number): number => {
  const { slots, prices } = network.queues[pool] as Queue
  for (; (tried[pool] as number) < slots.length; tried[pool] = (tried[pool] as number) + 1) {
    const place = tried[pool] as number
    const grid = network.nodes.grid + (slots[place] as number)
    if (layers.level[grid] === depth && (at[pool] as number) + (prices[place] as number) === at[grid]) return grid
  }
  return -1
}

const stepFromGrid = ({ network, at, layers }: Search, slot: number, depth: number): number => {
  const { offers, drawn, gridRoom, nodes } = network
  const [cost, to] = [at[nodes.grid + slot] as number, nodes.slot + slot]
  if (layers.level[to] === depth && (gridRoom[slot] as number) > 0 && cost === at[to]) return to
  for (let offer = offers.at[slot] as number; offer < (offers.at[slot + 1] as number); offer += 1) {
    const [pool, price] = [offers.pool[offer] as number, offers.price[offer] as number]
    if (layers.level[pool] === depth && (drawn[offer] as number) > 0 && cost - price === at[pool]) return pool
  }
  return -1
}

const stepFromSlot = ({ network, at, layers }: Search, slot: number, depth: number): number => {
  const { moves, gridDrawn, nodes } = network
  const mask = layers.levels[depth]?.takers
  const [from, jobs] = [nodes.slot + slot, moves.flow.unmet.length]
  if (mask === undefined) return -1
  for (let job = firstCommon(moves.open, slot, 0, jobs, mask); job !== -1; job = firstCommon(moves.open, slot, job + 1, jobs, mask)) {
    if (at[nodes.job + job] === at[from]) return nodes.job + job
  }
  const grid = nodes.grid + slot
  return layers.level[grid] === depth && (gridDrawn[slot] as number) > 0 && at[grid] === at[from] ? grid : -1
}

const stepFromJob = ({ network, at, layers }: Search, job: number, depth: number): number => {
  const { moves, nodes } = network
  const mask = layers.levels[depth]?.givers
  if (mask === undefined) return -1
  const last = moves.problem.last[job] as number
  let slot = firstCommon(moves.running, job, moves.problem.first[job] as number, last, mask)
  for (; slot !== -1; slot = firstCommon(moves.running, job, slot + 1, last, mask)) {
    if (at[nodes.slot + slot] === at[nodes.job + job]) return nodes.slot + slot
  }
  return -1
}

/** Give how much more may go from one node to the next. */
const roomBetween = (network: PoolNetwork, from: number, to: number): number => {
  const { moves, gridRoom, gridDrawn, drawn, nodes } = network
  if (from < nodes.grid) return Number.POSITIVE_INFINITY
  if (from < nodes.slot) return (to < nodes.grid ? drawn[offerTo(network, from - nodes.grid, to)] : gridRoom[from - nodes.grid]) as number
  if (from >= nodes.job) return energyOf(moves, to - nodes.slot, from - nodes.job)
  return to < nodes.slot ? (gridDrawn[to - nodes.grid] as number) : roomFor(moves, from - nodes.slot, to - nodes.job)
}

/** Let so much go from one node to the next. */
const moveBetween = (network: PoolNetwork, from: number, to: number, energy: number): void => {
  const { moves, nodes } = network
  if (from < nodes.grid) draw(network, to - nodes.grid, from, energy)
  else if (from < nodes.slot && to < nodes.grid) draw(network, from - nodes.grid, to, -energy)
  else if (from < nodes.slot) pass(network, from - nodes.grid, energy)
  else if (from >= nodes.job) add(moves, to - nodes.slot, from - nodes.job, -energy)
  else if (to < nodes.slot) pass(network, to - nodes.grid, -energy)
  else add(moves, from - nodes.slot, to - nodes.job, energy)
}

const draw = (network: PoolNetwork, slot: number, pool: number, energy: number): void => {
  const offer = offerTo(network, slot, pool)
  network.drawn[offer] = (network.drawn[offer] as number) + energy
}

const pass = ({ gridRoom, gridDrawn }: PoolNetwork, slot: number, energy: number): void => {
  gridRoom[slot] = (gridRoom[slot] as number) - energy
  gridDrawn[slot] = (gridDrawn[slot] as number) + energy
}

/** Send as much along a way as it holds, at most `most`; gives how much, and cuts the way where it is used up. */
const send = (network: PoolNetwork, way: number[], most: number): number => {
  const { moves, nodes } = network
  const { unmet } = moves.flow
  const job = (way.at(-1) as number) - nodes.job
  let energy = Math.min(most, unmet[job] as number)
  for (let place = 1; place < way.length; place += 1) {
    energy = Math.min(energy, roomBetween(network, way[place - 1] as number, way[place] as number))
  }
  for (let place = 1; place < way.length; place += 1) moveBetween(network, way[place - 1] as number, way[place] as number, energy)
  unmet[job] = (unmet[job] as number) - energy
  for (let place = 1; place < way.length; place += 1) {
    if (roomBetween(network, way[place - 1] as number, way[place] as number) > 0) continue
    way.length = place
    break
  }
  return energy
}
