import { offsetAt, type TimeZone } from '../civil-time.ts'
import { hourMs, type Interval } from '../interval.ts'
import { horizonDays, hoursPerBlock } from './blocks.ts'
import { forecastHours, minKnownHours } from './hour-forecast.ts'
import { hourGrid, type PriceHistory } from './hour-grid.ts'
import { slotShape } from './slot-shape.ts'

/** Expected price over an interval, in the unit of the past prices; 0 < confidence < 1. */
export type ForecastPrice = Interval & {
  readonly value: number
  readonly confidence: number
}

/** Forecast the prices of an interval as `forecastPrices` does, in another thread. `timezone` is the name of the zone. */
export type Forecast = (
  history: PriceHistory,
  timezone: string,
  interval: Interval,
) => Promise<readonly ForecastPrice[]>

/**
 * Maximum time in ms from the last known price to the end of a forecast.
 * Source: docs/rules/markets-and-forecasts.md #forecasts.
 */
export const maxForecastMs: number = horizonDays * hoursPerBlock * hourMs

/**
 * Length in ms of the history that a forecast uses: one training year, the weeks that describe its first day, and a
 * clock change.
 */
export const historyMs: number = 436 * hoursPerBlock * hourMs

const minSlotMs = 300_000

/** Return the length of the market's published intervals if it divides the hour; otherwise an hour. */
const slotMsOf = ({ starts, ends }: PriceHistory, end: number): number => {
  const last = starts.findLastIndex(start => start < end)
  const slotMs = last < 0 ? hourMs : (ends[last] as number) - (starts[last] as number)
  return slotMs >= minSlotMs && hourMs % slotMs === 0 ? slotMs : hourMs
}

/** Return the step to which prices are rounded: five digits of a typical price. */
const roundingStep = (prices: Float64Array): number => {
  const largest = prices.reduce((max, price) => Math.max(max, Math.abs(price)), 0)
  return largest === 0 ? 1 : 10 ** (Math.floor(Math.log10(largest)) - 4)
}

/**
 * Forecast the prices of a market after the known ones. The forecast has the market's own intervals, cut at local
 * hours. Each price is the forecast of its hour plus the usual deviation of the interval within the hour. The result is
 * contiguous from `interval.start` to `interval.end`, at most 5 days; empty with less than 7 days of history. Prices
 * from `interval.start` on are ignored.
 * Law: the same prices give the same forecast, and a shorter interval gives the beginning of a longer forecast.
 * Source: docs/rules/markets-and-forecasts.md #forecasts.
 */
export const forecastPrices = (history: PriceHistory, zone: TimeZone, interval: Interval): readonly ForecastPrice[] => {
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
  const firstHour = grid.firstHour + grid.values.length
  const hourOf = (at: number): number => Math.floor((at + offsetAt(zone, at)) / hourMs) - firstHour
  const daysAhead = Math.min(horizonDays, Math.floor(hourOf(forecastEnd - 1) / hoursPerBlock) + 1)
  const hours = forecastHours(grid, grid.values.length, daysAhead)
  const slotMs = slotMsOf(history, interval.start)
  const deviationInHour = slotShape(history, zone, interval.start, slotMs)
  const step = roundingStep(grid.values.subarray(-7 * hoursPerBlock))
  const forecast: ForecastPrice[] = []
  for (let start = interval.start; start < forecastEnd; ) {
    const local = start + offsetAt(zone, start)
    const end = Math.min(forecastEnd, start + slotMs - (local % slotMs))
    // Hours that a clock change adds after the last day repeat that day.
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
