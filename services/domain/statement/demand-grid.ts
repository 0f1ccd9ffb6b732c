import type { DayRange } from '../charge/charge-days.ts'
import { startOfDayNumber, type TimeZone, utcOffsetPeriods } from '../civil-time.ts'
import { minuteMs } from '../interval.ts'

/**
 * Intervals of demand in a range of local days: `edges[i]` to `edges[i + 1]`, on the local day `days[i]`.
 * `factors[i]` × the real length of an interval is `commonLengthMs`: energy × factor compares power exactly.
 */
export type DemandGrid = {
  readonly edges: readonly number[]
  readonly days: readonly number[]
  readonly factors: readonly number[]
  readonly commonLengthMs: number
}

const greatestDivisor = (a: number, b: number): number => (b === 0 ? a : greatestDivisor(b, a % b))

/** Append the starts of the intervals of a local day: multiples of their length on the local clock, clock changes. */
const addStarts = (starts: number[], zone: TimeZone, from: number, to: number, lengthMs: number): void => {
  for (const { start, end, offset } of utcOffsetPeriods(zone, from, to)) {
    const next = (Math.floor((start + offset) / lengthMs) + 1) * lengthMs - offset
    starts.push(start)
    for (let at = next; at < end; at += lengthMs) starts.push(at)
  }
}

/** Create the intervals of demand of a range of days. */
export const createDemandGrid = (zone: TimeZone, minutes: number, range: DayRange): DemandGrid => {
  const lengthMs = minutes * minuteMs
  const edges: number[] = []
  const days: number[] = []
  for (let day = range.startDay; day < range.endDay; day += 1) {
    addStarts(edges, zone, startOfDayNumber(zone, day), startOfDayNumber(zone, day + 1), lengthMs)
    while (days.length < edges.length) days.push(day)
  }
  edges.push(startOfDayNumber(zone, range.endDay))
  const lengths = days.map((_, index) => (edges[index + 1] as number) - (edges[index] as number))
  const commonLengthMs = [...new Set(lengths)].reduce((a, b) => (a / greatestDivisor(a, b)) * b, lengthMs)
  return { edges, days, factors: lengths.map(length => commonLengthMs / length), commonLengthMs }
}

/** Return the intervals of demand of a range of days. Each range has one grid. */
export const demandGridOf = (
  metered: { readonly timeZone: TimeZone; readonly grids: Map<string, DemandGrid> },
  minutes: number,
  range: DayRange,
): DemandGrid => {
  const key = `${minutes} ${range.startDay} ${range.endDay}`
  const grid = metered.grids.get(key) ?? createDemandGrid(metered.timeZone, minutes, range)
  metered.grids.set(key, grid)
  return grid
}
