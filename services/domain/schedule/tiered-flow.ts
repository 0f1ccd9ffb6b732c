import type { Energy, Price } from '../quantity.ts'
import type { PlanPrice } from './amount-request.ts'
import { type AmountFlow, type FlowInput, gridCapacities, totalDemand } from './flow-input.ts'
import { cellOf, emptyFlow, type Flow, type FlowProblem } from './flow-problem.ts'
import { type Arc, minCostFlow } from './min-cost-flow.ts'
import { energyUnit, onScale } from './plan-slots.ts'

/** The bounds of each accumulator's tiers, rising, counted from where it stands when the plan begins. */
export type TierBounds = ReadonlyMap<string, readonly Energy[]>

/**
 * From which slot to which each bound of each accumulator may be met, both inclusive; a `to` behind the last slot: it may stay unmet, and
 * must where `from` lies there too.
 */
export type TierLimits = ReadonlyMap<string, readonly { readonly from: number; readonly to: number }[]>

/**
 * A flow in which slots draw on tiers as limits let them. `drawn` is what each slot draws from each tier of its accumulator, `cost` what all
 * of it costs; `isKept`: tiers whose bound must be met are full. `arcs` is how large its network is.
 */
export type TieredFlow = AmountFlow & {
  readonly drawn: readonly (readonly number[])[]
  readonly cost: number
  readonly energy: number
  readonly isKept: boolean
  readonly arcs: number
}

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
const priceAfter = ({ steps }: PlanPrice, counted: Energy): Price =>
  (steps.find(({ upTo }) => upTo === null || counted < upTo) ?? steps.at(-1))?.price ?? 0n

/** Give the prices of a slot in the tiers of its accumulator, or its one price. */
export const tierPricesOf = ({ price }: FlowInput['slots'][number], groups: TierBounds): Price[] =>
  [0n, ...(price.accumulator === null ? [] : (groups.get(price.accumulator) ?? []))].map(from => priceAfter(price, from))

/** The nodes of the network, as energy goes: source, tiers of all accumulators, the grid in each slot, slots, jobs, sink. */
const nodesOf = ({ problem, slots }: FlowInput, groups: TierBounds) => {
  const [jobs, count] = [problem.demand.length, slots.length]
  const tierOf = new Map<string, number>()
  let next = 1 + jobs + 2 * count
  for (const [name, bounds] of groups) {
    tierOf.set(name, next)
    next += bounds.length + 1
  }
  return {
    source: 0,
    job: (job: number) => 1 + job,
    slot: (slot: number) => 1 + jobs + slot,
    grid: (slot: number) => 1 + jobs + count + slot,
    tier: (name: string, index: number) => (tierOf.get(name) ?? next) + index,
    sink: next,
    count: next + 1,
  }
}

type Nodes = ReturnType<typeof nodesOf>

/** Find the cheapest flow of the most energy where each tier is a node with its room, on which each slot may draw as limits let it. */
export function* tieredFlow(input: FlowInput, groups: TierBounds, limits: TierLimits): Generator<undefined, TieredFlow> {
  const { slots, problem } = input
  const nodes = nodesOf(input, groups)
  const using = usingArcs(input, nodes)
  const drawing = drawingArcs(input, groups, limits, nodes)
  const tiers = tierArcs(input, groups, limits, nodes)
  const own = ownArcs(input, nodes)
  const arcs = [...tiers.map(({ arc }) => arc), ...own, ...drawing.map(({ arc }) => arc), ...using]
  const sent = yield* minCostFlow({ nodes: nodes.count, arcs }, nodes.source, nodes.sink)
  const [firstDrawing, firstUsing] = [tiers.length + own.length, arcs.length - using.length]
  const drawn = slots.map(() => [] as number[])
  let cost = 0
  for (let index = tiers.length; index < firstUsing; index += 1) {
    const amount = sent[index] as number
    cost += amount * (arcs[index] as Arc).cost
    const one = drawing[index - firstDrawing]
    if (one !== undefined && one.tier !== null) (drawn[one.slot] as number[])[one.tier] = amount
  }
  const flow = flowOf(problem, sent.subarray(firstUsing))
  return {
    ...{ flow, drawn, cost, generated: sent.slice(tiers.length, firstDrawing), arcs: arcs.length },
    energy: problem.demand.reduce((sum, demand, job) => sum + demand - (flow.unmet[job] as number), 0),
    isKept: tiers.every(({ arc, isDue }, index) => !isDue || (sent[index] as number) >= arc.capacity),
  }
}

