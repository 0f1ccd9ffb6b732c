import type { DemandCharge, Power } from '../charge/charge.ts'
import { daysOfMonth, monthOfDay } from '../charge/charge-days.ts'
import { localDayNumber } from '../civil-time.ts'
import type { Interval } from '../interval.ts'
import { divideHalfEven, type Energy, type Money } from '../quantity.ts'
import type { PlannedDevice, PlanPiece } from '../schedule/amount-request.ts'
import { energyUnitMs } from '../schedule/plan-slots.ts'
import { firstIndexAbove } from '../sorted.ts'
import { demandGridOf } from '../statement/demand-grid.ts'
import { demandLine, type MonthPowers } from '../statement/demand-line.ts'
import { type EnergySums, type MeteredEnergy, sumEnergy, withSums } from '../statement/metered-energy.ts'
import type { LineContext } from '../statement/statement-line.ts'

/** Charges for demand of a location, with its metered energy in all months that they read. */
export type ChargedDemand = { readonly context: LineContext; readonly charges: readonly DemandCharge[] }

/**
 * Energy that a device plans to buy or sell, from `at` on. It lies in one interval of each charge. `deviceId` null: the
 * energy of all devices together, if no charge names devices.
 */
export type PlannedEnergy = {
  readonly at: number
  readonly deviceId: string | null
  readonly flow: 'IMPORT' | 'EXPORT'
  readonly energy: Energy
}

/** Measured power of a charge in a calendar month without and with a plan, and the rise of its amount. */
export type PlanCharge = {
  readonly chargeId: string
  readonly month: number
  readonly before: Power
  readonly after: Power
  readonly amount: Money
}

/** Charge in a calendar month, with its line without the plan. */
type ChargedMonth = {
  readonly charge: DemandCharge
  readonly month: number
  readonly before: { readonly power: Power; readonly amount: Money }
  readonly known: MonthPowers
}

/** Charges in the months of a plan. */
export type DemandMeter = { readonly context: LineContext; readonly months: readonly ChargedMonth[] }

/** Return the calendar months that share time with an interval. */
export const monthsOf = ({ metered: { timeZone } }: LineContext, { start, end }: Interval): readonly number[] => {
  const [first, last] = [start, end - 1].map(at => monthOfDay(localDayNumber(timeZone, at))) as [number, number]
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

const lineOf = (context: LineContext, charge: DemandCharge, month: number, known: MonthPowers) => {
  const range = daysOfMonth(month)
  const line = demandLine(context, charge, range, known)
  if (line?.reason?.kind !== 'DEMAND') return null
  return { power: line.reason.measured, amount: line.amountBefore(range.endDay) }
}

/** Measure all charges without the plan. A charge that is not paid in a month is left out. */
export const createDemandMeter = ({ context, charges }: ChargedDemand, time: Interval): DemandMeter => {
  const months: ChargedMonth[] = []
  for (const charge of charges) {
    const known: MonthPowers = new Map()
    for (const month of monthsOf(context, time)) {
      const before = lineOf(context, charge, month, known)
      if (before !== null) months.push({ charge, month, before, known })
    }
  }
  return { context, months }
}

/** Return the energy that a charge counts in each interval of a month, with that of a plan. */
const sumsWithPlan = (
  metered: MeteredEnergy,
  { counts, deviceIds }: DemandCharge,
  edges: readonly number[],
  planned: readonly PlannedEnergy[],
): EnergySums => {
  const add = (energies: readonly Energy[], flow: PlannedEnergy['flow']): Energy[] => {
    const sums = [...energies]
    for (const { at, deviceId, flow: plannedFlow, energy } of planned) {
      const index = firstIndexAbove(edges, at) - 1
      if (plannedFlow !== flow || index < 0 || index >= sums.length) continue
      if (deviceIds !== null && !deviceIds.some(id => id === deviceId)) continue
      sums[index] = (sums[index] as Energy) + energy
    }
    return sums
  }
  const sumsOf = (flow: DemandCharge['counts']) => sumEnergy(metered, { counts: flow, deviceIds }, edges)
  if (counts !== 'NET_IMPORT') {
    const { energies, records } = sumsOf(counts)
    const sums = add(energies, counts === 'EXPORT' ? 'EXPORT' : 'IMPORT')
    return { energies: sums, records: records + planned.length }
  }
  const [bought, sold] = [sumsOf('IMPORT'), sumsOf('EXPORT')]
  const soldEnergies = add(sold.energies, 'EXPORT')
  const net = add(bought.energies, 'IMPORT').map((energy, index) => energy - (soldEnergies[index] as Energy))
  return {
    energies: net.map(energy => (energy > 0n ? energy : 0n)),
    records: bought.records + sold.records + planned.length,
  }
}

/**
 * Measure charges with a plan, as the statement of each month will if its records follow the plan.
 * Energy of the plan is added to stored energy of the same time.
 */
export const measurePlan = (
  { context, months }: DemandMeter,
  planned: readonly PlannedEnergy[],
): readonly PlanCharge[] => {
  const planMonths = new Set(months.map(({ month }) => month))
  const changes: PlanCharge[] = []
  for (const { charge, month, before, known } of months) {
    const sums: { readonly edges: readonly number[]; readonly sums: EnergySums }[] = []
    for (const one of planMonths) {
      const { edges } = demandGridOf(context.metered, charge.intervalMinutes, daysOfMonth(one))
      sums.push({ edges, sums: sumsWithPlan(context.metered, charge, edges, planned) })
    }
    const metered = withSums(context.metered, charge, sums)
    const earlier: MonthPowers = new Map([...known].filter(([one]) => !planMonths.has(one)))
    const after = lineOf({ ...context, metered }, charge, month, earlier) ?? before
    changes.push({
      chargeId: charge.id,
      month,
      before: before.power,
      after: after.power,
      amount: after.amount - before.amount,
    })
  }
  return changes
}

/** Return the edges of the intervals of all charges, ascending. */
const intervalEdges = ({ context, months }: DemandMeter): readonly number[] => {
  const all = new Set<number>()
  for (const { charge, month } of months) {
    const { edges } = demandGridOf(context.metered, charge.intervalMinutes, daysOfMonth(month))
    for (const edge of edges) all.add(edge)
  }
  return [...all].sort((a, b) => a - b)
}

/** Return the energy of planned pieces in the intervals of all charges. */
export const energiesOfPieces = (
  meter: DemandMeter,
  devices: readonly { readonly device: PlannedDevice; readonly pieces: readonly PlanPiece[] }[],
): readonly PlannedEnergy[] => {
  const edges = intervalEdges(meter)
  const planned: PlannedEnergy[] = []
  for (const { device, pieces } of devices) {
    for (const { start, end, power } of pieces) {
      for (let from = start, index = firstIndexAbove(edges, start); from < end; index += 1) {
        const at = from
        from = Math.min(end, edges[index] ?? end)
        const energy = divideHalfEven(power * BigInt(from - at), energyUnitMs)
        planned.push({ at, deviceId: device.deviceId, flow: device.direction, energy })
      }
    }
  }
  return planned
}
