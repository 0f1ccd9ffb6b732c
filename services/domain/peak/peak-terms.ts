import type { DemandCharge } from '../charge/charge.ts'
import { type DayRange, daysOfMonth, paidDays } from '../charge/charge-days.ts'
import { createWindowWeights, fullWeight } from '../charge/charge-window.ts'
import { hourMs, type Interval, overlaps } from '../interval.ts'
import { demandGridOf } from '../statement/demand-grid.ts'
import { type MonthPowers, measureEarlier, paidShare, shareDenominator } from '../statement/demand-line.ts'
import { sumEnergy } from '../statement/metered-energy.ts'
import type { LineContext } from '../statement/statement-line.ts'
import { costAt, isRising, type PowerPiece, powerPieces } from './power-pieces.ts'

/** Interval of demand in the time of a plan. `base` is the energy in kWh that is known before the plan. */
export type OpenInterval = Interval & { readonly weight: number; readonly base: number }

/**
 * Intervals whose highest power counts once: those of a range, or of one of its days. `minPower` is their highest
 * known power in kW. `maxPower` is the highest power that a plan can reach.
 */
export type PeakGroup = {
  readonly minPower: number
  readonly maxPower: number
  readonly intervals: readonly OpenInterval[]
}

/**
 * Amount of a charge in a range of days, as a function of its measured power in kW. The measured power is at least the
 * mean of the `highest` highest powers of `known` and of its groups. `known` are the powers that no plan changes,
 * falling.
 * `before` is the measured power without the plan.
 */
export type PeakTerm = {
  readonly pieces: readonly PowerPiece[]
  readonly isRising: boolean
  readonly highest: number
  readonly known: readonly number[]
  readonly groups: readonly PeakGroup[]
  readonly before: number
}

type Sample = OpenInterval & { readonly day: number; readonly power: number; readonly isOpen: boolean }

/** Return the energy in kWh that a charge counts in each interval. Sold energy counts below 0. */
const energiesOf = ({ metered }: LineContext, charge: DemandCharge, edges: readonly number[]): number[] => {
  const { counts, deviceIds } = charge
  const kwhOf = (energies: readonly bigint[]): number[] => energies.map(energy => Number(energy) / 1e9)
  if (counts !== 'NET_IMPORT') return kwhOf(sumEnergy(metered, charge, edges).energies)
  const bought = kwhOf(sumEnergy(metered, { counts: 'IMPORT', deviceIds }, edges).energies)
  const sold = kwhOf(sumEnergy(metered, { counts: 'EXPORT', deviceIds }, edges).energies)
  return bought.map((energy, index) => energy - (sold[index] as number))
}

/** Return the intervals of a month that count, with their power × weight in kW. */
const samplesOf = (context: LineContext, charge: DemandCharge, month: DayRange, time: Interval): readonly Sample[] => {
  const { metered, calendar } = context
  const { edges, days } = demandGridOf(metered, charge.intervalMinutes, month)
  const energies = energiesOf(context, charge, edges)
  const weightAt = createWindowWeights(charge.windows, { timeZone: metered.timeZone, calendar })
  return days.flatMap((day, index): readonly Sample[] => {
    const interval = { start: edges[index] as number, end: edges[index + 1] as number }
    const [weight, base] = [weightAt(interval.start) / fullWeight, energies[index] as number]
    if (weight === 0) return []
    const power = Math.max(0, (base * weight * hourMs) / (interval.end - interval.start))
    return [{ ...interval, weight, base, day, power, isOpen: overlaps(interval, time) }]
  })
}

const falling = (powers: readonly number[], count: number): readonly number[] =>
  powers.toSorted((a, b) => b - a).slice(0, count)

const maxOf = (powers: readonly number[]): number => powers.reduce((max, power) => Math.max(max, power), 0)

/** Return the mean of the highest of some powers. */
const meanOfHighest = (powers: readonly number[], highest: number): number =>
  falling(powers, highest).reduce((sum, power) => sum + power, 0) / highest

