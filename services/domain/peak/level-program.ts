import { type LinearProgram, solveLinearProgram } from './dual-simplex.ts'
import type { PeakGroup, PeakTerm } from './peak-terms.ts'
import { costAt, type PowerPiece } from './power-pieces.ts'

/**
 * Lower bound of the cost of energy under levels of groups (kW): `constant` − Σ slopes × levels, in the currency.
 */
export type LevelCut = { readonly constant: number; readonly slopes: readonly number[] }

/** Levels of all groups, in kW, and a lower bound of the cost of energy and of all terms. */
export type Levels = { readonly levels: readonly number[]; readonly bound: number }

type PieceRange = { readonly first: number; readonly last: number }
type Point = { readonly power: number; readonly cost: number }

/** Return the lower convex hull of the costs of some pieces. */
const lowerHull = (pieces: readonly PowerPiece[]): readonly Point[] => {
  const points = pieces.flatMap(({ from, to, cost, rate }) => [
    { power: from, cost },
    { power: to, cost: cost + rate * (to - from) },
  ])
  const hull: Point[] = []
  for (const point of points.toSorted((a, b) => a.power - b.power || a.cost - b.cost)) {
    if (hull.at(-1)?.power === point.power) continue
    for (; hull.length > 1; hull.pop()) {
      const [a, b] = [hull[hull.length - 2] as Point, hull[hull.length - 1] as Point]
      if ((b.cost - a.cost) * (point.power - a.power) < (point.cost - a.cost) * (b.power - a.power)) break
    }
    hull.push(point)
  }
  return hull
}

type Row = LinearProgram['rows'][number]

const row = (min: number, ...terms: readonly (readonly [number, number])[]): Row => ({
  coefficients: new Map(terms.filter(([, coefficient]) => coefficient !== 0)),
  min,
})

/** Positions of the variables of a program: cost of energy, levels of groups, then power and cost of each term. */
type TermVariables = { readonly power: number; readonly cost: number; readonly next: number }

type ProgramTerm = {
  readonly term: PeakTerm
  readonly groups: readonly number[]
  readonly hull: readonly Point[]
  readonly variables: TermVariables
}

/** Rows of a term: its power is at least the mean of its highest powers, and its cost lies on or above the hull. */
const rowsOfTerm = ({ term, groups, hull, variables }: ProgramTerm, all: readonly PeakGroup[]): readonly Row[] => {
  const { highest, known } = term
  const [first, last] = [hull[0] as Point, hull[hull.length - 1] as Point]
  const minPowerOf = (group: number): number => (all[group] as PeakGroup).minPower
  const rows: Row[] = [row(first.power - last.power, [variables.power, -1])]
  for (const [index, to] of hull.entries()) {
    const from = hull[index - 1]
    if (from === undefined) continue
    const rate = (to.cost - from.cost) / (to.power - from.power)
    rows.push(
      row(from.cost - first.cost - rate * (from.power - first.power), [variables.cost, 1], [variables.power, -rate]),
    )
  }
  if (highest === 1) {
    rows.push(row((known[0] ?? 0) - first.power, [variables.power, 1]))
    for (const group of groups) rows.push(row(minPowerOf(group) - first.power, [variables.power, 1], [group, -1]))
    return rows
  }
  // The sum of the n highest powers is the least value of n × threshold + Σ excess over the threshold.
  const threshold = variables.next
  const excess = [...known, ...groups].map((_, index) => threshold + 1 + index)
  rows.push(
    row(
      -highest * first.power,
      [variables.power, highest],
      [threshold, -highest],
      ...excess.map(variable => [variable, -1] as const),
    ),
  )
  for (const [index, power] of known.entries()) rows.push(row(power, [excess[index] as number, 1], [threshold, 1]))
  for (const [index, group] of groups.entries())
    rows.push(row(minPowerOf(group), [excess[known.length + index] as number, 1], [threshold, 1], [group, -1]))
  return rows
}

/** State of the program: terms, their groups, and cuts. Variable 0 is the cost of energy above `minCost`. */
export type LevelProblem = {
  readonly terms: readonly PeakTerm[]
  readonly groups: readonly PeakGroup[]
  readonly minCost: number
  readonly cuts: readonly LevelCut[]
}

type Node = { readonly ranges: readonly PieceRange[]; readonly bound: number; readonly values: readonly number[] }

const piecesIn = ({ pieces }: PeakTerm, { first, last }: PieceRange): readonly PowerPiece[] =>
  pieces.slice(first, last + 1)

