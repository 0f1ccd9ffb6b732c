import { type AmountFlow, type FlowInput, totalDemand } from './flow-input.ts'
import { slotTotals } from './flow-problem.ts'
import { energyUnit, onScale } from './plan-slots.ts'
import { type TierBounds, type TieredFlow, type TierLimits, tieredFlow, tierPricesOf } from './tiered-flow.ts'

type Span = { readonly from: number; readonly to: number }

/** By how much the price of a slot rises at each bound, and in which of its tiers it may be used; the same text for the same rises. */
const risesOf = (slot: FlowInput['slots'][number], { isAllowed }: FlowInput, groups: TierBounds): string => {
  const prices = tierPricesOf(slot, groups)
  return [slot.price.accumulator, ...prices.map(price => (isAllowed(price) ? price - (prices[0] ?? 0n) : 'none'))].join(' ')
}

/**
 * The first and the last slot of the stretch in which each slot lies, all of whose slots rise alike. Where in a stretch a bound is met decides
 * nothing: its slots may draw on the tiers before and behind it in any order, for what that saves in one it costs in another.
 */
type Stretches = { readonly first: Int32Array; readonly last: Int32Array }

const stretchesOf = (input: FlowInput, groups: TierBounds): Stretches => {
  const rises = input.slots.map(slot => risesOf(slot, input, groups))
  const [first, last] = [new Int32Array(rises.length), new Int32Array(rises.length)]
  for (let slot = 0; slot < rises.length; slot += 1) first[slot] = rises[slot] === rises[slot - 1] ? (first[slot - 1] as number) : slot
  for (let slot = rises.length - 1; slot >= 0; slot -= 1) last[slot] = rises[slot] === rises[slot + 1] ? (last[slot + 1] as number) : slot
  return { first, last }
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
  return !(isOne && isFree(input) && stretchesOf(input, groups).last[0] === slots.length - 1)
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
const doubtOf = (limits: TierLimits, { apart }: Counted, { last }: Stretches): Doubt | null => {
  const slots = last.length
  let doubt: Doubt | null = null
  let most = { isOpen: false, gap: 0 }
  for (const [name, gaps] of apart) {
    for (const [bound, gap] of gaps.entries()) {
      const span = limits.get(name)?.[bound]
      if (span === undefined || span.from === span.to || (last[span.from] as number) >= span.to || gap === 0) continue
      const isOpen = span.to === slots
      if (isOpen === most.isOpen ? gap <= most.gap : most.isOpen) continue
      most = { isOpen, gap }
      doubt = { name, bound, ...span }
    }
  }
  return doubt
}

/** The two or three parts into which limits fall where a flow is in doubt; none where it is right. */
const partsOf = (limits: TierLimits, counted: Counted, stretches: Stretches): TierLimits[] => {
  const slots = stretches.last.length
  const doubt = doubtOf(limits, counted, stretches)
  if (doubt === null) return []
  const { name, bound, from, to } = doubt
  const at = Math.min(to, Math.max(from, counted.met.get(name)?.[bound] ?? slots))
  const [first, last] = [stretches.first[at] as number, stretches.last[at] as number]
  const cuts =
    to === slots
      ? [[from, to - 1] as const, [to, to] as const]
      : ([
          [from, first - 1],
          [Math.max(from, first), Math.min(to, last)],
          [last + 1, to],
        ] as const)
  const spans = limits.get(name) ?? []
  return cuts.flatMap(([start, end]) => {
    const narrowed = narrow(spans, bound, { from: start, to: end })
    return narrowed.every(span => span.from <= span.to) ? [new Map([...limits, [name, narrowed]])] : []
  })
}

/** Let a bound be met within a span only: those behind it are met no sooner, those before it no later. */
const narrow = (spans: readonly Span[], bound: number, { from, to }: Span): Span[] =>
  spans.map((span, index) => {
    if (index === bound) return { from, to }
    return index > bound ? { ...span, from: Math.max(span.from, from) } : { ...span, to: Math.min(span.to, to) }
  })

/** Limits that leave all open but this: where all energy is sure to count in one accumulator, it is known which bounds are met. */
const widest = (input: FlowInput, groups: TierBounds): TierLimits => {
  const { slots, problem, scale } = input
  const [only] = groups.keys()
  const isSure =
    groups.size === 1 && isFree(input) && slots.every(({ price, generated }) => price.accumulator === only && generated.energy === 0n)
  const total = totalDemand(problem)
  const spanOf = (bound: bigint): Span => {
    if (!isSure) return { from: 0, to: slots.length }
    return onScale(scale, bound * energyUnit) <= total ? { from: 0, to: slots.length - 1 } : { from: slots.length, to: slots.length }
  }
  return new Map([...groups].map(([name, bounds]) => [name, bounds.map(spanOf)]))
}

/** Limits under which no bound is met: what a slot may have of the tier in force it may have at any time. */
const unmet = (groups: TierBounds, slots: number): TierLimits =>
  new Map([...groups].map(([name, bounds]) => [name, bounds.map(() => ({ from: slots, to: slots }))]))

/**
 * So much work is done for one plan; it bounds the time, and is the same for the same request. A network is as much work as it has arcs, and
 * besides as `fixedWork` of them.
 */
const mostWork = 10_000_000
const fixedWork = 20_000
/**
 * Large networks are gone through a thousand times and more: each time is as much work as they have arcs, and besides as `fixedSearch` of
 * them. So much takes some 15 s.
 */
const mostSearching = 4_000_000_000
const fixedSearch = 200_000

/** How near (in the units of a flow's cost) the best flow must come to what is possible. Source: docs/rules/schedules.md #amount. */
const nearness = ({ scale }: FlowInput, cost: number): number =>
  Math.max((1e12 * Number(energyUnit)) / Number(scale.unit), 1e-6 * Math.abs(cost)) / 4

/** Limits that leave each bound the stretch in which a flow has met it. */
const asMet = ({ met }: Counted, { first, last }: Stretches): TierLimits =>
  new Map([...met].map(([name, places]) => [name, places.map(slot => ({ from: first[slot] ?? slot, to: last[slot] ?? slot }))]))

type Open = { readonly limits: TierLimits; readonly found: TieredFlow; readonly counted: Counted }

/**
 * Find the flow of the most energy and, of such flows, the one that costs the least when its energy is counted in order of time.
 *
 * A network in which slots choose their tiers freely costs no more than any plan; where it costs as much as the plan that it gives, that
 * plan is the best. It is so at once for imports whose tiers lift all prices of an accumulator alike. Elsewhere the time in which a bound is
 * met is parted, and each part searched that may still hold a cheaper plan: the likeliest first and, each third time, the one of the cheapest
 * plan. The best plan is improved at once where it meets its bounds: the cheaper it is, the fewer parts are left. Beyond `mostWork` and `mostSearching` the
 * best plan found is given. Yields between short pieces of work.
 * Source: Land and Doig (1960), https://doi.org/10.2307/1910129.
 */
export function* searchTiers(input: FlowInput, groups: TierBounds): Generator<undefined, AmountFlow> {
  const count = input.slots.length
  const stretches = stretchesOf(input, groups)
  let [spent, searching] = [0, 0]
  const isSpent = (): boolean => spent > mostWork || searching > mostSearching
  const relax = function* (limits: TierLimits): Generator<undefined, Open> {
    const found = yield* tieredFlow(input, groups, limits)
    spent += found.arcs + fixedWork
    searching += found.searches * (found.arcs + fixedSearch)
    return { limits, found, counted: countInOrder(input, groups, found) }
  }
  const root = yield* relax(widest(input, groups))
  if (root.found.energy < totalDemand(input.problem) && isFree(input)) return root.found
  let best: Open | null = null
  const polish = function* (one: Open): Generator<undefined, void> {
    for (let next = one; next.counted.isAllowed && isBetter(next, best); ) {
      best = next
      if (isSpent()) return
      next = yield* relax(asMet(next.counted, stretches))
    }
  }
  let open = [root]
  for (let turn = 1; ; turn += 1) {
    for (const one of open) yield* polish(one)
    const bar = best
    open = bar === null ? open : open.filter(one => isPromising(input, one, bar))
    const isSooner = turn % 3 === 0 ? isBetter : isLikelier
    const next = open.reduce<Open | null>((first, one) => (first === null || isSooner(one, first) ? one : first), null)
    if (next === null || isSpent()) return (best ?? (yield* relax(unmet(groups, count)))).found
    open = open.filter(one => one !== next)
    for (const limits of partsOf(next.limits, next.counted, stretches)) {
      if (isSpent()) break
      const part = yield* relax(limits)
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

/** Whether the plans within the limits of a flow may be better than those within another's. */
const isLikelier = (one: Open, first: Open): boolean =>
  one.found.energy > first.found.energy || (one.found.energy === first.found.energy && one.found.cost < first.found.cost)
