import { cutBlocks, hoursPerBlock } from './blocks.ts'
import { confidencesOf } from './confidence.ts'
import { errorFactors, hourlyErrors, type PastErrors } from './expected-error.ts'
import { createExpertPanel, type DayPrediction, predictDay } from './experts.ts'
import type { HourGrid } from './hour-grid.ts'
import type { PriceScale } from './statistics.ts'

/** Prices of the wall-clock hours that follow, in the unit of the past ones, and how far each can be trusted (0 < c < 1). */
export type HourForecast = { readonly prices: Float64Array; readonly confidences: Float64Array }

/** Hours that must be known for a forecast: seven days, one of which may have lost an hour to the clock. */
export const minKnownHours = 167
/** How far a forecast may pass what the market has seen, on the stabilised scale. */
const maxOvershoot = 0.25

const toPrice = ({ centre, spread }: PriceScale, scaled: number): number => centre + spread * Math.sinh(scaled)

const rangeOf = (scaled: Float64Array): readonly [number, number] => {
  let [lowest, highest] = [0, 0]
  for (const value of scaled) {
    lowest = Math.min(lowest, value)
    highest = Math.max(highest, value)
  }
  return [lowest - maxOvershoot, highest + maxOvershoot]
}

/** What past forecasts said, and missed in price. */
const pastErrorsOf = (scale: PriceScale, scaled: Float64Array, { residuals }: DayPrediction): PastErrors => {
  const [errors, predictions] = [new Float64Array(residuals.length), new Float64Array(residuals.length)]
  for (const [index, residual] of residuals.entries()) {
    const daysAgo = Math.floor(index / hoursPerBlock)
    const actual = scaled[scaled.length - (daysAgo + 1) * hoursPerBlock + (index % hoursPerBlock)] ?? Number.NaN
    errors[index] = Math.abs(toPrice(scale, actual) - toPrice(scale, actual - residual))
    predictions[index] = actual - residual
  }
  return { errors, predictions }
}

/** What a week's prices stray from their level, in price: it stands for an error until there are some. */
const typicalDeviationOf = (scale: PriceScale, scaled: Float64Array, level: number): number => {
  const week = scaled.subarray(-7 * hoursPerBlock)
  return (scale.spread * week.reduce((sum, value) => sum + Math.abs(value - level), 0)) / week.length
}

/**
 * Forecast the hours that follow place `until` of a grid, `daysAhead` days (1 … 5) of 24 hours, in slices between which the caller may do
 * something else. An hour of a day ahead is the mean of a median weekday profile, which carries a part of the last day's anomaly on, of simpler
 * forms of it, and of robust ridge regressions over windows of two lengths, on prices that asinh has made stable; those that erred less of
 * late weigh more. Under eight weeks nothing is learned. Only what stands before `until` is used, a week at least. A longer forecast begins with the
 * shorter one; prices times a factor give forecasts times that factor, and the same confidence.
 * Source: Lago et al., LEAR (2021), https://doi.org/10.1016/j.apenergy.2021.116983.
 */
export function* forecastHours(grid: HourGrid, end: number, daysAhead: number): Generator<void, HourForecast> {
  const blocks = cutBlocks(grid, end)
  yield
  const { scale, scaled } = blocks
  const experts = createExpertPanel(blocks)
  const count = daysAhead * hoursPerBlock
  const [prices, hourly, factors] = [new Float64Array(count), new Float64Array(count), new Float64Array(count)]
  const [lowest, highest] = rangeOf(scaled)
  const typicalDeviation = typicalDeviationOf(scale, scaled, blocks.levels.at(-1) ?? 0)
  let dayAhead: PastErrors | null = null
  for (let day = 0; day < daysAhead; day += 1) {
    const prediction = yield* predictDay(experts, day + 1)
    const predictions = prediction.values.map(value => Math.min(highest, Math.max(lowest, value)))
    prices.set(
      predictions.map(value => toPrice(scale, value)),
      day * hoursPerBlock,
    )
    yield
    const past = pastErrorsOf(scale, scaled, prediction)
    dayAhead ??= past
    const errors = hourlyErrors(past, typicalDeviation)
    hourly.set(errors, day * hoursPerBlock)
    factors.set(errorFactors(past, dayAhead, day + 1, errors, predictions), day * hoursPerBlock)
  }
  return { prices, confidences: confidencesOf(blocks.prices, { hourly, factors }) }
}

/** Run a forecast through in one go. */
export const runToEnd = <T>(steps: Generator<void, T>): T => {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
