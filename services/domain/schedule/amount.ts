import { type AnswerOffset, answerOffset } from '../answer-offset.ts'
import { type Interval, overlaps } from '../interval.ts'
import { directionPeaks } from '../peak/direction-peaks.ts'
import { planWithCharges } from '../peak/plan-with-charges.ts'
import {
  type ChargedDemand,
  createDemandMeter,
  type DemandMeter,
  energiesOfPieces,
  measurePlan,
  type PlanCharge,
  type PlannedEnergy,
} from '../peak/planned-demand.ts'
import { divideHalfEven, type Energy, type Money, type Price } from '../quantity.ts'
import { accepted, type Result } from '../refusal.ts'
import type { CountedEnergy, UnpricedInterval } from '../tariff/evaluate.ts'
import type { PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection } from '../tariff/tariff.ts'
import { amountFlow, serveInOrder } from './amount-flow.ts'
import type {
  AmountRequest,
  ExpectedGeneration,
  PlannedDevice,
  PlanPiece,
  PlanPrice,
  PlanPrices,
} from './amount-request.ts'
import type { AmountFlow, FlowInput } from './flow-input.ts'
import { isShort, minCut } from './min-cut.ts'
import { costPlan } from './plan-cost.ts'
import { planPrices } from './plan-prices.ts'
import { energyUnitMs, flowProblem, planScale, planSlots, priceGeneration } from './plan-slots.ts'
import { energiesAtFullPower, energiesOf, findRunningTimes, piecesOf, slotUsesOf } from './read-flow.ts'
import { refuseInfeasible, refuseMissingPrice } from './refuse-infeasible.ts'
import { priceRange } from './slot.ts'

/** Pricing input of a plan: prices of the location, counted energy of its tiers, and its expected generation. */
export type AmountPricing = {
  readonly snapshot: PricingSnapshot
  readonly counted: CountedEnergy
  readonly generation: readonly ExpectedGeneration[]
  /** Path that refusals name for creating a missing tariff; default /tariffs. */
  readonly tariffPath?: string
  /** Return true if the tariff of a direction is pending at its provider. */
  readonly isPending?: (direction: TariffDirection) => boolean
  /** Charges for demand that the plan respects; none by default. */
  readonly demand?: ChargedDemand
}

/**
 * Charges for demand by charge and month, and a lower bound of the sum of `cost` and their amounts, which no plan is
 * below. A sum equal to the bound is the optimum.
 */
export type PlanDemand = { readonly charges: readonly PlanCharge[]; readonly bound: Money }

/**
 * Plan of one device. Pieces are in order and do not overlap; `energy` is their sum. Imports cost; exports earn (below
 * 0).
 * `baseline` is the cost of the same energy from the start of the window at full power without a site limit. Confidence
 * is in 1e-4.
 */
export type DevicePlan = {
  readonly device: PlannedDevice
  readonly pieces: readonly PlanPiece[]
  readonly energy: Energy
  readonly cost: Money
  readonly baseline: Money
  readonly confidence: number
}

/** Plan with `devices` in the order of the request. `cost` is imports less exports: the sum over the devices. */
export type AmountPlan = Pick<DevicePlan, 'cost' | 'baseline' | 'confidence'> & {
  readonly devices: readonly DevicePlan[]
  readonly unpriced: readonly UnpricedInterval[]
  readonly demand: PlanDemand | null
}

type PlanDirection = PlannedDevice['direction']

/**
 * Plan when devices take and deliver their energy at the minimum total cost.
 * The cost is that of the linear program over all devices with their powers and windows and the site limit on imports.
 * The same request gives the same plan. With a threshold nothing is planned beyond it; the priorities are maximum
 * energy, minimum cost, order of the request. Own generation supplies imports outside the site limit.
 * With `demand` the plan minimises the sum of cost and change of these charges in the calendar months of the plan.
 * `requestedOffset` (minutes) selects the UTC offsets of instants in refusals.
 * Refuses `schedule_infeasible` with the limiting devices and hours, and `no_price_data` or `no_tariff_connected` if
 * time without a price would be needed.
 * Source: docs/rules/schedules.md #amount, #threshold, #charges.
 */