const groupBy = (samples: readonly Sample[], keyOf: (sample: Sample) => number): readonly (readonly Sample[])[] => {
  const groups = new Map<number, Sample[]>()
  for (const sample of samples) {
    const group = groups.get(keyOf(sample))
    if (group === undefined) groups.set(keyOf(sample), [sample])
    else group.push(sample)
  }
  return [...groups.values()]
}

const powersOf = (samples: readonly Sample[]): readonly number[] => samples.map(({ power }) => power)

/** Group the samples of a range; null if the plan cannot change them. */
const measuredParts = (
  { hasDistinctDays, highest: requested }: DemandCharge,
  samples: readonly Sample[],
  planPower: number,
): Omit<PeakTerm, 'pieces' | 'isRising'> | null => {
  if (!samples.some(({ isOpen }) => isOpen)) return null
  const days = groupBy(samples, ({ day }) => day)
  const counted = hasDistinctDays ? days.map(day => maxOf(powersOf(day))) : powersOf(samples)
  const highest = Math.min(requested, counted.length)
  const isByDay = hasDistinctDays && highest > 1
  const isOpenDay = (day: readonly Sample[]): boolean => day.some(({ isOpen }) => isOpen)
  const known = isByDay
    ? days.filter(day => !isOpenDay(day)).map(day => maxOf(powersOf(day)))
    : powersOf(samples.filter(({ isOpen }) => !isOpen))
  const open = samples.filter(({ isOpen }) => isOpen)
  const groups = groupBy(open, highest > 1 ? ({ day }) => day : () => 0).map((intervals): PeakGroup => {
    const all = isByDay ? samples.filter(({ day }) => day === intervals[0]?.day) : intervals
    const minPower = maxOf(powersOf(all))
    return { minPower, maxPower: minPower + planPower * maxOf(intervals.map(({ weight }) => weight)), intervals }
  })
  return { highest, known: falling(known, highest), groups, before: meanOfHighest(counted, highest) }
}

/** Group samples by local day, for charges that measure each day by itself. */
const rangesOf = (charge: DemandCharge, samples: readonly Sample[], paid: DayRange) =>
  charge.over === 'DAY'
    ? groupBy(
        samples.filter(({ day }) => day >= paid.startDay && day < paid.endDay),
        ({ day }) => day,
      ).map(ofDay => ({ samples: ofDay, days: { startDay: ofDay[0]?.day ?? 0, endDay: (ofDay[0]?.day ?? 0) + 1 } }))
    : [{ samples, days: paid }]

/**
 * Return the terms of a charge in a calendar month that a plan can change. `planPower` is the highest power of the plan
 * in kW. Empty if the charge is not paid in the month.
 */
export const peakTerms = (
  context: LineContext,
  charge: DemandCharge,
  month: number,
  time: Interval,
  planPower: number,
  known: MonthPowers,
): readonly PeakTerm[] => {
  const range = daysOfMonth(month)
  const paid = paidDays(charge, range)
  if (paid === null) return []
  const { earlier } = measureEarlier(context, charge, month, known)
  const samples = samplesOf(context, charge, range, time)
  const terms: PeakTerm[] = []
  for (const { samples: ofRange, days } of rangesOf(charge, samples, paid)) {
    const parts = measuredParts(charge, ofRange, planPower)
    if (parts === null) continue
    const share = Number(paidShare(charge, days)) / Number(shareDenominator)
    const maxPower = maxOf([...parts.known, ...parts.groups.map(group => group.maxPower)])
    const pieces = powerPieces(charge, earlier, share, maxPower)
    terms.push({ ...parts, pieces, isRising: isRising(pieces) })
  }
  return terms
}

/** Return the least possible change of the amount of a term that no level limits. */
export const minChange = ({ pieces, isRising: rises, before }: PeakTerm, canFall: boolean): number => {
  if (rises && !canFall) return 0
  const ends = pieces.flatMap(({ from, to, cost, rate }) => [cost, cost + rate * (to - from)])
  return Math.min(...ends) - costAt(pieces, before)
}
