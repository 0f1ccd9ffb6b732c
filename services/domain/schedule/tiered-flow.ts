import type { Energy, Price } from '../quantity.ts'
import type { PlanPrice } from './amount-request.ts'
import { type AmountFlow, type FlowInput, gridCapacities, totalDemand } from './flow-input.ts'
import { energyUnit, onScale } from './plan-slots.ts'
import { fillFromPools } from './pool-flow.ts'
import { type Offer, openNetwork, type SlotSupply } from './pool-network.ts'

/** The bounds of each accumulator's tiers, rising, counted from where it stands when the plan begins. */
export type TierBounds = ReadonlyMap<string, readonly Energy[]>

/**
 * From which slot to which each bound of each accumulator may be met, both inclusive; a `to` behind the last slot: it may stay unmet, and
 * must where `from` lies there too.
 */
export type TierLimits = ReadonlyMap<string, readonly { readonly from: number; readonly to: number }[]>

/**
 * A flow in which slots draw on tiers as limits let them. `drawn` is what each slot draws from each tier of its accumulator, `cost` what all
 * of it costs; `isKept`: tiers whose bound must be met are full. `arcs` is how large its network is, `searches` how often it was gone through.
 */
export type TieredFlow = AmountFlow & {
  readonly drawn: readonly (readonly number[])[]
  readonly cost: number
  readonly energy: number
  readonly isKept: boolean
  readonly arcs: number
  readonly searches: number
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

/** The pools of a network: what needs no tier, and then the tiers of all accumulators. */
const poolsOf = (input: FlowInput, groups: TierBounds, limits: TierLimits) => {
  const { scale, problem, slots } = input
  const total = totalDemand(problem)
  const prices = slots.flatMap(one => tierPricesOf(one, groups)).map(Number)
  const range = prices.reduce((most, price) => Math.max(most, price), 0) - prices.reduce((least, price) => Math.min(least, price), 0)
  // What fills a tier that must be full is worth more than any price could save.
  const worth = (range + 1) * 2 * (slots.length + 1)
  const first = new Map<string, number>()
  const pools = [{ capacity: total, cost: 0, isDue: false }]
  for (const [name, bounds] of groups) {
    first.set(name, pools.length)
    for (const [index, bound] of [...bounds, null].entries()) {
      const capacity = bound === null ? total : onScale(scale, (bound - (bounds[index - 1] ?? 0n)) * energyUnit)
      const isDue = (limits.get(name)?.[index]?.to ?? slots.length) < slots.length
      pools.push({ capacity, cost: isDue ? -worth : 0, isDue })
    }
  }
  return { pools, first }
}

type TierOffer = Offer & { readonly tier: number }

/** What each slot may draw on through the grid, as limits let it. */
const offersOf = (input: FlowInput, groups: TierBounds, limits: TierLimits, first: ReadonlyMap<string, number>): TierOffer[] =>
  input.slots.flatMap((one, slot) => {
    const { accumulator } = one.price
    const spans = accumulator === null ? [] : (limits.get(accumulator) ?? [])
    const pool = first.get(accumulator ?? '') ?? 0
    return tierPricesOf(one, groups).flatMap((price, tier): TierOffer[] => {
      const isOpen = (spans[tier - 1]?.from ?? 0) <= slot && slot <= (spans[tier]?.to ?? slot)
      if (!isOpen || !input.isAllowed(price)) return []
      return [{ slot, tier, pool: pool + tier, price: Number(input.sign * price) }]
    })
  })

/** What each slot has of its own generation, at which price, and what it may draw through the grid. */
const supplyOf = (input: FlowInput): SlotSupply => {
  const { slots, scale, sign, isAllowed } = input
  return {
    own: Float64Array.from(slots, ({ generated }) => (isAllowed(generated.price) ? onScale(scale, generated.energy * energyUnit) : 0)),
    ownPrice: Float64Array.from(slots, ({ generated }) => Number(sign * generated.price)),
    grid: gridCapacities(input),
  }
}

/** Find the cheapest flow of the most energy where each tier is a pool with its room, on which each slot may draw as limits let it. */
export function* tieredFlow(input: FlowInput, groups: TierBounds, limits: TierLimits): Generator<undefined, TieredFlow> {
  const { slots, problem } = input
  const { pools, first } = poolsOf(input, groups, limits)
  const offers = offersOf(input, groups, limits, first)
  const supply = supplyOf(input)
  const network = openNetwork(problem, pools, offers, supply)
  const searches = yield* fillFromPools(network)
  const { poolRoom, ownRoom, moves } = network
  const drawn = slots.map(() => [] as number[])
  const generated = supply.own.map((own, slot) => own - (ownRoom[slot] as number))
  let cost = generated.reduce((sum, amount, slot) => sum + amount * (supply.ownPrice[slot] as number), 0)
  for (const [offer, { slot, tier, price }] of offers.entries()) {
    const amount = network.drawn[offer] as number
    cost += amount * price
    ;(drawn[slot] as number[])[tier] = amount
  }
  return {
    ...{ flow: moves.flow, drawn, cost, generated, arcs: moves.flow.energy.length + offers.length, searches },
    energy: problem.demand.reduce((sum, demand, job) => sum + demand - (moves.flow.unmet[job] as number), 0),
    isKept: pools.every(({ isDue }, pool) => !isDue || (poolRoom[pool] as number) <= 0),
  }
}
