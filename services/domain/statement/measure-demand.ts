import type { DemandCharge } from '../charge/charge.ts'
import type { DayRange } from '../charge/charge-days.ts'
import { createWindowWeights, fullWeight } from '../charge/charge-window.ts'
import type { LocationCalendar } from '../charge/location-calendar.ts'
import { fractionOf } from '../fraction.ts'
import { hourMs } from '../interval.ts'
import { type DemandGrid, demandGridOf } from './demand-grid.ts'
import type { Measurement, Peak, RangeMeasurement } from './measurement.ts'
import { type MeteredEnergy, sumEnergy } from './metered-energy.ts'

/** Measured power of each day of a range. */
export type DayMeasurement = Measurement & { readonly day: number }

type MeasuredCharge = Pick<
  DemandCharge,
  'intervalMinutes' | 'windows' | 'highest' | 'hasDistinctDays' | 'counts' | 'deviceIds'
>

/** Add a peak to the highest ones if its score is high enough. The peaks arrive by time. */
const addPeak = (peaks: Peak[], peak: Peak, highest: number): void => {
  let index = peaks.length
  while (index > 0 && (peaks[index - 1] as Peak).score < peak.score) index -= 1
  if (index < highest) peaks.splice(index, 0, peak)
  if (peaks.length > highest) peaks.pop()
}

const measurementOf = (peaks: readonly Peak[], { commonLengthMs }: DemandGrid): Measurement => ({
  power: fractionOf(
    peaks.reduce((sum, { score }) => sum + score, 0n) * BigInt(hourMs),
    BigInt(commonLengthMs) * BigInt(fullWeight) * BigInt(Math.max(peaks.length, 1)),
  ),
  peaks,
})

/**
 * Collect the peaks of some intervals: each interval, or the highest interval of each local day. `isHigh` returns
 * whether an interval can be a peak; the intervals arrive by time.
 */
const createPeakCollector = ({ highest, hasDistinctDays }: MeasuredCharge) => {
  const peaks: Peak[] = []
  let highestOfDay: Peak | null = null
  let lastDay = Number.NaN
  const closeDay = (): void => {
    if (highestOfDay !== null) addPeak(peaks, highestOfDay, highest)
    highestOfDay = null
  }
  return {
    isHigh: (score: bigint, day: number): boolean => {
      if (hasDistinctDays) return day !== lastDay || highestOfDay === null || score > highestOfDay.score
      return peaks.length < highest || score > (peaks[highest - 1] as Peak).score
    },
    add: (peak: Peak, day: number): void => {
      if (day !== lastDay) closeDay()
      lastDay = day
      if (hasDistinctDays) highestOfDay = peak
      else addPeak(peaks, peak, highest)
    },
    close: (): readonly Peak[] => {
      closeDay()
      return peaks
    },
  }
}

type PeakCollector = ReturnType<typeof createPeakCollector>

/** Collect the peaks of the intervals of a range that count, in order of time. Days without a collector do not count. */
const collectPeaks = (
  metered: MeteredEnergy,
  charge: MeasuredCharge,
  calendar: LocationCalendar | null,
  range: DayRange,
  collectorOf: (day: number) => PeakCollector | undefined,
): { readonly grid: DemandGrid; readonly hasRecords: boolean } => {
  const grid = demandGridOf(metered, charge.intervalMinutes, range)
  const { edges, days, factors } = grid
  const { energies, records } = sumEnergy(metered, charge, edges)
  const weightAt = createWindowWeights(charge.windows, { timeZone: metered.timeZone, calendar })
  let scale = { factor: Number.NaN, value: 0n }
  for (const [index, energy] of energies.entries()) {
    const [start, day] = [edges[index] as number, days[index] as number]
    const collector = collectorOf(day)
    const weight = collector === undefined ? 0 : weightAt(start)
    if (collector === undefined || weight === 0) continue
    const factor = (factors[index] as number) * weight
    if (factor !== scale.factor) scale = { factor, value: BigInt(factors[index] as number) * BigInt(weight) }
    const score = energy === 0n ? 0n : energy * scale.value
    if (collector.isHigh(score, day))
      collector.add({ start, end: edges[index + 1] as number, energy, weight, score }, day)
  }
  const hours = charge.windows.reduce((sum, window) => sum + window.hours.length, 0)
  metered.work.visited += energies.length + hours * (range.endDay - range.startDay)
  return { grid, hasRecords: records > 0 }
}

/** Maximum number of measured ranges in memory. */
const maxMeasuredRanges = 10_000

const measurementKey = (charge: MeasuredCharge, { startDay, endDay }: DayRange): string => {
  const { intervalMinutes, windows, highest, hasDistinctDays, counts, deviceIds } = charge
  return JSON.stringify([startDay, endDay, intervalMinutes, windows, highest, hasDistinctDays, counts, deviceIds])
}

/**
 * Measure a range of days: the mean of the highest intervals, or of the highest interval of the highest days.
 * `calendar` is that of the location, the same in each call. Charges that measure alike share the measurement.
 */
export const measureDemand = (
  metered: MeteredEnergy,
  charge: MeasuredCharge,
  calendar: LocationCalendar | null,
  range: DayRange,
): RangeMeasurement => {
  const { measurements } = metered
  const key = measurementKey(charge, range)
  const known = measurements.get(key)
  if (known !== undefined) return known
  const collector = createPeakCollector(charge)
  const { grid, hasRecords } = collectPeaks(metered, charge, calendar, range, () => collector)
  const measured = { ...measurementOf(collector.close(), grid), hasRecords }
  if (measurements.size === maxMeasuredRanges) measurements.clear()
  measurements.set(key, measured)
  return measured
}

/** Measure each paid day of a range by itself. All paid days are present, in order. */
export const measureDays = (
  metered: MeteredEnergy,
  charge: MeasuredCharge,
  calendar: LocationCalendar | null,
  range: DayRange,
  paid: DayRange,
): readonly DayMeasurement[] => {
  const collectors = new Map<number, PeakCollector>()
  for (let day = paid.startDay; day < paid.endDay; day += 1) collectors.set(day, createPeakCollector(charge))
  const { grid } = collectPeaks(metered, charge, calendar, range, day => collectors.get(day))
  return [...collectors].map(([day, collector]) => ({ day, ...measurementOf(collector.close(), grid) }))
}
