import { hoursPerBlock } from './blocks.ts'
import { errorDays } from './experts.ts'
import { solveSymmetric } from './statistics.ts'

/** Past forecasts of days so far ahead, at age × 24 + hour: absolute errors in price (NaN: not known), and what was said, as z of the scale. */
export type PastErrors = { readonly errors: Float64Array; readonly predictions: Float64Array }

/** The days after which an error weighs half. */
const halfLifeDays = 50
/** How many of the last days tell whether times are wild, and what each counts for less than the one after it. */
const recentDays = 4
const decayPerDay = 0.7
/** Errors below this share of the mean one are not told apart. */
const minErrorShare = 0.2
/**
 * By how much a standard deviation of each feature lifts the logarithm of an error where nothing else is known, and what that weighs beside
 * what past errors tell, as a share of them: errors of a day go together, so that they tell less than their number says.
 */
const priorSlopes: readonly number[] = [0.06, 0, 0.1]
const ridgeLoad = 0.3
/** How far (as a logarithm) the moment may lift or lower what is expected. */
const maxLogFactor = 1.2
/** A feature that varies by less does not vary. */
const minDeviation = 1e-9
/** Errors without which nothing is told from the moment. */
const minSamples = 240

/** The mean past error of each hour; `prior` stands for a day's until there are some. */
export const hourlyErrors = ({ errors }: PastErrors, prior: number): Float64Array => {
  const averages = new Float64Array(hoursPerBlock)
  for (let hour = 0; hour < hoursPerBlock; hour += 1) {
    let [sum, weights] = [prior, 1]
    for (let daysAgo = 0; daysAgo < errorDays; daysAgo += 1) {
      const error = errors[daysAgo * hoursPerBlock + hour] as number
      if (Number.isNaN(error)) continue
      const weight = 0.5 ** (daysAgo / halfLifeDays)
      sum += weight * error
      weights += weight
    }
    averages[hour] = sum / weights
  }
  return averages
}

const meanOf = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** How large errors of one day ahead were of late, seen so many days ago, as a logarithm; null where that is not known. */
const recentErrorLevel = ({ errors }: PastErrors, daysAgo: number, offset: number): number | null => {
  let [sum, weights] = [0, 0]
  for (let daysBack = 0; daysBack < recentDays; daysBack += 1) {
    for (let hour = 0; hour < hoursPerBlock; hour += 1) {
      const error = errors[(daysAgo + daysBack) * hoursPerBlock + hour] ?? Number.NaN
      if (Number.isNaN(error)) continue
      sum += decayPerDay ** daysBack * error
      weights += decayPerDay ** daysBack
    }
  }
  return weights === 0 ? null : Math.log(sum / weights + offset)
}

/** How far the scale is stretched at a forecast, the forecast itself, so that low prices and high ones are told apart, and the unrest. */
const errorFeatures = (prediction: number, errorLevel: number): readonly number[] => [
  Math.log(Math.cosh(prediction)),
  prediction,
  errorLevel,
]

/** A past error: by how much it passed that of its hour, as a logarithm, and the features that are to explain it. */
type Sample = { readonly features: readonly number[]; readonly logExcess: number }

const samplesOf = (
  past: PastErrors,
  dayAhead: PastErrors,
  daysAhead: number,
  hourlyMeans: Float64Array,
): readonly Sample[] => {
  const mean = meanOf(hourlyMeans)
  const samples: Sample[] = []
  for (let daysAgo = 0; daysAgo < errorDays; daysAgo += 1) {
    const errorLevel = recentErrorLevel(dayAhead, daysAgo + daysAhead, mean * minErrorShare)
    if (errorLevel === null) continue
    for (let hour = 0; hour < hoursPerBlock; hour += 1) {
      const index = daysAgo * hoursPerBlock + hour
      const error = past.errors[index] as number
      if (Number.isNaN(error)) continue
      const logExcess = Math.log(
        (error + minErrorShare * mean) / ((hourlyMeans[hour] as number) + minErrorShare * mean),
      )
      samples.push({ features: errorFeatures(past.predictions[index] as number, errorLevel), logExcess })
    }
  }
  return samples
}

/** By how much the logarithm of an error rises with each feature, from the features' `middles` on. */
type ErrorModel = { readonly featureMeans: readonly number[]; readonly slopes: readonly number[] }

/** Learn by ridge regression towards what is supposed, on features of variance 1. */
const fitErrorModel = (samples: readonly Sample[]): ErrorModel => {
  const size = priorSlopes.length
  const mean = (toValue: (sample: Sample) => number): number =>
    samples.reduce((sum, one) => sum + toValue(one), 0) / samples.length
  const featureMeans = priorSlopes.map((_, index) => mean(({ features }) => features[index] as number))
  const meanExcess = mean(({ logExcess }) => logExcess)
  const products = new Float64Array(size * size)
  const vector = new Float64Array(size)
  for (const { features, logExcess } of samples) {
    for (let row = 0; row < size; row += 1) {
      const value = ((features[row] as number) - (featureMeans[row] as number)) / samples.length
      vector[row] = (vector[row] as number) + value * (logExcess - meanExcess)
      for (let column = 0; column <= row; column += 1) {
        products[row * size + column] =
          (products[row * size + column] as number) +
          value * ((features[column] as number) - (featureMeans[column] as number))
      }
    }
  }
  const deviations = priorSlopes.map((_, index) => Math.sqrt(products[index * size + index] as number))
  const scale = deviations.map(deviation => (deviation > minDeviation ? 1 / deviation : 0))
  for (let row = 0; row < size; row += 1) {
    vector[row] = (vector[row] as number) * (scale[row] as number) + ridgeLoad * (priorSlopes[row] as number)
    for (let column = 0; column <= row; column += 1)
      products[row * size + column] =
        (products[row * size + column] as number) * (scale[row] as number) * (scale[column] as number)
    products[row * size + row] = (products[row * size + row] as number) + ridgeLoad
  }
  solveSymmetric(products, vector, size)
  return { featureMeans, slopes: scale.map((one, index) => one * (vector[index] as number)) }
}

/**
 * Tell by which factors the errors of a day ahead are expected above or below those of its hours: from how large errors were of late, and from
 * what is said (`said`, the forecast as z of the scale): how high or low, and how far from usual prices. What each does to errors is learned
 * from past ones, by ridge regression of their logarithms. All 1 where there are too few. `dayAhead` are the errors of one day ahead.
 */
export const errorFactors = (
  past: PastErrors,
  dayAhead: PastErrors,
  daysAhead: number,
  hourlyMeans: Float64Array,
  predictions: Float64Array,
): Float64Array => {
  const samples = meanOf(hourlyMeans) > 0 ? samplesOf(past, dayAhead, daysAhead, hourlyMeans) : []
  const currentLevel = recentErrorLevel(dayAhead, 0, meanOf(hourlyMeans) * minErrorShare)
  if (samples.length < minSamples || currentLevel === null) return new Float64Array(hoursPerBlock).fill(1)
  const { featureMeans, slopes } = fitErrorModel(samples)
  return predictions.map(value => {
    const logFactor = errorFeatures(value, currentLevel).reduce(
      (sum, feature, index) => sum + (slopes[index] as number) * (feature - (featureMeans[index] as number)),
      0,
    )
    return Math.exp(Math.min(maxLogFactor, Math.max(-maxLogFactor, logFactor)))
  })
}
