import { fillCheapestFirst } from './cheapest-flow.ts'
import { type AmountFlow, type FlowInput, gridCapacities } from './flow-input.ts'
import type { Supply } from './flow-problem.ts'
import { energyUnitMs, onScale } from './plan-slots.ts'
import { isCoupled, searchTiers } from './tier-search.ts'
import { tierBoundsOf } from './tiered-flow.ts'

type PricedSupply = Supply & { readonly cost: bigint; readonly isOwn: boolean }

/** List what each slot can draw on, cheapest first, then own generation, then earliest. */
const listSupplies = (input: FlowInput): PricedSupply[] => {
  const supplies: PricedSupply[] = []
  const capacities = gridCapacities(input)
  for (const [slot, { price, generated }] of input.slots.entries()) {
    const ownSupply = {
      slot,
      capacity: onScale(input.scale, generated.energy * energyUnitMs),
      cost: input.sign * generated.price,
      isOwn: true,
    }
    if (ownSupply.capacity > 0 && input.isAllowed(generated.price)) supplies.push(ownSupply)
    const priceInForce = price.steps[0]?.price ?? 0n
    if (!input.isAllowed(priceInForce)) continue
    supplies.push({ slot, capacity: capacities[slot] as number, cost: input.sign * priceInForce, isOwn: false })
  }
  return supplies.sort((a, b) => (a.cost < b.cost ? -1 : a.cost > b.cost ? 1 : Number(b.isOwn) - Number(a.isOwn)))
}

/** Group supplies by price; a slot's own generation and the grid stay apart. */
const groupByPrice = (supplies: readonly PricedSupply[]): PricedSupply[][] => {
  const priceGroups: PricedSupply[][] = []
  for (const one of supplies) {
    const last = priceGroups.at(-1)
    if (last?.[0]?.cost === one.cost && last[0].isOwn === one.isOwn) last.push(one)
    else priceGroups.push([one])
  }
  return priceGroups
}

/**
 * Find the flow of the most energy and, of such flows, one of the least cost. Where tiers tie slots together it is found in a network
 * with a node for each tier; elsewhere the cheapest supplies are filled first, which is as exact and much faster.
 */
export function* amountFlow(input: FlowInput): Generator<undefined, AmountFlow> {
  const tierBounds = tierBoundsOf(input)
  if (isCoupled(input, tierBounds)) return yield* searchTiers(input, tierBounds)
  const supplies = listSupplies(input)
  const flow = yield* fillCheapestFirst(input.problem, groupByPrice(supplies))
  const generated = new Float64Array(input.slots.length)
  for (const [index, { slot, isOwn }] of supplies.entries()) if (isOwn) generated[slot] = flow.used[index] as number
  return { flow, generated }
}
