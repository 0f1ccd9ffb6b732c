import { type AmountFlow, type FlowInput, totalDemand } from './flow-input.ts'
import { slotTotals } from './flow-problem.ts'
import { energyUnit, onScale } from './plan-slots.ts'
import { type TierBounds, type TieredFlow, type TierLimits, tieredFlow, tierPricesOf } from './tiered-flow.ts'

/** Whether all slots of one accumulator rise by the same at each bound. */
const isParallel = (slots: FlowInput['slots'], groups: TierBounds): boolean => {
  const risesOf = (slot: FlowInput['slots'][number]): string => {
    const prices = tierPricesOf(slot, groups)
    return prices.map(price => price - (prices[0] ?? 0n)).join(' ')
  }
  return new Set(slots.map(risesOf)).size === 1
}

const isFree = ({ slots, isAllowed }: FlowInput): boolean => slots.every(({ price }) => price.steps.every(step => isAllowed(step.price)))

/**
 * Tell whether tiers decide which slots are cheap. They do not where the plan cannot reach a bound, nor where all of its energy counts
 * in one accumulator whose tiers lift every price alike.
 */
export const isCoupled = (input: FlowInput, groups: TierBounds): boolean => {
  const { slots, problem, scale } = input
  const total = totalDemand(problem)
  const isReached = [...groups.values()].some(([first]) => first !== undefined && onScale(scale, first * energyUnit) < total)
  if (!isReached) return false
  const [only] = [...groups.keys()]
  const isOne = groups.size === 1 && slots.every(({ price, generated }) => price.accumulator === only && generated.energy === 0n)
  return !(isOne && isFree(input) && isParallel(slots, groups))
}

/** A flow as it is counted in order of time: its cost, where each bound is met, and how far what is drawn departs from what is counted. */
type Counted = {
  readonly cost: number
  readonly isAllowed: boolean
  readonly met: ReadonlyMap<string, readonly number[]>
  readonly apart: ReadonlyMap<string, readonly number[]>
}

/** Count a flow slot by slot, as its records will be. */
const countInOrder = (input: FlowInput, groups: TierBounds, flow: TieredFlow): Counted => {
  const { slots, scale, sign } = input
  const bounds = new Map([...groups].map(([name, all]) => [name, all.map(bound => onScale(scale, bound * energyUnit))]))
  const met = new Map([...groups].map(([name, all]) => [name, all.map(() => slots.length)]))
  const apart = new Map([...groups].map(([name, all]) => [name, all.map(() => 0)]))
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
    const [places, gaps] = [met.get(accumulator ?? '') ?? [], apart.get(accumulator ?? '') ?? []]
    let [at, drawn] = [from, 0]
    for (const [tier, price] of tierPricesOf(one, groups).entries()) {
      const until = Math.max(at, Math.min(to, edges[tier] ?? to))
      if (until > at && !input.isAllowed(price)) isAllowed = false
      cost += (until - at) * Number(sign * price)
      at = until
      drawn += flow.drawn[slot]?.[tier] ?? 0
      if (tier >= edges.length) continue
      gaps[tier] = (gaps[tier] as number) + Math.abs(drawn - (at - from))
      if (to >= (edges[tier] as number)) places[tier] = Math.min(places[tier] as number, slot)
    }
    if (accumulator !== null) counted.set(accumulator, to)
  }
  return { cost, isAllowed, met, apart }
}

type Doubt = { readonly name: string; readonly bound: number; readonly from: number; readonly to: number }

/** The bound about which a flow is most wrong; those of which it is not known whether they are met come first. Null where it is right. */
const doubtOf = (limits: TierLimits, { apart }: Counted, slots: number): Doubt | null => {
  let doubt: Doubt | null = null
  let most = { isOpen: false, gap: 0 }
  for (const [name, gaps] of apart) {
    for (const [bound, gap] of gaps.entries()) {
      const span = limits.get(name)?.[bound]
      if (span === undefined || span.from === span.to || gap === 0) continue
      const isOpen = span.to === slots
      if (isOpen === most.isOpen ? gap <= most.gap : most.isOpen) continue
      most = { isOpen, gap }
      doubt = { name, bound, ...span }
    }
  }
  return doubt
}

