import { type AnswerOffset, answerOffset } from '../answer-offset.ts'
import { divideHalfEven, type Energy, type Money, type Price } from '../quantity.ts'
import { accepted, type Result } from '../refusal.ts'
import type { CountedEnergy } from '../tariff/evaluate.ts'
import type { PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection } from '../tariff/tariff.ts'
import { amountFlow } from './amount-flow.ts'
import type { AmountDevice, AmountRequest, Generation, PlanPiece, PlanPrice, PlanPrices, UnpricedTime } from './amount-request.ts'
import type { AmountFlow, FlowInput } from './flow-input.ts'
import { infeasible, withoutPrice } from './infeasible.ts'
import { priceRange } from './limit.ts'
import { isShort, minCut } from './min-cut.ts'
import { costPlan } from './plan-cost.ts'
import { planPrices } from './plan-prices.ts'
import { flowProblem, planScale, planSlots, priceGeneration } from './plan-slots.ts'
import { atFullPower, energiesOf, piecesOf, runningTimes, usesOf } from './read-flow.ts'
import { serveInOrder } from './request-order.ts'

/** What plans are priced from: the location's prices, what its tiers have counted, and the generation that it expects. */
export type AmountMarket = {
  readonly snapshot: PricingSnapshot
  readonly counted: CountedEnergy
  readonly generation: readonly Generation[]
  /** Path that refusals name for posting a missing tariff; /tariffs by default. */
  readonly tariffPath?: string
  /** Tell whether the tariff of a direction is on its way from its provider. */
  readonly isPending?: (direction: TariffDirection) => boolean
}

/**
 * What one device does. Pieces are in order and do not overlap; `energy` is what they hold. Imports cost, exports earn (below 0).
 * `baseline` is what the same energy costs from the window's start at full power without cap. Confidence in 1e-4.
 */
export type DevicePlan = {
  readonly device: AmountDevice
  readonly pieces: readonly PlanPiece[]
  readonly energy: Energy
  readonly cost: Money
  readonly baseline: Money
  readonly confidence: number
}

/** A plan: `devices` in the order of the request; `cost` is imports less exports, the sum of theirs. */
export type AmountPlan = Pick<DevicePlan, 'cost' | 'baseline' | 'confidence'> & {
  readonly devices: readonly DevicePlan[]
  readonly unpriced: readonly UnpricedTime[]
}

type Direction = AmountDevice['direction']

/**
 * Plan when devices take and give their energy at the least cost of all together.
 *
 * The cost is that of the linear program over all devices under their powers and windows and the location's cap on imports; the same
 * request gives the same plan. With a threshold nothing is planned beyond it: first the most energy, then the least cost, then the
 * order of the request. Own generation supplies imports outside the cap. Yields between short pieces of work. `requestedOffset` (minutes)
 * decides on the offsets of instants in refusals. Refuses `schedule_infeasible` with the devices and hours that bind, and `no_price_data` or `no_tariff_connected`
 * where time without a price would be needed. Source: docs/rules/schedules.md #amount, #threshold.
 */
export function* planAmount(
  request: AmountRequest,
  market: AmountMarket,
  requestedOffset: number,
): Generator<undefined, Result<AmountPlan>> {
  const offsetOf = answerOffset(market.snapshot.timeZone, requestedOffset)
  const plans: DevicePlan[] = []
  const unpriced: UnpricedTime[] = []
  for (const direction of ['IMPORT', 'EXPORT'] as const) {
    const devices = request.devices.filter(device => device.direction === direction)
    if (devices.length === 0) continue
    const planned = yield* planDirection(direction, devices, request, market, offsetOf)
    if (!planned.ok) return planned
    plans.push(...planned.value.devices)
    unpriced.push(...planned.value.unpriced)
  }
  const byDevice = new Map(plans.map(plan => [plan.device, plan]))
  const devices = request.devices.map(device => byDevice.get(device)).filter(plan => plan !== undefined)
  return accepted({ ...totalOf(devices), devices, unpriced: unpriced.sort((a, b) => a.start - b.start) })
}

const totalOf = (plans: readonly DevicePlan[]): Pick<AmountPlan, 'cost' | 'baseline' | 'confidence'> => {
  let [cost, baseline, energy, weighted] = [0n, 0n, 0n, 0n]
  for (const plan of plans) {
    cost += plan.cost
    baseline += plan.baseline
    energy += plan.energy
    weighted += plan.energy * BigInt(plan.confidence)
  }
  return { cost, baseline, confidence: energy === 0n ? 10_000 : Number(divideHalfEven(weighted, energy)) }
}

type Planned = { readonly devices: readonly DevicePlan[]; readonly unpriced: readonly UnpricedTime[] }

const spanOf = (devices: readonly AmountDevice[]) => ({
  start: Math.min(...devices.map(({ start }) => start)),
  end: Math.max(...devices.map(({ end }) => end)),
})

