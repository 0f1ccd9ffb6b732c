import type { Interval } from '../interval.ts'
import { divideHalfEven, type Energy } from '../quantity.ts'
import type { PlannedDevice, PlanPiece } from './amount-request.ts'
import type { FlowInput } from './flow-input.ts'
import { cellOf, type Flow, isRunningIn } from './flow-problem.ts'
import { isShort } from './min-cut.ts'
import type { SlotUse } from './plan-cost.ts'
import { energyUnitMs, onScale, type PlanScale } from './plan-slots.ts'

/** Energy (1e-6 Wh, above 0) of a job in a slot. */
export type SlotEnergy = { readonly slot: number; readonly energy: Energy }

const energyOfAmount = ({ unit }: PlanScale, amount: number): Energy =>
  divideHalfEven(BigInt(Math.round(amount)) * unit, energyUnitMs)

const minEnergy = (a: Energy, b: Energy): Energy => (a < b ? a : b)

/**
 * Collect energies of one job in order. Each is the difference of the rounded sums up to its slot, so no energy is
 * lost.
 */
const createCollector = (scale: PlanScale) => {
  const found: SlotEnergy[] = []
  let [amount, energy] = [0, 0n]
  return {
    found,
    addEnergy: (slot: number, more: number): void => {
      amount += more
      const upTo = energyOfAmount(scale, amount)
      if (upTo > energy) found.push({ slot, energy: upTo - energy })
      energy = upTo
    },
  }
}

/**
 * Return the energy of a job in each slot, in order. If the job lacks nothing, the sum is exactly the energy of its
 * device.
 */
export const energiesOf = (
  { slots, problem, scale }: FlowInput,
  flow: Flow,
  device: PlannedDevice,
  job: number,
): SlotEnergy[] => {
  const { found, addEnergy } = createCollector(scale)
  for (
    let slot = problem.firstSlot[job] as number;
    slot < Math.min(problem.endSlot[job] as number, slots.length);
    slot += 1
  ) {
    const amount = flow.energy[cellOf(problem, flow, job, slot)] as number
    if (amount > 0) addEnergy(slot, amount)
  }
  const last = found.at(-1)
  if (last === undefined || isShort(problem, flow, job)) return found
  const missingEnergy = device.energy - found.reduce((sum, { energy }) => sum + energy, 0n)
  if (missingEnergy !== 0n) found[found.length - 1] = { slot: last.slot, energy: last.energy + missingEnergy }
  return found
}

/**
 * Return the energies of a job that runs at full power from the start of its window until it has its planned energy.
 */
export const energiesAtFullPower = (
  { problem, scale }: FlowInput,
  job: number,
  planned: readonly SlotEnergy[],
): SlotEnergy[] => {
  let remaining = planned.reduce((sum, { energy }) => sum + energy, 0n)
  const { found, addEnergy } = createCollector(scale)
  const energies: SlotEnergy[] = []
  for (
    let slot = problem.firstSlot[job] as number;
    slot < (problem.endSlot[job] as number) && remaining > 0n;
    slot += 1
  ) {
    addEnergy(slot, (problem.rate[job] as number) * (problem.slotLength[slot] as number))
    const lastFound = found.at(-1)
    if (lastFound?.slot !== slot) continue
    const energy = minEnergy(lastFound.energy, remaining)
    energies.push({ slot, energy })
    remaining -= energy
  }
  return energies
}

/**
 * Convert energies of jobs to the use of slots. `generated` (null: none) is the own generation used in each slot, on
 * the scale.
 */
export const slotUsesOf = (
  energies: readonly (readonly SlotEnergy[])[],
  slots: number,
  generated: Float64Array | null,
  scale: PlanScale,
): SlotUse[] => {
  const uses = Array.from({ length: slots }, () => ({ jobs: [] as number[], energies: [] as Energy[], ownEnergy: 0n }))
  for (const [job, found] of energies.entries()) {
    for (const { slot, energy } of found) {
      uses[slot]?.jobs.push(job)
      uses[slot]?.energies.push(energy)
    }
  }
  if (generated === null) return uses
  for (const [slot, use] of uses.entries()) {
    const drawn = generated[slot] as number
    if (drawn <= 0) continue
    const [ownEnergy, total] = [energyOfAmount(scale, drawn), use.energies.reduce((sum, energy) => sum + energy, 0n)]
    use.ownEnergy = minEnergy(ownEnergy, total)
  }
  return uses
}

const secondMs = 1000

/**
 * Extend the running time in a slot (ms), from its start or to its end, until the inner edge is a whole second. The
 * power falls to the mean.
 * The price is constant within a slot, so the cost does not change. If the slot ends before that second, the exact
 * length remains.
 * Source: docs/rules/schedules.md #slot-edges.
 */