const createTerms = ({ terms, groups }: LevelProblem, ranges: readonly PieceRange[]): readonly ProgramTerm[] => {
  let next = 1 + groups.length
  return terms.map((term, index) => {
    const start = next
    const size = term.highest === 1 ? 2 : 3 + term.known.length + term.groups.length
    next += size
    return {
      term,
      groups: term.groups.map(group => 1 + groups.indexOf(group)),
      hull: lowerHull(piecesIn(term, ranges[index] as PieceRange)),
      variables: { power: start, cost: start + 1, next: start + 2 },
    }
  })
}

/** Solve the program with the convex hull of some pieces of each term; null if it has no solution. */
const solveNode = (problem: LevelProblem, ranges: readonly PieceRange[]): Node | null => {
  const { groups, minCost, cuts } = problem
  const terms = createTerms(problem, ranges)
  const withOffset = [{ minPower: 0, maxPower: 0, intervals: [] }, ...groups]
  const rows = [
    ...cuts.map(({ constant, slopes }) =>
      row(
        constant -
          minCost -
          slopes.reduce((sum, slope, index) => sum + slope * (groups[index] as PeakGroup).minPower, 0),
        [0, 1],
        ...slopes.map((slope, index) => [1 + index, slope] as const),
      ),
    ),
    ...groups.map(({ minPower, maxPower }, index) => row(minPower - maxPower, [1 + index, -1])),
    ...terms.flatMap(term => rowsOfTerm(term, withOffset)),
  ]
  const last = terms.at(-1)
  const count =
    last === undefined
      ? 1 + groups.length
      : last.variables.next + (last.term.highest === 1 ? 0 : 1 + last.term.known.length + last.groups.length)
  const costs = new Array<number>(count).fill(0)
  costs[0] = 1
  for (const { variables } of terms) costs[variables.cost] = 1
  const solution = solveLinearProgram({ costs, rows })
  if (solution === null) return null
  const base = terms.reduce((sum, { hull }) => sum + (hull[0] as Point).cost, minCost)
  return { ranges, bound: base + solution.value, values: solution.values }
}

/** Return the term whose cost the hull underestimates most, with the piece of its power; null if all are exact. */
const findInexact = (problem: LevelProblem, { ranges, values }: Node) => {
  let found: { readonly index: number; readonly piece: number } | null = null
  let largest = 1e-9
  for (const [index, { term, hull, variables }] of createTerms(problem, ranges).entries()) {
    const { first, last } = ranges[index] as PieceRange
    const power = (hull[0] as Point).power + (values[variables.power] as number)
    const cost = (hull[0] as Point).cost + (values[variables.cost] as number)
    const gap = costAt(piecesIn(term, { first, last }), power) - cost
    if (gap <= largest || first === last) continue
    largest = gap
    const piece = term.pieces.findIndex(({ to }, at) => at >= first && power <= to)
    found = { index, piece: piece === -1 ? last : Math.min(piece, last) }
  }
  return found
}

const split = ({ first, last }: PieceRange, piece: number): readonly PieceRange[] =>
  piece === last
    ? [
        { first, last: last - 1 },
        { first: last, last },
      ]
    : [
        { first, last: piece },
        { first: piece + 1, last },
      ]

const maxNodes = 200

/** Round a level up to 1e-9 kW, so that rounding errors do not make a limit too low. */
const roundLevel = (level: number): number => Math.ceil(level * 1e9 - 0.2) / 1e9

/**
 * Find the levels of groups with the least bound: the cuts for energy and the cost of each term. Terms whose cost is not
 * convex are split into parts, the most promising part first. Above `maxNodes` parts the bound is lower than the least.
 * Returns null if rounding errors prevent a solution.
 * Source: Kelley (1960), https://doi.org/10.1137/0108053; Land and Doig (1960), https://doi.org/10.2307/1910129.
 */
export const findLevels = (problem: LevelProblem): Levels | null => {
  const start = problem.terms.map(({ pieces, before }) => ({
    first: Math.max(
      0,
      pieces.findIndex(({ to }) => to >= before - 1e-9),
    ),
    last: pieces.length - 1,
  }))
  const root = solveNode(problem, start)
  let open = root === null ? [] : [root]
  for (let count = 1; ; count += 1) {
    const next = open.reduce<Node | null>(
      (best, node) => (best === null || node.bound < best.bound ? node : best),
      null,
    )
    if (next === null) return null
    const inexact = findInexact(problem, next)
    if (inexact === null || count > maxNodes) {
      const levels = problem.groups.map(({ minPower }, index) =>
        roundLevel(minPower + (next.values[1 + index] as number)),
      )
      return { levels, bound: next.bound }
    }
    open = open.filter(node => node !== next)
    for (const part of split(next.ranges[inexact.index] as PieceRange, inexact.piece)) {
      const node = solveNode(problem, next.ranges.with(inexact.index, part))
      if (node !== null) open.push(node)
    }
  }
}
