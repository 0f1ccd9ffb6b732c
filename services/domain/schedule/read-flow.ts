import { divideHalfEven, type Energy } from '../quantity.ts'
import type { AmountDevice, PlanPiece } from './amount-request.ts'
import type { FlowInput } from './flow-input.ts'
import { cellOf, type Flow, runsIn } from './flow-problem.ts'
import { isShort } from './min-cut.ts'
import type { SlotUse } from './plan-cost.ts'
import { energyUnit, onScale, type PlanScale } from './plan-slots.ts'

/** Energy (1e-6 Wh, above 0) of a job in a slot. */
export type SlotEnergy = { readonly slot: number; readonly energy: Energy }

const toEnergy = ({ unit }: PlanScale, amount: number): Energy => divideHalfEven(BigInt(Math.round(amount)) * unit, energyUnit)

const least = (a: Energy, b: Energy): Energy => (a < b ? a : b)

/** Collect energies of one job in order: each is the difference of what is rounded up to its slot, so nothing is lost. */
const collect = (scale: PlanScale) => {
  const found: SlotEnergy[] = []
  let [amount, energy] = [0, 0n]
  return {
    found,
    add: (slot: number, more: number): void => {
      amount += more
      const upTo = toEnergy(scale, amount)
      if (upTo > energy) found.push({ slot, energy: upTo - energy })
      energy = upTo
    },
  }
}

/** Read what a job gets in each slot, in order of slots. One that lacks nothing gets exactly what its device asks for. */
export const energiesOf = ({ slots, problem, scale }: FlowInput, flow: Flow, device: AmountDevice, job: number): SlotEnergy[] => {
  const { found, add } = collect(scale)
  for (let slot = problem.first[job] as number; slot < Math.min(problem.last[job] as number, slots.length); slot += 1) {
    const amount = flow.energy[cellOf(problem, flow, job, slot)] as number
    if (amount > 0) add(slot, amount)
  }
  const last = found.at(-1)
  if (last === undefined || isShort(problem, flow, job)) return found
  const lacking = device.energy - found.reduce((sum, { energy }) => sum + energy, 0n)
  if (lacking !== 0n) found[found.length - 1] = { slot: last.slot, energy: last.energy + lacking }
  return found
}

/** Give the energies of a job when it runs at full power from its window's start until it has what is planned in all. */
export const atFullPower = ({ problem, scale }: FlowInput, job: number, planned: readonly SlotEnergy[]): SlotEnergy[] => {
  let left = planned.reduce((sum, { energy }) => sum + energy, 0n)
  const { found, add } = collect(scale)
  const direct: SlotEnergy[] = []
  for (let slot = problem.first[job] as number; slot < (problem.last[job] as number) && left > 0n; slot += 1) {
    add(slot, (problem.rate[job] as number) * (problem.length[slot] as number))
    const most = found.at(-1)
    if (most?.slot !== slot) continue
    const energy = least(most.energy, left)
    direct.push({ slot, energy })
    left -= energy
  }
  return direct
}

/** Turn energies of jobs into the use of slots. `generated` (null: none) is what each slot draws from generation, on the scale. */
export const usesOf = (
  energies: readonly (readonly SlotEnergy[])[],
  slots: number,
  generated: Float64Array | null,
  scale: PlanScale,
): SlotUse[] => {
  const uses = Array.from({ length: slots }, () => ({ jobs: [] as number[], energies: [] as Energy[], own: 0n }))
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
    const [own, total] = [toEnergy(scale, drawn), use.energies.reduce((sum, energy) => sum + energy, 0n)]
    use.own = least(own, total)
  }
  return uses
}

const secondMs = 1000

/**
 * Lengthen what runs in a slot (ms), from its start or to its end, until its inner edge lies on a whole second; the power falls to the mean.
 * Within a slot the price does not change, so the cost stays. The exact length stays where the slot ends before that second.
 * Source: docs/rules/schedules.md #slot-edges.
 */
