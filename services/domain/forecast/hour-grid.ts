import { offsetSegments, type TimeZone } from '../civil-time.ts'

/** Prices over half-open intervals (ms) in the order of time, without overlap; gaps are allowed. Any unit. */
export type PriceHistory = { readonly starts: readonly number[]; readonly ends: readonly number[]; readonly values: readonly number[] }

/**
 * One price for each hour of the wall clock, from the first known one on. `firstHour` counts wall-clock hours from 1970-01-01T00:00.
 * `values` has no gap: an hour that is not `known` repeats the week before, or else the day or the hour before.
 */
export type HourGrid = { readonly firstHour: number; readonly values: Float64Array; readonly known: Uint8Array }

export const hourMs = 3_600_000
const hoursOfWeek = 168

type Sums = { readonly firstHour: number; readonly weighted: Float64Array; readonly spans: Float64Array }

const addInterval = ({ firstHour, weighted, spans }: Sums, localStart: number, localEnd: number, value: number): void => {
  for (let hour = Math.floor(localStart / hourMs); hour * hourMs < localEnd; hour += 1) {
    const span = Math.min(localEnd, (hour + 1) * hourMs) - Math.max(localStart, hour * hourMs)
    const place = hour - firstHour
    if (place < 0 || place >= spans.length) continue
    weighted[place] = (weighted[place] as number) + value * span
    spans[place] = (spans[place] as number) + span
  }
}

const fillGaps = ({ weighted, spans }: Sums): Pick<HourGrid, 'values' | 'known'> => {
  const values = new Float64Array(spans.length)
  const known = new Uint8Array(spans.length)
  for (let hour = 0; hour < spans.length; hour += 1) {
    const span = spans[hour] as number
    if (span > 0) {
      values[hour] = (weighted[hour] as number) / span
      known[hour] = 1
    } else {
      const from = hour >= hoursOfWeek ? hour - hoursOfWeek : hour >= 24 ? hour - 24 : hour - 1
      values[hour] = values[from] ?? 0
    }
  }
  return { values, known }
}

/**
 * Lay prices on the hours of a zone's wall clock, up to `until` (exclusive, ms): each hour has the mean, by time, of what is there. The
 * hour that a clock change repeats has the mean of both, the one that it leaves out is filled. Hours that `until` cuts are left out.
 * Null where no whole hour is there.
 */
export const hourGrid = (history: PriceHistory, zone: TimeZone, until: number): HourGrid | null => {
  const from = history.starts[0]
  if (from === undefined || from >= until) return null
  const segments = offsetSegments(zone, from, until)
  const [first, last] = [segments[0], segments.at(-1)]
  if (first === undefined || last === undefined) return null
  const firstHour = Math.floor((from + first.offset) / hourMs)
  const count = Math.floor((until + last.offset) / hourMs) - firstHour
  if (count <= 0) return null
  const sums: Sums = { firstHour, weighted: new Float64Array(count), spans: new Float64Array(count) }
  let index = 0
  for (const { start, end, offset } of segments) {
    while (index < history.starts.length && (history.starts[index] as number) < end) {
      const a = Math.max(start, history.starts[index] as number)
      const b = Math.min(end, history.ends[index] as number)
      if (a < b) addInterval(sums, a + offset, b + offset, history.values[index] as number)
      if ((history.ends[index] as number) > end) break
      index += 1
    }
  }
  return { firstHour, ...fillGaps(sums) }
}
