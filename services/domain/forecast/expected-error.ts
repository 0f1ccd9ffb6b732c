import { hoursPerBlock } from './blocks.ts'
import { errorDays } from './experts.ts'
import { solveSymmetric } from './statistics.ts'

/**
 * Errors of past forecasts for one number of days ahead, at age × 24 + hour: absolute errors in price (NaN: unknown),
 * and the predictions on the stabilised scale.
 */
export type PastErrors = { readonly errors: Float64Array; readonly predictions: Float64Array }

/** Age in days at which an error has half weight. */
const halfLifeDays = 50
/**
 * Number of recent days that measure the current volatility, and the factor by which each day counts less than the
 * next.
 */
const recentDays = 4
const decayPerDay = 0.7
/** Share of the mean error below which errors are not distinguished. */
const minErrorShare = 0.2
/**
 * Prior slopes: the rise of the logarithm of an error per standard deviation of each feature, without data. `ridgeLoad`
 * is their weight relative to past errors. Errors of one day are correlated, so they contain less information than
 * their number suggests.
 */
const priorSlopes: readonly number[] = [0.06, 0, 0.1]
const ridgeLoad = 0.3
/** Maximum change of the expected error by the current market, as a logarithm. */
const maxLogFactor = 1.2
/** Minimum deviation of a feature. Below it the feature counts as constant. */
const minDeviation = 1e-9
/** Minimum number of errors to fit a model. */
const minSamples = 240

/** Return the mean past error of each hour. `prior` has the weight of one day. */
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

/** Return the recent level of errors for one day ahead, as seen `daysAgo` days ago, as a logarithm; null if unknown. */
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

/**
 * Return the features of an error: stretch of the scale at the prediction, the prediction (low and high prices differ),
 * and the recent error level.
 */
const errorFeatures = (prediction: number, errorLevel: number): readonly number[] => [
  Math.log(Math.cosh(prediction)),
  prediction,
  errorLevel,
]

/** Past error: the logarithm of its excess over the error of its hour, and the features that explain it. */
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

/** Rise of the logarithm of an error with each feature, from the mean of the feature. */
type ErrorModel = { readonly featureMeans: readonly number[]; readonly slopes: readonly number[] }

/** Fit by ridge regression towards the prior slopes, on features of variance 1. */
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
 * Return the factors of the expected errors of a day ahead, relative to the errors of its hours.
 * They depend on recent errors and on the predictions: how high or low, and how far from usual prices. The effects are
 * fitted to the logarithms of past errors by ridge regression. All factors are 1 if there are too few errors.
 * `dayAhead` are the errors for one day ahead.
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
