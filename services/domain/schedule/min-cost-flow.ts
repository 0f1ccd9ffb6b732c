/** A directed network; arcs in a fixed order. Capacities and costs are plain whole numbers, capacities above or equal to 0. */
export type Network = { readonly nodes: number; readonly arcs: readonly Arc[] }

export type Arc = { readonly from: number; readonly to: number; readonly capacity: number; readonly cost: number }

/**
 * The residual network: arc i goes forth as 2i and back as 2i + 1. `first` and `next` chain the arcs that leave a node. `potential`
 * makes each reduced cost (`cost` + potential of its tail − potential of its head) of an arc with room 0 or more.
 */
type Residual = {
  readonly head: Int32Array
  readonly room: Float64Array
  readonly cost: Float64Array
  readonly first: Int32Array
  readonly next: Int32Array
  readonly potential: Float64Array
}

/**
 * Send as much as possible from `source` to `sink` at the least cost; gives what flows on each arc.
 * Shortest paths by reduced costs, and on each length of path as much as all paths of that length hold. The network has no cycle of
 * negative cost. Yields between lengths, so that a caller may pause.
 * Source: Ahuja, Magnanti, Orlin, Network Flows (1993), chapter 9.8.
 */
export function* minCostFlow(network: Network, source: number, sink: number): Generator<undefined, Float64Array> {
  const residual = residualOf(network)
  while (shorten(residual, source, sink)) {
    yield undefined
    const level = levelsOf(residual, source, sink)
    // Beyond 2^53 a length is not exact, and a path of it may not be found again.
    if (level === null) break
    sendAll(residual, level, source, sink)
    yield undefined
  }
  return Float64Array.from(network.arcs, (_, index) => residual.room[2 * index + 1] as number)
}

const residualOf = ({ nodes, arcs }: Network): Residual => {
  const [head, next] = [new Int32Array(arcs.length * 2), new Int32Array(arcs.length * 2)]
  const [room, cost] = [new Float64Array(arcs.length * 2), new Float64Array(arcs.length * 2)]
  const first = new Int32Array(nodes).fill(-1)
  for (const [index, arc] of arcs.entries()) {
    const ends = [
      [2 * index, arc.from, arc.to, arc.capacity, arc.cost],
      [2 * index + 1, arc.to, arc.from, 0, 0 - arc.cost],
    ] as const
    for (const [at, from, to, capacity, price] of ends) {
      head[at] = to
      room[at] = capacity
      cost[at] = price
      next[at] = first[from] as number
      first[from] = at
    }
  }
  const residual = { head, room, cost, first, next, potential: new Float64Array(nodes) }
  settlePotentials(residual, arcs)
  return residual
}

/** Cheapest costs of all nodes when each may be entered for nothing: with them no arc has a negative reduced cost. */
const settlePotentials = ({ potential }: Residual, arcs: readonly Arc[]): void => {
  for (let isSettled = false; !isSettled; ) {
    isSettled = true
    for (const { from, to, capacity, cost } of arcs) {
      const reached = (potential[from] as number) + cost
      if (capacity <= 0 || reached >= (potential[to] as number)) continue
      potential[to] = reached
      isSettled = false
    }
  }
}

const reducedCost = ({ cost, potential, head }: Residual, from: number, arc: number): number =>
  (cost[arc] as number) + (potential[from] as number) - (potential[head[arc] as number] as number)