/** The two or three parts into which limits fall where a flow is in doubt; none where it is right. */
const partsOf = (limits: TierLimits, counted: Counted, slots: number): TierLimits[] => {
  const doubt = doubtOf(limits, counted, slots)
  if (doubt === null) return []
  const { name, bound, from, to } = doubt
  const at = Math.min(to, Math.max(from, counted.met.get(name)?.[bound] ?? slots))
  const cuts =
    to === slots
      ? [[from, to - 1] as const, [to, to] as const]
      : ([
          [from, at - 1],
          [at, at],
          [at + 1, to],
        ] as const)
  const spans = limits.get(name) ?? []
  return cuts
    .filter(([first, last]) => first <= last)
    .map(([first, last]) => new Map([...limits, [name, spans.map((span, index) => (index === bound ? { from: first, to: last } : span))]]))
}

/** Limits that leave all open but this: where all energy is sure to count in one accumulator, it is known which bounds are met. */
const widest = (input: FlowInput, groups: TierBounds): TierLimits => {
  const { slots, problem, scale } = input
  const [only] = groups.keys()
  const isSure =
    groups.size === 1 && isFree(input) && slots.every(({ price, generated }) => price.accumulator === only && generated.energy === 0n)
  const total = totalDemand(problem)
  const spanOf = (bound: bigint) => {
    if (!isSure) return { from: 0, to: slots.length }
    return onScale(scale, bound * energyUnit) <= total ? { from: 0, to: slots.length - 1 } : { from: slots.length, to: slots.length }
  }
  return new Map([...groups].map(([name, bounds]) => [name, bounds.map(spanOf)]))
}

/** Limits under which no bound is met: what a slot may have of the tier in force it may have at any time. */
const unmet = (groups: TierBounds, slots: number): TierLimits =>
  new Map([...groups].map(([name, bounds]) => [name, bounds.map(() => ({ from: slots, to: slots }))]))

/** So much work, in arcs of all networks together, is done for one plan; it bounds the time, and is the same for the same request. */
const mostArcs = 150_000

/** How near (in the units of a flow's cost) the best flow must come to what is possible. Source: contract decisions 13. */
const nearness = ({ scale }: FlowInput, cost: number): number =>
  Math.max((1e12 * Number(energyUnit)) / Number(scale.unit), 1e-6 * Math.abs(cost)) / 4

type Open = { readonly limits: TierLimits; readonly found: TieredFlow; readonly counted: Counted }

/**
 * Find the flow of the most energy and, of such flows, the one that costs the least when its energy is counted in order of time.
 *
 * A network in which slots choose their tiers freely costs no more than any plan; where it costs as much as the plan that it gives, that
 * plan is the best. It is so at once for imports whose tiers lift all prices of an accumulator alike. Elsewhere the time in which a bound is
 * met is parted, and each part searched that may still hold a cheaper plan, the likeliest first. Beyond `mostArcs` the best plan found is
 * given. Yields between short pieces of work. Source: Land and Doig, An automatic method of solving discrete programming problems (1960).
 */
export function* searchTiers(input: FlowInput, groups: TierBounds): Generator<undefined, AmountFlow> {
  const count = input.slots.length
  const relax = function* (limits: TierLimits): Generator<undefined, Open> {
    const found = yield* tieredFlow(input, groups, limits)
    return { limits, found, counted: countInOrder(input, groups, found) }
  }
  const root = yield* relax(widest(input, groups))
  if (root.found.energy < totalDemand(input.problem) && isFree(input)) return root.found
  let best: Open | null = null
  let open = [root]
  for (let spent = root.found.arcs; ; ) {
    for (const one of open) if (one.counted.isAllowed && isBetter(one, best)) best = one
    const bar = best
    open = bar === null ? open : open.filter(one => isPromising(input, one, bar))
    const next = open.reduce<Open | null>((first, one) => (first === null || isSooner(one, first) ? one : first), null)
    if (next === null || spent > mostArcs) return (best ?? (yield* relax(unmet(groups, count)))).found
    open = open.filter(one => one !== next)
    for (const limits of partsOf(next.limits, next.counted, count)) {
      if (spent > mostArcs) break
      const part = yield* relax(limits)
      spent += part.found.arcs
      if (part.found.isKept) open.push(part)
    }
  }
}

const isBetter = (one: Open, best: Open | null): boolean =>
  best === null || one.found.energy > best.found.energy || (one.found.energy === best.found.energy && one.counted.cost < best.counted.cost)

/** Whether there may be a better plan within the limits of a flow. */
const isPromising = (input: FlowInput, { found }: Open, best: Open): boolean =>
  found.energy > best.found.energy ||
  (found.energy === best.found.energy && found.cost < best.counted.cost - nearness(input, best.counted.cost))

const isSooner = (one: Open, first: Open): boolean =>
  one.found.energy > first.found.energy || (one.found.energy === first.found.energy && one.found.cost < first.found.cost)
