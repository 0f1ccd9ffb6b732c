import { type AmountFlow, type FlowInput, totalDemand } from './flow-input.ts'
import { slotTotals } from './flow-problem.ts'
import { energyUnitMs, onScale } from './plan-slots.ts'
import { type TierBounds, type TieredFlow, type TierLimits, tieredFlow, tierPricesOf } from './tiered-flow.ts'

type SlotRange = { readonly from: number; readonly to: number }

/** Return the price rise of a slot at each bound and its allowed tiers, as a text: equal texts for equal rises. */
const priceRisesOf = (slot: FlowInput['slots'][number], { isAllowed }: FlowInput, tierBounds: TierBounds): string => {
  const prices = tierPricesOf(slot, tierBounds)
  return [slot.price.accumulator, ...prices.map(price => (isAllowed(price) ? price - (prices[0] ?? 0n) : 'none'))].join(
    ' ',
  )
}

/**
 * First and last slot of the run that contains each slot. All slots of a run have the same price rises.
 * The position of a bound within a run does not matter. The slots of the run may use the tiers on both sides of the
 * bound in any order, because savings in one slot are costs in another.
 */
type SlotRuns = { readonly first: Int32Array; readonly last: Int32Array }

const slotRunsOf = (input: FlowInput, tierBounds: TierBounds): SlotRuns => {
  const priceRises = input.slots.map(slot => priceRisesOf(slot, input, tierBounds))
  const [first, last] = [new Int32Array(priceRises.length), new Int32Array(priceRises.length)]
  for (let slot = 0; slot < priceRises.length; slot += 1)
    first[slot] = priceRises[slot] === priceRises[slot - 1] ? (first[slot - 1] as number) : slot
  for (let slot = priceRises.length - 1; slot >= 0; slot -= 1)
    last[slot] = priceRises[slot] === priceRises[slot + 1] ? (last[slot + 1] as number) : slot
  return { first, last }
}

const isUnrestricted = ({ slots, isAllowed }: FlowInput): boolean =>
  slots.every(({ price }) => price.steps.every(step => isAllowed(step.price)))

/**
 * Check if tiers affect which slots are cheap. They do not if the plan cannot reach a bound, or if all of its energy
 * counts in one accumulator whose tiers raise every price equally.
 */
export const isCoupled = (input: FlowInput, tierBounds: TierBounds): boolean => {
  const { slots, problem, scale } = input
  const total = totalDemand(problem)
  const isReached = [...tierBounds.values()].some(
    ([first]) => first !== undefined && onScale(scale, first * energyUnitMs) < total,
  )
  if (!isReached) return false
  const [onlyAccumulator] = [...tierBounds.keys()]
  const isOneAccumulator =
    tierBounds.size === 1 &&
    slots.every(({ price, generated }) => price.accumulator === onlyAccumulator && generated.energy === 0n)
  return !(isOneAccumulator && isUnrestricted(input) && slotRunsOf(input, tierBounds).last[0] === slots.length - 1)
}

/**
 * Flow counted in order of time: its cost, the slot in which each bound is met, and the difference between drawn and
 * counted energy.
 */
type CountedFlow = {
  readonly cost: number
  readonly isAllowed: boolean
  readonly metSlots: ReadonlyMap<string, readonly number[]>
  readonly deviations: ReadonlyMap<string, readonly number[]>
}

/** Count a flow slot by slot, as its records will be counted. */
const countInOrder = (input: FlowInput, tierBounds: TierBounds, flow: TieredFlow): CountedFlow => {
  const { slots, scale, sign } = input
  const bounds = new Map(
    [...tierBounds].map(([name, all]) => [name, all.map(bound => onScale(scale, bound * energyUnitMs))]),
  )
  const metSlots = new Map([...tierBounds].map(([name, all]) => [name, all.map(() => slots.length)]))
  const deviations = new Map([...tierBounds].map(([name, all]) => [name, all.map(() => 0)]))
  const counted = new Map<string, number>()
  let [cost, isAllowed] = [0, true]
  for (const [slot, total] of slotTotals(input.problem, flow.flow).entries()) {
    const one = slots[slot] as FlowInput['slots'][number]
    const { accumulator } = one.price
    const own = flow.generated[slot] as number
    cost += own * Number(sign * one.generated.price)
    const from = accumulator === null ? 0 : (counted.get(accumulator) ?? 0)
    const to = from + total - own
    const edges = accumulator === null ? [] : (bounds.get(accumulator) ?? [])
    const [metOfBounds, deviationOfBounds] = [
      metSlots.get(accumulator ?? '') ?? [],
      deviations.get(accumulator ?? '') ?? [],
    ]
    let [at, drawn] = [from, 0]
    for (const [tier, price] of tierPricesOf(one, tierBounds).entries()) {
      const until = Math.max(at, Math.min(to, edges[tier] ?? to))
      if (until > at && !input.isAllowed(price)) isAllowed = false
      cost += (until - at) * Number(sign * price)
      at = until
      drawn += flow.drawn[slot]?.[tier] ?? 0
      if (tier >= edges.length) continue
      deviationOfBounds[tier] = (deviationOfBounds[tier] as number) + Math.abs(drawn - (at - from))
      if (to >= (edges[tier] as number)) metOfBounds[tier] = Math.min(metOfBounds[tier] as number, slot)
    }
    if (accumulator !== null) counted.set(accumulator, to)
  }
  return { cost, isAllowed, metSlots, deviations }
}

