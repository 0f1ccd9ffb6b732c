import { type Interval, overlaps } from '../interval.ts'
import { divideHalfEven, type Energy, type Price, shareWithin } from '../quantity.ts'
import { firstIndexFrom } from '../sorted.ts'
import type { ExpectedGeneration, PlannedDevice, PlanPrice, Power } from './amount-request.ts'
import type { FlowProblem } from './flow-problem.ts'

/** Generation with its price; price and confidence (1e-4) are constant. */
export type PricedGeneration = ExpectedGeneration & { readonly price: Price }

/** Generation of a slot; confidence in 1e-4. */
type SlotGeneration = { readonly energy: Energy; readonly price: Price; readonly confidence: number }

/** Interval in which no price changes, no window begins or ends, and generation is constant. */
export type PlanSlot = Interval & {
  readonly price: PlanPrice
  readonly generated: SlotGeneration
}

/** Scale of integers: energy in multiples of `unit` (1e-6 W × ms), time in multiples of `timeUnitMs`. */
export type PlanScale = { readonly unit: bigint; readonly timeUnitMs: number }

/** 1e-6 Wh in 1e-6 W × ms. */
export const energyUnitMs = 3_600_000n

/** Price generation. It is cut where the price changes; unpriced generation is left out. */
export const priceGeneration = (
  generation: readonly ExpectedGeneration[],
  prices: readonly PlanPrice[],
): PricedGeneration[] =>
  generation.flatMap(one =>
    prices
      .filter(price => overlaps(price, one))
      .map(price => {
        const [start, end] = [Math.max(one.start, price.start), Math.min(one.end, price.end)]
        const confidence = Math.round((one.confidence * price.confidence) / 1_000_000)
        return {
          start,
          end,
          energy: shareWithin(one.energy, one, { start, end }),
          confidence,
          price: price.steps[0]?.price ?? 0n,
        }
      }),
  )

/**
 * Cut the priced time of the windows into slots, also at `cuts`. Time outside every window is left out.
 * The generation of a slot is a share of its intervals in proportion to time; its confidence is their mean by energy.
 */
export const planSlots = (
  prices: readonly PlanPrice[],
  devices: readonly PlannedDevice[],
  generation: readonly PricedGeneration[],
  cuts: readonly number[] = [],
): PlanSlot[] => {
  const ends = [...prices, ...devices, ...generation].flatMap(({ start, end }) => [start, end])
  const edges = [...new Set([...ends, ...cuts])].sort((a, b) => a - b)
  const isInWindow = windowTest(devices)
  const slots: PlanSlot[] = []
  let index = 0
  const sorted = generation.toSorted((a, b) => a.start - b.start)
  let [activeGeneration, next]: [PricedGeneration[], number] = [[], 0]
  for (const [edgeIndex, start] of edges.entries()) {
    const end = edges[edgeIndex + 1] ?? start
    while (index < prices.length && (prices[index] as PlanPrice).end <= start) index += 1
    while (next < sorted.length && (sorted[next] as PricedGeneration).start <= start)
      activeGeneration.push(sorted[next++] as PricedGeneration)
    activeGeneration = activeGeneration.filter(one => one.end > start)
    const price = prices[index]
    if (price === undefined || price.start > start || end === start || !isInWindow(start)) continue
    slots.push({ start, end, price, generated: generationIn(activeGeneration, start, end) })
  }
  return slots
}

/** Return a function that checks if an instant lies in a window. Its calls must be in order of time. */
const windowTest = (devices: readonly PlannedDevice[]): ((at: number) => boolean) => {
  const windows = devices.toSorted((a, b) => a.start - b.start)
  let next = 0
  let windowEnd = Number.NEGATIVE_INFINITY
  return at => {
    for (; next < windows.length && (windows[next] as PlannedDevice).start <= at; next += 1) {
      windowEnd = Math.max(windowEnd, (windows[next] as PlannedDevice).end)
    }
    return at < windowEnd
  }
}

const generationIn = (activeGeneration: readonly PricedGeneration[], start: number, end: number): SlotGeneration => {
  let [energy, weighted] = [0n, 0n]
  for (const one of activeGeneration) {
    const share = shareWithin(one.energy, one, { start, end })
    energy += share
    weighted += share * BigInt(one.confidence)
  }
  return {
    energy,
    price: activeGeneration[0]?.price ?? 0n,
    confidence: energy === 0n ? 10_000 : Number(divideHalfEven(weighted, energy)),
  }
}

const greatestCommonDivisor = (a: bigint, b: bigint): bigint => (b === 0n ? a : greatestCommonDivisor(b, a % b))
const greatestCommonDivisorMs = (a: number, b: number): number => (b === 0 ? a : greatestCommonDivisorMs(b, a % b))

/** Find the coarsest scale on which every power, energy and length of a plan is an integer, and `amount` too. */
export const planScale = (
  slots: readonly PlanSlot[],
  devices: readonly PlannedDevice[],
  sitePower: Power | null,
  amount = 0n,
): PlanScale => {
  const timeUnitMs = slots.reduce((unit, { start, end }) => greatestCommonDivisorMs(end - start, unit), 0) || 1
  let unit = greatestCommonDivisor((sitePower ?? 0n) * BigInt(timeUnitMs), amount)
  for (const { power, energy } of devices)
    unit = greatestCommonDivisor(greatestCommonDivisor(power * BigInt(timeUnitMs), energy * energyUnitMs), unit)
  for (const { generated, price } of slots) {
    unit = greatestCommonDivisor(generated.energy * energyUnitMs, unit)
    for (const { upTo } of price.steps) unit = greatestCommonDivisor((upTo ?? 0n) * energyUnitMs, unit)
  }
  return { unit: unit === 0n ? 1n : unit, timeUnitMs }
}

/** Convert an amount of 1e-6 W × ms to a scale, exactly if the result is an integer below 2^53. */
export const onScale = ({ unit }: PlanScale, amount: bigint): number =>
  amount % unit === 0n ? Number(amount / unit) : Number(amount) / Number(unit)

/** Convert slots and devices to a scale; job j is `devices[j]`. A window without a priced slot has no slots. */
export const flowProblem = (
  slots: readonly PlanSlot[],
  devices: readonly PlannedDevice[],
  scale: PlanScale,
): FlowProblem => {
  const starts = slots.map(({ start }) => start)
  return {
    slotLength: Float64Array.from(slots, ({ start, end }) => (end - start) / scale.timeUnitMs),
    firstSlot: Int32Array.from(devices, ({ start }) => firstIndexFrom(starts, start)),
    endSlot: Int32Array.from(devices, ({ end }) => firstIndexFrom(starts, end)),
    rate: Float64Array.from(devices, ({ power }) => onScale(scale, power * BigInt(scale.timeUnitMs))),
    demand: Float64Array.from(devices, ({ energy }) => onScale(scale, energy * energyUnitMs)),
    minEnergy: Number(energyUnitMs) / Number(scale.unit),
  }
}
