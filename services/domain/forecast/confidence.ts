import { hoursPerBlock } from './blocks.ts'

/** A forecast is never certain and never without value. */
const minConfidence = 0.0001
const maxConfidence = 0.9999

/**
 * Return 1 − share while errors are below half of a typical price; above that, with the same slope, a value that
 * approaches 0.
 */
const confidenceOfShare = (share: number): number => (share <= 0.5 ? 1 - share : 0.25 / share)

const typicalPrice = (prices: Float64Array): number => {
  let sum = 0
  for (const price of prices) sum += Math.abs(price)
  return sum / Math.max(1, prices.length)
}

/** Smooth errors: neighbouring hours have similar errors, so each counts half and its neighbours a quarter. */
const smoothErrors = (day: Float64Array): Float64Array =>
  day.map((error, hour) => {
    const before = day[hour - 1] ?? error
    const after = day[hour + 1] ?? error
    return error / 2 + (before + after) / 4
  })

const meanOf = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** Raise uncertainties so that their mean reaches `mean`. All stay below 1 and in their order. */
const raiseMean = (doubts: Float64Array, mean: number): Float64Array => {
  const ownMean = meanOf(doubts)
  const raisedShare = ownMean < mean ? (mean - ownMean) / (1 - ownMean) : 0
  return doubts.map(doubt => doubt + (1 - doubt) * raisedShare)
}

/** Expected errors in price for each hour of each day ahead: `hourly` times `factors` for the current market. */
type ExpectedErrors = { readonly hourly: Float64Array; readonly factors: Float64Array }

/**
 * Return the confidence of forecast hours: 1 − expected absolute error / mean absolute price of the past, limited to
 * values between 0 and 1.
 * The hours of all days up to one share the daily course of their errors. From one day ahead to the next, hourly errors
 * do not fall and the mean confidence does not rise.
 */
export const confidencesOf = (pastPrices: Float64Array, { hourly, factors }: ExpectedErrors): Float64Array => {
  const typicalPriceOfPast = typicalPrice(pastPrices)
  const confidences = new Float64Array(hourly.length)
  const dailyCourse = new Float64Array(hoursPerBlock)
  let maxMean = 0
  let previousDoubt = 0
  for (let start = 0; start < hourly.length; start += hoursPerBlock) {
    const dayErrors = hourly.subarray(start, start + hoursPerBlock)
    const mean = meanOf(dayErrors)
    maxMean = Math.max(maxMean, mean)
    if (mean > 0)
      for (const [hour, error] of dayErrors.entries()) dailyCourse[hour] = (dailyCourse[hour] as number) + error / mean
    const courseMean = Math.max(meanOf(dailyCourse), Number.MIN_VALUE)
    const day = smoothErrors(dailyCourse).map((share, hour) => {
      const error = ((maxMean * share) / courseMean) * (factors[start + hour] as number)
      return 1 - (error === 0 ? 1 : confidenceOfShare(error / Math.max(typicalPriceOfPast, Number.MIN_VALUE)))
    })
    const doubts = raiseMean(day, previousDoubt)
    previousDoubt = meanOf(doubts)
    for (let hour = 0; hour < hoursPerBlock; hour += 1) {
      confidences[start + hour] = Math.min(maxConfidence, Math.max(minConfidence, 1 - (doubts[hour] as number)))
    }
  }
  return confidences
}
