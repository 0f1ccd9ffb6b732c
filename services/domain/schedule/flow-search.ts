import { clearBit, collectUnseen, firstCommonColumn, setBits } from './bit-rows.ts'
import type { Flow, FlowProblem } from './flow-problem.ts'
import {
  addFlow,
  createMarks,
  createResidualGraph,
  flowBetween,
  type NodeMarks,
  type ResidualGraph,
  residualCapacity,
} from './residual-graph.ts'

/**
 * Flow from givers to takers. `demand` is the missing energy of each taker. The last search reached the nodes in
 * `seen`, step by step in `levels`. Nodes in `closed` can never get further energy.
 */
export type FlowSearch = ResidualGraph & {
  readonly demand: Float64Array
  readonly closed: NodeMarks
  readonly seen: NodeMarks
  readonly levels: NodeMarks[]
}

/** Create a search with an empty flow. */
export const createFlowSearch = (
  problem: FlowProblem,
  flow: Flow,
  demand: Float64Array,
  isByJob: boolean,
): FlowSearch => {
  const graph = createResidualGraph(problem, flow, isByJob)
  return { ...graph, demand, closed: createMarks(graph), seen: createMarks(graph), levels: [] }
}

/** Range of columns that a row can have set: the window of a job, or all jobs. */
const firstColumn = ({ problem }: FlowSearch, row: number, isJobRow: boolean): number =>
  isJobRow ? (problem.firstSlot[row] as number) : 0
const endColumn = ({ problem }: FlowSearch, row: number, isJobRow: boolean): number =>
  isJobRow ? (problem.endSlot[row] as number) : problem.demand.length

/**
 * Draw the available energy of some givers by moving other energy between givers. At the end, `available` is the energy
 * of each giver that no taker can take. Fills all shortest paths before the next search.
 * Source: Dinitz (1970), https://en.wikipedia.org/wiki/Dinic's_algorithm.
 */
export const drawAvailable = (flowSearch: FlowSearch, givers: readonly number[], available: Float64Array): void => {
  for (;;) {
    const sources = givers.filter(giver => (available[giver] as number) > 0)
    if (sources.length === 0) return
    const depth = findLevels(flowSearch, sources)
    if (depth === 0) {
      // Nodes reached by a search without result can never take or give more, so no later search visits them.
      copyMarks(flowSearch.closed, flowSearch.seen)
      return
    }
    for (const source of sources) pushAvailable(flowSearch, source, available, depth)
  }
}

const copyMarks = (marks: NodeMarks, { givers, takers }: NodeMarks): void => {
  marks.givers.set(givers)
  marks.takers.set(takers)
}

/**
 * Search from givers, over givers that can free capacity, to the nearest takers with demand. Returns the number of
 * levels; 0 if no taker has demand.
 */
const findLevels = (flowSearch: FlowSearch, sources: readonly number[]): number => {
  const { demand, isByJob, openTakers, activeGivers, closed, seen, levels } = flowSearch
  copyMarks(seen, closed)
  setBits(seen.givers, sources)
  let givers = sources
  for (let depth = 0; givers.length > 0; depth += 1) {
    const [takers, next]: [number[], number[]] = [[], []]
    for (const giver of givers) {
      collectUnseen(
        openTakers,
        giver,
        firstColumn(flowSearch, giver, isByJob),
        endColumn(flowSearch, giver, isByJob),
        seen.takers,
        takers,
      )
    }
    levels[depth] ??= createMarks(flowSearch)
    const level = levels[depth] as NodeMarks
    setBits(level.givers.fill(0), givers)
    setBits(level.takers.fill(0), takers)
    if (takers.some(taker => (demand[taker] as number) > 0)) return depth + 1
    for (const taker of takers) {
      collectUnseen(
        activeGivers,
        taker,
        firstColumn(flowSearch, taker, !isByJob),
        endColumn(flowSearch, taker, !isByJob),
        seen.givers,
        next,
      )
    }
    givers = next
  }
  return 0
}

/**
 * Path from giver to giver: each taker moves from the giver after it to the giver before it, and the last taker takes
 * more.
 */
type FlowPath = { readonly givers: number[]; readonly takers: number[] }

/** Push the available energy of a giver along all paths that the search found. */
const pushAvailable = (flowSearch: FlowSearch, source: number, available: Float64Array, depth: number): void => {
  const { demand, isByJob, openTakers, activeGivers, levels } = flowSearch
  const path: FlowPath = { givers: [source], takers: [] }
  while ((available[source] as number) > 0) {
    const position = path.givers.length - 1
    const giver = path.givers[position] as number
    if (path.takers.length === position) {
      const mask = (levels[position] as NodeMarks).takers
      const taker = firstCommonColumn(
        openTakers,
        giver,
        firstColumn(flowSearch, giver, isByJob),
        endColumn(flowSearch, giver, isByJob),
        mask,
      )
      if (taker !== -1) path.takers.push(taker)
      else if (position === 0) return
      else {
        clearBit((levels[position] as NodeMarks).givers, giver)
        path.givers.pop()
      }
      continue
    }
    const taker = path.takers[position] as number
    if ((demand[taker] as number) > 0) {
      available[source] = (available[source] as number) - pushAlong(flowSearch, path, available[source] as number)
      continue
    }
    const mask = position + 1 < depth ? (levels[position + 1] as NodeMarks).givers : null
    const next =
      mask === null
        ? -1
        : firstCommonColumn(
            activeGivers,
            taker,
            firstColumn(flowSearch, taker, !isByJob),
            endColumn(flowSearch, taker, !isByJob),
            mask,
          )
    if (next !== -1) path.givers.push(next)
    else {
      clearBit((levels[position] as NodeMarks).takers, taker)
      path.takers.pop()
    }
  }
}

/**
 * Move energy along a path, limited by its capacity and `maxEnergy`. Returns the energy, and cuts the path where it is
 * full.
 */
const pushAlong = (flowSearch: FlowSearch, { givers, takers }: FlowPath, maxEnergy: number): number => {
  const { demand } = flowSearch
  const last = takers.length - 1
  const capacityAt = (step: number): number =>
    residualCapacity(flowSearch, givers[step] as number, takers[step] as number)
  const energyAfter = (step: number): number =>
    step === last
      ? Number.POSITIVE_INFINITY
      : flowBetween(flowSearch, givers[step + 1] as number, takers[step] as number)
  const end = takers[last] as number
  let energy = Math.min(maxEnergy, demand[end] as number)
  for (let step = 0; step <= last; step += 1) energy = Math.min(energy, capacityAt(step), energyAfter(step))
  for (let step = 0; step <= last; step += 1) {
    addFlow(flowSearch, givers[step] as number, takers[step] as number, energy)
    if (step < last) addFlow(flowSearch, givers[step + 1] as number, takers[step] as number, -energy)
  }
  demand[end] = (demand[end] as number) - energy
  for (let step = 0; step <= last; step += 1) {
    const isFull = capacityAt(step) <= 0
    if (!isFull && energyAfter(step) > 0) continue
    givers.length = step + 1
    takers.length = isFull ? step : step + 1
    break
  }
  return energy
}
