import { hourMs } from '../interval.ts'
import type { Money } from '../quantity.ts'
import type { AmountFlow, FlowInput } from '../schedule/flow-input.ts'
import { totalDemand } from '../schedule/flow-input.ts'
import { energyUnitMs } from '../schedule/plan-slots.ts'
import { type CappedFlow, cappedFlow, type SlotIntervals } from './capped-flow.ts'
import type { DirectionPeaks } from './direction-peaks.ts'
import { findLevels, type LevelCut, type LevelProblem } from './level-program.ts'
import type { OpenInterval, PeakTerm } from './peak-terms.ts'
import type { PowerPiece } from './power-pieces.ts'

/**
 * Best flow found, and a lower bound (1e-9) of the sum of energy cost and change of charges of all flows of maximum
 * energy. The flow is the optimum if its own sum is the bound.
 */
export type PeakSearch = { readonly found: AmountFlow; readonly bound: Money }

/** Sum of energy cost and change of charges of a flow. */
type Evaluate = (found: AmountFlow) => Money

/** Interval of a group of intervals, with its weight, length and known energy in kWh. */
type Load = OpenInterval & { readonly group: number; readonly hours: number }

type PeakNetwork = {
  readonly input: FlowInput
  readonly intervals: SlotIntervals
  readonly loads: readonly (readonly Load[])[]
  readonly penalty: number
  readonly margin: Margin
}

/** Distance to a step that rounding must not pass: of the energy of an interval in kWh, and of its power in kW. */
type Margin = { readonly kwh: number; readonly kw: number }

const maxFlows = 100
/** Maximum work, about 15 s, in the unit of `CappedFlow`. */
const maxWork = 500_000_000
/** Work to measure a charge in a month. */
const measureWork = 50_000

/**
 * Return the allowed difference to the optimum, in the currency.
 * Source: docs/rules/schedules.md #amount.
 */
const toleranceOf = (sum: number): number => Math.max(1e-6, 1e-6 * Math.abs(sum)) / 4

/** Return the loads of each interval of demand, by time. */
const loadsByInterval = ({ groups }: DirectionPeaks): readonly (readonly [number, readonly Load[]])[] => {
  const loads = new Map<number, Load[]>()
  for (const [group, { intervals }] of groups.entries()) {
    for (const interval of intervals) {
      const list = loads.get(interval.start) ?? []
      list.push({ ...interval, group, hours: (interval.end - interval.start) / hourMs })
      loads.set(interval.start, list)
    }
  }
  return [...loads].sort((a, b) => a[0] - b[0])
}

/** Return the interval of each slot; −1 for a slot in none. Slots are in order of time. */
const intervalsOfSlots = ({ slots }: FlowInput, loads: readonly (readonly Load[])[]): Int32Array => {
  let interval = 0
  return Int32Array.from(slots, ({ start }) => {
    while (interval < loads.length && (loads[interval]?.[0]?.end ?? 0) <= start) interval += 1
    return (loads[interval]?.[0]?.start ?? Number.POSITIVE_INFINITY) <= start ? interval : -1
  })
}

/** Return the rises of the cost of a term at the edges of its pieces, in the currency. */
const jumpsOf = ({ pieces }: PeakTerm): readonly number[] =>
  pieces.slice(1).flatMap(({ cost }, index) => {
    const before = pieces[index] as PowerPiece
    const jump = cost - before.cost - before.rate * (before.to - before.from)
    return jump > 1e-9 ? [jump] : []
  })

/**
 * Return a price (1e-9 per kWh) of energy over a limit, at which a level that rises instead is cheaper. Jumps of the
 * cost have no such price; they count as if each rose over 10 W.
 */
const penaltyOf = ({ slots, sign }: FlowInput, { terms, groups }: DirectionPeaks): number => {
  const prices = slots.flatMap(({ price, generated }) => [
    Number(sign * (price.steps[0]?.price ?? 0n)),
    Number(sign * generated.price),
  ])
  const range = prices.reduce((a, b) => Math.max(a, b), 0) - prices.reduce((a, b) => Math.min(a, b), 0)
  const rates = terms.reduce((sum, { pieces }) => sum + Math.max(...pieces.map(({ rate }) => rate)), 0)
  const jumps = terms.reduce((sum, term) => sum + Math.max(0, ...jumpsOf(term)), 0)
  const factors = groups.flatMap(({ intervals }) =>
    intervals.map(({ start, end, weight }) => (weight * hourMs) / (end - start)),
  )
  const highest = factors.reduce((max, factor) => Math.max(max, factor), 1)
  return Math.min(1e15, Math.ceil(range + (1.5 * rates + 100 * jumps) * highest * 1e9))
}

/**
 * Return the distance to a step. The energy of each job is rounded to 1e-9 kWh. The mean of n powers is rounded to 1e-9 kW,
 * so their sum can be n / 2 · 1e-9 kW higher. The margin of the energy includes one power.
 */
