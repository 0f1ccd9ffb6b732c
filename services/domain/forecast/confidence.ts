import { hoursOfBlock } from './blocks.ts'

/** Nothing that is forecast is certain, and nothing is worth nothing. */
const least = 0.0001
const most = 0.9999

/** 1 − share while errors are below half of a typical price; beyond, on the same slope, towards 0 and never there. */
const trust = (share: number): number => (share <= 0.5 ? 1 - share : 0.25 / share)

const typicalPrice = (prices: Float64Array): number => {
  let sum = 0
  for (const price of prices) sum += Math.abs(price)
  return sum / Math.max(1, prices.length)
}

/** Hours beside one another have like errors: each leans on its neighbours, by halves. */
const smoothed = (day: Float64Array): Float64Array =>
  day.map((miss, hour) => {
    const before = day[hour - 1] ?? miss
    const after = day[hour + 1] ?? miss
    return miss / 2 + (before + after) / 4
  })

const meanOf = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** Move doubts up so that their mean reaches `mean`; all stay below 1 and in their order. */
const raiseTo = (doubts: Float64Array, mean: number): Float64Array => {
  const own = meanOf(doubts)
  const lift = own < mean ? (mean - own) / (1 - own) : 0
  return doubts.map(doubt => doubt + (1 - doubt) * lift)
}

/**
 * What errors in price are expected at each hour of each day ahead: `hourly` by the hour, times `factors` for the moment.
 */
type ExpectedErrors = { readonly hourly: Float64Array; readonly factors: Float64Array }

/**
 * Say how far forecast hours can be trusted: 1 − expected absolute error / mean absolute price of the past, held between 0 and 1.
 * The hours of all days up to one share the course of their errors over the day. Errors by the hour do not fall from one day ahead to the
 * next, nor does the mean confidence of a day rise.
 */
export const confidencesOf = (past: Float64Array, { hourly, factors }: ExpectedErrors): Float64Array => {
  const typical = typicalPrice(past)
  const confidences = new Float64Array(hourly.length)
  const course = new Float64Array(hoursOfBlock)
  let worst = 0
  let doubtBefore = 0
  for (let start = 0; start < hourly.length; start += hoursOfBlock) {
    const own = hourly.subarray(start, start + hoursOfBlock)
    const mean = meanOf(own)
    worst = Math.max(worst, mean)
    if (mean > 0) for (const [hour, error] of own.entries()) course[hour] = (course[hour] as number) + error / mean
    const whole = Math.max(meanOf(course), Number.MIN_VALUE)
    const day = smoothed(course).map((share, hour) => {
      const error = ((worst * share) / whole) * (factors[start + hour] as number)
      return 1 - (error === 0 ? 1 : trust(error / Math.max(typical, Number.MIN_VALUE)))
    })
    const doubts = raiseTo(day, doubtBefore)
    doubtBefore = meanOf(doubts)
    for (let hour = 0; hour < hoursOfBlock; hour += 1) {
      confidences[start + hour] = Math.min(most, Math.max(least, 1 - (doubts[hour] as number)))
    }
  }
  return confidences
}