export const planAmount = (
  request: AmountRequest,
  pricing: AmountPricing,
  requestedOffset: number,
): Result<AmountPlan> => {
  const planned = planDirections(request, pricing, requestedOffset)
  const { demand, ...plainPricing } = pricing
  // The plan without charges has longer slots. Only if the plan with charges may not be the optimum can it be better.
  const isOptimum = !planned.ok || planned.value.demand === null || sumOf(planned.value) === planned.value.demand.bound
  if (isOptimum || demand === undefined || pricing.generation.length > 0) return planned
  const plain = planDirections(request, plainPricing, requestedOffset)
  if (!plain.ok || planned.value.demand === null) return planned
  const meter = createDemandMeter(demand, intervalOf(request.devices))
  const charges = measurePlan(meter, energiesOfPieces(meter, plain.value.devices))
  const charged = { ...plain.value, demand: { charges, bound: planned.value.demand.bound } }
  return sumOf(charged) < sumOf(planned.value) ? accepted(charged) : planned
}

/** Return the sum of the cost of a plan and the changes of its charges. */
const sumOf = ({ cost, demand }: AmountPlan): Money =>
  (demand?.charges ?? []).reduce((sum, { amount }) => sum + amount, cost)

/** Plan imports and exports, each alone. */
const planDirections = (
  request: AmountRequest,
  pricing: AmountPricing,
  requestedOffset: number,
): Result<AmountPlan> => {
  const offsetOf = answerOffset(pricing.snapshot.timeZone, requestedOffset)
  const plans: DevicePlan[] = []
  const unpriced: UnpricedInterval[] = []
  const { demand } = pricing
  const meter = demand === undefined ? null : createDemandMeter(demand, intervalOf(request.devices))
  const planned: PlannedEnergy[] = []
  let bound: Money = 0n
  for (const direction of ['IMPORT', 'EXPORT'] as const) {
    const devices = request.devices.filter(device => device.direction === direction)
    if (devices.length === 0) continue
    const directionPlan = planDirection(direction, devices, request, pricing, offsetOf, meter)
    if (!directionPlan.ok) return directionPlan
    plans.push(...directionPlan.value.devices)
    unpriced.push(...directionPlan.value.unpriced)
    planned.push(...directionPlan.value.planned)
    bound += directionPlan.value.bound
  }
  const byDevice = new Map(plans.map(plan => [plan.device, plan]))
  const devices = request.devices.map(device => byDevice.get(device)).filter(plan => plan !== undefined)
  return accepted({
    ...totalOf(devices),
    devices,
    unpriced: unpriced.sort((a, b) => a.start - b.start),
    demand: meter === null ? null : { charges: measurePlan(meter, planned), bound },
  })
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

/** Plan of a direction. `planned` and `bound` are empty and 0 without charges. */
type DirectionPlan = {
  readonly devices: readonly DevicePlan[]
  readonly unpriced: readonly UnpricedInterval[]
  readonly planned: readonly PlannedEnergy[]
  readonly bound: Money
}

const intervalOf = (devices: readonly PlannedDevice[]): Interval => ({
  start: Math.min(...devices.map(({ start }) => start)),
  end: Math.max(...devices.map(({ end }) => end)),
})

/** Plan one direction. Imports and exports share no limit, so each direction is planned alone. */
const planDirection = (
  direction: PlanDirection,
  devices: readonly PlannedDevice[],
  request: AmountRequest,
  { snapshot, counted, generation, tariffPath = '/tariffs', isPending = () => false }: AmountPricing,
  offsetOf: AnswerOffset,
  meter: DemandMeter | null,
): Result<DirectionPlan> => {
  const planInterval = intervalOf(devices)
  const prices = planPrices(snapshot, direction, planInterval, counted)
  const unpriced = prices.unpriced.filter(interval => devices.some(device => overlaps(device, interval)))
  const sitePower = direction === 'IMPORT' ? request.sitePower : null
  const ownGeneration =
    direction === 'IMPORT' && generation.length > 0
      ? priceGeneration(generation, planPrices(snapshot, 'LOCAL', planInterval, counted).priced)
      : []
  const canSell = request.devices.some(device => device.direction === 'EXPORT')
  const peaks = meter === null ? null : directionPeaks(meter, direction, planInterval, devices, { sitePower, canSell })
  const createFlowInput = (priced: readonly PlanPrice[], isAllowed: FlowInput['isAllowed']): FlowInput => {
    const slots = planSlots(priced, devices, ownGeneration, peaks?.cuts)
    const scale = planScale(slots, devices, sitePower, peaks === null ? 0n : energyUnitMs)
    return {
      slots,
      scale,
      sitePower,
      problem: flowProblem(slots, devices, scale),
      sign: direction === 'IMPORT' ? 1n : -1n,
      isAllowed,
    }
  }
  const refusalContext = { path: tariffPath, offsetOf }
  const input = createFlowInput(prices.priced, thresholdOf(direction, request, prices))
  const [firstUnpriced] = unpriced
  if (input.slots.length === 0 && firstUnpriced !== undefined) {
    return {
      ok: false,
      refusal: refuseMissingPrice(snapshot, firstUnpriced, direction, refusalContext, isPending(direction)),
    }
  }
  const amountFlowFound = amountFlow(input)
  const isServed = request.threshold !== null || sitePower !== null
  if (isServed) serveInOrder(input.problem, amountFlowFound.flow)
  if (request.threshold === null && devices.some((_, job) => isShort(input.problem, amountFlowFound.flow, job))) {
    if (firstUnpriced !== undefined) {
      const placeholderInput = createFlowInput(withPlaceholderPrices(prices), () => true)
      const { flow } = amountFlow(placeholderInput)
      const isPriceTheOnlyReason = !devices.some((_, job) => isShort(placeholderInput.problem, flow, job))
      if (isPriceTheOnlyReason)
        return {
          ok: false,
          refusal: refuseMissingPrice(snapshot, firstUnpriced, direction, refusalContext, isPending(direction)),
        }
    }
    return { ok: false, refusal: refuseInfeasible(shortageOf(input, amountFlowFound, devices), offsetOf) }
  }
  const withCharges =
    peaks === null ? noCharges(amountFlowFound) : planWithCharges(input, amountFlowFound, devices, peaks, isServed)
  const { planned, bound } = withCharges
  return accepted({ devices: plansOf(input, withCharges.found, devices), unpriced, planned, bound })
}

const noCharges = (found: AmountFlow) => ({ found, planned: [], bound: 0n })

/** Give unpriced time a placeholder price, to test whether the missing price is the only obstacle. */
const withPlaceholderPrices = ({ priced, unpriced }: PlanPrices): PlanPrice[] =>
  [
    ...priced.map(price => ({ ...price, accumulator: null })),
    ...unpriced.map(({ start, end }) => ({
      start,
      end,
      steps: [{ upTo: null, price: 0n }],
      accumulator: null,
      components: [],
      confidence: 0,
    })),
  ].sort((a, b) => a.start - b.start)

const scaleOfOne = 1_000_000_000n

const thresholdOf = (
  direction: PlanDirection,
  { threshold }: AmountRequest,
  { priced }: PlanPrices,
): ((price: Price) => boolean) => {
  if (threshold === null || priced.length === 0) return () => true
  const { min, max } = priceRange(priced.map(({ steps }) => steps[0]?.price ?? 0n))
  const share = (threshold.relative ?? 0n) * (max - min)
  const relative = direction === 'IMPORT' ? min * scaleOfOne + share : max * scaleOfOne - share
  const bound = threshold.absolute === null ? relative : threshold.absolute * scaleOfOne
  return price => (direction === 'IMPORT' ? price * scaleOfOne <= bound : price * scaleOfOne >= bound)
}

const shortageOf = (input: FlowInput, { flow }: AmountFlow, allDevices: readonly PlannedDevice[]) => {
  const { jobs, slots } = minCut(input.problem, flow)
  const devices = jobs.map(job => allDevices[job] as PlannedDevice)
  const energies = devices.flatMap((device, index) => energiesOf(input, flow, device, jobs[index] as number))
  return {
    devices,
    hours: slots.map(slot => input.slots[slot] as FlowInput['slots'][number]),
    possible: energies.reduce((sum, { energy }) => sum + energy, 0n),
  }
}

const plansOf = (
  input: FlowInput,
  { flow, generated }: AmountFlow,
  devices: readonly PlannedDevice[],
): DevicePlan[] => {
  const { slots, scale } = input
  const energies = devices.map((device, job) => energiesOf(input, flow, device, job))
  const cost = costPlan(slots, slotUsesOf(energies, slots.length, generated, scale), devices.length)
  const fullPowerEnergies = devices.map((_, job) => energiesAtFullPower(input, job, energies[job] ?? []))
  const baseline = costPlan(slots, slotUsesOf(fullPowerEnergies, slots.length, null, scale), devices.length)
  const runningMs = findRunningTimes(input, flow, generated)
  return devices.map((device, job) => ({
    device,
    pieces: piecesOf(input, flow, device, job, runningMs),
    energy: (energies[job] ?? []).reduce((sum, { energy }) => sum + energy, 0n),
    cost: input.sign * (cost.costs[job] ?? 0n),
    baseline: input.sign * (baseline.costs[job] ?? 0n),
    confidence: cost.confidences[job] ?? 10_000,
  }))
}