const extendToWholeSecond = ({ start, end }: Interval, lengthMs: number, startsLate: boolean): number => {
  const extendedMs = startsLate
    ? end - Math.floor((end - lengthMs) / secondMs) * secondMs
    : Math.ceil((start + lengthMs) / secondMs) * secondMs - start
  return extendedMs <= end - start ? extendedMs : lengthMs
}

/**
 * Return the running time (ms) in each slot; 0 if each job runs as long as it needs at its full power.
 * If the full powers together exceed the site limit, all jobs run in parallel, as fast as the limit and their powers
 * allow. Generation is used over the whole slot.
 */
export const findRunningTimes = (input: FlowInput, flow: Flow, generated: Float64Array): Float64Array => {
  const { slots, problem, sitePower, scale } = input
  const runningMs = Float64Array.from(slots, ({ start, end }, slot) =>
    (generated[slot] as number) > 0 ? end - start : 0,
  )
  if (sitePower === null) return runningMs
  const cap = onScale(scale, sitePower * BigInt(scale.timeUnitMs))
  const [rates, amounts, shares] = [
    new Float64Array(slots.length),
    new Float64Array(slots.length),
    new Float64Array(slots.length),
  ]
  for (const [job, rate] of problem.rate.entries()) {
    for (let slot = problem.firstSlot[job] as number; slot < (problem.endSlot[job] as number); slot += 1) {
      const amount = flow.energy[cellOf(problem, flow, job, slot)] as number
      if (amount <= 0) continue
      rates[slot] = (rates[slot] as number) + rate
      amounts[slot] = (amounts[slot] as number) + amount
      shares[slot] = Math.max(shares[slot] as number, amount / rate / (problem.slotLength[slot] as number))
    }
  }
  for (const [index, { start, end }] of slots.entries()) {
    if ((rates[index] as number) <= cap || runningMs[index] !== 0) continue
    const share = Math.max(
      shares[index] as number,
      (amounts[index] as number) / cap / (problem.slotLength[index] as number),
    )
    runningMs[index] = extendToWholeSecond(
      { start, end },
      Math.min(end - start, Math.ceil((end - start) * share)),
      false,
    )
  }
  return runningMs
}

/**
 * Return the energy of a job as intervals of constant power. Neighbours of equal power are joined.
 * At full power a job runs next to its earlier or later piece, otherwise from the start of the slot. Edges within a
 * slot are whole seconds. `runningMs` is the result of `findRunningTimes`.
 */
export const piecesOf = (
  input: FlowInput,
  flow: Flow,
  device: PlannedDevice,
  job: number,
  runningMs: Float64Array,
): PlanPiece[] => {
  const { slots, problem } = input
  const pieces: PlanPiece[] = []
  for (let index = problem.firstSlot[job] as number; index < (problem.endSlot[job] as number); index += 1) {
    const amount = flow.energy[cellOf(problem, flow, job, index)] as number
    const slot = slots[index]
    if (slot === undefined || amount <= 0) continue
    const piece = pieceInSlot(input, flow, device, job, index, amount, runningMs[index] as number)
    const last = pieces.at(-1)
    if (last?.end === piece.start && last.power === piece.power) pieces[pieces.length - 1] = { ...last, end: piece.end }
    else if (piece.power > 0n) pieces.push(piece)
  }
  return pieces
}

const pieceInSlot = (
  { slots, problem, scale }: FlowInput,
  flow: Flow,
  device: PlannedDevice,
  job: number,
  index: number,
  amount: number,
  runningMs: number,
): PlanPiece => {
  const { start, end } = slots[index] as FlowInput['slots'][number]
  if (amount === (problem.rate[job] as number) * (problem.slotLength[index] as number))
    return { start, end, power: device.power }
  const energy = BigInt(Math.round(amount)) * scale.unit
  // Whole milliseconds, rounded up: the power can be slightly below full power, never above.
  const neededMs = runningMs === 0 ? Number((energy + device.power - 1n) / device.power) : runningMs
  const isBefore = slots[index - 1]?.end === start && isRunningIn(problem, flow, job, index - 1)
  const isAfter = slots[index + 1]?.start === end && isRunningIn(problem, flow, job, index + 1)
  const startsLate = runningMs === 0 && !isBefore && isAfter
  const lengthMs = extendToWholeSecond({ start, end }, Math.min(Math.max(neededMs, 1), end - start), startsLate)
  // Above 2^53, rounding can make an amount slightly more than the device can take.
  const power = minEnergy(divideHalfEven(energy, BigInt(lengthMs)), device.power)
  return startsLate ? { start: end - lengthMs, end, power } : { start, end: start + lengthMs, power }
}
