import { cutBlocks, hoursPerBlock } from './blocks.ts'
import { confidencesOf } from './confidence.ts'
import { errorFactors, hourlyErrors, type PastErrors } from './expected-error.ts'
import { createExpertPanel, type DayPrediction, predictDay } from './experts.ts'
import type { HourGrid } from './hour-grid.ts'
import type { PriceScale } from './statistics.ts'

/** Prices of the next local hours, in the unit of the past prices, and their confidences (0 < c < 1). */
export type HourForecast = { readonly prices: Float64Array; readonly confidences: Float64Array }

/** Minimum number of known hours: seven days, of which one may lack an hour because of a clock change. */
export const minKnownHours = 167
/** Maximum distance of a forecast beyond the observed prices, on the stabilised scale. */
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

/** Return the predictions and absolute price errors of past forecasts. */
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

/**
 * Return the mean deviation of a week's prices from their level, in price. It replaces past errors if there are none.
 */
const typicalDeviationOf = (scale: PriceScale, scaled: Float64Array, level: number): number => {
  const week = scaled.subarray(-7 * hoursPerBlock)
  return (scale.spread * week.reduce((sum, value) => sum + Math.abs(value - level), 0)) / week.length
}

/**
 * Forecast the hours after index `end` of a grid, for `daysAhead` days (1 … 5) of 24 hours.
 * Each hour is a weighted mean of experts on asinh-stabilised prices; experts with smaller recent errors have more
 * weight. The experts are a median weekday profile that continues a share of the last day's anomaly, simpler
 * profiles, and robust ridge regressions over two training windows. With less than eight weeks there is no regression.
 * Only prices before `end` are used, at least one week.
 * Laws: a longer forecast begins with the shorter one. Prices times a factor give forecasts times that factor, with the
 * same confidence.
 * Source: Lago et al., LEAR (2021), https://doi.org/10.1016/j.apenergy.2021.116983.
 */
export const forecastHours = (grid: HourGrid, end: number, daysAhead: number): HourForecast => {
  const blocks = cutBlocks(grid, end)
  const { scale, scaled } = blocks
  const experts = createExpertPanel(blocks)
  const count = daysAhead * hoursPerBlock
  const [prices, hourly, factors] = [new Float64Array(count), new Float64Array(count), new Float64Array(count)]
  const [lowest, highest] = rangeOf(scaled)
  const typicalDeviation = typicalDeviationOf(scale, scaled, blocks.levels.at(-1) ?? 0)
  let dayAhead: PastErrors | null = null
  for (let day = 0; day < daysAhead; day += 1) {
    const prediction = predictDay(experts, day + 1)
    const predictions = prediction.values.map(value => Math.min(highest, Math.max(lowest, value)))
    prices.set(
      predictions.map(value => toPrice(scale, value)),
      day * hoursPerBlock,
    )
    const past = pastErrorsOf(scale, scaled, prediction)
    dayAhead ??= past
    const errors = hourlyErrors(past, typicalDeviation)
    hourly.set(errors, day * hoursPerBlock)
    factors.set(errorFactors(past, dayAhead, day + 1, errors, predictions), day * hoursPerBlock)
  }
  return { prices, confidences: confidencesOf(blocks.prices, { hourly, factors }) }
}