/** Imports and exports share nothing, so each is planned alone. */
function* planDirection(
  direction: Direction,
  devices: readonly AmountDevice[],
  request: AmountRequest,
  { snapshot, counted, generation, tariffPath = '/tariffs', isPending = () => false }: AmountMarket,
  offsetOf: AnswerOffset,
): Generator<undefined, Result<Planned>> {
  const span = spanOf(devices)
  const prices = planPrices(snapshot, direction, span, counted)
  const unpriced = prices.unpriced.filter(one => devices.some(({ start, end }) => start < one.end && end > one.start))
  const sitePower = direction === 'IMPORT' ? request.sitePower : null
  const own =
    direction === 'IMPORT' && generation.length > 0 ? priceGeneration(generation, planPrices(snapshot, 'LOCAL', span, counted).priced) : []
  const inputFor = (priced: readonly PlanPrice[], isAllowed: FlowInput['isAllowed']): FlowInput => {
    const slots = planSlots(priced, devices, own)
    const scale = planScale(slots, devices, sitePower)
    return { slots, scale, sitePower, problem: flowProblem(slots, devices, scale), sign: direction === 'IMPORT' ? 1n : -1n, isAllowed }
  }
  const words = { path: tariffPath, offsetOf }
  const input = inputFor(prices.priced, thresholdOf(direction, request, prices))
  const [firstUnpriced] = unpriced
  if (input.slots.length === 0 && firstUnpriced !== undefined) {
    return { ok: false, refusal: withoutPrice(snapshot, firstUnpriced, direction, words, isPending(direction)) }
  }
  const found = yield* amountFlow(input)
  if (request.threshold !== null || sitePower !== null) yield* serveInOrder(input.problem, found.flow)
  if (request.threshold === null && devices.some((_, job) => isShort(input.problem, found.flow, job))) {
    if (firstUnpriced !== undefined) {
      const whole = inputFor(withPretendedPrices(prices), () => true)
      const { flow } = yield* amountFlow(whole)
      const isOnlyPrice = !devices.some((_, job) => isShort(whole.problem, flow, job))
      if (isOnlyPrice) return { ok: false, refusal: withoutPrice(snapshot, firstUnpriced, direction, words, isPending(direction)) }
    }
    return { ok: false, refusal: infeasible(shortageOf(input, found, devices), offsetOf) }
  }
  return accepted({ devices: yield* plansOf(input, found, devices), unpriced })
}

/** All time with some price, to see what could be done if all of it had one. */
const withPretendedPrices = ({ priced, unpriced }: PlanPrices): PlanPrice[] =>
  [
    ...priced.map(one => ({ ...one, accumulator: null })),
    ...unpriced.map(({ start, end }) => ({ start, end, steps: [{ upTo: null, price: 0n }], accumulator: null, parts: [], confidence: 0 })),
  ].sort((a, b) => a.start - b.start)

const one = 1_000_000_000n

const thresholdOf = (direction: Direction, { threshold }: AmountRequest, { priced }: PlanPrices): ((price: Price) => boolean) => {
  if (threshold === null || priced.length === 0) return () => true
  const { min, max } = priceRange(priced.map(({ steps }) => steps[0]?.price ?? 0n))
  const share = (threshold.relative ?? 0n) * (max - min)
  const relative = direction === 'IMPORT' ? min * one + share : max * one - share
  const bound = threshold.absolute === null ? relative : threshold.absolute * one
  return price => (direction === 'IMPORT' ? price * one <= bound : price * one >= bound)
}

const devicesAtATime = 32

/** Give what each device is turned into; yields between some, so that a caller may pause. */
function* forEach<T>(devices: readonly AmountDevice[], turn: (device: AmountDevice, job: number) => T): Generator<undefined, T[]> {
  const all: T[] = []
  for (const [job, device] of devices.entries()) {
    if (job % devicesAtATime === 0) yield undefined
    all.push(turn(device, job))
  }
  return all
}

const shortageOf = (input: FlowInput, { flow }: AmountFlow, all: readonly AmountDevice[]) => {
  const { jobs, slots } = minCut(input.problem, flow)
  const devices = jobs.map(job => all[job] as AmountDevice)
  const energies = devices.flatMap((device, place) => energiesOf(input, flow, device, jobs[place] as number))
  return {
    devices,
    hours: slots.map(slot => input.slots[slot] as FlowInput['slots'][number]),
    possible: energies.reduce((sum, { energy }) => sum + energy, 0n),
  }
}

function* plansOf(input: FlowInput, { flow, generated }: AmountFlow, devices: readonly AmountDevice[]): Generator<undefined, DevicePlan[]> {
  const { slots, scale } = input
  const energies = yield* forEach(devices, (device, job) => energiesOf(input, flow, device, job))
  const cost = yield* costPlan(slots, usesOf(energies, slots.length, generated, scale), devices.length)
  const direct = yield* forEach(devices, (_, job) => atFullPower(input, job, energies[job] ?? []))
  const baseline = yield* costPlan(slots, usesOf(direct, slots.length, null, scale), devices.length)
  const times = runningTimes(input, flow, generated)
  return yield* forEach(devices, (device, job) => ({
    device,
    pieces: piecesOf(input, flow, device, job, times),
    energy: (energies[job] ?? []).reduce((sum, { energy }) => sum + energy, 0n),
    cost: input.sign * (cost.costs[job] ?? 0n),
    baseline: input.sign * (baseline.costs[job] ?? 0n),
    confidence: cost.confidences[job] ?? 10_000,
  }))
}