/** Add the distances from the source to the potentials; false when the sink is out of reach. */
const shorten = (residual: Residual, source: number, sink: number): boolean => {
  const { head, room, first, next, potential } = residual
  const distance = new Float64Array(potential.length).fill(Number.POSITIVE_INFINITY)
  distance[source] = 0
  const queue = nearestFirst()
  // Most nodes are as near as the one before them: those need no place in the queue.
  const near = [source]
  let here = 0
  // What is no nearer than the sink needs no distance of its own.
  while (here < (distance[sink] as number)) {
    let node = near.pop()
    if (node === undefined) {
      const at = queue.pop()
      if (at === undefined) break
      if (at.distance > (distance[at.node] as number)) continue
      node = at.node
      here = at.distance
      if (here >= (distance[sink] as number)) break
    }
    for (let arc = first[node] as number; arc !== -1; arc = next[arc] as number) {
      if ((room[arc] as number) <= 0) continue
      const to = head[arc] as number
      const reached = here + Math.max(0, reducedCost(residual, node, arc))
      if (reached >= (distance[to] as number)) continue
      distance[to] = reached
      if (reached === here) near.push(to)
      else queue.push(to, reached)
    }
  }
  const limit = distance[sink] as number
  if (limit === Number.POSITIVE_INFINITY) return false
  for (let node = 0; node < potential.length; node += 1) {
    potential[node] = (potential[node] as number) + Math.min(distance[node] as number, limit)
  }
  return true
}

/** How many arcs of no reduced cost lie between the source and each node; null when none lead to the sink. */
const levelsOf = (residual: Residual, source: number, sink: number): Int32Array | null => {
  const { head, room, first, next } = residual
  const level = new Int32Array(first.length).fill(-1)
  level[source] = 0
  const reached = [source]
  for (const node of reached) {
    for (let arc = first[node] as number; arc !== -1; arc = next[arc] as number) {
      const to = head[arc] as number
      if (level[to] !== -1 || (room[arc] as number) <= 0 || reducedCost(residual, node, arc) > 0) continue
      level[to] = (level[node] as number) + 1
      if (to === sink) return level
      reached.push(to)
    }
  }
  return null
}

/** Send what the paths that rise level by level hold. */
const sendAll = (residual: Residual, level: Int32Array, source: number, sink: number): void => {
  const { head, room, next } = residual
  const current = residual.first.slice()
  const path: number[] = []
  const tail = (): number => (path.length === 0 ? source : (head[path.at(-1) as number] as number))
  for (;;) {
    const node = tail()
    if (node === sink) {
      const sent = Math.min(...path.map(arc => room[arc] as number))
      for (const arc of path) {
        room[arc] = (room[arc] as number) - sent
        room[arc ^ 1] = (room[arc ^ 1] as number) + sent
      }
      path.length = path.findIndex(arc => (room[arc] as number) <= 0)
      continue
    }
    const arc = current[node] as number
    if (arc === -1) {
      if (path.length === 0) return
      path.pop()
      current[tail()] = next[current[tail()] as number] as number
      continue
    }
    const to = head[arc] as number
    const isOpen = (room[arc] as number) > 0 && level[to] === (level[node] as number) + 1 && reducedCost(residual, node, arc) <= 0
    if (isOpen) path.push(arc)
    else current[node] = next[arc] as number
  }
}

type Waiting = { readonly node: number; readonly distance: number }

/** A heap that gives the nearest node first. */
const nearestFirst = () => {
  const heap: Waiting[] = []
  const isNearer = (a: number, b: number): boolean => (heap[a] as Waiting).distance < (heap[b] as Waiting).distance
  const swap = (a: number, b: number): void => {
    const held = heap[a] as Waiting
    heap[a] = heap[b] as Waiting
    heap[b] = held
  }
  const push = (node: number, distance: number): void => {
    let at = heap.push({ node, distance }) - 1
    for (let parent = (at - 1) >> 1; at > 0 && isNearer(at, parent); parent = (at - 1) >> 1) {
      swap(at, parent)
      at = parent
    }
  }
  const pop = (): Waiting | undefined => {
    if (heap.length < 2) return heap.pop()
    swap(0, heap.length - 1)
    const nearest = heap.pop()
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      const child = right < heap.length && isNearer(right, left) ? right : left
      if (child >= heap.length || !isNearer(child, at)) return nearest
      swap(at, child)
      at = child
    }
  }
  return { push, pop }
}