const marginOf = ({ problem }: FlowInput, terms: readonly PeakTerm[]): Margin => {
  const highest = terms.filter(term => jumpsOf(term).length > 0).map(term => term.highest)
  if (highest.length === 0) return { kwh: 0, kw: 0 }
  return { kwh: (problem.demand.length + 2) * 1e-9, kw: (Math.max(...highest) - 1) * 1e-9 }
}

const createNetwork = (input: FlowInput, peaks: DirectionPeaks): PeakNetwork => {
  const loads = loadsByInterval(peaks).map(([, list]) => list)
  return {
    input,
    loads,
    intervals: { ofSlot: intervalsOfSlots(input, loads), count: loads.length },
    penalty: penaltyOf(input, peaks),
    margin: marginOf(input, peaks.terms),
  }
}

/** Limit of an interval on the scale of the flow, and the group that sets it. */
type Limit = { readonly load: Load | null; readonly limit: number }

const limitsOf = ({ input, loads, margin }: PeakNetwork, levels: readonly number[] | null): readonly Limit[] => {
  // A limit above the demand is never reached, so that it has no value. A level must not get the value of a lower limit.
  const unreached = totalDemand(input.problem) + 1
  const unitsOfEnergy = Number(energyUnitMs / input.scale.unit)
  return loads.map(list => {
    let tightest: { readonly load: Load | null; readonly kwh: number } = { load: null, kwh: Number.POSITIVE_INFINITY }
    for (const load of levels === null ? [] : list) {
      const power = (levels?.[load.group] ?? 0) - margin.kw
      const kwh = (power * load.hours) / load.weight - load.base - margin.kwh
      if (kwh < tightest.kwh) tightest = { load, kwh }
    }
    const { load, kwh } = tightest
    if (load === null) return { load, limit: unreached }
    return { load, limit: Math.min(unreached, Math.max(0, Math.floor(kwh * 1e9) * unitsOfEnergy)) }
  })
}

/** Return the lower bound of the energy cost that a flow proves for all levels. */
const cutOf = (
  { input }: PeakNetwork,
  limits: readonly Limit[],
  { cost, values }: CappedFlow,
  groups: number,
): LevelCut => {
  const kwhOfUnit = Number(input.scale.unit) / Number(energyUnitMs) / 1e9
  const slopes = new Array<number>(groups).fill(0)
  let constant = cost
  for (const [index, { load, limit }] of limits.entries()) {
    const value = values[index] as number
    if (load === null || value === 0) continue
    constant += value * (limit * kwhOfUnit + load.base)
    slopes[load.group] = (slopes[load.group] as number) + (value * load.hours) / load.weight
  }
  return { constant, slopes }
}

const sumOf = (money: Money): number => Number(money) / 1e9

/**
 * Search the flow with the least sum of energy cost and change of charges, among flows of maximum energy.
 * Each level limits the power of a group of intervals. A flow under levels proves a lower bound of the energy cost under
 * all levels. The next levels minimise these bounds and the charges together. The search ends if the best flow is within
 * the tolerance of the bound, if the levels repeat, or at its limits of work. `plain` is the flow without charges.
 * Source: Benders (1962), https://doi.org/10.1007/BF01386316.
 */
export const searchPeaks = (
  input: FlowInput,
  plain: AmountFlow,
  peaks: DirectionPeaks,
  evaluate: Evaluate,
): PeakSearch => {
  const network = createNetwork(input, peaks)
  let best = { found: plain, sum: evaluate(plain) }
  let problem: LevelProblem = { terms: peaks.terms, groups: peaks.groups, minCost: 0, cuts: [] }
  let [bound, work]: [number, number] = [Number.NEGATIVE_INFINITY, 0]
  const tried = new Set<string>()
  let levels: readonly number[] | null = null
  for (let flows = 1; ; flows += 1) {
    const limits = limitsOf(network, levels)
    const capped: CappedFlow = cappedFlow(
      input,
      network.intervals,
      Float64Array.from(limits, ({ limit }) => limit),
      network.penalty,
    )
    work += capped.work + peaks.meter.months.length * (measureWork + 2 * input.slots.length)
    work += 2 * capped.found.flow.energy.length
    if (levels === null) problem = { ...problem, minCost: capped.cost }
    else problem = { ...problem, cuts: [...problem.cuts, cutOf(network, limits, capped, peaks.groups.length)] }
    const sum: Money = evaluate(capped.found)
    if (sum < best.sum) best = { found: capped.found, sum }
    const next = findLevels(problem)
    if (next !== null) bound = Math.max(bound, next.bound - peaks.before + peaks.minChange)
    if (sumOf(best.sum) - bound <= toleranceOf(sumOf(best.sum))) return { found: best.found, bound: best.sum }
    const key = next?.levels.map(level => level.toFixed(7)).join(' ') ?? ''
    if (next === null || tried.has(key) || flows >= maxFlows || work >= maxWork) break
    tried.add(key)
    levels = next.levels
  }
  // Rounding errors of the search are far below this.
  const proven = bound - 1e-9 * Math.max(1, Math.abs(bound))
  return { found: best.found, bound: BigInt(Math.floor(proven * 1e9)) }
}
