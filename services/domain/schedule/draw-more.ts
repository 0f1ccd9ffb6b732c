import { clearBit, firstCommon, setBits, takeUnseen } from './bit-rows.ts'
import type { Flow, FlowProblem } from './flow-problem.ts'
import { add, energyOf, type Marks, type Moves, marksOf, openMoves, roomFor } from './moves.ts'

/**
 * A flow that is drawn from givers. `wanted` is what each taker still wants. The last search has reached all that is `seen`, step by step in
 * `levels`. What more energy can never reach is `closed`.
 */
export type Drawing = Moves & {
  readonly wanted: Float64Array
  readonly closed: Marks
  readonly seen: Marks
  readonly levels: Marks[]
}

/** Begin with an empty flow. */
export const openDrawing = (problem: FlowProblem, flow: Flow, wanted: Float64Array, isByJob: boolean): Drawing => {
  const moves = openMoves(problem, flow, isByJob)
  return { ...moves, wanted, closed: marksOf(moves), seen: marksOf(moves), levels: [] }
}

/** The columns that a row can have up: the window of a job, or all jobs. */
const firstIn = ({ problem }: Drawing, row: number, isJob: boolean): number => (isJob ? (problem.first[row] as number) : 0)
const lastIn = ({ problem }: Drawing, row: number, isJob: boolean): number =>
  isJob ? (problem.last[row] as number) : problem.demand.length

/**
 * Draw what is left in some givers by moving energy of others out of them or into them; `left`, for each giver, is what nobody can take
 * when it ends. Fills all shortest ways before it searches again. Yields between searches.
 * Source: Dinitz (1970), https://en.wikipedia.org/wiki/Dinic's_algorithm.
 */
export function* drawMore(drawing: Drawing, givers: readonly number[], left: Float64Array): Generator<undefined, void> {
  for (;;) {
    const sources = givers.filter(giver => (left[giver] as number) > 0)
    if (sources.length === 0) return
    yield undefined
    const depth = search(drawing, sources)
    if (depth === 0) {
      // What a search without result has reached can never take or give more: no later search needs to go there.
      mark(drawing.closed, drawing.seen)
      return
    }
    for (const source of sources) pushFrom(drawing, source, left, depth)
  }
}

const mark = (marks: Marks, { givers, takers }: Marks): void => {
  marks.givers.set(givers)
  marks.takers.set(takers)
}

/** Walk from givers over all that can make room in them to the nearest takers that want energy; gives the number of levels, 0 when none wants any. */
const search = (drawing: Drawing, sources: readonly number[]): number => {
  const { wanted, isByJob, open, running, closed, seen, levels } = drawing
  mark(seen, closed)
  setBits(seen.givers, sources)
  let givers = sources
  for (let depth = 0; givers.length > 0; depth += 1) {
    const [takers, next]: [number[], number[]] = [[], []]
    for (const giver of givers) {
      takeUnseen(open, giver, firstIn(drawing, giver, isByJob), lastIn(drawing, giver, isByJob), seen.takers, takers)
    }
    levels[depth] ??= marksOf(drawing)
    const level = levels[depth] as Marks
    setBits(level.givers.fill(0), givers)
    setBits(level.takers.fill(0), takers)
    if (takers.some(taker => (wanted[taker] as number) > 0)) return depth + 1
    for (const taker of takers) {
      takeUnseen(running, taker, firstIn(drawing, taker, !isByJob), lastIn(drawing, taker, !isByJob), seen.givers, next)
    }
    givers = next
  }
  return 0
}

/** A way from giver to giver: each taker moves from the giver behind it to that before it, and the last taker takes more. */
type Way = { readonly givers: number[]; readonly takers: number[] }

/** Push what is left in a giver along all ways that the search found. */
const pushFrom = (drawing: Drawing, source: number, left: Float64Array, depth: number): void => {
  const { wanted, isByJob, open, running, levels } = drawing
  const way: Way = { givers: [source], takers: [] }
  while ((left[source] as number) > 0) {
    const at = way.givers.length - 1
    const giver = way.givers[at] as number
    if (way.takers.length === at) {
      const mask = (levels[at] as Marks).takers
      const taker = firstCommon(open, giver, firstIn(drawing, giver, isByJob), lastIn(drawing, giver, isByJob), mask)
      if (taker !== -1) way.takers.push(taker)
      else if (at === 0) return
      else {
        clearBit((levels[at] as Marks).givers, giver)
        way.givers.pop()
      }
      continue
    }
    const taker = way.takers[at] as number
    if ((wanted[taker] as number) > 0) {
      left[source] = (left[source] as number) - pushAlong(drawing, way, left[source] as number)
      continue
    }
    const mask = at + 1 < depth ? (levels[at + 1] as Marks).givers : null
    const next = mask === null ? -1 : firstCommon(running, taker, firstIn(drawing, taker, !isByJob), lastIn(drawing, taker, !isByJob), mask)
    if (next !== -1) way.givers.push(next)
    else {
      clearBit((levels[at] as Marks).takers, taker)
      way.takers.pop()
    }
  }
}

/** Move as much energy along a way as it holds, at most `most`; gives how much, and cuts the way where it is used up. */
const pushAlong = (drawing: Drawing, { givers, takers }: Way, most: number): number => {
  const { wanted } = drawing
  const last = takers.length - 1
  const roomAt = (place: number): number => roomFor(drawing, givers[place] as number, takers[place] as number)
  const energyBehind = (place: number): number =>
    place === last ? Number.POSITIVE_INFINITY : energyOf(drawing, givers[place + 1] as number, takers[place] as number)
  const end = takers[last] as number
  let energy = Math.min(most, wanted[end] as number)
  for (let place = 0; place <= last; place += 1) energy = Math.min(energy, roomAt(place), energyBehind(place))
  for (let place = 0; place <= last; place += 1) {
    add(drawing, givers[place] as number, takers[place] as number, energy)
    if (place < last) add(drawing, givers[place + 1] as number, takers[place] as number, -energy)
  }
  wanted[end] = (wanted[end] as number) - energy
  for (let place = 0; place <= last; place += 1) {
    const isFull = roomAt(place) <= 0
    if (!isFull && energyBehind(place) > 0) continue
    givers.length = place + 1
    takers.length = isFull ? place : place + 1
    break
  }
  return energy
}
