import { offsetAt, type TimeZone } from '../civil-time.ts'
import { horizonDays, hoursPerBlock } from './blocks.ts'
import { forecastHours, minKnownHours } from './hour-forecast.ts'
import { hourGrid, hourMs, type PriceHistory } from './hour-grid.ts'
import { slotShape } from './slot-shape.ts'

/** A price that is expected over a half-open interval (ms), in the unit of the past ones; 0 < confidence < 1. */
export type ForecastPrice = {
  readonly start: number
  readonly end: number
  readonly value: number
  readonly confidence: number
}

/** What is forecast: the time from the end of known prices to `until` (exclusive, ms). */
export type ForecastInterval = { readonly start: number; readonly end: number }

/** How far past a known price there are forecasts. Source: docs/rules/markets-and-forecasts.md #forecasts. */
export const maxForecastMs = horizonDays * hoursPerBlock * hourMs

/** How far back prices are looked at: a year to learn from, weeks that describe its first day, and what a clock change takes. */
export const historyMs = 436 * hoursPerBlock * hourMs

const minSlotMs = 300_000

/** The length in which the market publishes, where it divides the hour; else the hour. */
const slotMsOf = ({ starts, ends }: PriceHistory, end: number): number => {
  const last = starts.findLastIndex(start => start < end)
  const slotMs = last < 0 ? hourMs : (ends[last] as number) - (starts[last] as number)
  return slotMs >= minSlotMs && hourMs % slotMs === 0 ? slotMs : hourMs
}

/** The step to which prices are rounded: five digits of a typical one, so that forecasts look like prices. */
const roundingStep = (prices: Float64Array): number => {
  const largest = prices.reduce((max, price) => Math.max(max, Math.abs(price)), 0)
  return largest === 0 ? 1 : 10 ** (Math.floor(Math.log10(largest)) - 4)
}

/**
 * Forecast the prices of a market behind known ones, in the market's own intervals, cut at the hours of its wall clock: each hour as
 * `forecastHours` says, and within it what the intervals usually stand above or below their hour. Contiguous, from `span.from` to
 * `span.until`, 5 days at most; empty with less than 7 days of history. Prices at or after `span.from` are not looked at. Yields between
 * slices of some milliseconds. The same prices give the same forecast; a shorter span gives the beginning of a longer one's.
 * Source: docs/rules/markets-and-forecasts.md #forecasts.
 */
export function* forecastPrices(
  history: PriceHistory,
  zone: TimeZone,
  interval: ForecastInterval,
): Generator<void, readonly ForecastPrice[]> {
  const forecastEnd = Math.min(interval.end, interval.start + maxForecastMs)
  const grid = hourGrid(history, zone, interval.start)
  const knownHours = grid === null ? 0 : grid.known.reduce((sum, isKnown) => sum + isKnown, 0)
  if (
    grid === null ||
    forecastEnd <= interval.start ||
    knownHours < minKnownHours ||
    grid.values.length < 7 * hoursPerBlock
  )
    return []
  yield
  const firstHour = grid.firstHour + grid.values.length
  const hourOf = (at: number): number => Math.floor((at + offsetAt(zone, at)) / hourMs) - firstHour
  const daysAhead = Math.min(horizonDays, Math.floor(hourOf(forecastEnd - 1) / hoursPerBlock) + 1)
  const hours = yield* forecastHours(grid, grid.values.length, daysAhead)
  const slotMs = slotMsOf(history, interval.start)
  const deviationInHour = slotShape(history, zone, interval.start, slotMs)
  const step = roundingStep(grid.values.subarray(-7 * hoursPerBlock))
  const forecast: ForecastPrice[] = []
  for (let start = interval.start; start < forecastEnd; ) {
    const local = start + offsetAt(zone, start)
    const end = Math.min(forecastEnd, start + slotMs - (local % slotMs))
    // What the clock brings beyond the last day is as that day.
    const hour = Math.max(0, hourOf(start))
    const index = hour < hours.prices.length ? hour : hours.prices.length - hoursPerBlock + (hour % hoursPerBlock)
    const value = (hours.prices[index] as number) + deviationInHour(local)
    forecast.push({
      start,
      end,
      value: Math.round(value / step) * step,
      confidence: hours.confidences[index] as number,
    })
    start = end
  }
  return forecast
}