type UncertainBound = { readonly name: string; readonly bound: number; readonly from: number; readonly to: number }

/**
 * Return the bound with the largest error of a flow; bounds that may or may not be met come first. Null if the flow is
 * exact.
 */
const findUncertainBound = (
  limits: TierLimits,
  { deviations }: CountedFlow,
  { last }: SlotRuns,
): UncertainBound | null => {
  const slots = last.length
  let uncertainBound: UncertainBound | null = null
  let largest = { isUnbounded: false, gap: 0 }
  for (const [name, deviationOfBounds] of deviations) {
    for (const [bound, gap] of deviationOfBounds.entries()) {
      const span = limits.get(name)?.[bound]
      if (span === undefined || span.from === span.to || (last[span.from] as number) >= span.to || gap === 0) continue
      const isUnbounded = span.to === slots
      if (isUnbounded === largest.isUnbounded ? gap <= largest.gap : largest.isUnbounded) continue
      largest = { isUnbounded, gap }
      uncertainBound = { name, bound, ...span }
    }
  }
  return uncertainBound
}

/** Split limits into two or three parts at the most uncertain bound; empty if the flow is exact. */
const splitLimits = (limits: TierLimits, counted: CountedFlow, slotRuns: SlotRuns): TierLimits[] => {
  const slots = slotRuns.last.length
  const uncertainBound = findUncertainBound(limits, counted, slotRuns)
  if (uncertainBound === null) return []
  const { name, bound, from, to } = uncertainBound
  const at = Math.min(to, Math.max(from, counted.metSlots.get(name)?.[bound] ?? slots))
  const [first, last] = [slotRuns.first[at] as number, slotRuns.last[at] as number]
  const cuts =
    to === slots
      ? [[from, to - 1] as const, [to, to] as const]
      : ([
          [from, first - 1],
          [Math.max(from, first), Math.min(to, last)],
          [last + 1, to],
        ] as const)
  const ranges = limits.get(name) ?? []
  return cuts.flatMap(([start, end]) => {
    const narrowed = narrowRanges(ranges, bound, { from: start, to: end })
    return narrowed.every(span => span.from <= span.to) ? [new Map([...limits, [name, narrowed]])] : []
  })
}

/** Limit a bound to a range. Later bounds are met no sooner, earlier bounds no later. */
const narrowRanges = (ranges: readonly SlotRange[], bound: number, { from, to }: SlotRange): SlotRange[] =>
  ranges.map((span, index) => {
    if (index === bound) return { from, to }
    return index > bound ? { ...span, from: Math.max(span.from, from) } : { ...span, to: Math.min(span.to, to) }
  })

/**
 * Return the widest limits. If all energy counts in one accumulator, the bounds that are met are known; otherwise all
 * is open.
 */
const widestLimits = (input: FlowInput, tierBounds: TierBounds): TierLimits => {
  const { slots, problem, scale } = input
  const [onlyAccumulator] = tierBounds.keys()
  const isOneAccumulator =
    tierBounds.size === 1 &&
    isUnrestricted(input) &&
    slots.every(({ price, generated }) => price.accumulator === onlyAccumulator && generated.energy === 0n)
  const total = totalDemand(problem)
  const rangeOf = (bound: bigint): SlotRange => {
    if (!isOneAccumulator) return { from: 0, to: slots.length }
    return onScale(scale, bound * energyUnitMs) <= total
      ? { from: 0, to: slots.length - 1 }
      : { from: slots.length, to: slots.length }
  }
  return new Map([...tierBounds].map(([name, bounds]) => [name, bounds.map(rangeOf)]))
}

/** Return limits under which no bound is met: a slot may use at any time what it may use of the current tier. */
const limitsUnmet = (tierBounds: TierBounds, slots: number): TierLimits =>
  new Map([...tierBounds].map(([name, bounds]) => [name, bounds.map(() => ({ from: slots, to: slots }))]))

/**
 * Maximum work for one plan. It bounds the time, and is the same for the same request. A network costs its number of
 * arcs plus `fixedWork`.
 */