/** For each job an arc to the sink and one from each slot of its window. */
const usingArcs = ({ problem }: FlowInput, nodes: Nodes): Arc[] => {
  const arcs: Arc[] = []
  for (const [job, demand] of problem.demand.entries()) {
    arcs.push({ from: nodes.job(job), to: nodes.sink, capacity: demand, cost: 0 })
    for (let slot = problem.first[job] as number; slot < (problem.last[job] as number); slot += 1) {
      const capacity = (problem.rate[job] as number) * (problem.length[slot] as number)
      arcs.push({ from: nodes.slot(slot), to: nodes.job(job), capacity, cost: 0 })
    }
  }
  return arcs
}

/** Read what flows on the arcs of `usingArcs`. */
const flowOf = (problem: FlowProblem, sent: Float64Array): Flow => {
  const flow = emptyFlow(problem, 0)
  let next = 0
  for (const [job, demand] of problem.demand.entries()) {
    flow.unmet[job] = demand - (sent[next++] as number)
    for (let slot = problem.first[job] as number; slot < (problem.last[job] as number); slot += 1) {
      flow.energy[cellOf(problem, flow, job, slot)] = sent[next++] as number
    }
  }
  return flow
}

/** One arc a slot: its own generation. */
const ownArcs = ({ slots, scale, isAllowed, sign }: FlowInput, nodes: Nodes): Arc[] =>
  slots.map(({ generated }, slot) => ({
    from: nodes.source,
    to: nodes.slot(slot),
    capacity: isAllowed(generated.price) ? onScale(scale, generated.energy * energyUnit) : 0,
    cost: Number(sign * generated.price),
  }))

type Drawing = { readonly slot: number; readonly tier: number | null; readonly arc: Arc }

/** The arcs from the grid to each slot (`tier` null), and to it from each tier that the slot may draw on. */
const drawingArcs = (input: FlowInput, groups: TierBounds, limits: TierLimits, nodes: Nodes): Drawing[] => {
  const capacities = gridCapacities(input)
  return input.slots.flatMap((one, slot) => {
    const { accumulator } = one.price
    const capacity = capacities[slot] as number
    const grid = nodes.grid(slot)
    const spans = accumulator === null ? [] : (limits.get(accumulator) ?? [])
    const fromTiers = tierPricesOf(one, groups).flatMap((price, tier): Drawing[] => {
      const isOpen = (spans[tier - 1]?.from ?? 0) <= slot && slot <= (spans[tier]?.to ?? slot)
      if (!isOpen || !input.isAllowed(price)) return []
      const from = accumulator === null ? nodes.source : nodes.tier(accumulator, tier)
      return [{ slot, tier, arc: { from, to: grid, capacity, cost: Number(input.sign * price) } }]
    })
    return [{ slot, tier: null, arc: { from: grid, to: nodes.slot(slot), capacity, cost: 0 } }, ...fromTiers]
  })
}

/** One arc a tier. What fills a tier that must be full is worth more than any price could save. */
const tierArcs = (input: FlowInput, groups: TierBounds, limits: TierLimits, nodes: Nodes) => {
  const { scale, problem, slots } = input
  const total = totalDemand(problem)
  const prices = slots.flatMap(one => tierPricesOf(one, groups)).map(Number)
  const range = prices.reduce((most, price) => Math.max(most, price), 0) - prices.reduce((least, price) => Math.min(least, price), 0)
  const worth = (range + 1) * 2 * (slots.length + 1)
  return [...groups].flatMap(([name, bounds]) =>
    [...bounds, null].map((bound, index) => {
      const capacity = bound === null ? total : onScale(scale, (bound - (bounds[index - 1] ?? 0n)) * energyUnit)
      const isDue = (limits.get(name)?.[index]?.to ?? slots.length) < slots.length
      return { isDue, arc: { from: nodes.source, to: nodes.tier(name, index), capacity, cost: isDue ? -worth : 0 } }
    }),
  )
}
