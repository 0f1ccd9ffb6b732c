import type { Energy, Price } from '../quantity.ts'
import type { PlanPrice } from './amount-request.ts'
import { type AmountFlow, type FlowInput, gridCapacities, totalDemand } from './flow-input.ts'
import { energyUnitMs, onScale } from './plan-slots.ts'
import { fillFromPools } from './pool-flow.ts'
import { createPoolNetwork, type Offer, type SlotSupply } from './pool-network.ts'

/** Tier bounds of each accumulator, ascending, counted from the start of the plan. */
export type TierBounds = ReadonlyMap<string, readonly Energy[]>

/**
 * Slots in which each bound of each accumulator may be met: from `from` to `to`, inclusive. If `to` is after the last
 * slot, the bound may stay unmet; if `from` is too, it must.
 */
export type TierLimits = ReadonlyMap<string, readonly { readonly from: number; readonly to: number }[]>

/**
 * Flow in which slots draw on tiers within limits. `drawn` is the energy of each slot from each tier of its
 * accumulator, `cost` the total cost. If `meetsLimits`, tiers whose bound must be met are full. `arcs` is the size of
 * the network, `searches` the number of searches.
 */
export type TieredFlow = AmountFlow & {
  readonly drawn: readonly (readonly number[])[]
  readonly cost: number
  readonly energy: number
  readonly meetsLimits: boolean
  readonly arcs: number
  readonly searches: number
}

/** Collect the bounds of all intervals that share an accumulator. */
export const tierBoundsOf = ({ slots }: Pick<FlowInput, 'slots'>): TierBounds => {
  const all = new Map<string, Set<Energy>>()
  for (const { price } of slots) {
    if (price.accumulator === null) continue
    const bounds = all.get(price.accumulator) ?? new Set()
    all.set(price.accumulator, bounds)
    for (const { upTo } of price.steps) if (upTo !== null) bounds.add(upTo)
  }
  return new Map([...all].map(([name, bounds]) => [name, [...bounds].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))]))
}

/** Return the price of an interval after some energy of the plan has been counted. */
const priceAt = ({ steps }: PlanPrice, counted: Energy): Price =>
  (steps.find(({ upTo }) => upTo === null || counted < upTo) ?? steps.at(-1))?.price ?? 0n

/** Return the prices of a slot in the tiers of its accumulator, or its only price. */
export const tierPricesOf = ({ price }: FlowInput['slots'][number], tierBounds: TierBounds): Price[] =>
  [0n, ...(price.accumulator === null ? [] : (tierBounds.get(price.accumulator) ?? []))].map(from =>
    priceAt(price, from),
  )

/** Create the pools of a network: energy without tiers, then the tiers of all accumulators. */
const createPools = (input: FlowInput, tierBounds: TierBounds, limits: TierLimits) => {
  const { scale, problem, slots } = input
  const total = totalDemand(problem)
  const prices = slots.flatMap(slotOfPlan => tierPricesOf(slotOfPlan, tierBounds)).map(Number)
  const range =
    prices.reduce((max, price) => Math.max(max, price), 0) - prices.reduce((min, price) => Math.min(min, price), 0)
  // The bonus for a tier that must be full exceeds any saving in price.
  const fullTierBonus = (range + 1) * 2 * (slots.length + 1)
  const first = new Map<string, number>()
  const pools = [{ capacity: total, cost: 0, mustBeFull: false }]
  for (const [name, bounds] of tierBounds) {
    first.set(name, pools.length)
    for (const [index, bound] of [...bounds, null].entries()) {
      const capacity = bound === null ? total : onScale(scale, (bound - (bounds[index - 1] ?? 0n)) * energyUnitMs)
      const mustBeFull = (limits.get(name)?.[index]?.to ?? slots.length) < slots.length
      pools.push({ capacity, cost: mustBeFull ? -fullTierBonus : 0, mustBeFull })
    }
  }
  return { pools, first }
}

type TierOffer = Offer & { readonly tier: number }

/** Return the tiers that each slot may draw on through the grid, within the limits. */
const createOffers = (
  input: FlowInput,
  tierBounds: TierBounds,
  limits: TierLimits,
  first: ReadonlyMap<string, number>,
): TierOffer[] =>
  input.slots.flatMap((slotOfPlan, slot) => {
    const { accumulator } = slotOfPlan.price
    const ranges = accumulator === null ? [] : (limits.get(accumulator) ?? [])
    const pool = first.get(accumulator ?? '') ?? 0
    return tierPricesOf(slotOfPlan, tierBounds).flatMap((price, tier): TierOffer[] => {
      const isOpen = (ranges[tier - 1]?.from ?? 0) <= slot && slot <= (ranges[tier]?.to ?? slot)
      if (!isOpen || !input.isAllowed(price)) return []
      return [{ slot, tier, pool: pool + tier, price: Number(input.sign * price) }]
    })
  })

/** Return the own generation of each slot, its price, and the capacity of the grid. */
const createSupply = (input: FlowInput): SlotSupply => {
  const { slots, scale, sign, isAllowed } = input
  return {
    ownEnergy: Float64Array.from(slots, ({ generated }) =>
      isAllowed(generated.price) ? onScale(scale, generated.energy * energyUnitMs) : 0,
    ),
    ownPrice: Float64Array.from(slots, ({ generated }) => Number(sign * generated.price)),
    grid: gridCapacities(input),
  }
}

/**
 * Find the cheapest flow of maximum energy. Each tier is a pool with a capacity, on which each slot may draw within the
 * limits.
 */
export const tieredFlow = (input: FlowInput, tierBounds: TierBounds, limits: TierLimits): TieredFlow => {
  const { slots, problem } = input
  const { pools, first } = createPools(input, tierBounds, limits)
  const offers = createOffers(input, tierBounds, limits, first)
  const supply = createSupply(input)
  const network = createPoolNetwork(problem, pools, offers, supply)
  const searches = fillFromPools(network)
  const { poolCapacity, ownCapacity, graph } = network
  const drawn = slots.map(() => [] as number[])
  const generated = supply.ownEnergy.map((own, slot) => own - (ownCapacity[slot] as number))
  let cost = generated.reduce((sum, amount, slot) => sum + amount * (supply.ownPrice[slot] as number), 0)
  for (const [offer, { slot, tier, price }] of offers.entries()) {
    const amount = network.drawn[offer] as number
    cost += amount * price
    ;(drawn[slot] as number[])[tier] = amount
  }
  return {
    flow: graph.flow,
    drawn,
    cost,
    generated,
    arcs: graph.flow.energy.length + offers.length,
    searches,
    energy: problem.demand.reduce((sum, demand, job) => sum + demand - (graph.flow.unmet[job] as number), 0),
    meetsLimits: pools.every(({ mustBeFull }, pool) => !mustBeFull || (poolCapacity[pool] as number) <= 0),
  }
}