const maxWork = 10_000_000
const fixedWork = 20_000
/**
 * Maximum work of the searches, about 15 s. Large networks are searched more than a thousand times; each search costs
 * its number of arcs plus `fixedSearch`.
 */
const maxSearchWork = 4_000_000_000
const fixedSearch = 200_000

/**
 * Return the allowed difference to the optimum, in units of the cost of a flow.
 * Source: docs/rules/schedules.md #amount.
 */
const toleranceOf = ({ scale }: FlowInput, cost: number): number =>
  Math.max((1e12 * Number(energyUnitMs)) / Number(scale.unit), 1e-6 * Math.abs(cost)) / 4

/** Return limits that allow each bound the run in which a flow has met it. */
const limitsAsMet = ({ metSlots }: CountedFlow, { first, last }: SlotRuns): TierLimits =>
  new Map(
    [...metSlots].map(([name, metOfBounds]) => [
      name,
      metOfBounds.map(slot => ({ from: first[slot] ?? slot, to: last[slot] ?? slot })),
    ]),
  )

type SearchNode = { readonly limits: TierLimits; readonly found: TieredFlow; readonly counted: CountedFlow }

/**
 * Find a flow of maximum energy and, among those, the one of minimum cost when its energy is counted in order of time.
 * A network in which slots choose their tiers freely costs no more than any plan. If it costs as much as its own plan,
 * that plan is optimal. This holds at once for imports whose tiers raise all prices of an accumulator equally.
 * Otherwise the search splits the time in which a bound is met, and searches each part that can contain a cheaper plan.
 * The most promising part is first. Every third time, it is the part with the cheapest plan. A better plan is improved
 * at once at the bounds that it meets, because a cheaper plan leaves fewer parts.
 * Above `maxWork` and `maxSearchWork` the best plan found is returned.
 * Source: Land and Doig (1960), https://doi.org/10.2307/1910129.
 */
export const searchTiers = (input: FlowInput, tierBounds: TierBounds): AmountFlow => {
  const count = input.slots.length
  const slotRuns = slotRunsOf(input, tierBounds)
  let [work, searchWork] = [0, 0]
  const isLimitReached = (): boolean => work > maxWork || searchWork > maxSearchWork
  const relaxLimits = (limits: TierLimits): SearchNode => {
    const found = tieredFlow(input, tierBounds, limits)
    work += found.arcs + fixedWork
    searchWork += found.searches * (found.arcs + fixedSearch)
    return { limits, found, counted: countInOrder(input, tierBounds, found) }
  }
  const rootNode = relaxLimits(widestLimits(input, tierBounds))
  if (rootNode.found.energy < totalDemand(input.problem) && isUnrestricted(input)) return rootNode.found
  let best: SearchNode | null = null
  const improve = (one: SearchNode): void => {
    for (let next = one; next.counted.isAllowed && isBetter(next, best); ) {
      best = next
      if (isLimitReached()) return
      next = relaxLimits(limitsAsMet(next.counted, slotRuns))
    }
  }
  let openNodes = [rootNode]
  for (let turn = 1; ; turn += 1) {
    for (const one of openNodes) improve(one)
    const bestNode = best
    openNodes = bestNode === null ? openNodes : openNodes.filter(one => isPromising(input, one, bestNode))
    const comesFirst = turn % 3 === 0 ? isBetter : isLikelier
    const next = openNodes.reduce<SearchNode | null>(
      (first, one) => (first === null || comesFirst(one, first) ? one : first),
      null,
    )
    if (next === null || isLimitReached()) return (best ?? relaxLimits(limitsUnmet(tierBounds, count))).found
    openNodes = openNodes.filter(one => one !== next)
    for (const limits of splitLimits(next.limits, next.counted, slotRuns)) {
      if (isLimitReached()) break
      const part = relaxLimits(limits)
      if (part.found.meetsLimits) openNodes.push(part)
    }
  }
}

const isBetter = (one: SearchNode, best: SearchNode | null): boolean =>
  best === null ||
  one.found.energy > best.found.energy ||
  (one.found.energy === best.found.energy && one.counted.cost < best.counted.cost)

/** Check if the limits of a flow can contain a better plan. */
const isPromising = (input: FlowInput, { found }: SearchNode, best: SearchNode): boolean =>
  found.energy > best.found.energy ||
  (found.energy === best.found.energy && found.cost < best.counted.cost - toleranceOf(input, best.counted.cost))

/** Check if the limits of one flow are more promising than those of another. */
const isLikelier = (one: SearchNode, first: SearchNode): boolean =>
  one.found.energy > first.found.energy ||
  (one.found.energy === first.found.energy && one.found.cost < first.found.cost)