const toWholeSecond = ({ start, end }: { readonly start: number; readonly end: number }, length: number, isAtEnd: boolean): number => {
  const longer = isAtEnd
    ? end - Math.floor((end - length) / secondMs) * secondMs
    : Math.ceil((start + length) / secondMs) * secondMs - start
  return longer <= end - start ? longer : length
}

/**
 * Find how long (ms) what runs in each slot runs there; 0: each as long as it needs at its full power. Where their full powers are too much together
 * all run as fast as the cap and their powers let them, side by side; generation is used as it comes, over the whole slot.
 */
export const runningTimes = (input: FlowInput, flow: Flow, generated: Float64Array): Float64Array => {
  const { slots, problem, sitePower, scale } = input
  const times = Float64Array.from(slots, ({ start, end }, slot) => ((generated[slot] as number) > 0 ? end - start : 0))
  if (sitePower === null) return times
  const cap = onScale(scale, sitePower * BigInt(scale.timeUnit))
  const [rates, amounts, shares] = [new Float64Array(slots.length), new Float64Array(slots.length), new Float64Array(slots.length)]
  for (const [job, rate] of problem.rate.entries()) {
    for (let slot = problem.first[job] as number; slot < (problem.last[job] as number); slot += 1) {
      const amount = flow.energy[cellOf(problem, flow, job, slot)] as number
      if (amount <= 0) continue
      rates[slot] = (rates[slot] as number) + rate
      amounts[slot] = (amounts[slot] as number) + amount
      shares[slot] = Math.max(shares[slot] as number, amount / rate / (problem.length[slot] as number))
    }
  }
  for (const [index, { start, end }] of slots.entries()) {
    if ((rates[index] as number) <= cap || times[index] !== 0) continue
    const share = Math.max(shares[index] as number, (amounts[index] as number) / cap / (problem.length[index] as number))
    times[index] = toWholeSecond({ start, end }, Math.min(end - start, Math.ceil((end - start) * share)), false)
  }
  return times
}

/**
 * Write what a job gets as stretches of constant power; neighbours of equal power are one. At full power it runs beside what it does before or
 * after, else from the slot's start. Edges within a slot lie on whole seconds. `times` are those of `runningTimes`.
 */
export const piecesOf = (input: FlowInput, flow: Flow, device: AmountDevice, job: number, times: Float64Array): PlanPiece[] => {
  const { slots, problem } = input
  const pieces: PlanPiece[] = []
  for (let index = problem.first[job] as number; index < (problem.last[job] as number); index += 1) {
    const amount = flow.energy[cellOf(problem, flow, job, index)] as number
    const slot = slots[index]
    if (slot === undefined || amount <= 0) continue
    const piece = pieceIn(input, flow, device, job, index, amount, times[index] as number)
    const last = pieces.at(-1)
    if (last?.end === piece.start && last.power === piece.power) pieces[pieces.length - 1] = { ...last, end: piece.end }
    else if (piece.power > 0n) pieces.push(piece)
  }
  return pieces
}

const pieceIn = (
  { slots, problem, scale }: FlowInput,
  flow: Flow,
  device: AmountDevice,
  job: number,
  index: number,
  amount: number,
  runningMs: number,
): PlanPiece => {
  const { start, end } = slots[index] as FlowInput['slots'][number]
  if (amount === (problem.rate[job] as number) * (problem.length[index] as number)) return { start, end, power: device.power }
  const energy = BigInt(Math.round(amount)) * scale.unit
  // Whole milliseconds, rounded up: the power may be a hair below the full one, never above.
  const neededMs = runningMs === 0 ? Number((energy + device.power - 1n) / device.power) : runningMs
  const isBefore = slots[index - 1]?.end === start && runsIn(problem, flow, job, index - 1)
  const isAfter = slots[index + 1]?.start === end && runsIn(problem, flow, job, index + 1)
  const isAtEnd = runningMs === 0 && !isBefore && isAfter
  const length = toWholeSecond({ start, end }, Math.min(Math.max(neededMs, 1), end - start), isAtEnd)
  // Beyond 2^53 an amount may be a hair more than the device can take.
  const power = least(divideHalfEven(energy, BigInt(length)), device.power)
  return isAtEnd ? { start: end - length, end, power } : { start, end: start + length, power }
}
