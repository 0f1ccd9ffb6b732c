import { type TimeZone, utcOffsetPeriods } from '../civil-time.ts'
import { hourMs } from '../interval.ts'

/** Prices over half-open intervals (ms) in order of time, without overlap, in any unit. Gaps are allowed. */
export type PriceHistory = {
  readonly starts: readonly number[]
  readonly ends: readonly number[]
  readonly values: readonly number[]
}

/**
 * One price for each local hour from the first known one. `firstHour` counts local hours from 1970-01-01T00:00.
 * `values` has no gap: an hour that is not `known` repeats the week before, otherwise the day or the hour before.
 */
export type HourGrid = { readonly firstHour: number; readonly values: Float64Array; readonly known: Uint8Array }

const hoursPerWeek = 168

type HourSums = { readonly firstHour: number; readonly weightedPrices: Float64Array; readonly coveredMs: Float64Array }

const addPrice = (
  { firstHour, weightedPrices, coveredMs }: HourSums,
  localStart: number,
  localEnd: number,
  value: number,
): void => {
  for (let hour = Math.floor(localStart / hourMs); hour * hourMs < localEnd; hour += 1) {
    const durationMs = Math.min(localEnd, (hour + 1) * hourMs) - Math.max(localStart, hour * hourMs)
    const index = hour - firstHour
    if (index < 0 || index >= coveredMs.length) continue
    weightedPrices[index] = (weightedPrices[index] as number) + value * durationMs
    coveredMs[index] = (coveredMs[index] as number) + durationMs
  }
}

const fillGaps = ({ weightedPrices, coveredMs }: HourSums): Pick<HourGrid, 'values' | 'known'> => {
  const values = new Float64Array(coveredMs.length)
  const known = new Uint8Array(coveredMs.length)
  for (let hour = 0; hour < coveredMs.length; hour += 1) {
    const durationMs = coveredMs[hour] as number
    if (durationMs > 0) {
      values[hour] = (weightedPrices[hour] as number) / durationMs
      known[hour] = 1
    } else {
      const from = hour >= hoursPerWeek ? hour - hoursPerWeek : hour >= 24 ? hour - 24 : hour - 1
      values[hour] = values[from] ?? 0
    }
  }
  return { values, known }
}

/**
 * Convert prices to the local hours of a zone, up to `end` (exclusive, ms). Each hour has the time-weighted mean of its
 * prices.
 * An hour that a clock change repeats has the mean of both; a skipped hour is filled. Hours that `end` cuts are left
 * out. Null if there is no complete hour.
 */
export const hourGrid = (history: PriceHistory, zone: TimeZone, end: number): HourGrid | null => {
  const from = history.starts[0]
  if (from === undefined || from >= end) return null
  const offsetPeriods = utcOffsetPeriods(zone, from, end)
  const [first, last] = [offsetPeriods[0], offsetPeriods.at(-1)]
  if (first === undefined || last === undefined) return null
  const firstHour = Math.floor((from + first.offset) / hourMs)
  const count = Math.floor((end + last.offset) / hourMs) - firstHour
  if (count <= 0) return null
  const sums: HourSums = { firstHour, weightedPrices: new Float64Array(count), coveredMs: new Float64Array(count) }
  let index = 0
  for (const { start, end, offset } of offsetPeriods) {
    while (index < history.starts.length && (history.starts[index] as number) < end) {
      const overlapStart = Math.max(start, history.starts[index] as number)
      const overlapEnd = Math.min(end, history.ends[index] as number)
      if (overlapStart < overlapEnd)
        addPrice(sums, overlapStart + offset, overlapEnd + offset, history.values[index] as number)
      if ((history.ends[index] as number) > end) break
      index += 1
    }
  }
  return { firstHour, ...fillGaps(sums) }
}
