import type { DemandCharge, Power } from '../charge/charge.ts'
import { daysOfMonth, monthOfDay } from '../charge/charge-days.ts'
import { localDayNumber } from '../civil-time.ts'
import type { Interval } from '../interval.ts'
import type { Energy, Money } from '../quantity.ts'
import { demandGridOf } from '../statement/demand-grid.ts'
import { demandLine, type MonthPowers } from '../statement/demand-line.ts'
import { type EnergySums, type MeteredEnergy, sumEnergy, withSums } from '../statement/metered-energy.ts'
import type { LineContext } from '../statement/statement-line.ts'

/** Charges for demand of a location, and what it has metered in all months that they read. */
export type ChargedDemand = { readonly context: LineContext; readonly charges: readonly DemandCharge[] }

/** Energy that a device plans to buy or sell, from `at` on. It lies in one interval of each charge. */
export type PlannedEnergy = {
  readonly at: number
  readonly deviceId: string
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

function* lineOf(context: LineContext, charge: DemandCharge, month: number, known: MonthPowers) {
  const range = daysOfMonth(month)
  const line = yield* demandLine(context, charge, range, known)
  if (line?.reason?.kind !== 'DEMAND') return null
  return { power: line.reason.measured, amount: line.amountBefore(range.endDay) }
}

/** Measure all charges without the plan. A charge that is not paid in a month is left out. */
export function* createDemandMeter({ context, charges }: ChargedDemand, time: Interval): Generator<null, DemandMeter> {
  const months: ChargedMonth[] = []
  for (const charge of charges) {
    const known: MonthPowers = new Map()
    for (const month of monthsOf(context, time)) {
      const before = yield* lineOf(context, charge, month, known)
      if (before !== null) months.push({ charge, month, before, known })
    }
  }
  return { context, months }
}

/** Return the index of the interval that contains an instant. */
const indexAt = (edges: readonly number[], at: number): number => {
  let [low, high] = [0, edges.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((edges[middle] as number) <= at) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** Return the energy that a charge counts in each interval of a month, with that of a plan. */
function* sumsWithPlan(
  metered: MeteredEnergy,
  { counts, deviceIds }: DemandCharge,
  edges: readonly number[],
  planned: readonly PlannedEnergy[],
): Generator<null, EnergySums> {
  const add = (energies: readonly Energy[], flow: PlannedEnergy['flow']): Energy[] => {
    const sums = [...energies]
    for (const { at, deviceId, flow: plannedFlow, energy } of planned) {
      const index = indexAt(edges, at)
      if (plannedFlow !== flow || index < 0 || index >= sums.length) continue
      if (deviceIds !== null && !deviceIds.includes(deviceId)) continue
      sums[index] = (sums[index] as Energy) + energy
    }
    return sums
  }
  const sumsOf = (flow: DemandCharge['counts']) => sumEnergy(metered, { counts: flow, deviceIds }, edges)
  if (counts !== 'NET_IMPORT') {
    const { energies, records } = yield* sumsOf(counts)
    return { energies: add(energies, counts === 'EXPORT' ? 'EXPORT' : 'IMPORT'), records: records + planned.length }
  }
  const [bought, sold] = [yield* sumsOf('IMPORT'), yield* sumsOf('EXPORT')]
  const soldEnergies = add(sold.energies, 'EXPORT')
  const net = add(bought.energies, 'IMPORT').map((energy, index) => energy - (soldEnergies[index] as Energy))
  return {
    energies: net.map(energy => (energy > 0n ? energy : 0n)),
    records: bought.records + sold.records + planned.length,
  }
}

/**
 * Measure charges with a plan, as the statement of each month will if its records follow the plan.
 * Energy of the plan is added to what is stored for the same time.
 */
export function* measurePlan(
  { context, months }: DemandMeter,
  planned: readonly PlannedEnergy[],
): Generator<null, readonly PlanCharge[]> {
  const planMonths = new Set(months.map(({ month }) => month))
  const changes: PlanCharge[] = []
  for (const { charge, month, before, known } of months) {
    const sums: { readonly edges: readonly number[]; readonly sums: EnergySums }[] = []
    for (const one of planMonths) {
      const { edges } = yield* demandGridOf(context.metered, charge.intervalMinutes, daysOfMonth(one))
      sums.push({ edges, sums: yield* sumsWithPlan(context.metered, charge, edges, planned) })
    }
    const metered = withSums(context.metered, charge, sums)
    const earlier: MonthPowers = new Map([...known].filter(([one]) => !planMonths.has(one)))
    const after = (yield* lineOf({ ...context, metered }, charge, month, earlier)) ?? before
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
