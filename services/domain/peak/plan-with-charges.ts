import { type Energy, type Money, mulDivHalfEven } from '../quantity.ts'
import { serveInOrder } from '../schedule/amount-flow.ts'
import type { PlannedDevice } from '../schedule/amount-request.ts'
import type { AmountFlow, FlowInput } from '../schedule/flow-input.ts'
import { costPlan, type SlotUse } from '../schedule/plan-cost.ts'
import { energiesOf, slotUsesOf } from '../schedule/read-flow.ts'
import type { DirectionPeaks } from './direction-peaks.ts'
import { measurePlan, type PlannedEnergy } from './planned-demand.ts'
import { searchPeaks } from './search-peaks.ts'

/** Flow of a direction, its energy through the grid, and a lower bound of the sum of cost and change of charges. */
export type ChargedPlan = {
  readonly found: AmountFlow
  readonly planned: readonly PlannedEnergy[]
  readonly bound: Money
}

/** Return the use of slots by a flow. */
const slotUses = (
  input: FlowInput,
  { flow, generated }: AmountFlow,
  devices: readonly PlannedDevice[],
): readonly SlotUse[] => {
  const energies = devices.map((device, job) => energiesOf(input, flow, device, job))
  return slotUsesOf(energies, input.slots.length, generated, input.scale)
}

/** Return the energy of each slot through the grid. */
const energiesOfSlots = ({ slots, sign }: FlowInput, uses: readonly SlotUse[]): readonly PlannedEnergy[] =>
  uses.flatMap(({ energies, ownEnergy }, index): readonly PlannedEnergy[] => {
    const energy = energies.reduce((sum, one) => sum + one, 0n) - ownEnergy
    if (energy === 0n) return []
    return [{ at: slots[index]?.start ?? 0, deviceId: null, flow: sign === 1n ? 'IMPORT' : 'EXPORT', energy }]
  })

/** Return the energy of each job through the grid. Own generation supplies all jobs of a slot in the same share. */
const energiesOfDevices = (
  { slots }: FlowInput,
  uses: readonly SlotUse[],
  devices: readonly PlannedDevice[],
): readonly PlannedEnergy[] =>
  uses.flatMap(({ jobs, energies, ownEnergy }, index) => {
    const total = energies.reduce((sum, energy) => sum + energy, 0n)
    let [passed, shared]: [Energy, Energy] = [0n, 0n]
    return jobs.map((job, position): PlannedEnergy => {
      const { deviceId, direction } = devices[job] as PlannedDevice
      passed += energies[position] as Energy
      const upTo = ownEnergy === 0n ? passed : mulDivHalfEven(passed, total - ownEnergy, total)
      const energy = upTo - shared
      shared = upTo
      return { at: slots[index]?.start ?? 0, deviceId, flow: direction, energy }
    })
  })

/**
 * Find the flow of maximum energy with the least sum of energy cost and change of charges. `plain` is the flow without
 * charges. If `isServed`, jobs of lower index come first where supply is short.
 */
export const planWithCharges = (
  input: FlowInput,
  plain: AmountFlow,
  devices: readonly PlannedDevice[],
  peaks: DirectionPeaks,
  isServed: boolean,
): ChargedPlan => {
  // Few charges name devices. Without them, the energy of slots is enough.
  const plannedOf = (uses: readonly SlotUse[]): readonly PlannedEnergy[] =>
    peaks.namesDevices ? energiesOfDevices(input, uses, devices) : energiesOfSlots(input, uses)
  const evaluate = (found: AmountFlow): Money => {
    if (isServed && found !== plain) serveInOrder(input.problem, found.flow)
    const uses = slotUses(input, found, devices)
    const { costs } = costPlan(input.slots, uses, devices.length)
    const changes = measurePlan(peaks.meter, plannedOf(uses))
    const cost = costs.reduce((sum, one) => sum + one, 0n)
    return input.sign * cost + changes.reduce((sum, { amount }) => sum + amount, 0n)
  }
  const { found, bound } = searchPeaks(input, plain, peaks, evaluate)
  return { found, planned: plannedOf(slotUses(input, found, devices)), bound }
}
