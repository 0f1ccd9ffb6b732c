import { horizonDays, hoursOfBlock } from './blocks.ts'
import { forecastHours, type HourForecast, leastKnownHours } from './hour-forecast.ts'
import type { HourGrid } from './hour-grid.ts'
import { rankCorrelation } from './statistics.ts'

/** How forecasts so many days ahead did: `mae` and `naiveMae` in the unit of the prices, `rmae` their quotient. */
export type BacktestDay = {
  readonly ahead: number
  readonly hours: number
  readonly mae: number
  readonly naiveMae: number
  readonly rmae: number
  readonly meanConfidence: number
}

/** `doubtCorrelation`: rank correlation of 1 − confidence with the absolute error, over all hours of all days. */
export type Backtest = { readonly forecasts: number; readonly days: readonly BacktestDay[]; readonly doubtCorrelation: number }

type Sums = { hours: number; error: number; naive: number; confidence: number }

type Book = { readonly sums: readonly Sums[]; readonly doubts: number[]; readonly errors: number[] }

const weekHours = 7 * hoursOfBlock

/** Compare a forecast with what came; hours of which one of both prices is not known are left out. */
const judge = ({ values, known }: HourGrid, until: number, { prices, confidences }: HourForecast, { sums, doubts, errors }: Book): void => {
  for (let place = 0; place < prices.length; place += 1) {
    const hour = until + place
    const sum = sums[Math.floor(place / hoursOfBlock)]
    if (sum === undefined || known[hour] !== 1 || known[hour - weekHours] !== 1) continue
    const actual = values[hour] as number
    const error = Math.abs(actual - (prices[place] as number))
    sum.hours += 1
    sum.error += error
    sum.naive += Math.abs(actual - (values[hour - weekHours] as number))
    sum.confidence += confidences[place] as number
    doubts.push(1 - (confidences[place] as number))
    errors.push(error)
  }
}

/** The places of the midnights from which a forecast is made: one a day, from `firstHour` of the grid on. */
export const backtestMidnights = (grid: HourGrid, from: number): readonly number[] => {
  const first = from + ((hoursOfBlock - ((grid.firstHour + from) % hoursOfBlock)) % hoursOfBlock)
  const midnights: number[] = []
  for (let until = Math.max(first, weekHours); until < grid.values.length; until += hoursOfBlock) midnights.push(until)
  return midnights
}

/**
 * Forecast five days from each of some places of a grid, each from the prices before it alone, and compare with what came and with the
 * weekly naive forecast, the same hour a week before. Yields the number of forecasts that are done.
 */
export function* backtest(grid: HourGrid, places: readonly number[]): Generator<number, Backtest> {
  const sums = Array.from({ length: horizonDays }, () => ({ hours: 0, error: 0, naive: 0, confidence: 0 }))
  const book: Book = { sums, doubts: [], errors: [] }
  let done = 0
  for (const until of places) {
    if (until < Math.max(weekHours, leastKnownHours)) continue
    const steps = forecastHours(grid, until, horizonDays)
    let step = steps.next()
    while (step.done !== true) step = steps.next()
    judge(grid, until, step.value, book)
    done += 1
    yield done
  }
  const days = sums.map(({ hours, error, naive, confidence }, index) => ({
    ahead: index + 1,
    hours,
    mae: error / hours,
    naiveMae: naive / hours,
    rmae: error / naive,
    meanConfidence: confidence / hours,
  }))
  return { forecasts: done, days, doubtCorrelation: rankCorrelation(book.doubts, book.errors) }
}
