import { type Blocks, cutBlocks, hoursOfBlock } from './blocks.ts'
import { confidencesOf } from './confidence.ts'
import { blockAnomaly, type OriginFacts, originFacts, profileBase } from './features.ts'
import type { HourGrid } from './hour-grid.ts'
import { type Bench, leadDays, learnHour, leastDays, openBench } from './regression.ts'
import type { Scale } from './statistics.ts'

/** Prices of the wall-clock hours that follow, in the unit of the past ones, and how far each can be trusted (0 < c < 1). */
export type HourForecast = { readonly prices: Float64Array; readonly confidences: Float64Array }

/** Hours that must be known for a forecast: seven days, one of which may have lost an hour to the clock. */
export const leastKnownHours = 167
/** Past days whose errors tell what to expect, and the days after which one weighs half. */
const errorDays = 56
const halfLifeDays = 21
/** Days to learn from with which the regressions have their full weight. */
const fullDays = 84
/** The weight of the profile beside what was learned, and how much of the last day's anomaly it carries on, one to five days ahead. */
const profileShares = [0.25, 0.35, 0.4, 0.45, 0.5]
const carried = [0.75, 0.5, 0.35, 0.27, 0.2]
/** How far a forecast may pass what the market has seen, on the stabilised scale. */
const leeway = 0.25

type Model = {
  readonly blocks: Blocks
  readonly facts: readonly OriginFacts[] | null
  readonly anomalies: Float64Array
  readonly bench: Bench
  readonly prior: number
}

const openModel = (blocks: Blocks): Model => {
  const { days, z, levels } = blocks
  const anomalies = new Float64Array(days)
  for (let block = Math.min(7, days - 1); block < days; block += 1) anomalies[block] = blockAnomaly(blocks, block, block)
  const learns = days >= leadDays + leastDays
  const facts = learns ? Array.from({ length: days }, (_, block) => originFacts(blocks, block)) : null
  let prior = 0
  for (let place = (days - 7) * hoursOfBlock; place < z.length; place += 1)
    prior += Math.abs((z[place] as number) - (levels[days - 1] as number))
  return { blocks, facts, anomalies, bench: openBench(learns ? days : 0), prior: prior / (7 * hoursOfBlock) }
}

type Guess = { readonly z: number; readonly miss: number }

/** Forecast one hour on the stabilised scale, and what the same forecast missed lately, by its mean absolute error. */
const guessHour = (model: Model, ahead: number, hour: number): Guess => {
  const { blocks, facts, anomalies, bench, prior } = model
  const origin = blocks.days - 1
  const carry = carried[ahead - 1] as number
  const learned = facts === null ? null : learnHour({ blocks, facts, ahead, hour }, errorDays, bench)
  // What was learned from few days counts for less.
  const trained = Math.min(1, (blocks.days - leadDays) / fullDays)
  const share = learned === null ? 1 : 1 - (1 - (profileShares[ahead - 1] as number)) * trained
  const profile = profileBase(blocks, origin, origin + ahead, hour) + carry * (anomalies[origin] as number)
  // What a week's prices stray from their level stands for a day's error until there are some.
  let missed = prior
  let weights = 1
  for (let age = 0; age < errorDays; age += 1) {
    const block = origin - age
    const past = block - ahead
    if (past < 7) break
    const place = block * hoursOfBlock + hour
    if (blocks.known[place] === 0) continue
    const ofProfile = (blocks.z[place] as number) - profileBase(blocks, past, block, hour) - carry * (anomalies[past] as number)
    const weight = 0.5 ** (age / halfLifeDays)
    missed += weight * Math.abs(share * ofProfile + (1 - share) * (learned?.misses[age] ?? 0))
    weights += weight
  }
  return { z: share * profile + (1 - share) * (learned?.value ?? 0), miss: missed / weights }
}

const toPrice = ({ centre, spread }: Scale, z: number): number => centre + spread * Math.sinh(z)

const boundsOf = (z: Float64Array): readonly [number, number] => {
  let [least, most] = [0, 0]
  for (const value of z) {
    least = Math.min(least, value)
    most = Math.max(most, value)
  }
  return [least - leeway, most + leeway]
}

/**
 * Forecast the hours that follow place `until` of a grid, `daysAhead` days (1 … 5) of 24 hours, in slices between which the caller may do
 * something else. An hour of a day ahead is the mean of a median weekday profile, which carries a part of the last day's anomaly on, and of
 * ridge regressions over windows of two lengths, on prices that asinh has made stable; under eight weeks the profile alone. Only what
 * stands before `until` is used, a week at least. A longer forecast begins with the shorter one; prices times a factor give forecasts times
 * that factor, and the same confidence. Source: Lago et al., Applied Energy 293 (2021) 116983 (LEAR, several windows, asinh).
 */
export function* forecastHours(grid: HourGrid, until: number, daysAhead: number): Generator<void, HourForecast> {
  const blocks = cutBlocks(grid, until)
  yield
  const { scale } = blocks
  const model = openModel(blocks)
  const count = daysAhead * hoursOfBlock
  const prices = new Float64Array(count)
  const misses = new Float64Array(count)
  const slopes = new Float64Array(count)
  const [least, most] = boundsOf(blocks.z)
  for (let place = 0; place < count; place += 1) {
    const guess = guessHour(model, Math.floor(place / hoursOfBlock) + 1, place % hoursOfBlock)
    const z = Math.min(most, Math.max(least, guess.z))
    prices[place] = toPrice(scale, z)
    misses[place] = guess.miss
    slopes[place] = scale.spread * Math.cosh(z)
    if (place % 12 === 11) yield
  }
  return { prices, confidences: confidencesOf(blocks.prices, misses, slopes) }
}

/** Run a forecast through in one go. */
export const runThrough = <T>(steps: Generator<void, T>): T => {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
