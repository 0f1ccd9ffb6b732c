import { costOf, divideHalfEven, type Energy, type Money, mulDivHalfEven, type Price } from '../quantity.ts'
import type { PlanSlot } from './plan-slots.ts'

/** Energy (1e-6 Wh) of the jobs of a slot, `ownEnergy` of it from generation. Jobs ascend; energies are above 0. */
export type SlotUse = {
  readonly jobs: readonly number[]
  readonly energies: readonly Energy[]
  readonly ownEnergy: Energy
}

/** Cost of each job, and its confidence in 1e-4, weighted by energy (1 without energy). */
export type PlanCost = {
  readonly costs: readonly Money[]
  readonly confidences: readonly number[]
  readonly confidence: number
}

/** Energy at one price and confidence (1e-4). */
type PricedEnergy = { readonly energy: Energy; readonly price: Price; readonly confidence: number }

/**
 * Cost the use of slots, which are in order of time. Grid energy counts in its accumulators in that order and pays the
 * tiers that it reaches.
 * A slot with one price costs each job price × energy. The cost of a slot with several prices is shared by energy; the
 * shares add up to it.
 * Source: docs/rules/schedules.md #tiers-in-plans.
 */
export const costPlan = (slots: readonly PlanSlot[], uses: readonly SlotUse[], jobs: number): PlanCost => {
  const costs = new Array<Money>(jobs).fill(0n)
  const [energies, weighted] = [new Array<Energy>(jobs).fill(0n), new Array<bigint>(jobs).fill(0n)]
  const counted = new Map<string, Energy>()
  for (const [index, slot] of slots.entries()) {
    const use = uses[index] as SlotUse
    if (use.jobs.length === 0) continue
    const pricedEnergies = priceSlot(slot, use, counted)
    const confidence = meanConfidence(pricedEnergies)
    const shares =
      pricedEnergies.length === 1
        ? use.energies.map(energy => costOf(energy, (pricedEnergies[0] as PricedEnergy).price))
        : sharesOf(use, pricedEnergies)
    for (const [jobIndex, job] of use.jobs.entries()) {
      const energy = use.energies[jobIndex] as Energy
      costs[job] = (costs[job] as Money) + (shares[jobIndex] as Money)
      energies[job] = (energies[job] as Energy) + energy
      weighted[job] = (weighted[job] as bigint) + energy * BigInt(confidence)
    }
  }
  const confidences = energies.map((energy, job) => weightedMean(weighted[job] as bigint, energy))
  const [allWeighted, totalEnergy] = [weighted, energies].map(list => list.reduce((sum, one) => sum + one, 0n)) as [
    bigint,
    bigint,
  ]
  return { costs, confidences, confidence: weightedMean(allWeighted, totalEnergy) }
}

const weightedMean = (weighted: bigint, energy: Energy): number =>
  energy === 0n ? 10_000 : Number(divideHalfEven(weighted, energy))

const meanConfidence = (pricedEnergies: readonly PricedEnergy[]): number =>
  pricedEnergies.length === 1
    ? (pricedEnergies[0] as PricedEnergy).confidence
    : weightedMean(
        pricedEnergies.reduce((sum, { energy, confidence }) => sum + energy * BigInt(confidence), 0n),
        pricedEnergies.reduce((sum, { energy }) => sum + energy, 0n),
      )

const sharesOf = ({ energies }: SlotUse, pricedEnergies: readonly PricedEnergy[]): Money[] => {
  const cost = pricedEnergies.reduce((sum, { energy, price }) => sum + costOf(energy, price), 0n)
  const total = energies.reduce((sum, energy) => sum + energy, 0n)
  let [passedEnergy, sharedCost] = [0n, 0n]
  return energies.map(energy => {
    passedEnergy += energy
    const upTo = mulDivHalfEven(cost, passedEnergy, total)
    const share = upTo - sharedCost
    sharedCost = upTo
    return share
  })
}

/** Return the priced energy of a slot: own generation, and grid energy tier by tier, which is counted. */
const priceSlot = ({ price, generated }: PlanSlot, use: SlotUse, counted: Map<string, Energy>): PricedEnergy[] => {
  const pricedEnergies: PricedEnergy[] =
    use.ownEnergy === 0n ? [] : [{ energy: use.ownEnergy, price: generated.price, confidence: generated.confidence }]
  let remaining = use.energies.reduce((sum, energy) => sum + energy, 0n) - use.ownEnergy
  while (remaining > 0n) {
    let [energy, sum] = [remaining, price.components.length === 0 ? (price.steps[0]?.price ?? 0n) : 0n]
    for (const { accumulator, steps } of price.components) {
      const countedBefore = counted.get(accumulator) ?? 0n
      const step = steps.find(({ upTo }) => upTo === null || countedBefore < upTo)
      sum += step?.price ?? 0n
      if (step !== undefined && step.upTo !== null && step.upTo - countedBefore < energy)
        energy = step.upTo - countedBefore
    }
    for (const { accumulator } of price.components) counted.set(accumulator, (counted.get(accumulator) ?? 0n) + energy)
    pricedEnergies.push({ energy, price: sum, confidence: price.confidence })
    remaining -= energy
  }
  return pricedEnergies
}
