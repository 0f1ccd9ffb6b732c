import { offsetAt, type TimeZone } from '../civil-time.ts'
import { hoursOfBlock } from './blocks.ts'
import { hourMs, type PriceHistory } from './hour-grid.ts'
import { medianOf } from './statistics.ts'

const shapeDays = 28
const dayMs = hoursOfBlock * hourMs

/** The hours of the last weeks that were published in slots of one length, whole: prices of the slots by hour of the day. */
const wholeHours = ({ starts, ends, values }: PriceHistory, zone: TimeZone, until: number, length: number): readonly number[][][] => {
  const hours: number[][][] = Array.from({ length: hoursOfBlock }, () => [])
  const slots = hourMs / length
  let index = starts.findIndex(start => start >= until - shapeDays * dayMs)
  while (index >= 0 && index + slots <= starts.length && (starts[index + slots - 1] as number) < until) {
    const start = starts[index] as number
    const local = start + offsetAt(zone, start)
    const isWhole =
      local % hourMs === 0 &&
      starts[index + slots - 1] === start + (slots - 1) * length &&
      ends[index + slots - 1] === start + hourMs &&
      ends[index] === start + length
    if (isWhole) hours[(local / hourMs) % hoursOfBlock]?.push(values.slice(index, index + slots))
    index += isWhole ? slots : 1
  }
  return hours
}

const deviations = (hours: readonly (readonly number[])[], slots: number): Float64Array => {
  const buffer = new Float64Array(hours.length)
  const shape = new Float64Array(slots)
  for (let slot = 0; slot < slots; slot += 1) {
    for (const [place, prices] of hours.entries()) {
      buffer[place] = (prices[slot] as number) - prices.reduce((sum, price) => sum + price, 0) / slots
    }
    shape[slot] = medianOf(buffer, hours.length)
  }
  const mean = shape.reduce((sum, value) => sum + value, 0) / slots
  return shape.map(value => value - mean)
}

/**
 * Tell what a slot of an hour usually stands above the mean of its hour, by its local time (ms since 1970 on the wall clock): the median of
 * the last four weeks before `until`. The slots of an hour sum to 0. `length` divides the hour.
 */
export const slotShape = (history: PriceHistory, zone: TimeZone, until: number, length: number): ((local: number) => number) => {
  const slots = hourMs / length
  if (slots === 1) return () => 0
  const shapes = wholeHours(history, zone, until, length).map(hours => deviations(hours, slots))
  return local => shapes[Math.floor(local / hourMs) % hoursOfBlock]?.[Math.floor((local % hourMs) / length)] ?? 0
}
