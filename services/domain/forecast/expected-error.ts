import { hoursOfBlock } from './blocks.ts'
import { errorDays } from './experts.ts'
import { solveSymmetric } from './statistics.ts'

/** Past forecasts of days so far ahead, at age × 24 + hour: absolute errors in price (NaN: not known), and what was said, as z of the scale. */
export type PastErrors = { readonly errors: Float64Array; readonly said: Float64Array }

/** The days after which an error weighs half. */
const halfLifeDays = 50
/** How many of the last days tell whether times are wild, and what each counts for less than the one after it. */
const lastDays = 4
const fading = 0.7
/** Errors below this share of the mean one are not told apart. */
const leastShare = 0.2
/**
 * By how much a standard deviation of each feature lifts the logarithm of an error where nothing else is known, and what that weighs beside
 * what past errors tell, as a share of them: errors of a day go together, so that they tell less than their number says.
 */
const supposed: readonly number[] = [0.06, 0, 0.1]
const load = 0.3
/** How far (as a logarithm) the moment may lift or lower what is expected. */
const most = 1.2
/** A feature that varies by less does not vary. */
const leastDeviation = 1e-9
/** Errors without which nothing is told from the moment. */
const leastErrors = 240

/** The mean past error of each hour; `prior` stands for a day's until there are some. */
export const hourlyErrors = ({ errors }: PastErrors, prior: number): Float64Array => {
  const means = new Float64Array(hoursOfBlock)
  for (let hour = 0; hour < hoursOfBlock; hour += 1) {
    let [sum, weights] = [prior, 1]
    for (let age = 0; age < errorDays; age += 1) {
      const error = errors[age * hoursOfBlock + hour] as number
      if (Number.isNaN(error)) continue
      const weight = 0.5 ** (age / halfLifeDays)
      sum += weight * error
      weights += weight
    }
    means[hour] = sum / weights
  }
  return means
}

const meanOf = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** How large errors of one day ahead were of late, seen so many days ago, as a logarithm; null where that is not known. */
const unrest = ({ errors }: PastErrors, age: number, least: number): number | null => {
  let [sum, weights] = [0, 0]
  for (let back = 0; back < lastDays; back += 1) {
    for (let hour = 0; hour < hoursOfBlock; hour += 1) {
      const error = errors[(age + back) * hoursOfBlock + hour] ?? Number.NaN
      if (Number.isNaN(error)) continue
      sum += fading ** back * error
      weights += fading ** back
    }
  }
  return weights === 0 ? null : Math.log(sum / weights + least)
}

/** How far the scale is stretched at a forecast, the forecast itself, so that low prices and high ones are told apart, and the unrest. */
const describe = (said: number, seen: number): readonly number[] => [Math.log(Math.cosh(said)), said, seen]

/** A past error: by how much it passed that of its hour, as a logarithm, and the features that are to explain it. */
type Sample = { readonly features: readonly number[]; readonly excess: number }

const samplesOf = (past: PastErrors, dayAhead: PastErrors, ahead: number, hourly: Float64Array): readonly Sample[] => {
  const mean = meanOf(hourly)
  const samples: Sample[] = []
  for (let age = 0; age < errorDays; age += 1) {
    const seen = unrest(dayAhead, age + ahead, mean * leastShare)
    if (seen === null) continue
    for (let hour = 0; hour < hoursOfBlock; hour += 1) {
      const place = age * hoursOfBlock + hour
      const error = past.errors[place] as number
      if (Number.isNaN(error)) continue
      const excess = Math.log((error + leastShare * mean) / ((hourly[hour] as number) + leastShare * mean))
      samples.push({ features: describe(past.said[place] as number, seen), excess })
    }
  }
  return samples
}

/** By how much the logarithm of an error rises with each feature, from the features' `middles` on. */
type Rule = { readonly middles: readonly number[]; readonly rises: readonly number[] }

/** Learn by ridge regression towards what is supposed, on features of variance 1. */
const learnRule = (samples: readonly Sample[]): Rule => {
  const size = supposed.length
  const mean = (of: (sample: Sample) => number): number => samples.reduce((sum, one) => sum + of(one), 0) / samples.length
  const middles = supposed.map((_, place) => mean(({ features }) => features[place] as number))
  const middle = mean(({ excess }) => excess)
  const products = new Float64Array(size * size)
  const right = new Float64Array(size)
  for (const { features, excess } of samples) {
    for (let i = 0; i < size; i += 1) {
      const value = ((features[i] as number) - (middles[i] as number)) / samples.length
      right[i] = (right[i] as number) + value * (excess - middle)
      for (let j = 0; j <= i; j += 1) {
        products[i * size + j] = (products[i * size + j] as number) + value * ((features[j] as number) - (middles[j] as number))
      }
    }
  }
  const deviations = supposed.map((_, place) => Math.sqrt(products[place * size + place] as number))
  const unit = deviations.map(deviation => (deviation > leastDeviation ? 1 / deviation : 0))
  for (let i = 0; i < size; i += 1) {
    right[i] = (right[i] as number) * (unit[i] as number) + load * (supposed[i] as number)
    for (let j = 0; j <= i; j += 1) products[i * size + j] = (products[i * size + j] as number) * (unit[i] as number) * (unit[j] as number)
    products[i * size + i] = (products[i * size + i] as number) + load
  }
  solveSymmetric(products, right, size)
  return { middles, rises: unit.map((one, place) => one * (right[place] as number)) }
}

/**
 * Tell by which factors the errors of a day ahead are expected above or below those of its hours: from how large errors were of late, and from
 * what is said (`said`, the forecast as z of the scale): how high or low, and how far from usual prices. What each does to errors is learned
 * from past ones, by ridge regression of their logarithms. All 1 where there are too few. `dayAhead` are the errors of one day ahead.
 */
export const errorFactors = (
  past: PastErrors,
  dayAhead: PastErrors,
  ahead: number,
  hourly: Float64Array,
  said: Float64Array,
): Float64Array => {
  const samples = meanOf(hourly) > 0 ? samplesOf(past, dayAhead, ahead, hourly) : []
  const now = unrest(dayAhead, 0, meanOf(hourly) * leastShare)
  if (samples.length < leastErrors || now === null) return new Float64Array(hoursOfBlock).fill(1)
  const { middles, rises } = learnRule(samples)
  return said.map(value => {
    const lift = describe(value, now).reduce(
      (sum, feature, place) => sum + (rises[place] as number) * (feature - (middles[place] as number)),
      0,
    )
    return Math.exp(Math.min(most, Math.max(-most, lift)))
  })
}
