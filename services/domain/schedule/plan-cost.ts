import { costOf, divideHalfEven, type Energy, type Money, mulDivHalfEven, type Price } from '../quantity.ts'
import type { PlanSlot } from './plan-slots.ts'

/** Energy (1e-6 Wh) of a slot's jobs, of which `own` comes from generation. Jobs in ascending order, energies above 0. */
export type SlotUse = { readonly jobs: readonly number[]; readonly energies: readonly Energy[]; readonly own: Energy }

/** What each job costs, and its confidence in 1e-4 by energy (1 without energy). */
export type PlanCost = { readonly costs: readonly Money[]; readonly confidences: readonly number[]; readonly confidence: number }

/** Energy at one price and confidence (1e-4). */
type Part = { readonly energy: Energy; readonly price: Price; readonly confidence: number }

const slotsAtATime = 64

/**
 * Cost the use of slots, which come in order of time. What comes from the grid counts in its accumulators in that order and pays the
 * tiers that it meets. A slot with one price costs each job price × energy; what a slot with several costs is shared by energy, and
 * shares add up to it. Yields between some slots, so that a caller may pause.
 * Source: docs/rules/schedules.md #tiers-in-plans.
 */
export function* costPlan(slots: readonly PlanSlot[], uses: readonly SlotUse[], jobs: number): Generator<undefined, PlanCost> {
  const costs = new Array<Money>(jobs).fill(0n)
  const [energies, weighted] = [new Array<Energy>(jobs).fill(0n), new Array<bigint>(jobs).fill(0n)]
  const counted = new Map<string, Energy>()
  for (const [index, slot] of slots.entries()) {
    if (index % slotsAtATime === 0) yield undefined
    const use = uses[index] as SlotUse
    if (use.jobs.length === 0) continue
    const parts = partsOf(slot, use, counted)
    const confidence = meanConfidence(parts)
    const shares = parts.length === 1 ? use.energies.map(energy => costOf(energy, (parts[0] as Part).price)) : sharesOf(use, parts)
    for (const [place, job] of use.jobs.entries()) {
      const energy = use.energies[place] as Energy
      costs[job] = (costs[job] as Money) + (shares[place] as Money)
      energies[job] = (energies[job] as Energy) + energy
      weighted[job] = (weighted[job] as bigint) + energy * BigInt(confidence)
    }
  }
  const confidences = energies.map((energy, job) => meanOf(weighted[job] as bigint, energy))
  const [allWeighted, all] = [weighted, energies].map(list => list.reduce((sum, one) => sum + one, 0n)) as [bigint, bigint]
  return { costs, confidences, confidence: meanOf(allWeighted, all) }
}

const meanOf = (weighted: bigint, energy: Energy): number => (energy === 0n ? 10_000 : Number(divideHalfEven(weighted, energy)))

const meanConfidence = (parts: readonly Part[]): number =>
  parts.length === 1
    ? (parts[0] as Part).confidence
    : meanOf(
        parts.reduce((sum, { energy, confidence }) => sum + energy * BigInt(confidence), 0n),
        parts.reduce((sum, { energy }) => sum + energy, 0n),
      )

const sharesOf = ({ energies }: SlotUse, parts: readonly Part[]): Money[] => {
  const cost = parts.reduce((sum, { energy, price }) => sum + costOf(energy, price), 0n)
  const total = energies.reduce((sum, energy) => sum + energy, 0n)
  let [passed, shared] = [0n, 0n]
  return energies.map(energy => {
    passed += energy
    const upTo = mulDivHalfEven(cost, passed, total)
    const share = upTo - shared
    shared = upTo
    return share
  })
}

/** What a slot's energy costs: its own generation, and the grid's tier by tier, which is counted. */
const partsOf = ({ price, generated }: PlanSlot, use: SlotUse, counted: Map<string, Energy>): Part[] => {
  const parts: Part[] = use.own === 0n ? [] : [{ energy: use.own, price: generated.price, confidence: generated.confidence }]
  let left = use.energies.reduce((sum, energy) => sum + energy, 0n) - use.own
  while (left > 0n) {
    let [energy, sum] = [left, price.parts.length === 0 ? (price.steps[0]?.price ?? 0n) : 0n]
    for (const { accumulator, steps } of price.parts) {
      const at = counted.get(accumulator) ?? 0n
      const step = steps.find(({ upTo }) => upTo === null || at < upTo)
      sum += step?.price ?? 0n
      if (step !== undefined && step.upTo !== null && step.upTo - at < energy) energy = step.upTo - at
    }
    for (const { accumulator } of price.parts) counted.set(accumulator, (counted.get(accumulator) ?? 0n) + energy)
    parts.push({ energy, price: sum, confidence: price.confidence })
    left -= energy
  }
  return parts
}
