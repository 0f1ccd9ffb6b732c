import { offsetAt, type TimeZone } from '../civil-time.ts'
import { hourMs } from '../interval.ts'
import { hoursPerBlock } from './blocks.ts'
import type { PriceHistory } from './hour-grid.ts'
import { medianOf } from './statistics.ts'

const shapeDays = 28
const dayMs = hoursPerBlock * hourMs

/**
 * Return the complete hours of the last weeks that were published in slots of one length: prices of the slots by hour
 * of the day.
 */
const completeHours = (
  { starts, ends, values }: PriceHistory,
  zone: TimeZone,
  end: number,
  length: number,
): readonly number[][][] => {
  const hours: number[][][] = Array.from({ length: hoursPerBlock }, () => [])
  const slotsPerHour = hourMs / length
  let index = starts.findIndex(start => start >= end - shapeDays * dayMs)
  while (index >= 0 && index + slotsPerHour <= starts.length && (starts[index + slotsPerHour - 1] as number) < end) {
    const start = starts[index] as number
    const local = start + offsetAt(zone, start)
    const isComplete =
      local % hourMs === 0 &&
      starts[index + slotsPerHour - 1] === start + (slotsPerHour - 1) * length &&
      ends[index + slotsPerHour - 1] === start + hourMs &&
      ends[index] === start + length
    if (isComplete) hours[(local / hourMs) % hoursPerBlock]?.push(values.slice(index, index + slotsPerHour))
    index += isComplete ? slotsPerHour : 1
  }
  return hours
}

const slotDeviations = (hours: readonly (readonly number[])[], slotsPerHour: number): Float64Array => {
  const buffer = new Float64Array(hours.length)
  const shape = new Float64Array(slotsPerHour)
  for (let slot = 0; slot < slotsPerHour; slot += 1) {
    for (const [index, prices] of hours.entries()) {
      buffer[index] = (prices[slot] as number) - prices.reduce((sum, price) => sum + price, 0) / slotsPerHour
    }
    shape[slot] = medianOf(buffer, hours.length)
  }
  const mean = shape.reduce((sum, value) => sum + value, 0) / slotsPerHour
  return shape.map(value => value - mean)
}

/**
 * Return a function for the usual deviation of a slot from the mean of its hour, by local time (ms since 1970): the
 * median of the four weeks before `end`. The slots of an hour sum to 0. `slotMs` divides the hour.
 */
export const slotShape = (
  history: PriceHistory,
  zone: TimeZone,
  end: number,
  slotMs: number,
): ((local: number) => number) => {
  const slotsPerHour = hourMs / slotMs
  if (slotsPerHour === 1) return () => 0
  const hourShapes = completeHours(history, zone, end, slotMs).map(hours => slotDeviations(hours, slotsPerHour))
  return local => hourShapes[Math.floor(local / hourMs) % hoursPerBlock]?.[Math.floor((local % hourMs) / slotMs)] ?? 0
}
