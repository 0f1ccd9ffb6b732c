import { horizonDays, hoursPerBlock } from './blocks.ts'
import { forecastHours, type HourForecast, minKnownHours } from './hour-forecast.ts'
import type { HourGrid } from './hour-grid.ts'
import { rankCorrelation } from './statistics.ts'

/** Quality of forecasts for one day ahead: `mae` and `naiveMae` in the unit of the prices, `rmae` is their quotient. */
export type BacktestDay = {
  readonly ahead: number
  readonly hours: number
  readonly mae: number
  readonly naiveMae: number
  readonly rmae: number
  readonly meanConfidence: number
}

/**
 * Result of a backtest. `uncertaintyCorrelation` is the rank correlation of 1 − confidence with the absolute error,
 * over all hours of all days.
 */
export type Backtest = {
  readonly forecasts: number
  readonly days: readonly BacktestDay[]
  readonly uncertaintyCorrelation: number
}

type DayTotals = { hours: number; error: number; naive: number; confidence: number }

type BacktestTotals = {
  readonly sums: readonly DayTotals[]
  readonly uncertainties: number[]
  readonly errors: number[]
}

const hoursPerWeek = 7 * hoursPerBlock

/** Compare a forecast with actual prices. Hours with an unknown price now or a week before are left out. */
const addErrors = (
  { values, known }: HourGrid,
  origin: number,
  { prices, confidences }: HourForecast,
  { sums, uncertainties, errors }: BacktestTotals,
): void => {
  for (let index = 0; index < prices.length; index += 1) {
    const hour = origin + index
    const sum = sums[Math.floor(index / hoursPerBlock)]
    if (sum === undefined || known[hour] !== 1 || known[hour - hoursPerWeek] !== 1) continue
    const actual = values[hour] as number
    const error = Math.abs(actual - (prices[index] as number))
    sum.hours += 1
    sum.error += error
    sum.naive += Math.abs(actual - (values[hour - hoursPerWeek] as number))
    sum.confidence += confidences[index] as number
    uncertainties.push(1 - (confidences[index] as number))
    errors.push(error)
  }
}

/** Return the indexes of the midnights from which forecasts are made: one per day, from index `from` of the grid. */
export const backtestMidnights = (grid: HourGrid, from: number): readonly number[] => {
  const firstMidnight = from + ((hoursPerBlock - ((grid.firstHour + from) % hoursPerBlock)) % hoursPerBlock)
  const midnights: number[] = []
  for (let origin = Math.max(firstMidnight, hoursPerWeek); origin < grid.values.length; origin += hoursPerBlock)
    midnights.push(origin)
  return midnights
}

/**
 * Forecast five days from each origin in a grid, only from the prices before the origin. Compare the forecast with the
 * actual prices and with the weekly naive forecast: the same hour a week before. `onForecast` gets the number of
 * completed forecasts.
 */
export const backtest = (
  grid: HourGrid,
  origins: readonly number[],
  onForecast: (finished: number) => void = () => undefined,
): Backtest => {
  const sums = Array.from({ length: horizonDays }, () => ({ hours: 0, error: 0, naive: 0, confidence: 0 }))
  const totals: BacktestTotals = { sums, uncertainties: [], errors: [] }
  let finished = 0
  for (const origin of origins) {
    if (origin < Math.max(hoursPerWeek, minKnownHours)) continue
    addErrors(grid, origin, forecastHours(grid, origin, horizonDays), totals)
    finished += 1
    onForecast(finished)
  }
  const days = sums.map(({ hours, error, naive, confidence }, index) => ({
    ahead: index + 1,
    hours,
    mae: error / hours,
    naiveMae: naive / hours,
    rmae: error / naive,
    meanConfidence: confidence / hours,
  }))
  return { forecasts: finished, days, uncertaintyCorrelation: rankCorrelation(totals.uncertainties, totals.errors) }
}
