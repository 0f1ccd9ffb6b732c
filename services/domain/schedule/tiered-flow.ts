import type { Energy, Price } from '../quantity.ts'
import type { PlanPrice } from './amount-request.ts'
import { type AmountFlow, type FlowInput, gridCapacity, totalDemand } from './flow-input.ts'
import { cellOf, emptyFlow } from './flow-problem.ts'
import { type Arc, minCostFlow } from './min-cost-flow.ts'
import { energyUnit, onScale } from './plan-slots.ts'

/** The bounds of each accumulator's tiers, rising, counted from where it stands when the plan begins. */
export type TierBounds = ReadonlyMap<string, readonly Energy[]>

/** Gather the bounds of all spans that share an accumulator. */
export const boundsOf = ({ slots }: Pick<FlowInput, 'slots'>): TierBounds => {
  const all = new Map<string, Set<Energy>>()
  for (const { price } of slots) {
    if (price.accumulator === null) continue
    const bounds = all.get(price.accumulator) ?? new Set()
    all.set(price.accumulator, bounds)
    for (const { upTo } of price.steps) if (upTo !== null) bounds.add(upTo)
  }
  return new Map([...all].map(([name, bounds]) => [name, [...bounds].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))]))
}

/** Give the price of a span for what follows when so much of the plan has been counted. */
export const priceAfter = ({ steps }: PlanPrice, counted: Energy): Price =>
  (steps.find(({ upTo }) => upTo === null || counted < upTo) ?? steps.at(-1))?.price ?? 0n

/** Whether all slots of one accumulator rise by the same at each bound. */
const isParallel = (slots: FlowInput['slots'], bounds: readonly Energy[]): boolean => {
  const risesOf = ({ price }: FlowInput['slots'][number]): string =>
    bounds.map(bound => priceAfter(price, bound) - priceAfter(price, 0n)).join(' ')
  return new Set(slots.map(risesOf)).size === 1
}

/**
 * Tell whether tiers decide which slots are cheap. They do not where the plan cannot reach a bound, nor where all of its energy counts
 * in one accumulator whose tiers lift every price alike.
 */
export const isCoupled = (input: FlowInput, groups: TierBounds): boolean => {
  const { slots, problem, scale, sign } = input
  if (sign === -1n || groups.size === 0) return false
  const total = totalDemand(problem)
  const isReached = [...groups.values()].some(([first]) => first !== undefined && onScale(scale, first * energyUnit) < total)
  if (!isReached) return false
  const [only] = [...groups]
  const isOne = groups.size === 1 && slots.every(({ price, generated }) => price.accumulator === only?.[0] && generated.energy === 0n)
  const isFree = slots.every(({ price }) => price.steps.every(step => input.isAllowed(step.price)))
  return !(isOne && isFree && isParallel(slots, only?.[1] ?? []))
}

/** The nodes of the network: source, jobs, slots, the grid in each slot, the tiers of all accumulators and the rest of the grid, sink. */
const nodesOf = ({ problem, slots }: FlowInput, groups: TierBounds) => {
  const [jobs, count] = [problem.demand.length, slots.length]
  const tierOf = new Map<string, number>()
  let next = 1 + jobs + 2 * count
  for (const [name, bounds] of groups) {
    tierOf.set(name, next)
    next += bounds.length + 1
  }
  return {
    job: (job: number) => 1 + job,
    slot: (slot: number) => 1 + jobs + slot,
    grid: (slot: number) => 1 + jobs + count + slot,
    tier: (name: string, index: number) => (tierOf.get(name) ?? next) + index,
    sink: next,
    count: next + 1,
  }
}

/** Find the cheapest flow where tiers tie slots together: each tier is a node with its room, and each slot may draw on every tier. */
export function* tieredFlow(input: FlowInput, groups: TierBounds): Generator<undefined, AmountFlow> {
  const { slots, problem } = input
  const nodes = nodesOf(input, groups)
  const arcs: Arc[] = []
  const cells: { readonly job: number; readonly slot: number }[] = []
  for (const [job, capacity] of problem.demand.entries()) arcs.push({ from: 0, to: nodes.job(job), capacity, cost: 0 })
  const firstCell = arcs.length
  for (const job of problem.demand.keys()) {
    for (let slot = problem.first[job] as number; slot < (problem.last[job] as number); slot += 1) {
      const capacity = (problem.rate[job] as number) * (problem.length[slot] as number)
      arcs.push({ from: nodes.job(job), to: nodes.slot(slot), capacity, cost: 0 })
      cells.push({ job, slot })
    }
  }
  const firstOwn = arcs.length
  arcs.push(...ownArcs(input, nodes), ...gridArcs(input, groups, nodes), ...tierArcs(input, groups, nodes))
  const sent = yield* minCostFlow({ nodes: nodes.count, arcs }, 0, nodes.sink)
  const flow = emptyFlow(problem, 0)
  for (const job of problem.demand.keys()) flow.unmet[job] = (problem.demand[job] as number) - (sent[job] as number)
  for (const [index, { job, slot }] of cells.entries()) {
    flow.energy[cellOf(problem, flow, job, slot)] = sent[firstCell + index] as number
  }
  return { flow, generated: sent.slice(firstOwn, firstOwn + slots.length) }
}

type Nodes = ReturnType<typeof nodesOf>

/** One arc a slot, from the slot to the sink. */
const ownArcs = ({ slots, scale, isAllowed }: FlowInput, nodes: Nodes): Arc[] =>
  slots.map(({ generated }, slot) => ({
    from: nodes.slot(slot),
    to: nodes.sink,
    capacity: isAllowed(generated.price) ? onScale(scale, generated.energy * energyUnit) : 0,
    cost: Number(generated.price),
  }))

const gridArcs = (input: FlowInput, groups: TierBounds, nodes: Nodes): Arc[] =>
  input.slots.flatMap(({ price }, slot) => {
    const capacity = gridCapacity(input, slot)
    const grid = nodes.grid(slot)
    const bounds = price.accumulator === null ? null : (groups.get(price.accumulator) ?? [])
    const tiers = bounds === null ? [0n] : [0n, ...bounds]
    const toTiers = tiers
      .map((from, index) => ({ cost: priceAfter(price, from), index }))
      .filter(({ cost }) => input.isAllowed(cost))
      .map(({ cost, index }) => ({
        from: grid,
        to: price.accumulator === null ? nodes.sink : nodes.tier(price.accumulator, index),
        capacity,
        cost: Number(cost),
      }))
    return [{ from: nodes.slot(slot), to: grid, capacity, cost: 0 }, ...toTiers]
  })

const tierArcs = ({ scale, problem }: FlowInput, groups: TierBounds, nodes: Nodes): Arc[] => {
  const total = totalDemand(problem)
  return [...groups].flatMap(([name, bounds]) =>
    [...bounds, null].map((bound, index) => ({
      from: nodes.tier(name, index),
      to: nodes.sink,
      capacity: bound === null ? total : onScale(scale, (bound - (bounds[index - 1] ?? 0n)) * energyUnit),
      cost: 0,
    })),
  )
}
