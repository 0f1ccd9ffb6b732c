import type { DemandCharge } from '../charge/charge.ts'
import type { DayRange } from '../charge/charge-days.ts'
import { createWindowWeights, fullWeight } from '../charge/charge-window.ts'
import type { LocationCalendar } from '../charge/location-calendar.ts'
import { type Fraction, fractionOf } from '../fraction.ts'
import { hourMs, type Interval } from '../interval.ts'
import type { Energy } from '../quantity.ts'
import { type DemandGrid, demandGridOf } from './demand-grid.ts'
import { type MeteredEnergy, sumEnergy } from './metered-energy.ts'

/** Interval of high demand. `weight` is in 1e-9. `score` is power × weight in the unit of the grid. */
export type Peak = Interval & { readonly energy: Energy; readonly weight: number; readonly score: bigint }

/**
 * Measured power of some days, in 1e-9 kW: the mean of power × weight of the peaks, 0 without peaks.
 * The peaks are in order of falling power × weight, the earlier of equal ones first.
 */
export type Measurement = { readonly power: Fraction; readonly peaks: readonly Peak[] }

/** Measurement of a range of days. `hasRecords`: a counted record shares time with it. */
export type RangeMeasurement = Measurement & { readonly hasRecords: boolean }

/** Measured power of each day of a range. */
export type DayMeasurement = Measurement & { readonly day: number }

type MeasuredCharge = Pick<
  DemandCharge,
  'intervalMinutes' | 'windows' | 'highest' | 'hasDistinctDays' | 'counts' | 'deviceIds'
>

/** Number of intervals between two pauses. */
const intervalsPerPause = 1_024

/** Add a peak to the highest ones if its score is high enough. The peaks arrive by time. */
const addPeak = (peaks: Peak[], peak: Peak, highest: number): void => {
  if (peaks.length === highest && (peaks[highest - 1] as Peak).score >= peak.score) return
  let index = peaks.length
  while (index > 0 && (peaks[index - 1] as Peak).score < peak.score) index -= 1
  peaks.splice(index, 0, peak)
  if (peaks.length > highest) peaks.pop()
}

const measurementOf = (peaks: readonly Peak[], { commonLengthMs }: DemandGrid): Measurement => ({
  power: fractionOf(
    peaks.reduce((sum, { score }) => sum + score, 0n) * BigInt(hourMs),
    BigInt(commonLengthMs) * BigInt(fullWeight) * BigInt(Math.max(peaks.length, 1)),
  ),
  peaks,
})

/** Collect the peaks of some intervals: each interval, or the highest interval of each local day. */
const createPeakCollector = ({ highest, hasDistinctDays }: MeasuredCharge) => {
  const peaks: Peak[] = []
  let highestOfDay: Peak | null = null
  let lastDay = Number.NaN
  const closeDay = (): void => {
    if (highestOfDay !== null) addPeak(peaks, highestOfDay, highest)
    highestOfDay = null
  }
  return {
    add: (peak: Peak, day: number): void => {
      if (!hasDistinctDays) {
        addPeak(peaks, peak, highest)
        return
      }
      if (day !== lastDay) closeDay()
      lastDay = day
      if (highestOfDay === null || peak.score > highestOfDay.score) highestOfDay = peak
    },
    close: (): readonly Peak[] => {
      closeDay()
      return peaks
    },
  }
}

/** Visit the intervals of a range that count, in order of time, with their energy and weight. */
function* visitIntervals(
  metered: MeteredEnergy,
  charge: MeasuredCharge,
  calendar: LocationCalendar | null,
  range: DayRange,
  visit: (peak: Peak, day: number) => void,
): Generator<null, { readonly grid: DemandGrid; readonly hasRecords: boolean }> {
  const grid = yield* demandGridOf(metered, charge.intervalMinutes, range)
  const { edges, days, factors } = grid
  const { energies, records } = yield* sumEnergy(metered, charge, edges)
  const weightAt = createWindowWeights(charge.windows, { timeZone: metered.timeZone, calendar })
  let scale = { factor: Number.NaN, value: 0n }
  for (const [index, energy] of energies.entries()) {
    const start = edges[index] as number
    const weight = weightAt(start)
    if (index % intervalsPerPause === 0) yield null
    if (weight === 0) continue
    const factor = (factors[index] as number) * weight
    if (factor !== scale.factor) scale = { factor, value: BigInt(factors[index] as number) * BigInt(weight) }
    const score = energy === 0n ? 0n : energy * scale.value
    visit({ start, end: edges[index + 1] as number, energy, weight, score }, days[index] as number)
  }
  return { grid, hasRecords: records > 0 }
}

/** Measure a range of days: the mean of the highest intervals, or of the highest interval of the highest days. */
export function* measureDemand(
  metered: MeteredEnergy,
  charge: MeasuredCharge,
  calendar: LocationCalendar | null,
  range: DayRange,
): Generator<null, RangeMeasurement> {
  const collector = createPeakCollector(charge)
  const { grid, hasRecords } = yield* visitIntervals(metered, charge, calendar, range, collector.add)
  return { ...measurementOf(collector.close(), grid), hasRecords }
}

/** Measure each day of a range by itself. All days are present, in order. */
export function* measureDays(
  metered: MeteredEnergy,
  charge: MeasuredCharge,
  calendar: LocationCalendar | null,
  range: DayRange,
): Generator<null, readonly DayMeasurement[]> {
  const collectors = new Map<number, ReturnType<typeof createPeakCollector>>()
  for (let day = range.startDay; day < range.endDay; day += 1) collectors.set(day, createPeakCollector(charge))
  const { grid } = yield* visitIntervals(metered, charge, calendar, range, (peak, day) =>
    collectors.get(day)?.add(peak, day),
  )
  return [...collectors].map(([day, collector]) => ({ day, ...measurementOf(collector.close(), grid) }))
}
