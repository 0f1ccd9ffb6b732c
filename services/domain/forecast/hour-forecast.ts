import { cutBlocks, hoursOfBlock } from './blocks.ts'
import { confidencesOf } from './confidence.ts'
import { errorFactors, hourlyErrors, type PastErrors } from './expected-error.ts'
import { type DayGuess, guessDay, openPanel } from './experts.ts'
import type { HourGrid } from './hour-grid.ts'
import type { Scale } from './statistics.ts'

/** Prices of the wall-clock hours that follow, in the unit of the past ones, and how far each can be trusted (0 < c < 1). */
export type HourForecast = { readonly prices: Float64Array; readonly confidences: Float64Array }

/** Hours that must be known for a forecast: seven days, one of which may have lost an hour to the clock. */
export const leastKnownHours = 167
/** How far a forecast may pass what the market has seen, on the stabilised scale. */
const leeway = 0.25

const toPrice = ({ centre, spread }: Scale, z: number): number => centre + spread * Math.sinh(z)

const boundsOf = (z: Float64Array): readonly [number, number] => {
  let [least, most] = [0, 0]
  for (const value of z) {
    least = Math.min(least, value)
    most = Math.max(most, value)
  }
  return [least - leeway, most + leeway]
}

/** What past forecasts said, and missed in price. */
const pastErrors = (scale: Scale, z: Float64Array, { misses }: DayGuess): PastErrors => {
  const [errors, said] = [new Float64Array(misses.length), new Float64Array(misses.length)]
  for (const [place, miss] of misses.entries()) {
    const age = Math.floor(place / hoursOfBlock)
    const actual = z[z.length - (age + 1) * hoursOfBlock + (place % hoursOfBlock)] ?? Number.NaN
    errors[place] = Math.abs(toPrice(scale, actual) - toPrice(scale, actual - miss))
    said[place] = actual - miss
  }
  return { errors, said }
}

/** What a week's prices stray from their level, in price: it stands for an error until there are some. */
const strayOf = (scale: Scale, z: Float64Array, level: number): number => {
  const week = z.subarray(-7 * hoursOfBlock)
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
export function* forecastHours(grid: HourGrid, until: number, daysAhead: number): Generator<void, HourForecast> {
  const blocks = cutBlocks(grid, until)
  yield
  const { scale, z } = blocks
  const panel = openPanel(blocks)
  const count = daysAhead * hoursOfBlock
  const [prices, hourly, factors] = [new Float64Array(count), new Float64Array(count), new Float64Array(count)]
  const [least, most] = boundsOf(z)
  const stray = strayOf(scale, z, blocks.levels.at(-1) ?? 0)
  let dayAhead: PastErrors | null = null
  for (let day = 0; day < daysAhead; day += 1) {
    const guess = yield* guessDay(panel, day + 1)
    const said = guess.said.map(value => Math.min(most, Math.max(least, value)))
    prices.set(
      said.map(value => toPrice(scale, value)),
      day * hoursOfBlock,
    )
    yield
    const past = pastErrors(scale, z, guess)
    dayAhead ??= past
    const errors = hourlyErrors(past, stray)
    hourly.set(errors, day * hoursOfBlock)
    factors.set(errorFactors(past, dayAhead, day + 1, errors, said), day * hoursOfBlock)
  }
  return { prices, confidences: confidencesOf(blocks.prices, { hourly, factors }) }
}

/** Run a forecast through in one go. */
export const runThrough = <T>(steps: Generator<void, T>): T => {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
